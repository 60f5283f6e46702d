"""Significance of differences of systems: pairs, groups, and sealed questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, pairwise
from typing import Any, get_args

import numpy as np

from ..choices import PERMUTATIONS, SystemCorrection, SystemTest
from ..errors import InputError, check_in_range, check_known
from ..grouping import group_pairs, nest_triples
from ..labels import RANKED, Leaderboard, Policy, basis, first_answers
from ..measures import (
    ALPHA,
    SEALED_LEVEL,
    Array,
    adjust_holm,
    bars_overlap,
    maximal_sections,
    randomisation_test,
    sealed_test,
    t_test,
)
from ..records import sealed_questions
from ..store import Project, as_act, cached

NO_QUERIES = "This leaderboard has no scores per query, which a paired test needs."
SAME = "Both systems have the same score on every query."
NO_SPREAD = (
    "The difference is the same on every query, so a t test is undefined. Use the"
    " randomisation test."
)


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
    test: SystemTest = "t",
    correction: SystemCorrection = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every system with a single one.

    Args:
        board: the systems and their scores by query. As the policy states, a query that a system
            skipped counts 0, or is left out of every comparison with the system.
        against: the run to compare with; None for the best run of the leaderboard.
        test: `t` for the paired t test, or `randomisation` for `randomisation_test`.
        correction: `holm` for Holm's correction over all returned comparisons, or `none`.
        permutations: minimum number of permutations for the randomisation test. More are used if
            the correction needs smaller p values.
        seed: makes the randomisation test repeatable.

    Returns:
        One comparison for each other system, in the order of the leaderboard.

    Raises:
        InputError: the run, test or correction is unknown, or permutations are below 1.
    """
    runs = [system.run for system in board.systems]
    check_known("unknown-system", "system", runs, against)
    baseline = against if against is not None else next(iter(runs), "")
    return _compare_pairs(
        board,
        [(run, baseline) for run in runs if run != baseline],
        test,
        correction,
        permutations,
        seed,
    )


def compare_neighbours(
    board: Leaderboard,
    test: SystemTest = "t",
    correction: SystemCorrection = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every system except the first with the system above it. Arguments are as in
    `compare_systems`.
    """
    pairs = [(below, above) for above, below in pairwise(board.scores)]
    return _compare_pairs(board, pairs, test, correction, permutations, seed)


def compare_all(
    board: Leaderboard,
    test: SystemTest = "t",
    correction: SystemCorrection = "holm",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Difference]:
    """Compare every two systems; `run` is the better one. Arguments are as in `compare_systems`."""
    return _compare_pairs(
        board, list(combinations(board.scores, 2)), test, correction, permutations, seed
    )


@as_act("see boards")
def remembered_pairs(project: Project, board: Leaderboard, test: SystemTest) -> list[Difference]:
    """Return the result of `compare_all`, cached until the leaderboard, its queries or the project
    changes.
    """
    key = ("all pairs", board.measure, board.source, board.policy, test, tuple(board.query_ids))
    return project.cached(key, lambda: compare_all(board, test))


def _compare_pairs(
    board: Leaderboard,
    pairs: Sequence[tuple[str, str]],
    test: SystemTest,
    correction: SystemCorrection,
    permutations: int,
    seed: int,
) -> list[Difference]:
    check_known("unknown-test", "test", get_args(SystemTest), test)
    check_known("unknown-correction", "correction", get_args(SystemCorrection), correction)
    check_in_range(
        "samples-out-of-range",
        f"Number of permutations {permutations}",
        "Use 1 or more.",
        permutations >= 1,
    )
    if not pairs:
        return []
    # A normalised score has a divisor of its own if the system's skipped queries are ignored.
    own_divisors = board.coverage and board.policy.skipped == "ignore"
    scores = score_table(replace(board, per_query=board.coverage) if own_divisors else board)
    differences = np.stack([scores[a] - scores[b] for a, b in pairs], axis=1)
    queries = (~np.isnan(differences)).sum(axis=0).tolist()
    if test == "t":
        p_values = t_test(differences)
    else:
        # The smallest p that this many flips can show must stay below the level after the
        # correction.
        needed = math.ceil(2 * len(pairs) / ALPHA) if correction == "holm" else 0
        p_values = randomisation_test(differences, max(permutations, needed), seed)
    defined = ~np.isnan(p_values)
    plain = p_values[defined].tolist()
    corrected = iter(zip(plain, adjust_holm(plain) if correction == "holm" else plain, strict=True))
    means, errors = board.scores, board.std_errors
    results = []
    for i, (a, b) in enumerate(pairs):
        p, adjusted = next(corrected) if defined[i] else (None, None)
        error_a, error_b = errors[a], errors[b]
        unknown = error_a is None or error_b is None
        overlap = None if unknown else bars_overlap(means[a], error_a, means[b], error_b)
        why = None if defined[i] else _why_undefined(differences[:, i], not board.per_query)
        results.append(Difference(a, b, means[a] - means[b], overlap, queries[i], p, adjusted, why))
    return results


def score_table(board: Leaderboard) -> dict[str, Array]:
    """Return scores of every system in the order of the leaderboard's queries; NaN for a query that
    does not count.
    """
    missing = 0.0 if board.policy.skipped == "zero" else math.nan
    return {
        system.run: np.array(
            [board.per_query.get(system.run, {}).get(query, missing) for query in board.query_ids],
            dtype=np.float64,
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


@dataclass(frozen=True)
class UnseparatedSystems:
    """The systems of a leaderboard that are not separated.

    Args:
        groups: (first, last) position, from 0, of every maximal section of the leaderboard in which
            no two systems differ significantly, from the top down. A group has two or more systems.
            Groups can overlap: of three systems, the first and the last may differ, though neither
            is separated from the second.
        of: by run, the other runs from which it is not separated, in the order of the leaderboard.
        untested: the reasons why pairs of systems could not be tested, each reason once. Such pairs
            are not grouped, because nothing is known about them.
    """

    groups: list[tuple[int, int]]
    of: dict[str, list[str]]
    untested: list[str]


def group_alike(board: Leaderboard, pairs: Sequence[Difference]) -> UnseparatedSystems:
    """Return the groups of systems without significant differences, like the lines of a critical
    difference diagram.

    Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of
    Machine Learning Research 7, 2006, section 3.2.2: systems without significant differences are
    connected. The tests of `pairs` are used.

    Args:
        board: the leaderboard, best systems first.
        pairs: comparisons of every two systems, as `remembered_pairs` returns them.
    """
    order = [system.run for system in board.systems]
    same = {
        frozenset((row.run, row.against))
        for row in pairs
        if row.differs is False or row.undefined == SAME
    }
    separated = np.array(
        [[frozenset((run, other)) not in same for other in order] for run in order], bool
    )
    return UnseparatedSystems(
        maximal_sections(separated),
        {run: [other for other in order if frozenset((run, other)) in same] for run in order},
        sorted({row.undefined for row in pairs if row.undefined not in (None, SAME)}),
    )


@dataclass(frozen=True)
class SealedSystem:
    """A system: its mean coverage of public and sealed questions, the surplus beyond the median
    system, and its p.

    `p` is one-sided and corrected by Holm's method. A system is flagged if its surplus is
    significant.
    """

    run: str
    public: float
    sealed: float
    surplus: float
    p: float
    flagged: bool


@dataclass(frozen=True)
class SealedCoverage:
    """The systems by falling surplus, the measure, the number of queries with sealed questions."""

    measure: str
    queries: int
    systems: list[SealedSystem]

    @property
    def description(self) -> str:
        """The result as a sentence."""
        flagged = [one.run for one in self.systems if one.flagged]
        if not self.queries:
            return "No question is sealed."
        if not flagged:
            return "No system answers public questions significantly better than sealed ones."
        return (
            "Systems that answer public questions significantly better than sealed ones:"
            f" {', '.join(flagged)}."
        )

    @property
    def explanation(self) -> str:
        """The meaning of a positive surplus as a sentence."""
        return (
            f"A positive surplus: in {self.measure}, the lead of public over sealed questions is"
            " larger than that of the median system."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, as `--json` prints it."""
        return {**asdict(self), "flagged": [one.run for one in self.systems if one.flagged]}


@cached()
def sealed_coverage(project: Project, policy: Policy) -> SealedCoverage:
    """Compare each system's coverage of public and sealed questions with the median system; see
    `sealed_test`.

    Only questions with a grade count. A system that skipped a query answers none of its questions.

    Raises:
        InputError: questions are sealed, but fewer than 3 systems or 2 queries can be compared.
    """
    base, sealed, measure = (
        basis(project, policy),
        sealed_questions(project),
        f"EXAM-Cover@{policy.cutoff}",
    )
    if not sealed:
        return SealedCoverage(measure, 0, [])
    runs = [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]
    rows = project.rows(
        "SELECT name, query_id, question_id, w, first, usable FROM"
        f" {first_answers(base, RANKED, ('run_key', 'query_key'))} JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN questions USING (question_key)"
        " WHERE w > 0 ORDER BY ALL",
        base.parameters | {"cutoff": policy.cutoff},
    )
    answers = nest_triples(
        ((query, question, weight), run, first is not None)
        for run, query, question, weight, first, usable in rows
        if usable
    )
    answered_questions = group_pairs(
        (query, (question, weight, [of_run.get(run, False) for run in runs]))
        for (query, question, weight), of_run in answers.items()
    )
    flags = {
        query: np.array([question in sealed for question, _, _ in of_query])
        for query, of_query in answered_questions.items()
    }
    queries = [query for query, flag in flags.items() if flag.any() and not flag.all()]
    if len(runs) < 3 or len(queries) < 2:
        raise InputError(
            "too-few-to-compare",
            f"{len(runs)} systems and {len(queries)} queries with graded sealed questions"
            " cannot be compared.",
            "Use at least 3 systems and 2 queries, and grade the sealed questions.",
        )
    tested = sealed_test(
        [
            np.array([answered for _, _, answered in answered_questions[query]]).T
            for query in queries
        ],
        [np.array([weight for _, weight, _ in answered_questions[query]]) for query in queries],
        [flags[query] for query in queries],
    )
    columns = (
        tested.public,
        tested.sealed,
        tested.surplus,
        tested.adjusted,
        tested.adjusted <= SEALED_LEVEL,
    )
    systems = [SealedSystem(run, *(one[i].item() for one in columns)) for i, run in enumerate(runs)]
    return SealedCoverage(
        measure, len(queries), sorted(systems, key=lambda one: (-one.surplus, one.run))
    )
