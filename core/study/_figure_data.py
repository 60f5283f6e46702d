"""Leaderboards for figures, and for the choice of a system by several evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..bank import label_graders
from ..choices import Ties
from ..errors import InputError, check_known
from ..labels import Comparison, Leaderboard, Policy, QueryChoice, compare_boards, leaderboard
from ..measures import (
    COVER,
    EvaluationChoices,
    Table,
    compare_evaluations,
    parse_measure,
    separable_differences,
)
from ..records import imported_leaderboards, judgment_sources, official_sources
from ..store import Project, as_act
from ..text import how_many

PANEL_MEASURES = ("AP", "nDCG@10", "nDCG@20", "Rprec", "RR", COVER)
"""Measures that figures offer in addition to the selected one: those of the papers' tables."""


@dataclass(frozen=True)
class BoardChoice:
    """A leaderboard to draw.

    Args:
        measure: the measure, as for `leaderboard`.
        source: `exam`, a source of judgments, or an imported leaderboard.
        grader: for `exam`, the name of the grader; None for the policy's grader.
        min_rating: for `exam`, the min rating; None for the policy's min rating.
    """

    measure: str
    source: str = "exam"
    grader: str | None = None
    min_rating: int | None = None


@as_act("see boards")
def offered_boards(
    project: Project, measures: Sequence[str] = PANEL_MEASURES
) -> dict[str, BoardChoice]:
    """Return every leaderboard that a figure can show, by its name for people.

    A grader with grades has a leaderboard for each measure, and for each min rating if the measure
    depends on it. A source of judgments has a leaderboard for each measure. Imported leaderboards
    are included.

    Args:
        measures: the measures to offer, each once.

    Raises:
        InputError: a measure is unknown.
    """
    highest_ratings = {
        stored.spec.name: stored.spec.max_rating
        for stored in label_graders(project)
        if stored.grades
    }
    choices: dict[str, BoardChoice] = {}
    for grader, top in highest_ratings.items():
        # With a single grader its name adds nothing.
        by = f" · {grader}" if len(highest_ratings) > 1 else ""
        for measure in measures:
            parsed = parse_measure(measure)
            if not parsed.takes_grades:
                continue
            prefix = "EXAM " if parsed.ranks_passages else ""
            for level in range(1, top + 1) if parsed.takes_min_rating else (None,):
                from_level = "" if level is None else f" ≥ {level}"
                name = f"{prefix}{measure}{from_level}{by}"
                choices[name] = BoardChoice(measure, "exam", grader, level)
    choices |= {
        measure: BoardChoice(measure)
        for measure in measures
        if not parse_measure(measure).takes_grades
    }
    choices |= {
        f"{source} {measure}": BoardChoice(measure, source)
        for source in judgment_sources(project)
        for measure in measures
        if parse_measure(measure).takes_judgments
    }
    return choices | {
        f"{name} ({measure})": BoardChoice(measure, name)
        for name, measure in imported_leaderboards(project)
    }


def board_name(offered: Mapping[str, BoardChoice], board_choice: BoardChoice) -> str | None:
    """Return the name of a leaderboard among those offered; None if it is not offered.

    Args:
        board_choice: the leaderboard. Its grader and min rating are compared only if the measure
            needs them.
    """
    measure = parse_measure(board_choice.measure)
    if board_choice.source == "exam" and not measure.takes_grades:
        board_choice = replace(board_choice, grader=None)
    if board_choice.source == "exam" and not measure.takes_min_rating:
        board_choice = replace(board_choice, min_rating=None)
    return next((name for name, choice in offered.items() if choice == board_choice), None)


@as_act("see boards")
def make_board(project: Project, choice: BoardChoice, policy: Policy) -> Leaderboard:
    """Return the leaderboard of a choice.

    Args:
        policy: settings that the choice leaves open.

    Raises:
        InputError: the leaderboard cannot be made.
    """
    if choice.source == "exam":
        policy = replace(
            policy,
            grader=choice.grader or policy.grader,
            min_rating=choice.min_rating or policy.min_rating,
        )
    return leaderboard(project, choice.measure, choice.source, policy)


@dataclass(frozen=True)
class PanelMark:
    """A system on a leaderboard of a panel.

    Args:
        place: position of the system on the axis, from 1.
        score, std_error: score and standard error on the leaderboard; the error is None if unknown.
        scaled: the score rescaled linearly, so that the leaderboard's lowest score is 0 and its
            highest is 1.
        low, high: ends of the error bar on the same scale; equal to `scaled` if the error is
            unknown.
    """

    board: str
    run: str
    place: int
    score: float
    std_error: float | None
    scaled: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """Several leaderboards on one scale.

    Args:
        order: the systems along the axis, best on the reference leaderboard first.
        marks: the marks, ordered by leaderboard and then by position on the axis.
        left_out: by leaderboard, a sentence that says why it is not drawn, or drawn only in part.
    """

    order: list[str]
    marks: list[PanelMark]
    left_out: dict[str, str]


def make_board_panel(reference: Leaderboard, others: Mapping[str, Leaderboard], name: str) -> Panel:
    """Return leaderboards on one scale for comparison, with systems in the order of the reference
    leaderboard.

    Each leaderboard is rescaled linearly, with its error bars, so that the highest score on the
    axis is 1 and the lowest is 0. Source: exam-plus-plus, figure 2.

    Args:
        reference: the leaderboard that determines the order, and is drawn first.
        others: further leaderboards by name.
        name: name of the reference leaderboard.
    """
    order = [system.run for system in reference.systems]
    place = {run: i for i, run in enumerate(order, 1)}
    marks: list[PanelMark] = []
    left_out: dict[str, str] = {}
    for title, board in {name: reference, **others}.items():
        drawn = sorted(
            (s for s in board.systems if s.run in place), key=lambda system: place[system.run]
        )
        scores = [system.score for system in drawn]
        low, span = (min(scores), max(scores) - min(scores)) if scores else (0.0, 0.0)
        if span == 0:
            left_out[title] = (
                f"Not drawn: all {how_many(len(scores), 'systems')} have the same score."
                if scores
                else f"Not drawn: no system in common with {name}."
            )
            continue
        if len(drawn) < len(board.systems):
            left_out[title] = (
                f"{how_many(len(board.systems) - len(drawn), 'systems')} not drawn: not on {name}."
            )
        elif len(drawn) < len(order):
            left_out[title] = (
                f"{len(order) - len(drawn)} of the {how_many(len(order), 'systems')} are missing."
            )
        for system in drawn:
            error = system.std_error or 0.0
            ends = [(system.score + move - low) / span for move in (0.0, -error, error)]
            marks.append(
                PanelMark(
                    title,
                    system.run,
                    place[system.run],
                    system.score,
                    system.std_error,
                    ends[0],
                    *ends[1:],
                )
            )
    return Panel(order, marks, left_out)


@dataclass(frozen=True)
class SystemPoint:
    """A system on two leaderboards: score, standard error (None if unknown) and rank on each."""

    run: str
    x: float
    x_error: float | None
    x_rank: int
    y: float
    y_error: float | None
    y_rank: int


def system_points(
    x: Leaderboard, y: Leaderboard, ties: Ties = "average", queries: QueryChoice = "common"
) -> tuple[list[SystemPoint], Comparison]:
    """Return the systems that two leaderboards share, in the order of `x`, and the agreement of the
    leaderboards.

    Args:
        x: the reference.
        y: the leaderboard under study.
        ties: how the correlation treats ties.
        queries: the queries over which both are averaged; see `labels.align_boards`.
    """
    comparison = compare_boards(y, x, queries, ties)
    y, x = comparison.board, comparison.official
    studied = {system.run: system for system in y.systems}
    points = [
        SystemPoint(s.run, s.score, s.std_error, s.rank, o.score, o.std_error, o.rank)
        for s in x.systems
        if (o := studied.get(s.run)) is not None
    ]
    return points, comparison


def outstanding_systems(points: Sequence[SystemPoint], most: int) -> list[str]:
    """Return the systems whose ranks on the two leaderboards differ most, largest difference first.
    Systems with equal ranks are excluded.

    Args:
        most: maximum number of systems.
    """
    moved = [point for point in points if point.x_rank != point.y_rank]
    moved.sort(key=lambda point: -abs(point.x_rank - point.y_rank))
    return [point.run for point in moved[:most]]


Better = Literal["first", "second", "equal"]


@dataclass(frozen=True)
class QueryPoint:
    """The scores of two systems, or of one system on two leaderboards, on one query.

    Args:
        x, y: the scores. A query that a system skipped scores 0 or is left out, as the policy
            states.
        skipped: names of the systems that skipped it.
        better: the side with the higher score.
    """

    query_id: str
    text: str
    x: float
    y: float
    skipped: tuple[str, ...]
    better: Better


@dataclass(frozen=True)
class QueryPoints:
    """The queries of a scatter plot.

    Args:
        points: one per query, in the order of the project.
        left_out: number of queries that only one side has.
        means: (mean of x, mean of y) over the points; None without points.
    """

    points: list[QueryPoint]
    left_out: int
    means: tuple[float, float] | None

    def count(self, better: Better) -> int:
        """Return the number of queries on which this side (the first, the second, or neither) has
        the higher score.
        """
        return sum(point.better == better for point in self.points)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean difference, which contains 0 if and only if a
        paired t test finds no difference; NaN if the test is undefined.
        """
        differences = np.array([[point.x - point.y] for point in self.points])
        return float(separable_differences(differences)[0])


@as_act("see boards")
def query_points(
    project: Project, x: Leaderboard, x_run: str, y: Leaderboard, y_run: str
) -> QueryPoints:
    """Return the scores by query of two systems, or of one system on two leaderboards.

    Only queries that both leaderboards average over are compared. A query that a system skipped
    scores 0 or is left out, as the policy of its leaderboard states.

    Args:
        x, x_run: the first leaderboard, and the system on it.
        y, y_run: the second leaderboard, and the system on it.

    Raises:
        InputError: a leaderboard has no scores by query, or does not have the system.
    """
    sides = ((x, x_run), (y, y_run))
    for board, run in sides:
        if not board.per_query:
            raise InputError(
                "no-scores-by-query",
                f"The imported leaderboard {board.source} has no scores per query.",
                "Choose a leaderboard from grades or judgments.",
            )
        check_known("unknown-system", "system", board.per_query, run)
    queries = {query for board in (x, y) for query in board.query_ids}
    texts = dict(project.rows("SELECT query_id, text FROM queries ORDER BY query_key"))
    x_scores, y_scores = (score_table(board)[run] for board, run in sides)
    points = []
    for query, text in texts.items():
        first, second = x_scores.get(query), y_scores.get(query)
        if first is None or second is None:
            continue
        skipped = tuple(
            dict.fromkeys(run for board, run in sides if query not in board.per_query[run])
        )
        better: Better = "first" if first > second else "second" if second > first else "equal"
        points.append(QueryPoint(query, text, first, second, skipped, better))
    n = len(points)
    means = (sum(p.x for p in points) / n, sum(p.y for p in points) / n) if n else None
    return QueryPoints(points, len(queries) - n, means)


BESIDE = 3
"""Default number of leaderboards to compare."""
JUDGED = "nDCG@10"
"""The measure for judgments of passages, by people and by a direct grader."""


@dataclass(frozen=True)
class ComparedChoices:
    """The choices of several evaluations.

    Args:
        found: the choices.
        left_out: by name of a leaderboard that is left out, why it cannot be made or has no scores
            by query.
    """

    found: EvaluationChoices
    left_out: dict[str, InputError]


def boards_to_choose_by(project: Project, k: int, measure: str = JUDGED) -> dict[str, BoardChoice]:
    """Return the leaderboards of a project that can choose a run, by their names for people.

    Source: llm-reteval specification, section 13: judgments of people, EXAM-Cover of the question
    bank, and graders of passages.

    Args:
        k: cutoff of EXAM-Cover.
        measure: the measure for judgments and for direct graders.
    """
    choices = {
        f"{source}: {measure}": BoardChoice(measure, source) for source in official_sources(project)
    }
    for grader in label_graders(project):
        if not grader.grades:
            continue
        name = grader.spec.name
        if grader.spec.method == "direct":
            choices[f"{name}: {measure}"] = BoardChoice(measure, grader=name)
        else:
            choices[f"EXAM-Cover@{k} by {name}"] = BoardChoice(f"EXAM-Cover@{k}", grader=name)
    return choices


def score_table(board: Leaderboard) -> Table:
    """Return the scores of a leaderboard by run and query; None for a skipped query if the policy
    ignores such queries.

    Raises:
        InputError: the leaderboard was imported and has no scores by query.
    """
    if not board.per_query:
        raise InputError(
            "no-scores-by-query",
            f"The imported leaderboard {board.source} has no scores per query.",
            "Use a source of judgments, such as imported qrels.",
        )
    skipped = 0.0 if board.policy.skipped == "zero" else None
    return {
        run: {query: scores.get(query, skipped) for query in board.query_ids}
        for run, scores in board.per_query.items()
    }


def compare_choices(
    project: Project,
    boards: Mapping[str, BoardChoice],
    policy: Policy,
    further: Mapping[str, Table],
    samples: int = 1000,
) -> ComparedChoices:
    """Compare the runs that several evaluations choose, over their common queries, with bootstrap
    intervals.

    Source: llm-reteval specification, section 13.

    Args:
        boards: leaderboards by name.
        policy: settings that the leaderboards leave open.
        further: tables from other sources by name, such as LLM-retEval@5.
        samples: number of resamples of the queries.

    Raises:
        InputError: the evaluations have no run or no query in common.
    """
    tables, left_out = dict(further), {}
    for name, choice in boards.items():
        try:
            tables[name] = score_table(make_board(project, choice, policy))
        except InputError as error:
            left_out[name] = error
    return ComparedChoices(compare_evaluations(tables, samples), left_out)
