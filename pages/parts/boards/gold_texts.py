"""Gold texts: the references for n-EXAM, ROUGE-1 and chrF, and the choice of a run for them."""

import streamlit as st

from exam_workbench.project import IMPORTED, Project, gold_name, gold_texts, mark_gold, run_names
from exam_workbench.text import how_many
from pages.parts.shared import presses, ui

NOTHING = "None"


def choose(project: Project) -> None:
    """Draw the present gold passages, and a choice for people who may change it."""
    if not project.allows("organize"):
        return
    now = gold_name(project)
    runs = run_names(project)
    chosen = st.selectbox(
        "Gold passages", [NOTHING, *runs], index=runs.index(now) + 1 if now in runs else 0, key="gold run",
        help="n-EXAM, ROUGE-1 and chrF compare systems with a good answer per query: imported gold passages, or the"
        " pooled passages of one run (also below the cutoff).",
    )  # fmt: skip
    if now is not None:
        what = "imported" if now == IMPORTED else f"run {now}"
        st.text(f"Gold passages: {what} ({how_many(len(gold_texts(project)), 'queries')}).")
    wanted = None if chosen == NOTHING else chosen
    if wanted == (now if now in runs else None):
        return
    if presses.button("Use as gold passages" if wanted else "Clear gold passages", key="set gold"):
        mark_gold(project, wanted, ui.author())
        st.rerun()
