"""Leaderboard: systems ordered by exam questions, compared with the official leaderboard, and their passages."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import audit, exchange, labels, measures, study
from exam_workbench.records import imported_leaderboards
from exam_workbench.store import Project
from pages.parts.audit import audit_state
from pages.parts.boards import leaderboard_table as board_table
from pages.parts.boards.coverage_views import draw_by_budget, draw_sealed, sample_sizes
from pages.parts.boards.leaderboard_table import Column, Named
from pages.parts.boards.leaderboard_views import (
    TEST_NAMES,
    Screen,
    all_boards,
    choose_gold_run,
    choose_test,
    correlation_strip,
    draw_matrix,
    significance_columns,
    two_boards,
    two_systems,
)
from pages.parts.graders import trust
from pages.parts.shared import readiness, scoring_settings, ui, view_choice

BOARD = "Board"
# The views and the More menu stay on one line in a narrow window, too.
STYLE = """
@media (max-width: 1350px) {
  .st-key-board-head { gap: 0.5rem; }
  .st-key-board-head button { padding-inline: 0.45rem; } }
@media (max-width: 1000px) {
  .st-key-board-head button { padding: 0.2rem 0.15rem; }
  .st-key-board-head button p { font-size: 0.74rem; } }
.st-key-summary { gap: 0.1rem 0.5rem; flex-wrap: wrap; }
.st-key-summary button { min-height: 1.8rem; padding: 0; }
.st-key-summary button p { font-size: 1rem; text-decoration: underline dotted; text-underline-offset: 0.25rem; }
.st-key-summary button :is([data-testid="stIconMaterial"], svg) { display: none; }
"""
STAR = "\N{BLACK STAR}"
VIEWS = {
    "All boards": all_boards,
    "Two boards": two_boards,
    "Two systems": two_systems,
    "By budget": draw_by_budget,
    "Significance": draw_matrix,
    "Sample size": sample_sizes,
    "Sealed questions": draw_sealed,
}


def rests_on(project: Project, policy: labels.Policy, board: labels.Leaderboard) -> str:
    """Return the share of needed pairs behind the labels and why others are missing; empty if complete."""
    if board.usable == board.needed:
        return ""
    lacks = labels.label_readiness(project, labels.basis(project, policy))
    ungraded = sum(board.ungraded.values())
    missing = {"ungraded": ungraded, "failed or without text": board.needed - board.usable - ungraded}
    if ungraded == lacks.ungraded:
        missing = {"ungraded": ungraded, "failed": lacks.failed, "without text": lacks.without_text}
    reasons = ", ".join(f"{count:,} {why}" for why, count in missing.items() if count)
    return (
        f":material/info: {board.usable:,} of {board.needed:,} needed pairs ({board.usable / board.needed:.1%}) are"
        f" graded. Not graded: {reasons}." + (" *By budget* lists the pairs to grade next." if ungraded else "")
    )


def optional_columns(project: Project, policy: labels.Policy, board: labels.Leaderboard) -> list[Column]:
    """Return columns that only some leaderboards need: labelled share, star for the reference, cost of a score."""
    runs = [system.run for system in board.systems]
    columns: list[Column] = []
    if board.usable < board.needed:
        shares = study.labelled_shares(project, policy, policy.cutoff)
        about = f"Share of the top {policy.cutoff} with a label. Passages without a label count as not relevant."
        columns.append(Column("Labelled", [shares.get(run) for run in runs], about, percent=True))
    if board.reference is not None:
        about = f"Within the standard error of {board.reference.run}"
        columns.append(Column(STAR, [STAR if run in board.starred else "" for run in runs], about))
    if board.lengths:
        spent = [board.lengths.get(run) for run in runs]
        columns.append(Column("Words", [length.words if length else None for length in spent], digits=1))
        columns.append(Column("Passages", [length.passages if length else None for length in spent], digits=1))
    return columns


def describe_comparison(board: labels.Leaderboard, groups: study.Alike) -> str:
    """Return how the best systems were compared, or why they were not."""
    if groups.untested:
        return f":material/help: No significance test: {ui.plain(groups.untested[0])}"
    name = TEST_NAMES[screen.test]
    brackets = " Brackets join systems that are not separated." if groups.groups else ""
    return (
        f"{'Gold' if board.source == 'gold' else 'Exam'} {ui.plain(board.measure)}: {name[0].lower()}{name[1:]} over"
        f" {len(board.query_ids)} queries, corrected by Holm's method.{brackets} ± is one standard error."
        " Hover over a system to highlight the systems that are not separated from it."
    )


def draw_summary_sentence(
    findings: study.Summary, board: labels.Leaderboard, compared: labels.Comparison | None
) -> None:
    """Draw the sentence above the leaderboard. Each part opens the numbers behind it."""
    with st.container(horizontal=True, key="summary"):
        if findings.separation:
            with draw_sentence_part("separation", findings.separation):
                st.container(key="told-apart").caption(describe_comparison(board, findings.groups))
                if board.reference is not None:
                    st.container(key="starred").caption(
                        f"{STAR} marks scores within the standard error of {ui.plain(board.reference.run)}"
                        f" (1 ± {ui.as_number(board.reference.std_error, 4)}, with all its pooled passages)."
                    )
                if (length := board.length_correlation()) is not None:
                    st.caption(f"Spearman correlation of score and number of words: {length:z.2f}.")
        if compared is not None:
            with draw_sentence_part("agreement", findings.agreement):
                correlation_strip(compared)
        if findings.grading:
            with draw_sentence_part("grading", findings.grading):
                note = "All pairs that the measure needs are graded." if board.usable == board.needed else ""
                ungraded = "" if compared else ui.plain(board.says_ungraded)
                st.container(key="rests-on").caption(f"{note}{rests_on(project, policy, board)} {ungraded}")
        if findings.auditing:
            with draw_sentence_part("auditing", findings.auditing):
                audit_state.draw_audit_note(project, policy, board.measure, audited)
        if compared is not None and exchange.is_demo(project):
            st.container(key="made-collection", width="content").caption(exchange.MADE_COLLECTION)


def draw_sentence_part(key: str, label: str) -> DeltaGenerator:
    """Draw a part of the sentence and return the container that it opens."""
    return st.popover(f"{ui.plain(label)}.", type="tertiary", key=f"summary {key}")


@st.fragment
def draw_systems(primary: Named, official: Named | None, further: list[Column], groups: study.Alike) -> None:
    """Draw the leaderboard; a click on a system opens its queries without redrawing the rest."""
    follow = board_table.click_callbacks()
    run, asked = board_table.find_followed()
    opened = None
    if run in primary.board.scores:
        # A system opens with all its queries, including those outside the compared ones.
        full_board = labels.leaderboard(project, measure, "exam", policy, with_ungraded=True)
        beside = labels.official_board(project, against, measure, policy, official_measure) if against else None
        name = official.title if official else ""
        opened = board_table.system_details(project, full_board, beside, str(run), name, asked, groups)
    elif run:
        st.container(key="unknown-system").info(ui.plain(f"Unknown system '{run}'."), icon=":material/help:")
    board_table.draw(primary, official, groups, further, opened, follow)


project = ui.require_project(STYLE)
looking = scoring_settings.require_view()
policy, measure, against = looking.policy, looking.measure, looking.against
imported = dict(imported_leaderboards(project))
official_measure = imported.get(against or "", measure)
with st.container(horizontal=True, vertical_alignment="center", key="board-head"):
    view = view_choice.choose_view(
        [BOARD, *VIEWS], lambda view: "Leaderboard" if view == BOARD else view.replace("boards", "leaderboards")
    )
    more = st.popover(
        "More", icon=":material/tune:", help="Official measure, ties, queries, tests, gold passages", key="more"
    )
with more:
    if against in imported:
        st.text_input("Official measure", official_measure, disabled=True)
    elif against is not None:
        same = measure if measures.parse_measure(measure).takes_judgments else scoring_settings.DEFAULT_MEASURE
        official_measure = scoring_settings.choose_measure(
            "Official measure", cover=False, key=f"official {same}", default=same
        )
    queries = scoring_settings.choose_queries()
    ties = scoring_settings.choose_ties()
    test, differs_from = choose_test()
    choose_gold_run(project)
screen = Screen(
    project,
    policy,
    measure,
    None if against is None else (against, official_measure),
    ties,
    queries,
    test,
)
if view in VIEWS:
    readiness.draw(project)
    VIEWS[view](screen)
    st.stop()
official = compared = None
if against is None:
    board = labels.leaderboard(project, measure, "exam", policy, with_ungraded=queries != "common")
else:
    compared = labels.compare(
        project, measure, against, against_measure=official_measure, policy=policy, ties=screen.ties, queries=queries
    )
    board, official = compared.board, Named(f"{against} {official_measure}", compared.official)
audited = audit.audited_by(project, policy, board.measure)
findings = study.summarize_board(project, board, compared, audited.measure_title if audited else None, test)
draw_summary_sentence(findings, board, compared)
ready = readiness.draw(project, after_sentence=True)
if board.needed:
    trust.leaderboard_note(project, policy.grader)
if not board.systems:
    if compared is not None:
        st.container(key="no-common-queries").info(ui.plain(compared.queries.says), icon=":material/info:")
        ui.draw_link("grading", "Grade the ungraded pairs")
    # No query is complete: the systems are ordered by all queries, and nothing is compared.
    board, official = labels.leaderboard(project, measure, "exam", policy, with_ungraded=True), None
    findings = study.summarize_board(project, board)
name = "Gold" if board.source == "gold" else "Exam"
further = [*optional_columns(project, policy, board), *significance_columns(board, differs_from, test)]
with readiness.greyed_leaderboard(ready):
    draw_systems(Named(f"{name} {board.measure}", board), official, further, findings.groups)
