"""Exams in the format of exam-generation-irt: a JSON list of items with source and retrieved
contexts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, TextIO

from ..errors import Report
from ..text import clean_text, without_marks
from ._source import (
    WHOLE,
    FileKind,
    Limits,
    Refused,
    Source,
    as_object,
    good_id,
    good_text,
    open_lines,
    parse_list,
    report_refusals,
    value_of,
)

_LIST = re.compile(r"\s*\[")
_BEGINS = re.compile(r"\s*\[\s*\{")
_KEYS = re.compile(r'"(question|documentation|choices|correct_answer|retrieved_context)"\s*:')
_LETTER = re.compile(r"\(?([A-Za-z])\s*[).:]?\s*")
KNOWN = frozenset(
    {"question", "documentation", "choices", "correct_answer", "retrieved_context", "topic"}
)
LEAST_KEYS = 3
"""How many of an item's keys the beginning of an exam shows."""


@dataclass(frozen=True)
class ExamItem:
    """One item of an exam in a file.

    Args:
        choices: without letters, in the order of the file.
        key: the text of the right choice.
        documentation: the source that the item was written from.
        retrieved: the texts that a retriever found, best first, by the retriever's name.
    """

    question: str
    choices: tuple[str, ...]
    key: str
    documentation: str | None = None
    topic: str | None = None
    retrieved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def item_id(query_id: str, question: str, choices: Sequence[str]) -> str:
    """Return an item's id: the query id, `/`, and 12 hex digits of the hash of all its texts.

    The order of the choices does not count: a shuffled exam has the same items.
    """
    content = "\x1f".join((question, *sorted(choices)))
    return f"{query_id}/{hashlib.blake2b(content.encode(), digest_size=6).hexdigest()}"


_NOT_RETRIEVED = {
    "closedbook": "closed-book",
    "closedb": "closed-book",
    "openbook": "oracle",
    "oracle": "oracle",
}
"""Levels of `retrieval` without a retriever, in lower case. In Guinet et al. an open book is the
item's passage.
"""


def not_retrieved(name: str) -> str | None:
    """Return the usual name of a retrieval without a retriever, `closed-book` or `oracle`; None for
    any other retrieval."""
    return _NOT_RETRIEVED.get("".join(filter(str.isalnum, name.lower())))


def read_exam(source: Source, report: Report) -> list[ExamItem]:
    """Read an exam.

    Args:
        source: a JSON list of items with `question`, `choices` (texts that may begin with A), B) …)
            and `correct_answer`: the text of a choice, with or without its letter, or the letter
            alone. Optional: `documentation`, `topic`, and `retrieved_context`, an object of lists
            of texts by the name of a retriever.
        report: receives refusals, by line and item, and notes.

    Returns:
        Items in file order. An item is left out with a note if its key is not among its choices, or
        if it is a duplicate; the order of the choices does not count.
    """
    before = report.count
    lines = [line for _, line in open_lines(source, report, Limits(WHOLE))]
    if report.count > before:
        return []
    data = parse_list(source, report, 1, lines, _LIST, "items with choices")
    items: dict[tuple[str, tuple[str, ...], str], ExamItem] = {}
    for at, (line, content) in enumerate(data, 1):
        with report_refusals(report, source.name, line, f"item {at}: "):
            item = _read_item(as_object(content, "not an object"), source.name, report)
            if item is None:
                report.remark(
                    source.name,
                    line,
                    "no-usable-items",
                    "an item is left out: its right answer is not among its choices",
                )
            elif (
                items.setdefault((item.question, tuple(sorted(item.choices)), item.key), item)
                is not item
            ):
                report.remark(
                    source.name, line, "duplicate-item", "duplicate item; the first one counts"
                )
    if not data and report.count == before:
        report.refuse(source.name, None, "no-items", "the exam has no items")
    elif not items and report.count == before:
        report.refuse(
            source.name,
            None,
            "no-usable-items",
            "no item of the exam has its right answer among its choices",
        )
    return list(items.values())


def write_exam(items: Sequence[ExamItem], out: TextIO) -> None:
    """Write items in the form that `read_exam` reads, with letters A), B) … as in the files of
    exam-generation-irt.
    """
    rows = []
    for item in items:
        lettered = [
            f"{letter}) {choice}"
            for letter, choice in zip(ascii_uppercase, item.choices, strict=False)
        ]
        row = {
            "question": item.question,
            "documentation": item.documentation,
            "choices": lettered,
            "correct_answer": lettered[item.choices.index(item.key)],
            "topic": item.topic,
            "retrieved_context": {name: list(texts) for name, texts in item.retrieved.items()}
            or None,
        }
        rows.append({key: value for key, value in row.items() if value is not None})
    json.dump(rows, out, ensure_ascii=False, indent=2)
    out.write("\n")


def _read_item(content: dict[str, Any], file: str, report: Report) -> ExamItem | None:
    for name in content.keys() - KNOWN:
        report.remark(file, None, "unknown-field", f"unknown key {name!s:.40}; ignored")
    question = _item_text(value_of(content, ("question",), "question"), "question").strip()
    given = value_of(content, ("choices",), "list of choices")
    if not isinstance(given, list) or not 2 <= len(given) <= len(ascii_uppercase):
        raise Refused("invalid-choices", "the choices are not a list of 2 to 26 texts")
    written = [" ".join(_item_text(choice, "choice").split()) for choice in given]
    choices = without_marks(written)
    if not all(choices):
        raise Refused("invalid-choices", "a choice is empty")
    answer = " ".join(
        _item_text(
            value_of(content, ("correct_answer",), "correct answer"), "correct answer"
        ).split()
    )
    key = _find_choice(answer, written, choices)
    documentation = content.get("documentation")
    topic = content.get("topic")
    item = ExamItem(
        question,
        choices,
        key or "",
        None if documentation is None else _item_text(documentation, "documentation"),
        None if topic is None else _item_text(topic, "topic").strip(),
        _read_retrieved(content.get("retrieved_context"), file, report),
    )
    return item if key is not None else None


def _item_text(value: object, what: str) -> str:
    """Return a clean text.

    Raises:
        Refused: it is missing, blank after cleaning, or not a text.
    """
    return good_text(clean_text(value) if isinstance(value, str) else value, what)


def _find_choice(answer: str, written: Sequence[str], choices: Sequence[str]) -> str | None:
    """Return the choice that an answer names by its text, with or without its letter, or by the
    letter alone.
    """
    for given in (written, choices):
        if answer in given:
            return choices[list(given).index(answer)]
    letter = _LETTER.fullmatch(answer)
    at = ascii_uppercase.index(letter[1].upper()) if letter else len(choices)
    return choices[at] if at < len(choices) else None


def _read_retrieved(value: object, file: str, report: Report) -> dict[str, tuple[str, ...]]:
    contexts = {}
    for name, texts in as_object(
        {} if value is None else value, "retrieved_context is not an object"
    ).items():
        if not isinstance(texts, list):
            raise Refused("not-a-list", f"retrieved_context of {name[:40]} is not a list of texts")
        if usual := not_retrieved(name):
            report.remark(
                file,
                None,
                "no-texts-needed",
                f"retrieved_context of {name[:40]} is left out: {usual} needs no texts",
            )
            continue
        # A text that a retriever found twice counts at its best rank.
        clean = dict.fromkeys(_item_text(text, "retrieved text") for text in texts)
        contexts[good_id(name, "retriever")] = tuple(clean)
    return contexts


KIND = FileKind(
    name="exam",
    title="Exam",
    what=(
        "multiple-choice items: JSON list with question, choices, correct_answer and documentation"
    ),
    extensions=("json",),
    read=read_exam,
    write=write_exam,
    looks_like={
        "list": lambda beginning: (
            bool(_BEGINS.match(beginning.text))
            and len(set(_KEYS.findall(beginning.text))) >= LEAST_KEYS
        )
    },
)
