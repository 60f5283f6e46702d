"""The leaderboard: every system with its score on a scale, groups that are not separated, and an
open system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from exam_workbench import labels, run_names, study
from exam_workbench.records import judgment_sources
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import address, components, ui

LONG_NAME, SHORT_NAME = 60, 24
"""Maximum characters shown of a run's name, in wide and in narrow places."""
SHOWN_TEXT = 1_500
"""Characters of a passage that are shown here; its own screen has the rest."""
LINKED_TEXT = 110
"""Characters of a passage in a link to it."""
KEY = "systems"
RUN, QUERY, SORTED = "followed", "asked", "sorted"
"""Address parameters of the open system and query, and of the order: a column, after a minus if it
is reversed.
"""
ROOM = 0.04
"""Share of a scale that is left free at either end."""


@dataclass(frozen=True)
class Column:
    """A further column of a leaderboard.

    Args:
        values: one per system, in the order of the leaderboard; None for a missing value.
        percent: whether the values are shares.
        digits: decimals of other numbers.
        errors: one per value, drawn after it.
    """

    title: str
    values: Sequence[float | str | None]
    help: str = ""
    percent: bool = False
    digits: int = 0
    errors: Sequence[float | None] = ()


@dataclass(frozen=True)
class NamedLeaderboard:
    """A leaderboard and its title.

    Args:
        spread: the meaning of the errors of its scores.
        name: heading of its scores, if it is drawn next to another leaderboard.
    """

    title: str
    board: labels.Leaderboard
    spread: str = " ± one standard error"
    name: str = "Official"


def draw(
    primary: NamedLeaderboard,
    official: NamedLeaderboard | None = None,
    alike: study.UnseparatedSystems | None = None,
    columns: Sequence[Column] = (),
    opened: Mapping[str, Any] | None = None,
    opens: bool = True,
) -> None:
    """Draw a leaderboard; clicks on it are written into the address.

    Args:
        official: drawn next to it, on the same scale if the measure is the same.
        alike: groups of systems that are not separated.
        opened: the open system, as `system_details` returns it.
        opens: whether systems open.
    """
    components.draw(
        "leaderboard",
        KEY,
        {
            "board": board_data(primary, official, alike, columns, opens),
            "open": opened["run"] if opened else "",
            "sorted": st.query_params.get(SORTED, ""),
            "detail": opened,
        },
        on_open_change=lambda: write_followed(RUN, st.session_state[KEY].get("open")),
        on_ask_change=lambda: write_followed(QUERY, st.session_state[KEY].get("ask")),
        on_sort_change=lambda: write_followed(SORTED, st.session_state[KEY].get("sort")),
    )


def board_data(
    primary: NamedLeaderboard,
    official: NamedLeaderboard | None = None,
    alike: study.UnseparatedSystems | None = None,
    columns: Sequence[Column] = (),
    opens: bool = False,
) -> dict[str, Any]:
    """Return the data of a leaderboard for its table; arguments as in `draw`.

    Args:
        opens: whether its systems open to their queries.
    """
    board = primary.board
    other = {system.run: system for system in official.board.systems} if official else {}
    own, official_scale = (
        _score_scale(board),
        _score_scale(official.board) if official else (0.0, 1.0),
    )
    if official and official.board.measure == board.measure:
        own = official_scale = (min(own[0], official_scale[0]), max(own[1], official_scale[1]))
    runs = [system.run for system in board.systems]
    long, short = run_names.short_names(runs, LONG_NAME), run_names.short_names(runs, SHORT_NAME)
    place = {run: at for at, run in enumerate(runs)}
    return {
        "title": primary.title,
        "help": primary.title + primary.spread,
        "caption": f"Systems by {primary.title}",
        "domain": own,
        "official": {
            "title": official.title,
            "help": official.title + official.spread,
            "name": official.name,
            "domain": official_scale,
        }
        if official
        else None,
        "systems": [
            _system_data(system)
            | {
                "long": long[system.run],
                "short": short[system.run],
                "official": _system_data(other[system.run]) if system.run in other else None,
            }
            for system in board.systems
        ],
        "columns": [vars(column) for column in columns],
        "groups": alike.groups if alike else [],
        "alike": [[place[run] for run in alike.of.get(one, ())] for one in runs] if alike else [],
        "opens": opens,
    }


def find_followed() -> tuple[str | None, str | None]:
    """Return the open system and its open query, as the URL names them; None for a missing name."""
    return st.query_params.get(RUN), st.query_params.get(QUERY)


def write_followed(name: str, value: object) -> None:
    """Write a clicked system or query into the address, or remove a closed one."""
    closed = {QUERY: ""} if name == RUN else {}
    address.write_parameters({name: str(value or "")} | closed)


def _system_data(system: labels.System) -> dict[str, Any]:
    return {
        "run": system.run,
        "score": system.score,
        "error": system.std_error,
        "rank": system.rank,
    }


def _score_scale(board: labels.Leaderboard) -> tuple[float, float]:
    """Return the lowest and highest end of all error bars, with a margin."""
    ends = [s.score + side * (s.std_error or 0.0) for s in board.systems for side in (-1, 1)] or [
        0.0,
        1.0,
    ]
    low, high = min(ends), max(ends)
    room = ROOM * (high - low) or 0.5
    return low - room, high + room


def system_details(
    project: Project,
    board: labels.Leaderboard,
    official: labels.Leaderboard | None,
    run: str,
    beside: str,
    asked_query: str | None = None,
    alike: study.UnseparatedSystems | None = None,
) -> dict[str, Any]:
    """Return the details of a system: its queries, and the passages that it returned for the open
    one.

    Args:
        board: the scores by query.
        official: a leaderboard to compare with, if any.
        beside: the title of the official leaderboard.
        asked_query: the open query.
    """
    scores = labels.per_query_scores(project, board, official, run) if board.per_query else []
    both = official is not None and bool(official.per_query)
    details: dict[str, Any] = {
        "run": run,
        "says": _explain_groups(run, alike, bool(scores)),
        "measure": board.measure,
        "beside": beside if both else None,
        "queries": [
            {
                "id": row.query_id,
                "text": row.text,
                "score": row.score,
                "mean": row.mean,
                "official": row.official,
                "officialMean": row.official_mean,
            }
            for row in scores
        ],
        "asked": None,
        "passages": None,
    }
    if (
        asked_query is None
        or asked_query not in {row.query_id for row in scores}
        or not project.allows("read the bank")
    ):
        return details
    judged_by = (
        official.source if official and official.source in judgment_sources(project) else None
    )
    return details | {
        "asked": asked_query,
        "judgedBy": judged_by,
        "links": [
            {"label": label, "href": address.screen_link(screen, query=asked_query)}
            for screen, label in (
                ("question_bank", "Questions of this query"),
                ("disagreements", "Disagreements of this query"),
            )
        ],
        "passages": [
            {
                "rank": row.rank,
                "text": ui.shorten_text(
                    row.text or f"Passage {row.passage_id} has no text.", SHOWN_TEXT
                ),
                "label": row.label,
                "judgment": row.judgment,
                "question": row.question,
                "link": address.screen_link("passages", query=asked_query, passage=row.passage_id),
            }
            for row in labels.inspect_query(project, run, asked_query, board.policy, judged_by)
        ],
    }


def _explain_groups(run: str, alike: study.UnseparatedSystems | None, scored: bool) -> str:
    if not scored:
        return "This leaderboard was imported without scores per query."
    if alike is None or alike.untested:
        return ""
    others = len(alike.of.get(run, []))
    if not others:
        return "separated from all other systems"
    return f"not separated from {how_many(others, 'other systems')}"


QUERIES_KEY = "queries of a system"


@st.fragment
def draw_system(
    project: Project,
    board: labels.Leaderboard,
    official: labels.Leaderboard | None,
    run: str,
    beside: str | None = None,
) -> None:
    """Draw one system's queries, and the passages of an open query.

    Args:
        official: a leaderboard to compare with, if any.
        beside: the title of that leaderboard; by default its source and measure.
    """
    name = beside or (f"{official.source} {official.measure}" if official else "")
    _, asked_query = find_followed()
    components.draw(
        "queries",
        QUERIES_KEY,
        system_details(project, board, official, run, name, asked_query),
        on_ask_change=lambda: write_followed(QUERY, st.session_state[QUERIES_KEY].get("ask")),
    )


def query_links(query_id: str) -> None:
    """Draw links from a query to its questions and to its disagreements."""
    with st.container(horizontal=True):
        ui.draw_link("question_bank", "Questions of this query", query=query_id)
        ui.draw_link("disagreements", "Disagreements of this query", query=query_id)


def draw_returned(
    project: Project, run: str, query_id: str, policy: labels.Policy, source: str | None
) -> None:
    """Draw the passages that a system returned for a query, as links.

    Args:
        source: source of the judgments to show, if any.
    """
    st.markdown(f"**{ui.escape(run)}**")
    rows = labels.inspect_query(project, run, query_id, policy, source)
    if not rows:
        st.caption("The system returned no passages for this query.")
    for row in rows:
        label = "no label" if row.label is None else f"label {row.label}"
        judged = (
            "" if source is None else f", judged {'–' if row.judgment is None else row.judgment}"
        )
        text = ui.shorten_text(row.text, LINKED_TEXT) if row.text else row.passage_id
        ui.draw_link(
            "passages",
            ui.escape(f"{row.rank} · {label}{judged} · {text}"),
            query=query_id,
            passage=row.passage_id,
        )
