"""Figures of a project by name, and its report: a leaderboard with agreement, methods and figures
in one HTML file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import altair as alt

from .. import (
    __version__,
    audit,
    bank,
    board_summary,
    charts,
    exams,
    exchange,
    graders,
    labels,
    measures,
    records,
    review,
    study,
)
from ..choices import CURVE_K, DEFAULT_MEASURE
from ..errors import InputError, check_known
from ..grouping import group_pairs
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

    measures: tuple[str, ...] = (DEFAULT_MEASURE,)
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
    check_known("unknown-figure", "figure", FIGURES, name)
    if (chart := FIGURES[name](project, wanted)) is None:
        raise InputError(
            "empty-figure", f"No data for the figure '{name}'.", "See the contents: exam status"
        )
    return chart


def _find_boards(project: Project, wanted: FigureRequest) -> dict[str, labels.Leaderboard]:
    """Return the leaderboards of the wanted measures by title."""
    boards = [
        labels.leaderboard(project, measure, wanted.source, wanted.policy)
        for measure in wanted.measures
    ]
    return {_board_title(board): board for board in boards}


def _board_title(board: labels.Leaderboard) -> str:
    return f"{'Exam' if board.source == 'exam' else board.source} {board.measure}"


def _add_notes(chart: charts.Chart, notes: Iterable[str]) -> charts.Chart:
    """Return a chart with sentences above it about data that it does not show."""
    lines = [line for note in notes for line in textwrap.wrap(note, NOTE_LENGTH)]
    return chart.properties(title=alt.Title("", subtitle=lines)) if lines else chart


def _draw_leaderboard(project: Project, wanted: FigureRequest) -> charts.Chart:
    board = next(iter(_find_boards(project, wanted).values()))
    groups = study.group_alike(board, study.remembered_pairs(project, board, "t")).groups
    return _add_notes(charts.leaderboard_chart(board, groups), [board.ungraded_note])


def _draw_panel(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    official = labels.official_board(project, wanted.against, wanted.measures[0], wanted.policy)
    panel = study.make_board_panel(official, _find_boards(project, wanted), _board_title(official))
    return _add_notes(charts.panel_chart(panel), panel.left_out.values()) if panel.marks else None


def _system_scatter(comparison: labels.Comparison) -> charts.Chart | None:
    points, _ = study.system_points(comparison.official, comparison.board)
    titles = (_board_title(comparison.official), _board_title(comparison.board))
    return charts.system_scatter(points, *titles, size=charts.PRINTED_CLOUD) if points else None


def _draw_slope(project: Project, wanted: FigureRequest) -> charts.Chart:
    comparison = _compare_boards(project, wanted)
    return charts.slope_chart(
        comparison.official,
        comparison.board,
        titles=(_board_title(comparison.official), _board_title(comparison.board)),
    )


def _compare_boards(project: Project, wanted: FigureRequest) -> labels.Comparison:
    return labels.compare(
        project, wanted.measures[0], wanted.against, wanted.source, policy=wanted.policy
    )


def _draw_significance(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    board = next(iter(_find_boards(project, wanted).values()))
    rows = study.remembered_pairs(project, board, "t")
    return charts.difference_matrix(rows, list(board.scores)) if rows else None


def _draw_queries(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    board = next(iter(_find_boards(project, wanted).values()))
    first, second = (
        *wanted.runs,
        *(run for run in board.scores if run not in wanted.runs),
        "",
        "",
    )[:2]
    points = study.query_points(project, board, first, board, second)
    return charts.query_scatter(points, first, second, alike=True) if points.points else None


def _draw_coverage(project: Project, wanted: FigureRequest) -> charts.Chart:
    curves = labels.cover_curves(project, wanted.policy, CURVE_K, wanted.runs or None)
    order = curves.order(wanted.policy.cutoff)
    chart = charts.coverage_chart(curves, order if wanted.runs else order[:LINES])
    return _add_notes(chart, [curves.queries_sentence] if curves.board.ungraded else [])


def _draw_examinees(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    rows = exams.exam_board(exams.examinee_responses(project, query_id=wanted.exam))
    known = exams.summarize_items(exams.exam_items(project, wanted.exam))
    return charts.accuracy_chart(rows, known.baselines) if rows else None


def _draw_topics(project: Project, wanted: FigureRequest) -> charts.Chart | None:
    answers = exams.examinee_responses(project, query_id=wanted.exam)
    order = [row.student.name for row in exams.exam_board(answers)]
    return charts.topic_chart(rows, order) if (rows := exams.by_topic(answers)) else None


def _item_curves_drawer(
    title: str, values: Callable[..., Any]
) -> Callable[[Project, FigureRequest], charts.Chart]:
    def draw_curves(project: Project, wanted: FigureRequest) -> charts.Chart:
        analysis = exams.fit_abilities(project, wanted.exam)
        curves = values(item_response.GRID, analysis.fit.items).T.tolist()
        names = [row.item for row in analysis.items]
        return charts.ability_curves(
            dict(zip(names, curves, strict=True)), analysis.fit.theta.tolist(), title
        )

    return draw_curves


def _draw_information(project: Project, wanted: FigureRequest) -> charts.Chart:
    analysis = exams.fit_abilities(project, wanted.exam)
    kinds = exams.item_kinds(project, exams.exam_items(project, wanted.exam))
    curves, _ = charts.information_curves(analysis, kinds[wanted.by] if wanted.by else {})
    return charts.ability_curves(curves, analysis.fit.theta.tolist())


def _draw_shortening(project: Project, wanted: FigureRequest) -> charts.Chart:
    steps = exams.propose_shorter_exam(project, wanted.exam).steps
    return charts.ability_curves({f"{step.items} items": step.curve.tolist() for step in steps})


def _draw_audit(project: Project, wanted: FigureRequest) -> charts.Chart:
    plan = audit.find_audit(project, wanted.audit)
    return charts.forecast_chart(audit.forecast_audit(project, plan), plan.goal)


FIGURES: dict[str, Callable[[Project, FigureRequest], charts.Chart | None]] = {
    "leaderboard": _draw_leaderboard,
    "leaderboards": _draw_panel,
    "scatter": lambda project, wanted: _system_scatter(_compare_boards(project, wanted)),
    "slope": _draw_slope,
    "significance": _draw_significance,
    "queries": _draw_queries,
    "coverage": _draw_coverage,
    "examinees": _draw_examinees,
    "topics": _draw_topics,
    "characteristic-curves": _item_curves_drawer(
        "Probability of a right answer", item_response.answer_probability
    ),
    "item-information": _item_curves_drawer("Information", item_response.answer_information),
    "information": _draw_information,
    "shortening": _draw_shortening,
    "audit": _draw_audit,
}
"""The function that draws each figure, by name; None without data."""


@dataclass(frozen=True)
class ReportRequest:
    """The contents of a report.

    Args:
        measure: of the leaderboard.
        against: the official leaderboard; None for no comparison.
        questions: whether the report lists the questions, which viewers of a project may not see.
    """

    measure: str = DEFAULT_MEASURE
    policy: Policy = field(default_factory=Policy)
    against: str | None = None
    questions: bool = False


def make_report(project: Project, wanted: ReportRequest) -> str:
    """Return a report as HTML.

    Raises:
        InputError: the leaderboard cannot be made.
    """
    measure, policy = wanted.measure, wanted.policy
    summary = board_summary.summarize_board(project, policy, measure, wanted.against)
    board, compared = summary.board, summary.compared
    audited = audit.audited_by(project, policy, board.measure)
    sections = [
        exchange.Section("Leaderboard", list(_leaderboard_parts(project, summary, policy))),
        exchange.Section("Agreement", list(_agreement_parts(project, compared, policy))),
        exchange.Section("Sample size", list(_sample_parts(project, board, measure, policy))),
        exchange.Section("Audit", list(_audit_parts(project, audited, policy))),
        exchange.Section("Methods", list(_method_parts(project, board, wanted))),
        *(_question_sections(project, board.policy) if wanted.questions else []),
    ]
    return exchange.report_html(
        f"{project.name}: {board.measure}",
        summary.description,
        [section for section in sections if section.parts],
    )


def _make_figure(caption: str, chart: charts.Chart) -> exchange.Figure:
    return exchange.Figure(caption, charts.render_chart(charts.for_print(chart), ".svg").decode())


Parts = Iterator["str | tuple[str, ...] | exchange.Table | exchange.Figure"]


def _leaderboard_parts(
    project: Project, summary: board_summary.BoardSummary, policy: Policy
) -> Parts:
    board = summary.board
    if exchange.is_demo(project):
        yield exchange.MADE_COLLECTION
    if note := board.ungraded_note:
        yield note
    head = ["Rank", "System", board.measure, "Standard error", "Queries"]
    rows: list[list[exchange.Cell]] = [
        [system.rank, system.run, system.score, system.std_error, system.queries]
        for system in board.systems
    ]
    if summary.official is not None:
        name = f"{summary.official.source} {summary.official.measure}"
        official = {system.run: system for system in summary.official.systems}
        head += [name, "Standard error", "Official rank"]
        for row, system in zip(rows, board.systems, strict=True):
            other = official.get(system.run)
            row += [other.score, other.std_error, other.rank] if other else [None, None, None]
    yield exchange.Table(f"Systems by {board.measure}", head, rows)
    if board.systems:
        yield _make_figure(
            "Scores with one standard error. Lines on the right join systems that are not separated"
            " (paired t test, Holm's method).",
            charts.leaderboard_chart(board, summary.groups.groups),
        )
        if measures.parse_measure(board.measure).takes_grades:
            yield _coverage_part(project, policy)


def _coverage_part(project: Project, policy: Policy) -> str | exchange.Figure:
    curves = labels.complete_curves(project, policy, CURVE_K)
    if curves.board.few_complete:
        return (
            f"No curves of coverage: they need {labels.FEWEST_COMPLETE} complete queries."
            f" {curves.queries_sentence}"
        )
    return _make_figure(
        "Share of the questions that the first passages answer, for the best systems, with one"
        f" standard error. {curves.queries_sentence}",
        charts.coverage_chart(curves, curves.order(policy.cutoff)[:LINES]),
    )


def _agreement_parts(project: Project, compared: labels.Comparison | None, policy: Policy) -> Parts:
    if compared is None:
        return
    correlation, official = compared.correlation, compared.official
    yield compared.queries.description
    if correlation.undefined:
        yield f"Correlation with {official.source} is undefined: {correlation.undefined}"
    else:
        coefficients = (
            correlation.spearman,
            correlation.kendall,
            correlation.tau_ap,
            correlation.pearson,
        )
        yield exchange.Table(
            f"Correlation with {official.source} {official.measure} over"
            f" {correlation.systems} systems",
            ["Spearman", "Kendall (tau-b)", "tau_AP", "Pearson"],
            [list(coefficients)],
            digits=3,
        )
        if chart := _system_scatter(compared):
            yield _make_figure("Systems on both leaderboards, with one standard error.", chart)
    if official.source not in records.judgment_sources(project):
        return
    try:
        both = review.side_agreement(
            project, review.Labels(policy), review.Judgments(official.source, policy.min_judgment)
        )
    except InputError as error:
        yield error.message
        return
    table = both.table
    yield exchange.Table(
        f"Labels (rows) and judgments of {official.source} (columns): numbers of passages",
        ["Label", *map(str, table.column_names)],
        [
            [str(name), *counts]
            for name, counts in zip(table.row_names, table.counts.tolist(), strict=True)
        ],
    )
    kappa = both.merged.kappa
    yield (
        f"Cohen's kappa of relevant and not relevant: {kappa.value:z.3f} ({both.n:,} passages)."
        if kappa.value is not None
        else f"Cohen's kappa is undefined: {kappa.undefined}"
    )


def _sample_parts(
    project: Project, board: labels.Leaderboard, measure: str, policy: Policy
) -> Parts:
    queries = study.sample_queries(project, board)
    questions = study.sample_questions(project, measure, policy)
    if queries:
        yield _make_figure(
            study.queries_sentence(queries), charts.sample_chart(queries, "separable", "Queries")
        )
    if questions:
        yield _make_figure(
            f"{study.questions_sentence(questions)} {study.SAMPLE_LIMITS}",
            charts.sample_chart(questions, "kendall", "Questions per query"),
        )


def _audit_parts(project: Project, audited: audit.Audit | None, policy: Policy) -> Parts:
    if audited is None:
        roles = audit.find_circularity(project, policy)
        yield "Not audited: the error of these scores is unknown."
        yield " ".join((roles.description, *roles.warnings))
        return
    board = audit.audit_board(project, audited)
    yield audit.audit_outcome(project, audited).description
    yield exchange.Table(
        f"Audited scores by {board.measure}, with intervals of {board.confidence:.0%}",
        ["Rank", "System", "Audited", "Low", "High", "Grader"],
        [[one.rank, one.run, one.audited, one.low, one.high, one.machine] for one in board.systems],
    )
    yield audit.describe_methods(project, audited)


def _method_parts(project: Project, board: labels.Leaderboard, wanted: ReportRequest) -> Parts:
    policy = board.policy
    base = labels.basis(project, policy)
    spec, state = base.grader.spec, labels.label_readiness(project, base)
    counts, version = bank.project_counts(project), base.version
    questions = [one for one in bank.list_questions(project, version) if one.active]
    settings = {
        "Measure": board.measure,
        "Official leaderboard": wanted.against or "none",
        "Grader": spec.name,
        "Method": spec.method,
        "Model": spec.model,
        "Prompt": f"{spec.prompt} (SHA-256 {spec.prompt_hash[:16]})" if spec.prompt else "none",
        "Min rating": str(policy.min_rating),
        "Label rule": policy.label,
        "Rating rule": policy.rating,
        "Weights": "yes" if policy.weighted else "no",
        "Skipped queries": policy.skipped,
        "Min judgment": str(policy.min_judgment),
        "Overrides": f"{state.overridden:,}" if policy.overrides else "not used",
        "Bank version": str(version),
    }
    yield exchange.Table("Scoring settings", ["Setting", "Value"], list(settings.items()))
    queries = counts["queries"] - counts["exams"]
    yield (
        f"The collection has {queries:,} queries, {counts['passages']:,} passages and"
        f" {counts['runs']:,} runs. The bank has {len(questions):,} active questions. Of"
        f" {state.needed:,} needed pairs of question and passage, {state.graded:,} are graded,"
        f" {state.failed:,} failed and {state.ungraded:,} are ungraded."
    )
    if spec.method in graders.GRADERS:
        yield graders.GRADERS[spec.method].about
    yield f"Made with Exam Workbench {__version__} on {datetime.now(UTC):%Y-%m-%d} (UTC)."


def _question_sections(project: Project, policy: Policy) -> Iterator[exchange.Section]:
    titles = {query.query_id: query.text for query in bank.query_overviews(project)}
    exams = bank.exam_queries(project, bank.check_version(project, policy.bank_version))
    by_query = group_pairs(
        (one.query_id, one.text or one.question_id)
        for one in bank.unsealed_questions(
            project, bank.list_questions(project, policy.bank_version)
        )
        if one.active and one.query_id not in exams
    )
    for query, texts in by_query.items():
        yield exchange.Section(f"Questions: {titles.get(query) or query}", [tuple(texts)])
