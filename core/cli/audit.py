"""Commands of the audit: plan it, draw batches, deal them or send them out as files, and end it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from .. import audit as room
from ..audit import AIMS, Aim, Audit, Goal, find_audit
from ..formats import SHEET_FORMS, SheetForm, Source
from ..labels import Policy
from ..project import Project
from ..text import how_many
from .audit_board import audit_option, board, calibrate, curve, methods, roles
from .guests import File, deliver
from .options import (
    MOST_DRAWS,
    Whole,
    author_option,
    counted,
    json_option,
    opened,
    project_option,
)
from .policy import policy_options
from .printing import Output, on_project, printed


@click.group()
def audit() -> None:
    """Correct the grader's leaderboard with judgments of a random sample.

    Plan the audit (design), draw a batch (draw), judge it on the Audit screen or elsewhere (export, import), and show
    the audited leaderboard (board).
    """


for command in (board, calibrate, curve, methods, roles):
    audit.add_command(command)


@audit.command()
@click.argument("name")
@project_option
@click.option("--measure", default="DCG@10", show_default=True,
              help="P@k, RBP(p=0.8)@k, or DCG@k for 'mean judgment@k (DCG weights)'.")  # fmt: skip
@click.option("--goal", "aim", type=click.Choice(AIMS), default="best", show_default=True,
              help="best: find the best system; pair: compare --first with --second; width: every score within"
              " --half-width; budget: spend --budget judgments.")  # fmt: skip
@click.option("--first", metavar="RUN", help="First system of --goal pair.")
@click.option("--second", metavar="RUN", help="Second system of --goal pair.")
@click.option("--half-width", type=float, help="Largest half-width of the intervals, for example 0.02.")
@click.option("--budget", type=Whole(1), help="Number of judgments that you can afford.")
@click.option("--run", "runs", multiple=True, help="Only this system; may be repeated (default: all).")
@click.option(
    "--with-grader", "graders", multiple=True, help="Predict from this grader's ratings too; may be repeated."
)
@click.option("--source", help="Judgment source; its judgments are reused (default: 'audit: NAME').")
@click.option("--highest", type=Whole(1), help="Highest judgment (default: highest of the source, else 3).")
@click.option("--batch-size", type=Whole(1), help="Passages per batch.")
@click.option("--looks", type=Whole(1, MOST_DRAWS), help="Number of batches; you may stop after each.")
@click.option(
    "--alpha", type=float, default=room.ALPHA, show_default=True, help="Error rate over all batches together."
)
@click.option("--seed", type=Whole(0), help="Seed of the draws (default: random).")
@author_option
@policy_options
@json_option
@printed
def design(
    name: str,
    project_path: Path | None,
    measure: str,
    aim: Aim,
    first: str | None,
    second: str | None,
    half_width: float | None,
    budget: int | None,
    runs: tuple[str, ...],
    graders: tuple[str, ...],
    source: str | None,
    highest: int | None,
    batch_size: int | None,
    looks: int | None,
    alpha: float,
    seed: int | None,
    author: str,
    policy: Policy,
) -> Output:
    """Plan the audit NAME of the grader's leaderboard. No passages are drawn yet."""
    goal = Goal(aim, first, second, half_width, budget)
    with opened(project_path) as project:
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


@audit.command(name="list")
@project_option
@json_option
@on_project
def list_audits(project: Project) -> Output:
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


@audit.command()
@project_option
@audit_option
@click.option("--size", type=Whole(1), help="Passages to draw (default: as planned).")
@click.option("--twice", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Share of passages that a second assessor judges too.")  # fmt: skip
@author_option
@json_option
@on_project
def draw(project: Project, name: str | None, size: int | None, twice: float, author: str) -> Output:
    """Draw the next batch. Passages with a judgment in the source are not drawn."""
    batch = room.draw(project, find_audit(project, name), author, size, twice)
    return Output({"batch": batch.as_dict()}).note(
        f"Batch {batch.number}: {counted(batch.drawn, 'passage')} drawn of {batch.frame - batch.known:,}."
        f" Judged before: {batch.known:,}. To be judged twice: {batch.doubled:,}.",
        "Judge them on the Audit screen, or export them: exam audit export -o FILE",
    )


@audit.command()
@project_option
@audit_option
@json_option
@on_project
def status(project: Project, name: str | None) -> Output:
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


@audit.command()
@project_option
@audit_option
@click.option("-o", "--output", required=True, type=File(written=True), help="Output file; - for standard output.")
@click.option("--form", type=click.Choice(SHEET_FORMS), default="tsv", show_default=True, help="Format of the output.")
@click.option("--assessor", metavar="NAME", help="Assessor who gets the queries; other assessors do not get them.")
@click.option("--most", type=Whole(1), help="Approximate number of passages; queries stay whole.")
@printed
def export(
    project_path: Path | None, name: str | None, output: str, form: SheetForm, assessor: str | None, most: int | None
) -> str | None:
    """Export the open passages of a batch to a file. Import the judgments with exam audit import."""
    with opened(project_path) as project:
        sheet = room.sheet(
            project,
            find_audit(project, name),
            form,
            assessor,
            most,
            lambda text: deliver({output: text.encode()}),
        )
    if output == "-":
        sys.stdout.buffer.write(sheet.text.encode())
        return None
    return f"Wrote {output}: {counted(sheet.passages, 'passage')} of {how_many(sheet.queries, 'queries')}."


@audit.command(name="import")
@click.argument("file", type=File(path_type=Path))
@project_option
@audit_option
@author_option
@json_option
@on_project
def import_(file: Path, project: Project, name: str | None, author: str) -> Output:
    """Import judgments of a batch from FILE: the exported sheet, TSV, JSONL or qrels.

    If a line is invalid, nothing is imported. Importing the same file again changes nothing.
    """
    done = room.take_in(project, find_audit(project, name), Source.of(file), author)
    return Output(vars(done)).note(room.sentence(done))


@audit.command("give-back")
@project_option
@audit_option
@author_option
@on_project
def give_back(project: Project, name: str | None, author: str) -> str:
    """Release the queries that --author has, also in exported files. Judgments are kept."""
    given = room.give_back(project, find_audit(project, name), author)
    return f"Released: {how_many(given, 'queries')}."


@audit.command("end-batch")
@project_option
@audit_option
@author_option
@on_project
def end_batch(project: Project, name: str | None, author: str) -> str:
    """End the newest batch before all its passages are judged. Intervals account for that."""
    found = find_audit(project, name)
    room.end_batch(project, found, author)
    return f"Ended the newest batch of '{found.name}'."


@audit.command()
@project_option
@audit_option
@author_option
@on_project
def end(project: Project, name: str | None, author: str) -> str:
    """End an audit. No more passages are drawn or judged; the leaderboard is kept."""
    found: Audit = find_audit(project, name)
    room.end_audit(project, found, author)
    return f"Ended the audit '{found.name}'."
