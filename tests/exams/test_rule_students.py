"""Examinees without a model: each rule sits the exam once with each context."""

from __future__ import annotations

from exam_workbench.exams import examinee_responses, fit_abilities, list_retrievals, sit_by_rules
from exam_workbench.store import Project
from tests.made.exams import put_exam


def test_every_rule_sits_once_with_every_context(project: Project) -> None:
    put_exam(project, 12)
    said: list[str] = []
    names = sit_by_rules(project, "ann", said.append)
    found = examinee_responses(project)
    assert found.names == names and len(set(names)) == 14 and said[-1] == f"Answers: {14 * 12}."
    assert found.correct.shape == (14, 12) and not found.failed.any()
    assert {component.factor for component in fit_abilities(project).components} == {"model", "retrieval"}
    answers = project.value("SELECT count(*) FROM answers")
    assert sit_by_rules(project, "ann") == names, "existing examinees are not added again"
    assert (project.value("SELECT count(*) FROM answers"), len(list_retrievals(project))) == (answers, 2)
