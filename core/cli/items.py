"""Commands about the items of exams: let a model write them, list, accept, retire, change and import them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click

from .. import bank
from ..bank import Scheme, save_drafts, set_categories, set_item
from ..errors import GradingError, InputError
from ..exchange import Options, import_files
from ..formats import Source
from ..grading import make_drafter
from ..jobs import Caps, job_control
from ..pipelines import (
    EXAM,
    Thresholds,
    Wanted,
    accept_passing,
    categories,
    exam_items,
    generate_items,
    generation_price,
    proposed_items,
)
from ..pipelines import retire as retire_items
from ..project import Project, current_author
from ..text import one_line
from .generate import model_options
from .guests import File
from .item_checks import (
    check,
    checked_items,
    exam_option,
    exam_statistics,
    filter_options,
    item_categories,
    named,
    state,
)
from .options import Whole, counted, json_option, opened, print_json, project_option, tell
from .patience import patience_option
from .printing import Output, at_most_one, on_project
from .progress import ProgressLines, tell_of_calls

SHOWN = 80
"""Characters of a question in a table for people."""

note_option = click.option("--note", help="Save the question bank now, with this note and all your unsaved changes.")


@click.group()
def items() -> None:
    """Generate, check, accept, retire, import and count exam items."""


for command in (check, exam_statistics, item_categories):
    items.add_command(command)


@items.command()
@project_option
@click.option("--exam", "query_id", default=EXAM, show_default=True, help="Query that the items belong to.")
@click.option("--domain", default=Wanted.domain, show_default=True, help="Subject of the passages, for the prompt.")
@click.option("--chunks", "run", metavar="RUN", help="Only passages of this run; their query becomes the topic.")
@click.option("--limit", type=Whole(1), help="Number of passages, drawn at random. Default: all.")
@click.option(
    "--seed",
    type=Whole(),
    default=0,
    show_default=True,
    help="Random seed of the passages and the order of choices.",
)
@click.option("--topic", help="Topic of all new items.")
@click.option("--again", is_flag=True, help="Retry passages for which the model wrote no usable item.")
@model_options
@click.option("--max-calls", type=Whole(1), help="Call limit, retries included.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Cost limit, in the currency of exam prices.")
@patience_option
@click.option("--dry-run", is_flag=True, help="Show the estimated calls, tokens and cost; call no model.")
@json_option
def generate(
    project_path: Path | None,
    query_id: str,
    domain: str,
    run: str | None,
    limit: int | None,
    seed: int,
    topic: str | None,
    again: bool,
    settings: dict[str, str],
    prompt: str | None,
    max_calls: int | None,
    max_cost: float | None,
    patience: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Generate one item per passage with a model. They are proposals until you accept them.

    Interrupted jobs resume with the same command. Passages already asked about are skipped.
    """
    wanted = Wanted(query_id, domain, prompt, run, limit, seed, topic, again)
    with opened(project_path) as project:
        drafter = make_drafter(settings)
        if dry_run:
            tag = generation_price(project, drafter, wanted)
            if as_json:
                print_json(asdict(tag))
            else:
                cost = "" if tag.cost is None else f", cost {tag.cost:,.2f}"
                tell(
                    f"Estimated: {counted(tag.calls, 'call')}, {tag.input_tokens:,} input and"
                    f" {tag.output_tokens:,} output tokens{cost}."
                )
            return
        control = job_control(
            project, drafter.model, drafter.back_end,
            Caps(max_calls=max_calls, max_cost=max_cost, patience=patience), tell_of_calls(),
        )  # fmt: skip
        lines = ProgressLines("passages")

        def watch(done: int, total: int) -> None:
            lines.say(done, total, over=done == total)

        report = generate_items(project, drafter, current_author(), wanted, control, watch)
        if as_json:
            print_json(asdict(report))
        else:
            for failure in report.failed[:20]:
                tell(f"exam: no item from {failure}")
            rest = f" Limit reached; {counted(report.stopped, 'passage')} left." if report.stopped else ""
            tell(f"{counted(len(report.keys), 'item')} from {counted(report.asked, 'passage')}.{rest}")
            tell("To check them: exam items check")
    if not report.keys:
        raise GradingError("nothing-usable", "The model wrote no usable item.", "Try another model or prompt.")


@items.command(name="list")
@project_option
@exam_option
@click.option("--bank-version", "version", type=Whole(), help="Bank version. Default: the newest.")
@click.option("--proposed", is_flag=True, help="List open proposals instead of items in the question bank.")
@json_option
@at_most_one(proposed="--proposed", version="--bank-version")
@on_project
def list_(project: Project, query_id: str | None, version: int | None, proposed: bool) -> Output:
    """List items with key, topic and source."""
    found = proposed_items(project, query_id) if proposed else exam_items(project, query_id, version)
    by = categories(project, found)
    value = [
        asdict(item) | {"bloom": by["bloom"][item.question_id], "type": by["question type"][item.question_id]}
        for item in found
    ]
    return Output({"items": value}).table(
        ("item", "state", "topic", "source", "key", "question"),
        [
            (named(item), state(item), item.topic, item.source_passage_id, _short(item.key), _short(item.text))
            for item in found
        ],
    )


@items.command()
@click.argument("keys", nargs=-1, type=Whole(), metavar="[PROPOSAL]...")
@project_option
@exam_option
@click.option("--passing", is_flag=True, help="Accept all open proposals that break no rule.")
@filter_options
@note_option
@json_option
def accept(
    keys: tuple[int, ...],
    project_path: Path | None,
    query_id: str | None,
    passing: bool,
    thresholds: Callable[[Sequence[Any]], Thresholds],
    note: str | None,
    as_json: bool,
) -> None:
    """Accept proposed items as unsaved changes. Save them with --note or with exam bank save.

    --passing also records its thresholds. Later checks of the accepted items use them.
    """
    if bool(keys) == passing:
        said = "PROPOSAL and --passing cannot be combined." if keys else "No proposal was named."
        hint = "Use --passing, or numbers from exam items list --proposed."
        raise InputError("options-exclude-each-other", said, hint)
    _check_note(note)
    author = current_author()
    with opened(project_path) as project:
        if passing:
            made = accept_passing(project, *checked_items(project, query_id, "all", thresholds), author)
        else:
            made = bank.accept(project, keys, author)
        version = save_drafts(project, author, note) if note is not None else None
    _say_drafted([q.question_id for q in made], "accepted", version, as_json)


@items.command()
@click.argument("item_ids", nargs=-1, required=True, metavar="ITEM...")
@project_option
@note_option
@json_option
def retire(item_ids: tuple[str, ...], project_path: Path | None, note: str | None, as_json: bool) -> None:
    """Retire items as unsaved changes. Save them with --note or with exam bank save.

    To undo a saved change, restore an earlier bank version.
    """
    _check_note(note)
    author = current_author()
    with opened(project_path) as project:
        gone = retire_items(project, item_ids, author)
        version = save_drafts(project, author, note) if note is not None else None
    _say_drafted([q.question_id for q in gone], "retired", version, as_json)


@items.command(name="import")
@click.argument("file", type=File(path_type=Path))
@project_option
@click.option("--exam", "query_id", default=EXAM, show_default=True, help="Query that the items belong to.")
@click.option("--preview", is_flag=True, help="Show the effects of the import; change nothing.")
@json_option
def import_(file: Path, project_path: Path | None, query_id: str, preview: bool, as_json: bool) -> None:
    """Import an exam.json: items, sources and retrieved contexts. Same as exam import exam."""
    with opened(project_path) as project:
        options = Options(source=None if query_id == EXAM else query_id)
        done = import_files(project, "exam", [Source.of(file)], current_author(), options, preview)
    if as_json:
        print_json({"counts": done.counts, "notes": [str(note) for note in done.notes]})
        return
    for one in done.notes:
        tell(f"note: {one}")
    click.echo(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))


@items.command(name="set")
@click.argument("item_ids", nargs=-1, required=True, metavar="ITEM...")
@project_option
@click.option("--topic", help="Topic; empty to remove it.")
@click.option("--source", "passage", metavar="PASSAGE", help="Passage behind the items; empty to remove it.")
@click.option("--bloom", "levels", multiple=True, help="Level of Bloom's taxonomy, or auto; may be repeated.")
@click.option("--type", "types", multiple=True, help="Question type, or auto; may be repeated.")
def set_(
    item_ids: tuple[str, ...],
    project_path: Path | None,
    topic: str | None,
    passage: str | None,
    levels: tuple[str, ...],
    types: tuple[str, ...],
) -> None:
    """Set the topic, source or categories of items. The activity log keeps the old values.

    The category auto restores the computed categories.
    """
    if topic is None and passage is None and not levels and not types:
        raise InputError("option-missing", "No value was named.", "Use --topic, --source, --bloom or --type.")
    author = current_author()
    with opened(project_path) as project:
        if topic is not None or passage is not None:
            set_item(project, item_ids, author, topic=topic, source_passage_id=passage)
        for scheme, named in (("bloom", levels), ("question type", types)):
            if named:
                set_categories(project, item_ids, cast(Scheme, scheme), None if named == ("auto",) else named, author)
    tell(f"Changed: {counted(len(set(item_ids)), 'item')}.")


def _check_note(note: str | None) -> None:
    if note is not None and not note.strip():
        raise InputError("empty-note", "The note is empty.", "Describe the change in a few words.")


def _say_drafted(ids: Sequence[str], what: str, version: int | None, as_json: bool) -> None:
    if as_json:
        print_json({"items": list(ids), "version": version})
    elif version is None:
        tell(f"{counted(len(ids), 'item')} {what}, not saved yet. To save: exam bank save --note NOTE")
    else:
        tell(f"{counted(len(ids), 'item')} {what} and saved as bank version {version}.")


def _short(text: str | None) -> str | None:
    return None if text is None else one_line(text, SHOWN)
