"""The counts of a plan are those of the pairs themselves, whatever texts, queries and passages have in common."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from exam_workbench.bank import latest_version, save_version
from exam_workbench.grading import Scope, make_plan, missing_pairs
from exam_workbench.grading._needed_pairs import _plan_parameters
from exam_workbench.records import add_queries, refresh_pool
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Query, Question
from tests.made.projects import SPEC, examples, fill, grade, new_project

QUERIES = ("q1", "q1/s", "q2", "q3")
PASSAGES = [f"p{i}" for i in range(9)]
DIRECT = GraderSpec("direct", "direct", "none")
READER = GraderSpec("reader", "self-rating", "none", parameters={"reads": ["answer_key"]})


def make(path: Path, dice: random.Random) -> Project:
    """Questions of the same words in several queries and topics, passages of one text and of none, pairs in every
    state."""
    wordings = [f"{letter}?" for letter in "ABCDE"]
    asked = [
        Question(
            f"{query}/{i}", query, dice.choice(wordings), weight=dice.choice([1.0, 0.5, 0.0, -1.0]),
            active=dice.random() < 0.8, answer_key=dice.choice(["", "a key"]),
            subtopic_id=dice.choice([None, "s"]) if query == "q1" else None,
        )
        for query in ("q1", "q2", "q3")
        for i in range(4)
    ]  # fmt: skip
    runs = {
        run: {query: dice.sample(PASSAGES, dice.randint(1, 5)) for query in QUERIES if dice.random() < 0.8}
        for run in ("one", "two")
    }
    project = new_project(path)
    fill(project, [], {}, {"none": {"q1": PASSAGES}} | runs)
    save_version(project, asked, "asked", "tester")
    # Whatever was said of a pair, asked of nobody now or not.
    for spec in (SPEC, DIRECT, READER):
        texts = [text for (text,) in project.rows("SELECT text FROM question_texts WHERE text IS NOT NULL ORDER BY 1")]
        pairs = [(text, passage) for text in texts for passage in PASSAGES]
        grade(project, {pair: dice.choice([None, 0, 3]) for pair in dice.sample(pairs, len(pairs) // 2)}, spec)
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q3", "q3")], replace=True)
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p8'")
        cursor.execute(
            "UPDATE passages SET text_key = (SELECT text_key FROM passages WHERE passage_id = 'p0')"
            " WHERE passage_id = 'p1'"
        )
        cursor.execute("DELETE FROM runs WHERE name = 'none'")
        cursor.execute("DELETE FROM rankings WHERE run_key NOT IN (SELECT run_key FROM runs)")
        refresh_pool(cursor)
        cursor.execute(
            "INSERT INTO jobs BY NAME SELECT grader_key AS job_key, 'grading' AS kind, grader_key AS subject_key,"
            " '' AS request, 'waiting' AS state, 0 AS total,"
            " 0 AS done, 0 AS failed, '' AS message, 'ann' AS author, now()::TIMESTAMP AS started_at"
            " FROM graders"
        )
        cursor.execute(
            "INSERT INTO kept_replies SELECT grader_key, t.text_key, p.text_key, 'first', '3', NULL"
            " FROM graders, question_texts t, passage_texts p WHERE hash(grader_key, t.text_key, p.text_key) % 3 = 0"
        )
    return project


@pytest.mark.parametrize("seed", range(examples(2)))
def test_a_plan_counts_the_pairs_as_they_are(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    project = make(tmp_path / "made.duckdb", dice)
    seen: Counter[str] = Counter()
    for spec in (SPEC, DIRECT, READER, GraderSpec("nobody", "self-rating", "none")):
        for scope in (
            Scope(),
            Scope(queries=("q1", "q1/s")),
            Scope(runs=("two",), retry_failed=True),
            Scope(only_failed=True, limit=2),
            Scope(top=2),
            Scope(passages=(("q1", "p1"), ("q1", "p2"), ("q2", "p1"), ("q2", "no such passage"))),
            Scope(passages=()),
            Scope(runs=("two",), top=1, retry_failed=True),
        ):
            plan = make_plan(project, spec, latest_version(project), scope)
            pairs = project.rows(
                f"SELECT state, weight <= 0 FROM ({missing_pairs(spec)})",
                _plan_parameters(project, spec, latest_version(project), scope),
            )
            states = Counter(state for state, _ in pairs)
            seen += states
            counts = {"known": plan.known, "sent": plan.sent, "failed": plan.failed}
            assert counts == {state: states[state] for state in counts}
            assert (plan.needed, plan.weightless) == (len(pairs), sum(without for _, without in pairs))
            asked = sum(states[state] for state in scope.states)
            assert plan.to_grade == (asked if scope.limit is None else min(asked, scope.limit))
    assert min(seen[state] for state in ("known", "sent", "failed", "ungraded")) > 0
    project.close()
