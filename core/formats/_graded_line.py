"""The state of reading one line of a graded file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import GradeBlocks, GraderSpec, Judgment, Passage, Query, Question, Ranked
from ._source import Refused, good_id

Given = list[tuple[str, Sequence[Any]]]
"""Ids of passages with their rankings as in the file, in any form."""


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader that the file names, with its allowed ratings."""

    spec: GraderSpec
    fingerprint: str
    allowed: frozenset[int | None]


@dataclass(slots=True)
class Line:
    """The data gathered from one line of the file.

    Args:
        asked: the questions of the previous passage.
        itself: the question of direct graders: the query, by its id.
    """

    query_id: str
    graders: dict[Any, Grader]
    remark: Callable[[str, str], None]
    title: str = ""
    query: Query | None = None
    passages: dict[str, Passage] = field(default_factory=dict)
    judgments: dict[tuple[str, str], Judgment] = field(default_factory=dict)
    ranked: Given = field(default_factory=list)
    rankings: dict[str, dict[tuple[str, str], Ranked]] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    banked: list[Question] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    itself: list[str] = field(default_factory=list)
    exam: dict[str, GradeBlocks] = field(default_factory=dict)
    direct: dict[str, GradeBlocks] = field(default_factory=dict)


FAULTS = (Refused, KeyError, TypeError, AttributeError, ValueError)
"""Exceptions that reading raises if a passage does not follow the interchange form."""


def refused_of(passage_id: str, fault: Exception) -> Refused:
    """Return why a line is refused, given one of `FAULTS` that a passage raised."""
    code, reason = "not-in-form", f"not in the interchange format ({fault})"
    if isinstance(fault, Refused):
        code, reason = fault.code, str(fault)
    elif isinstance(fault, KeyError):
        code, reason = "value-missing", f"{fault.args[0]} is missing"
    return Refused(code, f"passage {passage_id}: {reason}")


def topic_of(named: object, state: Line) -> str:
    """Return the query of a judgment or ranking: the line's query, or a facet of it, `query/facet`.

    Args:
        named: the query that the judgment or ranking names.

    Raises:
        Refused: the facet's id is invalid.
    """
    if isinstance(named, str) and named.startswith(f"{state.query_id}/"):
        return good_id(named, "query")
    if named not in (None, state.query_id):
        state.remark(
            "foreign-facet",
            "a judgment or ranking names a query that is not a facet of this line; it counts for the query of the line",
        )
    return state.query_id
