"""The meta-evaluation table: agreement of evaluation methods with the official leaderboard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..bank import find_grader, label_graders, without_answered_by_topic
from ..choices import DEFAULT_MEASURE, META_COEFFICIENTS, META_MEASURES, META_MIN_RATINGS, Ties
from ..errors import InputError
from ..grouping import group_pairs
from ..labels import (
    DEFAULT_POLICY,
    Comparison,
    Leaderboard,
    Policy,
    Queries,
    QueryChoice,
    ScoresByMeasure,
    basis,
    board_without_lengths,
    compare_boards,
    judged_scores,
    label_pairs,
    label_qrels,
    label_scores,
    leaderboard,
    order_systems,
    pairs_needed,
)
from ..measures import Correlation, bootstrap_intervals, parse_measure
from ..records import (
    find_source,
    imported_leaderboards,
    judgment_sources,
    ranking_scores,
    source_judgments,
)
from ..store import Project, as_act


@dataclass(frozen=True)
class Row:
    """An evaluation method for systems.

    Args:
        source: `exam` for grades, or the name of a source of judgments or of an imported
            leaderboard.
        policy: its scoring settings. A label is relevant from `min_rating` on, a judgment from
            `min_judgment` on. The other settings matter only for grades.
    """

    source: str
    policy: Policy


@as_act("see boards")
def list_methods(project: Project) -> list[str]:
    """Return the possible methods: graders that have grades, sources of judgments, imported
    leaderboards.
    """
    grader_names = [grader.spec.name for grader in label_graders(project) if grader.grades]
    return list(
        dict.fromkeys(
            [
                *grader_names,
                *judgment_sources(project),
                *(name for name, _ in imported_leaderboards(project)),
            ]
        )
    )


@as_act("see boards")
def choose_rows(
    project: Project,
    names: Sequence[str] = (),
    min_ratings: Sequence[int] = META_MIN_RATINGS,
    label_rules: Sequence[str] = ("max",),
    bank_versions: Sequence[int | None] = (None,),
    policy: Policy = DEFAULT_POLICY,
) -> list[Row]:
    """Return the rows of a table: every named method by label rule, bank version and min rating.

    Args:
        names: graders (`exam` is the default grader), sources of judgments, imported leaderboards;
            empty for all.
        min_ratings: values from which a passage is relevant. Values beyond the scale of a method
            give a single row with the top of the scale.
        label_rules, bank_versions: used only for graders that ask questions.
        policy: the other settings of every row.

    Raises:
        InputError: a name, version, rule or min rating is unknown.
    """
    imported, judged = dict(imported_leaderboards(project)), judgment_sources(project)
    rows: list[Row] = []
    for name in names or list_methods(project):
        if name in imported:
            rows.append(Row(name, policy))
        elif name in judged:
            top = max(
                (
                    value
                    for values in source_judgments(project, name).values()
                    for value in values.values()
                ),
                default=1,
            )
            rows += [
                Row(name, replace(policy, min_judgment=max(1, min(t, top))))
                for t in _check_min_ratings(min_ratings)
            ]
        else:
            spec = find_grader(project, None if name == "exam" else name).spec
            direct = spec.method == "direct"
            for version in bank_versions[:1] if direct else bank_versions:
                for rule in ["max"] if direct else label_rules:
                    row = replace(policy, grader=spec.name, bank_version=version, label=rule)
                    basis(project, row)
                    rows += [
                        Row("exam", replace(row, min_rating=spec.min_rating(t)))
                        for t in _check_min_ratings(min_ratings)
                    ]
    return list(dict.fromkeys(rows))


def _check_min_ratings(min_ratings: Sequence[int]) -> list[int]:
    return [Policy(min_rating=level).min_rating for level in min_ratings]


def row_name(project: Project, row: Row) -> tuple[str, int | None]:
    """Return the name of a row's method, and its min rating, which is None for an imported
    leaderboard.

    Raises:
        InputError: the grader or version is unknown.
    """
    if row.source == "exam":
        base = basis(project, row.policy)
        parts = (
            (True, base.grader.spec.name),
            (row.policy.label != "max", f"label {row.policy.label}"),
            (row.policy.bank_version is not None, f"bank version {row.policy.bank_version}"),
        )
        return ", ".join(part for applies, part in parts if applies), base.min_rating
    return row.source, None if row.source in dict(
        imported_leaderboards(project)
    ) else row.policy.min_judgment


def row_boards(project: Project, row: Row, measures: Sequence[str]) -> dict[str, Leaderboard | str]:
    """Return, by measure, a row's leaderboard, or a sentence that says why it cannot be made.

    The leaderboards equal those of `labels.leaderboard` without lengths, but all measures of the
    same qrels are scored at once.

    Args:
        measures: standard names of measures.

    Raises:
        InputError: the grader, version or source is unknown.
    """
    imported = dict(imported_leaderboards(project))
    policy, exam = row.policy, row.source == "exam"
    if row.source in imported:
        return dict.fromkeys(
            measures, leaderboard(project, imported[row.source], row.source, policy)
        )
    if exam:
        base = basis(project, policy)
        if not label_pairs(project, base)[1]:
            return dict.fromkeys(measures, "No pooled passage has been graded yet.")
        queries = without_answered_by_topic(project, label_qrels(project, base))
    else:
        queries = list(source_judgments(project, row.source))
    boards_by_measure: dict[str, Leaderboard | str] = {}
    parsed = {measure: parse_measure(measure) for measure in measures}
    # The scores by measures that are not binary stay cached for all min ratings.
    batches = group_pairs(
        (measure.family.binary, name) for name, measure in parsed.items() if measure.takes_judgments
    )
    scores: ScoresByMeasure = {}
    for batch in batches.values():
        scores |= (
            label_scores(project, base, batch)
            if exam
            else judged_scores(project, row.source, batch, policy.min_judgment)
        )
    for measure, wanted in parsed.items():
        if measure in scores:
            systems = order_systems(scores[measure], queries, policy)
            pairs = pairs_needed(project, base, wanted) if exam else {}
            boards_by_measure[measure] = Leaderboard(
                measure, row.source, policy, systems, scores[measure], queries, **pairs
            )
        elif exam:
            # Lengths of texts take long, and no correlation needs them.
            boards_by_measure[measure] = board_without_lengths(
                project, measure, "exam", policy, with_ungraded=True
            )
        else:
            boards_by_measure[measure] = f"{measure} cannot be computed from judgments."
    return boards_by_measure


NEAR = 0.05
"""Values that differ from the best value by at most this count as equally good (exam-plus-plus,
section 5.1).
"""

POOR = 0.5
"""Coefficients below this count as poor (exam-plus-plus, table 3)."""

# Published coefficients and leaderboards are rounded: .95 and .90 are .05 apart, though not in
# binary.
_SLACK = 1e-9

Mark = Literal["best", "near", "plain", "poor", "undefined", "itself"]


@dataclass(frozen=True)
class Column:
    """A measure of the rows, and the official leaderboard to compare with.

    Args:
        measure: measure of the rows' leaderboards; imported leaderboards keep their own measure.
        against: the official leaderboard: a source of judgments or an imported leaderboard.
        against_measure: measure of the official leaderboard.
        title: unique title of the column.
    """

    measure: str
    against: str
    against_measure: str
    title: str


@dataclass(frozen=True)
class Cell:
    """The agreement of a row's leaderboard with the official leaderboard of a column.

    Args:
        measure: the measure of the row's leaderboard.
        correlation: the coefficients, or why they are undefined.
        itself: whether the row's leaderboard is the official one, or comes from the same judgments.
        marks: the standing of each coefficient within its column.
        intervals: 95 % interval over resampled queries by coefficient; None if undefined. Empty if
            not requested.
        queries: the queries over which the two leaderboards are compared; None if the row has no
            leaderboard.
    """

    measure: str
    correlation: Correlation
    itself: bool
    marks: dict[str, Mark]
    intervals: dict[str, tuple[float, float] | None]
    queries: Queries | None = None

    def value(self, coefficient: str) -> float | None:
        """Return one of `META_COEFFICIENTS`, from -1 to 1; None if undefined."""
        found: float | None = getattr(self.correlation, coefficient)
        return found


@dataclass(frozen=True)
class TableRow:
    """A row with its cells, one for each column of the table.

    Args:
        name: name of the method, without the min rating.
        min_rating: the value from which a passage is relevant; None for an imported leaderboard.
        needed, usable: number of pairs behind the labels, and of these with a rating; 0 if no
            grades are used.
    """

    row: Row
    name: str
    min_rating: int | None
    needed: int
    usable: int
    cells: tuple[Cell, ...]

    @property
    def queries(self) -> str:
        """The numbers of compared queries, such as `4 of 5 / 93`; several such texts if columns
        differ.
        """
        return "; ".join(
            dict.fromkeys(cell.queries.short for cell in self.cells if cell.queries is not None)
        )


@dataclass(frozen=True)
class MetaTable:
    """Rank correlations of evaluation methods with an official leaderboard (exam-plus-plus, table
    3).

    Args:
        ties: how ties were treated.
        samples: number of resamples of the queries for intervals; 0 without intervals.
        left_out: imported leaderboards that are not rows, because they share no system with an
            official leaderboard.
    """

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    ties: Ties
    samples: int
    left_out: tuple[str, ...] = ()

    def reasons(self) -> dict[str, list[str]]:
        """Return the undefined cells, as `row: column`, by the reason why they are undefined."""
        return group_pairs(
            (cell.correlation.undefined, f"{full_name(row)}: {column.title}")
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell.correlation.undefined
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the table as plain values, as `--json` prints it."""
        return {
            "ties": self.ties,
            "samples": self.samples,
            "left_out": list(self.left_out),
            "columns": [vars(column) for column in self.columns],
            "rows": [
                {
                    "name": row.name,
                    "source": row.row.source,
                    "min_rating": row.min_rating,
                    "policy": row.row.policy.as_dict(),
                    "pairs": {"needed": row.needed, "usable": row.usable},
                    "cells": [
                        {
                            **vars(cell.correlation),
                            "measure": cell.measure,
                            "marks": cell.marks,
                            "intervals": cell.intervals,
                            "queries": cell.queries and cell.queries.as_dict(),
                        }
                        for cell in row.cells
                    ],
                }
                for row in self.rows
            ],
        }


def full_name(row: TableRow) -> str:
    """Return the name of a row with its min rating, which is unique in the table."""
    return row.name if row.min_rating is None else f"{row.name}, min rating {row.min_rating}"


@as_act("see boards")
def meta_table(
    project: Project,
    rows: Sequence[Row],
    against: Sequence[str],
    measures: Sequence[str] = META_MEASURES,
    against_measure: str | None = None,
    official: Policy = DEFAULT_POLICY,
    ties: Ties = "average",
    repeats: int = 10,
    within_error: bool = False,
    samples: int = 0,
    seed: int = 0,
    queries: QueryChoice = "common",
    report: Callable[[MetaTable], None] = lambda table: None,
) -> MetaTable:
    """Correlate the leaderboard of every row under every measure with the official leaderboard.

    Args:
        rows: the rows, as `choose_rows` returns them.
        against: the official leaderboards, usually only one: sources of judgments or imported
            leaderboards.
        measures: measures of the rows' leaderboards.
        against_measure: the official measure of every column. None means the measure of the column,
            or nDCG@10 if judgments do not support it. An imported leaderboard has its own measure.
        official: settings of the official leaderboard from judgments: `min_judgment` and `skipped`.
        ties, repeats, seed: as in `correlate_scores`.
        within_error: whether systems with overlapping error bars are tied, too; only with `random`.
        samples: number of resamples of the queries for intervals; 0 for no intervals.
        queries: the queries over which each row is compared; see `labels.align_boards`.
        report: called after each computed row with a table of the rows so far.

    Returns:
        The table. In every column and coefficient, three kinds of values are marked: the best
        value, values within `NEAR` of it, and values below `POOR`. A row that is compared with
        itself is not marked.

    Raises:
        InputError: a measure or source is unknown, there is nothing to rank, or options are
            incompatible.
    """
    imported = dict(imported_leaderboards(project))
    if any(row.source not in imported for row in rows) and not ranking_scores(project):
        raise InputError("no-runs", "No runs to rank.", "Import runs: exam import runs FILE...")
    columns = _make_columns(project, rows, against, measures, against_measure, official)
    key = (
        "meta",
        tuple(rows),
        columns,
        official,
        ties,
        repeats,
        within_error,
        samples,
        seed,
        queries,
    )

    def compute() -> MetaTable:
        measures_needed = list(dict.fromkeys(column.measure for column in columns))
        boards_against = {
            name: row_boards(
                project,
                Row(name, official),
                [c.against_measure for c in columns if c.against == name],
            )
            for name in dict.fromkeys(column.against for column in columns)
        }
        drawn: list[TableRow] = []
        apart: list[TableRow] = []
        for row in rows:
            row_board = row_boards(project, row, measures_needed)
            cells = []
            for column in columns:
                board = row_board[column.measure]
                other = boards_against[column.against][column.against_measure]
                if isinstance(other, str):
                    raise InputError(
                        "measure-without-correlation", other, "Choose another official measure."
                    )
                cells.append(
                    _make_cell(
                        column.measure,
                        board,
                        other,
                        ties,
                        repeats,
                        within_error,
                        samples,
                        seed,
                        queries,
                    )
                )
            common = row.source not in imported or any(cell.correlation.systems for cell in cells)
            known = next(
                (board for board in row_board.values() if isinstance(board, Leaderboard)), None
            )
            pairs = (known.needed, known.usable) if known else (0, 0)
            (drawn if common else apart).append(
                TableRow(row, *row_name(project, row), *pairs, tuple(cells))
            )
            report(MetaTable(columns, tuple(_mark_rows(drawn or apart)), ties, samples))
        # If all rows were left out, they are shown, because their cells give the reasons.
        left_out = tuple(dict.fromkeys(row.name for row in apart)) if drawn else ()
        return MetaTable(columns, tuple(_mark_rows(drawn or apart)), ties, samples, left_out)

    return project.cached(key, compute)


@as_act("see boards")
def cell_comparison(
    project: Project,
    row: Row,
    column: Column,
    official: Policy = DEFAULT_POLICY,
    ties: Ties = "average",
    queries: QueryChoice = "common",
) -> Comparison:
    """Return the comparison of the two leaderboards behind a cell.

    Args:
        official, ties, queries: as in `meta_table`.

    Raises:
        InputError: the row or the column has no leaderboard.
    """
    board = row_boards(project, row, [column.measure])[column.measure]
    against = Row(column.against, official)
    other = row_boards(project, against, [column.against_measure])[column.against_measure]
    if isinstance(board, str) or isinstance(other, str):
        raise InputError(
            "measure-without-correlation", f"{board if isinstance(board, str) else other}"
        )
    return compare_boards(board, other, queries, ties)


def _make_columns(
    project: Project,
    rows: Sequence[Row],
    against: Sequence[str],
    measures: Sequence[str],
    against_measure: str | None,
    official: Policy,
) -> tuple[Column, ...]:
    imported = dict(imported_leaderboards(project))
    names = [parse_measure(measure, official.cutoff).name for measure in measures]
    fixed = against_measure and parse_measure(against_measure, official.cutoff).name
    only_imported = all(row.source in imported for row in rows)
    several = len(against) > 1
    columns = []
    officials = [find_source(project, each) for each in against]
    for name in officials:
        if only_imported and name in imported:
            # An imported leaderboard has one measure of its own, so it gets a single column.
            alike = [imported.get(each) for each in officials].count(imported[name]) > 1
            columns.append(
                Column(imported[name], name, imported[name], name if alike else imported[name])
            )
            continue
        for measure in names:
            own = measure if parse_measure(measure).takes_judgments else DEFAULT_MEASURE
            title = f"{measure} / {name}" if several else measure
            columns.append(Column(measure, name, imported.get(name, fixed or own), title))
    if not columns:
        raise InputError(
            "table-without-columns",
            "The table has no columns.",
            "Give a measure and an official leaderboard.",
        )
    return tuple(dict.fromkeys(columns))


def _make_cell(
    measure: str,
    board: Leaderboard | str,
    official: Leaderboard,
    ties: Ties,
    repeats: int,
    within_error: bool,
    samples: int,
    seed: int,
    queries: QueryChoice,
) -> Cell:
    if isinstance(board, str):
        return Cell(measure, Correlation(0, None, None, None, None, ties, board), False, {}, {})
    # Published files include the official ranks, so a leaderboard under another name may be the
    # same.
    itself = board.source == official.source or (
        board.source != "exam" and board.scores == official.scores
    )
    compared = compare_boards(board, official, queries, ties, repeats, seed, within_error)
    intervals: dict[str, tuple[float, float] | None] = {}
    if samples and not compared.correlation.undefined:
        fixed, skipped = (
            compared.official.per_query or compared.official.scores,
            official.policy.skipped,
        )
        intervals = bootstrap_intervals(
            compared.board.per_query,
            fixed,
            META_COEFFICIENTS,
            samples,
            seed,
            skipped,
            compared.board.reference_coverage,
        )
    return Cell(board.measure, compared.correlation, itself, {}, intervals, compared.queries)


def _mark_rows(rows: Sequence[TableRow]) -> Iterator[TableRow]:
    others = [(at, cell) for row in rows for at, cell in enumerate(row.cells) if not cell.itself]
    values = group_pairs(
        ((at, name), cell.value(name)) for at, cell in others for name in META_COEFFICIENTS
    )
    best = {
        key: max((value for value in of_column if value is not None), default=None)
        for key, of_column in values.items()
    }
    for row in rows:
        cells = [
            replace(
                cell,
                marks={
                    name: _mark_of_cell(cell, name, best.get((at, name)))
                    for name in META_COEFFICIENTS
                },
            )
            for at, cell in enumerate(row.cells)
        ]
        yield replace(row, cells=tuple(cells))


def _mark_of_cell(cell: Cell, name: str, best: float | None) -> Mark:
    value = cell.value(name)
    score, top = (-math.inf if number is None else number for number in (value, best))
    marks: tuple[tuple[bool, Mark], ...] = (
        (value is None, "undefined"),
        (cell.itself or best is None, "itself"),
        (score >= top - _SLACK, "best"),
        (score < POOR - _SLACK, "poor"),
        (score >= top - NEAR - _SLACK, "near"),
        (True, "plain"),
    )
    return next(mark for applies, mark in marks if applies)
