"""The board: every system with its score on a scale, those that cannot be told apart, and one opened to its queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from exam_workbench.labels import Policy
from exam_workbench.leaderboard import Leaderboard, QueryScore, System, inspect_query, per_query_scores
from exam_workbench.project import Project, sources
from exam_workbench.study import Alike
from exam_workbench.text import how_many
from pages.parts.shared import address, charts, ui
from pages.parts.shared.components import component

LONG_NAME, SHORT_NAME = 60, 24
"""Signs of a name of a run where there is much room, and where there is little."""
SHOWN_TEXT = 1_500
"""So much of a passage stands here; the rest is on its own screen."""
KEY = "systems"
RUN, QUERY = "followed", "asked"
"""What is open, in the address."""
ROOM = 0.04
"""Of a scale, left free at either end."""


_component = component(
    "board_of_systems", "boards/board.css", "boards/queries.js", "boards/table.js", "boards/board.js"
)


@dataclass(frozen=True)
class Column:
    """A further column of a board.

    Args:
        values: one a system, in the order of the board; None where there is none.
        percent: whether they are shares.
        digits: after the point, of other numbers.
    """

    title: str
    values: Sequence[float | str | None]
    help: str = ""
    percent: bool = False
    digits: int = 0


@dataclass(frozen=True)
class Named:
    """A board with what it is called."""

    title: str
    board: Leaderboard


def draw(
    mine: Named,
    official: Named | None = None,
    alike: Alike | None = None,
    columns: Sequence[Column] = (),
    opened: Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> None:
    """Draw a board.

    Args:
        official: set beside it, on the same scale where the measure is the same.
        alike: which systems cannot be told apart, if that is known.
        opened: the system that is open, as `detail` gives it.
        follow: callbacks for what is clicked, `on_open_change` and so on; nothing can be opened for None.
    """
    _component(
        key=KEY,
        data={
            "board": shown(mine, official, alike, columns, follow is not None),
            "open": opened["run"] if opened else "",
            "detail": opened,
        },
        **(follow or {}),
    )


def shown(
    mine: Named,
    official: Named | None = None,
    alike: Alike | None = None,
    columns: Sequence[Column] = (),
    opens: bool = False,
) -> dict[str, Any]:
    """A board as its table takes it; arguments as in `draw`.

    Args:
        opens: whether its systems open to their queries.
    """
    board = mine.board
    other = {system.run: system for system in official.board.systems} if official else {}
    own, theirs = _scale(board), _scale(official.board) if official else (0.0, 1.0)
    if official and official.board.measure == board.measure:
        own = theirs = (min(own[0], theirs[0]), max(own[1], theirs[1]))
    runs = [system.run for system in board.systems]
    long, short = charts.short_names(runs, LONG_NAME), charts.short_names(runs, SHORT_NAME)
    place = {run: at for at, run in enumerate(runs)}
    return {
        "title": mine.title,
        "caption": f"Systems by {mine.title}",
        "domain": own,
        "official": {"title": official.title, "domain": theirs} if official else None,
        "systems": [
            _system(system)
            | {
                "long": long[system.run],
                "short": short[system.run],
                "official": _system(other[system.run]) if system.run in other else None,
            }
            for system in board.systems
        ],
        "columns": [vars(column) for column in columns],
        "groups": alike.groups if alike else [],
        "alike": [[place[run] for run in alike.of[one]] for one in runs] if alike else [],
        "opens": opens,
    }


def followed() -> tuple[str | None, str | None]:
    """The system that the address says is open, and its query that is."""
    return st.query_params.get(RUN), st.query_params.get(QUERY)


def follow() -> dict[str, Callable[[], None]]:
    """Callbacks for what is clicked on the board."""
    return {
        "on_open_change": lambda: put(RUN, st.session_state[KEY].get("open")),
        "on_ask_change": lambda: put(QUERY, st.session_state[KEY].get("ask")),
    }


def put(name: str, value: object) -> None:
    """Put what was clicked into the address, or take out what was closed."""
    if name == RUN:
        st.query_params.pop(QUERY, None)
    if value:
        st.query_params[name] = str(value)
    else:
        st.query_params.pop(name, None)


def _system(system: System) -> dict[str, Any]:
    return {"run": system.run, "score": system.score, "error": system.std_error, "rank": system.rank}


def _scale(board: Leaderboard) -> tuple[float, float]:
    """From the lowest to the highest end of an error bar, with some room."""
    ends = [s.score + side * (s.std_error or 0.0) for s in board.systems for side in (-1, 1)] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    room = ROOM * (high - low) or 0.5
    return low - room, high + room


def detail(
    project: Project,
    board: Leaderboard,
    official: Leaderboard | None,
    run: str,
    beside: str,
    asked: str | None = None,
    alike: Alike | None = None,
) -> dict[str, Any]:
    """One system down to its queries, and one of these down to the passages that it returned.

    Args:
        board: the scores by query.
        official: a board to set beside them, if any.
        beside: what that one is called.
        asked: the query that is open.
    """
    scores = per_query_scores(project, board, official, run) if board.per_query else []
    both = official is not None and bool(official.per_query)
    found: dict[str, Any] = {
        "run": run,
        "says": _says(run, alike, bool(scores)),
        "measure": board.measure,
        "beside": beside if both else None,
        "queries": [_query(row) for row in scores],
        "asked": None,
        "passages": None,
    }
    if asked is None or asked not in {row.query_id for row in scores} or not project.allows("read the bank"):
        return found
    judged_by = official.source if official and official.source in sources(project) else None
    return found | _returned(project, board.policy, run, asked, judged_by)


def _says(run: str, alike: Alike | None, scored: bool) -> str:
    if not scored:
        return "This leaderboard was imported without scores per query."
    if alike is None or alike.untested:
        return ""
    others = len(alike.of.get(run, []))
    if not others:
        return "separated from all other systems"
    return f"not separated from {how_many(others, 'other systems')}"


def _query(row: QueryScore) -> dict[str, Any]:
    return {
        "id": row.query_id, "text": row.text, "score": row.score, "mean": row.mean, "official": row.official,
        "officialMean": row.official_mean,
    }  # fmt: skip


def _returned(project: Project, policy: Policy, run: str, query: str, judged_by: str | None) -> dict[str, Any]:
    return {
        "asked": query,
        "judgedBy": judged_by,
        "links": [
            {"label": label, "href": link(screen, query=query)}
            for screen, label in (
                ("question_bank", "Questions of this query"),
                ("disagreements", "Disagreements of this query"),
            )
        ],
        "passages": [
            {
                "rank": row.rank,
                "text": ui.shortened(row.text or f"Passage {row.passage_id} has no text.", SHOWN_TEXT),
                "label": row.label,
                "judgment": row.judgment,
                "question": row.question,
                "link": link("passages", query=query, passage=row.passage_id),
            }
            for row in inspect_query(project, run, query, policy, judged_by)
        ],
    }


def link(screen: str, **query: str) -> str:
    """A link to another screen, which keeps the project and what is chosen everywhere."""
    where = {"project": str(st.session_state["project"]), **address.travelling(), **query}
    return f"{screen}?{urlencode(where)}"
