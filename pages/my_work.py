"""My work: the queue of an assessor, with links to the questions, passages and disagreements of each query."""

from collections.abc import Sequence
from datetime import date
from functools import partial

import streamlit as st

from exam_workbench import audit, review
from exam_workbench.records import (
    Double,
    claim_double,
    decline_double,
    doubles,
    guidelines,
    mark_done,
    pool_depth,
    pooled_queries,
    run_names,
)
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.home import panels
from pages.parts.shared import address, login, policy_widgets, presses, ui

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
[class*="st-key-work-"] > :has(> [class*="st-key-query-"]) { flex: 1 1 18rem; min-width: min(100%, 18rem); }
[class*="st-key-work-"] > :has(> [class*="st-key-links-"]) { flex: none; width: auto; max-width: 100%; }
[class*="st-key-query-"] { gap: 0; }
[class*="st-key-links-"] { gap: 0 1.2rem; }
@media (max-width: 1000px) { [class*="st-key-links-"] { padding-left: 4.3rem; } }
[class*="st-key-work-"] a { padding: 0; }
[class*="st-key-query-"] a :is(span, p) { white-space: normal; }
"""


def offers(project: Project, name: str, texts: dict[str, str]) -> None:
    """Draw the double assignments that the person was asked to judge or may claim, with buttons to claim or decline."""
    found = [one for one in doubles(project) if one.is_open_to(name)]
    if not (name and found and project.allows("claim work")):
        return
    with st.expander(f"Double assignments for you: {len(found)}", icon=":material/group_add:", expanded=True):
        st.caption(
            "These are assigned to several assessors. No assessor sees other assessors' judgments before adjudication."
        )
        for one in found:
            offer(project, one, name, texts.get(one.query_id, one.query_id))


def offer(project: Project, one: Double, name: str, text: str) -> None:
    """Draw one offered double assignment."""
    with st.container(key=f"work-offer-{one.key}", horizontal=True, vertical_alignment="center"):
        about = "" if one.passages is None else f"{how_many(len(one.passages), 'passages')} of "
        asked = one.people.get(name) == "asked"
        said = (
            "An organizer asks you to judge this." if asked else f"Assessors still needed: {one.free} of {one.wanted}."
        )
        st.markdown(f"**{ui.plain(about + ui.shortened(text, ui.LISTED))}**  \n{ui.plain(said)}")
        for label, act in (("Claim", claim_double), ("Decline", decline_double)):
            mine = partial(act, number=one.key)
            presses.doing(label, mine, project, one.query_id, key=f"{label.lower()} {one.key}", type="tertiary")


def due(one: review.Work) -> str:
    """Return the due date as Markdown; empty without one."""
    if one.due is None:
        return ""
    said = f"{one.due:%d %B %Y}"
    return f":red[overdue since {said}]" if one.late(date.today()) else f"due {said}"


def row(project: Project, one: review.Work, name: str, listed_as: str) -> None:
    """Draw one query: whether it is done, its next step, and links to the work on it.

    Args:
        listed_as: its name in the filter of Passages.
    """
    there, only = {"query": one.query_id}, {"query": one.query_id, "of_query": listed_as}
    with st.container(key=f"work-{one.query_id}", horizontal=True, vertical_alignment="center"):
        about = "Enter your name first." if not name else None
        done = presses.checkbox("Done", one.done, f"done {one.query_id}", disabled=not name, help=about)
        if done is not None:
            presses.do(mark_done, project, one.query_id, done)
        with st.container(key=f"query-{one.query_id}"):
            title = f"**{ui.plain(ui.shortened(one.text, ui.LISTED))}**"
            step = one.next
            narrowed = (only if step.screen == "passages" else there) | ({step.only: "true"} if step.only else {})
            ui.go(step.screen, title, None, f"Next: {step.said}", **narrowed)
            if notes := waiting(one):
                st.caption(" · ".join(notes))
        with st.container(key=f"links-{one.query_id}", horizontal=True):
            ui.go("question_bank", f"Edit questions ({one.questions})", None, **there)
            if one.sampled:
                judged = f"{one.sampled - one.sampled_left} of {one.sampled}"
                ui.go("passages", f"Judge your sample ({judged})", None, **only, assigned="true")
            if one.pooled:
                ui.go("passages", f"Judge passages ({one.judged:,} of {one.pooled:,})", None, **only)
            if one.disagreements is not None:
                ui.go("disagreements", f"Disagreements ({one.disagreements:,})", None, **there)


def waiting(one: review.Work) -> list[str]:
    """Return notes on a query as Markdown: its due date, and work that other screens do not count."""
    counts = (
        (one.unsaved, "unsaved changes"),
        (one.proposed, "proposed questions"),
        (one.stale, "stale overrides"),
        (one.ungraded, "ungraded pairs"),
    )
    shared = f"{how_many(one.sampled, 'passages')} also assigned to other assessors" if one.sampled else ""
    if one.blind and not one.sampled:
        shared = "also assigned to other assessors"
    return [said for said in (due(one), *(how_many(n, what) for n, what in counts if n), shared) if said]


def in_order(listed: Sequence[review.Work], home: tuple[str, str]) -> list[review.Work]:
    """Return the queries in their order at the person's arrival, so that a click on Done moves none of them.

    Args:
        home: project and person, each with an order of their own.
    """
    kept = st.session_state.get(ORDER)
    if address.arrived() or kept is None or kept[0] != home:
        kept = st.session_state[ORDER] = home, {one.query_id: at for at, one in enumerate(listed)}
    return sorted(listed, key=lambda one: kept[1].get(one.query_id, len(listed)))


def news(project: Project, name: str) -> None:
    """Draw the audits in which the person can judge passages now, and jobs that ended within a day."""
    to_judge = audit.audits_to_judge(project, name) if name and project.allows("judge audits") else {}
    lines = [
        panels.count(count, f"passages to judge in the audit “{one}”", panels.to("audit", audit=one, view="Judge"))
        for one, count in to_judge.items()
    ]
    for job in review.finished_jobs(project, name)[:JOBS_SHOWN]:
        said = f"Job {job.state}: {job.name}, {how_many(job.done, 'results')}, {job.failed:,} failed"
        lines.append(panels.count(None, said, panels.to(SCREENS[job.kind]), aside=panels.ago(job.ended_at)))
    if lines:
        panels.draw("my-news", [panels.panel("Audits and finished jobs", [panels.lines(lines)])])


def summary(project: Project, listed: Sequence[review.Work]) -> None:
    """Draw the progress with the due dates, and which passages the counts are about."""
    done, late = sum(one.done for one in listed), sum(one.late(date.today()) for one in listed)
    dates = [one.due for one in listed if one.due is not None and not one.done and not one.late(date.today())]
    said = [f"{done} of {how_many(len(listed), 'queries')} done", *([f"{late} overdue"] if late else [])]
    st.progress(done / len(listed), " · ".join([*said, *([f"next due {min(dates):%d %B %Y}"] if dates else [])]))
    runs = len(run_names(project))
    tops = f"the top {project.read(pool_depth)} passages of each of {how_many(runs, 'runs')}, and " if runs else ""
    st.container(key="pool-counted").caption(f"Passages are counted in the pool: {tops}judged and graded passages.")


project, name, member = ui.project(STYLE), ui.person(), login.member()
if text := guidelines(project).project:
    st.expander("Project guidelines", icon=":material/menu_book:").text(text)
view = policy_widgets.seen()
listed = review.my_work(project, name, member.theirs if member else None, view.policy if view else None)
news(project, name)
names = ui.told_apart(pooled_queries(project))
offers(project, name, names)
if not listed:
    assigned = member is not None and member.queries is not None
    ui.empty(
        "No query is assigned to you." if assigned else "Nothing to assess yet.",
        "Organizers assign queries on the People screen and import passages on Home.",
    )
summary(project, listed)
page = int(st.session_state.get("page of my work", 1))
for one in in_order(listed, (project.name, name))[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]:
    row(project, one, name, names.get(one.query_id, one.query_id))
if len(listed) > ROWS_A_PAGE:
    st.pagination(-(-len(listed) // ROWS_A_PAGE), key="page of my work")
