"""Settling disagreements: by override, by editing the question, by disputing the judgment, or by a comment."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from core.agreement import Pair
from core.agreement_sides import Judgments, Labels, Side
from core.bank import AT_VERSION, latest_version
from core.errors import InputError
from core.formats.question_bank import FORMULA
from core.grades import find_grader
from core.leaderboard import find_source
from core.overrides import override, overrides, withdraw
from core.project import Project, log

Act = Literal["override", "edit", "dispute", "comment", "reopen"]

NO_REASON = "reopened"
"""The reason in the record where a case was reopened without one."""

Place = tuple[str, str, str | None]
"""Query id, passage id, and the question's id where people's ratings are compared."""


def side_name(project: Project, side: Side) -> str:
    """The name under which a side's cases are kept.

    Thresholds, the label rule and the bank version are no part of it: a case that is settled stays so under another
    policy of the same grader.

    Raises:
        InputError: there is no such grader or source.
    """
    if isinstance(side, Labels):
        name = f"labels of {find_grader(project, side.policy.grader).spec.name}"
        return name if side.policy.overrides else f"{name} without overrides"
    if isinstance(side, Judgments):
        return _judgments_of(find_source(project, side.source))
    return f"ratings of {side.author}"


def _judgments_of(source: str) -> str:
    # A source of judgments that nobody named is called judgments.
    return source if source == "judgments" else f"judgments of {source}"


@dataclass(frozen=True)
class Case:
    """Two sides that disagree on a passage or, where people's ratings are compared, on a question for it.

    Args:
        left, right: names of the sides, see `side_name`.
        left_value, right_value: what they say.
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
        """What the case is about."""
        return (self.query_id, self.passage_id, self.question_id)


@dataclass(frozen=True)
class Settling:
    """One act about a case.

    Args:
        settled: whether this is what settles the case now: nothing came after it, and an override that did it was
            not withdrawn.
        touched: id of the question that was overridden, or that is to be reworded.
        rating: the override's.
        source, value: of the judgment that is disputed.
        query_text, question_text: of the case's query, and of the touched question or else the case's; ids where
            there is no text.
        next_act: what came after it in the same case; None where nothing did.
        in_force: whether a rating that a person gave for the touched question and the passage was not withdrawn.
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


def case_of(project: Project, left: Side, right: Side, pair: Pair) -> Case:
    """The case that a pair of `core.agreement` is.

    Raises:
        InputError: there is no such grader or source.
    """
    place = (pair.query_id, pair.passage_id, pair.question_id)
    return Case(side_name(project, left), side_name(project, right), *place, pair.left, pair.right)


def settle_by_override(project: Project, case: Case, question_id: str, rating: int, reason: str, author: str) -> int:
    """Override the rating of a question for the passage, and settle the case with it.

    The case is open again as soon as the override is withdrawn.

    Returns:
        The key of the override.

    Raises:
        InputError: a rating out of range, no reason, or an unknown query, question or passage.
    """
    _keys(project, case, question_id)
    key = override(project, question_id, case.passage_id, rating, reason, author)
    _record(project, case, "override", reason, author, touched=question_id, rating=rating)
    return key


def settle_by_edit(project: Project, case: Case, question_id: str | None, reason: str, author: str) -> None:
    """Settle a case because the question is to be reworded, retired or added.

    Args:
        question_id: the question to blame; None where one is missing in the bank.
        reason: what is wrong with it.

    Raises:
        InputError: no reason, or an unknown query, question or passage.
    """
    _record(project, case, "edit", reason, author, touched=question_id)


def settle_by_dispute(project: Project, case: Case, source: str, reason: str, author: str) -> None:
    """Settle a case because a judgment is held to be wrong. The judgment stays and counts as before.

    Args:
        source: of the judgment; one of the two sides.

    Raises:
        InputError: no reason, no such judgment in this case, or an unknown query or passage.
    """
    values = {case.left: case.left_value, case.right: case.right_value}
    value = values.get(_judgments_of(source))
    if value is None:
        raise InputError(f"'{source}' has given no judgment in this case.", "Dispute the judgment of one of its sides.")
    _record(project, case, "dispute", reason, author, source=source, value=value)


def settle_by_comment(project: Project, case: Case, comment: str, author: str) -> None:
    """Settle a case as it is, with a comment.

    Raises:
        InputError: no comment, or an unknown query or passage.
    """
    _record(project, case, "comment", comment, author)


def reopen(project: Project, case: Case, reason: str, author: str, withdraw_override: bool = False) -> bool:
    """Put a settled case back into the queue. What settled it stays in the record.

    A dispute no longer counts among the `disputes`.

    Args:
        withdraw_override: whether an override that settled it is withdrawn too; otherwise it stays in force.

    Returns:
        Whether an override was withdrawn.

    Raises:
        InputError: the case is not settled.
    """
    done = settled(project, case.left, case.right).get(case.place)
    if done is None:
        raise InputError("The case is not settled.", "Look at the list again.")
    _record(project, case, "reopen", reason or NO_REASON, author)
    if not withdraw_override or done.act != "override":
        return False
    # Confirmed for a new wording it is another override, perhaps of another person, with the same rating and reason.
    given = (done.touched, case.passage_id, done.rating, done.reason)
    found = [
        one.key
        for one in overrides(project, case.query_id)
        if (one.question_id, one.passage_id, one.rating, one.reason) == given
    ]
    for key in found:
        withdraw(project, key, author)
    return bool(found)


def _keys(project: Project, case: Case, touched: str | None) -> tuple[int, int, int | None, int | None]:
    """Surrogate keys of query, passage, the case's question and the touched one."""
    ((query, passage, *questions),) = project.rows(
        "SELECT (SELECT query_key FROM queries WHERE query_id = ?), (SELECT passage_key FROM passages WHERE"
        " passage_id = ?), (SELECT question_key FROM questions WHERE question_id = ?),"
        " (SELECT question_key FROM questions WHERE question_id = ?)",
        [case.query_id, case.passage_id, case.question_id, touched],
    )
    if query is None or passage is None:
        raise InputError(f"There is no query {case.query_id}, or no passage {case.passage_id}.")
    for wanted, key in zip((case.question_id, touched), questions, strict=True):
        if wanted is not None and key is None:
            raise InputError(f"There is no question {wanted}.")
    return query, passage, questions[0], questions[1]


def _record(
    project: Project,
    case: Case,
    act: Act,
    reason: str,
    author: str,
    touched: str | None = None,
    rating: int | None = None,
    source: str | None = None,
    value: int | None = None,
) -> None:
    if not reason.strip():
        raise InputError("The reason is empty.", "Say in a few words why the case is settled.")
    query, passage, question, about = _keys(project, case, touched)
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT INTO settlings VALUES"
            " (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP, ?, ?, ?, ?)",
            [
                *(case.left, case.right, query, passage, question, case.left_value, case.right_value),
                *(act, reason.strip(), author, about, rating, source, value),
            ],
        )
        detail: dict[str, Any] = {"left": case.left, "right": case.right, "values": [case.left_value, case.right_value]}
        detail |= {"query": case.query_id, "passage": case.passage_id}
        detail |= {"question": touched or case.question_id, "rating": rating, "source": source, "value": value}
        named = {name: said for name, said in detail.items() if said is not None}
        what = "reopen disagreement" if act == "reopen" else "settle disagreement"
        log(cursor, author, what, by=act, **named, reason=reason.strip())


_CASES = (
    "SELECT s.settling_key, left_side, right_side, query_id, passage_id, q.question_id, left_value, right_value,"
    " act, reason, author, made_at, c.settling_key IS NOT NULL, touched.question_id, rating, source, value,"
    " coalesce(queries.text, query_id), coalesce(words.text, touched.question_id, q.question_id), next_act,"
    " EXISTS (SELECT * FROM overrides o WHERE o.question_key = touched_question_key"
    "  AND o.passage_key = s.passage_key AND withdrawn_at IS NULL)"
    " FROM (SELECT *, lead(act) OVER (PARTITION BY least(left_side, right_side), greatest(left_side, right_side),"
    "  query_key, passage_key, question_key ORDER BY settling_key) AS next_act FROM settlings) s"
    " LEFT JOIN (SELECT settling_key FROM settled_cases) c USING (settling_key)"
    " JOIN queries USING (query_key) JOIN passages USING (passage_key) LEFT JOIN questions q USING (question_key)"
    " LEFT JOIN questions touched ON touched.question_key = touched_question_key"
    f" LEFT JOIN {AT_VERSION} r ON r.question_key = coalesce(touched_question_key, s.question_key)"
    " LEFT JOIN question_texts words ON words.text_key = r.text_key"
)


def record(project: Project, limit: int | None = None, offset: int = 0) -> list[Settling]:
    """Every act about any disagreement, newest first.

    Args:
        limit: how many at most; all for None.
    """
    return _settlings(project, " ORDER BY 1 DESC LIMIT $limit OFFSET $offset", {"limit": limit, "offset": offset})


def acts(project: Project) -> int:
    """How many acts the record has."""
    return int(project.value("SELECT count(*) FROM settlings"))


def settled(project: Project, left: str, right: str) -> dict[Place, Settling]:
    """The cases between two sides that are settled, by what they are about; the sides in either order."""
    found = _settlings(
        project,
        " WHERE c.settling_key IS NOT NULL AND [left_side, right_side] IN ([$left, $right], [$right, $left])"
        " ORDER BY 1 DESC",
        {"left": left, "right": right},
    )
    return {one.case.place: one for one in found}


def disputes(project: Project) -> list[Settling]:
    """The judgments that are disputed, newest first; not those whose case was reopened."""
    return _settlings(project, " WHERE c.settling_key IS NOT NULL AND act = 'dispute' ORDER BY 1 DESC", {})


def _settlings(project: Project, rest: str, parameters: dict[str, Any]) -> list[Settling]:
    rows = project.rows(_CASES + rest, parameters | {"version": latest_version(project)})
    return [Settling(row[0], Case(*row[1:8]), *row[8:]) for row in rows]


def record_csv(project: Project) -> str:
    """The whole record, oldest first, as CSV; cells that could be formulas are neutralised."""
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
    return _csv(header, rows)


def disputes_csv(project: Project) -> str:
    """The disputed judgments, oldest first, as CSV; cells that could be formulas are neutralised."""
    header = ("source", "query_id", "passage_id", "value", "reason", "author", "made_at")
    rows = (
        (one.source, *one.case.place[:2], one.value, one.reason, one.author, _moment(one.made_at))
        for one in reversed(disputes(project))
    )
    return _csv(header, rows)


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    # The csv module quotes a carriage return inside a cell only where line ends have one too.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        # Only text can be a formula: -1 is a judgment.
        writer.writerow(["'" + cell if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in row])
    return out.getvalue()
