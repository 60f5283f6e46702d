"""Leaderboards that rescore only changed queries equal those computed from scratch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from exam_workbench.bank import latest_version, list_questions, save_version
from exam_workbench.errors import InputError
from exam_workbench.labels import (
    Policy,
    add_override,
    basis as find_basis,
    find_overrides,
    label_qrels,
    leaderboard,
    withdraw_by_key,
)
from exam_workbench.records import judging
from exam_workbench.review import state_changes
from exam_workbench.store import Project, by_query
from exam_workbench.study import choose_rows, meta_table
from exam_workbench.types import Question
from tests.made.projects import examples, fill, grade, judge, new_project

MEASURES = ("nDCG@10", "EXAM-Cover@3", "ERR_IA@5")
"""One measure each from labels, coverage and intents."""
PASSAGES = [f"p{i}" for i in range(8)]
QUERIES = ("q1", "q2", "q3")
ASKED = [Question(f"{query}/{i}", query, f"{'ABCD'[i]} of {query[1]}?") for query in QUERIES for i in range(3)]


def made(path: Path, dice: random.Random) -> Project:
    project = new_project(path)
    runs = {run: {query: dice.sample(PASSAGES, 6) for query in QUERIES} for run in ("one", "two", "three")}
    ratings = {(q.text, passage): dice.choice([None, 0, 2, 3, 4, 5]) for q in ASKED for passage in PASSAGES}
    fill(project, ASKED, {pair: value for pair, value in ratings.items() if dice.random() < 0.6}, runs)
    judge(project, {(query, passage): dice.randrange(3) for query in QUERIES for passage in PASSAGES[:5]})
    return project


def acts(project: Project, dice: random.Random) -> Iterator[Callable[[], object]]:
    """Yield actions of people and graders."""
    asked = dice.choice(ASKED)
    for question in (asked, *dice.sample(ASKED, 2)):
        rating = dice.randrange(6)
        yield partial(add_override, project, question.question_id, dice.choice(PASSAGES), rating, "it does", "ann")
    yield lambda: judging.judge_passage(project, dice.choice(QUERIES), dice.choice(PASSAGES), 2, "bob")
    yield lambda: grade(project, {(asked.text, passage): 5 for passage in PASSAGES})
    yield lambda: withdraw_by_key(project, find_overrides(project)[0].key, "ann")
    changed = [
        replace(q, weight=dice.choice([0.5, 2.0, 0.0]), active=dice.random() < 0.8) for q in list_questions(project)
    ]
    yield lambda: save_version(project, changed, "changed", "ann")


def told(project: Project) -> list[object]:
    """Return all results that are computed per query."""
    found: list[object] = []
    # The same grades under other rules and without overrides, so that each policy finds the cache of another.
    for policy in (Policy(min_rating=3), Policy(min_rating=3, overrides=False), Policy(label="mean", min_rating=2)):
        for measure in MEASURES:
            board = leaderboard(project, measure, policy=policy)
            found.append((board.as_dict(), board.per_query, [*board.per_query["one"]], board.query_ids))
        found.append(label_qrels(project, find_basis(project, policy)))
    before, after = Policy(min_rating=3, overrides=False), Policy(min_rating=3)
    found.append(state_changes(project, before, after, "AP", "assessors"))
    found.append(meta_table(project, choose_rows(project, min_ratings=(2, 4)), ["assessors"]).as_dict())
    return found


@pytest.mark.parametrize("seed", range(examples(2)))
def test_cached_queries_equal_fresh_computation(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    project = made(tmp_path / "made.duckdb", dice)
    told(project)
    steps = list(acts(project, dice))
    dice.shuffle(steps)
    for step in steps:
        try:
            step()
        except (IndexError, InputError):
            # No override to withdraw yet.
            continue
        assert told(project) == told(Project(project._database)), "a new handle has nothing cached"
    assert latest_version(project) == 2
    project.close()


def test_only_changed_queries_are_recomputed(tmp_path: Path) -> None:
    project = new_project(tmp_path / "made.duckdb")
    asked: list[list[str]] = []

    def make(queries: list[str]) -> dict[str, str]:
        asked.append(list(queries))
        return {query: f"{query}, made {len(asked)}" for query in queries}

    rows = object()
    for marks in ({"a": 1, "b": 1}, {"a": 1, "b": 1}, {"c": 1, "b": 2, "a": 1}, {"c": 1}):
        found = by_query(project, "key", marks, make, (rows,))
        assert [*found] == [*marks]
    assert asked == [["a", "b"], ["c", "b"]] and found == {"c": "c, made 2"}
    by_query(project, "another key", {"c": 1}, make, (rows,))
    by_query(project, "key", {"c": 1}, make, (object(),))
    assert asked[2:] == [["c"], ["c"]], "another key and other rows must not use the cache"
    project.close()
