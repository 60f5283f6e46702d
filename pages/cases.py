"""Cases: queries on which Recall, LLM-retEval and the gold answers disagree, with likely causes, for people to
confirm.
"""

from pages.parts.answers import answer_settings, cases_desk
from pages.parts.shared import ui

project = ui.project()
answer_settings.begin(project)
if not answer_settings.generators(project):
    ui.empty(
        "No answers yet.",
        "Generate answers on the Answers screen, or import answers on the Home screen.",
        "answers",
        code="no-answers",
    )
cases_desk.here().come(project.name)
cases_desk.draw(project, answer_settings.look(project).view)
