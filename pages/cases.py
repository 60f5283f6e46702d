"""Cases: queries on which Recall, LLM-retEval and the gold answers disagree, with likely causes,
for people to confirm.
"""

from pages.parts.answers import answer_settings, cases_desk
from pages.parts.shared import ui

project = ui.require_project()
answer_settings.explain_missing_inputs(project)
ui.require_content(
    answer_settings.generator_models(project),
    "No answers yet.",
    "Generate answers on the Answers screen, or import answers on the Home screen.",
    "answers",
    code="no-answers",
)
cases_desk.case_places().apply_address(project.name)
cases_desk.draw(project, answer_settings.choose_evaluation(project).view)
