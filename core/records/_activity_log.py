"""The activity log for people, and restoring the data that an action replaced."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from ..errors import InputError
from ..store import SCORELESS, Cursor, Project, log_action
from ..tables import csv_text
from ._activity_sentences import Place, action_sentence, place_of
from ._judgments import refresh_pool
from ._replaced_data import KINDS, ReplacedDataKeeper, ReplacedObject, present_rows_sql
from ._visible import readable_activity, readable_texts, visible_rows

# The log refers to objects by id or key. Questions are shown with their text at the time of the
# action. Questions of overrides have their text at the time of the override.
_TOLD = (
    "SELECT a.activity_key, a.happened_at, a.author, a.act, a.detail, coalesce(was.text,"
    " said.text) AS question_text, coalesce(asked.question_id, o_asked.question_id) AS question_id,"
    " coalesce(q.query_id, qq.query_id, oq.query_id) AS query_id, coalesce(q.text, qq.text,"
    " oq.text) AS query_text, coalesce(p.passage_id, op.passage_id) AS passage_id,"
    " coalesce(t.text, ot.text) AS passage_text,"
    " a.activity_key IN (SELECT activity_key FROM replacements) AS replaced"
    " FROM (SELECT *, detail->>'$.question' AS question, detail->>'$.passage' AS passage,"
    "  detail->>'$.query' AS query, try_cast(detail->>'$.override' AS INTEGER) AS override_key"
    " FROM {acts}) a LEFT JOIN questions asked ON asked.question_id = a.question"
    " ASOF LEFT JOIN (SELECT question_key, text_key, saved_at"
    " FROM question_revisions JOIN bank_versions"
    "  USING (version)) r ON r.question_key = asked.question_key AND r.saved_at <= a.happened_at"
    " LEFT JOIN {texts} said ON said.text_key = r.text_key"
    " LEFT JOIN {overrides} o ON o.override_key = a.override_key"
    " LEFT JOIN {texts} was ON was.text_key = o.question_text_key"
    " LEFT JOIN questions o_asked ON o_asked.question_key = o.question_key LEFT JOIN queries q"
    " ON q.query_id = a.query LEFT JOIN queries qq ON qq.query_key = asked.query_key"
    " LEFT JOIN queries oq ON oq.query_key = o_asked.query_key LEFT JOIN passages p"
    " ON p.passage_id = a.passage LEFT JOIN passage_texts t ON t.text_key = p.text_key"
    " LEFT JOIN passages op ON op.passage_key = o.passage_key"
    " LEFT JOIN passage_texts ot ON ot.text_key = op.text_key"
)

_SOUGHT = (
    "(FROM {activity} WHERE ($who IS NULL OR author = $who) AND ($act IS NULL OR act = $act)"
    " AND ($since IS NULL OR happened_at >= $since::DATE)"
    " AND ($until IS NULL OR happened_at < $until::DATE + INTERVAL 1 DAY))"
)

_WITH_WORDS = (
    "SELECT activity_key FROM ({told})"
    " WHERE contains(lower(concat_ws(' ', author, act, detail, question_text, query_text)), $words)"
    # The detail is JSON, in which quotes, backslashes and line ends are escaped.
    " OR contains(lower(detail), $escaped)"
)


@dataclass(frozen=True)
class ActivityFilter:
    """A filter of the activity log; None and "" leave a field unrestricted.

    Args:
        who: the person.
        act: name of the action in the log, such as "save bank".
        since, until: the first and the last day.
        words: text in the names, notes, reasons, questions or queries of the action; case is
            ignored.
    """

    who: str | None = None
    act: str | None = None
    since: date | None = None
    until: date | None = None
    words: str = ""


@dataclass(frozen=True)
class ActivityEntry:
    """An action of a person.

    Args:
        detail: the values that the log keeps for it.
        said: a sentence without its subject, such as "saved bank version 3".
        place: the screen that shows the object of the action; None if no screen does.
        replaced: whether the action replaced data that can be restored (`project.bringing_back`).
        brought_back: whether this data has been restored, and the restoration has not been undone.
    """

    key: int
    happened_at: datetime
    author: str
    act: str
    detail: dict[str, Any]
    said: str
    place: Place | None
    replaced: bool = False
    brought_back: bool = False


@dataclass(frozen=True)
class ActivityPage:
    """One page of the actions that match, and their total number."""

    total: int
    acts: list[ActivityEntry]


def list_actions(
    project: Project, sought: ActivityFilter | None = None, page_size: int = 50, page: int = 1
) -> ActivityPage:
    """Return the actions of people, newest first.

    Args:
        page_size: actions per page; 0 puts all on one page.
        page: counted from 1.
    """
    sought = sought or ActivityFilter()
    values: dict[str, Any] = {
        "who": sought.who,
        "act": sought.act,
        "since": sought.since,
        "until": sought.until,
    }
    acts = _SOUGHT.format(activity=readable_activity(project))
    described_sql = functools.partial(
        _TOLD.format, overrides=visible_rows(project, "overrides"), texts=readable_texts(project)
    )
    if sought.words.strip():
        values |= {"words": sought.words.strip().lower()}
        values |= {"escaped": json.dumps(values["words"], ensure_ascii=False)[1:-1]}
        acts = (
            f"(FROM {acts} WHERE activity_key IN"
            f" ({_WITH_WORDS.format(told=described_sql(acts=acts))}))"
        )
    total = project.value(f"SELECT count(*) FROM {acts}", values)
    paged = f" LIMIT {page_size:d} OFFSET {page_size * (max(page, 1) - 1):d}" if page_size else ""
    # Objects are looked up only for the actions of this page.
    shown = f"(FROM {acts} ORDER BY activity_key DESC{paged})"
    rows = project.rows(f"{described_sql(acts=shown)} ORDER BY a.activity_key DESC", values)
    undone = _brought_back(project) if any(row[-1] for row in rows) else frozenset()
    return ActivityPage(int(total), [_read_act(row, row[0] in undone) for row in rows])


def _brought_back(project: Project) -> frozenset[int]:
    """Return the keys of actions whose replaced data was restored, except undone restorations."""
    restored: set[int] = set()
    for key, undone in project.rows(
        "SELECT activity_key, try_cast(detail->>'$.undone' AS INTEGER)"
        f" FROM {visible_rows(project, 'activity')} WHERE act = 'bring back'"
        " ORDER BY activity_key DESC"
    ):
        if key not in restored and undone is not None:
            restored.add(undone)
    return frozenset(restored)


def _read_act(row: tuple[Any, ...], brought_back: bool) -> ActivityEntry:
    (
        key,
        happened_at,
        author,
        act,
        text,
        question,
        question_id,
        query_id,
        query,
        passage_id,
        passage,
        replaced,
    ) = row
    detail = json.loads(text)
    context = {
        **({"question text": question} if question else {}),
        **({"query text": query} if query else {}),
        **({"passage text": passage} if passage else {}),
    }
    places = {"question": question_id, "query": query_id, "passage": passage_id}
    ids = {name: value for name, value in places.items() if value is not None}
    return ActivityEntry(
        key,
        happened_at,
        author,
        act,
        detail,
        action_sentence(act, {**detail, **ids, **context}),
        place_of(act, detail, ids),
        replaced,
        brought_back,
    )


def latest_action(project: Project) -> int:
    """Return the number of the newest action; 0 for an empty log."""
    return int(
        project.value(
            f"SELECT coalesce(max(activity_key), 0) FROM {visible_rows(project, 'activity')}"
        )
    )


def acted_since(project: Project, act: int, name: str) -> list[str]:
    """Return the names of the other people who changed something after an action. Exports do not
    count.

    Args:
        act: number of the action.
        name: the name of the caller, who is left out.
    """
    return [
        author
        for (author,) in project.rows(
            f"SELECT DISTINCT author FROM {visible_rows(project, 'activity')}"
            " WHERE activity_key > ? AND author <> ?"
            f" AND NOT starts_with(act, 'export ') AND act NOT IN {SCORELESS} ORDER BY author",
            [act, name],
        )
    ]


def people(project: Project) -> list[str]:
    """Return the names of all people in the log."""
    return [
        name
        for (name,) in project.rows(
            f"SELECT DISTINCT author FROM {visible_rows(project, 'activity')}"
            " ORDER BY lower(author), author"
        )
    ]


def kinds_of_act(project: Project) -> list[str]:
    """Return the names of all kinds of action in the log."""
    return [
        act
        for (act,) in project.rows(
            f"SELECT DISTINCT act FROM {visible_rows(project, 'activity')} ORDER BY act"
        )
    ]


def activity_csv(project: Project, sought: ActivityFilter | None = None) -> str:
    """Return the actions that match as CSV, newest first; cells that could be formulas are
    neutralised.
    """
    return csv_text(
        ("happened_at", "who", "act", "what", "detail"),
        (
            (
                act.happened_at.isoformat(timespec="seconds"),
                act.author,
                act.act,
                act.said,
                json.dumps(act.detail, ensure_ascii=False),
            )
            for act in list_actions(project, sought, page_size=0).acts
        ),
    )


def can_bring_back(project: Project, activity_key: int) -> list[ReplacedObject]:
    """Return the objects that an action of the log replaced; empty if it replaced nothing."""
    return [
        ReplacedObject(*row)
        for row in project.rows(
            "SELECT kind, name, before, gone, after FROM replacements WHERE activity_key = ?"
            " ORDER BY replacement_key",
            [activity_key],
        )
    ]


def bring_back(project: Project, activity_key: int, author: str) -> list[ReplacedObject]:
    """Restore the objects that an action of the log replaced. The present ones are kept, so you can
    undo this.

    Other changes of the action stay.

    Args:
        activity_key: number of the action.

    Returns:
        The restored objects.

    Raises:
        InputError: the action replaced nothing, the project already has the replaced objects, or a
            text that would be removed is in use.
    """
    project.require("bring back", author=author)
    restored = can_bring_back(project, activity_key)
    if not restored:
        raise InputError(
            "nothing-replaced",
            f"Action {activity_key} replaced nothing that can be restored.",
            "See exam activity for the numbers of actions.",
        )
    with project.transaction(act="bring back", author=author) as cursor:
        keeper = ReplacedDataKeeper(cursor)
        tables = sorted(
            {table for entry in restored for table in (*KINDS[entry.kind].tables, *_BESIDE)}
        )
        before = _hash_tables(cursor, tables)
        for replacement, kind, key, name in cursor.execute(
            "SELECT replacement_key, kind, object_key, name FROM replacements"
            " WHERE activity_key = ? ORDER BY replacement_key",
            [activity_key],
        ).fetchall():
            _restore_object(cursor, keeper, replacement, kind, key, name)
        if _hash_tables(cursor, tables) == before:
            raise InputError(
                "nothing-to-restore",
                "Nothing to restore: the project already has everything that action"
                f" {activity_key} replaced.",
            )
        refresh_pool(cursor)
        replaced = keeper.discard_unchanged()
        act = log_action(
            cursor,
            author,
            "bring back",
            undone=activity_key,
            restored=[entry.whole for entry in restored],
        )
        keeper.record(replaced, act)
    return restored


_BESIDE = ("runs", "boards", "sources", "passages", "subtopics")
"""Tables that can change together with the tables of the replaced objects."""


def _hash_tables(cursor: Cursor, tables: Sequence[str]) -> list[tuple[object, ...]]:
    """Return a count and a hash of each table, independent of row order, to detect changes."""
    return [
        cursor.execute(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {table} t").fetchall()[0]
        for table in tables
    ]


def _restore_object(
    cursor: Cursor,
    keeper: ReplacedDataKeeper,
    replacement: int,
    kind: str,
    key: int | None,
    name: str,
) -> None:
    of = KINDS[kind]
    condition = f"replacement_key = {replacement:d}"
    if kind == "passages":
        _restore_passages(cursor, keeper, condition)
    elif kind == "queries":
        _restore_queries(cursor, keeper, condition)
    else:
        if kind == "citations":
            keeper.keep_sentences(
                f"SELECT passage_key FROM replaced_response_sentences WHERE {condition}"
            )
        else:
            keeper.keep(kind, name, key)
        if kind == "judgments":
            # The removal of its last judgment removed the source too.
            cursor.execute(
                "INSERT INTO sources SELECT ?, ? WHERE NOT EXISTS (FROM sources"
                " WHERE source_key = ?)",
                [key, name, key],
            )
        for table in of.tables:
            cursor.execute(f"DELETE FROM {table} WHERE {present_rows_sql(kind, key, replacement)}")
            cursor.execute(
                f"INSERT INTO {table} SELECT * EXCLUDE (replacement_key) FROM replaced_{table}"
                f" WHERE {condition} ORDER BY rowid"
            )
        if of.named_in:
            changed = ", ".join(f"{column} = r.{column}" for column in of.further)
            cursor.execute(
                f"UPDATE {of.named_in} SET {changed} FROM replaced_{of.named_in} r"
                f" WHERE r.{condition} AND r.{of.key} = {of.named_in}.{of.key}"
            )


def _restore_passages(cursor: Cursor, keeper: ReplacedDataKeeper, condition: str) -> None:
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE returning_texts AS"
        " SELECT p.passage_key, p.passage_id, p.text_key,"
        " r.text_key AS old FROM replaced_passages r JOIN passages p USING (passage_key)"
        f" WHERE r.{condition} AND p.text_key IS DISTINCT FROM r.text_key"
    )
    keeper.keep_passages("returning_texts")
    cursor.execute(
        "UPDATE passages SET text_key = r.old FROM returning_texts r"
        " WHERE r.passage_key = passages.passage_key"
    )


def _restore_queries(cursor: Cursor, keeper: ReplacedDataKeeper, condition: str) -> None:
    keeper.keep_queries(f"SELECT query_key FROM replaced_queries WHERE {condition}")
    keeper.keep_subtopics(
        f"SELECT (query_key, subtopic_id) FROM replaced_subtopics WHERE {condition}"
    )
    cursor.execute(
        "UPDATE queries SET text = r.text, narrative = r.narrative, answer = r.answer,"
        " further_answers = r.further_answers FROM replaced_queries r"
        f" WHERE r.{condition} AND r.query_key = queries.query_key"
    )
    cursor.execute(
        f"UPDATE subtopics SET text = r.text FROM replaced_subtopics r WHERE r.{condition}"
        " AND r.query_key = subtopics.query_key AND r.subtopic_id = subtopics.subtopic_id"
    )
