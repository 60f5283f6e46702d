"""Items: how much each item tells about the examinees, which items are dispensable, and which examinees fail them."""

from exam_workbench.errors import WorkbenchError
from exam_workbench.pipelines import abilities, categories, responses
from pages.parts.exams import worth
from pages.parts.exams.facts import opened
from pages.parts.shared import ui

ui.begin()
project = ui.project()
exam, items = opened(project)
with ui.errors():
    settings = worth.settings()
    told = None
    try:
        told = abilities(project, exam, settings.model, settings.estimator)
    except WorkbenchError as error:
        ui.empty(error.message, error.hint, "students", error.code)
    if told is not None:
        worth.draw(project, exam, items, responses(project, query_id=exam), told, categories(project, items))
