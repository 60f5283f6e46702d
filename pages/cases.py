"""Cases: queries on which Recall, LLM-retEval and the gold answers disagree, with likely causes, for people to
confirm.
"""

from pages.parts.answers import desk, looking
from pages.parts.shared import ui

project = ui.project()
looking.begin(project)
if not looking.generators(project):
    ui.empty(
        "No answers yet.",
        "Generate answers on the Answers screen, or import answers on the Home screen.",
        "answers",
        code="no-answers",
    )
desk.arrive(project)
desk.draw(project, looking.look(project).view)
