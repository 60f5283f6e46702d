"""Commands of the audit: plan it, draw batches, assign or export them, show its results, and end
it.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .. import audit, bank, formats
from ..choices import AUDIT_ALPHA, AuditAim, AuditVariance, SheetForm
from ..text import how_many
from .console import deliver_files, warn_of_terms
from .policy import PolicyOptions
from .registry import (
    MOST_DRAWS,
    Argument,
    Author,
    Opening,
    Option,
    Output,
    Project,
    TextOutput,
    operation,
)

if TYPE_CHECKING:
    from ..measures.audit import Rate

AuditName = Annotated[str | None, Option("--audit", help="Audit (default: the newest open one).")]


@operation("audit leaderboard", act="read the bank", reads=True)
def board(
    opening: Opening,
    *,
    name: AuditName = None,
    variance: Annotated[
        AuditVariance,
        Option(
            help="pool: intervals for these queries; queries: for similar queries too.",
        ),
    ] = "pool",
    file: Annotated[
        Path | None,
        Option(
            "--from",
            help="Use the audit file of a bundle instead of a project.",
            file="read",
            metavar="FILE",
        ),
    ] = None,
) -> Output:
    """Show the audited leaderboard: scores, intervals, bias and systems not separated."""
    if file is not None:
        facts = audit.read_facts(formats.read_small(file), str(file))
        audited, reached = (
            audit.board_of(facts, variance),
            audit.outcome_of(facts, audit.board_of(facts)),
        )
    else:
        with opening() as project:
            plan = audit.find_audit(project, name)
            audited, reached = (
                audit.audit_board(project, plan, variance),
                audit.audit_outcome(project, plan),
            )
    separated = f"Separated pairs of systems: {reached.separated:,} of {reached.pairs:,} (Holm)."
    output = (
        Output(asdict(audited))
        .table(
            (
                "rank",
                "run",
                audited.measure,
                "low",
                "high",
                "grader",
                "grader's rank",
                "bias",
                "low",
                "high",
                "order",
            ),
            [
                (
                    s.rank,
                    s.run,
                    s.audited,
                    s.low,
                    s.high,
                    s.machine,
                    s.machine_rank,
                    s.bias,
                    s.bias_low,
                    s.bias_high,
                    s.order,
                )
                for s in audited.systems
            ],
        )
        .note(
            reached.description,
            reached.conclusion,
            audited.description,
            separated if reached.pairs else None,
        )
    )
    if audited.labels is not None:
        rates = (
            (name, _describe_rate(getattr(audited.labels, name)))
            for name in ("precision", "recall", "kappa")
        )
        output.note(
            "Labels: " + ", ".join(f"{name} {rate or 'undefined'}" for name, rate in rates) + "."
        )
    if audited.correlation is not None and audited.kendall is not None:
        output.note(
            "Grader's leaderboard against the fully judged one: Pearson "
            f"{_describe_rate(audited.correlation) or 'undefined'},"
            f" Kendall's tau from {audited.kendall[0]:z.2f} to {audited.kendall[1]:z.2f}."
        )
    groups = (f"Not separated: {', '.join(group)}." for group in audited.groups)
    return output.note(*groups, audited.favour.description if audited.favour else None)


@operation("audit curve", act="read the bank", reads=True)
def curve(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Estimate how many judgments the goal needs, and the width of the intervals."""
    forecast = audit.forecast_audit(project, audit.find_audit(project, name))
    return (
        Output(asdict(forecast))
        .table(
            ("judgments", "width", "without grader", "uniform, without grader"),
            [
                (point.judgments, point.width, point.without_machine, point.uniform)
                for point in forecast.curve
            ],
        )
        .note(
            None if forecast.width is None else f"Current median width: {forecast.width:.4f}.",
            forecast.description,
        )
    )


@operation("audit graders", act="read the bank", reads=True)
def choose_grader(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Compare all graders by the judgments of one audit, and choose one.

    The correlation is that of a grader's leaderboard with the audited leaderboard.
    """
    choice = audit.choose_grader(project, audit.find_audit(project, name))
    return (
        Output(asdict(choice))
        .table(
            (
                "grader",
                "labelled",
                "correlation",
                "behind the chosen",
                "low",
                "high",
                "not separated",
            ),
            [
                (
                    grader.grader,
                    grader.labelled,
                    grader.correlation,
                    grader.behind,
                    grader.low,
                    grader.high,
                    "yes" if grader.kept else "no",
                )
                for grader in choice.graders
            ],
        )
        .note(choice.description)
    )


@operation("audit calibrate", act="read the bank", reads=lambda given: given["accept"] is None)
def calibrate(
    project: Project,
    *,
    name: AuditName = None,
    accept: Annotated[
        str | None,
        Option(
            help="Save the embedding grader with the new cut points under this name.",
            metavar="NAME",
        ),
    ] = None,
    author: Author,
) -> Output:
    """Compare labels with judgments, and propose a min rating and cut points.

    Without --accept, nothing changes.
    """
    plan = audit.find_audit(project, name)
    output = _calibration_output(audit.calibrate_labels(project, plan))
    if accept is not None:
        audit.accept_cut_points(project, plan, accept, author)
        output.note(f"Saved '{accept}'. Next: {bank.grade_command(accept)}")
    return output


def _calibration_output(calibration: audit.Calibration) -> Output:
    output = Output(asdict(calibration))
    values = sorted({value for row in calibration.meanings for value in row.chances})
    output.table(
        ("label", "passages", "judged", "mean judgment", *(f"judged {value}" for value in values)),
        [
            (row.label, row.passages, row.judged, row.mean)
            + tuple(
                _describe_rate(row.chances[value]) if value in row.chances else None
                for value in values
            )
            for row in calibration.meanings
        ],
    ).table(
        ("min rating", "precision", "recall", "accuracy", "kappa"),
        [
            (row.rating,)
            + tuple(
                map(
                    _describe_rate,
                    (
                        row.quality.precision,
                        row.quality.recall,
                        row.quality.accuracy,
                        row.quality.kappa,
                    ),
                )
            )
            for row in calibration.min_ratings
        ],
    )
    if calibration.balanced is not None and calibration.balanced != calibration.min_rating:
        output.note(
            f"Precision and recall are closest at --min-rating {calibration.balanced} (now"
            f" {calibration.min_rating})."
        )
    if calibration.new_cuts:
        proposed = (
            f"Proposed cut points: {_join_cuts(calibration.new_cuts)} (now"
            f" {_join_cuts(calibration.cuts)})."
        )
        output.note(f"{proposed} Save them with --accept NAME.")
    elif calibration.why_no_cuts:
        output.note(f"No cut points proposed: {calibration.why_no_cuts}")
    return output


def _join_cuts(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.4f}" for cut in cuts)


def _describe_rate(share: Rate) -> str | None:
    return None if share.value is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


@operation("audit methods", act="read the bank", reads=True)
def methods(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Show a paragraph about the audit for the methods section of a paper."""
    paragraph = audit.describe_methods(project, audit.find_audit(project, name))
    return Output({"methods": paragraph}).line(paragraph)


@operation("audit roles", act="read the bank", reads=True)
def roles(
    project: Project,
    *,
    policy: PolicyOptions,
) -> Output:
    """List the models of questions, grader and systems, with warnings about overlap."""
    overlap = audit.find_circularity(project, policy)
    return (
        Output(
            {
                "questions": vars(overlap.questions),
                "grader": vars(overlap.grader),
                "runs": [vars(run) for run in overlap.runs],
                "kin": overlap.kin,
                "warnings": overlap.warnings,
            }
        )
        .line(overlap.description)
        .table(("run", "made with"), [(run.name, run.description) for run in overlap.runs])
        .note(*(f"warning: {warning}" for warning in overlap.warnings))
    )


@operation("audit design", act="plan audits")
def design(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    measure: Annotated[
        str, Option(help="P@k, RBP(p=0.8)@k, or DCG@k for 'mean judgment@k (DCG weights)'.")
    ] = "DCG@10",
    aim: Annotated[
        AuditAim,
        Option(
            "--goal",
            help="best: find the best system; pair: compare --first with --second; width: every"
            " score within --half-width; budget: spend --budget judgments.",
        ),
    ] = "best",
    first: Annotated[str | None, Option(help="First system of --goal pair.", metavar="RUN")] = None,
    second: Annotated[
        str | None, Option(help="Second system of --goal pair.", metavar="RUN")
    ] = None,
    half_width: Annotated[
        float | None, Option(help="Largest half-width of the intervals, for example 0.02.")
    ] = None,
    budget: Annotated[
        int | None, Option(help="Number of judgments that you can afford.", least=1)
    ] = None,
    runs: Annotated[
        tuple[str, ...], Option("--run", help="Only this system; may be repeated (default: all).")
    ] = (),
    graders: Annotated[
        tuple[str, ...],
        Option("--with-grader", help="Predict from this grader's ratings too; may be repeated."),
    ] = (),
    source: Annotated[
        str | None,
        Option(help="Judgment source; its judgments are reused (default: 'audit: NAME')."),
    ] = None,
    highest: Annotated[
        int | None,
        Option(help="Highest judgment (default: highest of the source, else 3).", least=1),
    ] = None,
    batch_size: Annotated[int | None, Option(help="Passages per batch.", least=1)] = None,
    looks: Annotated[
        int | None,
        Option(help="Number of batches; you may stop after each.", least=1, most=MOST_DRAWS),
    ] = None,
    alpha: Annotated[float, Option(help="Error rate over all batches together.")] = AUDIT_ALPHA,
    seed: Annotated[
        int | None, Option(help="Seed of the draws (default: random).", least=0)
    ] = None,
    author: Author,
    policy: PolicyOptions,
) -> Output:
    """Plan the audit NAME of the grader's leaderboard. No passages are drawn yet."""
    goal = audit.Goal(aim, first, second, half_width, budget)
    planned = audit.design_audit(
        project,
        name,
        measure,
        goal,
        policy,
        runs=runs,
        graders=graders,
        source=source,
        highest=highest,
        batch_size=batch_size,
        looks=looks,
        alpha=alpha,
        seed=seed,
        author=author,
    )
    texts = audit.count_texts(project, planned)
    output = Output(
        {"audit": planned.as_dict(), "passages": texts.passages, "without_text": texts.without_text}
    ).note(
        f"Planned '{planned.name}': {goal.description}, by {planned.measure_title}."
        f" {how_many(len(planned.runs), 'systems')}, {how_many(len(planned.queries), 'queries')},"
        f" {how_many(texts.passages, 'passages')}, seed {planned.seed}."
    )
    lacking = (
        f"warning: no text for {how_many(texts.without_text, 'passages')}. Import it: exam"
        " import passages FILE"
    )
    return output.note(
        lacking if texts.without_text else None,
        f"Next: exam audit draw {planned.option}",
    )


@operation("audit list", act="read the bank", reads=True)
def list_audits(
    project: Project,
) -> Output:
    """List audits."""
    audits = [(plan, audit.list_batches(project, plan)) for plan in audit.find_audits(project)]
    return Output(
        {
            "audits": [
                plan.as_dict() | {"batches": [b.as_dict() for b in drawn]} for plan, drawn in audits
            ]
        }
    ).table(
        ("audit", "measure", "goal", "systems", "batches", "judged", "state"),
        [
            (
                plan.name,
                plan.measure_title,
                plan.goal.description,
                len(plan.runs),
                len(drawn),
                sum(b.judged for b in drawn),
                "ended" if plan.ended else "open",
            )
            for plan, drawn in audits
        ],
    )


@operation("audit draw", act="plan audits")
def draw(
    project: Project,
    *,
    name: AuditName = None,
    size: Annotated[
        int | None, Option(help="Passages to draw (default: as planned).", least=1)
    ] = None,
    twice: Annotated[
        float, Option(help="Share of passages that a second assessor judges too.", least=0, most=1)
    ] = 0.0,
    author: Author,
) -> Output:
    """Draw the next batch. Passages with a judgment in the source are not drawn."""
    plan = audit.find_audit(project, name)
    batch = audit.draw_batch(project, plan, author, size, twice)
    return Output({"batch": batch.as_dict()}).note(
        f"Batch {batch.number}: {how_many(batch.drawn, 'passages')} drawn of"
        f" {batch.frame - batch.known:,}."
        f" Judged before: {batch.known:,}. To be judged twice: {batch.doubled:,}.",
        f"Judge them on the Audit screen, or export them: exam audit export {plan.option} -o FILE",
    )


@operation("audit status", act="read the bank", reads=True)
def status(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Show the progress of an audit: batches and assessors."""
    plan = audit.find_audit(project, name)
    drawn, people = audit.list_batches(project, plan), audit.list_audit_assessors(project, plan)
    output = Output(
        {
            "audit": plan.as_dict(),
            "batches": [batch.as_dict() for batch in drawn],
            "assessors": [vars(assessor) for assessor in people],
        }
    )
    output.line(
        f"{plan.name}: {plan.goal.description}, by {plan.measure_title}"
        f"{' (ended)' if plan.ended else ''}"
    ).table(
        (
            "batch",
            "drawn",
            "judged before",
            "judged",
            "cannot say",
            "skipped",
            "open",
            "twice",
            "state",
        ),
        [
            (
                b.number,
                b.drawn,
                b.known,
                b.judged,
                b.cannot_say,
                b.skipped,
                b.open,
                b.judged_twice,
                "ended" if b.ended else "done" if b.done else "open",
            )
            for b in drawn
        ],
    )
    if people:
        output.table(
            (
                "assessor",
                "current query",
                "judged",
                "cannot say",
                "skipped",
                "second judgments",
                "saw labels",
            ),
            [
                (p.name, p.query_id, p.judged, p.cannot_say, p.skipped, p.second, p.looked)
                for p in people
            ],
        )
    return output


@operation("audit export", act="plan audits")
def export(
    project: Project,
    *,
    name: AuditName = None,
    output: Annotated[
        str, Option("-o --output", help="Output file; - for standard output.", file="write")
    ],
    form: Annotated[SheetForm, Option(help="Format of the output.")] = "tsv",
    assessor: Annotated[
        str | None,
        Option(
            help="Assessor who gets the queries; other assessors do not get them.", metavar="NAME"
        ),
    ] = None,
    most: Annotated[
        int | None, Option(help="Approximate number of passages; queries stay whole.", least=1)
    ] = None,
) -> str | TextOutput:
    """Export the open passages of a batch to a file. Import the judgments with exam audit
    import.
    """
    warn_of_terms(project)
    sheet = audit.make_sheet(
        project,
        audit.find_audit(project, name),
        form,
        assessor,
        most,
        lambda text: deliver_files({output: text.encode()}),
    )
    if output == "-":
        return TextOutput().text(sheet.text)
    return (
        f"Wrote {output}: {how_many(sheet.passages, 'passages')} of"
        f" {how_many(sheet.queries, 'queries')}."
    )


@operation("audit import", act="plan audits")
def import_(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read")],
    name: AuditName = None,
    author: Author,
) -> Output:
    """Import judgments of a batch from FILE: the exported sheet, TSV, JSONL or qrels.

    If a line is invalid, nothing is imported. Importing the same file again changes nothing.
    """
    done = audit.import_sheet(
        project, audit.find_audit(project, name), formats.Source.from_path(file), author
    )
    return Output(vars(done)).note(audit.import_sentence(done))


@operation("audit release", act="judge audits")
def give_back(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """Release the queries reserved for --author, also those in exported files. Judgments are
    kept.
    """
    given = audit.give_back(project, audit.find_audit(project, name), author)
    return f"Released: {how_many(given, 'queries')}."


@operation("audit end-batch", act="plan audits")
def end_batch(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """End the newest batch before all its passages are judged. Intervals account for that."""
    found = audit.find_audit(project, name)
    audit.end_batch(project, found, author)
    return f"Ended the newest batch of '{found.name}'."


@operation("audit end", act="plan audits")
def end(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """End an audit. No more passages are drawn or judged; the leaderboard is kept."""
    found = audit.find_audit(project, name)
    audit.end_audit(project, found, author)
    return f"Ended the audit '{found.name}'."
