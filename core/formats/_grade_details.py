"""Details of grades that the interchange form lacks: confidence, raw output, reasons of failures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from ..types import GradeDetail
from ._source import Refused

NOTHING = GradeDetail()
_NAMES = tuple(field.name for field in fields(GradeDetail))


def write_columns(details: Sequence[GradeDetail | None]) -> dict[str, list[Any]]:
    """Return details of one entry's grades as columns, in the order of its questions; empty columns are left out."""
    # Grades from elsewhere have no details.
    if not any(details):
        return {}
    given = [detail or NOTHING for detail in details]
    columns = {name: [getattr(detail, name) for detail in given] for name in _NAMES}
    return {name: values for name, values in columns.items() if set(values) != {getattr(NOTHING, name)}}


def read_columns(ours: dict[str, Any], length: int) -> Iterator[tuple[int, GradeDetail]]:
    """Yield the details that `write_columns` wrote, with their positions in the entry.

    Args:
        ours: the entry's value under this program's key.
        length: number of its grades.

    Raises:
        Refused: a column has another length, or a value has another type.
    """
    columns = {name: ours[name] for name in _NAMES if name in ours}
    if any(not isinstance(values, list) or len(values) != length for values in columns.values()):
        raise Refused("details-do-not-match", "the details do not have one value per grade")
    for position, values in enumerate(zip(*columns.values(), strict=True)):
        detail = _checked(dict(zip(columns, values, strict=True)))
        if detail != NOTHING:
            yield position, detail


def write_one(detail: GradeDetail | None) -> dict[str, Any]:
    """Return the details of a direct grader's single grade, without empty ones."""
    return {name: values[0] for name, values in write_columns([detail]).items()}


def read_one(ours: dict[str, Any]) -> GradeDetail:
    """Return the details that `write_one` wrote.

    Raises:
        Refused: a value has another type.
    """
    return _checked({name: ours[name] for name in _NAMES if name in ours})


def _checked(values: dict[str, Any]) -> GradeDetail:
    detail = GradeDetail(**values)
    if type(detail.defaulted) is not bool:
        raise Refused("invalid-detail", "defaulted is neither true nor false")
    if detail.confidence is not None and not _is_share(detail.confidence):
        raise Refused("invalid-detail", f"the confidence {detail.confidence!r} is not a number from 0 to 1")
    if not all(isinstance(text, str | None) for text in (detail.raw, detail.reason, detail.note)):
        raise Refused("invalid-detail", "the raw output, reason or note of a grade is not a text")
    return detail


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
