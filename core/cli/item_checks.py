"""Commands that say what filters find in items, what an exam is like, and what its items ask about."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import click

from ..pipelines import (
    SHARE,
    VALUE_COLUMNS,
    Checked,
    Item,
    Thresholds,
    categories,
    exam_items,
    item_values,
    judged,
    last_acceptance,
    making_of,
    set_keywords,
    statistics,
    usual_thresholds,
    value_row,
)
from ..project import Project, current_author
from ..tables import disarmed
from ..text import one_line
from .guests import File, text_of
from .options import json_option, project_option, with_options
from .printing import Output, on_project

ItemsOf = Literal["all", "proposals", "bank"]

exam_option = click.option("--exam", "query_id", help="Only items of this query. Default: all.")

_BOUNDS = {
    "extra_gram": "Flag items above this n-gram margin: similarity to the source, wrong choice minus key.",
    "extra_embedding": "Flag items above this cosine margin: similarity to the source, wrong choice minus key.",
    "intra_jaccard": "Flag items at or above this Jaccard similarity of the key and a wrong choice.",
    "intra_embedding": "Flag items at or above this cosine of the key and a wrong choice.",
    "intra_rouge": "Flag items at or above this ROUGE-L of the key and a wrong choice. Default: not checked.",
    "near": "Flag items at or above this cosine to another item as near-duplicates.",
}


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the thresholds of the filters; a command gets a function from values to thresholds as `thresholds`."""

    @functools.wraps(command)
    def with_filters(*args: Any, share: float | None, self_contained: bool | None, **others: Any) -> Any:
        given = {name: others.pop(name) for name in _BOUNDS} | {"self_contained": self_contained}

        def thresholds(values: Sequence[Any], recorded: Thresholds | None = None) -> Thresholds:
            usual = usual_thresholds(values, SHARE if share is None else share)
            set_here = {name: bound for name, bound in given.items() if bound is not None}
            return replace(recorded if recorded is not None and share is None else usual, **set_here)

        return command(*args, thresholds=thresholds, **others)

    bounds = [
        click.option(f"--{name.replace('_', '-')}", name, type=float, help=said) for name, said in _BOUNDS.items()
    ]
    return with_options(
        with_filters,
        click.option(
            "--share",
            type=click.FloatRange(0, 1),
            help="Largest share of items that each default threshold flags. Default: 0.05.",
        ),
        click.option(
            "--self-contained/--any-reference",
            default=None,
            help="Flag or allow questions that refer to a paper, a study or the documentation. Default: flag.",
        ),
        *bounds,
    )


@click.command()
@project_option
@exam_option
@click.option("--of", type=click.Choice(["all", "proposals", "bank"]), default="all", show_default=True)
@filter_options
@json_option
@on_project
def check(
    project: Project,
    query_id: str | None,
    of: ItemsOf,
    thresholds: Callable[[Sequence[Any]], Thresholds],
) -> Output:
    """Check items with filters: print values and broken rules as TSV.

    Nothing is removed: use exam items accept or retire. Each default threshold flags at most 5 % of the items. With
    --of bank, the default thresholds are those recorded by exam items accept --passing, if any.
    """
    checked, at = checked_items(project, query_id, of, thresholds)
    output = Output({"thresholds": asdict(at), "items": [asdict(one) for one in checked]}).line(
        "\t".join(("item", "state", "topic", *VALUE_COLUMNS, "rules", "question"))
    )
    for one in checked:
        rules = ", ".join(dict.fromkeys(hit.rule for hit in one.hits))
        cells = [named(one.item), state(one.item), one.item.topic, *value_row(one.values), rules, one.item.text]
        output.line("\t".join(_cell(cell) for cell in cells))
    said = ", ".join(
        f"{name.replace('_', ' ')} {bound:g}" for name in _BOUNDS if (bound := getattr(at, name)) is not None
    )
    fall = sum(bool(one.hits) for one in checked)
    return output.note(f"Items that break a rule: {fall:,} of {len(checked):,}. Thresholds: {said or 'none'}.")


@click.command(name="statistics")
@project_option
@exam_option
@click.option("--filters/--no-filters", default=True, show_default=True, help="Also count items by broken rule.")
@filter_options
@json_option
@on_project
def exam_statistics(
    project: Project,
    query_id: str | None,
    filters: bool,
    thresholds: Callable[[Sequence[Any]], Thresholds],
) -> Output:
    """Show statistics of an exam: origin of items, scores reached by guessing, question types and topics."""
    found = exam_items(project, query_id)
    checked = checked_items(project, query_id, "bank", thresholds)[0] if filters else None
    said = statistics(found, making_of(project, query_id), checked)
    made = said.making
    rows: list[tuple[str, Any]] = [] if made is None else [*made.table]
    rows += [("items", said.items), ("without a key", said.without_key), ("retired", said.retired)]
    rows += [(f"  {rule}", count) for rule, count in (said.filtered or {}).items()]
    rows += [] if said.kept is None else [("break no rule", said.kept)]
    rows += [
        (f"score of always {said.fixed_letter or 'the same letter'}", said.fixed_answer),
        ("score of the longest choice", said.longest_answer),
        ("mean characters per question", said.question_length),
    ]
    rows += [(f"  {word}", count) for word, count in said.question_types.items()]
    rows += [(f"topic: {topic or 'none'}", count) for topic, count in said.topics.items()]
    return Output(asdict(said)).table(("statistic", "value"), [(name, _number(value)) for name, value in rows])


@click.command(name="categories")
@project_option
@exam_option
@click.option("--whole-word", is_flag=True, help="Match question words as whole words only.")
@click.option(
    "--keywords",
    type=File(path_type=Path),
    metavar="FILE",
    help="Set the project's words of Bloom's levels from this YAML file.",
)
@click.option("--usual-keywords", is_flag=True, help="Restore the built-in words of Bloom's levels.")
@json_option
@on_project
def item_categories(
    project: Project,
    query_id: str | None,
    whole_word: bool,
    keywords: Path | None,
    usual_keywords: bool,
) -> Output:
    """Count active items by Bloom level and question type. An item may have several."""
    if keywords is not None or usual_keywords:
        text = None if keywords is None else text_of(keywords)
        set_keywords(project, text, current_author(), str(keywords))
    found = [item for item in exam_items(project, query_id) if item.active]
    by = categories(project, found, whole_word)
    rows = []
    for scheme, of_items in by.items():
        every = [name for names in of_items.values() for name in names]
        rows += [(scheme, name, every.count(name)) for name in sorted(set(every), key=lambda one: -every.count(one))]
    return Output(by).table(("by", "category", "items"), rows)


def checked_items(
    project: Project, query_id: str | None, of: ItemsOf, thresholds: Callable[..., Thresholds]
) -> tuple[list[Checked], Thresholds]:
    """Items of the bank that are active, open proposals, or both, with what the filters say."""
    values = item_values(project, query_id, of)
    accepted = last_acceptance(project, query_id) if of == "bank" else None
    at = thresholds(values, accepted and accepted.thresholds)
    return judged(values, at), at


def named(item: Item) -> str:
    return item.question_id if item.proposal_key is None else str(item.proposal_key)


def state(item: Item) -> str:
    return "proposed" if item.proposal_key is not None else "active" if item.active else "retired"


def _cell(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else disarmed(one_line(str(value)))


def _number(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:z.3f}" if isinstance(value, float) else f"{value:,}"
