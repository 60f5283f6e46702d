"""Commands of the cascade: plan it, say what it costs, run it, and look at its board beside the plain baseline."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from core import cascade as room
from core.atomic_files import write_file
from core.cascade import Cascade, Portion, find_cascade
from core.cli.grade import price_words
from core.cli.guests import File, close_unfinished
from core.cli.options import (
    Command,
    Whole,
    author_option,
    counted,
    json_option,
    opened,
    print_json,
    print_table,
    project_option,
    tell,
)
from core.cli.patience import patience_option
from core.cli.policy import policy_options
from core.cli.progress import ProgressLines
from core.errors import GradingError, InputError
from core.graders import Grader
from core.grading import Progress, Request, Scope, make_control
from core.labels import Policy
from core.measures.cascade import AGREEMENTS, PROMISES, Agreement, Promise
from core.project import Project

_WORDS = {
    "sample": "the sample",
    "escalated": "all that it asks again",
    "baseline": "baseline: the union of what systems rank within the cutoff",
    "pool": "the whole pool",
}


def _name_argument(command: Command) -> Command:
    return click.argument("name", required=False)(command)


@click.group()
def cascade() -> None:
    """Let a cheap grader grade all, and an expensive one what the cheap one is unsure of and the board would feel.

    Plan it (plan), see what it costs (run --dry-run), run it, look at the board beside the plain baseline.
    """


@cascade.command()
@click.argument("name")
@project_option
@click.option("--cheap", required=True, metavar="GRADER", help="The grader that has graded all.")
@click.option("--expensive", required=True, metavar="GRADER", help="The grader that is asked again; one that has"
              " graded, or that is set up: see exam graders list.")  # fmt: skip
@click.option("--measure", default="nDCG@10", show_default=True,
              help="Gives what passages weigh: P@k, DCG@k, nDCG@k (as DCG@k), or RBP(p=0.8)@k.")  # fmt: skip
@click.option("--sample", type=Whole(3), default=room.SAMPLE, show_default=True, help="Draws that tell the threshold.")
@click.option("--alpha", type=float, default=room.ALPHA, show_default=True,
              help="Share of the board's weight that may disagree with the expensive grader.")  # fmt: skip
@click.option("--delta", type=float, default=room.DELTA, show_default=True, help="Chance that it is more.")
@click.option("--agreement", type=click.Choice(AGREEMENTS), default=AGREEMENTS[0], show_default=True,
              help="Labels agree on the same side of the min rating, or only where they are equal.")  # fmt: skip
@click.option("--of", "promise", type=click.Choice(PROMISES), default=PROMISES[0], show_default=True,
              help="Alpha is a share of all weight, or of the weight that keeps cheap labels.")  # fmt: skip
@click.option("--seed", type=Whole(0), help="Of the sample; one is made where not given.")
@author_option
@policy_options
@json_option
def plan(
    name: str,
    project_path: Path | None,
    cheap: str,
    expensive: str,
    measure: str,
    sample: int,
    alpha: float,
    delta: float,
    agreement: Agreement,
    promise: Promise,
    seed: int | None,
    author: str,
    policy: Policy,
    as_json: bool,
) -> None:
    """Plan a cascade NAME and draw its sample. Nothing is asked yet."""
    if policy.grader is not None:
        raise InputError("option-missing", "A cascade has two graders.", "Name them with --cheap and --expensive.")
    with opened(project_path) as project:
        made = room.plan(
            project, name, cheap, expensive, measure, policy, sample=sample, alpha=alpha, delta=delta,
            agreement=agreement, promise=promise, seed=seed, author=author,
        )  # fmt: skip
        found = room.portions(project, made, _grader(project, made))
    if as_json:
        print_json({"cascade": made.as_dict(), "portions": [asdict(one) for one in found]})
        return
    tell(f"Planned '{made.name}', weighing by {made.measure}; seed {made.seed}.")
    _print_portions(found)
    tell(f"Next: exam cascade run {shlex.quote(made.name)}")


def _grader(project: Project, made: Cascade) -> Grader | None:
    """The expensive grader for a price tag; None where it graded elsewhere, so that it has none here."""
    try:
        return room.grader_of(project, made)
    except (InputError, GradingError):
        return None


def _print_portions(found: list[Portion]) -> None:
    print_table(
        ("what", "passages", "pairs", "known", "to grade", "price"),
        [
            (_WORDS[one.name], "?", "?", "?", "?", "told by the sample")
            if one.passages is None or one.plan is None
            else (
                _WORDS[one.name],
                f"{one.passages:,}",
                f"{one.plan.needed:,}",
                f"{one.plan.known:,}",
                f"{one.plan.to_grade:,}",
                price_words(one.price).removeprefix(": ") if one.price else "",
            )
            for one in found
        ],
    )


@cascade.command(name="list")
@project_option
@json_option
def list_cascades(project_path: Path | None, as_json: bool) -> None:
    """List the cascades of the project."""
    with opened(project_path) as project:
        found = room.cascades(project)
    if as_json:
        print_json({"cascades": [one.as_dict() for one in found]})
        return
    print_table(
        ("cascade", "fingerprint", "weighs by", "agreement", "of", "alpha", "delta", "planned by"),
        [
            (one.name, one.fingerprint, one.measure, one.agreement, one.promise, one.alpha, one.delta, one.author)
            for one in found
        ],
    )


@cascade.command()
@_name_argument
@project_option
@click.option("--retry-failed", is_flag=True, help="Ask failed pairs again, too.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Money that it may spend at most.")
@click.option("--max-calls", type=Whole(1), help="Calls of the model at most, retries included.")
@click.option("--concurrency", type=click.IntRange(1, 1024), default=Request.concurrency, show_default=True,
              help="Calls in flight at most.")  # fmt: skip
@patience_option
@click.option("--dry-run", is_flag=True, help="Only say what would be asked, and what that would take.")
@author_option
@json_option
def run(
    name: str | None,
    project_path: Path | None,
    retry_failed: bool,
    max_cost: float | None,
    max_calls: int | None,
    concurrency: int,
    patience: float,
    dry_run: bool,
    author: str,
    as_json: bool,
) -> None:
    """Grade the sample with the expensive grader, then what that says is to be asked again; only what is missing."""
    with opened(project_path) as project:
        close_unfinished(project)
        found = find_cascade(project, name)
        if dry_run:
            asked = room.portions(project, found, _grader(project, found))
            print_json({"portions": [asdict(one) for one in asked]}) if as_json else _print_portions(asked)
            return
        missing = room.portions(project, found)
        if all(one.plan is not None and not one.plan.to_grade for one in missing[:2]) and not retry_failed:
            print_json({"graded": {}}) if as_json else tell("Nothing is missing.")
            return
        grader = room.grader_of(project, found)
        request = Request(Scope(retry_failed=retry_failed), None, max_calls, max_cost, concurrency, patience=patience)
        control = make_control(project, grader, request, lambda line: tell(f"exam: {line}"))
        done = room.run(project, found, grader, request, author, _watch(), control)
    for part, progress in done.items():
        if progress.state in ("failed", "cancelled"):
            raise GradingError(
                "job-failed", progress.message, f"{counted(progress.graded, 'pair')} of {_WORDS[part]} graded: kept."
            )
    if as_json:
        print_json({"graded": {part: {"state": p.state, "graded": p.graded, "failed": p.failed} | asdict(p.usage)
                               for part, p in done.items()}})  # fmt: skip
        return
    for part, progress in done.items():
        tell(f"{_WORDS[part]}: graded {counted(progress.graded, 'pair')}, {progress.failed:,} failed.")
        if progress.message:
            tell(progress.message)
    tell(f"Next: exam cascade board {shlex.quote(found.name)}")


def _watch() -> Callable[[str, Progress], None]:
    lines: dict[str, ProgressLines] = {}

    def say(part: str, progress: Progress) -> None:
        told = lines.setdefault(part, ProgressLines("pairs"))
        told.say(progress.done, progress.total, progress.rate, progress.over)

    return say


@cascade.command()
@_name_argument
@project_option
@json_option
def calibrate(name: str | None, project_path: Path | None, as_json: bool) -> None:
    """Say what the sample tells: the threshold that keeps the promise, and how many passages are asked again."""
    with opened(project_path) as project:
        told = room.calibrate(project, find_cascade(project, name))
    if as_json:
        print_json(told.as_dict())
        return
    guarantee, made = told.decision.guarantee, told.cascade
    print_table(
        ("kept", "of", "draws", "disagree", "at most", "holds"),
        [
            (step.kept, guarantee.passages, step.draws, step.disagreed, step.bound, "yes" if step.holds else "no")
            for step in guarantee.steps
        ],
    )
    what = "the board's weight" if made.promise == "all" else "the weight that keeps cheap labels"
    tell(
        f"{told.escalated:,} of {counted(told.union, 'passage')} are asked again, {told.sampled:,} of them sampled"
        f" ({told.union / len(told.facts.codes):.1%} of the pool are on the board). At most {made.alpha:.0%} of {what}"
        f" disagrees by {made.agreement}, but for a chance of {made.delta:.0%}."
    )
    if not guarantee.chosen.kept:
        tell("No threshold holds: all of them are asked again, which is the plain baseline.")
    if told.waiting:
        tell(f"{counted(told.waiting, 'passage')} wait: exam cascade run {shlex.quote(made.name)}")


@cascade.command()
@_name_argument
@project_option
@click.option("--measure", help="A measure of labels; nDCG@k where it weighs by DCG@k, else the one that it weighs by.")
@click.option("--against", help="The official board: judgments, or the name of a source.")
@json_option
def board(name: str | None, project_path: Path | None, measure: str | None, against: str | None, as_json: bool) -> None:
    """Order the systems by the cascade's labels, beside the plain baseline: only the union of the systems' tops."""
    with opened(project_path) as project:
        found = room.boards(project, find_cascade(project, name), measure, against)
    if as_json:
        print_json(found.as_dict())
        return
    others = found.others
    ranks = {label: {s.run: s.rank for s in one.systems} for label, one in others.items()}
    print_table(
        ("rank", "run", found.cascade.measure, "std error", *(f"rank: {label}" for label in others)),
        [
            (s.rank, s.run, s.score, s.std_error, *(ranks[label].get(s.run) for label in others))
            for s in found.cascade.systems
        ],
    )
    rows = [
        (one, other, told.kendall, told.spearman)
        for one, by in found.correlations().items()
        for other, told in by.items()
    ]
    if rows:
        click.echo()
        print_table(("board", "with", "Kendall", "Spearman"), rows)
    tell(
        f"{found.labels.from_expensive:,} of {counted(len(found.labels.labels), 'label')} are the expensive grader's."
        f" The union of the systems' top {found.cutoff} has {counted(found.cutoff_passages, 'passage')}:"
        " grading those alone is the plain baseline."
    )
    if not found.depth:
        tell("Not even the systems' first ranks are graded whole, so it has no board here.")
    elif found.depth < found.cutoff:
        tell(f"It is graded down to rank {found.depth} ({counted(found.baseline_passages, 'passage')}).")
    if found.labels.waiting:
        tell(f"{counted(found.labels.waiting, 'passage')} wait to be asked again: exam cascade run")


@cascade.command()
@_name_argument
@project_option
@click.option("-o", "--output", required=True, type=File(written=True), help="File to write; - for standard output.")
@json_option
def labels(name: str | None, project_path: Path | None, output: str, as_json: bool) -> None:
    """Write the labels as TSV: query, passage, label, and the grader whose it is."""
    with opened(project_path) as project:
        found = room.cascade_labels(project, find_cascade(project, name))
    content = room.labels_tsv(found)
    if output == "-":
        sys.stdout.write(content)
        return
    write_file(Path(output), content.encode())
    told: dict[str, Any] = {
        "file": output, "labels": len(found.labels), "from_expensive": found.from_expensive, "waiting": found.waiting
    }  # fmt: skip
    print_json(told) if as_json else tell(
        f"Wrote {output}: {counted(len(found.labels), 'label')}, {found.from_expensive:,} of the expensive grader."
    )
