"""Grading on the workers of a cluster, as far as it goes without one: bench/ray_drill.py is the drill on two nodes."""

from __future__ import annotations

import sys

import pytest

from core.errors import GradingError
from core.graders import Cluster, Control, RayGrader, built_in, make_grader
from core.graders.on_ray import Graders
from core.types import Asked

QUESTIONS = {1: Asked("What is gold?"), 2: Asked("What is tin?")}
PASSAGES = {7: "Gold is a metal.", 8: "Tin is a metal, too."}
PAIRS = [(1, 7), (2, 8), (2, 7)]


def test_a_worker_gives_the_grades_that_the_grader_gives_here() -> None:
    worker = Graders("embedding", {}, built_in())
    here = make_grader("embedding", {})
    expected = [one for batch in here.grade(QUESTIONS, PASSAGES, PAIRS, Control()) for one in batch]
    outcomes, _ = worker.grade(QUESTIONS, PASSAGES, PAIRS)
    assert sorted(outcomes, key=lambda one: one[:2]) == sorted(expected, key=lambda one: one[:2])
    assert worker.fingerprint() == here.spec.fingerprint


def test_a_pair_that_breaks_the_grader_has_failed_and_the_others_have_not() -> None:
    outcomes, _ = Graders("embedding", {}, built_in()).grade(QUESTIONS, PASSAGES, [*PAIRS, (1, 9)])
    assert {(question, passage) for question, passage, grade in outcomes if grade.rating is not None} == set(PAIRS)
    (reason,) = [grade.reason for _, passage, grade in outcomes if passage == 9]
    assert reason == "the grader broke: KeyError: 9"


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    grader = RayGrader(make_grader("embedding", {}).spec, "embedding", {}, built_in(), Cluster())
    with pytest.raises(GradingError, match="Ray cannot be loaded") as refused:
        next(iter(grader.grade(QUESTIONS, PASSAGES, PAIRS, Control())))
    assert 'pip install "exam-workbench[ray]"' in refused.value.hint
