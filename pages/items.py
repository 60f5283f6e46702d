"""Items: how much each item tells about the examinees, which items are dispensable, and which examinees fail them."""

from exam_workbench import errors, exams
from pages.parts.exams import exam_facts, item_quality
from pages.parts.shared import ui

project = ui.project()
exam, items = exam_facts.opened(project)
with ui.errors():
    settings = item_quality.settings()
    told = None
    try:
        told = exams.abilities(project, exam, settings.model, settings.estimator)
    except errors.WorkbenchError as error:
        ui.empty(error.message, error.hint, "students", error.code)
    if told is not None:
        item_quality.draw(
            project,
            exam,
            items,
            exams.responses(project, query_id=exam),
            told,
            exams.item_kinds(project, items),
        )
