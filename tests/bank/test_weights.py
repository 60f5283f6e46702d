"""Weights: every way in checks the bounds, and coverage stays finite for weights of older projects."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.errors import FileError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, basis, coverage_scores, list_labels
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import MAX_WEIGHT, Question
from tests.made.projects import commit, fill, filled_project
from tests.made.refusals import refusal

A = Question("q1/a", "q1", "A?")
B = Question("q1/b", "q1", "B?")
RUNS = {"one": {"q1": ["p1", "p2"]}, "two": {"q1": ["p2"]}}
filled = filled_project(lambda project: fill(project, [A, B], {("A?", "p1"): 5, ("B?", "p2"): 2}, RUNS))


@pytest.mark.parametrize("weight", [1e308, -1e308, 1.0001 * MAX_WEIGHT, math.inf, math.nan])
def test_unbounded_weight_is_refused_everywhere(filled: Project, weight: float) -> None:
    changed = replace(A, weight=weight)
    before = bank.list_questions(filled)
    with refusal("weight-out-of-range"):
        bank.save_version(filled, [changed], "n", "ann")
    with refusal("weight-out-of-range"):
        bank.put_draft(filled, "ann", changed)
    with refusal("weight-out-of-range"):
        bank.change_draft(filled, "ann", A, "weight", weight)
    row = {"query_id": "q1", "question_id": "q1/a", "text": "A?", "weight": weight}
    csv = f"query_id,question_id,text,weight\nq1,q1/a,A?,{weight}\n"
    in_json = "weight-out-of-range" if math.isfinite(weight) else "invalid-json"
    for name, content, code in (("bank.jsonl", json.dumps(row), in_json), ("bank.csv", csv, "weight-out-of-range")):
        with refusal(code, name, kind=FileError):
            import_files(filled, "bank", [Source(name, data=content.encode())], "ann")
    assert bank.list_questions(filled) == before and not bank.list_drafts(filled, "ann")
    bank.save_version(filled, [replace(A, weight=MAX_WEIGHT), replace(B, weight=-MAX_WEIGHT)], "n", "ann")
    assert coverage_scores(filled, basis(filled, Policy())) == {"one": {"q1": 1.0}, "two": {"q1": 0.0}}


@pytest.mark.parametrize("rule", ["max", "mean"])
@pytest.mark.parametrize("first", [1e308, math.inf])
def test_coverage_is_finite_for_weights_of_older_projects(filled: Project, rule: str, first: float) -> None:
    commit(filled, "UPDATE question_revisions SET weight = ?", [first])
    policy = Policy(label=rule)
    assert coverage_scores(filled, basis(filled, policy)) == {"one": {"q1": 0.5}, "two": {"q1": 0.0}}
    assert list(list_labels(filled, basis(filled, policy))["label"]) == [5, 2]
    edits = {"q1": [replace(A, weight=first), replace(B, weight=first, text="New?")]}
    found = changes(filled, "EXAM-Cover@20", policy, edits)
    for board in (found.before, found.after):
        assert [math.isfinite(system.score) for system in board.systems] == [True, True]
