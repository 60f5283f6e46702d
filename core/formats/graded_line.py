"""What is gathered from one line of a graded file while it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import GradeBlocks, GraderSpec, Judgment, Passage, Query, Question, Ranked
from .repeated_ratings import Read
from .source import Refused, good_id

Given = list[tuple[str, Sequence[Any]]]
"""Ids of passages, and what the file has as their rankings, of whatever form."""


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader that the file has named, with the ratings that it may give."""

    spec: GraderSpec
    fingerprint: str
    allowed: frozenset[int | None]


@dataclass(slots=True)
class Line:
    """What is being gathered from one line of the file.

    Args:
        raters: graders that rate, by the words in which this line describes them.
        taken: lists of ratings that are not in the line any more, by the names that stand for them.
        used: how many of these stood where they are looked for.
        asked: the questions of the passage before.
        itself: what direct judges are asked: the query, by its id.
    """

    query_id: str
    graders: dict[Any, Grader]
    remark: Callable[[str, str], None]
    raters: dict[Any, Grader] = field(default_factory=dict)
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
    taken: dict[str, Read] = field(default_factory=dict)
    used: int = 0
    exam: dict[str, GradeBlocks] = field(default_factory=dict)
    direct: dict[str, GradeBlocks] = field(default_factory=dict)


FAULTS = (Refused, KeyError, TypeError, AttributeError, ValueError)
"""What reading raises of a passage whose content does not follow the interchange form."""


def refused_of(passage_id: str, fault: Exception) -> Refused:
    """Why a line is refused, given which of `FAULTS` was raised in one of its passages."""
    code, reason = "not-in-form", f"not in the interchange format ({fault})"
    if isinstance(fault, Refused):
        code, reason = fault.code, str(fault)
    elif isinstance(fault, KeyError):
        code, reason = "value-missing", f"{fault.args[0]} is missing"
    return Refused(code, f"passage {passage_id}: {reason}")


def topic_of(named: object, state: Line) -> str:
    """The query that a judgment or ranking is of: the line's, or a facet of it, `query/facet`.

    Args:
        named: what it has for its query.

    Raises:
        Refused: the facet's id could be none.
    """
    if isinstance(named, str) and named.startswith(f"{state.query_id}/"):
        return good_id(named, "query")
    if named not in (None, state.query_id):
        state.remark(
            "foreign-facet",
            "a judgment or ranking names a query that is not a facet of this line; it counts for the query of the line",
        )
    return state.query_id
