"""Items: how much each item tells about the examinees, which items are dispensable, and which examinees fail them."""

from exam_workbench import errors, pipelines
from pages.parts.exams import facts, worth
from pages.parts.shared import ui

project = ui.project()
exam, items = facts.opened(project)
with ui.errors():
    settings = worth.settings()
    told = None
    try:
        told = pipelines.abilities(project, exam, settings.model, settings.estimator)
    except errors.WorkbenchError as error:
        ui.empty(error.message, error.hint, "students", error.code)
    if told is not None:
        worth.draw(
            project,
            exam,
            items,
            pipelines.responses(project, query_id=exam),
            told,
            pipelines.item_kinds(project, items),
        )
