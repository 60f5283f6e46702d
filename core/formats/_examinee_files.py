"""Examinees of an exam made elsewhere: tables of their answers or components, and samples of
lm-evaluation-harness.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, TextIO, TypeVar

import orjson

from ..choices import EXAM_QUERY
from ..errors import Report
from ..tables import disarm_cell, rearm_cell
from ..text import clean_text, first_few, without_marks
from ..types import Question
from ._source import (
    SMALL,
    WHOLE,
    FileBeginning,
    FileKind,
    Limits,
    Refused,
    Source,
    as_object,
    first_of,
    good_id,
    open_cells,
    open_lines,
    open_objects,
    report_refusals,
)
from .exam_files import item_id, not_retrieved

STUDENT = ("student", "examinee")
"""Names of the column of examinees."""
Value = TypeVar("Value")
VERDICTS = {"1": True, "1.0": True, "0": False, "0.0": False}


@dataclass(frozen=True)
class ExamineeVerdicts:
    """The verdicts of one examinee in a file.

    Args:
        student: name of the examinee.
        verdicts: whether it was right, by question id; items without an answer are absent.
        questions: the items, if the file has their words.
    """

    student: str
    verdicts: dict[str, bool]
    questions: list[Question] = field(default_factory=list)


def read_matrix(source: Source, report: Report) -> list[ExamineeVerdicts]:
    """Read a table of answers.

    Args:
        source: CSV or TSV. The header names the items after the column of examinees. Every other
            line is an examinee with 1, 0 or nothing for each item.
        report: receives refused lines.

    Returns:
        The examinees in file order.
    """
    found = read_students(source, report, _item_names, _read_verdicts)
    return [ExamineeVerdicts(student, verdicts) for student, verdicts in found.items()]


def read_students(
    source: Source,
    report: Report,
    names_of: Callable[[Sequence[str]], list[str]],
    values_of: Callable[[dict[str, str], int], Value],
) -> dict[str, Value]:
    """Read a table with a line for each examinee.

    Args:
        source: as for `table_lines`.
        report: receives refused lines.
        names_of: returns the names of the columns after that of the examinees.
        values_of: reads an examinee's non-empty cells, by column name, and the line's number.

    Returns:
        The value of each examinee, in file order; empty if the header is refused.
    """
    names: list[str] = []
    values: dict[str, Value] = {}
    for number, cells in table_lines(source, report):
        with report_refusals(report, source.name, number):
            if not names:
                names = names_of(cells)
                continue
            student = good_id(cells[0], "student")
            if student in values:
                raise Refused("duplicate-student", f"duplicate examinee {student}")
            if len(cells) != len(names) + 1:
                raise Refused(
                    "wrong-number-of-columns",
                    f"the line has {len(cells)} cells; the header has {len(names) + 1}",
                )
            given = {name: cell for name, cell in zip(names, cells[1:], strict=True) if cell}
            values[student] = values_of(given, number)
        if not names:
            return {}
    report.require(values, source.name, "students")
    return values


def write_matrix(
    items: Sequence[str], rows: Iterable[tuple[str, Sequence[bool | None]]], out: TextIO
) -> None:
    """Write a table of answers as CSV that `read_matrix` reads.

    Args:
        items: question ids.
        rows: an examinee's name, and whether it was right for each item; None leaves the cell
            empty.
        out: receives a header and a line for each examinee.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["student", *map(disarm_cell, items)])
    for student, verdicts in rows:
        writer.writerow(
            [disarm_cell(student), *("" if one is None else int(one) for one in verdicts)]
        )


def table_lines(source: Source, report: Report) -> list[tuple[int, list[str]]]:
    """Return the lines of a small table in cells without blank lines, the column of examinees moved
    to the front.

    The separator is that of the first line. The column of examinees is called student or examinee,
    else it is the first one.
    """
    rows = [
        (number, [rearm_cell(cell) for cell in cells])
        for number, _, cells in open_cells(
            open_lines(source, report, Limits(SMALL)), source.name, report
        )
    ]
    at = _student_column([cell.lower() for cell in rows[0][1]] if rows else [])
    return [
        (number, [*cells[at : at + 1], *cells[:at], *cells[at + 1 :]]) for number, cells in rows
    ]


def _student_column(names: Sequence[str]) -> int:
    return next((names.index(name) for name in STUDENT if name in names), 0)


def _read_verdicts(cells: dict[str, str], _: int) -> dict[str, bool]:
    for item, cell in cells.items():
        if cell not in VERDICTS:
            raise Refused("invalid-answer", f"the answer to {item} is not 1, 0 or empty")
    return {item: VERDICTS[cell] for item, cell in cells.items()}


def _item_names(cells: Sequence[str]) -> list[str]:
    if (
        cells[1:]
        and cells[0].lower() not in STUDENT
        and all(cell in VERDICTS for cell in cells[1:])
    ):
        raise Refused(
            "header-missing",
            "the first line has answers; add a header with the column student and the items",
        )
    items = [good_id(cell, "item") for cell in cells[1:]]
    if not items:
        raise Refused("header-missing", "the header has no items after the column student")
    if len(set(items)) < len(items):
        raise Refused("duplicate-item", "the header has a duplicate item")
    return items


def is_verdicts(beginning: FileBeginning) -> bool:
    """Return whether the complete lines hold verdicts next to a name."""
    rows = beginning.cells[1:-1] or beginning.cells[1:]
    at = _student_column(beginning.header)
    return bool(rows) and all(
        cell in (*VERDICTS, "") for row in rows for cell in (*row[:at], *row[at + 1 :])
    )


MATRIX = FileKind(
    name="responses-matrix",
    title="Answers of examinees",
    what=(
        "answers of examinees to an exam: CSV or TSV with a column student and one column per item"
        " (1, 0 or empty)"
    ),
    extensions=("csv", "tsv"),
    read=read_matrix,
    write=write_matrix,
    looks_like={
        "cells": lambda begins: not set(STUDENT).isdisjoint(begins.header) and is_verdicts(begins)
    },
)


ALIASES = {
    "llm": "model",
    "model": "model",
    "retrieval": "retrieval",
    "retriever": "retrieval",
    "icl": "icl",
}
"""Usual names of the components that every examinee has; other factors keep their names."""

_IN_NAME = re.compile(
    r"(?:^|[\W_]+)((?:open|closed)[\W_]?book|(?:closedb|oracle)(?=\W*$))(?:[\W_]+|$)", re.IGNORECASE
)


def factors_in_name(name: str) -> dict[str, str]:
    """Return the retrieval in an examinee's name such as `gpt-4_open_book`, and the model if that
    is the only other part."""
    if (match := _IN_NAME.search(name)) is None:
        return {}
    others = [part for part in (name[: match.start()], name[match.end() :]) if part]
    model = {"model": others[0]} if len(others) == 1 else {}
    return model | {"retrieval": not_retrieved(match[1]) or match[1]}


Factors = dict[str, dict[str, str]]
"""Level by factor, by examinee."""


def read_factors(source: Source, report: Report) -> Factors:
    """Read the components of examinees.

    Args:
        source: CSV or TSV. The header names the factors after the column of examinees. Every other
            line is an examinee with its level of each factor, empty if unknown.
        report: receives refused lines. A table of 1 and 0 without a usual factor is refused,
            because it has answers.
    """

    def levels_of(cells: dict[str, str], number: int) -> dict[str, str]:
        levels = {name: good_id(cell, name) for name, cell in cells.items()}
        level = levels.get("retrieval", "")
        usual = not_retrieved(level) or level
        if usual != level:
            report.remark(
                source.name, number, "level-as-retrieval", f"retrieval '{level}' is read as {usual}"
            )
            levels["retrieval"] = usual
        return levels

    examinees = read_students(source, report, _factor_names, levels_of)
    cells = {cell for levels in examinees.values() for cell in levels.items()}
    if cells and all(
        level in VERDICTS and factor not in ALIASES.values() for factor, level in cells
    ):
        report.refuse(
            source.name,
            None,
            "not-components",
            "all cells are 1 or 0, so these are answers; import them with exam import"
            " responses-matrix, or write levels as words such as yes and no",
        )
    return examinees


def _factor_names(cells: Sequence[str]) -> list[str]:
    names = [
        ALIASES.get(cell.lower(), cell) for cell in (good_id(cell, "factor") for cell in cells[1:])
    ]
    if not names or len(set(names)) < len(names):
        raise Refused("header-missing", "the header has no factors, or a duplicate factor")
    return names


FACTORS = FileKind(
    name="students",
    title="Components of examinees",
    what=(
        "components of examinees: CSV or TSV with a column student and one column per"
        " factor, such as model"
    ),
    extensions=("csv", "tsv"),
    read=read_factors,
    write=None,
    looks_like={
        "cells": lambda begins: (
            not set(STUDENT).isdisjoint(begins.header)
            and len(begins.header) > 1
            and not is_verdicts(begins)
        )
    },
)


ITEM_ID_KEYS = ("question_id", "id")
VERDICT_KEYS = ("acc_norm", "acc", "exact_match")
"""The verdicts that a line may have; the first of them counts."""

_TIME = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")


def read_samples(source: Source, report: Report, student: str | None = None) -> ExamineeVerdicts:
    """Read the answers of one examinee.

    A line is right if its `acc_norm` is 1; without `acc_norm` if its `acc` is 1; without both if
    its `exact_match` is 1. (`acc_norm` uses the likelihood of a choice per character.) If several
    filters give verdicts, that of the first line counts.

    Args:
        source: JSONL with `doc`, a verdict, and `resps`.
        report: receives refused lines, and notes on verdicts and filters that are left out.
        student: name of the examinee; None means the folder if the harness named the file, else the
            file's name.
    """
    verdicts: dict[str, bool] = {}
    questions: list[Question] = []
    counted: Any = None
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with report_refusals(report, source.name, number):
            question = _read_question(row)
            used = row.get("filter")
            counted = counted if verdicts else used
            if used != counted:
                report.remark(
                    source.name,
                    number,
                    "further-filter",
                    f"the result of filter {used} is left out; {counted} counts",
                )
                continue
            if question.question_id in verdicts:
                if first_of(row["doc"], ITEM_ID_KEYS) is None:
                    report.remark(
                        source.name,
                        number,
                        "duplicate-item",
                        "duplicate item; the first one counts",
                    )
                    continue
                raise Refused("duplicate-item", f"duplicate item {question.question_id}")
            if "acc_norm" not in row and "acc" in row:
                report.remark(
                    source.name,
                    number,
                    "no-acc-norm",
                    "acc is used because acc_norm is missing; the length of the"
                    " choices is not considered",
                )
            verdicts[question.question_id] = _verdict_of(row)
            questions.append(question)
    report.require(verdicts, source.name, "samples")
    return ExamineeVerdicts(student or _student_name(source), verdicts, questions)


def _student_name(source: Source) -> str:
    """Return the folder, which is named after the model, if the harness named the file; else the
    file's name.
    """
    *folders, _ = re.split(r"[/\\]", source.name)
    named = source.stem.removeprefix("samples_")
    bare = _TIME.sub("", named)
    if bare != named and folders and folders[-1] not in ("", ".", ".."):
        return folders[-1]
    return bare or source.stem


def _verdict_of(row: Mapping[str, Any]) -> bool:
    name = next((name for name in VERDICT_KEYS if name in row), None)
    if name is None:
        raise Refused(
            "verdict-missing",
            f"the result is missing: use one of {', '.join(VERDICT_KEYS)}; the line has"
            f" {first_few(list(row))}",
        )
    if type(row[name]) not in (int, float, bool) or row[name] not in (0, 1):
        raise Refused("invalid-verdict", f"{name} is neither 0 nor 1")
    return bool(row[name])


def _read_question(row: Mapping[str, Any]) -> Question:
    """Return the item of a line, with its words if they are known. Its id is the one in `doc`, else
    derived from its words.

    The number of a document cannot be the id, since numbering restarts at 0 in every task.
    """
    doc = as_object(row.get("doc"), "doc is not an object")
    name = first_of(doc, ITEM_ID_KEYS)
    text = first_of(doc, ("question", "query"))
    choices = doc.get("choices")
    labels: Sequence[Any] = ascii_uppercase
    if isinstance(choices, dict):
        labels, choices = choices.get("label") or labels, choices.get("text")
    whole = (
        isinstance(choices, list)
        and len(choices) > 1
        and all(isinstance(choice_text, str) for choice_text in choices)
    )
    question_text = clean_text(text).strip() if isinstance(text, str) else ""
    given = [" ".join(clean_text(choice).split()) for choice in choices or []] if whole else []
    content = question_text or orjson.dumps(doc, option=orjson.OPT_SORT_KEYS).decode()
    question_id = (
        item_id(EXAM_QUERY, content, without_marks(given))
        if name is None
        else good_id(name, "item")
    )
    if not question_text or not whole:
        return Question(question_id, EXAM_QUERY, question_text or None, "choice")
    key = _find_key(
        first_of(doc, ("gold", "answerKey", "answer", "correct_answer")), choices or [], labels
    )
    return Question(
        question_id,
        EXAM_QUERY,
        question_text,
        "choice",
        answer_key=key,
        choices=tuple(choices or []),
    )


def _find_key(key: Any, choices: Sequence[str], labels: Sequence[Any]) -> str | None:
    """Return the text of the right choice, given its position, its label or its text."""
    if type(key) is int and 0 <= key < len(choices):
        return choices[key]
    if isinstance(key, str):
        if key in choices:
            return key
        named = dict(zip(map(str, labels), choices, strict=False))
        return named.get(key.strip())
    return None


SAMPLES = FileKind(
    name="lm-eval",
    title="Samples of lm-evaluation-harness",
    what=(
        "answers of one examinee: samples_*.jsonl of lm-evaluation-harness, with doc and acc_norm,"
        " acc or exact_match"
    ),
    extensions=("jsonl",),
    read=read_samples,
    write=None,
    looks_like={
        "record": lambda begins: (
            "doc" in begins.keys and not begins.keys.isdisjoint({"resps", "filtered_resps"})
        )
    },
)
