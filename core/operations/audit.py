"""Commands of the audit: plan it, draw batches, assign them or export them as files, and end it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from .. import audit as room
from ..audit import AIMS, Aim, Audit, Goal, find_audit
from ..formats import SHEET_FORMS, SheetForm, Source
from ..store import Project
from ..text import how_many
from .audit_board import AuditName
from .console import counted, deliver, warn_of_terms
from .describing import MOST_DRAWS, Argument, Option
from .opening import Opening
from .options import Author
from .output import Output, TextOutput
from .policy import PolicyOptions
from .registry import operation


@operation("audit design", act="plan audits")
def design(
    opening: Opening,
    *,
    name: Annotated[str, Argument()],
    measure: Annotated[str, Option(help="P@k, RBP(p=0.8)@k, or DCG@k for 'mean judgment@k (DCG weights)'.")] = "DCG@10",
    aim: Annotated[
        Aim,
        Option(
            "--goal",
            help="best: find the best system; pair: compare --first with --second; width: every score "
            "within --half-width; budget: spend --budget judgments.",
            choices=AIMS,
        ),
    ] = "best",
    first: Annotated[str | None, Option(help="First system of --goal pair.", metavar="RUN")] = None,
    second: Annotated[str | None, Option(help="Second system of --goal pair.", metavar="RUN")] = None,
    half_width: Annotated[float | None, Option(help="Largest half-width of the intervals, for example 0.02.")] = None,
    budget: Annotated[int | None, Option(help="Number of judgments that you can afford.", least=1)] = None,
    runs: Annotated[tuple[str, ...], Option("--run", help="Only this system; may be repeated (default: all).")] = (),
    graders: Annotated[
        tuple[str, ...], Option("--with-grader", help="Predict from this grader's ratings too; may be repeated.")
    ] = (),
    source: Annotated[
        str | None, Option(help="Judgment source; its judgments are reused (default: 'audit: NAME').")
    ] = None,
    highest: Annotated[
        int | None, Option(help="Highest judgment (default: highest of the source, else 3).", least=1)
    ] = None,
    batch_size: Annotated[int | None, Option(help="Passages per batch.", least=1)] = None,
    looks: Annotated[
        int | None, Option(help="Number of batches; you may stop after each.", least=1, most=MOST_DRAWS)
    ] = None,
    alpha: Annotated[float, Option(help="Error rate over all batches together.")] = room.ALPHA,
    seed: Annotated[int | None, Option(help="Seed of the draws (default: random).", least=0)] = None,
    author: Author,
    policy: PolicyOptions,
) -> Output:
    """Plan the audit NAME of the grader's leaderboard. No passages are drawn yet."""
    goal = Goal(aim, first, second, half_width, budget)
    with opening() as project:
        made = room.design(
            project, name, measure, goal, policy, runs=runs, graders=graders, source=source, highest=highest,
            batch_size=batch_size, looks=looks, alpha=alpha, seed=seed, author=author,
        )  # fmt: skip
        found = room.texts(project, made)
    output = Output({"audit": made.as_dict(), "passages": found.passages, "without_text": found.without_text}).note(
        f"Planned '{made.name}': {goal.says}, by {made.measure_title}. {counted(len(made.runs), 'system')},"
        f" {how_many(len(made.queries), 'queries')}, {counted(found.passages, 'passage')}, seed {made.seed}."
    )
    if found.without_text:
        output.note(
            f"warning: no text for {counted(found.without_text, 'passage')}. Import it: exam import passages FILE"
        )
    return output.note(f"Next: exam audit draw --audit {shlex.quote(made.name)}")


@operation("audit list", act="read the bank", reads=True)
def list_audits(
    project: Project,
) -> Output:
    """List audits."""
    found = [(one, room.batches(project, one)) for one in room.audits(project)]
    return Output(
        {"audits": [one.as_dict() | {"batches": [b.as_dict() for b in drawn]} for one, drawn in found]}
    ).table(
        ("audit", "measure", "goal", "systems", "batches", "judged", "state"),
        [
            (
                one.name,
                one.measure_title,
                one.goal.says,
                len(one.runs),
                len(drawn),
                sum(b.judged for b in drawn),
                "ended" if one.ended else "open",
            )
            for one, drawn in found
        ],
    )


@operation("audit draw", act="plan audits")
def draw(
    project: Project,
    *,
    name: AuditName = None,
    size: Annotated[int | None, Option(help="Passages to draw (default: as planned).", least=1)] = None,
    twice: Annotated[float, Option(help="Share of passages that a second assessor judges too.", least=0, most=1)] = 0.0,
    author: Author,
) -> Output:
    """Draw the next batch. Passages with a judgment in the source are not drawn."""
    batch = room.draw(project, find_audit(project, name), author, size, twice)
    return Output({"batch": batch.as_dict()}).note(
        f"Batch {batch.number}: {counted(batch.drawn, 'passage')} drawn of {batch.frame - batch.known:,}."
        f" Judged before: {batch.known:,}. To be judged twice: {batch.doubled:,}.",
        "Judge them on the Audit screen, or export them: exam audit export -o FILE",
    )


@operation("audit status", act="read the bank", reads=True)
def status(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Show the progress of an audit: batches and assessors."""
    found = find_audit(project, name)
    drawn, people = room.batches(project, found), room.assessors(project, found)
    output = Output(
        {
            "audit": found.as_dict(),
            "batches": [batch.as_dict() for batch in drawn],
            "assessors": [vars(one) for one in people],
        }
    )
    output.line(f"{found.name}: {found.goal.says}, by {found.measure_title}{' (ended)' if found.ended else ''}")
    output.table(
        ("batch", "drawn", "judged before", "judged", "cannot say", "skipped", "open", "twice", "state"),
        [
            (b.number, b.drawn, b.known, b.judged, b.cannot_say, b.skipped, b.open, b.judged_twice,
             "ended" if b.ended else "done" if b.done else "open")
            for b in drawn
        ],
    )  # fmt: skip
    if people:
        output.table(
            ("assessor", "current query", "judged", "cannot say", "skipped", "second judgments", "saw labels"),
            [(p.name, p.query_id, p.judged, p.cannot_say, p.skipped, p.second, p.looked) for p in people],
        )
    return output


@operation("audit export", act="plan audits")
def export(
    opening: Opening,
    *,
    name: AuditName = None,
    output: Annotated[str, Option("-o", "--output", help="Output file; - for standard output.", file="write")],
    form: Annotated[SheetForm, Option(help="Format of the output.", choices=SHEET_FORMS)] = "tsv",
    assessor: Annotated[
        str | None, Option(help="Assessor who gets the queries; other assessors do not get them.", metavar="NAME")
    ] = None,
    most: Annotated[int | None, Option(help="Approximate number of passages; queries stay whole.", least=1)] = None,
) -> str | TextOutput:
    """Export the open passages of a batch to a file. Import the judgments with exam audit import."""
    with opening() as project:
        warn_of_terms(project)
        sheet = room.sheet(
            project,
            find_audit(project, name),
            form,
            assessor,
            most,
            lambda text: deliver({output: text.encode()}),
        )
    if output == "-":
        return TextOutput().text(sheet.text)
    return f"Wrote {output}: {counted(sheet.passages, 'passage')} of {how_many(sheet.queries, 'queries')}."


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
    done = room.take_in(project, find_audit(project, name), Source.of(file), author)
    return Output(vars(done)).note(room.sentence(done))


@operation("audit release", act="judge audits")
def give_back(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """Release the queries reserved for --author, also those in exported files. Judgments are kept."""
    given = room.give_back(project, find_audit(project, name), author)
    return f"Released: {how_many(given, 'queries')}."


@operation("audit end-batch", act="plan audits")
def end_batch(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """End the newest batch before all its passages are judged. Intervals account for that."""
    found = find_audit(project, name)
    room.end_batch(project, found, author)
    return f"Ended the newest batch of '{found.name}'."


@operation("audit end", act="plan audits")
def end(
    project: Project,
    *,
    name: AuditName = None,
    author: Author,
) -> str:
    """End an audit. No more passages are drawn or judged; the leaderboard is kept."""
    found: Audit = find_audit(project, name)
    room.end_audit(project, found, author)
    return f"Ended the audit '{found.name}'."
