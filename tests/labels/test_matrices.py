"""Labels and coverage from matrices are those that SQL gives over the pairs, whatever queries have in common."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pandas as pd
import pytest

from core.labels import (
    RANKED,
    Basis,
    Policy,
    basis,
    coverage,
    covered,
    first_answers,
    graded_pairs,
    labels,
    override,
)
from core.project import Project, refresh_pool
from core.types import Question
from tests.made.projects import fill, new_project

QUESTIONS = [
    Question("q1/a", "q1", "A?", weight=0.3),
    Question("q1/b", "q1", "B?", weight=0.7),
    # The same words twice, in one query and in another one.
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
    # Deeper than passages are pooled.
    Policy(cutoff=30, overrides=False),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Passages in several queries, two of one text, one without any, and one that is ranked below the pool."""
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
    project = new_project(tmp_path_factory.mktemp("matrices") / "made.duckdb")
    fill(project, QUESTIONS, some, runs)
    override(project, "q1/b", "p3", 5, "it does", "ann")
    with project.transaction() as cursor:
        cursor.execute(
            "UPDATE passages SET text_key = (SELECT text_key FROM passages WHERE passage_id = 'p0')"
            " WHERE passage_id = 'p4'"
        )
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p6'")
        refresh_pool(cursor)
    yield project
    project.close()


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
        f"SELECT name, query_id, {covered(base)} FROM {first_answers(base, RANKED, ('run_key', 'query_key'))}"
        " JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " GROUP BY name, query_id, query_key ORDER BY name, query_key",
        base.parameters | {"cutoff": base.policy.cutoff},
    ):
        found.setdefault(run, {})[query] = pytest.approx(share, abs=1e-12)
    return found


@pytest.mark.parametrize("limits", [{}, {"SPREAD": 0, "KEPT": 0}], ids=["as they are", "keys far apart, too large"])
def test_matrices_hold_what_the_pairs_do(made: Project, limits, monkeypatch) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(f"core.labels.matrices.{name}", value)
    # As a project that was opened again: nothing is known of it.
    project = Project(made._database)
    for policy in POLICIES:
        base = basis(project, policy)
        table = labels(project, base)
        pd.testing.assert_frame_equal(table, labels_in_sql(project, base), check_dtype=False)
        assert coverage(project, base)[policy.min_rating] == coverage_in_sql(project, base)
    assert set(table["query_id"]) == {"q1", "q2", "q3"}
    assert coverage(project, base)[policy.min_rating].keys() == {"a", "b"}
