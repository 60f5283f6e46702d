"""Exam: its items, what the filters find in them before anybody sits it, and what guessing would earn."""

from __future__ import annotations

from core.pipelines import making_of, statistics
from pages.parts.exams import facts, filters, writing
from pages.parts.exams.opened import opened
from pages.parts.shared import ui, views

VIEWS = {"items": "Items", "filters": "Filters", "statistics": "Statistics"}

ui.begin()
project = ui.project()
writing.offer(project)
writing.progress(project)
exam, items = opened(project)
known = statistics(items, making_of(project, exam))
facts.summary(known)
view = views.choose(list(VIEWS), VIEWS.__getitem__)
if view == "items":
    facts.listing(project, items)
elif view == "filters":
    filters.draw(project, exam, items)
else:
    facts.details(known)
