"""Agreement of two sources of values for the same things: cross tables, Cohen's kappa,
Krippendorff's alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Weights = Literal["linear", "quadratic"]

Members: TypeAlias = tuple[tuple[int, ...], ...]
"""For each row or column of a table, the values that were merged into it."""

EMPTY = "no pair has both values"
SAME = "both sides have one and the same value"


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement: 1 is perfect, 0 is chance level, below 0 is worse than chance.

    Args:
        value: None if and only if it is undefined.
        undefined: why it is undefined, as a sentence without a full stop; None if it is defined.
    """

    value: float | None
    undefined: str | None = None


@dataclass(frozen=True, eq=False)
class CrossTable:
    """How often each value of one side occurs with each value of the other.

    Args:
        rows, columns: the values of the left and the right side, each once.
        counts: whole numbers, rows x columns.
        row_members, column_members: the original values of each row or column; several if values
            were merged.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    counts: NDArray[np.int64]
    row_members: Members
    column_members: Members

    @property
    def row_names(self) -> tuple[str, ...]:
        """The name of each row: its value, or 4–5 or ≤0 for merged values."""
        return _group_names(self.row_members)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The name of each column, in the form of `row_names`."""
        return _group_names(self.column_members)

    @property
    def row_totals(self) -> list[int]:
        """The sum of each row."""
        return [int(total) for total in self.counts.sum(axis=1)]

    @property
    def n(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    @property
    def agreeing(self) -> NDArray[np.bool_]:
        """Cells that count as agreement, rows x columns; see `match_scales`."""
        matches = match_scales(self.rows, self.columns)
        cells = [column in matches[row] for row in self.rows for column in self.columns]
        return np.array(cells, dtype=bool).reshape(self.counts.shape)


def _group_names(members: Members) -> tuple[str, ...]:
    scale = sorted(value for group in members for value in group)
    return tuple(_group_name(sorted(group), scale) for group in members)


def _group_name(group: list[int], scale: list[int]) -> str:
    if len(group) < 2:
        return str(group[0]) if group else "none"
    start = scale.index(group[0])
    if scale[start : start + len(group)] != group:
        return ", ".join(map(str, group))
    return f"≤{group[-1]}" if start == 0 and group[0] < 0 else f"{group[0]}–{group[-1]}"


def cross_table(
    left: ArrayLike, right: ArrayLike, rows: Sequence[int], columns: Sequence[int]
) -> CrossTable:
    """Count how often each value of one side occurs with each value of the other.

    Args:
        left, right: whole numbers, one per rated thing, in the same order.
        rows, columns: the possible values of each side, in the order of the table.
    """
    shape = (len(rows), len(columns))
    cells = _find_places(left, rows) * len(columns) + _find_places(right, columns)
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    members: list[Members] = [tuple((value,) for value in values) for values in (rows, columns)]
    return CrossTable(tuple(rows), tuple(columns), counts, *members)


def _find_places(values: ArrayLike, scale: Sequence[int]) -> NDArray[np.int64]:
    distinct, where = np.unique(np.asarray(values, dtype=np.int64), return_inverse=True)
    return np.array([scale.index(value) for value in distinct], dtype=np.int64)[where]


def merge_values(
    table: CrossTable, row_groups: Sequence[Sequence[int]], column_groups: Sequence[Sequence[int]]
) -> CrossTable:
    """Merge values into groups.

    Args:
        row_groups, column_groups: the groups of values, best first, in equal numbers. Groups at the
            same position correspond. Every value of the table is in exactly one group.

    Returns:
        A table whose values are the numbers of the groups; the last group is 0.
    """
    of_rows, of_columns = (
        np.array(
            [[value in group for value in values] for group in groups], dtype=np.int64
        ).reshape(len(groups), len(values))
        for groups, values in ((row_groups, table.rows), (column_groups, table.columns))
    )
    ranks = tuple(range(len(row_groups) - 1, -1, -1))
    members: list[Members] = [
        tuple(tuple(group) for group in groups) for groups in (row_groups, column_groups)
    ]
    return CrossTable(ranks, ranks, of_rows @ table.counts @ of_columns.T, *members)


def split_at_threshold(
    values: Sequence[int], threshold: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two groups for `merge_values`: the values from a threshold upwards, and the values
    below it.
    """
    return tuple(v for v in values if v >= threshold), tuple(v for v in values if v < threshold)


def cohen_kappa(table: CrossTable) -> Coefficient:
    """Return Cohen's kappa: the agreement of exact values, corrected for agreement by chance.

    Every occurrence of a value that only one side has is a disagreement.

    Source: Cohen, A coefficient of agreement for nominal scales, 1960; exam-plus-plus, table 4.
    """
    counts, _ = _square_counts(table)
    n = table.n
    if not n:
        return Coefficient(None, EMPTY)
    same = int(np.trace(counts))
    chance = int(counts.sum(axis=1) @ counts.sum(axis=0))
    if chance == n * n:
        return Coefficient(None, SAME)
    return Coefficient((n * same - chance) / (n * n - chance))


def weighted_kappa(table: CrossTable, weights: Weights = "quadratic") -> Coefficient:
    """Return Cohen's kappa with disagreements weighted by the distance of the two values, or its
    square.

    Distances are between the values themselves, so they do not depend on which values occur.

    Source: Cohen, Weighted kappa, 1968.
    """
    counts, values = _square_counts(table)
    if not table.n:
        return Coefficient(None, EMPTY)
    distance = np.abs(values[:, None] - values[None, :]).astype(float)
    if weights == "quadratic":
        distance = distance**2
    chance = float((distance * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum())
    if chance == 0:
        return Coefficient(None, SAME)
    return Coefficient(1.0 - table.n * float((distance * counts).sum()) / chance)


def _square_counts(table: CrossTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the table over the union of both sides' values, and these values, ascending."""
    values = np.array(sorted({*table.rows, *table.columns}), dtype=np.int64)
    counts = np.zeros((len(values), len(values)), dtype=np.int64)
    counts[np.ix_(np.searchsorted(values, table.rows), np.searchsorted(values, table.columns))] = (
        table.counts
    )
    return counts, values


def match_scales(rows: Sequence[int], columns: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the values of the right side that correspond to each value of the left.

    All values up to 0 correspond to each other. If both scales have the same top, every value above
    0 corresponds to itself. Otherwise the longer scale is fitted to the shorter scale, as RUBRIC's
    program fits ratings to judgments:
    - Values from 4/5 of the top of the longer scale correspond to the top of the shorter scale.
    - Other values above 0 correspond to the value one below the top of the shorter scale.

    For example, let ratings be 0 to 5 and judgments 0 to 3. Ratings 5 and 4 match judgment 3,
    ratings 3 to 1 match judgment 2, and 0 matches 0. No rating matches judgment 1. With judgments 0
    and 1, this is the split of exam-plus-plus, table 4.

    Returns:
        The values of `columns` for each value of `rows`; possibly none.
    """
    if max(columns, default=0) > max(rows, default=0):
        fitted = {value: _find_counterparts(value, columns, rows) for value in columns}
        return {row: tuple(column for column in columns if row in fitted[column]) for row in rows}
    return {row: _find_counterparts(row, rows, columns) for row in rows}


def _find_counterparts(value: int, scale: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    top, other_top = max(scale), max(other, default=0)
    if value > 0 and other_top <= 0:
        return ()
    if top == other_top:
        target = value
    else:
        target = 0 if value <= 0 else other_top if 5 * value >= 4 * top else other_top - 1
    return tuple(v for v in other if (v <= 0 if target <= 0 else v == target))


def per_level(table: CrossTable) -> dict[int, Coefficient]:
    """Return Cohen's kappa of each value of the rows against all other values.

    For each value, both sides become binary. On the left, "yes" is the value. On the right, "yes"
    is any corresponding value (`match_scales`).

    Returns:
        Kappa by value of the rows; undefined if the value never occurs or has no corresponding
        value.

    Source: the definition that reproduces the agreement tables of RUBRIC's program.
    """
    matches = match_scales(table.rows, table.columns)
    kappas = {}
    for value, total in zip(table.rows, table.row_totals, strict=True):
        if not total:
            kappas[value] = Coefficient(None, "the value never occurs")
        elif not matches[value]:
            kappas[value] = Coefficient(None, "no value of the other side corresponds to it")
        else:
            others = [row for row in table.rows if row != value]
            no = [column for column in table.columns if column not in matches[value]]
            binary = merge_values(table, [[value], others], [matches[value], no])
            kappas[value] = cohen_kappa(binary)
    return kappas


def krippendorff_alpha(values: NDArray[np.floating[Any]]) -> Coefficient:
    """Return Krippendorff's ordinal alpha of any number of raters; values can be missing.

    The distance of two values is the number of ratings between them.

    Args:
        values: things x raters; NaN if a rater did not rate. Things with fewer than two values do
            not count.

    Source: Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    categories = np.unique(values[~np.isnan(values)])
    counts = (
        np.stack([(values == c).sum(axis=1) for c in categories], axis=1)
        if len(categories)
        else np.zeros((0, 0))
    )
    raters = counts.sum(axis=1)
    counts, raters = counts[raters > 1].astype(float), raters[raters > 1]
    if not len(counts):
        return Coefficient(None, EMPTY)
    shared = counts / (raters - 1)[:, None]
    coincidences = shared.T @ counts - np.diag(shared.sum(axis=0))
    totals = counts.sum(axis=0)
    at = np.cumsum(totals) - totals / 2
    distance = (at[:, None] - at[None, :]) ** 2
    chance = float((np.outer(totals, totals) * distance).sum())
    if chance == 0:
        return Coefficient(None, SAME)
    return Coefficient(
        1.0 - float(totals.sum() - 1) * float((coincidences * distance).sum()) / chance
    )


def alpha_of(table: CrossTable) -> Coefficient:
    """Return Krippendorff's ordinal alpha of the two sides of a table."""
    pairs = np.array([(row, column) for row in table.rows for column in table.columns], dtype=float)
    return krippendorff_alpha(np.repeat(pairs.reshape(-1, 2), table.counts.ravel(), axis=0))
