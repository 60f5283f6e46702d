"""Leaderboard correlation: published numbers, definitions, and general properties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy import stats

from exam_workbench.measures import (
    bootstrap_intervals,
    bootstrap_samples,
    correlate_by,
    correlate_scores,
    system_score,
)
from tests.made.projects import examples
from tests.made.refusals import refusal

ALL = ("spearman", "kendall", "tau_ap", "pearson")

tied_lists = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=7)


def board(scores: list[float] | list[int]) -> dict[str, float]:
    return {f"s{i:02}": float(score) for i, score in enumerate(scores)}


def brute_force_tau_ap(estimate: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """Yilmaz et al. 2008, equation for tau_AP, implemented literally; no ties."""
    order = sorted(estimate, key=lambda system: -estimate[system])
    total = 0.0
    for i in range(1, len(order)):
        total += sum(reference[above] > reference[order[i]] for above in order[:i]) / i
    return 2 * total / (len(order) - 1) - 1


def expected_tau_ap(estimate: dict[str, float], reference: dict[str, float]) -> float:
    """The mean over all ways to break the ties of both leaderboards."""

    def untied(scores: dict[str, float]) -> list[dict[str, float]]:
        groups = [
            list(itertools.permutations([s for s in scores if scores[s] == level]))
            for level in sorted(set(scores.values()))
        ]
        ways = (itertools.chain.from_iterable(way) for way in itertools.product(*groups))
        return [{system: float(rank) for rank, system in enumerate(way)} for way in ways]

    values = [brute_force_tau_ap(x, y) for x in untied(estimate) for y in untied(reference)]
    return math.fsum(values) / len(values)


@given(tied_lists)
@settings(max_examples=examples(40))
def test_correlations_match_scipy_and_expected_tau_ap(pairs: list[tuple[int, int]]) -> None:
    a, b = board([x for x, _ in pairs]), board([y for _, y in pairs])
    found = correlate_scores(a, b)
    if found.undefined is not None:
        assert len(set(a.values())) == 1 or len(set(b.values())) == 1
        return
    x, y = list(a.values()), list(b.values())
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    if math.prod(math.factorial(v.count(level)) for v in (x, y) for level in set(v)) <= 1500:
        assert found.tau_ap == pytest.approx(expected_tau_ap(a, b))
    if len(set(x)) == len(set(y)) == len(x):
        at_random = correlate_scores(a, b, ties="random", repeats=2)
        assert [getattr(at_random, name) for name in ALL] == pytest.approx([getattr(found, name) for name in ALL])


def test_only_common_systems_count() -> None:
    a = {"only a": 9.0, "s1": 3.0, "s2": 2.0, "s3": 1.0}
    b = {"only b": 0.0, "s3": 1.0, "s2": 2.0, "s1": 3.0}
    found = correlate_scores(a, b)
    assert (found.systems, found.spearman) == (3, pytest.approx(1))


@pytest.mark.parametrize("ties", ["average", "random"])
def test_correlation_of_few_systems_or_constant_scores_is_undefined(ties: str) -> None:
    for a, b, systems, why in (
        (board([1, 2]), board([1, 2]), 2, "at least 3"),
        ({}, board([1, 2]), 0, "at least 3"),
        (board([1, 1, 1]), board([1, 2, 3]), 3, "first leaderboard"),
        (board([1, 2, 3]), board([7, 7, 7]), 3, "second leaderboard"),
        (board([1, 1, 1]), board([7, 7, 7]), 3, "both leaderboards"),
    ):
        found = correlate_scores(a, b, ties=ties)  # type: ignore[arg-type]
        assert found.undefined is not None
        assert why in found.undefined
        assert found.systems == systems
        assert {found.spearman, found.kendall, found.tau_ap, found.pearson} == {None}


def test_random_ties_and_bootstrap_depend_only_on_the_seed() -> None:
    a, b = board([1, 1, 1, 2, 2]), board([1, 2, 2, 3, 3])
    assert correlate_scores(a, b, ties="random", seed=1) == correlate_scores(a, b, ties="random", seed=1)
    assert correlate_scores(a, b, ties="random", seed=1) != correlate_scores(a, b, ties="random", seed=2)
    a, b = per_query(6, 12, 0.5, seed=1), per_query(6, 12, 0.5, seed=2)
    assert bootstrap_intervals(a, b, ALL, samples=100, seed=5) == bootstrap_intervals(a, b, ALL, samples=100, seed=5)
    assert bootstrap_intervals(a, b, ALL, samples=100, seed=5) != bootstrap_intervals(a, b, ALL, samples=100, seed=6)


def test_overlapping_error_bars_are_ties_from_the_top_down() -> None:
    """.90, .86, .82 and .79 overlap in a chain; .82 misses the bar of .90, so it starts a second group."""
    scores = {"a": 0.90, "b": 0.86, "c": 0.82, "d": 0.79}
    errors = dict.fromkeys(scores, 0.03)
    official = {"a": 2.0, "b": 1.0, "c": 4.0, "d": 3.0}
    # Of the six pairs, ab and cd agree and the four others do not; as ties ab and cd average out.
    plain = correlate_scores(scores, official, ties="random")
    assert plain.kendall == pytest.approx((2 - 4) / 6)
    grouped = correlate_scores(scores, official, ties="random", repeats=4000, std_errors_a=errors)
    assert grouped.kendall == pytest.approx((0 - 4) / 6, abs=0.02)
    assert grouped.pearson == plain.pearson
    swapped = correlate_scores(official, scores, ties="random", repeats=4000, std_errors_b=errors)
    assert swapped.kendall == pytest.approx((0 - 4) / 6, abs=0.02)
    unknown = correlate_scores(scores, official, ties="random", std_errors_a=dict.fromkeys(scores, None))
    assert unknown.kendall == plain.kendall
    everyone = correlate_scores(scores, official, ties="random", std_errors_a=dict.fromkeys(scores, 1.0))
    assert everyone.undefined is not None


def test_invalid_correlation_input_is_refused() -> None:
    good = board([1, 2, 3])
    with refusal("score-not-finite"):
        correlate_scores({**good, "s00": math.nan}, good)
    with refusal("samples-out-of-range"):
        correlate_scores(good, good, ties="random", repeats=0)
    with refusal("ties-with-standard-errors"):
        correlate_scores(good, good, std_errors_a={"s00": 0.1})
    nested = {system: {"q1": score, "q2": score} for system, score in good.items()}
    with refusal("samples-out-of-range"):
        bootstrap_intervals(nested, nested, samples=0)


def per_query(systems: int, queries: int, noise: float, seed: int) -> dict[str, dict[str, float]]:
    """Scores of systems of rising quality, with noise by query."""
    draw = Random(seed)
    return {f"s{i:02}": {f"q{j}": i / systems + draw.gauss(0, noise) for j in range(queries)} for i in range(systems)}


def test_bootstrap_keeps_ties_and_common_draws() -> None:
    """Rounding inside a mean must not decide between two systems with the same scores."""
    draw = Random(0)
    scores = {f"s{i:02}": {f"q{j}": i + draw.random() / 2 for j in range(54)} for i in range(8)}
    official = {system: float(system[1:]) for system in scores}
    scores["twin"], official["twin"] = dict(scores["s03"]), official["s03"]
    samples = bootstrap_samples(scores, official, ["kendall"])["kendall"]
    assert samples.min() == pytest.approx(1)
    # b is a shifted by a constant for every query, so only a common draw keeps Pearson at 1.
    a = per_query(6, 15, 1.0, seed=3)
    b = {system: {query: 5 + score for query, score in scores.items()} for system, scores in a.items()}
    assert bootstrap_intervals(a, b, ["pearson"], samples=200)["pearson"] == (pytest.approx(1), pytest.approx(1))


def test_interval_contains_the_estimate_and_narrows_with_queries() -> None:
    widths = {}
    for queries in (10, 250):
        a, b = per_query(12, queries, 0.5, seed=1), per_query(12, queries, 0.5, seed=2)
        queries_of = list(a["s00"])
        means = [{s: system_score(v, queries_of, "zero")[0] or 0.0 for s, v in x.items()} for x in (a, b)]
        point = correlate_scores(*means)
        for name, interval in bootstrap_intervals(a, b, ALL, samples=500).items():
            assert interval is not None
            low, high = interval
            assert low <= getattr(point, name) <= high
            widths[name, queries] = high - low
    assert all(widths[name, 250] < widths[name, 10] for name in ALL)


def test_each_sample_is_the_correlation_of_resampled_means() -> None:
    """With two queries, a sample is one of three: q0 twice, q1 twice, or both."""
    a = {"s0": {"q0": 1.0, "q1": 6.0}, "s1": {"q0": 2.0, "q1": 4.0}, "s2": {"q0": 3.0, "q1": 1.0}}
    fixed = {"s0": 1.0, "s1": 2.0, "s2": 3.0}
    drawn = bootstrap_samples(a, fixed, ALL, samples=200)
    possible = [
        correlate_scores({s: w * v["q0"] + (1 - w) * v["q1"] for s, v in a.items()}, fixed) for w in (0, 0.5, 1)
    ]
    for name in ALL:
        expected = {round(getattr(found, name), 9) for found in possible}
        assert {round(float(value), 9) for value in drawn[name]} == expected


def test_skipped_queries_and_too_little_data_in_a_bootstrap() -> None:
    """A system that answers one easy query leads if skipped queries are ignored, and trails otherwise."""
    a = {"s0": {f"q{i}": 0.3 for i in range(9)}, "s1": {f"q{i}": 0.6 for i in range(9)}, "picky": {"q0": 0.9}}
    official = {"s0": 1.0, "s1": 2.0, "picky": 3.0}
    assert bootstrap_intervals(a, official, ["kendall"], skipped="ignore")["kendall"] == (1.0, 1.0)
    # A system without any score is not compared.
    more = (a | {"empty": {}}, official | {"empty": {}})
    assert bootstrap_intervals(*more, ["kendall"], skipped="ignore")["kendall"] == (1.0, 1.0)
    zero = bootstrap_samples(a, official, ["kendall"], skipped="zero")["kendall"]
    assert np.nanquantile(zero, 0.75) < 0
    two = per_query(2, 10, 0.1, seed=0)
    assert bootstrap_intervals(two, two) == {"spearman": None, "kendall": None}
    one_query = per_query(5, 1, 0.1, seed=0)
    assert bootstrap_intervals(one_query, one_query) == {"spearman": None, "kendall": None}
    constant = dict.fromkeys((f"s{i:02}" for i in range(5)), 1.0)
    assert bootstrap_intervals(per_query(5, 10, 0.1, seed=0), constant) == {"spearman": None, "kendall": None}
    assert bootstrap_intervals({}, {}) == {"spearman": None, "kendall": None}


def slow_tau_gap(estimate: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """Gao and Oard 2015, equation for tau_GAP; ties of the estimate in the order of names."""
    order = sorted(sorted(estimate), key=lambda system: -estimate[system])
    shares = []
    for i, system in enumerate(order):
        gaps = [reference[above] - reference[system] for above in order[:i]]
        if total := math.fsum(map(abs, gaps)):
            shares.append(math.fsum(gap for gap in gaps if gap > 0) / total)
    return 2 * math.fsum(shares) / len(shares) - 1


def slow_tauap_b(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """tau_AP with ties, symmetric: mean share of higher systems in order, over systems that have higher ones."""

    def one_way(x: Mapping[str, float], y: Mapping[str, float]) -> float:
        shares = []
        for system in y:
            above = [other for other in y if y[other] > y[system]]
            if above:
                shares.append(sum(x[other] > x[system] for other in above) / len(above))
        return 2 * math.fsum(shares) / len(shares) - 1

    return (one_way(a, b) + one_way(b, a)) / 2


@given(tied_lists, st.integers(3, 8))
@settings(max_examples=examples(100))
def test_further_coefficients_follow_their_definitions(pairs: list[tuple[int, int]], depth: int) -> None:
    a, b = board([x for x, _ in pairs]), board([y for _, y in pairs])
    assume(len(set(a.values())) > 1 and len(set(b.values())) > 1)
    found = correlate_by(["tau_gap", "tauap_b", f"kendall@{depth}"], a, b)
    assert found["tau_gap"] == pytest.approx(slow_tau_gap(a, b), abs=1e-12)
    assert found["tauap_b"] == pytest.approx(slow_tauap_b(a, b), abs=1e-12)
    best = sorted(b, key=lambda system: (-b[system], system))[:depth]
    kept = correlate_scores({system: a[system] for system in best}, b).kendall
    assert found[f"kendall@{depth}"] == (None if kept is None else pytest.approx(kept, abs=1e-12))
    without_ties = len(set(a.values())) == len(set(b.values())) == len(a)
    assert not without_ties or slow_tauap_b(a, b) == pytest.approx(
        (brute_force_tau_ap(a, b) + brute_force_tau_ap(b, a)) / 2
    )


def test_coefficients_of_few_systems_are_undefined_and_unknown_names_refused() -> None:
    a, b = board([3, 2, 1, 0]), board([4, 2, 1, 3])
    assert correlate_by(["tau_gap", "kendall@2", "kendall@10"], a, b) == {
        "tau_gap": pytest.approx(slow_tau_gap(a, b)), "kendall@2": None, "kendall@10": pytest.approx(1 / 3),
    }  # fmt: skip
    assert correlate_by(["tauap_b"], a, board([1, 1, 1, 1])) == {"tauap_b": None}
    for name in ("kendal", "kendall@", "kendall@0", "tau_gap@x", "@3"):
        with refusal("unknown-correlation", name):
            correlate_by([name], a, b)
