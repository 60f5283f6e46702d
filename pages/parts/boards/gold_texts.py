"""Gold texts: what systems are compared with by n-EXAM, ROUGE-1 and chrF, and choosing a run for it."""

from __future__ import annotations

import streamlit as st

from core.project import IMPORTED, Project, gold_name, gold_texts, mark_gold, run_names
from pages.parts.shared import presses, ui

NOTHING = "None"


def choose(project: Project) -> None:
    """What is gold now, and another choice; for those who may choose."""
    if not project.allows("organize"):
        return
    now = gold_name(project)
    runs = run_names(project)
    chosen = st.selectbox(
        "Gold texts", [NOTHING, *runs], index=runs.index(now) + 1 if now in runs else 0, key="gold run",
        help="n-EXAM, ROUGE-1 and chrF compare systems with one good answer a query: a text that is imported as gold,"
        " or what a run returned. Of a run, all its pooled passages count, also those below the cutoff.",
    )  # fmt: skip
    if now is not None:
        what = "Imported texts are gold" if now == IMPORTED else f"{now} is gold"
        st.text(f"{what}, for {len(gold_texts(project)):,} queries.")
    wanted = None if chosen == NOTHING else chosen
    if wanted == (now if now in runs else None):
        return
    if presses.button("Let it stand for the gold texts" if wanted else "Nothing is gold", key="set gold"):
        mark_gold(project, wanted, ui.author())
        st.rerun()
