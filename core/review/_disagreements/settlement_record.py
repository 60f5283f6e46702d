"""The record of disagreements: every action about a case, and its export as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...bank import latest_version
from ...errors import InputError
from ...records import readable_texts, visible
from ...store import Project
from ...tables import csv_text
from ...types import Act

NO_REASON = "reopened"
"""The reason in the record if a case was reopened without one."""

Place = tuple[str, str, str | None]
"""Query id, passage id, and the question's id if a side is a person."""


@dataclass(frozen=True)
class Case:
    """A disagreement of two sides on a passage, or on a question and a passage if a side is a person.

    Args:
        left, right: names of the sides, see `review.side_name`.
        left_value, right_value: values of the sides.
    """

    left: str
    right: str
    query_id: str
    passage_id: str
    question_id: str | None
    left_value: int
    right_value: int

    @property
    def place(self) -> Place:
        """The ids of the case's query, passage and question."""
        return (self.query_id, self.passage_id, self.question_id)


@dataclass(frozen=True)
class Settling:
    """An action about a case.

    Args:
        settled: whether this action settles the case now: it is the case's last action, and any override from it is not
            withdrawn.
        touched: id of the question with an override, or of the question to reword.
        rating: rating of the override.
        source, value: source and value of the disputed judgment.
        query_text, question_text: text of the case's query; text of the touched question, or else of the case's
            question. The id is used if the text is missing.
        next_act: the next action in the same case; None for the last action.
        in_force: whether an override of the touched question and the passage is in force.
        others: number of further questions that got the rating from the override.
    """

    key: int
    case: Case
    act: Act
    reason: str
    author: str
    made_at: datetime
    settled: bool
    touched: str | None = None
    rating: int | None = None
    source: str | None = None
    value: int | None = None
    query_text: str = ""
    question_text: str | None = None
    next_act: Act | None = None
    in_force: bool = False
    others: int = 0


class AlreadySettled(InputError):
    """A case was settled by another person before the author saw it.

    Attributes:
        settling: the action that settled it.
    """

    def __init__(self, settling: Settling) -> None:
        super().__init__(
            "already-settled",
            f"{settling.author} has already resolved this case: {settling.reason}",
            "Check the case, and reopen it if the resolution is wrong.",
        )
        self.settling = settling


# A case that an override resolved is settled only while the override counts. It may be withdrawn, or its question
# reworded.
_SETTLED = (
    "(next_act IS NULL AND act <> 'reopen' AND (act <> 'override' OR coalesce(rating = ("
    " SELECT o.rating FROM current_overrides o JOIN passages p ON p.text_key = o.passage_text_key"
    " JOIN question_revisions r ON r.text_key = o.question_text_key"
    " WHERE p.passage_key = s.passage_key AND r.question_key = s.touched_question_key AND r.version = ("
    "  SELECT max(version) FROM question_revisions n WHERE n.question_key = s.touched_question_key)), false)))"
)
_CASES = (
    "SELECT s.settling_key, left_side, right_side, query_id, passage_id, q.question_id, left_value, right_value,"
    " act, reason, author, made_at, {settled}, touched.question_id, rating, source, value,"
    " coalesce(queries.text, query_id), coalesce(words.text, touched.question_id, q.question_id), next_act,"
    " EXISTS (SELECT * FROM {overrides} o WHERE o.question_key = touched_question_key"
    "  AND o.passage_key = s.passage_key AND withdrawn_at IS NULL),"
    # Other overrides of the same action: one transaction gives all its rows the same time.
    " (SELECT count(*) FROM {overrides} o WHERE act = 'override' AND o.passage_key = s.passage_key"
    "  AND o.author = s.author AND o.made_at = s.made_at AND o.question_key <> touched_question_key)"
    " FROM (SELECT *, lead(act) OVER (PARTITION BY least(left_side, right_side), greatest(left_side, right_side),"
    "  query_key, passage_key, question_key ORDER BY settling_key) AS next_act FROM {settlings}) s"
    " JOIN queries USING (query_key) JOIN passages USING (passage_key) LEFT JOIN questions q USING (question_key)"
    " LEFT JOIN questions touched ON touched.question_key = touched_question_key"
    " LEFT JOIN bank_at($version) r ON r.question_key = coalesce(touched_question_key, s.question_key)"
    " LEFT JOIN {texts} words ON words.text_key = r.text_key"
)


def record(project: Project, limit: int | None = None, offset: int = 0) -> list[Settling]:
    """Return every action about any disagreement, newest first.

    Args:
        limit: maximum number of actions; None for all.
    """
    return _settlings(project, " ORDER BY 1 DESC LIMIT $limit OFFSET $offset", {"limit": limit, "offset": offset})


def acts(project: Project) -> int:
    """Return the number of actions in the record."""
    return int(project.value(f"SELECT count(*) FROM {visible(project, 'settlings')}"))


def settled(project: Project, left: str, right: str) -> dict[Place, Settling]:
    """Return the settled cases between two sides, in either order, by the ids of the case."""
    found = _settlings(
        project,
        " WHERE {settled} AND [left_side, right_side] IN ([$left, $right], [$right, $left]) ORDER BY 1 DESC",
        {"left": left, "right": right},
    )
    return {one.case.place: one for one in found}


def disputes(project: Project) -> list[Settling]:
    """Return the disputes of judgments, newest first, without reopened cases."""
    return _settlings(project, " WHERE {settled} AND act = 'dispute' ORDER BY 1 DESC", {})


def _settlings(project: Project, rest: str, parameters: dict[str, Any]) -> list[Settling]:
    if not acts(project):
        # The record is usually empty, and planning the full statement takes longer than this check.
        return []
    seen = {"overrides": visible(project, "overrides"), "settlings": visible(project, "settlings")}
    rows = project.rows(
        (_CASES + rest).format(**seen, settled=_SETTLED, texts=readable_texts(project)),
        parameters | {"version": latest_version(project)},
    )
    return [Settling(row[0], Case(*row[1:8]), *row[8:]) for row in rows]


def record_csv(project: Project) -> str:
    """Return the whole record, oldest first, as CSV; cells that could be formulas are neutralised."""
    header = (
        *("made_at", "author", "act", "reason", "left", "left_value", "right", "right_value", "query_id", "passage_id"),
        *("question_id", "touched_question_id", "rating", "disputed_source", "disputed_value", "settled"),
    )
    rows = (
        (
            *(_moment(one.made_at), one.author, one.act, one.reason, one.case.left, one.case.left_value),
            *(one.case.right, one.case.right_value, *one.case.place, one.touched, one.rating, one.source, one.value),
            str(one.settled).lower(),
        )
        for one in reversed(record(project))
    )
    return csv_text(header, rows)


def disputes_csv(project: Project) -> str:
    """Return the disputed judgments, oldest first, as CSV; cells that could be formulas are neutralised."""
    header = ("source", "query_id", "passage_id", "value", "reason", "author", "made_at")
    rows = (
        (one.source, *one.case.place[:2], one.value, one.reason, one.author, _moment(one.made_at))
        for one in reversed(disputes(project))
    )
    return csv_text(header, rows)


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds")
