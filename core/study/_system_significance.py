"""Significance of differences of systems: overlap of error bars, and paired tests over queries with correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..errors import InputError, unknown_name
from ..labels import Leaderboard
from ..measures import ALPHA, PERMUTATIONS, Array, holm, randomisation_test, t_test, tied
from ..store import Project, as_act

Test = Literal["t", "randomisation"]
Correction = Literal["holm", "none"]

TESTS: tuple[Test, ...] = get_args(Test)
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

NO_QUERIES = "This leaderboard has no scores per query, which a paired test needs."
SAME = "Both systems have the same score on every query."
NO_SPREAD = "The difference is the same on every query, so a t test is undefined. Use the randomisation test."


@dataclass(frozen=True)
class Difference:
    """The difference of two systems on the same queries.

    Args:
        run: the system.
        against: the system to compare with.
        difference: score of `run` minus score of `against`, as on the leaderboard.
        error_bars_overlap: whether the error bars of the two overlap; None if an error is unknown.
        queries: number of queries in the comparison.
        p: two-sided p value of the test; None if and only if undefined.
        corrected: p after correction for the number of comparisons made together.
        undefined: a sentence that says why p is undefined; None if it is defined.
    """

    run: str
    against: str
    difference: float
    error_bars_overlap: bool | None
    queries: int
    p: float | None = None
    corrected: float | None = None
    undefined: str | None = None

    @property
    def differs(self) -> bool | None:
        """Whether the difference is significant after correction; None if undefined."""
        return None if self.corrected is None else self.corrected < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, as `--json` prints it."""
        return {**vars(self), "differs": self.differs}


def compare_systems(
    board: Leaderboard,
    against: str | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every system with a single one.

    Args:
        board: the systems and their scores by query. As the policy states, a query that a system skipped counts 0, or
            is left out of every comparison with the system.
        against: the run to compare with; None for the best run of the leaderboard.
        test: `t` for the paired t test, or `randomisation` for `randomisation_test`.
        correction: `holm` for Holm's correction over all returned comparisons, or `none`.
        permutations: minimum number of permutations for the randomisation test. More are used if the correction needs
            smaller p values.
        seed: makes the randomisation test repeatable.

    Returns:
        One comparison for each other system, in the order of the leaderboard.

    Raises:
        InputError: the run, test or correction is unknown, or permutations are below 1.
    """
    runs = [system.run for system in board.systems]
    if against is not None and against not in runs:
        raise unknown_name("unknown-system", "system", against, runs)
    baseline = against if against is not None else next(iter(runs), "")
    return _compare(board, [(run, baseline) for run in runs if run != baseline], test, correction, permutations, seed)


def compare_neighbours(
    board: Leaderboard,
    test: Test = "t",
    correction: Correction = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every system except the first with the system above it. Arguments are as in `compare_systems`."""
    runs = [system.run for system in board.systems]
    return _compare(board, list(zip(runs[1:], runs[:-1], strict=True)), test, correction, permutations, seed)


def compare_all(
    board: Leaderboard,
    test: Test = "t",
    correction: Correction = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every two systems; `run` is the better system. Arguments are as in `compare_systems`."""
    runs = [system.run for system in board.systems]
    pairs = [(run, other) for i, run in enumerate(runs) for other in runs[i + 1 :]]
    return _compare(board, pairs, test, correction, permutations, seed)


@as_act("see boards")
def remembered_pairs(project: Project, board: Leaderboard, test: Test) -> list[Difference]:
    """Return the result of `compare_all`, cached until the leaderboard, its queries or the project changes."""
    key = ("all pairs", board.measure, board.source, board.policy, test, tuple(board.query_ids))
    return project.cached(key, lambda: compare_all(board, test))


def _compare(
    board: Leaderboard,
    pairs: Sequence[tuple[str, str]],
    test: Test,
    correction: Correction,
    permutations: int,
    seed: int,
) -> list[Difference]:
    if test not in TESTS:
        raise unknown_name("unknown-test", "test", test, TESTS)
    if correction not in CORRECTIONS:
        raise unknown_name("unknown-correction", "correction", correction, CORRECTIONS)
    if permutations < 1:
        raise InputError(
            "samples-out-of-range", f"Number of permutations {permutations} is out of range.", "Use 1 or more."
        )
    if not pairs:
        return []
    scores = score_table(board)
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    queries = (~np.isnan(differences)).sum(axis=0).tolist()
    if test == "t":
        p_values = t_test(differences)
    else:
        # The smallest p that this many flips can show must stay below the level after the correction.
        needed = math.ceil(2 * len(pairs) / ALPHA) if correction == "holm" else 0
        p_values = randomisation_test(differences, max(permutations, needed), seed)
    defined = ~np.isnan(p_values)
    plain = p_values[defined].tolist()
    corrected = iter(zip(plain, holm(plain) if correction == "holm" else plain, strict=True))
    means, errors = board.scores, board.std_errors
    found = []
    for i, (a, b) in enumerate(pairs):
        p, adjusted = next(corrected) if defined[i] else (None, None)
        error_a, error_b = errors[a], errors[b]
        unknown = error_a is None or error_b is None
        overlap = None if unknown else tied(means[a], error_a, means[b], error_b)
        why = None if defined[i] else _why_undefined(differences[:, i], not board.per_query)
        found.append(Difference(a, b, means[a] - means[b], overlap, queries[i], p, adjusted, why))
    return found


def score_table(board: Leaderboard) -> dict[str, Array]:
    """Return scores of every system in the order of the leaderboard's queries; NaN for a query that does not count."""
    missing = 0.0 if board.policy.skipped == "zero" else math.nan
    return {
        system.run: np.array(
            [board.per_query.get(system.run, {}).get(query, missing) for query in board.query_ids], dtype=np.float64
        )
        for system in board.systems
    }


def _why_undefined(differences: Array, imported: bool) -> str:
    if imported:
        return NO_QUERIES
    known = differences[~np.isnan(differences)]
    if len(known) < 2:
        return f"A test needs 2 common queries. These systems have {len(known)}."
    return SAME if not np.any(known) else NO_SPREAD
