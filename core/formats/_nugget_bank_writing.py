"""Writing nugget banks for other tools; an imported bank keeps the fields that it came with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from ..errors import InputError
from ..text import first_few
from ..types import KeptObject, Query, Question
from ._nugget_banks import BANK_KEYS, FORMS, UNFIT, nugget_row, read_nugget_bank, wording
from ._source import write_objects
from .question_bank_files import question_of


def write_nugget_banks(
    form: str,
    queries: Iterable[Query],
    questions: Iterable[Question],
    version: int,
    kept: Iterable[KeptObject],
    out: TextIO,
) -> None:
    """Write a bank as JSONL, one query per line; queries without questions are left out.

    Args:
        form: one of `FORMS`.
        version: of the bank.
        kept: imported banks of the form; their unchanged parts are written as imported.

    Raises:
        InputError: the form cannot hold some questions, which the message names.
    """
    by_query: dict[str, list[Question]] = {}
    for question in questions:
        by_query.setdefault(question.query_id, []).append(question)
    unfit = [
        one.question_id
        for found in by_query.values()
        for one in found
        if one.text is None
        or (form == "ragtime26" and one.kind == "nugget")
        or (form == "nuggetizer" and one.weight < 0)
    ]
    if unfit:
        raise InputError(
            "form-without-place",
            f"Form {form} has no place for {UNFIT[form]}: {first_few(unfit)}.",
            "Use another --form, or export the bank without --form.",
        )
    imported = {one.query_id: one for one in kept}
    write_objects(
        (
            _bank_of(query, by_query[query.query_id], form, version, imported.get(query.query_id))
            for query in queries
            if query.query_id in by_query
        ),
        out,
    )


def _bank_of(
    query: Query, questions: Sequence[Question], form: str, version: int, kept: KeptObject | None
) -> dict[str, Any]:
    """Return the bank of a query; of an imported one, the unchanged entries that are still questions here.

    Other questions are added in the same form. A query's text and subtopics are those of the project.
    """
    if kept is None:
        return FORMS[form](query, questions, version)
    row, rest = dict(kept.content), dict.fromkeys(questions)
    given = {key: _still_asked(row.get(key), None, query.query_id, rest) for key in BANK_KEYS}
    made = FORMS[form](query, list(rest), version)
    stated, _ = read_nugget_bank(row, _ignore)
    differs = stated.text not in ("", query.text) or stated.narrative not in (None, query.narrative)
    if form == "v3" and (differs or not set(query.subtopics) <= set(stated.subtopics)):
        metadata = row.get("metadata")
        known = metadata if isinstance(metadata, dict) else {}
        row |= {key: made[key] for key in ("title_query", "full_query") if key in made}
        row["metadata"] = known | made.get("metadata", {})
    for key in row.keys() & BANK_KEYS | {key for key in BANK_KEYS if made.get(key)}:
        row[key] = _joined(given[key], made.get(key))
    return row


def _still_asked(given: Any, parent: str | None, query_id: str, rest: dict[Question, None]) -> Any:
    """Return the entries of a list or map that are questions of `rest`, and remove these from `rest`."""
    if not given:
        return given
    left = {}
    for key, entry in given.items() if isinstance(given, dict) else enumerate(given):
        question = question_of(nugget_row(entry, parent, query_id, _ignore))
        if question in rest:
            del rest[question]
            nested = entry.get("sub_nuggets")
            below = {"sub_nuggets": _still_asked(nested, wording(entry)[1], query_id, rest)} if nested else {}
            left[key] = entry | below
    return left if isinstance(given, dict) else list(left.values())


def _joined(given: Any, made: Any) -> Any:
    """Return the entries of both, as a list or map like the first."""
    if not made or not given:
        return made or given
    if isinstance(given, list):
        return [*given, *(made.values() if isinstance(made, dict) else made)]
    # Another entry may have the same words.
    return given | {key if key not in given else f"{key} [{len(given)}]": entry for key, entry in made.items()}


def _ignore(code: str, reason: str) -> None:
    """Drop a note: the import of the bank gave it already."""
