"""The activity log for people: who did what, newest first, each action as a sentence with a link target."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from ..store import SCORELESS, Project
from ..tables import csv_text
from ._activity_sentences import Place, place_of, sentence
from ._sealed_questions import readable_activity, readable_texts
from ._visible import visible

# The log refers to objects by id or key. Questions are shown with their text at the time of the action. Questions of
# overrides have their text at the time of the override.
_TOLD = (
    "SELECT a.activity_key, a.happened_at, a.author, a.act, a.detail,"
    " coalesce(was.text, said.text) AS question_text, coalesce(asked.question_id, o_asked.question_id) AS question_id,"
    " coalesce(q.query_id, qq.query_id, oq.query_id) AS query_id, coalesce(q.text, qq.text, oq.text) AS query_text,"
    " coalesce(p.passage_id, op.passage_id) AS passage_id, coalesce(t.text, ot.text) AS passage_text,"
    " a.activity_key IN (SELECT activity_key FROM replacements) AS replaced"
    " FROM (SELECT *, detail->>'$.question' AS question, detail->>'$.passage' AS passage,"
    "  detail->>'$.query' AS query, try_cast(detail->>'$.override' AS INTEGER) AS override_key FROM {acts}) a"
    " LEFT JOIN questions asked ON asked.question_id = a.question"
    " ASOF LEFT JOIN (SELECT question_key, text_key, saved_at FROM question_revisions JOIN bank_versions"
    "  USING (version)) r ON r.question_key = asked.question_key AND r.saved_at <= a.happened_at"
    " LEFT JOIN {texts} said ON said.text_key = r.text_key"
    " LEFT JOIN {overrides} o ON o.override_key = a.override_key"
    " LEFT JOIN {texts} was ON was.text_key = o.question_text_key"
    " LEFT JOIN questions o_asked ON o_asked.question_key = o.question_key"
    " LEFT JOIN queries q ON q.query_id = a.query LEFT JOIN queries qq ON qq.query_key = asked.query_key"
    " LEFT JOIN queries oq ON oq.query_key = o_asked.query_key"
    " LEFT JOIN passages p ON p.passage_id = a.passage LEFT JOIN passage_texts t ON t.text_key = p.text_key"
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
class Sought:
    """A filter of the activity log; None and "" leave a field unrestricted.

    Args:
        who: the person.
        act: name of the action in the log, such as "save bank".
        since, until: the first and the last day.
        words: text in the names, notes, reasons, questions or queries of the action; case is ignored.
    """

    who: str | None = None
    act: str | None = None
    since: date | None = None
    until: date | None = None
    words: str = ""


@dataclass(frozen=True)
class Act:
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
class Log:
    """One page of the actions that match, and their total number."""

    total: int
    acts: list[Act]


def activity(project: Project, sought: Sought | None = None, page_size: int = 50, page: int = 1) -> Log:
    """Return the actions of people, newest first.

    Args:
        page_size: actions per page; 0 puts all on one page.
        page: counted from 1.
    """
    sought = sought or Sought()
    values, acts = _values(sought), _SOUGHT.format(activity=readable_activity(project))
    told = functools.partial(_TOLD.format, overrides=visible(project, "overrides"), texts=readable_texts(project))
    if sought.words.strip():
        values |= {"words": sought.words.strip().lower()}
        values |= {"escaped": json.dumps(values["words"], ensure_ascii=False)[1:-1]}
        acts = f"(FROM {acts} WHERE activity_key IN ({_WITH_WORDS.format(told=told(acts=acts))}))"
    total = project.value(f"SELECT count(*) FROM {acts}", values)
    paged = f" LIMIT {page_size:d} OFFSET {page_size * (max(page, 1) - 1):d}" if page_size else ""
    # Objects are looked up only for the actions of this page.
    shown = f"(FROM {acts} ORDER BY activity_key DESC{paged})"
    rows = project.rows(f"{told(acts=shown)} ORDER BY a.activity_key DESC", values)
    undone = _brought_back(project) if any(row[-1] for row in rows) else frozenset()
    return Log(int(total), [_act(row, row[0] in undone) for row in rows])


def _brought_back(project: Project) -> frozenset[int]:
    """Return the keys of the actions whose replaced data was restored, without undone restorations."""
    found: set[int] = set()
    for key, undone in project.rows(
        "SELECT activity_key, try_cast(detail->>'$.undone' AS INTEGER)"
        f" FROM {visible(project, 'activity')} WHERE act = 'bring back'"
        " ORDER BY activity_key DESC"
    ):
        if key not in found and undone is not None:
            found.add(undone)
    return frozenset(found)


def _values(sought: Sought) -> dict[str, Any]:
    return {"who": sought.who, "act": sought.act, "since": sought.since, "until": sought.until}


def _act(row: tuple[Any, ...], brought_back: bool) -> Act:
    key, happened_at, author, act, text, question, question_id, query_id, query, passage_id, passage, replaced = row
    detail = json.loads(text)
    known = {
        **({"question text": question} if question else {}),
        **({"query text": query} if query else {}),
        **({"passage text": passage} if passage else {}),
    }
    places = {"question": question_id, "query": query_id, "passage": passage_id}
    found = {name: value for name, value in places.items() if value is not None}
    return Act(
        key,
        happened_at,
        author,
        act,
        detail,
        sentence(act, {**detail, **found, **known}),
        place_of(act, detail, found),
        replaced,
        brought_back,
    )


def latest_act(project: Project) -> int:
    """Return the number of the newest action; 0 for an empty log."""
    return int(project.value(f"SELECT coalesce(max(activity_key), 0) FROM {visible(project, 'activity')}"))


def acted_since(project: Project, act: int, name: str) -> list[str]:
    """Return the names of the other people who changed something after an action. Exports do not count.

    Args:
        act: number of the action.
        name: the name of the caller, who is left out.
    """
    return [
        author
        for (author,) in project.rows(
            f"SELECT DISTINCT author FROM {visible(project, 'activity')} WHERE activity_key > ? AND author <> ?"
            f" AND NOT starts_with(act, 'export ') AND act NOT IN {SCORELESS} ORDER BY author",
            [act, name],
        )
    ]


def people(project: Project) -> list[str]:
    """Return the names of all people in the log."""
    return [
        name
        for (name,) in project.rows(
            f"SELECT DISTINCT author FROM {visible(project, 'activity')} ORDER BY lower(author), author"
        )
    ]


def kinds_of_act(project: Project) -> list[str]:
    """Return the names of all kinds of action in the log."""
    return [act for (act,) in project.rows(f"SELECT DISTINCT act FROM {visible(project, 'activity')} ORDER BY act")]


def activity_csv(project: Project, sought: Sought | None = None) -> str:
    """Return the actions that match as CSV, newest first; cells that could be formulas are neutralised."""
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
            for act in activity(project, sought, page_size=0).acts
        ),
    )
