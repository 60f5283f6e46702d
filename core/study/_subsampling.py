"""Subsampling: how a leaderboard changes if it has fewer queries, or fewer questions per query.

Source of the idea: Voorhees and Buckley, The Effect of Topic Set Size on Retrieval Experiment
Error, SIGIR 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..bank import asked_questions
from ..labels import (
    Leaderboard,
    Policy,
    basis,
    board_over,
    gradable_questions,
    leaderboard,
    load_ratings,
    order_systems,
    query_scores,
)
from ..measures import correlate_scores, parse_measure, separable_differences
from ..store import Project, as_act
from ._system_significance import score_table

QUERY_SAMPLES, QUESTION_SAMPLES = 30, 5
"""Number of samples of each size. Samples of questions are slower, because every label is computed
again.
"""
SIZES = 8
FEWEST_QUERIES = 5
"""A paired test over fewer queries hardly ever separates systems."""
ENOUGH = 0.9
"""Kendall's tau with the whole leaderboard from which the order counts as kept."""
SAMPLE_LIMITS = (
    "Kendall compares samples with the leaderboard of all questions, which is optimistic, and not"
    " with judgments. Few questions can keep the order and still disagree with assessors."
)


@dataclass(frozen=True)
class SampleSize:
    """Leaderboards from random samples of one size.

    Args:
        count: number of queries, or of questions per query.
        separable: median over pairs of systems of the smallest difference that the paired t test
            separates, averaged over the samples; None if no pair can be tested.
        kendall: mean of Kendall's tau-b with the whole leaderboard; None if it is undefined.
        low, high: least and greatest of these coefficients.
    """

    count: int
    separable: float | None
    kendall: float | None
    low: float | None
    high: float | None


@as_act("see boards")
def sample_queries(project: Project, board: Leaderboard) -> list[SampleSize]:
    """Return the effect of fewer queries on a leaderboard, by rising number; the last entry is the
    whole leaderboard.

    Returns:
        An empty list for a leaderboard without scores by query, or with fewer than `FEWEST_QUERIES`
        queries.
    """
    queries = board.query_ids
    if not board.per_query or len(queries) < FEWEST_QUERIES:
        return []

    def compute() -> list[SampleSize]:
        rng = np.random.default_rng(0)
        sizes = []
        for count in _sample_sizes(FEWEST_QUERIES, len(queries)):
            times = QUERY_SAMPLES if count < len(queries) else 1
            samples = [
                board_over(board, rng.choice(queries, count, replace=False).tolist())
                for _ in range(times)
            ]
            sizes.append(_summarise_size(count, samples, board))
        return sizes

    return project.cached(
        ("sampled queries", board.measure, board.source, board.policy, tuple(queries)), compute
    )


@as_act("see boards")
def sample_questions(
    project: Project,
    measure: str,
    policy: Policy,
    report: Callable[[float], None] = lambda share: None,
) -> list[SampleSize]:
    """Return the effect of fewer questions per query, by rising number; the last entry is the whole
    leaderboard.

    A query with fewer questions keeps all of them.

    Args:
        report: receives the finished share of the work, between 0 and 1.

    Returns:
        An empty list if scores do not come from questions of single queries, or if no query has two
        questions.

    Raises:
        InputError: the leaderboard cannot be made.
    """
    base, parsed = basis(project, policy), parse_measure(measure, policy.cutoff)
    if base.grader.spec.method == "direct" or not (parsed.takes_grades and parsed.by_query_alone):
        return []
    board = leaderboard(project, measure, "exam", policy)

    def compute() -> list[SampleSize]:
        questions_of = {
            query: gradable_questions(
                asked_questions(project, base.version, query, {}), base.grader
            )
            for query in board.query_ids
        }
        most = max(map(len, questions_of.values()), default=0)
        sizes = [count for count in _sample_sizes(1, most) if count < most]
        samples = {
            (count, turn): dict[str, dict[str, float]]()
            for count in sizes
            for turn in range(QUESTION_SAMPLES)
        }
        rng = np.random.default_rng(0)
        for done, (query, questions) in enumerate(questions_of.items()):
            report(done / len(questions_of))
            ratings_of_query = load_ratings(project, base, query, questions)
            for (count, _), scores in samples.items():
                if count >= len(questions):
                    scores[query] = {
                        run: of_run[query]
                        for run, of_run in board.per_query.items()
                        if query in of_run
                    }
                    continue
                some = [
                    questions[at] for at in sorted(rng.choice(len(questions), count, replace=False))
                ]
                query_score = query_scores(
                    project,
                    base,
                    parsed.name,
                    ratings_of_query,
                    some,
                    ratings_of_query.select_questions(some),
                )
                if query_score is not None:
                    scores[query] = query_score
        drawn = {key: _board_of_scores(board, scores) for key, scores in samples.items()}
        points = [
            _summarise_size(count, [drawn[count, turn] for turn in range(QUESTION_SAMPLES)], board)
            for count in sizes
        ]
        return [*points, _summarise_size(most, [board], board)] if points else []

    key = ("sampled questions", parsed.name, base.key, base.min_rating, policy.skipped)
    return project.cached(key, compute)


def _sample_sizes(fewest: int, most: int) -> list[int]:
    return (
        sorted(set(np.geomspace(fewest, most, SIZES).round().astype(int).tolist()))
        if most >= fewest
        else []
    )


def _board_of_scores(board: Leaderboard, scores: dict[str, dict[str, float]]) -> Leaderboard:
    per_query = {
        run: {query: by[run] for query, by in scores.items() if run in by}
        for run in board.per_query
    }
    systems = order_systems(per_query, list(scores), board.policy)
    return replace(board, systems=systems, per_query=per_query, query_ids=list(scores))


def _summarise_size(count: int, samples: Sequence[Leaderboard], whole: Leaderboard) -> SampleSize:
    taus = [correlate_scores(sample.scores, whole.scores).kendall for sample in samples]
    known_taus = [tau for tau in taus if tau is not None]
    separable = [
        value for sample in samples if (value := _separable_difference(sample)) is not None
    ]
    return SampleSize(
        count,
        float(np.mean(separable)) if separable else None,
        float(np.mean(known_taus)) if known_taus else None,
        min(known_taus, default=None),
        max(known_taus, default=None),
    )


def _separable_difference(board: Leaderboard) -> float | None:
    """Return the median over pairs of systems of the smallest difference that is separated."""
    pairs = list(combinations(score_table(board).values(), 2))
    if not pairs:
        return None
    differences = separable_differences(np.stack([one - other for one, other in pairs], axis=1))
    return None if np.isnan(differences).all() else float(np.nanmedian(differences))


def queries_sentence(sizes: Sequence[SampleSize]) -> str:
    """Return a sentence on the differences that the queries can separate; empty if unknown."""
    if not sizes or sizes[-1].separable is None:
        return ""
    return (
        f"Differences under {sizes[-1].separable:.3f} are usually not separated with these"
        f" {sizes[-1].count:,} queries."
    )


def questions_sentence(sizes: Sequence[SampleSize]) -> str:
    """Return a sentence on the number of questions that keeps the order of the systems; empty if
    this is unknown.
    """
    if not sizes:
        return ""
    enough = sizes[-1]
    for size in reversed(sizes[:-1]):
        if size.kendall is None or size.kendall < ENOUGH:
            break
        enough = size
    if enough is sizes[-1]:
        return (
            f"Fewer than {enough.count:,} questions per query change the order of all questions"
            f" (mean Kendall below {ENOUGH})."
        )
    return (
        f"With {enough.count:,} of up to {sizes[-1].count:,} questions per query, the order is"
        f" nearly that of all questions (mean Kendall {enough.kendall:z.2f}, {enough.low:z.2f} to"
        f" {enough.high:z.2f} in {QUESTION_SAMPLES} samples)."
    )
