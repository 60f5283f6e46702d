"""Leaderboard: systems ordered by exam questions, compared with the official leaderboard, and their passages."""

from typing import cast

import streamlit as st

from exam_workbench import audit, exchange, labels, measures, study
from exam_workbench.project import Project, boards
from pages.parts.audit import audit_state
from pages.parts.boards import leaderboard_table as board_table
from pages.parts.boards.coverage_views import by_budget
from pages.parts.boards.leaderboard_table import Column, Named
from pages.parts.boards.leaderboard_views import (
    TEST_NAMES,
    Screen,
    all_boards,
    choose_gold_run,
    choose_test,
    correlation_strip,
    matrix,
    significance_columns,
    two_boards,
    two_systems,
)
from pages.parts.boards.sealed import sealed
from pages.parts.graders import trust
from pages.parts.shared import policy_widgets, ui, view_choice

BOARD = "Board"
# The views and the More menu stay on one line in a narrow window, too.
STYLE = """
@media (max-width: 1000px) { .st-key-board-head button { padding: 0.2rem 0.4rem; } .st-key-board-head { gap: 0.5rem; } }
"""
STAR = "\N{BLACK STAR}"
VIEWS = {
    "All boards": all_boards,
    "Two boards": two_boards,
    "Two systems": two_systems,
    "By budget": by_budget,
    "Significance": matrix,
    "Sealed questions": sealed,
}


def rests_on(project: Project, policy: labels.Policy, board: labels.Leaderboard) -> str:
    """Return the share of needed pairs behind the labels and why others are missing; empty if complete."""
    if board.usable == board.needed:
        return ""
    lacks = labels.readiness(project, labels.basis(project, policy))
    ungraded = sum(board.ungraded.values())
    missing = {"ungraded": ungraded, "failed or without text": board.needed - board.usable - ungraded}
    if ungraded == lacks.ungraded:
        missing = {"ungraded": ungraded, "failed": lacks.failed, "without text": lacks.without_text}
    reasons = ", ".join(f"{count:,} {why}" for why, count in missing.items() if count)
    return (
        f":material/info: {board.usable:,} of {board.needed:,} needed pairs ({board.usable / board.needed:.1%}) are"
        f" graded. Not graded: {reasons}." + (" *By budget* lists the pairs to grade next." if ungraded else "")
    )


def reached(project: Project, policy: labels.Policy, board: labels.Leaderboard) -> list[Column]:
    """Return columns that only some leaderboards need: labelled share, star for the reference, cost of a score."""
    runs = [system.run for system in board.systems]
    found: list[Column] = []
    if board.usable < board.needed:
        shares = study.labelled(project, policy, policy.cutoff)
        about = f"Share of the top {policy.cutoff} with a label. Passages without a label count as not relevant."
        found.append(Column("Labelled", [shares.get(run) for run in runs], about, percent=True))
    if board.reference is not None:
        about = f"Within the standard error of {board.reference.run}"
        found.append(Column(STAR, [STAR if run in board.starred else "" for run in runs], about))
    if board.lengths:
        spent = [board.lengths.get(run) for run in runs]
        found.append(Column("Words", [length.words if length else None for length in spent], digits=1))
        found.append(Column("Passages", [length.passages if length else None for length in spent], digits=1))
    return found


def told_apart(board: labels.Leaderboard, groups: study.Alike) -> str:
    """Return a sentence on whether the best systems differ significantly."""
    if groups.untested:
        return f":material/help: No significance test: {ui.plain(groups.untested[0])}"
    if len(board.systems) < 2:
        return ""
    name = TEST_NAMES[screen.test]
    test = f"{name[0].lower()}{name[1:]} over {len(board.query_ids)} queries, corrected by Holm's method"
    first = next((last for first, last in groups.groups if first == 0), 0)
    best = (
        f"The best {first + 1} systems are not separated" if first else "The best system is separated from the second"
    )
    if first + 1 == len(board.systems):
        best = "These systems are not separated"
    kind = "Gold" if board.source == "gold" else "Exam"
    beside = " Brackets join systems that are not separated." if groups.groups else ""
    return (
        f"**{best} by {kind} {ui.plain(board.measure)}** ({test}).{beside} ± is one standard error."
        " Hover over a system to highlight the systems that are not separated from it."
    )


@st.fragment
def systems(mine: Named, official: Named | None, further: list[Column]) -> None:
    """Draw the leaderboard; a click on a system opens its queries without redrawing the rest."""
    follow = board_table.follow()
    groups = study.alike(mine.board, study.remembered_pairs(project, mine.board, screen.test))
    if said := told_apart(mine.board, groups):
        st.container(key="told-apart").caption(said)
    run, asked = board_table.followed()
    opened = None
    if run in mine.board.scores:
        # A system opens with all its queries, including those outside the compared ones.
        found = labels.leaderboard(project, measure, "exam", policy, with_ungraded=True)
        beside = labels.official_board(project, against, measure, policy, official_measure) if against else None
        name = official.title if official else ""
        opened = board_table.detail(project, found, beside, str(run), name, asked, groups)
    elif run:
        st.container(key="unknown-system").info(ui.plain(f"Unknown system '{run}'."), icon=":material/help:")
    board_table.draw(mine, official, groups, further, opened, follow)


project = ui.project(STYLE)
looking = policy_widgets.view()
policy, measure, against = looking.policy, looking.measure, looking.against
imported = dict(boards(project))
official_measure = imported.get(against or "", measure)
with st.container(horizontal=True, vertical_alignment="center", key="board-head"):
    view = view_choice.choose(
        [BOARD, *VIEWS], lambda view: "Leaderboard" if view == BOARD else view.replace("boards", "leaderboards")
    )
    more = st.popover(
        "More", icon=":material/tune:", help="Official measure, ties, queries, tests, gold passages", key="more"
    )
with more:
    if against in imported:
        st.text_input("Official measure", official_measure, disabled=True)
    elif against is not None:
        same = measure if measures.parse_measure(measure).takes_judgments else policy_widgets.DEFAULT_MEASURE
        official_measure = policy_widgets.measure("Official measure", cover=False, key=f"official {same}", default=same)
    queries = policy_widgets.queries()
    ties = st.segmented_control(
        "Ties", ["average", "random"], default="average", key="ties", required=True,
        help="Average: equal scores share a rank. Random: mean of ten random orders of equal scores.",
    )  # fmt: skip
    test, differs_from = choose_test()
    choose_gold_run(project)
screen = Screen(
    project,
    policy,
    measure,
    None if against is None else (against, official_measure),
    cast(measures.Ties, ties),
    queries,
    test,
)
if view in VIEWS:
    VIEWS[view](screen)
    st.stop()
official = None
if against is None:
    board = labels.leaderboard(project, measure, "exam", policy, with_ungraded=queries != "common")
    if said := f"{rests_on(project, policy, board)} {ui.plain(board.says_ungraded)}".strip():
        st.container(key="rests-on").caption(said)
else:
    comparison = labels.compare(
        project, measure, against, against_measure=official_measure, policy=policy, ties=screen.ties, queries=queries
    )
    board, official = comparison.board, Named(f"{against} {official_measure}", comparison.official)
    correlation_strip(comparison, more=rests_on(project, policy, board))
    if exchange.is_demo(project):
        st.container(key="made-collection").caption(f":material/info: {exchange.MADE_COLLECTION}")
if (length := board.length_correlation()) is not None:
    st.caption(f":material/info: Spearman correlation of score and number of words: {length:z.2f}.")
if board.reference is not None:
    st.container(key="starred").caption(
        f"{STAR} marks scores within the standard error of {ui.plain(board.reference.run)}"
        f" (1 ± {ui.number(board.reference.std_error, 4)}, with all its pooled passages)."
    )
if board.needed:
    audited, begun = audit.audited_by(project, policy, board.measure), audit.under_way(project, policy)
    trust.leaderboard_note(project, policy.grader)
    audit_state.says_audit(audited, begun, board.measure, audit.circularity(project, policy))
name = "Gold" if board.source == "gold" else "Exam"
further = [*reached(project, policy, board), *significance_columns(board, differs_from, test)]
systems(Named(f"{name} {board.measure}", board), official, further)
