"""Exam: its items, proposed items, findings of the filters before examinees sit it, and the score
of guessing.
"""

from exam_workbench.exams import making_of, summarize_items
from pages.parts.exams import exam_facts, exam_jobs, item_quality
from pages.parts.shared import job_progress, ui, view_choice

VIEWS = {"items": "Items", "proposed": "Proposed", "filters": "Filters", "statistics": "Statistics"}

project = ui.require_project()
exam_jobs.offer_writing(project)
job_progress.watch_job(project, "items", exam_jobs.draw_written)
exam, items = exam_facts.choose_exam(project, proposed=True)
known = summarize_items(items, making_of(project, exam))
exam_facts.draw_summary(known)
view = view_choice.choose_view(
    list(VIEWS) if items else ["proposed", "statistics"], VIEWS.__getitem__
)
if view == "proposed":
    item_quality.draw_proposed(project, exam)
elif view == "items":
    exam_facts.draw_items(project, items)
elif view == "filters":
    item_quality.draw_filters(project, exam, items)
else:
    exam_facts.draw_details(known)
