"""Commands about exam items: generate them with a model, list, accept, retire, change and import them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

from .. import bank
from ..bank import Scheme, save_drafts, set_categories, set_item
from ..errors import GradingError, InputError
from ..exams import (
    EXAM,
    Wanted,
    accept_passing,
    categories,
    exam_items,
    generate_items,
    generation_price,
    proposed_items,
    retire as retire_items,
)
from ..exchange import Options, import_files
from ..formats import Source
from ..grading import make_drafter
from ..jobs import Caps
from ..store import Project, current_author
from ..text import one_line
from .answer_options import may_use_key, watch
from .console import counted
from .describing import Argument, Option
from .generate import ModelOptions, PromptOption, begin
from .item_checks import ExamId, FilterOptions, checked_items, named, state
from .opening import Opening
from .output import Output, at_most_one
from .patience import Patience
from .registry import operation

SHOWN = 80
"""Characters of a question in a table."""

SaveNote = Annotated[
    str | None, Option(help="Save the question bank now, with this note and all your unsaved changes.")
]


@operation("items generate", act="write with models")
def generate(
    project: Project,
    *,
    query_id: Annotated[str, Option("--exam", help="Query that the items belong to.")] = EXAM,
    domain: Annotated[str, Option(help="Subject of the passages, for the prompt.")] = Wanted.domain,
    run: Annotated[
        str | None, Option("--chunks", help="Only passages of this run; their query becomes the topic.", metavar="RUN")
    ] = None,
    limit: Annotated[int | None, Option(help="Number of passages, drawn at random. Default: all.", least=1)] = None,
    seed: Annotated[int, Option(help="Random seed of the passages and the order of choices.")] = 0,
    topic: Annotated[str | None, Option(help="Topic of all new items.")] = None,
    again: Annotated[bool, Option(help="Retry passages for which the model wrote no usable item.")] = False,
    settings: ModelOptions,
    prompt: PromptOption = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)] = None,
    patience: Patience,
    dry_run: Annotated[bool, Option(help="Show the estimated calls, tokens and cost; call no model.")] = False,
) -> Output:
    """Generate one item per passage with a model. They are proposals until you accept them.

    Interrupted jobs resume with the same command. Passages already asked about are skipped.
    """
    wanted = Wanted(query_id, domain, prompt, run, limit, seed, topic, again)
    with may_use_key(settings):
        drafter = make_drafter(settings)
        if dry_run:
            tag = generation_price(project, drafter, wanted)
            cost = "" if tag.cost is None else f", cost {tag.cost:,.2f}"
            return Output(asdict(tag)).note(
                f"Estimated: {counted(tag.calls, 'call')}, {tag.input_tokens:,} input and"
                f" {tag.output_tokens:,} output tokens{cost}."
            )
        control = begin(project, drafter, Caps(max_calls=max_calls, max_cost=max_cost, patience=patience))
        report = generate_items(project, drafter, current_author(), wanted, control, watch("passages"))
    rest = f" Limit reached; {counted(report.stopped, 'passage')} left." if report.stopped else ""
    output = Output(asdict(report)).note(
        *(f"exam: no item from {failure}" for failure in report.failed[:20]),
        f"{counted(len(report.keys), 'item')} from {counted(report.asked, 'passage')}.{rest}",
        "To check them: exam items check",
    )
    nothing = GradingError("nothing-usable", "The model wrote no usable item.", "Try another model or prompt.")
    return output.failing(None if report.keys else nothing)


@operation("items list", act="read the bank", reads=True)
@at_most_one(proposed="--proposed", version="--bank-version")
def list_(
    project: Project,
    *,
    query_id: ExamId = None,
    version: Annotated[int | None, Option("--bank-version", help="Bank version. Default: the newest.")] = None,
    proposed: Annotated[bool, Option(help="List open proposals instead of items in the question bank.")] = False,
) -> Output:
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


@operation("items accept", act="edit questions")
def accept(
    opening: Opening,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="[PROPOSAL]...")] = (),
    query_id: ExamId = None,
    passing: Annotated[bool, Option(help="Accept all open proposals that break no rule.")] = False,
    thresholds: FilterOptions,
    note: SaveNote = None,
) -> Output:
    """Accept proposed items as unsaved changes. Save them with --note or with exam bank save.

    --passing also records its thresholds. Later checks of the accepted items use them.
    """
    if bool(keys) == passing:
        said = "PROPOSAL and --passing cannot be combined." if keys else "No proposal was named."
        hint = "Use --passing, or numbers from exam items list --proposed."
        raise InputError("options-exclude-each-other", said, hint)
    _check_note(note)
    author = current_author()
    with opening() as project:
        if passing:
            made = accept_passing(project, *checked_items(project, query_id, "all", thresholds), author)
        else:
            made = bank.accept(project, keys, author)
        version = save_drafts(project, author, note) if note is not None else None
    return _describe_drafts([q.question_id for q in made], "accepted", version)


@operation("items retire", act="save the bank")
def retire(
    opening: Opening,
    *,
    item_ids: Annotated[tuple[str, ...], Argument(metavar="ITEM...")],
    note: SaveNote = None,
) -> Output:
    """Retire items as unsaved changes. Save them with --note or with exam bank save.

    To undo a saved change, restore an earlier bank version.
    """
    _check_note(note)
    author = current_author()
    with opening() as project:
        gone = retire_items(project, item_ids, author)
        version = save_drafts(project, author, note) if note is not None else None
    return _describe_drafts([q.question_id for q in gone], "retired", version)


@operation("items import", act="import files")
def import_(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read")],
    query_id: Annotated[str, Option("--exam", help="Query that the items belong to.")] = EXAM,
    preview: Annotated[bool, Option(help="Show the effects of the import; change nothing.")] = False,
) -> Output:
    """Import an exam.json: items, sources and retrieved contexts. Same as exam import exam."""
    options = Options(source=None if query_id == EXAM else query_id)
    done = import_files(project, "exam", [Source.of(file)], current_author(), options, preview)
    output = Output({"counts": done.counts, "notes": [str(note) for note in done.notes]})
    output.note(*(f"note: {one}" for one in done.notes))
    return output.line(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))


@operation("items set", act="run exams")
def set_(
    opening: Opening,
    *,
    item_ids: Annotated[tuple[str, ...], Argument(metavar="ITEM...")],
    topic: Annotated[str | None, Option(help="Topic; empty to remove it.")] = None,
    passage: Annotated[
        str | None, Option("--source", help="Source passage of the items; empty to remove it.", metavar="PASSAGE")
    ] = None,
    levels: Annotated[
        tuple[str, ...], Option("--bloom", help="Level of Bloom's taxonomy, or auto; may be repeated.")
    ] = (),
    types: Annotated[tuple[str, ...], Option("--type", help="Question type, or auto; may be repeated.")] = (),
) -> str:
    """Set the topic, source or categories of items. The activity log keeps the old values.

    The category auto restores the computed categories.
    """
    if topic is None and passage is None and not levels and not types:
        raise InputError("option-missing", "No value was named.", "Use --topic, --source, --bloom or --type.")
    author = current_author()
    with opening() as project:
        if topic is not None or passage is not None:
            set_item(project, item_ids, author, topic=topic, source_passage_id=passage)
        for scheme, named in (("bloom", levels), ("question type", types)):
            if named:
                set_categories(project, item_ids, cast(Scheme, scheme), None if named == ("auto",) else named, author)
    return f"Changed: {counted(len(set(item_ids)), 'item')}."


def _check_note(note: str | None) -> None:
    if note is not None and not note.strip():
        raise InputError("empty-note", "The note is empty.", "Describe the change in a few words.")


def _describe_drafts(ids: Sequence[str], what: str, version: int | None) -> Output:
    saved = f" and saved as bank version {version}."
    unsaved = ", not saved yet. To save: exam bank save --note NOTE"
    output = Output({"items": list(ids), "version": version})
    return output.note(f"{counted(len(ids), 'item')} {what}{unsaved if version is None else saved}")


def _short(text: str | None) -> str | None:
    return None if text is None else one_line(text, SHOWN)
