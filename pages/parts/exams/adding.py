"""Adding students: a rule that needs no model, or a model, with the way in which it is given context."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.graders import LOCAL_MODEL, NORMALISATIONS
from core.pipelines import NORMALISE, READING_RULES, RETRIEVERS, RULES, Plan, add_student, make_retrieval, retrievals
from core.project import CLOSED_BOOK, ORACLE, Project
from pages.parts.shared import model_place, ui

KINDS = {
    "random": "Chance",
    "longest": "The longest choice",
    "overlap": "Shared words",
    "embedding": "The embedded model",
    "transformers": "A model on this computer",
    "openai": "A model behind an endpoint",
}
RETRIEVER_NAMES = {"bm25": "BM25", "embedding": "The embedded model", "hybrid": "Both, fused by rank"}
LARGEST_K, MOST_WORKED = 20, 5


def offer(project: Project, exam: str) -> None:
    """Places to add a student, and to rank passages for those that read what was retrieved."""
    with st.popover("Add a student", icon=":material/person_add:", key="adding student"):
        _student(project)
    with st.popover("Retrieve passages", icon=":material/search:", key="retrieving"):
        _retrieval(project, exam)


def _student(project: Project) -> None:
    kind = str(st.selectbox("Who answers", list(KINDS), format_func=KINDS.__getitem__, key="student kind"))
    contexts = [CLOSED_BOOK]
    if kind not in RULES or kind in READING_RULES:
        contexts += [ORACLE, *(one.name for one in retrievals(project))]
    settings: dict[str, Any] = {}
    icl = 0
    with ui.errors():
        if kind not in RULES:
            settings = _model(kind)
            icl = int(st.number_input("Worked items before the question", 0, MOST_WORKED, 0, key="student icl"))
        context = str(
            st.selectbox(
                "Context", contexts, key="student context",
                help="Closed book: the question alone. Oracle: the passage that the item was written from. Else what"
                " was retrieved for the item.",
            )
        )  # fmt: skip
        k = 1
        if context not in (CLOSED_BOOK, ORACLE):
            k = int(st.number_input("Passages", 1, LARGEST_K, 1, key="student k"))
        name = st.text_input("Name", key="student name", placeholder="Made of what it is").strip()
        if st.button("Add", type="primary", key="student add"):
            by = kind if kind in RULES else None
            with ui.errors():
                made = add_student(project, Plan(by, settings, context, k, icl, name=name or None), ui.author())
                st.toast(f"{ui.plain(made.name)} can sit the exam.", icon=":material/person_add:")
                st.rerun()


def _model(kind: str) -> dict[str, Any]:
    if kind == "openai":
        place, endpoint = model_place.choose_endpoint({}, "student")
        return {"back_end": "openai", **place, "model": model_place.choose_model("", endpoint, "student model")}
    model = model_place.choose_local("", LOCAL_MODEL, "student local")
    per = st.selectbox(
        "Likelihood of a choice, divided by its", NORMALISATIONS, NORMALISATIONS.index(NORMALISE), key="student per"
    )
    return {"back_end": "transformers", "model": model, "normalise": per}


def _retrieval(project: Project, exam: str) -> None:
    st.caption("Ranks the project's passages for each item by its question. A retrieval never changes.")
    how = st.selectbox("By", RETRIEVERS, format_func=RETRIEVER_NAMES.__getitem__, key="retriever")
    name = st.text_input("Name of the retrieval", str(how), key=f"retrieval name {how}").strip()
    if st.button("Retrieve", type="primary", key="retrieve"):
        author = ui.author()
        with ui.errors(), st.spinner("Ranking passages"):
            items = make_retrieval(project, name, how, author, query_id=exam)
            st.toast(f"Passages are ranked for {items} items.", icon=":material/search:")
            st.rerun()
