"""Exam: its items, proposed items, findings of the filters before examinees sit it, and the score of guessing."""

from exam_workbench.exams import making_of, statistics
from pages.parts.exams import exam_facts, exam_jobs, item_quality
from pages.parts.shared import job_progress, ui, view_choice

VIEWS = {"items": "Items", "proposed": "Proposed", "filters": "Filters", "statistics": "Statistics"}

project = ui.project()
exam_jobs.offer_writing(project)
job_progress.watch(project, "items", exam_jobs.writing_ended)
exam, items = exam_facts.opened(project, proposed=True)
known = statistics(items, making_of(project, exam))
exam_facts.summary(known)
view = view_choice.choose(list(VIEWS) if items else ["proposed", "statistics"], VIEWS.__getitem__)
if view == "proposed":
    item_quality.draw_proposed(project, exam)
elif view == "items":
    exam_facts.listing(project, items)
elif view == "filters":
    item_quality.draw_filters(project, exam, items)
else:
    exam_facts.details(known)
