"""Coverage by passages read, judged shares, samples of queries and questions, sealed questions."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from exam_workbench import bank, charts, choices, grading, grouping, labels, study, text
from exam_workbench.records import deepest_rank, passage_texts, pool_depth, sealed_questions
from exam_workbench.store import Project
from pages.parts.boards.leaderboard_views import Screen
from pages.parts.shared import chart_display, job_plan, job_progress, presses, ui

LISTED = 200


def draw_judged(project: Project, policy: labels.Policy) -> None:
    """Draw Judged@k of every system; for a selected system, the next pairs to grade and a button
    that grades them.
    """
    depth = project.read(pool_depth)
    st.header(f"Judged@{depth}", anchor=False)
    st.caption("Share of each system's top passages with a label or a judgment.")
    run = _draw_judged_table(study.judged_shares(project, policy, depth))
    # Counts for all systems would take too long in a large project.
    progress = labels.grading_progress(project, labels.basis(project, policy))
    if not (progress.ungraded or progress.failed):
        st.container(key="all-graded").caption(":material/check: All pooled passages are graded.")
    elif run is None:
        st.container(key="choose-system").caption("Select a system to see its ungraded pairs.")
    else:
        _draw_next_pairs(project, policy, study.to_grade(project, policy, run, depth, LISTED))


def _draw_judged_table(shares: list[study.JudgedShare]) -> str | None:
    """Draw Judged@k of every system by source, and return the selected system."""
    by_source = grouping.group_pairs((share.source, share.judged) for share in shares)
    columns = {
        "Exam labels" if source == "exam" else source: judged
        for source, judged in by_source.items()
    }
    runs = list(dict.fromkeys(share.run for share in shares))
    chosen = ui.choose_rows(
        {"Run": runs, **columns},
        "judged systems",
        height="content" if len(runs) <= 30 else 600,
        column_config={name: st.column_config.NumberColumn(format="percent") for name in columns},
    )
    return runs[chosen[0]] if chosen else None


def _draw_next_pairs(project: Project, policy: labels.Policy, lacks: study.MissingGrades) -> None:
    st.markdown(f"**Pairs to grade next for {ui.escape(lacks.run)}**")
    counts = [
        (lacks.ungraded, text.how_many(lacks.ungraded, "ungraded pairs")),
        (lacks.failed, text.how_many(lacks.failed, "failed pairs")),
        (lacks.not_pooled, f"{text.how_many(lacks.not_pooled, 'passages')} outside the pool"),
        (lacks.without_text, f"{text.how_many(lacks.without_text, 'passages')} without text"),
    ]
    st.container(key="run-counts").caption(" · ".join(words for count, words in counts if count))
    if not lacks.next:
        st.container(key="top-graded").success(
            "All pooled passages at the top of this system are graded.", icon=":material/check:"
        )
        return
    _draw_grade_button(project, policy, lacks)
    texts = passage_texts(project, [row.passage_id for row in lacks.next])
    chosen = ui.choose_rows(
        {
            "Rank": [row.rank for row in lacks.next],
            "Query": [row.query_id for row in lacks.next],
            "Passage": [texts.get(row.passage_id, row.passage_id) for row in lacks.next],
            "Ungraded pairs": [row.ungraded for row in lacks.next],
            "Failed pairs": [row.failed for row in lacks.next],
        },
        f"next of {lacks.run}",
        column_config={
            "Rank": st.column_config.NumberColumn(width=60),
            "Passage": st.column_config.Column(width=700),
        },
    )
    if lacks.more:
        st.caption(f"and {text.how_many(lacks.more, 'more passages')}")
    if chosen:
        row = lacks.next[chosen[0]]
        ui.draw_link("passages", "Open passage", query=row.query_id, passage=row.passage_id)


def _draw_grade_button(project: Project, policy: labels.Policy, lacks: study.MissingGrades) -> None:
    """Draw a button that grades the ungraded pairs of the top passages. Failed pairs are retried on
    Grading.
    """
    if not project.allows("grade") or job_progress.draw_grading_job(project):
        return
    if not lacks.ungraded:
        ui.draw_link("grading", "Retry the failed pairs")
        return
    grader = bank.grader_again(project, bank.find_grader(project, policy.grader).spec)
    if grader is None:
        st.container(key="no-grader-here").caption(
            ":material/info: The grades of this grader were imported, so it cannot"
            " run here. See Grading."
        )
        return
    request = grading.Request(grading.Scope(runs=(lacks.run,)), policy.bank_version)
    job_plan.draw_tag(project, grader, request, lacks.ungraded)
    presses.act_button(
        f"Grade {text.how_many(lacks.ungraded, 'pairs')}",
        grading.start_job,
        project,
        grader,
        request,
        type="primary",
        icon=":material/play_arrow:",
        key="grade unjudged",
    )


DRAWN, MOST_DRAWN = 5, len(charts.COLOURS)
"""Default and largest number of lines."""


def assign_colours(chosen: list[str], before: Mapping[str, str]) -> dict[str, str]:
    """Return a colour for each run: its former one, otherwise an unused one."""
    kept = {run: before[run] for run in chosen if run in before}
    free = (colour for colour in charts.COLOURS if colour not in kept.values())
    return {run: kept[run] if run in kept else next(free) for run in chosen}


def draw_by_budget(screen: Screen) -> None:
    """Draw the lines of the chosen systems, then the labelled and judged shares of each system's
    top.
    """
    deepest = min(choices.CURVE_K, max(deepest_rank(screen.project), 1))
    curves = labels.complete_curves(screen.project, screen.policy, deepest)
    order = curves.order(screen.policy.cutoff)
    chosen = st.multiselect(
        "Systems",
        order,
        order[:DRAWN],
        key="curves of",
        max_selections=MOST_DRAWN,
        bind="query-params",
    )
    # If colours followed the order, lines would change colours with every min rating.
    colours = st.session_state["colours of curves"] = assign_colours(
        chosen, st.session_state.get("colours of curves", {})
    )
    if curves.board.few_complete:
        st.container(key="few-complete").info(
            f"No curves yet. {curves.queries_sentence} Curves need {labels.FEWEST_COMPLETE}"
            " complete queries. Grade the passages at the top of the systems first.",
            icon=":material/info:",
        )
        ui.draw_link("grading", "Grade the ungraded pairs")
    elif chosen:
        drawn = [run for run in order if run in chosen]
        ends = (
            f" Below rank {curves.max_k}, too few queries are complete."
            if curves.max_k < deepest
            else ""
        )
        st.container(key="curve-queries").caption(f"{curves.queries_sentence}{ends}")
        chart_display.draw_chart(
            charts.coverage_chart(curves, drawn, [colours[run] for run in drawn])
        )
    if curves.pool_depth < curves.max_k:
        st.container(key="pool-ends").caption(
            f":material/info: The pool ends at rank {curves.pool_depth}. Curves may be too flat"
            " after this rank, because many deeper passages are not graded."
        )
    if screen.project.allows("read the bank"):
        draw_judged(screen.project, screen.policy)


def sample_sizes(screen: Screen) -> None:
    """Draw the effect of fewer queries, and of fewer questions per query."""
    board = labels.leaderboard(screen.project, screen.measure, "exam", screen.policy)
    queries = study.sample_queries(screen.project, board)
    bar = st.empty()
    questions = study.sample_questions(
        screen.project,
        screen.measure,
        screen.policy,
        lambda share: bar.progress(share, "Scoring samples of the questions…"),
    )
    bar.empty()
    st.header("How many queries and questions?", anchor=False)
    left, right = st.container(key="beside-samples").columns(2, gap="large")
    with left, st.container(key="sampled-queries"):
        if not queries:
            st.caption(f"Samples need scores of {study.FEWEST_QUERIES} or more queries.")
        else:
            st.markdown(f"**{study.queries_sentence(queries)}**")
            chart_display.draw_chart(charts.sample_chart(queries, "separable", "Queries"))
    with right, st.container(key="sampled-questions"):
        if not questions:
            st.caption(
                "Scores of this measure or grader do not come from several questions of a query."
            )
        else:
            st.markdown(f"**{study.questions_sentence(questions)}**")
            chart_display.draw_chart(
                charts.sample_chart(questions, "kendall", "Questions per query")
            )
    st.caption(
        f"Means over random samples of the queries or questions. {study.SAMPLE_LIMITS} The smallest"
        " separated difference is the median over pairs of systems (paired t test, Holm's method)."
        " Four times as many queries halve it."
    )


def draw_sealed(screen: Screen) -> None:
    """Draw the comparison of public and sealed questions, or the form that seals some."""
    project = screen.project
    sealed = sealed_questions(project)
    st.caption(
        "Sealed questions are hidden from everyone but their authors. A system that answers public"
        " questions better"
        " than sealed ones may have seen the questions. The grader's endpoint reads sealed"
        " questions, too."
    )
    if sealed:
        _draw_sealed_scores(screen)
    if not project.allows("organize"):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if sealed:
            presses.confirm_button(
                f"Open {text.how_many(len(sealed), 'questions')}",
                "All people who can read the question bank can then read these questions, and"
                " exports contain them. The comparison on this screen ends. You cannot undo this.",
                bank.open_sealed,
                project,
                now="Open now",
                now_key="open seals",
                icon=":material/lock_open:",
                key="opening seals",
            )
            return
        each = int(
            st.number_input(
                "Sealed per query", 2, None, bank.SEALED_PER_QUERY, key="seals", width=170
            )
        )
        presses.confirm_button(
            "Seal questions",
            f"Draws {each} random questions of each query that has at least {2 * each}. Only their"
            " authors can then read and edit them. Other people, organizers included, get no text"
            " of them on screens or in files. Bundles leave them out, and the whole project cannot"
            " be exported. Labels and scores stay the same. You can open the questions later.",
            partial(bank.seal_questions, per_query=each),
            project,
            now="Seal now",
            now_key="seal",
            type="primary",
            icon=":material/lock:",
            key="sealing",
        )


@ui.errors()
def _draw_sealed_scores(screen: Screen) -> None:
    coverage = study.sealed_coverage(screen.project, screen.policy)
    public, sealed = (f"{coverage.measure}, {which}" for which in ("public", "sealed"))
    st.container(key="sealed").markdown(ui.escape(coverage.description))
    st.dataframe(
        {
            "System": [system.run for system in coverage.systems],
            public: [system.public for system in coverage.systems],
            sealed: [system.sealed for system in coverage.systems],
            "Surplus": [system.surplus for system in coverage.systems],
            "p": [system.p for system in coverage.systems],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.3f", help=about)
            for name, about in (
                (public, "Mean over queries, on the public questions only"),
                (sealed, "Mean over queries, on the sealed questions only"),
                ("Surplus", "Public minus sealed value, minus that of the median system"),
                (
                    "p",
                    "Chance of such a surplus without knowing the questions,"
                    " corrected by Holm's method",
                ),
            )
        },
    )
    st.caption(
        f"{coverage.explanation} {text.how_many(coverage.queries, 'queries')} with sealed"
        " questions."
    )
