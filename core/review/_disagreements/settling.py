"""Settling disagreements, and the record of every action about a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...bank import find_grader, latest_version
from ...errors import InputError, check_not_empty
from ...labels import find_overrides, queries_of_questions, write_override, write_withdrawal
from ...records import find_source, readable_texts, visible_rows
from ...store import Cursor, Project, as_name, log_action
from ...tables import csv_text
from ...text import clean_text
from ...types import Act
from .label_agreement import Judgments, Labels, Pair, Side

NO_REASON = "reopened"
"""The reason in the record if a case was reopened without one."""

Place = tuple[str, str, str | None]
"""Query id, passage id, and the question's id if a side is a person."""

CaseKey = tuple[str, str]
"""The question's id if a side is a person, or else the query id; and the passage id. The query of a
question's case may change, because its query and its topics can pool the passage.
"""


@dataclass(frozen=True)
class Case:
    """A disagreement of two sides on a passage, or on a question and a passage if a side is a
    person.

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

    @property
    def key(self) -> CaseKey:
        return (self.question_id or self.query_id, self.passage_id)


@dataclass(frozen=True)
class SettlingAction:
    """An action about a case.

    Args:
        settled: whether this action settles the case now: it is the case's last action, and any
            override from it is not withdrawn.
        touched: id of the question with an override, or of the question to reword.
        rating: rating of the override.
        source, value: source and value of the disputed judgment.
        query_text, question_text: text of the case's query; text of the touched question, or else
            of the case's question. The id is used if the text is missing.
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

    def __init__(self, settling: SettlingAction) -> None:
        super().__init__(
            "already-settled",
            f"{settling.author} has already resolved this case: {settling.reason}",
            "Check the case, and reopen it if the resolution is wrong.",
        )
        self.settling = settling


# A case that an override resolved is settled only while the override counts. It may be withdrawn,
# or its question reworded.
_SETTLED = (
    "(next_act IS NULL AND act <> 'reopen' AND (act <> 'override' OR coalesce(rating = ("
    " SELECT o.rating FROM current_overrides o JOIN passages p ON p.text_key = o.passage_text_key"
    " JOIN question_revisions r ON r.text_key = o.question_text_key WHERE p.passage_key ="
    " s.passage_key AND r.question_key = s.touched_question_key AND r.version = ("
    "  SELECT max(version) FROM question_revisions n"
    " WHERE n.question_key = s.touched_question_key)), false)))"
)
_CASES = (
    "SELECT s.settling_key, left_side, right_side, query_id, passage_id, q.question_id,"
    " left_value, right_value,"
    " act, reason, author, made_at, {settled}, touched.question_id, rating, source, value,"
    " coalesce(queries.text, query_id), coalesce(words.text, touched.question_id, q.question_id),"
    " next_act, EXISTS (SELECT * FROM {overrides} o WHERE o.question_key = touched_question_key"
    "  AND o.passage_key = s.passage_key AND withdrawn_at IS NULL),"
    # Other overrides of the same action: one transaction gives all its rows the same time.
    " (SELECT count(*) FROM {overrides} o WHERE act = 'override' AND o.passage_key = s.passage_key"
    "  AND o.author = s.author AND o.made_at = s.made_at"
    " AND o.question_key <> touched_question_key) FROM (SELECT *, lead(act)"
    " OVER (PARTITION BY least(left_side, right_side), greatest(left_side, right_side),"
    "  coalesce(question_key, query_key), passage_key ORDER BY settling_key) AS next_act"
    " FROM {settlings}) s"
    " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
    " LEFT JOIN questions q USING (question_key) LEFT JOIN questions touched"
    " ON touched.question_key = touched_question_key LEFT JOIN bank_at($version) r"
    " ON r.question_key = coalesce(touched_question_key, s.question_key)"
    " LEFT JOIN {texts} words ON words.text_key = r.text_key"
)


def list_settlings(
    project: Project, limit: int | None = None, offset: int = 0
) -> list[SettlingAction]:
    """Return every action about any disagreement, newest first.

    Args:
        limit: maximum number of actions; None for all.
    """
    return _read_settlings(
        project, " ORDER BY 1 DESC LIMIT $limit OFFSET $offset", {"limit": limit, "offset": offset}
    )


def count_actions(project: Project) -> int:
    """Return the number of actions in the record."""
    return int(project.value(f"SELECT count(*) FROM {visible_rows(project, 'settlings')}"))


def settled_cases(project: Project, left: str, right: str) -> dict[CaseKey, SettlingAction]:
    """Return the settled cases between two sides, in either order, by the keys of the cases."""
    settlings = _read_settlings(
        project,
        " WHERE {settled} AND [left_side, right_side] IN ([$left, $right], [$right, $left])"
        " ORDER BY 1 DESC",
        {"left": left, "right": right},
    )
    return {settling.case.key: settling for settling in settlings}


def list_disputes(project: Project) -> list[SettlingAction]:
    """Return the disputes of judgments, newest first, without reopened cases."""
    return _read_settlings(project, " WHERE {settled} AND act = 'dispute' ORDER BY 1 DESC", {})


def _read_settlings(
    project: Project, rest: str, parameters: dict[str, Any]
) -> list[SettlingAction]:
    if not count_actions(project):
        # The record is usually empty, and planning the full statement takes longer than this check.
        return []
    relations = {
        "overrides": visible_rows(project, "overrides"),
        "settlings": visible_rows(project, "settlings"),
    }
    rows = project.rows(
        (_CASES + rest).format(**relations, settled=_SETTLED, texts=readable_texts(project)),
        parameters | {"version": latest_version(project)},
    )
    return [SettlingAction(row[0], Case(*row[1:8]), *row[8:]) for row in rows]


def record_csv(project: Project) -> str:
    """Return the whole record as CSV, oldest first; possible formulas in cells are neutralised."""
    header = (
        *(
            "made_at",
            "author",
            "act",
            "reason",
            "left",
            "left_value",
            "right",
            "right_value",
            "query_id",
            "passage_id",
        ),
        *(
            "question_id",
            "touched_question_id",
            "rating",
            "disputed_source",
            "disputed_value",
            "settled",
        ),
    )
    rows = (
        (
            *(
                settling.made_at.isoformat(timespec="seconds"),
                settling.author,
                settling.act,
                settling.reason,
                settling.case.left,
                settling.case.left_value,
            ),
            *(
                settling.case.right,
                settling.case.right_value,
                *settling.case.place,
                settling.touched,
                settling.rating,
                settling.source,
                settling.value,
            ),
            str(settling.settled).lower(),
        )
        for settling in reversed(list_settlings(project))
    )
    return csv_text(header, rows)


def disputes_csv(project: Project) -> str:
    """Return the disputed judgments, oldest first, as CSV; cells that could be formulas are
    neutralised.
    """
    header = ("source", "query_id", "passage_id", "value", "reason", "author", "made_at")
    rows = (
        (
            *(one.source, *one.case.place[:2], one.value, one.reason, one.author),
            one.made_at.isoformat(timespec="seconds"),
        )
        for one in reversed(list_disputes(project))
    )
    return csv_text(header, rows)


def side_name(project: Project, side: Side) -> str:
    """Return the name of a side in cases.

    It does not include thresholds, the label rule and the bank version. So a settled case stays
    settled under another policy with the same grader.

    Raises:
        InputError: the grader or source is unknown.
    """
    if isinstance(side, Labels):
        name = f"labels of {find_grader(project, side.policy.grader).spec.name}"
        return name if side.policy.overrides else f"{name} without overrides"
    if isinstance(side, Judgments):
        return _judgments_of(find_source(project, side.source))
    return f"ratings of {side.author}"


def _judgments_of(source: str) -> str:
    # The default name of a source of judgments is judgments.
    return source if source == "judgments" else f"judgments of {source}"


def case_of(project: Project, left: Side, right: Side, pair: Pair) -> Case:
    """Return the case of a pair of `side_agreement`.

    Raises:
        InputError: a grader or source is unknown.
    """
    place = (pair.query_id, pair.passage_id, pair.question_id)
    return Case(side_name(project, left), side_name(project, right), *place, pair.left, pair.right)


def settle_by_override(
    project: Project,
    case: Case,
    question_ids: Sequence[str],
    rating: int,
    reason: str,
    author: str,
    first: bool = False,
) -> list[int]:
    """Settle a case by overriding the ratings of questions for the passage.

    If the override of the first question is withdrawn, the case is open again. The record names
    this question.

    Args:
        question_ids: the questions that all get the rating; at least one.
        first: whether to refuse a case that is settled already.

    Returns:
        The keys of the overrides, in the order of the questions.

    Raises:
        InputError: `question_ids` is empty, the rating is out of range, the reason is empty, or the
            query, a question or the passage is unknown.
        AlreadySettled: the case is settled already, and `first` is set.
    """
    if not question_ids:
        raise InputError(
            "no-question-named",
            "No question is chosen.",
            "Choose the questions whose rating is wrong.",
        )

    def find_queries() -> set[str]:
        # The questions of a topic belong to its query.
        asked = queries_of_questions(project, question_ids)
        return {case.query_id} | {
            query for query in asked if not case.query_id.startswith(f"{query}/")
        }

    with project.transaction(
        act="settle disagreements", queries=find_queries, author=author
    ) as cursor:
        for question_id in question_ids:
            _case_keys(project, case, question_id)
        keys = [
            write_override(project, cursor, question_id, case.passage_id, rating, reason, author)
            for question_id in question_ids
        ]
        _write_settling(
            project, cursor, case, "override", reason, author, question_ids[0], rating, first=first
        )
    return keys


def settle_by_edit(
    project: Project,
    case: Case,
    question_id: str | None,
    reason: str,
    author: str,
    first: bool = False,
) -> None:
    """Settle a case because the question is to be reworded, retired or added.

    Args:
        question_id: the responsible question; None if a question is missing in the bank.
        reason: the fault of the question.
        first: whether to refuse a case that is settled already.

    Raises:
        InputError: the reason is empty, or the query, question or passage is unknown.
        AlreadySettled: the case is settled already, and `first` is set.
    """
    with project.transaction(
        act="settle disagreements", queries=[case.query_id], author=author
    ) as cursor:
        _write_settling(project, cursor, case, "edit", reason, author, question_id, first=first)


def settle_by_dispute(
    project: Project, case: Case, source: str, reason: str, author: str, first: bool = False
) -> None:
    """Settle a case because a judgment seems wrong. The judgment stays and counts as before.

    Args:
        source: source of the judgment; it must be one of the two sides.
        first: whether to refuse a case that is settled already.

    Raises:
        InputError: the reason is empty, the case has no such judgment, or the query or passage is
            unknown.
        AlreadySettled: the case is settled already, and `first` is set.
    """
    values = {case.left: case.left_value, case.right: case.right_value}
    value = values.get(_judgments_of(source))
    if value is None:
        raise InputError(
            "no-judgment-to-dispute",
            f"This case has no judgment of '{source}'.",
            "Dispute a judgment of one of the two sides.",
        )
    with project.transaction(
        act="settle disagreements", queries=[case.query_id], author=author
    ) as cursor:
        _write_settling(
            project,
            cursor,
            case,
            "dispute",
            reason,
            author,
            source=source,
            value=value,
            first=first,
        )


def settle_by_comment(
    project: Project, case: Case, comment: str, author: str, first: bool = False
) -> None:
    """Settle a case with a comment, without any other change.

    Args:
        first: whether to refuse a case that is settled already.

    Raises:
        InputError: the comment is empty, or the query or passage is unknown.
        AlreadySettled: the case is settled already, and `first` is set.
    """
    with project.transaction(
        act="settle disagreements", queries=[case.query_id], author=author
    ) as cursor:
        _write_settling(project, cursor, case, "comment", comment, author, first=first)


def reopen_case(
    project: Project, case: Case, reason: str, author: str, withdraw_override: bool = False
) -> int:
    """Reopen a settled case, so that the queue contains it again. The action that settled it stays
    in the record.

    The result of `list_disputes` no longer contains a dispute that settled the case.

    Args:
        withdraw_override: whether to withdraw the overrides that settled the case; otherwise they
            stay in force.

    Returns:
        The number of withdrawn overrides.

    Raises:
        InputError: the case is not settled.
    """
    settlement = settled_cases(project, case.left, case.right).get(case.key)
    if settlement is None:
        raise InputError(
            "not-settled",
            "This case is not resolved.",
            "See the current list: exam disagreements list",
        )
    # An override that is confirmed for a new wording is added again, with the same rating and
    # reason. Another person may have confirmed it.
    settlement_key = (case.passage_id, settlement.rating, settlement.reason)
    together = (settlement.author, settlement.made_at)
    withdrawn = [
        override.key
        # Not by query: the question of a topic belongs to the topic's query.
        for override in find_overrides(project)
        if withdraw_override and settlement.act == "override"
        if (override.passage_id, override.rating, override.reason) == settlement_key
        if override.question_id == settlement.touched
        or (override.author, override.made_at) == together
    ]
    with project.transaction(
        act="settle disagreements", queries=[case.query_id], author=author
    ) as cursor:
        _write_settling(project, cursor, case, "reopen", reason or NO_REASON, author)
        for key in withdrawn:
            write_withdrawal(cursor, key, author)
    return len(withdrawn)


def _case_keys(
    project: Project, case: Case, touched: str | None
) -> tuple[int, int, int | None, int | None]:
    """Return the database keys of the query, the passage, the case's question and the touched
    question.

    Raises:
        InputError: an id is unknown.
    """
    ((query, passage, *questions),) = project.rows(
        "SELECT (SELECT query_key FROM queries WHERE query_id = ?), (SELECT passage_key"
        " FROM passages WHERE"
        " passage_id = ?), (SELECT question_key FROM questions WHERE question_id = ?),"
        " (SELECT question_key FROM questions WHERE question_id = ?)",
        [case.query_id, case.passage_id, case.question_id, touched],
    )
    if query is None or passage is None:
        raise InputError(
            "unknown-passage", f"Unknown query '{case.query_id}' or passage '{case.passage_id}'."
        )
    for wanted, key in zip((case.question_id, touched), questions, strict=True):
        if wanted is not None and key is None:
            raise InputError("unknown-question", f"Unknown question '{wanted}'.")
    return query, passage, questions[0], questions[1]


def _write_settling(
    project: Project,
    cursor: Cursor,
    case: Case,
    act: Act,
    reason: str,
    author: str,
    touched: str | None = None,
    rating: int | None = None,
    source: str | None = None,
    value: int | None = None,
    first: bool = False,
) -> None:
    if first and (done := settled_cases(project, case.left, case.right).get(case.key)):
        raise AlreadySettled(done)
    reason = check_not_empty(
        "empty-reason", "The reason is empty.", "Give a short reason.", clean_text(reason).strip()
    )
    query, passage, question, about = _case_keys(project, case, touched)
    cursor.execute(
        "INSERT INTO settlings VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " now()::TIMESTAMP, ?, ?, ?, ?)",
        [
            *(case.left, case.right, query, passage, question, case.left_value, case.right_value),
            *(act, reason, as_name(author), about, rating, source, value),
        ],
    )
    detail: dict[str, Any] = {
        "left": case.left,
        "right": case.right,
        "values": [case.left_value, case.right_value],
        "query": case.query_id,
        "passage": case.passage_id,
        "question": touched or case.question_id,
        "rating": rating,
        "source": source,
        "value": value,
    }
    named = {name: said for name, said in detail.items() if said is not None}
    what = "reopen disagreement" if act == "reopen" else "settle disagreement"
    log_action(cursor, author, what, by=act, **named, reason=reason)
