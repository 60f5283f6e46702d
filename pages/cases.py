"""Cases: queries on which Recall, LLM-retEval and the gold answers part, and why, for a person to confirm."""

from __future__ import annotations

from pages.parts.answers import case_acts, desk, looking
from pages.parts.shared import ui

ui.begin()
project = ui.project()
looking.begin(project)
if not looking.generators(project):
    ui.empty(
        "There are no answers yet.",
        "Generate some, or import them, on the Answers screen.",
        "answers",
        code="no-answers",
    )
desk.arrive(project)
case_acts.draw(project, looking.look(project).view)
