"""The shift in correlation that an edit causes, and whether it is more than noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from exam_workbench.labels import Leaderboard, Policy, correlation_shift, leaderboard, order_systems
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, judge
from tests.made.refusals import mentions

SYSTEMS = [f"s{i}" for i in range(6)]
QUERIES = [f"q{i:02}" for i in range(12)]


def board(per_query: dict[str, dict[str, float]], policy: Policy | None = None) -> Leaderboard:
    policy = policy or Policy()
    queries = sorted({query for scores in per_query.values() for query in scores})
    return Leaderboard("nDCG@10", "exam", policy, order_systems(per_query, queries, policy), per_query, queries)


def imported(scores: dict[str, float]) -> Leaderboard:
    return replace(board({run: {"all": score} for run, score in scores.items()}), source="nist", per_query={})


def at_random(seed: int, quality: float = 0.0) -> dict[str, dict[str, float]]:
    """Return scores by system and query: noise plus `quality` times the system's place."""
    dice = np.random.default_rng(seed)
    return {
        run: {query: float(quality * place + dice.random()) for query in QUERIES} for place, run in enumerate(SYSTEMS)
    }


OFFICIAL = imported({run: place / 10 for place, run in enumerate(SYSTEMS)})


def reference(
    before: Leaderboard, after: Leaderboard, official: dict[str, float], queries: list[str], samples: int
) -> tuple[float, float]:
    """Compute the interval with plain loops and scipy, both leaderboards on the same draws of queries."""
    counts = np.random.default_rng(0).multinomial(len(queries), [1 / len(queries)] * len(queries), size=samples)
    shifts = []
    for count in counts.tolist():
        rho = []
        for one in (before, after):
            known = {query for scores in one.per_query.values() for query in scores}
            drawn = [query for query, times in zip(queries, count, strict=True) for _ in range(times) if query in known]
            means = [round(sum(one.per_query[run].get(q, 0.0) for q in drawn) / len(drawn), 12) for run in SYSTEMS]
            rho.append(spearmanr(means, [official[run] for run in SYSTEMS]).statistic)
        shifts.append(rho[1] - rho[0])
    low, high = np.quantile(shifts, (0.025, 0.975))
    return float(low), float(high)


def test_interval_uses_the_same_query_draws_for_both():
    before, after = board(at_random(1)), board(at_random(2, quality=0.05))
    found = correlation_shift(before, after, OFFICIAL, samples=150)
    low, high = reference(before, after, OFFICIAL.scores, QUERIES, 150)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.before == pytest.approx(spearmanr([before.scores[run] for run in SYSTEMS], range(6)).statistic)
    assert found.after == pytest.approx(spearmanr([after.scores[run] for run in SYSTEMS], range(6)).statistic)


def test_removed_query_does_not_change_draws():
    scores = at_random(1)
    fewer = {run: {query: score for query, score in by.items() if query != "q00"} for run, by in scores.items()}
    before, after = board(scores), board(fewer)
    found = correlation_shift(before, after, OFFICIAL, samples=150)
    low, high = reference(before, after, OFFICIAL.scores, QUERIES, 150)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    back = correlation_shift(after, before, OFFICIAL, samples=150)
    assert (back.low, back.high) == (pytest.approx(-high), pytest.approx(-low))


def test_large_gain_and_its_loss_exceed_noise():
    bad, good = board(at_random(1)), board(at_random(1, quality=1.0))
    found = correlation_shift(bad, good, OFFICIAL)
    assert found.low is not None and found.low > 0
    assert found.low is not None and found.high is not None and found.after is not None and found.before is not None
    assert 0 < found.low <= found.after - found.before <= found.high
    loss = correlation_shift(good, bad, OFFICIAL)
    assert loss.high is not None and loss.high < 0
    assert len({found.says, loss.says}) == 2


def test_official_per_query_scores_use_the_same_draws():
    before, after = board(at_random(1)), board(at_random(1, quality=1.0))
    found = correlation_shift(before, after, after)
    assert found.after == 1.0
    assert found.high is not None and found.low is not None
    assert 0 < found.low <= 1 - (found.before or 0) <= found.high


@pytest.mark.parametrize(
    ("official", "common"),
    [
        ({"s0": 0.1, "s1": 0.2}, "2"),
        ({"a": 0.1, "b": 0.2, "c": 0.3}, "0"),
        (dict.fromkeys(SYSTEMS, 0.5), "6"),
    ],
)
def test_undefined_correlation_gives_reason(official: dict[str, float], common: str):
    found = correlation_shift(board(at_random(1)), board(at_random(2)), imported(official))
    assert (found.before, found.after, found.low, found.high) == (None, None, None, None)
    assert mentions(found.says, common)


def test_edit_to_constant_scores_makes_correlation_undefined():
    constant = board({run: dict.fromkeys(QUERIES, 0.5) for run in SYSTEMS})
    found = correlation_shift(board(at_random(1)), constant, OFFICIAL)
    assert (found.before is None, found.after) == (False, None)
    assert mentions(found.says, "6") and mentions(found.says, "first")


def test_single_query_gives_no_interval():
    one, other = ({run: {"q00": by["q00"]} for run, by in at_random(seed).items()} for seed in (1, 2))
    found = correlation_shift(board(one), board(other), OFFICIAL)
    assert (found.before is None, found.after is None) == (False, False)
    assert (found.low, found.high) == (None, None) and found.says


def test_removing_misleading_questions_raises_correlation(project: Project):
    """End to end: grades, an edit, the leaderboards before and after, and the judgments."""
    queries, passages = [f"q{i}" for i in range(6)], ["good", "fair", "bad"]
    asked = [Question(f"{q}/{w}", q, f"{q} {w}?") for q in queries for w in ("right", "wrong")]
    ratings = {}
    for q in queries:
        ratings |= {(f"{q} right?", p): rating for p, rating in zip(passages, (5, 4, 0), strict=True)}
        ratings |= {(f"{q} wrong?", p): rating for p, rating in zip(passages, (0, 3, 5), strict=True)}
    # Ranking the good passage first is better; most of the weight rewards the opposite.
    orders = {"best": ["good", "fair", "bad"], "middle": ["fair", "good", "bad"], "worst": ["bad", "fair", "good"]}
    runs = {run: {q: order for q in queries} for run, order in orders.items()}
    asked = [replace(q, weight=3.0) if "wrong" in q.question_id else q for q in asked]
    fill(project, asked, ratings, runs)
    judge(project, {(q, p): value for q in queries for p, value in zip(passages, (2, 1, 0), strict=True)})
    policy = Policy(cutoff=1, min_rating=4)
    edits = {
        q: [replace(a, active=False) if "wrong" in a.question_id else a for a in asked if a.query_id == q]
        for q in queries
    }
    found = changes(project, "EXAM-Cover", policy, edits)
    official = leaderboard(project, "nDCG@10", "assessors", policy)
    shift = correlation_shift(found.before, found.after, official, samples=50)
    assert shift.before is not None and shift.after is not None
    assert shift.before < 0 < shift.after
    assert shift.low is not None and shift.low > 0
