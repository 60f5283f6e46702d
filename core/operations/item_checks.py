"""Commands that show the filters' results for items, statistics of an exam, and the categories of its items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from ..exams import (
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
from ..store import Project, current_author
from ..tables import disarmed
from ..text import one_line
from .console import text_of
from .describing import Gathered, Option
from .output import Output
from .registry import operation

ItemsOf = Literal["all", "proposals", "bank"]

ExamId = Annotated[str | None, Option("--exam", help="Only items of this query. Default: all.")]

_BOUNDS = ("extra_gram", "extra_embedding", "intra_jaccard", "intra_embedding", "intra_rouge", "near")


def _filters(
    *,
    share: Annotated[
        float | None,
        Option(help="Largest share of items that each default threshold flags. Default: 0.05.", least=0, most=1),
    ] = None,
    self_contained: Annotated[
        bool | None,
        Option(
            "--self-contained/--any-reference",
            help="Flag or allow questions that refer to a paper, a study or the documentation. Default: flag.",
        ),
    ] = None,
    extra_gram: Annotated[
        float | None,
        Option(
            help="Flag items with a wrong choice that is closer to the source than the key is, by this n-gram margin."
        ),
    ] = None,
    extra_embedding: Annotated[
        float | None,
        Option(
            help="Flag items with a wrong choice that is closer to the source than the key is, by this cosine margin."
        ),
    ] = None,
    intra_jaccard: Annotated[
        float | None, Option(help="Flag items at or above this Jaccard similarity of the key and a wrong choice.")
    ] = None,
    intra_embedding: Annotated[
        float | None, Option(help="Flag items at or above this cosine of the key and a wrong choice.")
    ] = None,
    intra_rouge: Annotated[
        float | None,
        Option(help="Flag items at or above this ROUGE-L of the key and a wrong choice. Default: not checked."),
    ] = None,
    near: Annotated[
        float | None, Option(help="Flag items at or above this cosine to another item as near-duplicates.")
    ] = None,
) -> Callable[..., Thresholds]:
    bounds = {
        "extra_gram": extra_gram, "extra_embedding": extra_embedding, "intra_jaccard": intra_jaccard,
        "intra_embedding": intra_embedding, "intra_rouge": intra_rouge, "near": near,
        "self_contained": self_contained,
    }  # fmt: skip
    given: dict[str, Any] = {name: bound for name, bound in bounds.items() if bound is not None}

    def thresholds(values: Sequence[Any], recorded: Thresholds | None = None) -> Thresholds:
        usual = usual_thresholds(values, SHARE if share is None else share)
        return replace(recorded if recorded is not None and share is None else usual, **given)

    return thresholds


FilterOptions = Annotated[Callable[..., Thresholds], Gathered(_filters)]
"""Thresholds of the filters: a function from the values of the items to thresholds."""


@operation("items check", act="write with models")
def check(
    project: Project,
    *,
    query_id: ExamId = None,
    of: Annotated[ItemsOf, Option(choices=["all", "proposals", "bank"])] = "all",
    thresholds: FilterOptions,
) -> Output:
    """Check items with filters: print values and broken rules as TSV.

    Nothing is removed: use exam items accept or retire. Each default threshold flags at most 5% of the items. With
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


@operation("items statistics", act="read the bank", reads=lambda given: not given["filters"])
def exam_statistics(
    project: Project,
    *,
    query_id: ExamId = None,
    filters: Annotated[bool, Option("--filters/--no-filters", help="Also count items by broken rule.")] = True,
    thresholds: FilterOptions,
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


@operation(
    "items categories", act="run exams", reads=lambda given: given["keywords"] is None and (not given["usual_keywords"])
)
def item_categories(
    project: Project,
    *,
    query_id: ExamId = None,
    whole_word: Annotated[bool, Option(help="Match question words as whole words only.")] = False,
    keywords: Annotated[
        Path | None,
        Option(help="Set the project's words of Bloom's levels from this YAML file.", file="read", metavar="FILE"),
    ] = None,
    usual_keywords: Annotated[bool, Option(help="Restore the built-in words of Bloom's levels.")] = False,
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
        ordered = sorted(set(every), key=lambda one: (-every.count(one), one))
        rows += [(scheme, name, every.count(name)) for name in ordered]
    return Output(by).table(("by", "category", "items"), rows)


def checked_items(
    project: Project, query_id: str | None, of: ItemsOf, thresholds: Callable[..., Thresholds]
) -> tuple[list[Checked], Thresholds]:
    """Return active items of the bank, open proposals, or both, with the results of the filters."""
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
