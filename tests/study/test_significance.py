"""Significance tests of systems, checked against scipy, every sign flip and sums by hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from exam_workbench.choices import SystemTest
from exam_workbench.labels import Leaderboard, Policy, Skipped, order_systems
from exam_workbench.labels._leaderboard import System
from exam_workbench.measures import ALPHA, adjust_holm, bars_overlap, randomisation_test, t_test
from exam_workbench.study import compare_neighbours, compare_systems
from exam_workbench.study._system_significance import NO_QUERIES, NO_SPREAD, SAME, compare_all
from tests.made.refusals import mentions, refusal


def board_of(
    scores: Mapping[str, Mapping[str, float]], policy: Policy | None = None, queries: Sequence[str] = ()
) -> Leaderboard:
    """Return a leaderboard from scores by run and query."""
    policy = policy or Policy()
    queries = list(queries) or sorted({query for by_query in scores.values() for query in by_query})
    per_query = {run: dict(by_query) for run, by_query in scores.items()}
    return Leaderboard("AP", "exam", policy, order_systems(per_query, queries, policy), per_query, queries)


def random_scores(systems: int, queries: int, seed: int, skips: float = 0.0) -> dict[str, dict[str, float]]:
    """Return scores with two digits, so that ties occur; some queries are skipped."""
    rng = np.random.default_rng(seed)
    return {
        f"run{s}": {
            f"q{q}": round(min(1.0, max(0.0, rng.normal(0.3 + 0.05 * s, 0.2))), 2)
            for q in range(queries)
            if rng.random() >= skips
        }
        for s in range(systems)
    }


def every_flip(differences: Sequence[float]) -> float:
    """Compute the p value of the randomisation test from its definition."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(s >= seen - 1e-9 for s in sums) / len(sums)


class TestTTest:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(("skips", "skipped"), [(0.0, "zero"), (0.3, "zero"), (0.3, "ignore")])
    def test_p_matches_scipy_over_the_queries_of_the_policy(self, seed: int, skips: float, skipped: Skipped) -> None:
        scores = random_scores(4, 15, seed, skips)
        board = board_of(scores, Policy(skipped=skipped), queries=[f"q{q}" for q in range(16)])
        for row in compare_all(board):
            both = board.query_ids if skipped == "zero" else scores[row.run].keys() & scores[row.against].keys()
            mine, other = ([scores[run].get(q, 0.0) for q in both] for run in (row.run, row.against))
            assert row.p == pytest.approx(stats.ttest_rel(mine, other).pvalue, rel=1e-9)
            # No run answered q15, but it counts if a skipped query scores zero.
            assert row.queries == len(both) and (row.queries == 16 or skipped == "ignore")

    def test_systems_with_different_divisors_are_compared_by_coverage(self) -> None:
        covers = {"a": {"q1": 0.5, "q2": 0.25, "q3": 1.0}, "b": {"q1": 0.5, "q2": 0.25}}
        # The gold's coverage of its answered queries divides each system's scores: 0.6 and 0.4.
        shares = {run: {q: v / {"a": 0.6, "b": 0.4}[run] for q, v in cover.items()} for run, cover in covers.items()}
        board = replace(board_of(shares, Policy(skipped="ignore")), coverage=covers)
        (row,) = compare_all(board)
        assert (row.queries, row.p, row.undefined) == (2, None, SAME)

    def test_rounding_differences_make_p_undefined(self) -> None:
        same_step = np.array([[0.3 - 0.2], [0.8 - 0.7], [0.6 - 0.5]])
        assert np.ptp(same_step) > 0
        assert np.isnan(t_test(same_step)).all()


class TestRandomisationTest:
    @pytest.mark.parametrize("queries", [2, 3, 5, 8, 10])
    def test_few_queries_use_every_sign_flip(self, queries: int) -> None:
        rng = np.random.default_rng(queries)
        differences = rng.integers(-3, 5, size=(queries, 6)) / 10
        expected = [every_flip(column) for column in differences.T.tolist()]
        found = randomisation_test(differences)
        for value, wanted, column in zip(found, expected, differences.T, strict=True):
            assert np.isnan(value) if not column.any() else value == pytest.approx(wanted)

    def test_drawn_sign_flips_approximate_exact_value(self) -> None:
        differences = np.random.default_rng(3).normal(0.05, 0.2, size=(12, 5))
        exact = randomisation_test(differences, permutations=2**12)
        drawn = randomisation_test(differences, permutations=2**12 - 1)
        assert drawn != pytest.approx(exact, abs=0)
        # The tolerance is five standard errors of a share among 2**12 draws.
        assert drawn == pytest.approx(exact, abs=5 * 0.5 / 2**6)

    def test_p_of_drawn_flips_is_never_zero(self) -> None:
        assert randomisation_test(np.full((40, 1), 0.5), 999)[0] == pytest.approx(1 / 1000)
        thousands = randomisation_test(np.tile([[1.0, 1.0], [1.0, -1.0]], (1000, 1)), 99)
        assert thousands[0] == pytest.approx(1 / 100) and thousands[1] == 1

    def test_result_depends_on_seed_only(self) -> None:
        board = board_of(random_scores(4, 30, 5))
        first, again, other = (compare_systems(board, test="randomisation", seed=seed) for seed in (0, 0, 1))
        assert first == again
        assert first != other

    def test_result_does_not_depend_on_chunk_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        differences = np.random.default_rng(6).normal(0.1, 0.2, size=(9, 3))
        whole = randomisation_test(differences)
        monkeypatch.setattr("exam_workbench.measures._means_and_tests._CHUNK", 50)
        assert randomisation_test(differences) == pytest.approx(whole)

    def test_skipped_query_is_left_out_of_randomisation(self) -> None:
        scores = random_scores(3, 8, 7, skips=0.25)
        for row in compare_all(board_of(scores, Policy(skipped="ignore")), "randomisation"):
            both = scores[row.run].keys() & scores[row.against].keys()
            expected = every_flip([scores[row.run][q] - scores[row.against][q] for q in sorted(both)])
            assert row.p == pytest.approx(expected)

    def test_flips_suffice_for_significance_after_correction(self) -> None:
        scores = {f"run{s}": {f"q{q}": s / 40 + 0.001 * (q % 3 + s % 2) for q in range(20)} for s in range(40)}
        rows = compare_all(board_of(scores), "randomisation", permutations=100)
        assert len(rows) == 40 * 39 / 2
        assert sum(bool(row.differs) for row in rows) > 700


class TestHolm:
    def test_adjustment_matches_hand_calculation(self) -> None:
        # Sorted, .01 .02 .03 .04 times 4 3 2 1 is .04 .06 .06 .04, and monotone .04 .06 .06 .06.
        assert adjust_holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
        assert adjust_holm([0.5, 0.9]) == [1.0, 1.0]
        assert adjust_holm([0.03]) == [0.03]
        assert adjust_holm([]) == []

    def test_correction_counts_only_possible_comparisons_and_can_be_off(self) -> None:
        scores = random_scores(3, 10, 8)
        scores["twin"] = dict(scores["run2"])
        rows = compare_systems(board_of(scores), "run2")
        p_values = [row.p for row in rows if row.p is not None]
        assert len(p_values) == 2
        assert [row.corrected for row in rows if row.p is not None] == pytest.approx(adjust_holm(p_values))
        plain = compare_systems(board_of(scores), "run2", correction="none")
        assert [row.corrected for row in plain] == [row.p for row in rows]


class TestComparedPairs:
    BOARD = board_of(random_scores(5, 20, 10))
    ORDER = tuple(system.run for system in BOARD.systems)

    def test_systems_are_compared_with_the_best_the_named_or_the_one_above(self) -> None:
        best, named, above = (
            [(row.run, row.against) for row in rows]
            for rows in (
                compare_systems(self.BOARD),
                compare_systems(self.BOARD, self.ORDER[2]),
                compare_neighbours(self.BOARD),
            )
        )
        assert best == [(run, self.ORDER[0]) for run in self.ORDER[1:]]
        assert named == [(run, self.ORDER[2]) for run in self.ORDER if run != self.ORDER[2]]
        assert above == list(zip(self.ORDER[1:], self.ORDER[:-1], strict=True))

    def test_all_pairs_are_compared_once_with_better_first(self) -> None:
        rows = compare_all(self.BOARD)
        assert [(row.run, row.against) for row in rows] == list(itertools.combinations(self.ORDER, 2))
        scores, errors = self.BOARD.scores, self.BOARD.std_errors
        for row in rows:
            assert row.difference == pytest.approx(scores[row.run] - scores[row.against]) and row.difference >= 0
            expected = bars_overlap(scores[row.run], errors[row.run], scores[row.against], errors[row.against])
            assert row.error_bars_overlap == expected
            assert row.corrected is not None and row.differs == (row.corrected < ALPHA)


class TestUndefinedTests:
    @pytest.mark.parametrize("test", ["t", "randomisation"])
    def test_identical_scores_and_single_query_have_no_p(self, test: SystemTest) -> None:
        board = board_of({run: {"q1": 0.1, "q2": 0.5} for run in ("a", "b")})
        (row,) = compare_systems(board, test=test)
        assert (row.p, row.corrected, row.differs, row.undefined) == (None, None, None, SAME)
        assert row.error_bars_overlap
        (row,) = compare_systems(board_of({"a": {"q1": 0.1}, "b": {"q1": 0.5}}), test=test)
        assert row.p is None and row.error_bars_overlap is None
        assert row.undefined is not None
        assert mentions(row.undefined, "2") and mentions(row.undefined, "1")

    def test_constant_difference_has_randomisation_test_only(self) -> None:
        board = board_of({"a": {f"q{i}": 0.1 * i for i in range(4)}, "b": {f"q{i}": 0.1 * i + 0.5 for i in range(4)}})
        assert compare_systems(board)[0].undefined == NO_SPREAD
        assert compare_systems(board, test="randomisation")[0].p == pytest.approx(2 / 16)

    def test_imported_leaderboard_has_error_bars_only(self) -> None:
        systems = [System("a", 0.9, 0.1, 0, 1), System("b", 0.75, 0.1, 0, 2), System("c", 0.3, None, 0, 3)]
        rows = compare_systems(Leaderboard("MAP", "printed", Policy(), systems, {}))
        assert [row.undefined for row in rows] == [NO_QUERIES] * 2
        assert [row.error_bars_overlap for row in rows] == [True, None]

    def test_fewer_than_two_systems_give_no_comparison(self) -> None:
        assert compare_systems(board_of({"a": {"q1": 0.1}})) == []
        assert compare_all(board_of({})) == []

    def test_invalid_options_are_refused(self) -> None:
        board = board_of(random_scores(3, 4, 11))
        with refusal("unknown-system", "nobody"):
            compare_systems(board, "nobody")
        with refusal("unknown-test", "z"):
            compare_systems(board, test="z")  # type: ignore[arg-type]
        with refusal("unknown-correction", "luck"):
            compare_systems(board, correction="luck")  # type: ignore[arg-type]
        with refusal("samples-out-of-range"):
            compare_systems(board, test="randomisation", permutations=0)
