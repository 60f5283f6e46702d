"""Repair of questions: tests of wordings, drafts, proposals by a model, and refusals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest

from exam_workbench import bank
from exam_workbench.bank import remember_settings
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, make_drafter, run_job
from exam_workbench.labels import Policy, add_override, basis, label_qrels
from exam_workbench.measures._means_and_tests import HELD_OUT, level_of_test, rewording_test
from exam_workbench.review import count_held_out, repair_question, suggest_rewordings
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.endpoint_calls import answering, key
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, digit, rate
from tests.made.projects import fill, judge
from tests.made.refusals import refusal
from tests.made.screens import Screen, named, served, visit
from tests.made.shell import Run, printed

__all__ = ["key", "served"]

PASSAGES = [f"p{i}" for i in range(120)]
GRADER = Policy(grader="Self-rating (m)")


def answers(seen: Seen) -> Reply:
    """Rate even passages 5 and odd ones 0 for a good wording; for any other at random."""
    number = int(re.findall(r"\bp(\d+)\b", seen.prompt)[-1])
    right = 5 * (number % 2 == 0)
    return rate(seen, right if "exactly" in seen.prompt or digit(seen.prompt) > 2 else 5 - right)


server = answering(answers)


@pytest.fixture
def graded(project: Project, server: EndpointServer) -> Project:
    """A project with one question about 120 passages, of which the even ones are relevant."""
    fill(project, [Question("q1/a", "q1", "What is it?")], {}, {"run": {"q1": PASSAGES}})
    judge(project, {("q1", passage): 1 - int(passage[1:]) % 2 for passage in PASSAGES})
    parameters = {"model": "m", "base_url": server.url}
    grader = make_grader("self-rating", parameters)
    remember_settings(project, grader, "self-rating", parameters, "ann")
    run_job(project, grader, Request(), "ann")
    return project


def test_better_wording_is_drafted_but_random_one_is_not(graded: Project) -> None:
    with refusal("nothing-to-repair", "q1/a"):
        repair_question(graded, "q1/a", ["What is it?"], GRADER, "assessors", "ann")
    with refusal("unknown-source"):
        repair_question(graded, "q1/a", ["What else?"], GRADER, "nobody", "ann")
    assert graded.value("SELECT count(*) FROM repairs") == 0
    given = ["What was it?", "What is it exactly?", "What may it be?"]
    found = repair_question(graded, "q1/a", given, GRADER, "assessors", "ann")
    assert (found.wording, found.number, found.test.accepted) == (given[1], 1, True)
    assert found.test.pairs >= HELD_OUT and found.test.losses == 0
    assert bank.list_drafts(graded, "ann")["q1/a"].question.text == given[1]
    second = repair_question(graded, "q1/a", [given[0]], GRADER, "assessors", "ann")
    assert (second.number, second.test.accepted) == (2, False)
    assert second.test.level < found.test.level
    # An override takes precedence over a judgment.
    for passage in PASSAGES:
        add_override(graded, "q1/a", passage, 5 * (int(passage[1:]) % 2), "the other way", "ben")
    turned = repair_question(graded, "q1/a", ["What is it exactly?"], GRADER, "assessors", "ann")
    assert (turned.test.gains, turned.test.losses) == (found.test.losses, found.test.gains)


def open_form(**query: str) -> Screen:
    """Open the question bank with the form for new wordings expanded."""
    app = visit("question_bank", query="q1", grader="Self-rating (m)", **query)
    app.session_state["repair "] = True
    return app.run()


def test_wording_is_tested_on_bank_screen(graded: Project) -> None:
    app = open_form()
    app.text_area(key="wordings").set_value("What is it exactly?\nWhat was it?")
    app = app.press("test wordings")
    assert app.shows("repair result", "exactly")
    assert graded.value("SELECT count(*) FROM repairs WHERE accepted") == 1
    # A link can select the question.
    bank.save_version(graded, [Question("q1/b", "q1", "What else is it?")], "", "ann")
    app = open_form(question="q1/b")
    assert named(app.selectbox, "repaired q1/b").value == "q1/b"


def drafts(seen: Seen) -> Reply:
    """Answer a request for wordings with two of them, and other requests like `answers`."""
    if "other wordings" not in seen.prompt:
        return answers(seen)
    return chat(json.dumps({"questions": ["What is it exactly?", "What is it, then?"]}))


def test_model_proposes_wordings_without_held_out_passages(graded: Project, server: EndpointServer) -> None:
    server.behave = drafts
    drafter = make_drafter({"model": "m", "base_url": server.url})
    first, second = suggest_rewordings(graded, drafter, "q1/a", GRADER, "assessors", "ann").keys
    prompt = next(seen.prompt for seen in server.seen if "other wordings" in seen.prompt)
    told = set(re.findall(r"\bp\d+\b", prompt))
    assert told and not told & {one for one in PASSAGES if blake2b(one.encode(), digest_size=1).digest()[0] % 2}
    assert bank.proposed_wordings(graded, "q1/a", "ann") == ["What is it exactly?", "What is it, then?"]
    bank.set_assessors_first(graded, True, "olga")
    assert bank.proposed_wordings(graded, "q1/a", "ben") == []
    with refusal("two-keys-for-a-question"):
        bank.accept_proposals(graded, [first, second], "ann")
    (made,) = bank.accept_proposals(graded, [first], "ann")
    assert (made.question_id, made.text) == ("q1/a", "What is it exactly?")
    for passage in PASSAGES:
        add_override(graded, "q1/a", passage, 5 * (passage in right(graded)), "as rated", "ben")
    with refusal("no-disagreement", "q1/a"):
        suggest_rewordings(graded, drafter, "q1/a", GRADER, "assessors", "ann")


def right(project: Project) -> set[str]:
    """Return the passages that the grader rates as answers to the bank's wording."""
    base = basis(project, replace(GRADER, overrides=False))
    return {one for one, label in label_qrels(project, base)["q1"].items() if label >= 4}


def test_model_proposes_wordings_by_command_and_on_screen(
    graded: Project, server: EndpointServer, monkeypatch: pytest.MonkeyPatch, commands: Run
) -> None:
    server.behave = drafts
    app = open_form().press("suggest wordings")
    # The harness only draws whole screens, so the dialog stays open after its button is pressed.
    named(app.button, "ask for wordings").click()
    app = app.press("suggest wordings")
    (area,) = [one for one in app.text_area if str(one.key).startswith("wordings")]
    assert area.value.splitlines() == ["What is it exactly?", "What is it, then?"]
    monkeypatch.setenv("EXAM_PROJECT", str(graded.path))
    graded.close()
    exam = commands
    settings = ("--model", "m", "--base-url", server.url, "--grader", "Self-rating (m)", "--source", "assessors")
    drafted = printed(exam("proposals", "rewordings", "q1/a", *settings, "--json"))
    assert [one["kind"] for one in drafted["proposals"]] == ["rewording"] * 2
    told = printed(exam("bank", "repair", "q1/a", "--proposed", *settings[4:], "--json"))
    assert (told["wording"], told["test"]["accepted"]) == ("What is it exactly?", True)


def test_too_few_pairs_are_refused_before_grading(graded: Project, server: EndpointServer) -> None:
    judge(graded, {("q1", passage): 1 - int(passage[1:]) % 2 for passage in PASSAGES[:9]}, "few")
    asked, drafter = len(server.seen), make_drafter({"model": "m", "base_url": server.url})
    with refusal("too-few-pairs", "q1/a"):
        repair_question(graded, "q1/a", ["What is it exactly?"], GRADER, "few", "ann")
    with refusal("too-few-pairs", "q1/a"):
        suggest_rewordings(graded, drafter, "q1/a", GRADER, "few", "ann")
    app = open_form()
    app = app.selectbox(key="repair source").set_value("few").run()
    assert named(app.button, "test wordings").disabled and named(app.button, "suggest wordings").disabled
    assert len(server.seen) == asked and 0 < count_held_out(graded, "q1/a", GRADER, "few") < 9


def test_levels_of_repeated_tests_stay_bounded() -> None:
    before, after = np.zeros(60, bool), np.ones((1, 60), bool)
    assert rewording_test(before, after, np.arange(60) < HELD_OUT, level_of_test(1)).accepted is True
    assert rewording_test(before, before[None], np.arange(60) < HELD_OUT, level_of_test(1)).p == 1
    assert 0.045 < level_of_test(1) < 0.05 and sum(map(level_of_test, range(1, 2000))) < 0.08
