"""Reports of a project: a leaderboard, its agreement, its methods and its figures in one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .. import __version__, audit, bank, charts, exchange, review, study
from ..errors import InputError
from ..exchange import Section, Table
from ..graders import GRADERS
from ..labels import (
    DEFAULT_MEASURE,
    Comparison,
    Leaderboard,
    Policy,
    basis,
    compare,
    cover_curves,
    leaderboard,
    readiness,
)
from ..measures import parse_measure
from ..records import sources
from ..store import Project

LINES = 5
"""Systems of the coverage curves."""


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
    compared = None
    if wanted.against is not None:
        compared = compare(project, measure, wanted.against, policy=policy)
        board = compared.board
    else:
        board = leaderboard(project, measure, "exam", policy)
    audited = audit.audited_by(project, policy, board.measure)
    found = study.summarize(project, board, compared, audited.measure_title if audited else None)
    sections = [
        Section("Leaderboard", list(_leaderboard(project, board, compared, found, policy))),
        Section("Agreement", list(_agreement(project, compared, policy))),
        Section("Sample size", list(_samples(project, board, measure, policy))),
        Section("Audit", list(_audit(project, audited, policy))),
        Section("Methods", list(_methods(project, board, wanted))),
        *(_questions(project, board.policy) if wanted.questions else []),
    ]
    title = f"{project.name}: {board.measure}"
    return exchange.report_html(title, found.says, [section for section in sections if section.parts])


def _figure(caption: str, chart: charts.Chart) -> exchange.Figure:
    return exchange.Figure(caption, charts.picture(charts.for_print(chart), ".svg").decode())


Parts = Iterator[str | tuple[str, ...] | Table | exchange.Figure]


def _leaderboard(
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
            curves = cover_curves(project, policy)
            yield _figure(
                "Share of the questions that the first passages answer, for the best systems, with one standard error.",
                charts.coverage_chart(curves, curves.order(policy.cutoff)[:LINES]),
            )


def _agreement(project: Project, compared: Comparison | None, policy: Policy) -> Parts:
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
        points, _ = study.system_points(official, compared.board)
        titles = (f"{official.source} {official.measure}", f"Exam {compared.board.measure}")
        chart = charts.system_scatter(points, *titles, size=charts.PRINTED_CLOUD)
        yield _figure("Systems on both leaderboards, with one standard error.", chart)
    if official.source not in sources(project):
        return
    try:
        labels = review.agreement(
            project, review.Labels(policy), review.Judgments(official.source, policy.min_judgment)
        )
    except InputError as error:
        yield error.message
        return
    table = labels.table
    yield Table(
        f"Labels (rows) and judgments of {official.source} (columns): numbers of passages",
        ["Label", *map(str, table.column_names)],
        [[str(name), *counts] for name, counts in zip(table.row_names, table.counts.tolist(), strict=True)],
    )
    kappa = labels.merged.kappa
    yield (
        f"Cohen's kappa of relevant and not relevant: {kappa.value:z.3f} ({labels.n:,} passages)."
        if kappa.value is not None
        else f"Cohen's kappa is undefined: {kappa.undefined}"
    )


def _samples(project: Project, board: Leaderboard, measure: str, policy: Policy) -> Parts:
    queries = study.sample_queries(project, board)
    questions = study.sample_questions(project, measure, policy)
    if queries:
        yield _figure(study.says_queries(queries), charts.sample_chart(queries, "separable", "Queries"))
    if questions:
        yield _figure(study.says_questions(questions), charts.sample_chart(questions, "kendall", "Questions per query"))


def _audit(project: Project, audited: audit.Audit | None, policy: Policy) -> Parts:
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


def _methods(project: Project, board: Leaderboard, wanted: ReportRequest) -> Parts:
    policy = board.policy
    base = basis(project, policy)
    spec, state = base.grader.spec, readiness(project, base)
    counts = bank.counts(project)
    version = base.version
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


def _questions(project: Project, policy: Policy) -> Iterator[Section]:
    titles = {query.query_id: query.text for query in bank.overview(project)}
    by_query: dict[str, list[str]] = {}
    exams = bank.exam_queries(project, bank.check_version(project, policy.bank_version))
    for one in bank.public(project, bank.questions(project, policy.bank_version)):
        if one.active and one.query_id not in exams:
            by_query.setdefault(one.query_id, []).append(one.text or one.question_id)
    for query, texts in by_query.items():
        yield Section(f"Questions: {titles.get(query) or query}", [tuple(texts)])
