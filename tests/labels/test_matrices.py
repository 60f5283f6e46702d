"""Labels and leaderboards from matrices and kept queries equal those of SQL over pairs and fresh ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from exam_workbench.bank import bank_for, latest_version, list_questions, save_version
from exam_workbench.errors import InputError
from exam_workbench.labels import (
    RANKED,
    Basis,
    Policy,
    add_override,
    basis,
    coverage_scores,
    covered_sql,
    find_overrides,
    first_answers,
    from_answers,
    graded_pairs,
    label_qrels,
    leaderboard,
    list_labels,
    pool_summary,
    withdraw_by_key,
)
from exam_workbench.records import judging, refresh_pool
from exam_workbench.review import state_changes
from exam_workbench.store import Project, by_query
from exam_workbench.study import choose_rows, meta_table
from exam_workbench.types import Question
from tests.made.projects import examples, fill, grade, judge, module_project, new_project

QUESTIONS = [
    Question("q1/a", "q1", "A?", weight=0.3),
    Question("q1/b", "q1", "B?", weight=0.7),
    # The same wording as q1/a, once within its query and once in another.
    Question("q1/again", "q1", "A?", weight=0.1),
    Question("q2/a", "q2", "A?"),
    Question("q2/c", "q2", "C?", weight=-1.0),
    Question("q3/c", "q3", "C?", weight=-1.0),
    Question("q4/old", "q4", "D?", active=False),
]
PASSAGES = [f"p{i}" for i in range(8)]
POLICIES = [
    Policy(min_rating=2),
    Policy(label="mean", cutoff=2),
    Policy(label="support:2", weighted=False, min_rating=3),
    # A cutoff deeper than the pool.
    Policy(cutoff=30, overrides=False),
]


def fill_made(project: Project) -> None:
    """Passages shared by queries: two with the same text, one without text, one ranked below the pool depth."""
    dice = random.Random(5)
    asked = sorted({question.text for question in QUESTIONS})
    ratings = {(text, passage): dice.choice([None, 0, 1, 2, 3, 4, 5]) for text in asked for passage in PASSAGES}
    some = {pair: rating for pair, rating in ratings.items() if dice.random() < 0.7}
    deep = [f"deep{i}" for i in range(21)] + ["p7"]
    runs = {
        "b": {"q1": ["p0", "p1", "p2", "p3"], "q2": ["p3", "p1", "p6"], "q3": ["p1"], "q4": ["p0"]},
        "a": {"q1": ["p5", "p4", "p0"], "q2": deep},
        "none": {"q3": ["p2"]},
    }
    fill(project, QUESTIONS, some, runs)
    add_override(project, "q1/b", "p3", 5, "it does", "ann")
    with project.transaction() as cursor:
        cursor.execute(
            "UPDATE passages SET text_key = (SELECT text_key FROM passages WHERE passage_id = 'p0')"
            " WHERE passage_id = 'p4'"
        )
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p6'")
        refresh_pool(cursor)


made = module_project(fill_made)


def labels_in_sql(project: Project, base: Basis) -> pd.DataFrame:
    return project.table(
        f"SELECT query_id, passage_id, {base.label_sql} AS label,"
        " count(rating) FILTER (weight > 0)::INTEGER AS usable, count(*) FILTER (weight > 0)::INTEGER AS needed"
        f" FROM ({graded_pairs(base)}) p JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " GROUP BY query_key, query_id, passage_id, position ORDER BY query_key, position",
        base.parameters,
    ).to_pandas()


def coverage_in_sql(project: Project, base: Basis) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for run, query, share in project.rows(
        f"SELECT name, query_id, {covered_sql(base)} FROM {first_answers(base, RANKED, ('run_key', 'query_key'))}"
        " JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " GROUP BY name, query_id, query_key ORDER BY name, query_key",
        base.parameters | {"cutoff": base.policy.cutoff},
    ):
        found.setdefault(run, {})[query] = pytest.approx(share, abs=1e-12)
    return found


def test_matrix_labels_and_coverage_match_sql_for_many_or_far_keys(made: Project, monkeypatch) -> None:
    for name in ("SPREAD", "KEPT"):
        monkeypatch.setattr(f"exam_workbench.labels._labels.{name}", 0)
    # A new handle starts with an empty cache.
    project = Project(made._database)
    for policy in POLICIES:
        base = basis(project, policy)
        table = list_labels(project, base)
        pd.testing.assert_frame_equal(table, labels_in_sql(project, base), check_dtype=False)
        assert coverage_scores(project, base) == coverage_in_sql(project, base)
    assert set(table["query_id"]) == {"q1", "q2", "q3"}
    assert coverage_scores(project, base).keys() == {"a", "b"}


def summary_in_sql(project: Project, base: Basis) -> list[tuple[object, ...]]:
    bank = bank_for(base.grader.spec)
    return project.rows(
        f"WITH pairs AS ({graded_pairs(base)}),"
        f" failed AS (SELECT DISTINCT p.query_key, p.passage_key, b.question_key FROM pool p JOIN {bank} b"
        "  USING (query_key) JOIN failures f ON (question_text_key, passage_text_key) = (b.text_key, p.text_key)"
        "  WHERE grader_key = $grader)"
        f" SELECT query_key, passage_key, position, {base.label_sql},"
        " coalesce(bit_or(1::INTEGER << rating::INTEGER), 0), count(rating),"
        " count(failed.question_key) FILTER (rating IS NULL), count(pairs.question_key)"
        " FROM pool LEFT JOIN pairs USING (query_key, passage_key, position) LEFT JOIN failed"
        " ON (failed.query_key, failed.passage_key, failed.question_key)"
        "  = (pool.query_key, pool.passage_key, pairs.question_key) GROUP BY ALL ORDER BY query_key, position",
        base.parameters,
    )


Answering = dict[str, tuple[set[tuple[str, int]], int]]
"""By query: the (passage, question number) pairs that count as answered, and the number of rated questions."""


def answers_in_sql(project: Project, base: Basis) -> Answering:
    found: dict[str, dict[tuple[str, int], bool]] = {}
    for query, passage, question, yes in project.rows(
        "SELECT query_id, passage_id, question_key, rating >= $tau"
        f" FROM ({graded_pairs(base)}) JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " WHERE rating IS NOT NULL AND weight > 0",
        base.parameters | {"tau": base.min_rating},
    ):
        found.setdefault(query, {})[passage, question] = yes
    told: Answering = {}
    for query, pairs in found.items():
        number = {question: i for i, question in enumerate(sorted({question for _, question in pairs}))}
        told[query] = {(passage, number[key]) for (passage, key), yes in pairs.items() if yes}, len(number)
    return told


def answers(project: Project, base: Basis) -> Answering:
    return {
        query: ({(of.passages[row], int(column)) for row, column in zip(*of.answered.nonzero(), strict=True)},
                of.answered.shape[1])
        for query, of in from_answers(project, base, "as they are", lambda found: found).items()
    }  # fmt: skip


def test_matrices_include_overrides_and_judgments_at_once(made: Project) -> None:
    # The project stays open, so that its cached grades are reused after each change.
    # All policies are checked only at the start and at the end.
    every = [*POLICIES[:3], Policy(overrides=False), Policy(cutoff=30, overrides=False)]

    def check(policies: list[Policy]) -> None:
        for policy in policies:
            base = basis(made, policy)
            pd.testing.assert_frame_equal(list_labels(made, base), labels_in_sql(made, base), check_dtype=False)
            assert coverage_scores(made, base) == coverage_in_sql(made, base)
            assert answers(made, base) == answers_in_sql(made, base)
            told = pool_summary(made, base).select(
                ["query_key", "passage_key", "position", "label", "given", "rated", "failed", "needed"]
            )
            rows = list(zip(*(column.to_pylist() for column in told.columns), strict=True))
            assert rows == summary_in_sql(made, base)

    check(every)
    keys = [add_override(made, "q1/a", "p0", 0, "no", "ann"), add_override(made, "q2/c", "p1", 5, "it does", "bob")]
    check(every[2:])
    add_override(made, "q1/a", "p0", 4, "it does, looked at again", "ann")
    check(every[2:])
    # A judged passage enters the pool; this one has grades already.
    judging.judge_passage(made, "q1", "p7", 2, "ann")
    check(every[2:])
    withdraw_by_key(made, keys[1], "bob")
    check(every)


# Leaderboards that rescore only changed queries equal those computed from scratch


MEASURES = ("nDCG@10", "EXAM-Cover@3", "ERR_IA@5")
"""One measure each from labels, coverage and intents."""
QUERIES = ("q1", "q2", "q3")
ASKED = [Question(f"{query}/{i}", query, f"{'ABCD'[i]} of {query[1]}?") for query in QUERIES for i in range(3)]


def drawn(path: Path, dice: random.Random) -> Project:
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
        found.append(label_qrels(project, basis(project, policy)))
    before, after = Policy(min_rating=3, overrides=False), Policy(min_rating=3)
    found.append(state_changes(project, before, after, "AP", "assessors"))
    found.append(meta_table(project, choose_rows(project, min_ratings=(2, 4)), ["assessors"]).as_dict())
    return found


@pytest.mark.parametrize("seed", range(examples(2)))
def test_cached_queries_equal_fresh_computation(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    project = drawn(tmp_path / "made.duckdb", dice)
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
