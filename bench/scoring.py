"""Benches of scoring: the impact of an edit, and the computation of labels, coverage and six measures."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

import duckdb
import pandas as pd
import pytrec_eval
from pandas.testing import assert_frame_equal

from bench.figures import Figure, faster, in_child, timed
from bench.large import large_file, large_size
from exam_workbench.bank import list_questions
from exam_workbench.labels import Policy, basis, coverage_scores, label_qrels, leaderboard, list_labels, score_runs
from exam_workbench.records import ranking_scores
from exam_workbench.review import changes
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question

Means = dict[str, dict[str, float]]
"""Mean over the queries by measure and run."""

MEASURES = {
    "AP": "map",
    "nDCG@10": "ndcg_cut_10",
    "nDCG@20": "ndcg_cut_20",
    "Rprec": "Rprec",
    "RR": "recip_rank",
    "P@20": "P_20",
}
"""The six measures: their names in this program and in trec_eval."""
EDITS = 15

RATED = (
    "grades JOIN question_revisions r ON r.text_key = question_text_key JOIN questions USING (question_key)"
    " JOIN passages p ON p.text_key = passage_text_key"
)
IDS = "query_key::VARCHAR AS query, passage_key::VARCHAR AS passage"
LABELS = f"SELECT {IDS}, max(rating)::INTEGER AS label FROM {RATED} GROUP BY ALL"
RANKINGS = f"SELECT name AS run, {IDS}, score FROM rankings JOIN runs USING (run_key)"


def impact(tiny: bool) -> Iterator[Figure]:
    """Measure the impact of an edit, compared with a new leaderboard and with a project that has a tenth of the
    queries.
    """
    small_size, size = large_size(tiny, 10), large_size(tiny)
    small, _ = in_child(tiny, _impact_among, small_size)
    median, again = in_child(tiny, _impact_among, size)
    few, many = small_size[0], size[0]
    yield faster(f"impact of an edit, {many} queries", median, "whole leaderboard again", again, 0.05)
    yield Figure(
        f"the same, {many} queries to {few}",
        f"{median * 1000:.0f} ms",
        f"{few} queries: {small * 1000:.0f} ms",
        median / small,
        "cost of that query alone: < 2",
        median / small < 2,
    )


def recompute(tiny: bool) -> Iterator[Figure]:
    """Measure labels, coverage and six measures computed from the file, compared with plain SQL and pytrec_eval.

    Raises:
        AssertionError: the two give different numbers.
    """
    with large_file(large_size(tiny)) as path:
        seconds, means = in_child(tiny, timed, process_time, _by_workbench, path)
        alternative, expected = in_child(tiny, timed, process_time, _by_sql, path)
    assert_frame_equal(pd.DataFrame(means), pd.DataFrame(expected), check_like=True, rtol=0, atol=1e-6)
    yield faster("labels, coverage, six measures", seconds, "SQL and pytrec_eval", alternative, 2)


def _impact_among(size: tuple[int, int, int]) -> tuple[float, float]:
    """Return the median processor time of an edit's impact, and the processor time of a whole leaderboard."""
    dice, policy = random.Random(0), Policy()
    with large_file(size) as path:
        project = open_project(path)
        again, _ = timed(process_time, leaderboard, project, "nDCG@10")
        edits = [_edited(project, dice, f"q{dice.randrange(size[0])}") for _ in range(EDITS)]
        took = [timed(process_time, changes, project, "nDCG@10", policy, edit)[0] for edit in edits]
        project.close()
    return statistics.median(took), again


def _edited(project: Project, dice: random.Random, query_id: str) -> dict[str, list[Question]]:
    """Return the questions of a query after one of them is reworded, reweighted or retired."""
    asked = list_questions(project, query_id=query_id)
    place = dice.randrange(len(asked))
    change = dice.choice([{"weight": 0.5}, {"active": False}, {"text": f"Another wording {dice.random()}?"}])
    asked[place] = replace(asked[place], **change)
    return {query_id: asked}


def _by_workbench(path: Path) -> Means:
    project = open_project(path)
    base = basis(project, Policy())
    list_labels(project, base)
    shares = coverage_scores(project, base)
    scores = score_runs(ranking_scores(project), list(MEASURES), label_qrels(project, base), base.min_rating)
    means = {name: {run: statistics.mean(by.values()) for run, by in scores[name].items()} for name in MEASURES}
    means["coverage"] = {run: statistics.mean(by.values()) for run, by in shares.items()}
    project.close()
    return means


def _by_sql(path: Path) -> Means:
    """Compute the same numbers with the SQL and the loops that a researcher would write."""
    cutoff, min_rating = Policy().cutoff, Policy().min_rating
    covered = (
        f"WITH best AS (SELECT run_key, query_key, question_key, max(rating) AS best FROM {RATED}"
        f" JOIN rankings USING (query_key, passage_key) WHERE rank <= {cutoff} GROUP BY ALL),"
        " asked AS (SELECT query_key, count(*) AS asked FROM questions GROUP BY ALL),"
        f" shares AS (SELECT run_key, query_key, count(*) FILTER (best >= {min_rating}) / any_value(asked) AS share"
        " FROM best JOIN asked USING (query_key) GROUP BY ALL)"
        " SELECT name, avg(share) FROM shares JOIN runs USING (run_key) GROUP BY ALL"
    )
    with duckdb.connect(str(path), read_only=True) as connection:
        labelled, ranked = (connection.execute(sql).df() for sql in (LABELS, RANKINGS))
        rows = connection.execute(covered).fetchall()
    return _by_pytrec_eval(labelled, ranked, min_rating) | {"coverage": dict(rows)}


def _by_pytrec_eval(labelled: pd.DataFrame, ranked: pd.DataFrame, min_rating: int) -> Means:
    qrels = _by_query(labelled, "label")
    wanted = {"map", "ndcg_cut.10,20", "Rprec", "recip_rank", "P.20"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, wanted, relevance_level=min_rating)
    means: Means = {name: {} for name in MEASURES}
    for run, of_run in ranked.groupby("run"):
        by_query = evaluator.evaluate(_by_query(of_run, "score"))
        for name, theirs in MEASURES.items():
            means[name][str(run)] = sum(values[theirs] for values in by_query.values()) / len(qrels)
    return means


def _by_query(frame: pd.DataFrame, column: str) -> dict[str, dict[str, float]]:
    return {
        query: dict(zip(own["passage"], own[column].tolist(), strict=True)) for query, own in frame.groupby("query")
    }
