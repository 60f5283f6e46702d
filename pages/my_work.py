"""My work: the queue of an assessor, with links to the questions, passages and disagreements of
each query.
"""

from collections.abc import Sequence
from datetime import date
from functools import partial

import streamlit as st

from exam_workbench import audit, review
from exam_workbench.records import (
    DoubleAssignment,
    claim_double,
    decline_double,
    find_guidelines,
    mark_done,
    open_double_assignments,
    pool_depth,
    pooled_queries,
    run_names,
)
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.home import panels
from pages.parts.shared import address, login, presses, scoring_settings, ui

ROWS_A_PAGE = 25
JOBS_SHOWN = 3
ORDER = "order of my work"
SCREENS = {
    "grading": "changes",
    "sitting": "students",
    "generating": "answers",
    "comparing": "answers",
    "draft": "question_bank",
    "items": "items",
}
"""The screen with the results of a job, by its kind."""
# The query takes the free width; its links are on the right, or below in a narrow window.
STYLE = """
[class*="st-key-work-"] { flex-wrap: wrap; gap: 0 0.8rem; border-bottom: 1px solid var(--ew-line);
  padding-bottom: 0.4rem; }
[class*="st-key-work-"] > :has(> [class*="st-key-query-"]) {
  flex: 1 1 18rem; min-width: min(100%, 18rem); }
[class*="st-key-work-"] > :has(> [class*="st-key-links-"]) {
  flex: none; width: auto; max-width: 100%; }
[class*="st-key-query-"] { gap: 0; }
[class*="st-key-links-"] { gap: 0 1.2rem; }
@media (max-width: 1000px) { [class*="st-key-links-"] { padding-left: 4.3rem; } }
[class*="st-key-work-"] a { padding: 0; }
[class*="st-key-query-"] a :is(span, p) { white-space: normal; }
"""


def draw_offers(project: Project, name: str, texts: dict[str, str]) -> None:
    """Draw the double assignments that the person was asked to judge or may claim, with buttons to
    claim or decline.
    """
    open_doubles = [
        double for double in open_double_assignments(project) if double.is_open_to(name)
    ]
    if not (name and open_doubles and project.allows("claim work")):
        return
    with st.expander(
        f"Double assignments for you: {len(open_doubles)}",
        icon=":material/group_add:",
        expanded=True,
    ):
        st.caption(
            "These are assigned to several assessors. No assessor sees other assessors' judgments"
            " before adjudication."
        )
        for double in open_doubles:
            draw_offer(project, double, name, texts.get(double.query_id, double.query_id))


def draw_offer(project: Project, double: DoubleAssignment, name: str, text: str) -> None:
    """Draw one offered double assignment."""
    with st.container(key=f"work-offer-{double.key}", horizontal=True, vertical_alignment="center"):
        about = (
            "" if double.passages is None else f"{how_many(len(double.passages), 'passages')} of "
        )
        request = (
            "An organizer asks you to judge this."
            if double.people.get(name) == "asked"
            else f"Assessors still needed: {double.free} of {double.wanted}."
        )
        st.markdown(
            f"**{ui.escape(about + ui.shorten_text(text, ui.LISTED))}**  \n{ui.escape(request)}"
        )
        for label, act in (("Claim", claim_double), ("Decline", decline_double)):
            presses.act_button(
                label,
                partial(act, number=double.key),
                project,
                double.query_id,
                key=f"{label.lower()} {double.key}",
                type="tertiary",
            )


def due_note(work: review.QueryWork) -> str:
    """Return the due date as Markdown; empty without one."""
    if work.due is None:
        return ""
    day = f"{work.due:%d %B %Y}"
    return f":red[overdue since {day}]" if work.is_overdue(date.today()) else f"due {day}"


def draw_work(project: Project, work: review.QueryWork, name: str, listed_as: str) -> None:
    """Draw one query: whether it is done, its next step, and links to the work on it.

    Args:
        listed_as: its name in the filter of Passages.
    """
    at_query, only = {"query": work.query_id}, {"query": work.query_id, "of_query": listed_as}
    with st.container(key=f"work-{work.query_id}", horizontal=True, vertical_alignment="center"):
        done = presses.checkbox("Done", work.done, f"done {work.query_id}", disabled=not name)
        if done is not None:
            presses.run_act(mark_done, project, work.query_id, done)
        with st.container(key=f"query-{work.query_id}"):
            title = f"**{ui.escape(ui.shorten_text(work.text, ui.LISTED))}**"
            step = work.next_step
            narrowed = (only if step.screen == "passages" else at_query) | (
                {step.only: "true"} if step.only else {}
            )
            ui.draw_link(step.screen, title, None, f"Next: {step.said}", **narrowed)
            if notes := work_notes(work):
                st.caption(" · ".join(notes))
        with st.container(key=f"links-{work.query_id}", horizontal=True):
            ui.draw_link("question_bank", f"Edit questions ({work.questions})", None, **at_query)
            if work.sampled:
                judged = f"{work.sampled - work.sampled_left} of {work.sampled}"
                ui.draw_link(
                    "passages", f"Judge your sample ({judged})", None, **only, assigned="true"
                )
            if work.pooled:
                ui.draw_link(
                    "passages", f"Judge passages ({work.judged:,} of {work.pooled:,})", None, **only
                )
            if work.disagreements is not None:
                ui.draw_link(
                    "disagreements", f"Disagreements ({work.disagreements:,})", None, **at_query
                )


def work_notes(work: review.QueryWork) -> list[str]:
    """Return notes on a query as Markdown: its due date, and work that no other screen counts."""
    counts = (
        (work.unsaved, "unsaved changes"),
        (work.proposed, "proposed questions"),
        (work.stale, "stale overrides"),
        (work.ungraded, "ungraded pairs"),
    )
    sample = f"{how_many(work.sampled, 'passages')} " if work.sampled else ""
    shared = f"{sample}also assigned to other assessors" if sample or work.blind else ""
    return [
        note
        for note in (due_note(work), *(how_many(n, what) for n, what in counts if n), shared)
        if note
    ]


def in_order(listed: Sequence[review.QueryWork], home: tuple[str, str]) -> list[review.QueryWork]:
    """Return the queries in their order at the person's arrival, so that a click on Done moves none
    of them.

    Args:
        home: project and person, each with an order of their own.
    """
    kept = st.session_state.get(ORDER)
    if address.is_new_screen() or kept is None or kept[0] != home:
        kept = st.session_state[ORDER] = home, {one.query_id: at for at, one in enumerate(listed)}
    return sorted(listed, key=lambda one: kept[1].get(one.query_id, len(listed)))


def draw_news(project: Project, name: str) -> None:
    """Draw the audits in which the person can judge now, and jobs that ended within a day."""
    to_judge = (
        audit.audits_to_judge(project, name) if name and project.allows("judge audits") else {}
    )
    lines = [
        panels.count_line(
            count,
            f"passages to judge in the audit “{one}”",
            address.screen_link("audit", audit=one, view="Judge"),
        )
        for one, count in to_judge.items()
    ]
    lines += [
        panels.count_line(
            None,
            f"Job {job.state}: {job.name}, {how_many(job.done, 'results')}, {job.failed:,} failed",
            address.screen_link(SCREENS[job.kind]),
            aside=panels.ago(job.ended_at),
        )
        for job in review.finished_jobs(project, name)[:JOBS_SHOWN]
    ]
    if lines:
        panels.draw(
            "my-news", [panels.make_panel("Audits and finished jobs", [panels.lines_block(lines)])]
        )


def draw_progress(project: Project, listed: Sequence[review.QueryWork]) -> None:
    """Draw the progress with the due dates, and which passages the counts are about."""
    done_count, late = (
        sum(work.done for work in listed),
        sum(work.is_overdue(date.today()) for work in listed),
    )
    dates = [
        work.due
        for work in listed
        if work.due is not None and not work.done and not work.is_overdue(date.today())
    ]
    parts = [
        f"{done_count} of {how_many(len(listed), 'queries')} done",
        *([f"{late} overdue"] if late else []),
    ]
    st.progress(
        done_count / len(listed),
        " · ".join([*parts, *([f"next due {min(dates):%d %B %Y}"] if dates else [])]),
    )
    runs = len(run_names(project))
    tops = (
        f"the top {project.read(pool_depth)} passages of each of {how_many(runs, 'runs')}, and "
        if runs
        else ""
    )
    st.container(key="pool-counted").caption(
        f"Passages are counted in the pool: {tops}judged and graded passages."
    )


project, name, member = ui.require_project(STYLE), ui.person(), login.current_member()
if text := find_guidelines(project).project:
    st.expander("Project guidelines", icon=":material/menu_book:").text(text)
view = scoring_settings.current_view()
listed = review.my_work(
    project, name, member.assigned_queries if member else None, view.policy if view else None
)
draw_news(project, name)
names = ui.distinct_option_texts(pooled_queries(project))
draw_offers(project, name, names)
assigned = member is not None and member.queries is not None
ui.require_content(
    listed,
    "No query is assigned to you." if assigned else "Nothing to assess yet.",
    "Organizers assign queries on the People screen and import passages on Home.",
)
draw_progress(project, listed)
in_turn = in_order(listed, (project.name, name))
for one in ui.rows_of_page("page of my work", in_turn, ROWS_A_PAGE):
    draw_work(project, one, name, names.get(one.query_id, one.query_id))
ui.draw_pager("page of my work", len(listed), ROWS_A_PAGE)
