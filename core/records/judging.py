"""Judgments that assessors give in the app: one source per assessor, with every change in the
activity log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InputError, check_in_range, check_not_empty, unknown_name
from ..store import Cursor, Project, as_name, log_action
from ._judgments import put_judgment
from ._teamwork import check_undecided, find_query
from ._visible import visible_rows

SCALE = {0: "not relevant", 1: "related", 2: "highly relevant", 3: "perfectly relevant"}
"""The values and their meaning: the four levels of the TREC Deep Learning tracks."""

PREFIX = "assessor: "
ADJUDICATED = "adjudicated"
"""The source of adjudicated judgments, from double assignments."""
JUDGE, WITHDRAW = "judge", "withdraw judgment"


@dataclass(frozen=True)
class JudgmentAction:
    """A step in the history of a judgment; `value` is None for a withdrawal.

    `blind` is whether the assessor had not seen the labels of the passage; None if that is not
    recorded.
    """

    author: str
    happened_at: datetime
    value: int | None
    note: str
    blind: bool | None = None


def source_of(author: str) -> str:
    """Return the source of an assessor's judgments.

    Raises:
        InputError: the name is empty.
    """
    return PREFIX + check_not_empty(
        "empty-name",
        "The name of the assessor is empty.",
        "Give the name to record with the judgment.",
        as_name(author),
    )


def judge_passage(
    project: Project,
    query_id: str,
    passage_id: str,
    value: int,
    author: str,
    note: str = "",
    blind: bool | None = None,
    undo: bool = False,
) -> None:
    """Store a judgment. It replaces an earlier judgment by the same assessor.

    Args:
        value: 0 to 3, see `SCALE`.
        author: the assessor.
        note: reason; kept in the history.
        blind: whether the assessor had not seen the labels of the passage; None if unknown.
        undo: whether this restores the judgment that a later one had replaced.

    Raises:
        InputError: value out of range, empty name, or unknown query or passage.
    """
    check_in_range(
        "judgment-out-of-range",
        f"Judgment {value}",
        f"Use {min(SCALE)} to {max(SCALE)}.",
        value in SCALE,
    )
    source = source_of(author)
    with project.transaction(act="judge passages", queries=[query_id], author=author) as cursor:
        query, passage = _find_keys(cursor, query_id, passage_id)
        check_undecided(cursor, author, query, passage, None)
        put_judgment(cursor, source, query, passage, value)
        log_action(
            cursor,
            author.strip(),
            JUDGE,
            query=query_id,
            passage=passage_id,
            value=value,
            note=note.strip(),
            **_blind_detail(blind),
            **({"undo": True} if undo else {}),
        )


def withdraw_judgment(
    project: Project, query_id: str, passage_id: str, author: str, blind: bool | None = None
) -> None:
    """Withdraw an assessor's judgment; a source is removed with its last judgment.

    Args:
        blind: as in `judge_passage`. A blind judgment that is withdrawn blind is not kept by
            `blind_judgments`.

    Raises:
        InputError: the assessor has not judged this passage.
    """
    source = source_of(author)
    with project.transaction(act="judge passages", queries=[query_id], author=author) as cursor:
        query, passage = _find_keys(cursor, query_id, passage_id)
        check_undecided(cursor, author, query, passage, None)
        if not put_judgment(cursor, source, query, passage, None):
            raise InputError(
                "no-own-judgment",
                f"{author.strip()} has not judged this passage.",
                "You can withdraw only your own judgments.",
            )
        log_action(
            cursor,
            author.strip(),
            WITHDRAW,
            query=query_id,
            passage=passage_id,
            **_blind_detail(blind),
        )


def undo_judgment(
    project: Project, query_id: str, passage_id: str, author: str, blind: bool | None = None
) -> None:
    """Restore the judgment that an assessor's last one replaced, with its note; withdraw a first
    judgment.

    Args:
        blind: as in `withdraw_judgment`.

    Raises:
        InputError: the assessor has not judged this passage.
    """
    past = [
        one
        for one in judgment_history(project, query_id, passage_id)
        if one.author == author.strip()
    ]
    replaced = past[1] if len(past) > 1 and past[0].value is not None else None
    if replaced is None or replaced.value is None:
        withdraw_judgment(project, query_id, passage_id, author, blind)
    else:
        judge_passage(
            project,
            query_id,
            passage_id,
            replaced.value,
            author,
            replaced.note,
            replaced.blind,
            undo=True,
        )


def _blind_detail(blind: bool | None) -> dict[str, bool]:
    return {} if blind is None else {"blind": blind}


def blind_judgments(project: Project, author: str) -> dict[tuple[str, str], int]:
    """Return the first blind judgment of each passage by an assessor, by query and passage id.

    Later judgments, given after seeing labels, do not replace it. A withdrawal removes it only if
    it was blind too.
    """
    first_values: dict[tuple[str, str], int] = {}
    for query_id, passage_id, value, blind in project.rows(
        "SELECT detail->>'$.query', detail->>'$.passage', (detail->>'$.value')::INTEGER,"
        " detail->>'$.blind' = 'true'"
        f" FROM {visible_rows(project, 'activity')} WHERE act IN (?, ?) AND author = ?"
        " ORDER BY activity_key",
        [JUDGE, WITHDRAW, as_name(author)],
    ):
        if blind and value is None:
            first_values.pop((query_id, passage_id), None)
        elif blind:
            first_values.setdefault((query_id, passage_id), value)
    return first_values


def own_judgment(project: Project, query_id: str, passage_id: str, author: str) -> int | None:
    """Return the judgment of an assessor; None if the passage is unjudged."""
    judgment = project.value(
        f"SELECT value FROM {visible_rows(project, 'judgments')}"
        " JOIN sources USING (source_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) WHERE name = ? AND query_id = ? AND passage_id = ?",
        [source_of(author), query_id, passage_id],
    )
    return None if judgment is None else int(judgment)


@dataclass(frozen=True)
class AssessorJudgment:
    """A judgment that an assessor gave in the app."""

    author: str
    query_id: str
    passage_id: str
    value: int


def assessor_judgments(
    project: Project, query_id: str | None = None, author: str | None = None
) -> list[AssessorJudgment]:
    """Return the judgments that assessors gave in the app, by assessor and query.

    Args:
        query_id: restricts the result to a query; None for all.
        author: restricts the result to an assessor; None for all.
    """
    return [
        AssessorJudgment(*row)
        for row in project.rows(
            "SELECT substr(name, length($prefix) + 1) AS author, query_id, passage_id, value"
            f" FROM {visible_rows(project, 'judgments')} JOIN sources USING (source_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE starts_with(name, $prefix) AND ($query IS NULL OR query_id = $query)"
            " AND ($author IS NULL OR name = $prefix || $author)"
            " ORDER BY author, query_key, passage_key",
            {"prefix": PREFIX, "query": query_id, "author": author},
        )
    ]


def last_judged_passage(project: Project, query_id: str, author: str) -> str | None:
    """Return the passage of a query that an assessor judged last, without undone judgments; None
    without one.
    """
    passage_id: str | None = project.value(
        "SELECT passage_id"
        " FROM (SELECT detail->>'$.passage' AS passage_id, max(activity_key) AS last,"
        " arg_max(act = $judge AND (detail->>'$.undo') IS NULL, activity_key) AS stays"
        f" FROM {visible_rows(project, 'activity')}"
        " WHERE act IN ($judge, $withdraw) AND author = $author AND (detail->>'$.query') = $query"
        " GROUP BY passage_id) WHERE stays ORDER BY last DESC LIMIT 1",
        {"judge": JUDGE, "withdraw": WITHDRAW, "author": as_name(author), "query": query_id},
    )
    return passage_id


def judged_pairs(project: Project, author: str) -> set[tuple[str, str]]:
    """Return every (query id, passage id) that an assessor has judged."""
    return {
        (query_id, passage_id)
        for query_id, passage_id in project.rows(
            f"SELECT query_id, passage_id FROM {visible_rows(project, 'judgments')}"
            " JOIN sources USING (source_key) JOIN queries"
            " USING (query_key) JOIN passages USING (passage_key) WHERE name = ?",
            [source_of(author)],
        )
    }


def judgment_history(project: Project, query_id: str, passage_id: str) -> list[JudgmentAction]:
    """Return all judgments and withdrawals of assessors for a query and a passage, newest first."""
    return [
        JudgmentAction(*row)
        for row in project.rows(
            "SELECT author, happened_at, (detail->>'$.value')::INTEGER, coalesce(detail->>'$.note',"
            f" ''), (detail->>'$.blind')::BOOLEAN FROM {visible_rows(project, 'activity')}"
            " WHERE act IN (?, ?) AND (detail->>'$.query') = ? AND (detail->>'$.passage') = ?"
            " ORDER BY activity_key DESC",
            [JUDGE, WITHDRAW, query_id, passage_id],
        )
    ]


def _find_keys(cursor: Cursor, query_id: str, passage_id: str) -> tuple[int, int]:
    query = find_query(cursor, query_id)
    passage = cursor.execute(
        "SELECT passage_key FROM passages WHERE passage_id = ? AND text_key IS NOT NULL",
        [passage_id],
    ).fetchall()
    if not passage:
        hint = "Check the id, or import the passage with its text."
        raise unknown_name("unknown-passage", "passage", passage_id, (), hint)
    return query, int(passage[0][0])
