"""Export: one click for the qrels, publishing them with a manifest, and every other file of the project."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import streamlit as st

from core.errors import WorkbenchError
from core.exchange import (
    Manifest,
    bank_csv,
    bank_jsonl,
    board_latex,
    board_tsv,
    bundle,
    exporting,
    graded_file,
    manifest_json,
    overrides_csv,
    project_zip,
    publications,
    publish,
    qrels_head,
    recorded,
    reproduce,
    runs_zip,
)
from core.labels import Policy, Readiness, basis, labels, overrides, readiness
from core.project import Project, official_sources, rankings
from pages.parts.shared import policy_widgets, presses, ui

PUBLICATIONS_A_PAGE = 6


def qrels(project: Project) -> tuple[Policy, bool]:
    """The qrels of the policy, with a word on what they rest on; returns the policy and whether they are binary."""
    st.subheader("Labels as qrels", anchor=False)
    policy = policy_widgets.view().policy
    base = basis(project, policy)
    table = labels(project, base)
    labelled = int(table["label"].notna().sum())
    state = readiness(project, base)
    columns = st.columns(4)
    columns[0].metric("Labels", f"{labelled:,}")
    columns[1].metric("Passages without a label", f"{state.unlabelled_passages:,}", help="Left out, not written as 0")
    columns[2].metric(
        "Partial labels", f"{state.partial_labels:,}", help="Some of the pairs behind them are ungraded or failed"
    )
    rated = state.graded + state.overridden
    columns[3].metric(
        "Pairs graded", f"{rated / state.needed:.1%}" if state.needed else "–", help=f"{rated:,} of {state.needed:,}"
    )
    if not labelled:
        ui.empty("There are no labels yet.", "Grade the pool first.", "grading")
    gate(state)
    with st.container(horizontal=True, vertical_alignment="center"):
        binary = st.checkbox(f"Binary: 1 from rating {policy.min_rating}, else 0", key="binary", bind="query-params")
        author = ui.person()
        _download(
            project, "Download qrels", "qrels", f"{project.name}.qrels",
            lambda: exporting.qrels(project, policy, binary=binary), author, primary=True,
        )  # fmt: skip
    left, right = st.columns(2)
    with left, st.expander("How labels are distributed", expanded=True):
        counted = table["label"].value_counts().sort_index(ascending=False)
        st.dataframe({"Label": counted.index.tolist(), "Passages": counted.tolist()}, hide_index=True)
    with right, st.expander("First lines", expanded=True):
        st.code("\n".join(qrels_head(project, policy, binary)), language=None)
    return policy, binary


def gate(state: Readiness) -> None:
    """Say before anything is downloaded what is missing behind the labels, or that nothing is."""
    counting = f"{_many(state.overridden, 'override')} count{'s' if state.overridden == 1 else ''}." * bool(
        state.overridden
    )
    ui.speaking(state.speaking_passages)
    if state.complete:
        st.success(f"All {state.needed:,} pairs have a rating. {counting}", icon=":material/check:")
        return
    lines = [f"Of {state.needed:,} pairs {state.ungraded:,} are ungraded and {state.failed:,} failed."]
    if state.without_text:
        lines.append(f"{state.without_text:,} cannot be graded, as the text of their passage is missing: import it.")
    if state.partial_labels:
        lines.append(
            f"{_many(state.partial_labels, 'label')} rest{'s' if state.partial_labels == 1 else ''} on a part."
        )
    if state.unlabelled_passages:
        lines.append(f"{_many(state.unlabelled_passages, 'passage')} without any rating: left out.")
    lines += [counting] if counting else []
    if state.stale_overrides:
        lines.append(
            f"{_many(state.stale_overrides, 'override')} stale: the question was reworded, and somebody has to confirm"
            " or withdraw."
        )
    with st.container(border=True):
        st.warning(" ".join(lines), icon=":material/warning:")
        with st.container(horizontal=True):
            if state.ungraded or state.failed:
                ui.go("grading", "Grade what is missing")
            if state.stale_overrides:
                ui.go("passages", "Look at the overrides")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _download(
    project: Project,
    label: str,
    what: str,
    file: str,
    make: Callable[[], str | bytes],
    author: str,
    primary: bool = False,
) -> None:
    """A button whose file is made, and put on record, when it is clicked."""
    st.download_button(
        label,
        lambda: recorded(project, author, what, file, make),
        file_name=file,
        type="primary" if primary else "secondary",
        icon=":material/download:" if primary else None,
        key=f"download {file}",
        on_click="ignore",
        disabled=not author,
    )


def publishing(project: Project, policy: Policy, binary: bool) -> None:
    """Publish the qrels, alone or in a bundle, and have those published before once more."""
    st.subheader("Publish", anchor=False)
    st.caption(
        "A publication keeps what the qrels rest on in a manifest. The same bytes can be made again from it, whatever"
        " is edited or graded later."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = st.session_state.get("published", 0)
        note = st.text_input("Note", key=f"publication note {number}", placeholder="Why, and for whom")
        if presses.button("Publish", type="primary", icon=":material/publish:"):
            try:
                with st.spinner("Publishing"):
                    publish(project, policy, ui.author(), binary, note)
            except WorkbenchError as error:
                ui.show_error(error)
            else:
                st.session_state["published"] = number + 1
                st.toast("Published.", icon=":material/publish:")
                st.rerun()
        author = ui.person()
        st.download_button(
            "Publish as a bundle",
            lambda: bundle(project, policy, author, binary, note),
            file_name=f"{project.name}-bundle.zip",
            mime="application/zip",
            icon=":material/folder_zip:",
            disabled=not author or project.read_only,
            help="Publishes, and packs the qrels with their manifest, the bank, leaderboards and overrides.",
        )
    past = publications(project)
    if not past:
        st.caption("Nothing has been published yet.")
        return
    pages = -(-len(past) // PUBLICATIONS_A_PAGE)
    page = st.pagination(pages, key="publications page") if pages > 1 else 1
    for manifest in past[(page - 1) * PUBLICATIONS_A_PAGE : page * PUBLICATIONS_A_PAGE]:
        _publication(project, manifest)


def _publication(project: Project, manifest: Manifest) -> None:
    number = manifest["publication"]
    file = f"{project.name}-publication-{number}"
    counts, policy = manifest["counts"], manifest["policy"]
    open_pairs = counts["ungraded"] + counts["failed"]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container():
            when = datetime.fromisoformat(manifest["published_at"])
            note = f": {manifest['note']}" if manifest["note"] else ""
            st.markdown(f"**{when:%d %B %Y, %H:%M} UTC** by {ui.plain(manifest['published_by'] + note)}")
            rule = policy_widgets.LABEL_RULES.get(policy["label"], policy["label"]).lower()
            st.caption(
                ui.plain(
                    f"{manifest['qrels']['lines']:,} lines, {manifest['qrels']['values']} · bank version"
                    f" {manifest['bank']['version']} · {manifest['grader']['name']} · {rule}, min rating"
                    f" {policy['min_rating']} · {open_pairs:,} pairs ungraded or failed,"
                    f" {counts['overridden']:,} overridden"
                )
            )
        author = ui.person()
        st.download_button(
            "Qrels again",
            lambda: reproduce(project, manifest, author),
            file_name=f"{file}.qrels",
            mime="text/plain",
            key=f"qrels of {number}",
            icon=":material/download:",
            on_click="ignore",
            disabled=not author,
            help="The same bytes as were published.",
        )
        st.download_button(
            "Manifest",
            manifest_json(manifest),
            file_name=f"{file}-manifest.json",
            mime="application/json",
            key=f"manifest of {number}",
            on_click="ignore",
        )


def others(project: Project) -> None:
    """Everything else that can be written."""
    st.subheader("Other files", anchor=False)
    author, name = ui.person(), project.name
    bank, graded, board = st.columns(3)
    with bank, st.container(border=True, height="stretch"):
        st.markdown("**Question bank**")
        st.caption("The newest version, all questions, active or not.")
        with st.container(horizontal=True):
            _download(project, "JSONL", "bank", f"{name}-bank.jsonl", lambda: bank_jsonl(project), author)
            _download(project, "CSV", "bank", f"{name}-bank.csv", lambda: bank_csv(project), author)
    with graded, st.container(border=True, height="stretch"):
        st.markdown("**Graded file**")
        st.caption("Pool, grades, judgments and rankings in the Autograder/RUBRIC format.")
        _download(project, "JSONL.GZ", "graded", f"{name}-graded.jsonl.gz", lambda: graded_file(project), author)
    with board, st.container(border=True, height="stretch"):
        st.markdown("**Leaderboard**")
        _board(project, author)
    runs, people, whole = st.columns(3)
    with runs, st.container(border=True, height="stretch"):
        st.markdown("**Runs**")
        found = len(rankings(project))
        st.caption(f"{_many(found, 'run')} as TREC runs." if found else "No run has been imported.")
        if found:
            _download(project, "ZIP", "runs", f"{name}-runs.zip", lambda: runs_zip(project), author)
    with people, st.container(border=True, height="stretch"):
        st.markdown("**Overrides**")
        given = len(overrides(project))
        st.caption(f"{_many(given, 'override')}, with author, reason and state." if given else "There are none.")
        if given:
            _download(project, "CSV", "overrides", f"{name}-overrides.csv", lambda: overrides_csv(project), author)
    with whole, st.container(border=True, height="stretch"):
        st.markdown("**Whole project**")
        st.caption("Every table as Parquet with a manifest; becomes a project again with exam import project.")
        st.download_button(
            "ZIP",
            lambda: project_zip(project, author),
            file_name=f"{name}-project.zip",
            mime="application/zip",
            key="download project",
            on_click="ignore",
            disabled=not author,
        )


def _board(project: Project, author: str) -> None:
    if not rankings(project):
        st.caption("There are no runs to rank.")
        return
    source = st.selectbox("Source", ["exam", *official_sources(project)], key="board source")
    measure = policy_widgets.measure("Measure", cover=source == "exam", key="board measure", shares=source == "exam")
    policy = policy_widgets.chosen(project)
    with st.container(horizontal=True):
        for ending, label, write in (("tsv", "TSV", board_tsv), ("tex", "LaTeX", board_latex)):
            _download(
                project, label, "leaderboard", f"{project.name}-{source}-{measure}.{ending}",
                lambda write=write: write(project, measure, source, policy), author,
            )  # fmt: skip


ui.begin()
project = ui.project()
policy, binary = qrels(project)
publishing(project, policy, binary)
others(project)
