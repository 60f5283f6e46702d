"""Leaderboard: systems ordered by exam questions, compared with the official leaderboard, and their
passages.
"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import (
    audit,
    board_summary,
    choices,
    exchange,
    jobs,
    labels,
    measures,
    study,
    text,
)
from exam_workbench.records import imported_leaderboards
from exam_workbench.store import Project
from pages.parts.audit import audit_state
from pages.parts.boards.coverage_views import draw_by_budget, draw_sealed, sample_sizes
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
from pages.parts.shared import (
    address,
    leaderboard_table as board_table,
    readiness,
    scoring_settings,
    ui,
    view_choice,
)
from pages.parts.shared.leaderboard_table import Column, NamedLeaderboard

BOARD = "Board"
# The views are on one line if the window is wide enough. Otherwise, they take two, so that none is
# out of sight.
STYLE = """
@media (max-width: 1350px) {
  .st-key-board-head { gap: 0.5rem; }
  .st-key-board-head button { padding-inline: 0.45rem; }
  .st-key-board-head [role="radiogroup"] { flex-wrap: wrap; overflow: visible; mask: none; } }
.st-key-summary { gap: 0.1rem 0.5rem; flex-wrap: wrap; }
.st-key-summary button { min-height: 1.8rem; padding: 0; }
.st-key-summary button p { font-size: 1rem; text-decoration: underline dotted;
  text-underline-offset: 0.25rem; }
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
    """Return the share of needed pairs behind the labels, and why others are missing."""
    if board.usable == board.needed:
        return "All pairs that the measure needs are graded."
    lacks = labels.label_readiness(project, labels.basis(project, policy))
    ungraded = sum(board.ungraded.values())
    missing = {
        "ungraded": ungraded,
        "failed or without text": board.needed - board.usable - ungraded,
    }
    if board.needed == lacks.needed:
        missing = {"ungraded": ungraded, "failed": lacks.failed, "without text": lacks.without_text}
    reasons = ", ".join(f"{count:,} {why}" for why, count in missing.items() if count)
    sentence = ui.escape(labels.graded_sentence(board.usable, board.needed, board.measure))
    listed = " *By budget* lists the pairs to grade next." if ungraded else ""
    return (
        f":material/info: {sentence}: {board.usable:,} of {board.needed:,}. Not graded:"
        f" {reasons}.{listed}"
    )


def optional_columns(
    project: Project, policy: labels.Policy, board: labels.Leaderboard
) -> list[Column]:
    """Return columns that only some leaderboards need: labelled share, star for the reference, cost
    of a score.
    """
    runs = [system.run for system in board.systems]
    columns: list[Column] = []
    if board.usable < board.needed:
        shares = study.labelled_shares(project, policy, policy.cutoff)
        about = (
            f"Share of the top {policy.cutoff} with a label. Passages without a label"
            " count as not relevant."
        )
        columns.append(
            Column(
                f"Top {policy.cutoff} labelled",
                [shares.get(run) for run in runs],
                about,
                percent=True,
            )
        )
    if board.reference is not None:
        about = f"Within the standard error of {board.reference.run}"
        columns.append(Column(STAR, [STAR if run in board.starred else "" for run in runs], about))
    if board.lengths:
        spent = [board.lengths.get(run) for run in runs]
        columns += [
            Column("Words", [length.words if length else None for length in spent], digits=1),
            Column("Passages", [length.passages if length else None for length in spent], digits=1),
        ]
    return columns


def describe_comparison(board: labels.Leaderboard, groups: study.UnseparatedSystems) -> str:
    """Return how the best systems were compared, or why they were not."""
    if groups.untested:
        return f":material/help: No significance test: {ui.escape(groups.untested[0])}"
    name = TEST_NAMES[screen.test]
    brackets = " Brackets join systems that are not separated." if groups.groups else ""
    return (
        f"{'Gold' if board.source == 'gold' else 'EXAM'} {ui.escape(board.measure)}:"
        f" {name[0].lower()}{name[1:]} over"
        f" {len(board.query_ids)} queries. All pairs of systems are compared, so p is corrected by"
        " Holm's method; *Two"
        f" systems* tests a single pair without correction.{brackets} ± is one standard error."
        " Hover over a system to highlight the systems that are not separated from it."
    )


def draw_summary_sentence(summary: board_summary.BoardSummary) -> None:
    """Draw the sentence above the leaderboard. Each part opens the numbers behind it."""
    board, compared = summary.board, summary.compared
    with st.container(horizontal=True, key="summary"):
        if summary.separation:
            with draw_sentence_part("separation", summary.separation):
                st.container(key="told-apart").caption(describe_comparison(board, summary.groups))
                if board.reference is not None:
                    st.container(key="starred").caption(
                        f"{STAR} marks scores within the standard"
                        f" error of {ui.escape(board.reference.run)}"
                        f" (1 ± {ui.as_number(board.reference.std_error, 4)}, with all"
                        " its pooled passages)."
                    )
                if (length := board.length_correlation()) is not None:
                    st.caption(f"Spearman correlation of score and number of words: {length:z.2f}.")
        with draw_sentence_part("queries", summary.queries):
            note = "All pairs of these queries that the measure needs are graded or failed."
            st.container(key="counted-queries").caption(ui.escape(board.ungraded_note) or note)
        if compared is not None:
            with draw_sentence_part("agreement", summary.agreement):
                correlation_strip(compared)
        if summary.grading:
            with draw_sentence_part("grading", summary.grading):
                graded = ui.escape(summary.fully_graded_sentence)
                st.container(key="rests-on").caption(f"{rests_on(project, policy, board)} {graded}")
        if summary.auditing:
            with draw_sentence_part("auditing", summary.auditing):
                audited = audit.audited_by(project, policy, board.measure)
                audit_state.draw_audit_note(project, policy, board.measure, audited)
        if compared is not None and exchange.is_demo(project):
            st.container(key="made-collection", width="content").caption(exchange.MADE_COLLECTION)


def draw_growth(summary: board_summary.BoardSummary) -> None:
    """Draw a note if the leaderboard has other queries than when the screen was opened, or a job
    completes more.
    """
    key = (project.path, policy, measure, against, screen.queries)
    seen = st.session_state.get("first board")
    if seen is None or seen[0] != key or address.is_new_screen():
        seen = st.session_state["first board"] = (key, summary.outcome)
    notes = [summary.describe_change(seen[1])]
    job = jobs.current_job(project, "grading")
    if summary.board.pending and job is not None and not job.over:
        notes.append("Grading is running: queries are added once all their pairs are graded.")
    if any(notes):
        st.container(key="queries-changed").info(
            ui.escape(" ".join(notes).strip()), icon=":material/info:"
        )


def draw_sentence_part(key: str, label: str) -> DeltaGenerator:
    """Draw a part of the sentence and return the container that it opens."""
    return st.popover(f"{ui.escape(label)}.", type="tertiary", key=f"summary {key}")


@st.fragment
def draw_systems(
    primary: NamedLeaderboard,
    official: NamedLeaderboard | None,
    further: list[Column],
    groups: study.UnseparatedSystems,
) -> None:
    """Draw the leaderboard; a click on a system opens its queries without redrawing the rest."""
    run, asked_query = board_table.find_followed()
    opened = None
    if run in primary.board.scores:
        # A system opens with all its queries, including those outside the compared ones.
        full_board = labels.leaderboard(project, measure, "exam", policy, with_ungraded=True)
        beside = (
            labels.official_board(project, against, measure, policy, official_measure)
            if against
            else None
        )
        name = official.title if official else ""
        opened = board_table.system_details(
            project, full_board, beside, str(run), name, asked_query, groups
        )
    elif run:
        st.container(key="unknown-system").info(
            ui.escape(f"Unknown system '{run}'."), icon=":material/help:"
        )
    board_table.draw(primary, official, groups, further, opened)


project = ui.require_project(STYLE)
looking = scoring_settings.require_view()
policy, measure, against = looking.policy, looking.measure, looking.against
imported = dict(imported_leaderboards(project))
official_measure = imported.get(against or "", measure)
with st.container(horizontal=True, vertical_alignment="center", key="board-head"):
    view = view_choice.choose_view(
        [BOARD, *VIEWS],
        lambda view: "Leaderboard" if view == BOARD else view.replace("boards", "leaderboards"),
    )
    more = st.popover(
        "More",
        icon=":material/tune:",
        help="Official measure, ties, queries, tests, gold passages",
        key="more",
    )
with more:
    if against in imported:
        st.text_input("Official measure", official_measure, disabled=True)
    elif against is not None:
        same = (
            measure if measures.parse_measure(measure).takes_judgments else choices.DEFAULT_MEASURE
        )
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
    found = board_summary.find_summary(project, policy, measure, None)
    # These two views have queries of their own.
    if (
        found is not None
        and found.board.ungraded
        and VIEWS[view] not in (draw_by_budget, draw_sealed)
    ):
        note = f"{found.board.measure}: {found.board.ungraded_note} {found.fully_graded_sentence}"
        st.container(key="view-queries").caption(f":material/info: {ui.escape(note)}")
    VIEWS[view](screen)
    st.stop()
summary = board_summary.summarize_board(
    project,
    policy,
    measure,
    against,
    official_measure if against else None,
    screen.ties,
    queries,
    test,
)
board = summary.board
draw_summary_sentence(summary)
draw_growth(summary)
readiness.draw(project, summary.ready)
if board.needed:
    trust.leaderboard_note(project, policy.grader)
official = None
if summary.official is not None:
    official = NamedLeaderboard(f"{against} {official_measure}", summary.official)
elif summary.compared is not None:
    st.container(key="no-common-queries").info(
        f"No query is complete: {text.how_many(len(board.ungraded), 'queries')} wait for"
        " grades. This leaderboard includes incomplete queries, so it is not compared"
        " with the official one.",
        icon=":material/info:",
    )
    ui.draw_link("grading", "Grade the ungraded pairs")
name = "Gold" if board.source == "gold" else "EXAM"
further = [
    *optional_columns(project, policy, board),
    *significance_columns(board, differs_from, test),
]
with readiness.greyed_leaderboard(summary.doubt):
    draw_systems(
        NamedLeaderboard(f"{name} {board.measure}", board), official, further, summary.groups
    )
