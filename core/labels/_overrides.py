"""Overrides: a person's rating replaces the grader's, with a reason; withdrawn, never deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..bank import latest_version
from ..errors import InputError, check_in_range, check_not_empty, unknown_name
from ..records import check_undecided, readable_texts, visible_rows
from ..store import Cursor, Project, as_name, log_action
from ..text import clean_text
from ..types import RATINGS


@dataclass(frozen=True)
class Override:
    """A person's rating for a question and a passage.

    Args:
        wording: wording of the question at the time of the rating.
        wording_now: wording of the question in the compared bank version, usually the newest.
        stale: whether these two wordings differ. A stale override counts only for its own wording;
            under the newest version a person should confirm or withdraw it.
        held: whether it belongs to an open double assignment and does not count until adjudication.
    """

    key: int
    question_id: str
    query_id: str
    passage_id: str
    rating: int
    reason: str
    author: str
    made_at: datetime
    wording: str
    wording_now: str
    stale: bool
    held: bool = False


def add_override(
    project: Project, question_id: str, passage_id: str, rating: int, reason: str, author: str
) -> int:
    """Rate a passage for a question in its current wording.

    Returns:
        The key of the override.

    Raises:
        InputError: a rating out of range, no reason, or an unknown question or passage.
    """
    return override_all(project, passage_id, {question_id: rating}, reason, author)[0]


def override_all(
    project: Project, passage_id: str, ratings: Mapping[str, int], reason: str, author: str
) -> list[int]:
    """Rate a passage for several questions with one reason; an error stores no rating.

    Args:
        ratings: by question id.

    Returns:
        The keys of the overrides, in the same order.

    Raises:
        InputError: `ratings` is empty; or as for `add_override`.
    """
    if not ratings:
        raise InputError(
            "no-rating", "No rating to save.", "Choose a rating for at least one question."
        )
    with project.transaction(
        act="override ratings",
        queries=lambda: queries_of_questions(project, ratings),
        author=author,
    ) as cursor:
        return [
            write_override(project, cursor, question_id, passage_id, rating, reason, author)
            for question_id, rating in ratings.items()
        ]


def write_override(
    project: Project,
    cursor: Cursor,
    question_id: str,
    passage_id: str,
    rating: int,
    reason: str,
    author: str,
) -> int:
    """Rate a passage as `add_override` does, in the transaction of a larger action."""
    check_in_range(
        "rating-out-of-range", f"Rating {rating}", "Use a number from 0 to 5.", rating in RATINGS
    )
    reason = check_not_empty(
        "empty-reason",
        "The reason is empty.",
        "Explain why the grader's rating is wrong.",
        clean_text(reason).strip(),
    )
    question_row = cursor.execute(
        "SELECT question_key, text_key, query_key FROM bank_at(?)"
        " JOIN questions USING (question_key) WHERE question_id = ?",
        [latest_version(project), question_id],
    ).fetchone()
    if question_row is None:
        raise unknown_name("unknown-question", "question", question_id, (), "See exam bank list.")
    read = cursor.execute(
        "SELECT passage_key, text_key FROM passages WHERE passage_id = ?", [passage_id]
    ).fetchone()
    if read is None:
        raise unknown_name(
            "unknown-passage", "passage", passage_id, (), "Use a passage from the pool."
        )
    if read[1] is None:
        raise InputError(
            "no-text", f"Passage '{passage_id}' has no text.", "Import texts: exam import passages."
        )
    (question, question_text, query), (passage, passage_text) = question_row, read
    check_undecided(cursor, author, query, passage, question)
    key = cursor.execute(
        "INSERT INTO overrides"
        " VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP, NULL, NULL)"
        " RETURNING override_key",
        [question, passage, question_text, passage_text, rating, reason, as_name(author)],
    ).fetchall()[0][0]
    log_action(
        cursor,
        author,
        "override",
        question=question_id,
        passage=passage_id,
        rating=rating,
        reason=reason,
    )
    return int(key)


def withdraw_by_key(project: Project, key: int, author: str) -> None:
    """Withdraw an override: the grader's rating counts again.

    Raises:
        InputError: the override is unknown or already withdrawn.
    """
    withdraw_all(project, [key], author)


def withdraw_all(project: Project, keys: Collection[int], author: str) -> None:
    """Withdraw several overrides; an error withdraws no override.

    Raises:
        InputError: an override is unknown or already withdrawn.
    """

    def find_queries() -> set[str]:
        return {one.query_id for one in find_overrides(project) if one.key in set(keys)}

    with project.transaction(act="override ratings", queries=find_queries, author=author) as cursor:
        for key in keys:
            write_withdrawal(cursor, key, author)


def write_withdrawal(cursor: Cursor, key: int, author: str) -> None:
    """Withdraw an override as `withdraw_by_key` does, in the transaction of a larger action."""
    open_rows = cursor.execute(
        "SELECT o.author, query_key, passage_key, question_key FROM held_overrides"
        " JOIN overrides o USING (override_key) JOIN questions USING (question_key)"
        " WHERE override_key = ? AND withdrawn_at IS NULL",
        [key],
    ).fetchall()
    if open_rows:
        if open_rows[0][0] != as_name(author):
            raise InputError(
                "override-of-double-assignment",
                f"Override {key} is part of a double assignment, so only its"
                " author can withdraw it.",
                "Differences are adjudicated: exam adjudicate list.",
            )
        check_undecided(cursor, *open_rows[0])
    withdrawn = cursor.execute(
        "UPDATE overrides SET withdrawn_by = ?, withdrawn_at = now()::TIMESTAMP"
        " WHERE override_key = ? AND withdrawn_at IS NULL",
        [as_name(author), key],
    ).fetchall()[0][0]
    if not withdrawn:
        raise InputError(
            "unknown-override",
            f"Unknown or withdrawn override {key}.",
            "See the current list: exam overrides list",
        )
    log_action(cursor, author, "withdraw override", override=key)


def confirm_override(project: Project, key: int, author: str) -> None:
    """Make a stale override count for the new wording too.

    Raises:
        InputError: the override is unknown or not stale.
    """
    stale_override = next(
        (candidate for candidate in find_overrides(project) if candidate.key == key), None
    )
    if stale_override is None:
        raise InputError(
            "unknown-override",
            f"Unknown or withdrawn override {key}.",
            "See the current list: exam overrides list",
        )
    if not stale_override.stale:
        raise InputError(
            "override-counts-already",
            f"Override {key} already counts: its question was not reworded.",
        )
    with project.transaction(
        act="override ratings", queries=[stale_override.query_id], author=author
    ) as cursor:
        write_override(
            project,
            cursor,
            stale_override.question_id,
            stale_override.passage_id,
            stale_override.rating,
            stale_override.reason,
            author,
        )
        write_withdrawal(cursor, key, author)


def find_overrides(
    project: Project, query_id: str | None = None, version: int | None = None
) -> list[Override]:
    """Return the overrides that are not withdrawn, newest first.

    Args:
        query_id: restricts the result to this query; None for all.
        version: bank version of `wording_now` and `stale`; None means the newest.
    """
    return [
        Override(*row)
        for row in project.rows(
            "SELECT override_key, question_id, query_id, passage_id, rating, reason, author,"
            " made_at, coalesce(was.text, question_id || ' (words not known)'), coalesce(now.text,"
            "  CASE WHEN now.text_key IS NULL THEN was.text END, question_id || '"
            " (words not known)'),"
            # A question that is newer than the version is not reworded in it.
            " coalesce(o.question_text_key <> r.text_key, false),"
            " override_key IN (SELECT override_key FROM held_overrides)"
            f" FROM {visible_rows(project, 'overrides')}"
            " o JOIN questions USING (question_key) JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) LEFT JOIN bank_at($version) r USING (question_key)"
            f" JOIN {readable_texts(project)} was ON was.text_key = o.question_text_key"
            f" LEFT JOIN {readable_texts(project)} now ON now.text_key = r.text_key"
            " WHERE withdrawn_at IS NULL AND ($query IS NULL OR query_id = $query)"
            " ORDER BY override_key DESC",
            {"version": latest_version(project) if version is None else version, "query": query_id},
        )
    ]


def queries_of_questions(project: Project, question_ids: Iterable[str]) -> set[str]:
    """Return the ids of the queries that questions belong to."""
    rows = project.rows(
        "SELECT query_id FROM questions JOIN queries USING (query_key)"
        " WHERE list_contains(?, question_id)",
        [list(question_ids)],
    )
    return {query_id for (query_id,) in rows}
