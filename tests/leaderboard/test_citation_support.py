"""Citation support: recall, precision, supported coverage, people's values and agreement, worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy, basis, coverage, set_support
from exam_workbench.leaderboard import (
    RunSupport,
    citation_grader,
    citations,
    response_support,
    support_agreement,
    support_board,
)
from exam_workbench.measures import weighted_kappa
from exam_workbench.project import Project
from exam_workbench.types import Question
from tests.made.cited import melts, put_cited, read
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import grade
from tests.made.refusals import refusal
from tests.made.shell import Run


@pytest.fixture
def cited(project: Project, tmp_path: Path) -> Project:
    """The made responses, every citation graded by the careful reader."""
    put_cited(project, tmp_path)
    with EndpointServer(read) as server:
        run_job(project, make_grader("support", {"model": "m", "base_url": server.url}), Request(), "tester")
    return project


def board(project: Project, policy: Policy | None = None, least: float = 1.0) -> dict[str, RunSupport]:
    rows = support_board(project, policy or Policy(), citation_grader(project), False, least)
    return {row.run: row for row in rows}


def test_recall_and_precision_are_those_worked_by_hand(cited: Project) -> None:
    by = {(one.run, one.query_id): one for one in response_support(cited, citation_grader(cited))}
    # 1 and 1, and a sentence that cites nothing counts 0; of three citations two support.
    assert (by["good", "salts"].recall, by["good", "salts"].precision) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    # .5 and 0; the sentence whose only citation is unresolved counts neither way.
    poor = by["poor", "salts"]
    assert (poor.recall, poor.precision, poor.sentences, poor.citations) == (0.25, 0.25, 3, 3)
    assert (poor.unresolved, poor.ungraded, poor.failed) == (1, 0, 0)
    assert (by["poor", "ores"].recall, by["poor", "ores"].precision) == (0.5, pytest.approx(1 / 3))
    rows = board(cited)
    assert list(rows) == ["good", "poor"]
    assert (rows["good"].recall, rows["good"].precision) == (pytest.approx(5 / 6), pytest.approx(5 / 6))
    assert rows["poor"].recall == 0.375 and rows["poor"].recall_error == pytest.approx(0.125)
    assert rows["poor"].coverage is None
    # Only the first citation: that of the fourth salt supports nothing, and the second one of "good" is not asked for.
    first = {(one.run, one.query_id): one for one in response_support(cited, citation_grader(cited), first=True)}
    assert (first["poor", "ores"].recall, first["poor", "ores"].precision) == (0, 0)
    assert (first["good", "salts"].recall, first["good", "salts"].precision) == (pytest.approx(2 / 3), 1)


def test_missing_support_is_not_zero(project: Project, tmp_path: Path) -> None:
    put_cited(project, tmp_path)
    assert citation_grader(project) is None
    rows = board(project)
    assert (rows["poor"].recall, rows["poor"].precision, rows["poor"].ungraded) == (None, None, 5)
    # The sentence that cites nothing is known to count 0.
    assert (rows["good"].recall, rows["good"].unresolved) == (0, 0)
    set_support(project, "poor/salts/1", 1, "d0", 2, "asta")
    assert board(project)["poor"].recall == 1


def test_a_question_counts_only_if_the_sentence_that_answers_it_is_supported(cited: Project) -> None:
    questions = [
        Question(f"salts/{i}", "salts", f"When does salt {i} melt?", weight=weight)
        for i, weight in ((0, 1), (1, 1), (2, 2), (3, -0.5))
    ]
    bank.save(cited, questions, "made", "tester")
    ratings: dict[tuple[str, str], int | None] = {
        (question.text or "", f"{run}/salts/1"): 0 for question in questions for run in ("good", "poor")
    }
    answered = {("good", 0), ("good", 1), ("poor", 0), ("poor", 1), ("poor", 2), ("poor", 3)}
    ratings |= {(f"When does salt {i} melt?", f"{run}/salts/1"): 5 for run, i in answered}
    grade(cited, ratings)
    base = basis(cited, Policy())
    with refusal("not-a-grader-of-citations", base.grader.spec.name):
        citation_grader(cited, base.grader.spec.name)
    assert coverage(cited, base)["poor"]["salts"] == 0.875
    # Without an answer any sentence of the passage counts: none of "poor" has full support.
    rows = board(cited)
    assert (rows["good"].coverage, rows["poor"].coverage) == (0.5, 0)
    assert board(cited, least=0.5)["poor"].coverage == 0.875
    # With answers the sentence that has the answer counts: that of the first question has partial support.
    with cited.transaction() as cursor:
        cursor.execute(
            "UPDATE grades SET answer = CASE question_text_key"
            + "".join(
                f" WHEN (SELECT text_key FROM question_texts WHERE text = 'When does salt {i} melt?')"
                f" THEN '{melts(i)} degrees'"
                for i in range(3)
            )
            + " END WHERE rating = 5 AND grader_key = $grader",
            {"grader": base.grader.key},
        )
    assert board(cited, least=0.5)["poor"].coverage == 0.125
    assert board(cited)["poor"].coverage == 0
    assert board(cited)["good"].coverage == 0.5


def test_peoples_values_replace_ratings_and_are_compared_with_them(cited: Project) -> None:
    grader = citation_grader(cited)
    assert grader is not None
    for position, value in ((1, 2), (2, 0)):
        set_support(cited, "poor/salts/1", position, ("d0", "d3")[position - 1], value, "asta", "checked")
    set_support(cited, "poor/salts/1", 1, "d0", 1, "bo")
    set_support(cited, "poor/salts/1", 1, "d0", 2, "bo")
    (seen, *_) = citations(cited, grader, "poor", "salts", "asta")
    assert (seen.rating, seen.value, seen.author, seen.own, seen.state) == (1, 2, "bo", 2, "known")
    assert board(cited)["poor"].recall == 0.5
    assert board(cited, Policy(overrides=False))["poor"].recall == 0.375
    tables = support_agreement(cited, grader)
    assert {person: table.n for person, table in tables.items()} == {"asta": 2, "bo": 1}
    assert tables["asta"].counts.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert weighted_kappa(tables["asta"]).value == pytest.approx(2 / 3)
    for person in ("bo", "asta"):
        set_support(cited, "poor/salts/1", 1, "d0", None, person)
    assert board(cited)["poor"].recall == 0.375
    with refusal("no-value-to-remove", "d0"):
        set_support(cited, "poor/salts/1", 1, "d0", None, "bo")
    with refusal("value-out-of-range", "3"):
        set_support(cited, "poor/salts/1", 1, "d0", 3, "bo")
    with refusal("unknown-citation", "d7"):
        set_support(cited, "poor/salts/1", 1, "d7", 1, "bo")
    with refusal("no-text", "d9"):
        set_support(cited, "poor/salts/1", 3, "d9", 1, "bo")


def test_commands_show_list_set_and_remove(
    cited: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(monkeypatch, capsys)
    monkeypatch.setenv("EXAM_AUTHOR", "asta")
    monkeypatch.setenv("EXAM_PROJECT", str(cited.path))
    cited.close()

    def json_of(*words: str) -> dict[str, Any]:
        code, printed, told = run("support", *words, "--json")
        assert code == 0, told
        return dict(json.loads(printed))

    listed = json_of("list", "--run", "poor", "--limit", "2")["citations"]
    assert [(one["passage_id"], one["position"], one["cited_id"]) for one in listed] == [
        ("poor/salts/1", 1, "d0"), ("poor/salts/1", 2, "d3"),
    ]  # fmt: skip
    assert run("support", "set", "poor/salts/1", "2", "d3", "1", "--reason", "half of it")[0] == 0
    shown = json_of("show")
    assert [(one["run"], one["recall"]) for one in shown["runs"]] == [("good", pytest.approx(5 / 6)), ("poor", 0.5)]
    assert [(one["assessor"], one["pairs"]) for one in shown["agreement"]] == [("asta", 1)]
    assert run("support", "show", "--first", "--partial")[0] == 0
    assert run("support", "remove", "poor/salts/1", "2", "d3")[0] == 0
    assert json_of("show", "--no-overrides")["runs"][1]["recall"] == 0.375
    run.fails("no-value-to-remove", "support", "remove", "poor/salts/1", "2", "d3")
    run.fails("unknown-grader", "support", "show", "--support-grader", "Other")
    assert run("check")[0] == 0
