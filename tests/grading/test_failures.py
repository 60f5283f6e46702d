"""Failed and defaulted pairs: counts by reason, listing, and retries."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from exam_workbench import bank, grading
from exam_workbench.bank import StoredGrader, find_grader
from exam_workbench.graders import USES, built_in_prompts
from exam_workbench.grading._needed_pairs import DEFAULTS, pairs_to_grade
from exam_workbench.records import add_queries
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderInput, GraderSpec, Query, Question, Subtopic
from tests.grading.test_grading import HashGrader
from tests.made.endpoint_server import EndpointServer, chat, well
from tests.made.projects import SPEC, commit, fill, filled_project, grade
from tests.made.refusals import refusal
from tests.made.shell import Run, exam_on

QUESTIONS = [
    Question("q1/a", "q1", "A?", answer_key="red"),
    Question("q1/b", "q1", "B?"),
    Question("q2/a", "q2", "A?"),
    Question("q2/n", "q2", "A fact", kind="nugget"),
    Question("q2/c", "q2", "Which?", kind="choice", answer_key="x", choices=("x", "y")),
    Question("q2/off", "q2", "Retired?", active=False),
]
WHOLE = Query("q1", "query q1", "the narrative", (Subtopic("s", "a subtopic"),), "because")
RUNS = {"one": {"q1": ["p1", "p2"], "q2": ["p2", "p3"]}}


def fill_doubtful(project: Project) -> None:
    """Store failures with two reasons, a pair that failed twice, a failure since graded, and defaults."""
    fill(project, QUESTIONS, {}, RUNS)
    refused = Grade(None, "failed", reason="refused")
    say(project, ("A?", "p1", replace(refused, raw="first try")), ("A?", "p2", refused), ("B?", "p1", refused))
    say(project, ("A?", "p1", Grade(None, "failed", reason="off the scale", raw="9")))
    say(project, ("B?", "p1", Grade(3)), ("B?", "p2", Grade(1, "defaulted", raw="well, well")))
    say(project, ("A fact", "p3", Grade(0, "defaulted", raw="unanswerable")))


doubtful = filled_project(fill_doubtful)


def say(project: Project, *said: tuple[str, str, Grade], spec: GraderSpec = SPEC) -> None:
    grade(project, {(question, passage): one for question, passage, one in said}, spec)


def grader(project: Project) -> StoredGrader:
    return find_grader(project, SPEC.name)


def test_failed_and_defaulted_pairs_are_counted_and_listed(doubtful: Project) -> None:
    first, second = grading.doubtful_pairs(doubtful, grader(doubtful), "failed", 1)
    assert (first.query_id, first.query, first.asked, first.passage_id) == (
        "q1",
        "query q1",
        GraderInput("A?"),
        "p1",
    )
    assert (first.passage, first.rating, first.reason) == ("text of p1", None, "off the scale")
    assert (first.raw, first.attempts) == ("9", 2)
    assert (second.passage_id, second.raw, second.attempts) == ("p2", None, 1)
    pairs = grading.doubtful_pairs(doubtful, grader(doubtful), "defaulted", 1)
    assert [(pair.asked.text, pair.rating, pair.raw) for pair in pairs] == [
        ("B?", 1, "well, well"),
        ("A fact", 0, "unanswerable"),
    ]

    def pages(**options: Any) -> list[str]:
        listed = grading.doubtful_pairs(doubtful, grader(doubtful), "failed", 1, **options)
        return [pair.passage_id for pair in listed]

    assert pages(limit=1) + pages(limit=1, offset=1) == pages() == ["p1", "p2"]
    assert pages(reason="refused") == ["p2"]
    assert pages(offset=2) == []
    # Only pairs in the bank are counted.
    assert grading.count_reasons(doubtful, grader(doubtful), "failed", 1) == [("off the scale", 1), ("refused", 1)]
    assert grading.make_plan(doubtful, SPEC, 1).failed == 2
    found = grading.count_reasons(doubtful, grader(doubtful), "defaulted", 1)
    assert dict(found) == {DEFAULTS[1]: 1, DEFAULTS[0]: 1}
    bank.save_version(doubtful, [replace(QUESTIONS[0], text="Reworded?")], "", "ann")
    # The old wording is still a question of the other query, which has one of the two passages.
    pairs = grading.doubtful_pairs(doubtful, grader(doubtful), "failed", 2)
    assert [(pair.query_id, pair.passage_id) for pair in pairs] == [("q2", "p2")]
    assert grading.make_plan(doubtful, SPEC, 2).failed == 1


def test_only_failed_pairs_are_sent(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")], {}, {"one": {"q1": ["p1", "p2"]}})
    first = HashGrader(failing=[("A?", "text of p2")])
    grading.run_job(project, first, grading.Request(grading.Scope(limit=3)), "ann")
    again = HashGrader()
    final = grading.run_job(project, again, grading.Request(grading.Scope(only_failed=True)), "ann")
    assert again.asked == [("A?", "text of p2")]
    assert (final.total, final.graded, final.failed) == (1, 1, 0)
    assert grading.make_plan(project, again.spec, 1).to_grade == 1
    # No pair of the commands' own grader has failed.
    assert exam_on(project, "plan", "--only-failed", "--json")["to_grade"] == 0
    assert exam_on(project, "grade", "--only-failed", "--json")["graded"] == 0


def test_only_failed_pairs_are_planned_and_recorded_as_such(doubtful: Project) -> None:
    plan = grading.make_plan(doubtful, SPEC, 1, grading.Scope(only_failed=True))
    assert (plan.failed, plan.to_grade) == (2, 2)
    assert sum(map(len, pairs_to_grade(doubtful, SPEC, 1, grading.Scope(only_failed=True)))) == 2
    assert grading.make_plan(doubtful, SPEC, 1, grading.Scope(("q2",), only_failed=True)).to_grade == 1
    grading.run_job(doubtful, HashGrader(), grading.Request(grading.Scope(only_failed=True)), "ann")
    assert json.loads(doubtful.value("SELECT request FROM jobs ORDER BY job_key DESC LIMIT 1"))["only_failed"]


class TestSkippedQuestions:
    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            (SPEC, grading.SkippedCounts(0, 0, 0, 0)),
            # A grader of questions also gets multiple-choice questions.
            (replace(SPEC, kinds=("question",)), grading.SkippedCounts(1, 0, 0, 0)),
            (
                replace(SPEC, kinds=("question", "choice"), parameters={"reads": ["answer_key"]}),
                grading.SkippedCounts(1, 0, 2, 0),
            ),
            (
                replace(SPEC, kinds=("choice",), parameters={"reads": ["answer_key", "choices"]}),
                grading.SkippedCounts(4, 0, 0, 0),
            ),
        ],
    )
    def test_skipped_questions_are_counted(
        self, doubtful: Project, spec: GraderSpec, expected: grading.SkippedCounts
    ) -> None:
        assert grading.count_skipped(doubtful, spec, 1) == expected

    def test_missing_choices_and_missing_keys_are_counted_apart(self, project: Project) -> None:
        asked = [
            Question("q1/a", "q1", "A?", kind="choice", answer_key="x"),
            Question("q1/b", "q1", "B?", kind="choice", choices=("x", "y")),
            Question("q2/c", "q2", "C?", kind="choice"),
        ]
        fill(project, asked, {}, RUNS)
        spec = replace(SPEC, kinds=("choice",), parameters={"reads": ["answer_key", "choices"]})
        assert grading.count_skipped(project, spec, 1) == grading.SkippedCounts(0, 0, 2, 1)
        assert grading.count_skipped(project, spec, 1, ["q1"]) == grading.SkippedCounts(0, 0, 1, 1)

    def test_direct_grader_skips_queries_known_only_by_id(self, project: Project) -> None:
        fill(project, QUESTIONS, {}, RUNS)
        commit(project, add_queries, [Query("q3", "q3")], replace=True)
        judge = GraderSpec("judge", "direct", "m", kinds=())
        assert grading.count_skipped(project, judge, 1) == grading.SkippedCounts(0, 1, 0, 0)
        assert grading.count_skipped(
            project, replace(judge, parameters={"reads": ["answer_key"]}), 1
        ) == grading.SkippedCounts(0, 1, 2, 0)


def test_grade_fails_if_every_call_failed(project: Project, commands: Run) -> None:
    fill(project, QUESTIONS, {}, RUNS)
    project.close()
    with EndpointServer(lambda seen: chat("")) as server:
        grader = ("--grader", "self-rating", "--model", "m", "--base-url", server.url, "--project", str(project.path))
        commands.fails("nothing-usable", "grade", *grader)
        server.behave = well
        retried = commands("grade", *grader, "--retry-failed", "--json")
    assert (retried[0], json.loads(retried[1])["failed"]) == (0, 0)


class TestFilledPrompts:
    @pytest.mark.parametrize("use", USES)
    def test_every_built_in_prompt_can_be_filled(self, project: Project, use: str) -> None:
        fill(project, QUESTIONS, {}, RUNS)
        commit(project, add_queries, [WHOLE, replace(WHOLE, query_id="q2")], replace=True)
        for prompt in (prompt for prompt in built_in_prompts().values() if prompt.use == use):
            query_id = "q2" if "question" not in prompt.kinds else "q1"
            question = grading.questions_for(project, prompt, query_id)[0]
            shown = grading.fill_for_question(project, prompt, question, "a passage of words").joined()
            places = ("{context}", "{passage}", "{documentation}")
            assert ("a passage of words" in shown) == any(place in prompt.template for place in places)
            assert (question.text or "") in shown or use == "generate items", "item prompts have only a passage"
            written = [word for word in re.findall(r"\{(?!\")([^}]*)", shown) if word not in USES[use].literal]
            assert written == [], shown

    def test_filled_prompts_show_fences_and_name_missing_texts(self, project: Project) -> None:
        fill(project, QUESTIONS, {}, RUNS)
        prompt = built_in_prompts()["self-rating"]
        (question, *_) = grading.questions_for(project, prompt, "q1")
        assert "<passage-" not in grading.fill_for_question(project, prompt, question, "words").joined()
        assert "<passage-" in grading.fill_for_question(project, prompt, question, "words", fence=True).joined()
        judge = built_in_prompts()["QA-judge"]
        assert grading.questions_for(project, judge, "q1") == []
        with refusal("prompt-not-filled"):
            grading.fill_for_question(project, judge, Question("q1", "q1", "query q1"), "a passage")
        prompt = built_in_prompts()["questions-by-subtopic"]
        (query,) = grading.questions_for(project, prompt, "q1")
        with refusal("prompt-value-missing", "subtopics"):
            grading.fill_for_question(project, prompt, query, "a passage")
