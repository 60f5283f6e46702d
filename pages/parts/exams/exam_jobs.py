"""Jobs of an exam: writing items, adding examinees, and running it."""

from functools import partial
from typing import Any

import streamlit as st

from exam_workbench import choices, exams, graders, grading, jobs
from exam_workbench.records import CLOSED_BOOK, ORACLE, find_students, run_names
from exam_workbench.store import Project
from pages.parts.shared import job_plan, model_place, presses, ui

USUAL_NUMBER = 50
SHOWN_FAILURES = 20
EVERY_PASSAGE = ""
"""The choice of all passages instead of a run."""


def offer_writing(project: Project) -> None:
    """Draw the form that has a model write items; draw nothing while a job runs."""
    if "items" in jobs.running_jobs(project):
        return
    with st.popover("Write items with a model", icon=":material/edit_note:", key="writing items"):
        st.caption(
            "The model proposes one item per passage. Accept proposals and save the"
            " question bank to use them."
        )
        settings = model_place.choose_settings(project, "writer")
        if settings is None:
            return
        request = _choose_wanted(project)
        with ui.errors():
            drafter = grading.make_drafter(settings)
            counting = drafter.back_end.count_tokens("") is not None
            key = ("price of items", drafter.model, drafter.fence, request, counting)
            tag = project.cached(key, partial(exams.generation_price, project, drafter, request))
            if not tag.calls:
                st.caption("No passages left: this model was already asked about all of them.")
                return
            job_plan.show_tag(tag, settings["model"])
            remote = settings.get("back_end") == "openai"
            caps = job_plan.draw_limits(project, jobs.Caps(), "writer", remote=remote)

            def begin_writing(author: str) -> None:
                model_place.remember_settings(settings)
                exams.start_writing(project, grading.make_drafter(settings), author, request, caps)

            presses.act_button("Write items", begin_writing, type="primary", key="writer begin")


def _choose_wanted(project: Project) -> exams.ItemRequest:
    left, right = st.columns(2)
    domain = left.text_input(
        "Subject of the passages",
        placeholder=exams.ItemRequest.domain,
        key="writer domain",
        help="Named in the prompt.",
    ).strip()
    number = right.number_input(
        "Passage limit",
        1,
        None,
        USUAL_NUMBER,
        key="writer number",
        help="Passages are drawn at random.",
        placeholder="All",
    )
    run = left.selectbox(
        "Passages from",
        [EVERY_PASSAGE, *run_names(project)],
        format_func=lambda name: name or "All passages",
        key="writer run",
        help="Only passages that this run ranks. Their query becomes the topic of the item.",
    )
    exam = right.text_input(
        "Exam", choices.EXAM_QUERY, key="writer exam", help="Query that the items belong to."
    ).strip()
    return exams.ItemRequest(
        exam or choices.EXAM_QUERY,
        domain or exams.ItemRequest.domain,
        run=run or None,
        limit=None if number is None else int(number),
    )


def draw_written(job: jobs.BackgroundJob) -> None:
    """Draw the result of a job that wrote items."""
    report: grading.Report | None = job.result
    if report is None:
        st.error(ui.escape(job.progress.message), icon=":material/error:")
        return
    message = f"Proposed items: {len(report.keys):,}, from {report.asked:,} passages asked."
    if report.stopped:
        message += f" Passages left: {report.stopped:,}. Start again to continue."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key="items-written").markdown(
            message if report.keys else f":material/warning: {message}"
        )
        if report.keys:
            ui.draw_link("question_bank", "Review the proposals", query=job.request.query_id)
    if report.failed:
        with st.expander(f"Passages without an item ({len(report.failed):,})"):
            for failure in report.failed[:SHOWN_FAILURES]:
                st.caption(ui.escape(failure.reason))
            if len(report.failed) > SHOWN_FAILURES:
                st.caption(f"and {len(report.failed) - SHOWN_FAILURES:,} more.")


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
    """Draw popovers that add an examinee, and that rank passages for examinees that read retrieved
    ones.
    """
    with st.popover("Add an examinee", icon=":material/person_add:", key="adding student"):
        _draw_student_form(project)
    with st.popover("Retrieve passages", icon=":material/search:", key="retrieving"):
        st.caption(
            "Ranks the project's passages for the question of each item. A saved"
            " retrieval cannot be changed."
        )
        how = st.selectbox(
            "Method", choices.RETRIEVERS, format_func=RETRIEVER_NAMES.__getitem__, key="retriever"
        )
        name = st.text_input("Retrieval name", str(how), key=f"retrieval name {how}").strip()
        if presses.button("Retrieve passages", type="primary", key="retrieve"):
            with st.spinner("Ranking passages"):
                presses.run_act(
                    partial(exams.make_retrieval, query_id=exam),
                    project,
                    name,
                    how,
                    message="Passages are ranked.",
                )


@ui.errors()
def _draw_student_form(project: Project) -> None:
    kind = str(
        st.selectbox("Answers by", list(KINDS), format_func=KINDS.__getitem__, key="student kind")
    )
    contexts = [CLOSED_BOOK]
    if kind not in choices.EXAMINEE_RULES or kind in exams.READING_RULES:
        contexts += [ORACLE, *(retrieval.name for retrieval in exams.list_retrievals(project))]
    settings: dict[str, Any] = {}
    icl = 0
    if kind not in choices.EXAMINEE_RULES:
        settings = _choose_model(kind)
        icl = int(
            st.number_input("Worked examples in the prompt", 0, MOST_WORKED, 0, key="student icl")
        )
    context = str(
        st.selectbox(
            "Context",
            contexts,
            key="student context",
            help="Closed book: only the question. Oracle: the source passage of the item. All"
            " others: passages retrieved for the item.",
        )
    )
    k = (
        1
        if context in (CLOSED_BOOK, ORACLE)
        else int(st.number_input("Passages per item", 1, LARGEST_K, 1, key="student k"))
    )
    name = st.text_input(
        "Name", key="student name", placeholder="Generated from the settings"
    ).strip()
    by = kind if kind in choices.EXAMINEE_RULES else None
    plan = exams.Plan(by, settings, context, k, icl, name=name or None)
    presses.act_button(
        "Add examinee",
        exams.add_student,
        project,
        plan,
        type="primary",
        key="student add",
        message="Examinee added. Run the exam to collect its answers.",
    )


def _choose_model(kind: str) -> dict[str, Any]:
    settings = model_place.choose_model_place(kind, "student")
    if kind == "openai":
        return settings
    per = st.selectbox(
        "Divide the likelihood of a choice by",
        choices.NORMALISATIONS,
        choices.NORMALISATIONS.index(choices.CHOICE_NORMALISATION),
        key="student per",
    )
    return {**settings, "normalise": per}


def offer_sitting(project: Project, exam: str) -> None:
    """Draw the form that starts the missing answers; draw nothing while a job runs."""
    if "exams" in jobs.running_jobs(project):
        return
    students = [student for student in find_students(project, None) if not student.sat_elsewhere]
    known = [exams.examinee_standing(project, student, exam) for student in students]
    missing, failed = (
        sum(student.missing for student in known),
        sum(student.failed for student in known),
    )
    if not missing and not failed:
        return
    with st.popover(
        "Run the exam",
        icon=":material/edit_square:",
        type="primary" if missing else "secondary",
        key="sitting",
    ):
        st.markdown(f"**{missing:,}** to answer, **{failed:,}** failed")
        again = st.checkbox(
            "Retry failed answers", value=not missing, disabled=not failed, key="sit again"
        )
        # An examinee of an earlier version may have a back end that was removed.
        parameters_of_models = [
            student.parameters
            for student in students
            if student.parameters.get("back_end") != "vllm"
        ]
        remote = any(
            graders.back_end_name(parameters) == "openai" for parameters in parameters_of_models
        )
        request = job_plan.draw_limits(
            project, exams.ExamRequest(query_id=exam, retry_failed=again), "sit", remote=remote
        )
        presses.act_button(
            "Start", exams.start_sitting, project, request, type="primary", key="sit begin"
        )
