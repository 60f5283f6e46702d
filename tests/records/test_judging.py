"""An assessor's judgments: a source of their own, replaceable, withdrawn, and counted wherever judgments count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.labels import compare, leaderboard
from exam_workbench.records import (
    blind_judgments,
    judged_pairs,
    judgment_history,
    judgment_sources,
    own_judgment,
    source_judgments,
    source_of,
    withdraw_judgment,
)
from exam_workbench.records.judging import judge_passage, last_judged_passage, undo_judgment
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import copy_of, fill, judge as import_judgments
from tests.made.refusals import refusal

RUNS = {
    "x": {"q1": ["p1", "p2", "p3"]},
    "y": {"q1": ["p2", "p1", "p3"]},
    "z": {"q1": ["p3", "p2", "p1"]},
}


def grade_and_judge(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p1"): 5, ("A?", "p2"): 3, ("A?", "p3"): 0}, RUNS)
    import_judgments(project, {("q1", "p1"): 1})


@pytest.fixture
def graded(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(grade_and_judge, tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The same for cases in which nothing may change, one for all of them."""
    yield from copy_of(grade_and_judge, tmp_path_factory.mktemp("unchanged"))


def pooled(project: Project) -> list[str]:
    return [
        passage
        for (passage,) in project.rows(
            "SELECT passage_id FROM pool JOIN passages USING (passage_key) ORDER BY position"
        )
    ]


def test_a_judgment_goes_into_a_source_named_after_the_assessor(graded: Project) -> None:
    judge_passage(graded, "q1", "p2", 3, "ann")
    judge_passage(graded, "q1", "p2", 0, "bob")
    assert judgment_sources(graded) == ["assessors", "assessor: ann", "assessor: bob"]
    assert source_judgments(graded, "assessor: ann") == {"q1": {"p2": 3}}
    assert own_judgment(graded, "q1", "p2", "bob") == 0
    assert own_judgment(graded, "q1", "p1", "bob") is None
    assert judged_pairs(graded, "ann") == {("q1", "p2")}


def test_a_name_that_no_source_can_have_judges_nothing(graded: Project) -> None:
    with refusal("name-too-long", "257"):
        judge_passage(graded, "q1", "p2", 2, "a" * 257)
    assert source_of("a" * 257) not in judgment_sources(graded)
    judge_passage(graded, "q1", "p2", 2, "a" * 256)
    assert source_of("a" * 256) in judgment_sources(graded)


def test_what_an_assessor_judged_is_an_official_board_like_any_other(graded: Project) -> None:
    for passage, value in (("p1", 3), ("p2", 2), ("p3", 0)):
        judge_passage(graded, "q1", passage, value, "ann")
    board = leaderboard(graded, "nDCG@10", "assessor: ann")
    assert [system.run for system in board.systems] == ["x", "y", "z"]
    assert compare(graded, "nDCG@10", "assessor: ann").correlation.spearman == pytest.approx(1.0)


def test_judging_again_replaces_the_value_and_the_history_keeps_both(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 2, "ann", "names the place")
    judge_passage(graded, "q1", "p1", 1, "ann")
    judge_passage(graded, "q1", "p2", 1, "ann")
    assert source_judgments(graded, "assessor: ann") == {"q1": {"p1": 1, "p2": 1}}
    history = judgment_history(graded, "q1", "p1")
    assert [(act.author, act.value, act.note) for act in history] == [("ann", 1, ""), ("ann", 2, "names the place")]


def test_the_first_blind_judgment_is_kept_unless_it_was_undone_blind(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 3, "ann", blind=True)
    withdraw_judgment(graded, "q1", "p1", "ann", blind=True)
    judge_passage(graded, "q1", "p1", 1, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 2, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 0, "ann", blind=False)
    withdraw_judgment(graded, "q1", "p1", "ann", blind=False)
    judge_passage(graded, "q1", "p2", 2, "ann", blind=False)
    judge_passage(graded, "q1", "p2", 1, "ben", blind=True)
    judge_passage(graded, "q1", "p3", 2, "ann")
    assert blind_judgments(graded, "ann") == {("q1", "p1"): 1}
    assert blind_judgments(graded, "ben") == {("q1", "p2"): 1}
    assert judgment_history(graded, "q1", "p3")[0].blind is None


def test_undoing_restores_the_replaced_judgment_and_withdraws_a_first_one(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 2, "ann", "names the key", blind=True)
    judge_passage(graded, "q1", "p1", 3, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 0, "ben", blind=True)
    undo_judgment(graded, "q1", "p1", "ann")
    newest = judgment_history(graded, "q1", "p1")[0]
    assert (own_judgment(graded, "q1", "p1", "ann"), newest.note, newest.blind) == (2, "names the key", True)
    assert last_judged_passage(graded, "q1", "ann") is None
    assert last_judged_passage(graded, "q1", "ben") == "p1"
    undo_judgment(graded, "q1", "p1", "ben")
    assert own_judgment(graded, "q1", "p1", "ben") is None
    assert last_judged_passage(graded, "q1", "ben") is None


def test_withdrawing_takes_back_the_own_judgment_alone_and_is_recorded(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 2, "ann")
    judge_passage(graded, "q1", "p1", 3, "bob")
    withdraw_judgment(graded, "q1", "p1", "ann")
    assert own_judgment(graded, "q1", "p1", "ann") is None
    assert own_judgment(graded, "q1", "p1", "bob") == 3
    assert [(act.author, act.value) for act in judgment_history(graded, "q1", "p1")] == [
        ("ann", None),
        ("bob", 3),
        ("ann", 2),
    ]
    assert judgment_sources(graded) == ["assessors", "assessor: bob"]
    with refusal("no-own-judgment", "ann"):
        withdraw_judgment(graded, "q1", "p1", "ann")


def test_a_judged_passage_from_outside_the_pool_is_pooled_until_it_is_withdrawn(graded: Project) -> None:
    with graded.transaction() as cursor:
        cursor.execute("DELETE FROM rankings WHERE rank = 3")
        cursor.execute(
            "DELETE FROM pool WHERE passage_key = (SELECT passage_key FROM passages WHERE passage_id = 'p3')"
        )
        cursor.execute("DELETE FROM rankings WHERE passage_key NOT IN (SELECT passage_key FROM pool)")
    before = pooled(graded)
    assert "p3" not in before
    judge_passage(graded, "q1", "p3", 1, "ann")
    assert sorted(pooled(graded)) == sorted([*before, "p3"])
    withdraw_judgment(graded, "q1", "p3", "ann")
    assert pooled(graded) == before


@pytest.mark.parametrize(
    ("query", "passage", "value", "author", "said"),
    [
        ("q1", "p1", 4, "ann", ("judgment-out-of-range",)),
        ("q1", "p1", -1, "ann", ("judgment-out-of-range",)),
        ("q9", "p1", 1, "ann", ("unknown-query", "q9")),
        ("q1", "p9", 1, "ann", ("unknown-passage", "p9")),
        ("q1", "p1", 1, "  ", ("empty-name",)),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(
    unchanged: Project, query: str, passage: str, value: int, author: str, said: tuple[str, ...]
) -> None:
    with refusal(*said):
        judge_passage(unchanged, query, passage, value, author)
    assert judgment_sources(unchanged) == ["assessors"]
    assert judgment_history(unchanged, "q1", "p1") == []


def test_white_space_around_a_name_makes_no_second_assessor() -> None:
    assert source_of(" ann ") == source_of("ann") == "assessor: ann"
