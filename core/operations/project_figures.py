"""Figures of a project by name, for notebooks and for printed files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from .. import audit, charts, exams, labels, study
from ..errors import InputError, unknown_name
from ..labels import Policy
from ..measures import item_response
from ..store import Project

NOTE_LENGTH = 80
LINES = 5
"""Systems of the coverage curves, unless some are named."""


@dataclass(frozen=True)
class FigureRequest:
    """The choices of a figure; each figure needs only some of them.

    Args:
        measures: for a figure with a single measure, the first.
        source: of the leaderboard: `exam`, or a source of judgments.
        against: the official leaderboard.
        runs: the systems to draw; empty for the best.
        exam: id of its query; None for all items.
        by: `bloom`, `question type` or `topic`: categories of items with a curve each.
        audit: its name; None for the newest that has not ended.
    """

    measures: tuple[str, ...] = (labels.DEFAULT_MEASURE,)
    source: str = "exam"
    policy: Policy = field(default_factory=Policy)
    against: str = "judgments"
    runs: tuple[str, ...] = ()
    exam: str | None = None
    by: str | None = None
    audit: str | None = None


def draw_figure(project: Project, name: str, wanted: FigureRequest) -> charts.Chart:
    """Return the figure of a name in `FIGURES`.

    Raises:
        InputError: the figure is unknown, or the project lacks its data.
    """
    if name not in FIGURES:
        raise unknown_name("unknown-figure", "figure", name, FIGURES)
    if (chart := FIGURES[name](project, wanted)) is None:
        raise InputError("empty-figure", f"No data for the figure '{name}'.", "See the contents: exam status")
    return chart


def _boards(project: Project, wanted: FigureRequest) -> dict[str, labels.Leaderboard]:
    """Return the leaderboards of the wanted measures by title."""
    made = [labels.leaderboard(project, one, wanted.source, wanted.policy) for one in wanted.measures]
    return {_title(board): board for board in made}


def _title(board: labels.Leaderboard) -> str:
    return f"{'Exam' if board.source == 'exam' else board.source} {board.measure}"


def _noted(chart: charts.Chart, notes: Iterable[str]) -> charts.Chart:
    """Return a chart with sentences above it about data that it does not show."""
    told = [line for note in notes for line in textwrap.wrap(note, NOTE_LENGTH)]
    return chart.properties(title=alt.Title("", subtitle=told)) if told else chart


def _leaderboard(project: Project, wanted: FigureRequest) -> charts.Chart:
    board = next(iter(_boards(project, wanted).values()))
    groups = study.alike(board, study.remembered_pairs(project, board, "t")).groups
    return _noted(charts.leaderboard_chart(board, groups), [board.says_ungraded])


def _leaderboards(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    official = labels.official_board(project, wanted.against, wanted.measures[0], wanted.policy)
    found = study.panel(official, _boards(project, wanted), _title(official))
    return _noted(charts.panel_chart(found), found.left_out.values()) if found.marks else None


def _scatter(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    found = _compared(project, wanted)
    points, _ = study.system_points(found.official, found.board)
    titles = (_title(found.official), _title(found.board))
    return charts.system_scatter(points, *titles, size=charts.PRINTED_CLOUD) if points else None


def _slope(project: Project, wanted: FigureRequest) -> charts.Chart:
    found = _compared(project, wanted)
    return charts.slope_chart(found.official, found.board, titles=(_title(found.official), _title(found.board)))


def _compared(project: Project, wanted: FigureRequest) -> labels.Comparison:
    return labels.compare(project, wanted.measures[0], wanted.against, wanted.source, policy=wanted.policy)


def _significance(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    board = next(iter(_boards(project, wanted).values()))
    rows = study.remembered_pairs(project, board, "t")
    return charts.difference_matrix(rows, list(board.scores)) if rows else None


def _queries(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    board = next(iter(_boards(project, wanted).values()))
    first, second = (*wanted.runs, *(run for run in board.scores if run not in wanted.runs), "", "")[:2]
    found = study.query_points(project, board, first, board, second)
    return charts.query_scatter(found, first, second, alike=True) if found.points else None


def _coverage(project: Project, wanted: FigureRequest) -> charts.Chart:
    found = labels.cover_curves(project, wanted.policy, labels.DEFAULT_MAX_K, wanted.runs or None)
    order = found.order(wanted.policy.cutoff)
    return charts.coverage_chart(found, order if wanted.runs else order[:LINES])


def _examinees(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    rows = exams.exam_board(exams.responses(project, query_id=wanted.exam))
    known = exams.statistics(exams.exam_items(project, wanted.exam))
    return charts.accuracy_chart(rows, known.baselines) if rows else None


def _topics(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    found = exams.responses(project, query_id=wanted.exam)
    order = [row.student.name for row in exams.exam_board(found)]
    return charts.topic_chart(rows, order) if (rows := exams.by_topic(found)) else None


def _of_items(title: str, values: Callable[..., Any]) -> Callable[[Project, FigureRequest], charts.Chart]:
    def draw(project: Project, wanted: FigureRequest) -> charts.Chart:
        told = exams.abilities(project, wanted.exam)
        curves = values(item_response.GRID, told.fit.items).T.tolist()
        names = [row.item for row in told.items]
        return charts.ability_curves(dict(zip(names, curves, strict=True)), told.fit.theta.tolist(), title)

    return draw


def _information(project: Project, wanted: FigureRequest) -> charts.Chart:
    told = exams.abilities(project, wanted.exam)
    kinds = exams.item_kinds(project, exams.exam_items(project, wanted.exam))
    curves, _ = charts.information_curves(told, kinds[wanted.by] if wanted.by else {})
    return charts.ability_curves(curves, told.fit.theta.tolist())


def _shortening(project: Project, wanted: FigureRequest) -> charts.Chart:
    steps = exams.shorter(project, wanted.exam).steps
    return charts.ability_curves({f"{step.items} items": step.curve.tolist() for step in steps})


def _audit(project: Project, wanted: FigureRequest) -> charts.Chart:
    found = audit.find_audit(project, wanted.audit)
    return charts.forecast_chart(audit.forecast(project, found), found.goal)


FIGURES: dict[str, Callable[[Project, FigureRequest], charts.Chart | None]] = {
    "leaderboard": _leaderboard,
    "leaderboards": _leaderboards,
    "scatter": _scatter,
    "slope": _slope,
    "significance": _significance,
    "queries": _queries,
    "coverage": _coverage,
    "examinees": _examinees,
    "topics": _topics,
    "characteristic-curves": _of_items("Probability of a right answer", item_response.probability),
    "item-information": _of_items("Information", item_response.information),
    "information": _information,
    "shortening": _shortening,
    "audit": _audit,
}
"""The function that draws each figure, by name; None without data."""
