"""EXAM-Cover: the share of questions that a run, the gold texts or the pool answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..bank import bank_for, how_to_grade
from ..errors import InputError
from ..grouping import nest_triples
from ..measures import Array, Indices, Measure, Skipped, mean_and_standard_error
from ..records import GOLD, gold_name
from ..store import Project, array_of, by_query, cache
from ._basis import MISSING, Basis, Ratings, covered_shares, ratings, weight_sql, weights_that_count
from ._grading_progress import without_waiting
from ._labels import Layout, rating_matrices

Reference = Literal["gold", "pool"]

Scores = dict[str, dict[str, float]]
"""Score by query id by run name."""

RANKED = (
    "SELECT run_key, query_key, text_key, rank FROM rankings JOIN passages USING (passage_key)"
    " WHERE rank <= $cutoff"
)
"""SQL for the passages of every run down to rank $cutoff."""


def first_answers(
    base: Basis,
    texts: str,
    unit: Sequence[str] = ("query_key",),
    questions_sql: str = "",
    part: Sequence[str] = ("query_key",),
) -> str:
    """Return a subquery with the best rating of each question and the first rank that answers it.

    The subquery needs $version, $grader and the parameters of `texts`. Its columns are the columns
    of `unit`, question_key, and:

    - w: the weight of the question as it counts;
    - total: the sum of the positive weights of all questions in the same part;
    - best: the highest rating of the question;
    - first: the first rank with an answer at the min rating, or NULL;
    - usable: number of the question's pairs with a rating.

    Parts without questions of positive weight are left out.

    Args:
        texts: SQL query with the columns query_key, text_key, rank, and the columns of `unit`.
        unit: the columns that identify a share, such as a run and a query.
        asked: the questions, with the columns of `bank.bank_for`, which is the default.
        part: the columns of `asked` that identify a part: the weights of its questions are the
            whole of a share.
    """
    whole, share = ", ".join(part), ", ".join(unit)
    return (
        f"(WITH bank AS MATERIALIZED (SELECT *, {weight_sql(base.policy.weighted)} AS w"
        f"  FROM {questions_sql or bank_for(base.grader.spec)}),"
        f" totals AS (SELECT {whole}, sum(w) FILTER (w > 0) AS total FROM bank"
        " GROUP BY ALL HAVING total > 0)"
        f" SELECT {share}, question_key, any_value(w) AS w, any_value(total) AS total,"
        f"  max(g.rating) AS best, min(rank) FILTER (g.rating >= {base.min_rating:d}) AS first,"
        f"  count(g.rating) AS usable FROM ({texts}) t JOIN bank USING (query_key) JOIN totals"
        f" USING ({whole}) LEFT JOIN {ratings(base)} g ON g.question_text_key = bank.text_key"
        f" AND g.passage_text_key = t.text_key GROUP BY {share}, question_key)"
    )


def covered_sql(base: Basis) -> str:
    """Return the coverage of a unit as an SQL aggregate over its rows of `first_answers`.

    Coverage is the sum of the answered questions' weights, divided by the sum of all positive
    weights (exam-plus-plus, equation 1, with weights). An answered "avoid" question has a negative
    weight and lowers coverage, but not below 0. `coverage_of` computes coverage for one query in
    memory.
    """
    return (
        f"greatest(0, coalesce(sum(w) FILTER (best >= {base.min_rating:d}), 0) / any_value(total))"
    )


def coverage_scores(project: Project, base: Basis, cutoff: int | None = None) -> Scores:
    """Return EXAM-Cover@k of every run and query.

    Args:
        cutoff: k; None means the cutoff of the policy.

    Returns:
        Score by query by run. A query that a run skipped is absent from its scores. A query without
        questions of positive weight is absent from the scores of all runs.
    """
    depth = base.policy.cutoff if cutoff is None else cutoff
    return {
        run: {query: float(scores[-1]) for query, scores in by_query_id.items()}
        for run, by_query_id in coverage_by_rank(project, base, depth).items()
    }


@dataclass(frozen=True)
class _Ranked:
    """The top passages of runs, by number of the query; queries without passages are absent.

    Args:
        query_keys: keys of all queries, by number.
        columns: columns of the ranked passages in the matrix of the query, run by run.
        cuts: where the columns of each run but the first begin.
        runs: keys of the runs.
        seen: for each run and rank from 1 to the lowest of any run, the number of columns up to the
            last passage at this rank or above; 0 if there is none.
    """

    query_keys: list[int]
    columns: dict[int, Indices]
    cuts: dict[int, Indices]
    runs: dict[int, list[int]]
    seen: dict[int, Indices]


def _ranked_columns(project: Project, base: Basis, layout: Layout, depth: int) -> _Ranked:
    def compute() -> _Ranked:
        top = project.table(
            f"SELECT run_key, query_key, coalesce(text_key, -1) AS text_key, rank FROM ({RANKED})"
            " ORDER BY query_key, run_key, rank",
            {"cutoff": depth},
        )
        query = layout.numbers(array_of(top["query_key"]))
        here = query != MISSING
        query, run, rank = query[here], array_of(top["run_key"])[here], array_of(top["rank"])[here]
        column = layout.columns(query, array_of(top["text_key"])[here])
        cuts = np.searchsorted(query, np.arange(len(layout.query_keys) + 1))
        depths = np.arange(1, min(depth, int(rank.max(initial=1))) + 1)
        ranked = _Ranked(layout.query_keys.tolist(), {}, {}, {}, {})
        for number, (start, end) in enumerate(pairwise(cuts.tolist())):
            if start < end:
                runs, firsts = np.unique(run[start:end], return_index=True)
                ranked.runs[number], ranked.cuts[number] = runs.tolist(), firsts[1:]
                ranked.columns[number] = column[start:end]
                ranks = np.split(rank[start:end], firsts[1:])
                seen = np.array([np.searchsorted(of_run, depths, side="right") for of_run in ranks])
                ranked.seen[number] = np.where(seen > 0, seen + firsts[:, None], 0)
        return ranked

    return project.cached(
        ("ranked columns", *base.rated, base.version, depth), compute, cache.ASKED
    )


def coverage_by_rank(project: Project, base: Basis, max_k: int) -> dict[str, dict[str, Array]]:
    """Return EXAM-Cover@k of every run and query for k = 1 to `max_k`, or to the lowest rank of any
    run if that is smaller; queries that a run skipped are absent.
    """

    def compute() -> dict[str, dict[str, Array]]:
        matrices = rating_matrices(project, base, max_k)
        ranked = _ranked_columns(project, base, matrices.layout, max_k)
        weights_by_query = matrices.layout.weights
        answering = {
            number: matrices.marks[number]
            for number in ranked.columns
            if (weights_by_query[number] > 0).any()
        }

        def best_ratings(number: int) -> Ratings:
            """Return the highest rating of each question up to each passage of each run."""
            rows = matrices.layout.rows[number]
            ratings = matrices.ratings(number)[rows[:, None], ranked.columns[number]]
            for of_run in np.split(ratings, ranked.cuts[number], axis=1):
                np.maximum.accumulate(of_run, axis=1, out=of_run)
            return ratings

        def find_shares(number: int) -> Array:
            weights = weights_that_count(weights_by_query[number], base.policy.weighted)
            shares = covered_shares(bests[number] >= base.min_rating, weights)
            return np.append(0.0, shares)[ranked.seen[number]]

        of_grader, same = (*base.rated, base.version, max_k), (matrices.layout, ranked)
        bests = by_query(
            project,
            ("best ratings", *of_grader),
            answering,
            lambda numbers: {number: best_ratings(number) for number in numbers},
            same,
        )
        parts = by_query(
            project,
            ("coverage", *of_grader, base.policy.weighted, base.min_rating),
            answering,
            lambda numbers: {number: find_shares(number) for number in numbers},
            same,
        )
        runs = dict(project.rows("SELECT run_key, name FROM runs ORDER BY name"))
        queries = dict(project.rows("SELECT query_key, query_id FROM queries"))
        by_run: dict[str, dict[str, Array]] = {name: {} for name in runs.values()}
        for number, of_query in parts.items():
            for run, shares in zip(ranked.runs[number], of_query, strict=True):
                by_run[runs[run]][queries[ranked.query_keys[number]]] = shares
        # A run that ranks no passage for any of these queries has no scores.
        return {name: by_query_id for name, by_query_id in by_run.items() if by_query_id}

    return project.cached(
        ("coverage by rank", base.key, base.min_rating, max_k), compute, cache.LABELS
    )


def reference_coverage(
    project: Project, base: Basis, reference: Reference
) -> tuple[dict[str, float], int]:
    """Return the coverage of the gold texts, or of the whole pool, by query; and the number of its
    rated pairs.
    """
    texts = (
        "SELECT DISTINCT query_key, p.text_key, 1 AS rank"
        f" FROM {GOLD if reference == 'gold' else 'pool'} s JOIN passages p USING (passage_key)"
    )

    def compute() -> tuple[dict[str, float], int]:
        rows = project.rows(
            f"SELECT query_id, {covered_sql(base)}, sum(usable)::BIGINT"
            f" FROM {first_answers(base, texts)}"
            " JOIN queries USING (query_key) GROUP BY query_key, query_id ORDER BY query_key",
            base.parameters,
        )
        return {query: score for query, score, _ in rows}, sum(n for _, _, n in rows)

    return project.cached(
        ("reference", reference, base.key, base.min_rating), compute, cache.LABELS
    )


_WHOLE = (
    "(SELECT q.query_key AS part_key, coalesce(min(t.query_key), q.query_key) AS query_key"
    " FROM queries q LEFT JOIN topics() t ON t.topic_key = q.query_key GROUP BY q.query_key)"
)
"""SQL for the query that each query belongs to: the parent query of a topic, or else the query
itself.
"""


def whole_queries(project: Project) -> dict[str, str]:
    """Return the id of the query that each query belongs to, by id; see `_WHOLE`."""
    return dict(
        project.rows(
            f"SELECT p.query_id, q.query_id FROM {_WHOLE} w"
            " JOIN queries p ON p.query_key = part_key JOIN queries q ON q.query_key = w.query_key"
        )
    )


@dataclass(frozen=True)
class UnionCoverage:
    """Coverage of queries by the unions of their topics' rankings.

    Args:
        scores: by run and query id; queries for which a run ranked no passages are absent.
        query_ids: the queries with questions of positive weight.
        needed, usable: number of pairs of the runs' top passages with the questions, and of these
            with a rating. In a pair without a rating, the passage counts as not answering the
            question.
    """

    scores: Scores
    query_ids: list[str]
    needed: int
    usable: int


def coverage_of_union(project: Project, base: Basis, cutoff: int) -> UnionCoverage:
    """Return EXAM-Cover of the union of a query's topics: exam-plus-plus, equation 1, as used by
    TREC CAR.

    In this equation, P is the top k of the run's rankings for the query and for each of its topics.
    R is all questions of the query, in all sections. A passage from one section's ranking may
    answer a question of another section.

    Args:
        cutoff: k, for each ranking; the cutoff of the policy is ignored.
    """
    asked_sql = (
        "(SELECT w.query_key,"
        # A direct grader asks its only question, the query's title, for every topic.
        " if(b.question_key = b.query_key, w.query_key, b.question_key) AS question_key,"
        " any_value(text_key) AS text_key, any_value(weight) AS weight"
        f" FROM {bank_for(base.grader.spec)} b"
        f" JOIN {_WHOLE} w ON w.part_key = b.query_key GROUP BY 1, 2)"
    )
    ranked = (
        f"SELECT run_key, w.query_key, text_key, min(rank) AS rank FROM ({RANKED}) r"
        f" JOIN {_WHOLE} w ON w.part_key = r.query_key GROUP BY ALL"
    )
    parameters = base.parameters | {"cutoff": cutoff}
    queries = project.rows(
        f"SELECT query_id FROM {asked_sql} JOIN queries USING (query_key) WHERE $grader IS NOT NULL"
        " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
        base.parameters,
    )
    pairs = (
        f"{asked_sql} b SEMI JOIN (FROM {asked_sql} WHERE weight > 0) USING (query_key)"
        f" JOIN ({ranked}) t USING (query_key) WHERE t.text_key IS NOT NULL AND weight <> 0"
    )
    ((needed, usable),) = project.rows(
        "SELECT count(*), count(g.rating) FROM (SELECT DISTINCT b.text_key, t.text_key AS passage"
        f" FROM {pairs}) p LEFT JOIN {ratings(base)} g ON g.question_text_key = p.text_key"
        " AND g.passage_text_key = p.passage",
        parameters,
    )
    rows = project.rows(
        f"SELECT name, query_id, {covered_sql(base)} FROM "
        f"{first_answers(base, ranked, ('run_key', 'query_key'), asked_sql)}"
        " JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " GROUP BY name, query_id, query_key ORDER BY name, query_key",
        parameters,
    )
    return UnionCoverage(
        nest_triples(rows), [query for (query,) in queries], int(needed), int(usable)
    )


@dataclass(frozen=True)
class NormalisedResult:
    """The results of a normalised measure.

    Args:
        per_query: normalised coverage by query by run; the mean over the queries is the run's
            score.
        query_ids: the queries that count: they have questions of positive weight and a reference.
        reference: the divisor of the scores: `gold`, the gold run's name, or `pool`.
        std_error: standard error of the reference in units of the measure, in which the reference
            scores 1; None for a single query.
        coverage, reference_coverage: as in `Leaderboard`.
    """

    per_query: Scores
    query_ids: list[str]
    reference: str
    std_error: float | None
    coverage: Scores
    reference_coverage: Mapping[str, float]


def normalise_coverage(
    per_query: Scores, reference: Mapping[str, float], skipped: Skipped = "zero"
) -> Scores:
    """Normalise coverage: scale it so that a run's mean over queries is its sum divided by the
    reference's sum.

    n-EXAM(S) = sum over q of EXAM(d_q | S) / sum over q of EXAM(d*_q) (original-exam, section
    3.1.3). The coverage of each query is divided by the mean coverage of the reference. Then the
    mean over queries is n-EXAM, and has a standard error.

    Args:
        per_query: coverage by query by run; queries that a run skipped are absent.
        reference: coverage of the gold text, or of the pool, by query.
        skipped: whether both sums include the queries that the run skipped (`zero`) or not
            (`ignore`).

    Returns:
        Score by query by run, for the queries of the reference; scores can exceed 1. A run is left
        out if the reference's sum for it is 0, because the quotient is undefined.
    """
    scores: Scores = {}
    for run, of_run in per_query.items():
        answered = {query: score for query, score in of_run.items() if query in reference}
        over = reference if skipped == "zero" else answered
        divisor = math.fsum(reference[query] for query in over) / len(over) if over else 0.0
        if divisor > 0:
            scores[run] = {query: score / divisor for query, score in answered.items()}
    return scores


def normalised_coverage(
    project: Project,
    measure: Measure,
    base: Basis,
    runs: Scores,
    queries: Sequence[str],
    waiting: Collection[str],
) -> NormalisedResult:
    """Return the normalised coverage of every run.

    The cutoff applies only to the runs, not to the gold texts or the pool.

    Args:
        runs: coverage by query by run.
        queries: the queries with questions of positive weight.
        waiting: queries to leave out, unless all queries are among them.

    Raises:
        InputError: gold texts for these queries are missing, the reference has no graded pairs, or
            it answers no questions.
    """
    by_gold = measure.basis == "share of gold"
    reference, graded = reference_coverage(project, base, "gold" if by_gold else "pool")
    of = gold_name(project) if by_gold else "pool"
    if of is None:
        raise InputError(
            "no-gold-texts",
            "No gold passages to normalise by.",
            "Import them (exam import responses --gold FILE) or mark a run (exam gold RUN).",
        )
    reference_scores = {query: reference[query] for query in queries if query in reference}
    if not reference_scores:
        raise InputError(
            "gold-without-queries",
            f"No query with questions has passages in '{of}'.",
            "Import gold passages for each query, or normalise by pool.",
        )
    if not graded:
        raise InputError(
            "gold-not-graded",
            f"No passage in {of} has been graded yet.",
            how_to_grade(project, base.grader.spec),
        )
    reference_scores = {
        query: reference_scores[query] for query in without_waiting(waiting, list(reference_scores))
    }
    mean, error = mean_and_standard_error(reference_scores.values())
    if not mean:
        raise InputError(
            "gold-answers-nothing",
            f"Cannot normalise: {of} answers no question at min rating {base.policy.min_rating}.",
            "Lower the min rating.",
        )
    scores = normalise_coverage(runs, reference_scores, base.policy.skipped)
    std_error = None if error is None else error / mean
    return NormalisedResult(scores, list(reference_scores), of, std_error, runs, reference_scores)
