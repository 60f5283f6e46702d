"""Exam: its items, proposed items, findings of the filters before examinees sit it, and the score
of guessing.
"""

from functools import partial

from exam_workbench.exams import making_of, summarize_items
from pages.parts.exams import exam_facts, exam_jobs, item_quality
from pages.parts.shared import job_progress, ui, view_choice

project = ui.require_project()
exam_jobs.offer_writing(project)
job_progress.watch_job(project, "items", exam_jobs.draw_written)
exam, items = exam_facts.choose_exam(project, proposed=True)
known = summarize_items(items, making_of(project, exam))
exam_facts.draw_summary(known)
views = {
    "items": ("Items", partial(exam_facts.draw_items, project, items)),
    "proposed": ("Proposed", partial(item_quality.draw_proposed, project, exam)),
    "filters": ("Filters", partial(item_quality.draw_filters, project, exam, items)),
    "statistics": ("Statistics", partial(exam_facts.draw_details, known)),
}
view = view_choice.choose_view(
    list(views) if items else ["proposed", "statistics"], lambda name: views[name][0]
)
views[view][1]()
