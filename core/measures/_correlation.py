"""Agreement of two leaderboards: rank correlations, ties, and bootstrap intervals over queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..choices import Ties
from ..errors import InputError, check_in_range, unknown_name
from ._means_and_tests import (
    Array,
    Skipped,
    bars_overlap,
    central_percentiles,
    defined_quotients,
    drawn_counts,
    resampled_means,
)

PerQuery = Mapping[str, Mapping[str, float]]
"""system -> query id -> score; a query that the system skipped is absent"""


_NEEDED = 3
# Sign matrices are split into chunks of about this many numbers, so that memory stays bounded.
_CHUNK = 1_000_000


@dataclass(frozen=True)
class Correlation:
    """Agreement of two leaderboards, each coefficient from -1 to 1.

    Args:
        systems: number of systems that both leaderboards have.
        spearman, kendall, tau_ap, pearson: the coefficients; None if and only if they are
            undefined.
        ties: how ties were treated.
        undefined: a sentence that says why the correlation is undefined; None if it is defined.
    """

    systems: int
    spearman: float | None
    kendall: float | None
    tau_ap: float | None
    pearson: float | None
    ties: Ties
    undefined: str | None


def correlate_scores(
    a: Mapping[str, float],
    b: Mapping[str, float],
    ties: Ties = "average",
    repeats: int = 10,
    seed: int = 0,
    std_errors_a: Mapping[str, float | None] | None = None,
    std_errors_b: Mapping[str, float | None] | None = None,
) -> Correlation:
    """Correlate two leaderboards on the systems that both have.

    `average`: Spearman on average ranks, Kendall tau-b, and the exact expectation of tau_AP over
    all ways to break ties. So tau_AP of a leaderboard with ties and itself is below 1.

    `random`: ties are broken at random on each leaderboard, and every coefficient except Pearson is
    the mean over the repeats. If standard errors are given, systems with overlapping error bars are
    tied, too (original-exam, section 4.1.1). Overlap is not transitive. So groups are made from the
    top, by falling score and then by name. A system joins the present group if its bar overlaps the
    bar of the group's first system; otherwise it starts the next group. Pearson always uses the
    scores.

    tau_AP (Yilmaz, Aslam, Robertson: A New Rank Correlation Coefficient for Information Retrieval,
    SIGIR 2008) is not symmetric. With the systems in the order of `a`, tau_AP = 2 / (n - 1) * (sum
    over ranks i = 2..n of C(i) / (i
    - 1)) - 1. C(i) counts the systems above rank i that `b` also puts above the system at rank i.

    Args:
        a: score by system of the leaderboard to examine (the estimate).
        b: score by system of the official leaderboard (the reference).
        ties: average or random.
        repeats: how often ties are broken at random.
        seed: makes the random order repeatable.
        std_errors_a, std_errors_b: standard error by system, for random ties only; 0 is used if it
            is None or absent.

    Returns:
        The coefficients, or why they are undefined: fewer than 3 common systems, or all common
        systems are tied on a leaderboard.

    Raises:
        InputError: a score that is not finite, no repeats, or standard errors with average ties.
    """
    if ties == "average" and (std_errors_a is not None or std_errors_b is not None):
        raise InputError(
            "ties-with-standard-errors",
            "Standard errors cannot be used with average ties.",
            "Use random ties: --ties random.",
        )
    check_in_range(
        "samples-out-of-range", f"Number of repeats {repeats}", "Use 1 or more.", repeats >= 1
    )
    systems = sorted(a.keys() & b.keys())
    x, y = _checked_scores(a, systems), _checked_scores(b, systems)
    levels_x = _level_systems(systems, x, std_errors_a)
    levels_y = _level_systems(systems, y, std_errors_b)
    undefined = _why_undefined(len(systems), levels_x, levels_y)
    if undefined is not None:
        return Correlation(len(systems), None, None, None, None, ties, undefined)
    if ties == "average":
        rank_x, rank_y = levels_x[None], levels_y[None]
    else:
        rng = np.random.default_rng(seed)
        shape = (repeats, len(systems))
        rank_x, rank_y = levels_x + rng.random(shape), levels_y + rng.random(shape)
    spearman, kendall, tau_ap = (
        float(np.mean(rank_correlations(name, rank_x, rank_y)))
        for name in ("spearman", "kendall", "tau_ap")
    )
    pearson = float(_pearson_rows(x[None], y[None])[0])
    return Correlation(len(systems), spearman, kendall, tau_ap, pearson, ties, None)


def correlate_by(
    names: Sequence[str], a: Mapping[str, float], b: Mapping[str, float]
) -> dict[str, float | None]:
    """Return chosen coefficients of two leaderboards on the systems that both have.

    tau_gap (Gao, Oard: A Head-Weighted Gap-Sensitive Correlation Coefficient, SIGIR 2015) is
    2 / n * (sum over systems of correct / gaps) - 1. For each system, `gaps` is the sum of the
    absolute score differences in `b` to the systems ranked above it in `a`. `correct` is the part
    of this sum from systems that `b` also ranks above it. Systems tied in `a` are in the order of
    their names. n is the number of systems with gaps.

    tauap_b is the mean of two such coefficients, which count systems instead of gaps. The first
    considers the systems that `b` ranks above a system; those that `a` ranks above it, too, are
    correct. The second swaps `a` and `b`.

    Args:
        names: some of spearman, kendall, tau_ap, pearson, tauap_b and tau_gap. NAME@K restricts the
            coefficient to the K best systems of `b`; ties are broken by name.
        a: score by system of the leaderboard to examine.
        b: score by system of the official leaderboard.

    Returns:
        Coefficient by name; None with fewer than 3 systems, or if all systems are tied on a
        leaderboard.

    Raises:
        InputError: an unknown name, or a score that is not finite.
    """
    systems = sorted(a.keys() & b.keys())
    coefficients: dict[str, float | None] = {}
    for name in names:
        base, at, depth = name.partition("@")
        if base not in _COEFFICIENTS or (at and not re.fullmatch("[1-9][0-9]{0,5}", depth)):
            raise unknown_name(
                "unknown-correlation", "correlation", name, [*_COEFFICIENTS, "kendall@10"]
            )
        best = sorted(systems, key=lambda system: -b[system])[: int(depth) if at else None]
        x, y = (_checked_scores(board, sorted(best))[None] for board in (a, b))
        value = float(rank_correlations(base, x, y)[0]) if len(best) >= _NEEDED else np.nan
        coefficients[name] = None if np.isnan(value) else value
    return coefficients


def bootstrap_intervals(
    per_query_a: PerQuery,
    per_query_b: PerQuery | Mapping[str, float],
    statistics: Sequence[str] = ("spearman", "kendall"),
    samples: int = 1000,
    seed: int = 0,
    skipped: Skipped = "zero",
    reference: Mapping[str, float] | None = None,
) -> dict[str, tuple[float, float] | None]:
    """Return 95 % percentile intervals of a leaderboard correlation, over resampled queries.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.

    Args:
        per_query_a, per_query_b, statistics, samples, seed, skipped, reference: as in
            `bootstrap_samples`.

    Returns:
        (low, high) by statistic, over the samples in which it is defined; None if it is undefined
        in all samples.

    Raises:
        InputError: no samples.
    """
    drawn = bootstrap_samples(
        per_query_a, per_query_b, statistics, samples, seed, skipped, reference=reference
    )
    return {name: central_percentiles(values) for name, values in drawn.items()}


def bootstrap_samples(
    per_query_a: PerQuery,
    per_query_b: PerQuery | Mapping[str, float],
    statistics: Sequence[str] = ("spearman", "kendall"),
    samples: int = 1000,
    seed: int = 0,
    skipped: Skipped = "zero",
    among: Collection[str] = (),
    reference: Mapping[str, float] | None = None,
) -> dict[str, Array]:
    """Return correlations of two leaderboards (average ties) in many resamples of the queries.

    A resample draws n of the n queries of both leaderboards, with replacement. Each leaderboard is
    averaged over the drawn queries that it has. So both leaderboards use the same draw. Two calls
    with the same seed and queries also use the same draws: the difference of their results is a
    paired bootstrap of a shift in correlation.

    Args:
        per_query_a: the leaderboard to examine.
        per_query_b: the official leaderboard, by query or as fixed scores by system.
        statistics: some of spearman, kendall, tau_ap, pearson.
        samples: number of resamples.
        seed: makes them repeatable.
        skipped: whether a query that a system skipped counts 0 or is left out of its mean.
        among: further queries to draw from. With them, two calls on leaderboards with different
            queries can use the same draws.
        reference: score of the reference by query, if `per_query_a` is normalised by it. If skipped
            queries are ignored, each system is normalised again over its drawn queries. Otherwise
            all systems have the same divisor, which does not change a correlation.

    Returns:
        By statistic, an array of length `samples`, with NaN for samples in which it is undefined.
        All values are NaN with fewer than 3 common systems, or with fewer than 2 queries to draw
        from.

    Raises:
        InputError: no samples.
    """
    check_in_range(
        "samples-out-of-range", f"Number of samples {samples}", "Use 1 or more.", samples >= 1
    )
    systems = sorted(per_query_a.keys() & per_query_b.keys())
    if skipped == "ignore":
        # A system without any score has no mean.
        systems = [name for name in systems if {} not in (per_query_a[name], per_query_b[name])]
    by_query_b = all(isinstance(scores, Mapping) for scores in per_query_b.values())
    boards = [per_query_a] + ([cast(PerQuery, per_query_b)] if by_query_b else [])
    queries = sorted(
        {query for board in boards for scores in board.values() for query in scores}.union(among)
    )
    if len(systems) < _NEEDED or len(queries) < 2:
        return {name: np.full(samples, np.nan) for name in statistics}
    counts = drawn_counts(len(queries), samples, seed)
    x = resampled_means(per_query_a, systems, queries, counts, skipped)
    if reference and skipped == "ignore":
        own = {name: {query: reference[query] for query in per_query_a[name]} for name in systems}
        divisors = resampled_means(own, systems, queries, counts, skipped)
        known = resampled_means(own, systems, queries, np.ones((1, len(queries))), skipped)
        # Equal systems stay tied, see `resampled_means`.
        x = defined_quotients(x * known, divisors).round(9)
    if by_query_b:
        y = resampled_means(cast(PerQuery, per_query_b), systems, queries, counts, skipped)
    else:
        fixed = _checked_scores(cast(Mapping[str, float], per_query_b), systems)
        y = np.broadcast_to(fixed, x.shape)
    return {name: rank_correlations(name, x, y) for name in statistics}


def _checked_scores(board: Mapping[str, float], systems: Sequence[str]) -> Array:
    scores = np.array([board[system] for system in systems], dtype=np.float64)
    for system, score in zip(systems, scores, strict=True):
        if not np.isfinite(score):
            raise InputError(
                "score-not-finite", f"Score {score} of {system} is not a finite number."
            )
    return scores


def _level_systems(
    systems: Sequence[str], scores: Array, errors: Mapping[str, float | None] | None
) -> Array:
    """Return a level for every system: whole numbers, higher for better systems, equal for tied
    systems.
    """
    if errors is None:
        return np.unique(scores, return_inverse=True)[1].astype(np.float64)
    levels = np.zeros(len(systems))
    first, level = -1, 0
    for i in sorted(range(len(systems)), key=lambda i: (-scores[i], systems[i])):
        if first < 0:
            first = i
        elif not bars_overlap(
            scores[first], errors.get(systems[first]), scores[i], errors.get(systems[i])
        ):
            first, level = i, level - 1
        levels[i] = level
    return levels


def _why_undefined(systems: int, levels_a: Array, levels_b: Array) -> str | None:
    """Return why two leaderboards have no correlation, or None if they have one."""
    if systems < _NEEDED:
        return f"Too few common systems: {systems}. A correlation needs at least {_NEEDED}."
    constant = [np.ptp(levels) == 0 for levels in (levels_a, levels_b)]
    if not any(constant):
        return None
    which = (
        "both leaderboards"
        if all(constant)
        else f"the {'first' if constant[0] else 'second'} leaderboard"
    )
    return f"All {systems} common systems have the same score on {which}."


def rank_correlations(name: str, x: Array, y: Array) -> Array:
    """Return a coefficient for each row pair of x and y, both of shape (samples, systems); NaN for
    a row with NaN.
    """
    coefficients = np.full(len(x), np.nan)
    whole = np.flatnonzero(~np.isnan(x + y).any(axis=1))
    step = max(1, _CHUNK // x.shape[1] ** 2)
    for begin in range(0, len(whole), step):
        rows = whole[begin : begin + step]
        coefficients[rows] = _COEFFICIENTS[name](x[rows], y[rows])
    return coefficients


def _pairwise_signs(x: Array) -> Array:
    """Return, for rows of scores, 1 if the second system is above the first, -1 if below, 0 if
    tied.
    """
    return np.sign(x[:, None, :] - x[:, :, None])


def _pearson_rows(x: Array, y: Array) -> Array:
    dx, dy = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    return _clipped_ratio(
        (dx * dy).sum(axis=1), np.sqrt((dx**2).sum(axis=1)) * np.sqrt((dy**2).sum(axis=1)), x, y
    )


def _average_ranks(x: Array) -> Array:
    """Return, for rows of scores, the rank of each from 0 for the least; tied ones share the
    average.
    """
    return np.asarray((x.shape[1] - 1 - _pairwise_signs(x).sum(axis=2)) / 2)


def _kendall_rows(x: Array, y: Array) -> Array:
    sx, sy = _pairwise_signs(x), _pairwise_signs(y)
    both = np.sqrt((sx**2).sum(axis=(1, 2)) * (sy**2).sum(axis=(1, 2)))
    return _clipped_ratio((sx * sy).sum(axis=(1, 2)), both, x, y)


def _tau_ap(x: Array, y: Array) -> Array:
    """Return the expected tau_AP over random orders of tied systems; x is the estimate, y the
    reference.

    Let a system have m systems above its group of g tied systems. In a random order, j of the other
    g - 1 tied systems are above it, with probability 1/g for each j = 0..g-1. Then each of them is
    above it with probability j / (g - 1). A system above counts 1 if y agrees, and 1/2 for a tie in
    y.
    """
    sx = _pairwise_signs(x)
    agrees = (1 + _pairwise_signs(y)) / 2
    n = x.shape[1]
    above, group = (sx > 0).sum(axis=2), (sx == 0).sum(axis=2)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    # Sums over j of 1 / (m + j) and of j / (m + j), without rank 1, which has nothing above it.
    inverse = harmonic[above + group - 1] - harmonic[np.maximum(above - 1, 0)]
    share = np.where(above > 0, group - above * inverse, group - 1)
    from_above = (agrees * (sx > 0)).sum(axis=2) * inverse / group
    within = (agrees * (sx == 0)).sum(axis=2) - 0.5
    from_group = within * share / (group * np.maximum(group - 1, 1))
    tau = 2 / (n - 1) * (from_above + from_group).sum(axis=1) - 1
    return _clipped_ratio(tau, np.ones(len(tau)), x, y)


def _tau_ap_b(x: Array, y: Array) -> Array:
    above_x, above_y = _pairwise_signs(x) > 0, _pairwise_signs(y) > 0
    shares = _mean_share(above_x & above_y, above_x) + _mean_share(above_x & above_y, above_y)
    return _clipped_ratio(shares / 2, np.ones(len(x)), x, y)


def _tau_gap(x: Array, y: Array) -> Array:
    ordered = _pairwise_signs(x)
    above = (ordered > 0) | ((ordered == 0) & np.tri(x.shape[1], k=-1, dtype=bool))
    gaps = np.abs(y[:, None, :] - y[:, :, None]) * above
    return _clipped_ratio(_mean_share(gaps * (_pairwise_signs(y) > 0), gaps), np.ones(len(x)), x, y)


def _mean_share(part: NDArray[Any], whole: NDArray[Any]) -> Array:
    """Return the mean of part / whole over the systems with whole above 0, rescaled to -1 to 1."""
    wholes = whole.sum(axis=2)
    shares = defined_quotients(part.sum(axis=2), wholes, wholes > 0)
    return np.asarray(2 * np.nansum(shares, axis=1) / np.maximum((wholes > 0).sum(axis=1), 1) - 1)


def _clipped_ratio(numerator: Array, denominator: Array, x: Array, y: Array) -> Array:
    """Return quotients, clipped to [-1, 1]; NaN for rows that are constant in x or y."""
    defined = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0) & (denominator > 0)
    return np.clip(defined_quotients(numerator, denominator, defined), -1, 1)


_COEFFICIENTS: dict[str, Callable[[Array, Array], Array]] = {
    "spearman": lambda x, y: _pearson_rows(_average_ranks(x), _average_ranks(y)),
    "kendall": _kendall_rows,
    "tau_ap": _tau_ap,
    "pearson": _pearson_rows,
    "tauap_b": _tau_ap_b,
    "tau_gap": _tau_gap,
}
