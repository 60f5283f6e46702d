"""Items: how much each item tells about the examinees, which items are dispensable, and which
examinees fail them.
"""

from exam_workbench import exams
from pages.parts.exams import exam_facts, item_quality
from pages.parts.shared import ui

project = ui.require_project()
exam, items = exam_facts.choose_exam(project)
with ui.errors():
    settings = item_quality.choose_settings()
    with ui.or_empty("students"):
        told = exams.fit_abilities(project, exam, *settings)
    found, kinds = (
        exams.examinee_responses(project, query_id=exam),
        exams.item_kinds(project, items),
    )
    item_quality.draw_quality(project, exam, items, found, told, kinds)
