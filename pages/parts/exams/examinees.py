"""Examinees: adding them, and sitting an exam."""

from typing import Any

import streamlit as st

from exam_workbench import graders, jobs, pipelines
from exam_workbench.project import CLOSED_BOOK, ORACLE, Project, find_students
from pages.parts.shared import job_plan, job_progress, model_place, ui

KINDS = {
    "random": "Random choice",
    "longest": "Longest choice",
    "overlap": "Word overlap",
    "embedding": "Embedded model",
    "transformers": "Model on this computer",
    "openai": "Model behind an endpoint",
}
RETRIEVER_NAMES = {"bm25": "BM25", "embedding": "Embedded model", "hybrid": "Both (rank fusion)"}
LARGEST_K, MOST_WORKED = 20, 5


def offer_adding(project: Project, exam: str) -> None:
    """Draw popovers that add an examinee, and that rank passages for examinees that read retrieved ones."""
    with st.popover("Add an examinee", icon=":material/person_add:", key="adding student"):
        _student(project)
    with st.popover("Retrieve passages", icon=":material/search:", key="retrieving"):
        _retrieval(project, exam)


def _student(project: Project) -> None:
    kind = str(st.selectbox("Answers by", list(KINDS), format_func=KINDS.__getitem__, key="student kind"))
    contexts = [CLOSED_BOOK]
    if kind not in pipelines.RULES or kind in pipelines.READING_RULES:
        contexts += [ORACLE, *(one.name for one in pipelines.retrievals(project))]
    settings: dict[str, Any] = {}
    icl = 0
    with ui.errors():
        if kind not in pipelines.RULES:
            settings = _model(kind)
            icl = int(st.number_input("Worked items in the prompt", 0, MOST_WORKED, 0, key="student icl"))
        context = str(
            st.selectbox(
                "Context", contexts, key="student context",
                help="Closed book: only the question. Oracle: the source passage of the item. All others: passages"
                " retrieved for the item.",
            )
        )  # fmt: skip
        k = 1
        if context not in (CLOSED_BOOK, ORACLE):
            k = int(st.number_input("Passages per item", 1, LARGEST_K, 1, key="student k"))
        name = st.text_input("Name", key="student name", placeholder="Generated from the settings").strip()
        if st.button("Add examinee", type="primary", key="student add"):
            by = kind if kind in pipelines.RULES else None
            with ui.errors():
                made = pipelines.add_student(
                    project, pipelines.Plan(by, settings, context, k, icl, name=name or None), ui.author()
                )
                st.toast(
                    f"Added {ui.plain(made.name)}. Run the exam to collect its answers.", icon=":material/person_add:"
                )
                st.rerun()


def _model(kind: str) -> dict[str, Any]:
    if kind == "openai":
        place, endpoint = model_place.choose_endpoint({}, "student")
        return {"back_end": "openai", **place, "model": model_place.choose_model("", endpoint, "student model")}
    model = model_place.choose_local("", graders.LOCAL_MODEL, "student local")
    per = st.selectbox(
        "Divide the likelihood of a choice by",
        graders.NORMALISATIONS,
        graders.NORMALISATIONS.index(pipelines.NORMALISE),
        key="student per",
    )
    return {"back_end": "transformers", "model": model, "normalise": per}


def _retrieval(project: Project, exam: str) -> None:
    st.caption("Ranks the project's passages for the question of each item. A saved retrieval cannot be changed.")
    how = st.selectbox("Method", pipelines.RETRIEVERS, format_func=RETRIEVER_NAMES.__getitem__, key="retriever")
    name = st.text_input("Retrieval name", str(how), key=f"retrieval name {how}").strip()
    if st.button("Retrieve passages", type="primary", key="retrieve"):
        author = ui.author()
        with ui.errors(), st.spinner("Ranking passages"):
            items = pipelines.make_retrieval(project, name, how, author, query_id=exam)
            st.toast(f"Items with ranked passages: {items:,}", icon=":material/search:")
            st.rerun()


def offer_sitting(project: Project, exam: str) -> None:
    """Draw the form that starts the missing answers; draw nothing while a job runs."""
    running = jobs.current_job(project, "exams")
    if running is not None and not running.over:
        return
    students = [one for one in find_students(project, None) if not one.sat_elsewhere]
    known = [pipelines.standing(project, one, exam) for one in students]
    missing, failed = sum(one.missing for one in known), sum(one.failed for one in known)
    if not missing and not failed:
        return
    with st.popover(
        "Run the exam", icon=":material/edit_square:", type="primary" if missing else "secondary", key="sitting"
    ):
        st.markdown(f"**{missing:,}** to answer, **{failed:,}** failed")
        again = st.checkbox("Retry failed answers", value=not missing, disabled=not failed, key="sit again")
        calls = st.number_input(
            "Call limit", 1, None, None, key="sit calls", placeholder="No limit",
            help="Calls of models. Examinees that answer by a rule make none.",
        )  # fmt: skip
        cost = st.number_input("Cost limit", 0.0, None, None, key="sit cost", placeholder="No limit")
        patience = pipelines.Sit.patience
        # An examinee of an earlier version may have a back end that was removed.
        known = [one.parameters for one in students if one.parameters.get("back_end") != "vllm"]
        if any(graders.back_end_name(parameters) == "openai" for parameters in known):
            patience = job_plan.choose_patience("sit patience")
        if st.button("Start", type="primary", key="sit begin"):
            request = pipelines.Sit(query_id=exam, max_calls=None if calls is None else int(calls), max_cost=cost,
                          retry_failed=again, patience=patience)  # fmt: skip
            with ui.errors():
                pipelines.start_sitting(project, request, ui.author())
                st.rerun()


def progress(project: Project) -> None:
    """Draw the running job, or the result of the last job of this server."""
    job_progress.watch_steps(project, "exams", "Run the exam")
