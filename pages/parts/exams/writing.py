"""Writing items with a model: the model, the passages, the estimated cost, the progress, and the result."""

import streamlit as st

from exam_workbench import grading, jobs, pipelines
from exam_workbench.project import Project, run_names
from pages.parts.shared import job_plan, job_progress, model_place, ui

USUAL_NUMBER = 50
SHOWN_FAILURES = 20
EVERY_PASSAGE = ""
"""The choice of all passages instead of a run."""


def offer(project: Project) -> None:
    """Draw the form that has a model write items; draw nothing while a job runs."""
    running = jobs.current_job(project, "items")
    if running is not None and not running.over:
        return
    with st.popover("Write items with a model", icon=":material/edit_note:", key="writing items"):
        st.caption("The model proposes one item per passage. Accept proposals and save the question bank to use them.")
        settings = model_place.choose_settings(project, "writer")
        if settings is None:
            return
        wanted = _wanted(project)
        with ui.errors():
            tag = _price(project, settings, wanted)
            if not tag.calls:
                st.caption("No passages left: this model was already asked about all of them.")
                return
            job_plan.show_tag(tag, settings["model"])
            _begin(project, settings, wanted)


def _wanted(project: Project) -> pipelines.Wanted:
    left, right = st.columns(2)
    domain = left.text_input(
        "Subject of the passages", placeholder=pipelines.Wanted.domain, key="writer domain", help="Named in the prompt."
    ).strip()
    number = right.number_input(
        "Passage limit", 1, None, USUAL_NUMBER, key="writer number", help="Passages are drawn at random.",
        placeholder="All",
    )  # fmt: skip
    run = left.selectbox(
        "Passages from", [EVERY_PASSAGE, *run_names(project)], format_func=lambda name: name or "All passages",
        key="writer run", help="Only passages that this run ranks. Their query becomes the topic of the item.",
    )  # fmt: skip
    exam = right.text_input("Exam", pipelines.EXAM, key="writer exam", help="Query that the items belong to.").strip()
    return pipelines.Wanted(
        exam or pipelines.EXAM,
        domain or pipelines.Wanted.domain,
        run=run or None,
        limit=None if number is None else int(number),
    )


def _price(project: Project, settings: dict[str, str], wanted: pipelines.Wanted) -> grading.PriceTag:
    drafter = grading.make_drafter(settings)
    counting = drafter.back_end.count_tokens("") is not None
    key = ("price of items", drafter.model, drafter.fence, wanted, counting)
    return project.remember(key, lambda: pipelines.generation_price(project, drafter, wanted))


def _begin(project: Project, settings: dict[str, str], wanted: pipelines.Wanted) -> None:
    left, right = st.columns(2)
    calls = left.number_input("Call limit", 1, None, None, key="writer calls", placeholder="No limit")
    cost = right.number_input("Cost limit", 0.0, None, None, key="writer money", placeholder="No limit")
    patience = jobs.PATIENCE
    if settings.get("back_end") == "openai":
        patience = job_plan.choose_patience("writer patience")
    if st.button("Write items", type="primary", key="writer begin"):
        author = ui.author()
        model_place.remember_settings(settings)
        with ui.errors():
            caps = jobs.Caps(max_calls=None if calls is None else int(calls), max_cost=cost, patience=patience)
            pipelines.start_writing(project, grading.make_drafter(settings), author, wanted, caps)
            st.rerun()


def progress(project: Project) -> None:
    """Draw the running job, or the result of the last job of this server."""
    job_progress.watch(project, "items", _ended)


def _ended(job: jobs.BackgroundJob) -> None:
    report: grading.Report | None = job.result
    if report is None:
        st.error(ui.plain(job.progress.message), icon=":material/error:")
        return
    said = f"Proposed items: {len(report.keys):,}, from {report.asked:,} passages asked."
    if report.stopped:
        said += f" Passages left: {report.stopped:,}. Start again to continue."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key="items-written").markdown(said if report.keys else f":material/warning: {said}")
        if report.keys:
            ui.go("question_bank", "Review the proposals", query=job.request.query_id)
    if report.failed:
        with st.expander(f"Passages without an item ({len(report.failed):,})"):
            for failure in report.failed[:SHOWN_FAILURES]:
                st.caption(ui.plain(failure.reason))
            if len(report.failed) > SHOWN_FAILURES:
                st.caption(f"and {len(report.failed) - SHOWN_FAILURES:,} more.")
