"""Comparison of a leaderboard under study with the official one: queries and agreement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ..choices import DEFAULT_MEASURE, Ties
from ..measures import (
    Correlation,
    bootstrap_intervals,
    bootstrap_samples,
    correlate_scores,
    parse_measure,
)
from ..records import find_source, imported_leaderboards
from ..store import Project, as_act
from ._coverage import normalise_coverage
from ._leaderboard import Leaderboard, order_systems, ungraded_sentence
from ._leaderboard_making import leaderboard
from ._policy import DEFAULT_POLICY, Policy

QueryChoice = Literal["common", "all", "own"]
"""The queries over which two leaderboards are averaged. `common`: the queries of both, except
queries with ungraded pairs. `all`: the queries of both, including these. `own`: each leaderboard
has its own queries."""


@dataclass(frozen=True)
class Queries:
    """The queries over which two leaderboards are compared.

    Args:
        over: `common` if both are averaged over the same queries; `own` if each has its own
            queries.
        board, official: number of queries of each leaderboard; None for an imported leaderboard
            without queries.
        common: number of common queries; None if the queries of a leaderboard are unknown.
        ungraded: the queries with ungraded pairs that the measure needs.
        left_out: whether both leaderboards exclude the queries in `ungraded`.
    """

    over: Literal["common", "own"]
    board: int | None
    official: int | None
    common: int | None
    ungraded: tuple[str, ...] = ()
    left_out: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, with the queries that have ungraded pairs if there
        are any.
        """
        counts = asdict(self)
        if not self.ungraded:
            del counts["ungraded"], counts["left_out"]
        return counts

    @property
    def swapped(self) -> Queries:
        """The same numbers if the other leaderboard is the official one."""
        return replace(self, board=self.official, official=self.board)

    @property
    def short(self) -> str:
        """The numbers for a table: `54` for equal queries, `4 of 5 / 93` if 4 are common, `5 / 93`
        for own queries.
        """
        own, other = (
            "?" if number is None else str(number) for number in (self.board, self.official)
        )
        if self.board is not None and self.board == self.official == self.common:
            return own
        return f"{self.common} of {own} / {other}" if self.over == "common" else f"{own} / {other}"

    @property
    def description(self) -> str:
        """The numbers as a sentence that also names the queries with ungraded pairs."""
        return " ".join(filter(None, (self._numbers, self.ungraded_note)))

    @property
    def ungraded_note(self) -> str:
        """A sentence that names the queries with ungraded pairs; empty without such queries."""
        return ungraded_sentence(self.ungraded, self.left_out)

    @property
    def _numbers(self) -> str:
        if self.common is None:
            numbers = " and ".join(
                "unknown" if n is None else f"{n:,}" for n in (self.board, self.official)
            )
            return f"Queries: {numbers}. Imported leaderboards do not list their queries."
        if self.board == self.official == self.common:
            return f"Queries: {self.common:,}, the same on both leaderboards."
        numbers = f"{self.board:,} and {self.official:,}"
        if self.over == "common":
            return f"Queries: {self.common:,} common (of {numbers})."
        return (
            f"Queries: {numbers} ({self.common:,} common). Each leaderboard uses its own queries."
        )


def align_boards(
    board: Leaderboard, official: Leaderboard, queries: QueryChoice = "common"
) -> tuple[Leaderboard, Leaderboard, Queries]:
    """Return both leaderboards averaged over the queries that they share.

    If they share no query, or the queries of either are unknown, each keeps its own queries.

    Args:
        queries: `common` excludes queries that wait for grades (`Leaderboard.pending`), `all`
            includes them, and `own` changes nothing.

    Returns:
        The leaderboard under study, the official leaderboard, and the queries over which they are
        now averaged.
    """
    ungraded = tuple(dict.fromkeys([*board.ungraded, *official.ungraded]))
    pending = board.pending | official.pending if queries == "common" else frozenset()
    board, official = (
        board_over(each, set(each.query_ids) - pending) if each.per_query else each
        for each in (board, official)
    )
    own, other = (len(each.query_ids) if each.per_query else None for each in (board, official))
    common = (
        None
        if own is None or other is None
        else set(board.query_ids).intersection(official.query_ids)
    )
    if not common or queries == "own":
        shared = None if common is None else len(common)
        return board, official, Queries("own", own, other, shared, ungraded, bool(pending))
    counted = Queries("common", own, other, len(common), ungraded, bool(pending))
    return board_over(board, common), board_over(official, common), counted


def board_over(board: Leaderboard, queries: Collection[str]) -> Leaderboard:
    """Return a leaderboard averaged over some of its queries.

    A normalised measure is still divided by its reference over all queries. All systems have this
    divisor, so it does not affect their order. If skipped queries are ignored, each system has its
    own divisor, which is then computed over these queries. The reference and the stars are left
    out, because they would change.

    Args:
        queries: ids of queries; ids that the leaderboard does not have are ignored.
    """
    kept_queries = [query for query in board.query_ids if query in queries]
    if len(kept_queries) == len(board.query_ids):
        return board
    scores = board.per_query
    if board.reference_coverage and board.policy.skipped == "ignore":
        reference = {query: board.reference_coverage[query] for query in kept_queries}
        normalised = normalise_coverage(board.coverage, reference, "ignore")
        scores = {run: normalised.get(run, {}) for run in board.per_query}
    chosen = set(kept_queries)
    per_query = {
        run: {query: score for query, score in by_query.items() if query in chosen}
        for run, by_query in scores.items()
    }
    return replace(
        board,
        systems=order_systems(per_query, kept_queries, board.policy),
        per_query=per_query,
        query_ids=kept_queries,
        reference=None,
        starred=frozenset(),
    )


@dataclass(frozen=True)
class Comparison:
    """Two compared leaderboards, and their rank correlation over the systems that both have."""

    board: Leaderboard
    official: Leaderboard
    queries: Queries
    correlation: Correlation

    def as_dict(self) -> dict[str, Any]:
        """Return the correlation as plain values, as `--json` prints it."""
        return {
            **vars(self.correlation),
            "measure": self.board.measure,
            "source": self.board.source,
            "against": self.official.source,
            "against_measure": self.official.measure,
            "queries": self.queries.as_dict(),
            "pairs": {"needed": self.board.needed, "usable": self.board.usable},
        }


def official_measure(measure: str, policy: Policy) -> str:
    """Return the default measure of the official leaderboard: `measure`, or nDCG@10 if judgments do
    not support it.
    """
    return measure if parse_measure(measure, policy.cutoff).takes_judgments else DEFAULT_MEASURE


@as_act("see boards")
def official_board(
    project: Project, against: str, measure: str, policy: Policy, against_measure: str | None = None
) -> Leaderboard:
    """Return the leaderboard to compare with.

    Args:
        against: a source of judgments (`judgments` for the first), or an imported leaderboard.
        measure: measure of the leaderboard under study.
        against_measure: measure of the official leaderboard; None means `official_measure`. An
            imported leaderboard keeps its own measure.

    Raises:
        InputError: the source is unknown, or does not have the measure.
    """
    source = find_source(project, against)
    imported = dict(imported_leaderboards(project))
    measure_name = (
        imported[source]
        if source in imported
        else against_measure or official_measure(measure, policy)
    )
    return leaderboard(project, measure_name, source, policy, with_ungraded=True)


@as_act("see boards")
def compare(
    project: Project,
    measure: str,
    against: str,
    source: str = "exam",
    against_measure: str | None = None,
    policy: Policy = DEFAULT_POLICY,
    ties: Ties = "average",
    within_error: bool = False,
    queries: QueryChoice = "common",
) -> Comparison:
    """Compute two leaderboards and correlate them.

    Args:
        measure: the measure of the leaderboard under study.
        against: the official leaderboard: a source of judgments or an imported leaderboard.
        source: the source of the leaderboard under study: `exam`, judgments or an imported
            leaderboard.
        against_measure: the measure of the official leaderboard; None means `official_measure`.
        ties: `average` ranks, or `random` tie breaking.
        within_error: whether systems whose error bars overlap are tied too; with `random` only.
        queries: see `align_boards`.

    Raises:
        InputError: a leaderboard cannot be made.
    """
    find_source(project, against)
    made = leaderboard(project, measure, source, policy, with_ungraded=True)
    official = official_board(project, against, measure, policy, against_measure)
    return compare_boards(made, official, queries, ties, within_error=within_error)


def compare_boards(
    board: Leaderboard,
    official: Leaderboard,
    queries: QueryChoice = "common",
    ties: Ties = "average",
    repeats: int = 10,
    seed: int = 0,
    within_error: bool = False,
) -> Comparison:
    """Correlate two leaderboards over their queries; see `compare`, `align_boards` and
    `correlate_scores` for the arguments.
    """
    board, official, compared = align_boards(board, official, queries)
    undefined = board.too_few or official.too_few
    if compared.left_out and not (compared.board and compared.common != 0):
        undefined = undefined or "Every common query has ungraded pairs."
    if undefined:
        common = len(board.scores.keys() & official.scores)
        return Comparison(
            board, official, compared, Correlation(common, None, None, None, None, ties, undefined)
        )
    correlation = correlate_scores(
        board.scores,
        official.scores,
        ties,
        repeats,
        seed,
        board.std_errors if within_error else None,
        official.std_errors if within_error else None,
    )
    return Comparison(board, official, compared, correlation)


def kendall_interval(compared: Comparison) -> tuple[float, float] | None:
    """Return the 95 % interval of Kendall's tau-b over resampled queries; None if it cannot be
    computed.
    """
    board, official = compared.board, compared.official
    if compared.correlation.undefined or not board.per_query:
        return None
    return bootstrap_intervals(
        board.per_query,
        official.per_query or official.scores,
        ("kendall",),
        skipped=board.policy.skipped,
        reference=board.reference_coverage,
    )["kendall"]


@dataclass(frozen=True)
class CorrelationShift:
    """The effect of a change on the correlation with the official leaderboard.

    Args:
        before, after: Spearman's rank correlation; None if undefined.
        low, high: 95 % interval of the shift over resampled queries; None if it cannot be computed.
        says: the result as a sentence.
        queries: the queries over which the leaderboard after the change and the official
            leaderboard are compared.
    """

    before: float | None
    after: float | None
    low: float | None
    high: float | None
    says: str
    queries: Queries


def correlation_shift(
    before: Leaderboard,
    after: Leaderboard,
    official: Leaderboard,
    samples: int = 1000,
    queries: QueryChoice = "common",
) -> CorrelationShift:
    """Return the shift in rank correlation with the official leaderboard, and whether it is within
    noise.

    Both leaderboards are averaged over the same resamples of the queries (paired bootstrap), so the
    interval is for the difference.

    Args:
        samples: number of resamples.
        queries: see `align_boards`. The two leaderboards may share different queries with the
            official leaderboard, because an edit can add or remove a query.
    """
    # A query that is left out of one leaderboard is left out of both.
    ungraded = {**before.ungraded, **after.ungraded}
    before, after = (replace(board, ungraded=ungraded) for board in (before, after))
    compared = [compare_boards(board, official, queries) for board in (before, after)]
    if len({each.queries.over for each in compared}) > 1:
        # One of the two shares no query with the official leaderboard, so each is compared over its
        # own queries.
        compared = [compare_boards(board, official, "own") for board in (before, after)]
    then, now = (each.correlation for each in compared)

    def make_shift(low: float | None, high: float | None, says: str) -> CorrelationShift:
        return CorrelationShift(then.spearman, now.spearman, low, high, says, compared[1].queries)

    if then.spearman is None or now.spearman is None:
        return make_shift(None, None, (now.undefined or then.undefined) or "")
    if compared[0].board.per_query == compared[1].board.per_query:
        return make_shift(0.0, 0.0, "The leaderboards are the same.")
    among = {
        query for each in compared for scores in each.board.per_query.values() for query in scores
    }
    skipped = before.policy.skipped
    drawn = [
        bootstrap_samples(
            each.board.per_query,
            each.official.per_query or each.official.scores,
            ("spearman",),
            samples,
            skipped=skipped,
            among=among,
            reference=each.board.reference_coverage,
        )
        for each in compared
    ]
    shifts = drawn[1]["spearman"] - drawn[0]["spearman"]
    shifts = shifts[~np.isnan(shifts)]
    if not len(shifts):
        return make_shift(None, None, "Too few queries for an interval.")
    low, high = (float(value) for value in np.quantile(shifts, (0.025, 0.975)))
    if low == high == 0:
        says = (
            "Scores change, but the order of the systems does not (in any resample of the queries)."
        )
    elif low <= 0 <= high:
        says = "The change of the correlation is within noise (resampled queries)."
    else:
        says = (
            f"The correlation {'rises' if low > 0 else 'falls'} in nearly all"
            " resamples of the queries."
        )
    return make_shift(low, high, says)
