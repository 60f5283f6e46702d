"""Leaderboard: the board that the questions make, beside the official one, and down to the passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.labels import Policy, basis, readiness
from core.leaderboard import Leaderboard, compare, leaderboard, official_board
from core.measures import parse_measure
from core.project import Project, boards
from core.study import labelled
from pages.parts.boards import gold_texts
from pages.parts.boards import significance as leaderboard_significance
from pages.parts.boards.budget import by_budget
from pages.parts.boards.system import closer
from pages.parts.boards.views import Screen, all_boards, correlation_strip, two_boards, two_systems
from pages.parts.shared import charts, policy_widgets, ui

BOARD = "Board"
LABELLED = "Labelled"
LENGTHS = ("Words", "Passages")
STAR = "\N{BLACK STAR}"
VIEWS = {
    "All boards": all_boards,
    "Two boards": two_boards,
    "Two systems": two_systems,
    "By budget": by_budget,
    "Significance": leaderboard_significance.matrix,
}


def table(
    project: Project,
    policy: Policy,
    board: Leaderboard,
    official: Leaderboard | None,
    further: Mapping[str, list[Any]],
) -> str | None:
    """Both boards in one table; returns the run that is selected.

    Args:
        further: columns by name, a value a system.
    """
    other = {system.run: system for system in official.systems} if official else {}
    rows: dict[str, list[Any]] = {
        "Rank": [s.rank for s in board.systems],
        "Run": [s.run for s in board.systems],
        board.measure: [s.score for s in board.systems],
        "± error": [s.std_error for s in board.systems],
    }
    if official is not None:
        matching = [other.get(s.run) for s in board.systems]
        rows |= {
            "Official rank": [o.rank if o else None for o in matching],
            f"Official {official.measure}": [o.score if o else None for o in matching],
            "± official": [o.std_error if o else None for o in matching],
            "Ranks gained": [o.rank - s.rank if o else None for o, s in zip(matching, board.systems, strict=True)],
        }
    extra = reached(project, policy, board) | further
    rows |= extra
    numbers = {
        name: st.column_config.NumberColumn(format="%.4f")
        for name in rows
        if "±" in name or "@" in name or name.startswith("p,")
    }
    numbers |= {name: st.column_config.NumberColumn(format="%.4f") for name in rows if board.measure in name}
    numbers |= {
        "Rank": st.column_config.NumberColumn(width=55),
        "Run": st.column_config.TextColumn(width=130 if len(extra) > 2 else 200 if extra else 345),
        **{name: st.column_config.NumberColumn(format="%.1f") for name in LENGTHS},
        LABELLED: st.column_config.NumberColumn(
            format="percent", help=f"Of its top {policy.cutoff}. What has no label counts as not relevant."
        ),
    }
    chosen = st.dataframe(
        rows, hide_index=True, on_select="rerun", selection_mode="single-row", key="systems",
        column_config=numbers, height="content" if len(board.systems) <= 30 else 600,
    )  # fmt: skip
    selected = chosen.selection.rows
    return board.systems[selected[0]].run if selected else None


def rests_on(project: Project, policy: Policy, board: Leaderboard) -> None:
    """What part of the needed pairs the labels rest on, and why the others are missing."""
    lacks = project.remember(("readiness", policy), lambda: readiness(project, basis(project, policy)))
    missing = {
        "ungraded": lacks.ungraded, "failed": lacks.failed, "of passages without text": lacks.without_text,
    }  # fmt: skip
    reasons = ", ".join(f"{count:,} {why}" for why, count in missing.items() if count)
    st.caption(
        f":material/info: The labels rest on {board.usable:,} of {board.needed:,} needed pairs"
        f" ({board.usable / board.needed:.1%}); missing: {reasons}."
        + (" What to grade next stands under *By budget*." if lacks.ungraded else "")
    )


def reached(project: Project, policy: Policy, board: Leaderboard) -> dict[str, list[Any]]:
    """Columns that only some boards need: what is labelled, who comes up to the reference, what a score cost."""
    found: dict[str, list[Any]] = {}
    if board.usable < board.needed:
        shares = project.remember(("labelled", policy, policy.cutoff), lambda: labelled(project, policy, policy.cutoff))
        found[LABELLED] = [shares.get(system.run) for system in board.systems]
    if board.reference is not None:
        found[STAR] = [STAR if system.run in board.starred else "" for system in board.systems]
    if board.lengths:
        spent = [board.lengths.get(system.run) for system in board.systems]
        found |= {
            "Words": [length.words if length else None for length in spent],
            "Passages": [length.passages if length else None for length in spent],
        }
    return found


ui.begin()
project = ui.project()
looking = policy_widgets.view()
policy, measure, against = looking.policy, looking.measure, looking.against or policy_widgets.NO_BOARD
right, gold = st.columns([3, 1.6], vertical_alignment="bottom")
imported = dict(boards(project))
with right:
    if against in imported:
        official_measure = imported[against]
        st.text_input("Official measure", official_measure, disabled=True)
    elif against != policy_widgets.NO_BOARD:
        same = measure if parse_measure(measure).takes_judgments else "nDCG@10"
        official_measure = policy_widgets.measure("Official measure", cover=False, key=f"official {same}", default=same)
with gold:
    gold_texts.choose(project)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    view = st.segmented_control(
        "View", [BOARD, *VIEWS], default=BOARD, key="view", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    ties_rule = st.segmented_control("Ties", ["average", "random"], default="average", key="ties", required=True)
    queries = policy_widgets.queries()
screen = Screen(
    project,
    policy,
    measure,
    None if against == policy_widgets.NO_BOARD else (against, official_measure),
    ties_rule,
    queries,
)
if view in VIEWS:
    VIEWS[view](screen)
    st.stop()
if against == policy_widgets.NO_BOARD:
    comparison, official = None, None
    board = leaderboard(project, measure, "exam", policy)
else:
    comparison = compare(
        project, measure, against, against_measure=official_measure, policy=policy, ties=ties_rule, queries=queries
    )
    board, official = comparison.board, comparison.official
    correlation_strip(comparison)
if board.usable < board.needed:
    rests_on(project, policy, board)
if (length := board.length_correlation()) is not None:
    st.caption(f":material/info: Spearman of score and words: {length:.2f}.")
if board.reference is not None:
    st.caption(
        f"{STAR}: within the standard error of {ui.plain(board.reference.run)}, which scores"
        f" 1 ± {ui.number(board.reference.std_error, 4)} with all its pooled passages."
    )
name = "Gold" if board.source == "gold" else "Exam"
drawn = st.container()
run = table(project, policy, board, official, leaderboard_significance.columns(board))
with drawn:
    if comparison is None:
        st.vega_lite_chart(charts.board(board, name, marked=run))
    else:
        first, second, third = st.columns([9, 5, 11], gap="small")
        order = [system.run for system in board.systems]
        first.vega_lite_chart(charts.board(board, name, marked=run))
        second.vega_lite_chart(charts.board(comparison.official, "Official", order, run))
        third.vega_lite_chart(charts.slope(comparison.official, board, run, ("Official", name)))
if run is None:
    st.caption("Select a system in the table to follow its score down to the passages.")
else:
    # A system can be followed into all its queries, not only into those that the boards are compared over.
    beside = None if official is None else official_board(project, against, measure, policy, official_measure)
    closer(project, leaderboard(project, measure, "exam", policy), beside, policy, run)
