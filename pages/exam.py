"""Exam: its items, proposed items, findings of the filters before examinees sit it, and the score of guessing."""

from exam_workbench.pipelines import making_of, statistics
from pages.parts.exams import facts, jobs, worth
from pages.parts.shared import ui, views

VIEWS = {"items": "Items", "proposed": "Proposed", "filters": "Filters", "statistics": "Statistics"}

project = ui.project()
jobs.offer_writing(project)
jobs.writing_progress(project)
exam, items = facts.opened(project, proposed=True)
known = statistics(items, making_of(project, exam))
facts.summary(known)
view = views.choose(list(VIEWS) if items else ["proposed", "statistics"], VIEWS.__getitem__)
if view == "proposed":
    worth.draw_proposed(project, exam)
elif view == "items":
    facts.listing(project, items)
elif view == "filters":
    worth.draw_filters(project, exam, items)
else:
    facts.details(known)
