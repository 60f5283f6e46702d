"""Exports of an audit: a paragraph for a paper, sheets for judging elsewhere, the bundle; and the audit's end."""

import streamlit as st

from exam_workbench import audit as room
from exam_workbench.audit import Audit, Batch
from exam_workbench.formats import SHEET_FORMS, SheetForm, Source
from exam_workbench.project import Project
from pages.parts.shared import presses, ui

FORMS: dict[SheetForm, str] = {"tsv": "TSV, for a spreadsheet", "jsonl": "JSONL"}


def draw(project: Project, audit: Audit) -> None:
    """Draw the paragraph, the sheets, the bundle, and the button that ends the audit."""
    st.subheader("Methods", anchor=False)
    st.code(room.methods(project, audit), language=None, wrap_lines=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "A bundle contains the design, seed, probabilities and judgments of the audit, so its results are"
            " reproducible.",
            width="content",
        )
        ui.go("export", "Export bundle")
    st.subheader("Judging outside the app", anchor=False)
    if (waiting := None if audit.ended else room.open_batch(project, audit)) is None:
        st.container(key="no-batch").caption("No open batch: nothing to judge.")
    else:
        _out(project, audit, waiting)
        _back(project, audit)
    if not audit.ended:
        _end(project, audit)


def _out(project: Project, audit: Audit, waiting: Batch) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        who = st.text_input(
            "Assessor", "", key="sheet-who", placeholder="Any assessor", width=220,
            help="Reserves the queries of the sheet for this assessor until you upload it or release the queries.",
        )  # fmt: skip
        most = st.number_input("Passages (about)", 1, None, None, key="sheet-most", placeholder="All", width=190)
        form = st.selectbox("Format", SHEET_FORMS, format_func=FORMS.__getitem__, key="sheet-form", width=220)
        ui.download(
            "Download sheet",
            lambda: room.sheet(project, audit, form, who.strip() or None, most).text,
            f"{audit.name}-batch-{waiting.number}.{form}",
            icon=":material/download:",
            on_click="ignore",
            key="sheet out",
        )


def _back(project: Project, audit: Audit) -> None:
    given = st.file_uploader(
        "Judged sheet or qrels file", ["tsv", "jsonl", "txt", "qrels"], key=f"sheet of {audit.key}"
    )
    if given is None:
        return
    if presses.button("Import judgments", type="primary", key="take in sheet"):
        with ui.errors():
            done = room.take_in(project, audit, Source(given.name, data=given.getvalue()), ui.author())
            st.success(room.sentence(done))


def _end(project: Project, audit: Audit) -> None:
    st.subheader("End the audit", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "You keep the leaderboard and judgments, but can draw and judge no more passages. You cannot undo this.",
            width="content",
        )
        with st.popover("End audit", type="secondary", key="ending audit"):
            st.text("Another audit with the same source can reuse the judgments.")
            if st.button("End audit now", key="end audit"):
                with ui.errors():
                    room.end_audit(project, audit, ui.author())
                    st.rerun()
