"""Figures of a project by name, and its report: a leaderboard with agreement, methods and figures in one HTML file."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import altair as alt

from .. import __version__, audit, bank, charts, exams, exchange, labels, review, study
from ..errors import InputError, check_known
from ..exchange import Section, Table
from ..graders import GRADERS
from ..grouping import grouped
from ..labels import Comparison, Leaderboard, Policy
from ..measures import item_response, parse_measure
from ..records import sources
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
    check_known("unknown-figure", "figure", FIGURES, name)
    if (chart := FIGURES[name](project, wanted)) is None:
        raise InputError("empty-figure", f"No data for the figure '{name}'.", "See the contents: exam status")
    return chart


def _boards(project: Project, wanted: FigureRequest) -> dict[str, Leaderboard]:
    """Return the leaderboards of the wanted measures by title."""
    made = [labels.leaderboard(project, one, wanted.source, wanted.policy) for one in wanted.measures]
    return {_title(board): board for board in made}


def _title(board: Leaderboard) -> str:
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
    return _system_scatter(_compared(project, wanted))


def _system_scatter(found: Comparison) -> charts.Chart | None:
    points, _ = study.system_points(found.official, found.board)
    titles = (_title(found.official), _title(found.board))
    return charts.system_scatter(points, *titles, size=charts.PRINTED_CLOUD) if points else None


def _slope(project: Project, wanted: FigureRequest) -> charts.Chart:
    found = _compared(project, wanted)
    return charts.slope_chart(found.official, found.board, titles=(_title(found.official), _title(found.board)))


def _compared(project: Project, wanted: FigureRequest) -> Comparison:
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


@dataclass(frozen=True)
class ReportRequest:
    """The contents of a report.

    Args:
        measure: of the leaderboard.
        against: the official leaderboard; None for no comparison.
        questions: whether the report lists the questions, which viewers of a project may not see.
    """

    measure: str = labels.DEFAULT_MEASURE
    policy: Policy = field(default_factory=Policy)
    against: str | None = None
    questions: bool = False


def make_report(project: Project, wanted: ReportRequest) -> str:
    """Return a report as HTML.

    Raises:
        InputError: the leaderboard cannot be made.
    """
    measure, policy = wanted.measure, wanted.policy
    compared = None
    if wanted.against is not None:
        compared = labels.compare(project, measure, wanted.against, policy=policy)
        board = compared.board
    else:
        board = labels.leaderboard(project, measure, "exam", policy)
    audited = audit.audited_by(project, policy, board.measure)
    found = study.summarize(project, board, compared, audited.measure_title if audited else None)
    sections = [
        Section("Leaderboard", list(_leaderboard_parts(project, board, compared, found, policy))),
        Section("Agreement", list(_agreement_parts(project, compared, policy))),
        Section("Sample size", list(_sample_parts(project, board, measure, policy))),
        Section("Audit", list(_audit_parts(project, audited, policy))),
        Section("Methods", list(_method_parts(project, board, wanted))),
        *(_question_sections(project, board.policy) if wanted.questions else []),
    ]
    title = f"{project.name}: {board.measure}"
    return exchange.report_html(title, found.says, [section for section in sections if section.parts])


def _figure(caption: str, chart: charts.Chart) -> exchange.Figure:
    return exchange.Figure(caption, charts.picture(charts.for_print(chart), ".svg").decode())


Parts = Iterator[str | tuple[str, ...] | Table | exchange.Figure]


def _leaderboard_parts(
    project: Project, board: Leaderboard, compared: Comparison | None, found: study.Summary, policy: Policy
) -> Parts:
    if exchange.is_demo(project):
        yield exchange.MADE_COLLECTION
    if note := board.says_ungraded:
        yield note
    head = ["Rank", "System", board.measure, "Standard error", "Queries"]
    rows: list[list[exchange.Cell]] = [
        [system.rank, system.run, system.score, system.std_error, system.queries] for system in board.systems
    ]
    if compared is not None:
        name = f"{compared.official.source} {compared.official.measure}"
        official = {system.run: system for system in compared.official.systems}
        head += [name, "Standard error", "Official rank"]
        for row, system in zip(rows, board.systems, strict=True):
            other = official.get(system.run)
            row += [other.score, other.std_error, other.rank] if other else [None, None, None]
    yield Table(f"Systems by {board.measure}", head, rows)
    if board.systems:
        yield _figure(
            "Scores with one standard error. Lines on the right join systems that are not separated (paired t test,"
            " Holm's method).",
            charts.leaderboard_chart(board, found.groups.groups),
        )
        if parse_measure(board.measure).takes_grades:
            yield _figure(
                "Share of the questions that the first passages answer, for the best systems, with one standard error.",
                _coverage(project, FigureRequest(policy=policy)),
            )


def _agreement_parts(project: Project, compared: Comparison | None, policy: Policy) -> Parts:
    if compared is None:
        return
    found, official = compared.correlation, compared.official
    yield compared.queries.says
    if found.undefined:
        yield f"Correlation with {official.source} is undefined: {found.undefined}"
    else:
        coefficients = (found.spearman, found.kendall, found.tau_ap, found.pearson)
        yield Table(
            f"Correlation with {official.source} {official.measure} over {found.systems} systems",
            ["Spearman", "Kendall (tau-b)", "tau_AP", "Pearson"],
            [list(coefficients)],
            digits=3,
        )
        if chart := _system_scatter(compared):
            yield _figure("Systems on both leaderboards, with one standard error.", chart)
    if official.source not in sources(project):
        return
    try:
        both = review.agreement(project, review.Labels(policy), review.Judgments(official.source, policy.min_judgment))
    except InputError as error:
        yield error.message
        return
    table = both.table
    yield Table(
        f"Labels (rows) and judgments of {official.source} (columns): numbers of passages",
        ["Label", *map(str, table.column_names)],
        [[str(name), *counts] for name, counts in zip(table.row_names, table.counts.tolist(), strict=True)],
    )
    kappa = both.merged.kappa
    yield (
        f"Cohen's kappa of relevant and not relevant: {kappa.value:z.3f} ({both.n:,} passages)."
        if kappa.value is not None
        else f"Cohen's kappa is undefined: {kappa.undefined}"
    )


def _sample_parts(project: Project, board: Leaderboard, measure: str, policy: Policy) -> Parts:
    queries = study.sample_queries(project, board)
    questions = study.sample_questions(project, measure, policy)
    if queries:
        yield _figure(study.says_queries(queries), charts.sample_chart(queries, "separable", "Queries"))
    if questions:
        yield _figure(study.says_questions(questions), charts.sample_chart(questions, "kendall", "Questions per query"))


def _audit_parts(project: Project, audited: audit.Audit | None, policy: Policy) -> Parts:
    if audited is None:
        roles = audit.circularity(project, policy)
        yield "Not audited: the error of these scores is unknown."
        yield " ".join((roles.says, *roles.warnings))
        return
    board = audit.audit_board(project, audited)
    yield audit.outcome(project, audited).says
    yield Table(
        f"Audited scores by {board.measure}, with intervals of {board.confidence:.0%}",
        ["Rank", "System", "Audited", "Low", "High", "Grader"],
        [[one.rank, one.run, one.audited, one.low, one.high, one.machine] for one in board.systems],
    )
    yield audit.methods(project, audited)


def _method_parts(project: Project, board: Leaderboard, wanted: ReportRequest) -> Parts:
    policy = board.policy
    base = labels.basis(project, policy)
    spec, state = base.grader.spec, labels.readiness(project, base)
    counts, version = bank.counts(project), base.version
    questions = [one for one in bank.questions(project, version) if one.active]
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
    yield Table("Scoring settings", ["Setting", "Value"], list(settings.items()))
    queries = counts["queries"] - counts["exams"]
    yield (
        f"The collection has {queries:,} queries, {counts['passages']:,} passages and {counts['runs']:,} runs."
        f" The bank has {len(questions):,} active questions. Of {state.needed:,} needed pairs of question and passage,"
        f" {state.graded:,} are graded, {state.failed:,} failed and {state.ungraded:,} are ungraded."
    )
    if spec.method in GRADERS:
        yield GRADERS[spec.method].about
    yield f"Made with Exam Workbench {__version__} on {datetime.now(UTC):%Y-%m-%d} (UTC)."


def _question_sections(project: Project, policy: Policy) -> Iterator[Section]:
    titles = {query.query_id: query.text for query in bank.overview(project)}
    exams = bank.exam_queries(project, bank.check_version(project, policy.bank_version))
    by_query = grouped(
        (one.query_id, one.text or one.question_id)
        for one in bank.public(project, bank.questions(project, policy.bank_version))
        if one.active and one.query_id not in exams
    )
    for query, texts in by_query.items():
        yield Section(f"Questions: {titles.get(query) or query}", [tuple(texts)])
