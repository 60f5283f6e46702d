"""Coverage as a share of a reference coverage: of the gold texts (n-EXAM), or of the whole pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..bank import how_to_grade
from ..errors import InputError
from ..measures import Measure, Skipped, mean_and_standard_error
from ..records import gold_name
from ..store import Project
from . import Basis, Scores, coverage, reference_coverage


@dataclass(frozen=True)
class Normalised:
    """The results of a normalised measure.

    Args:
        per_query: normalised coverage by query by run; the mean over the queries is the run's score.
        query_ids: the queries that count: they have questions of positive weight and a reference.
        reference: the divisor of the scores: `gold`, the gold run's name, or `pool`.
        coverage: mean coverage of the reference over these queries.
        std_error: standard error of the reference in units of the measure, in which the reference scores 1; None for a
            single query.
    """

    per_query: Scores
    query_ids: list[str]
    reference: str
    coverage: float
    std_error: float | None

    def within_error(self, score: float) -> bool:
        """Return whether a score differs from 1 by at most the reference's standard error (original-exam, table 4)."""
        return abs(score - 1) <= (self.std_error or 0.0) + 1e-12


def normalise(per_query: Scores, reference: Mapping[str, float], skipped: Skipped = "zero") -> Scores:
    """Normalise coverage: scale it so that a run's mean over queries is its sum divided by the reference's sum.

    n-EXAM(S) = sum over q of EXAM(d_q | S) / sum over q of EXAM(d*_q) (original-exam, section 3.1.3). The coverage of
    each query is divided by the mean coverage of the reference. Then the mean over queries is n-EXAM, and has a
    standard error.

    Args:
        per_query: coverage by query by run; queries that a run skipped are absent.
        reference: coverage of the gold text, or of the pool, by query.
        skipped: whether both sums include the queries that the run skipped (`zero`) or not (`ignore`).

    Returns:
        Score by query by run, for the queries of the reference; scores can exceed 1. A run is left out if the
        reference's sum for it is 0, because the quotient is undefined.
    """
    scores: Scores = {}
    for run, by_query in per_query.items():
        answered = {query: score for query, score in by_query.items() if query in reference}
        over = reference if skipped == "zero" else answered
        divisor = math.fsum(reference[query] for query in over) / len(over) if over else 0.0
        if divisor > 0:
            scores[run] = {query: score / divisor for query, score in answered.items()}
    return scores


def normalised_scores(project: Project, measure: Measure, base: Basis, queries: Sequence[str]) -> Normalised:
    """Return the normalised coverage of every run.

    The cutoff applies only to the runs, not to the gold texts or the pool.

    Args:
        queries: the queries with questions of positive weight.

    Raises:
        InputError: gold texts for these queries are missing, the reference has no graded pairs, or it answers no
            questions.
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
    known = {query: reference[query] for query in queries if query in reference}
    if not known:
        raise InputError(
            "gold-without-queries",
            f"No query with questions has passages in '{of}'.",
            "Import gold passages for each query, or normalise by pool.",
        )
    if not graded:
        raise InputError(
            "gold-not-graded", f"No passage in {of} has been graded yet.", how_to_grade(project, base.grader.spec)
        )
    mean, error = mean_and_standard_error(known.values())
    if not mean:
        raise InputError(
            "gold-answers-nothing",
            f"Cannot normalise: {of} answers no question at min rating {base.policy.min_rating}.",
            "Lower the min rating.",
        )
    runs = coverage(project, base, measure.depth)
    scores = normalise(runs, known, base.policy.skipped)
    return Normalised(scores, list(known), of, mean, None if error is None else error / mean)
