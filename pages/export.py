"""Export: one click for the qrels, and the bank, the graded file and a leaderboard beside it."""

from __future__ import annotations

import streamlit as st

from core import exporting
from core.leaderboard import official_sources
from core.project import Project
from core.scores import labels
from pages import policy_widgets, ui


def qrels(project: Project) -> None:
    """The qrels of the policy, with a word on what they rest on."""
    st.subheader("Labels as qrels")
    policy = policy_widgets.policy(project)
    table = labels(project, policy)
    labelled = int(table["label"].notna().sum())
    usable, needed = int(table["usable"].sum()), int(table["needed"].sum())
    columns = st.columns(4)
    columns[0].metric("Labels", f"{labelled:,}")
    columns[1].metric("Passages without a label", f"{len(table) - labelled:,}", help="Left out, not written as 0")
    columns[2].metric(
        "Partial labels",
        f"{int(((table['usable'] < table['needed']) & table['label'].notna()).sum()):,}",
        help="Some of the pairs behind them are ungraded or failed",
    )
    columns[3].metric("Pairs graded", f"{usable / needed:.1%}" if needed else "–", help=f"{usable:,} of {needed:,}")
    binary = st.checkbox(f"Binary: 1 from rating {policy.min_rating}, else 0")
    if not labelled:
        ui.empty("There are no labels yet.", "Grade the pool first.", "grading")
    st.download_button(
        "Download qrels",
        lambda: exporting.qrels(project, policy, binary=binary),
        file_name=f"{project.name}.qrels",
        mime="text/plain",
        type="primary",
        icon=":material/download:",
        on_click="ignore",
    )
    left, right = st.columns(2)
    with left, st.expander("How labels are distributed", expanded=True):
        counted = table["label"].value_counts().sort_index(ascending=False)
        st.dataframe({"Label": counted.index.tolist(), "Passages": counted.tolist()}, hide_index=True)
    with right, st.expander("First lines", expanded=True):
        st.code("\n".join(exporting.qrels(project, policy, binary=binary).splitlines()[:8]), language=None)


def others(project: Project) -> None:
    """Everything else that can be written."""
    st.subheader("Other files")
    bank, graded, board = st.columns(3)
    with bank, st.container(border=True):
        st.markdown("**Question bank**")
        st.caption("The newest version, all questions, active or not.")
        for name, write in (("jsonl", exporting.bank_jsonl), ("csv", exporting.bank_csv)):
            st.download_button(
                f"Bank as {name.upper()}",
                lambda write=write: write(project),
                file_name=f"{project.name}-bank.{name}",
                on_click="ignore",
            )
    with graded, st.container(border=True):
        st.markdown("**Graded file**")
        st.caption("Pool, grades, judgments and rankings in the Autograder/RUBRIC format.")
        st.download_button(
            "Graded file",
            lambda: exporting.graded_file(project),
            file_name=f"{project.name}-graded.jsonl.gz",
            mime="application/gzip",
            on_click="ignore",
        )
    with board, st.container(border=True):
        st.markdown("**Leaderboard**")
        source = st.selectbox("Source", ["exam", *official_sources(project)], key="board source")
        measure = policy_widgets.measure("Measure", cover=source == "exam", key="board measure")
        policy = policy_widgets.chosen(project)
        for ending, write in (("tsv", exporting.board_tsv), ("tex", exporting.board_latex)):
            st.download_button(
                f"Leaderboard as {'LaTeX' if ending == 'tex' else 'TSV'}",
                lambda write=write: write(project, measure, source, policy),
                file_name=f"{project.name}-{source}-{measure}.{ending}",
                on_click="ignore",
            )


ui.begin("Export")
project = ui.project()
qrels(project)
others(project)
