"""Components of examinees: CSV or TSV with a column of examinees and one for each factor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import Report
from ._answer_matrix import STUDENT, is_verdicts, read_students
from ._file_kind import Beginning, FileKind
from ._source import Refused, Source, good_id

ALIASES = {
    "llm": "model", "model": "model", "retrieval": "retrieval", "retriever": "retrieval", "icl": "icl",
}  # fmt: skip
"""Usual names of the components that every examinee has; other factors keep their names."""

_NOT_RETRIEVED = {"closedbook": "closed-book", "closedb": "closed-book", "openbook": "oracle", "oracle": "oracle"}
"""Levels of `retrieval` without a retriever, in lower case. In Guinet et al. an open book is the item's passage."""


def not_retrieved(name: str) -> str | None:
    """Return the usual name of a retrieval without a retriever, `closed-book` or `oracle`; None for any other
    retrieval."""
    return _NOT_RETRIEVED.get("".join(filter(str.isalnum, name.lower())))


_IN_NAME = re.compile(r"(?:^|[\W_]+)((?:open|closed)[\W_]?book|(?:closedb|oracle)(?=\W*$))(?:[\W_]+|$)", re.IGNORECASE)


def factors_in_name(name: str) -> dict[str, str]:
    """Return the retrieval in an examinee's name such as `gpt-4_open_book`, and the model if that is the only other
    part."""
    if (found := _IN_NAME.search(name)) is None:
        return {}
    others = [part for part in (name[: found.start()], name[found.end() :]) if part]
    model = {"model": others[0]} if len(others) == 1 else {}
    return model | {"retrieval": not_retrieved(found[1]) or found[1]}


Factors = dict[str, dict[str, str]]
"""Level by factor, by examinee."""


def read_factors(source: Source, report: Report) -> Factors:
    """Read the components of examinees.

    Args:
        source: CSV or TSV. The header names the factors after the column of examinees. Every other line is an
            examinee with its level of each factor, empty if unknown.
        report: receives refused lines.
    """

    def levels_of(cells: dict[str, str], number: int) -> dict[str, str]:
        levels = {name: good_id(cell, name) for name, cell in cells.items()}
        level = levels.get("retrieval", "")
        usual = not_retrieved(level) or level
        if usual != level:
            report.remark(source.name, number, "level-as-retrieval", f"retrieval '{level}' is read as {usual}")
            levels["retrieval"] = usual
        return levels

    return read_students(source, report, _names, levels_of)


def _names(cells: Sequence[str]) -> list[str]:
    names = [ALIASES.get(cell.lower(), cell) for cell in (good_id(cell, "factor") for cell in cells[1:])]
    if not names or len(set(names)) < len(names):
        raise Refused("header-missing", "the header has no factors, or a duplicate factor")
    return names


def _is_table(beginning: Beginning) -> bool:
    header = beginning.header
    return not set(STUDENT).isdisjoint(header) and len(header) > 1 and not is_verdicts(beginning)


KIND = FileKind(
    name="students",
    title="Components of examinees",
    what="components of examinees: CSV or TSV with a column student and one column per factor, such as model",
    extensions=("csv", "tsv"),
    read=read_factors,
    write=None,
    looks_like={"cells": _is_table},
)
