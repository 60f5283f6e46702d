"""Repair of questions: a better wording is found and drafted, a random one is not, and few pairs tell nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from exam_workbench import bank
from exam_workbench.bank import remember_settings
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy, override
from exam_workbench.measures._means_and_tests import HELD_OUT, rewording_test, spent
from exam_workbench.review import repair
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.endpoint_calls import key
from tests.made.endpoint_server import EndpointServer, Reply, Seen, digit, rate
from tests.made.projects import fill, judge
from tests.made.refusals import refusal
from tests.made.screens import press, served, shows, visit

__all__ = ["key", "served"]

PASSAGES = [f"p{i}" for i in range(120)]
GRADER = Policy(grader="Self-rating (m)")


def answers(seen: Seen) -> Reply:
    """Rate even passages 5 and odd ones 0 for a good wording; for any other at random."""
    number = int(re.findall(r"\bp(\d+)\b", seen.prompt)[-1])
    right = 5 * (number % 2 == 0)
    return rate(seen, right if "exactly" in seen.prompt or digit(seen.prompt) > 2 else 5 - right)


@pytest.fixture
def graded(project: Project) -> Iterator[Project]:
    """A project with one question about 120 passages, of which the even ones are relevant."""
    fill(project, [Question("q1/a", "q1", "What is it?")], {}, {"run": {"q1": PASSAGES}})
    judge(project, {("q1", passage): 1 - int(passage[1:]) % 2 for passage in PASSAGES})
    with EndpointServer(answers) as server:
        parameters = {"model": "m", "base_url": server.url}
        grader = make_grader("self-rating", parameters)
        remember_settings(project, grader, "self-rating", parameters, "ann")
        run_job(project, grader, Request(), "ann")
        yield project


def test_a_better_wording_is_chosen_tested_and_drafted_and_a_random_one_is_not(graded: Project) -> None:
    given = ["What was it?", "What is it exactly?", "What may it be?"]
    found = repair(graded, "q1/a", given, GRADER, "assessors", "ann")
    assert (found.wording, found.number, found.test.accepted) == (given[1], 1, True)
    assert found.test.pairs >= HELD_OUT and found.test.losses == 0
    assert bank.drafts(graded, "ann")["q1/a"].question.text == given[1]
    second = repair(graded, "q1/a", [given[0]], GRADER, "assessors", "ann")
    assert (second.number, second.test.accepted) == (2, False)
    assert second.test.level < found.test.level


def test_an_override_counts_before_a_judgment(graded: Project) -> None:
    first = repair(graded, "q1/a", ["What is it exactly?"], GRADER, "assessors", "ann")
    for passage in PASSAGES:
        override(graded, "q1/a", passage, 5 * (int(passage[1:]) % 2), "the other way", "ben")
    turned = repair(graded, "q1/a", ["What is it exactly?"], GRADER, "assessors", "ann")
    assert (turned.test.gains, turned.test.losses) == (first.test.losses, first.test.gains)


def test_without_a_new_wording_or_judgments_nothing_is_tested(graded: Project) -> None:
    with refusal("nothing-to-repair", "q1/a"):
        repair(graded, "q1/a", ["What is it?"], GRADER, "assessors", "ann")
    with refusal("unknown-source"):
        repair(graded, "q1/a", ["What else?"], GRADER, "nobody", "ann")
    assert graded.value("SELECT count(*) FROM repairs") == 0


def test_a_wording_is_tested_on_the_screen_of_the_bank(graded: Project) -> None:
    app = visit("question_bank", query="q1", grader="Self-rating (m)")
    app.text_area(key="wordings").set_value("What is it exactly?\nWhat was it?")
    app = press(app, "test wordings")
    assert shows(app, "repair result", "exactly")
    assert graded.value("SELECT count(*) FROM repairs WHERE accepted") == 1


def test_few_pairs_tell_nothing_and_levels_add_up() -> None:
    before, after = np.zeros(60, bool), np.ones((1, 60), bool)
    told = rewording_test(before, after, np.arange(60) < HELD_OUT - 1, spent(1))
    assert told.accepted is None and told.gains == HELD_OUT - 1
    assert rewording_test(before, after, np.arange(60) < HELD_OUT, spent(1)).accepted is True
    assert rewording_test(before, before[None], np.arange(60) < HELD_OUT, spent(1)).p == 1
    assert 0.045 < spent(1) < 0.05 and sum(map(spent, range(1, 2000))) < 0.08
