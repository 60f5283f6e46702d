"""My work: the queries of an assessor, their progress, and the next steps."""

from datetime import date

import streamlit as st

from exam_workbench import labels, review
from exam_workbench.project import (
    Double,
    Project,
    claim_double,
    decline_double,
    doubles,
    guidelines,
    mark_done,
    pooled_queries,
)
from exam_workbench.text import how_many
from pages.parts.shared import login, policy_widgets, presses, ui

ROWS_A_PAGE = 25
# The description of a query takes the free width; the rest is on the right, or below in a narrow window.
STYLE = """
[class*="st-key-work-"] { flex-wrap: wrap; gap: 0 0.8rem; }
[class*="st-key-work-"] > :first-child { flex: 1 1 22rem; min-width: min(100%, 22rem); }
"""


def day_of(one: review.Work) -> str:
    """Return the due date as Markdown; empty if no date is set or the work is done."""
    if one.due is None or one.done:
        return ""
    said = f"{one.due:%d %B %Y}"
    return f":red-badge[Overdue since {said}] " if one.late(date.today()) else f":gray-badge[Due {said}] "


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
        for label, key, act in (("Claim", "claim", claim_double), ("Decline", "decline", decline_double)):
            if presses.button(label, key=f"{key} {one.key}", type="tertiary"):
                with ui.errors(rerun=True):
                    act(project, one.query_id, name, number=one.key)


def row(project: Project, one: review.Work, name: str, listed_as: str) -> None:
    """Draw one query: its text, its progress, the next step, and whether it is done.

    Args:
        listed_as: its name in the filter of Passages.
    """
    said, screen, of_sample = one.next
    with st.container(key=f"work-{one.query_id}", horizontal=True, vertical_alignment="center"):
        counts = [
            how_many(one.questions, "questions"),
            f"{one.judged:,} of {one.pooled:,} passages judged by you",
            *([f"{one.ungraded:,} pairs ungraded"] if one.ungraded else []),
            *([f"{how_many(one.sampled, 'passages')} also assigned to other assessors"] if one.sampled else []),
            *(["also assigned to other assessors"] if one.blind and not one.sampled else []),
        ]
        st.markdown(f"{day_of(one)}**{ui.plain(ui.shortened(one.text, ui.LISTED))}**  \n{ui.plain(' · '.join(counts))}")
        if one.done:
            st.caption(":material/check: Done", width="content")
        else:
            narrowed = {"of_query": listed_as, "assigned": "true"} if of_sample else {}
            ui.go(screen, said[0].upper() + said[1:], query=one.query_id, **narrowed)
        label = "Reopen" if one.done else "Mark as done"
        if name and presses.button(label, key=f"done {one.query_id}", type="tertiary"):
            mark_done(project, one.query_id, not one.done, name)
            st.rerun()


project, name, member = ui.project(STYLE), ui.person(), login.member()
if text := guidelines(project).project:
    st.expander("Project guidelines", icon=":material/menu_book:").text(text)
view = policy_widgets.seen()
graded = labels.progress(project, labels.basis(project, view.policy)) if view else None
listed = review.my_work(project, name, member.theirs if member else None, graded)
offers(project, name, pooled_queries(project))
if not listed:
    assigned = member is not None and member.queries is not None
    ui.empty(
        "No query is assigned to you." if assigned else "Nothing to assess yet.",
        "Organizers assign queries on the People screen and import passages on Home.",
    )
done, late = sum(one.done for one in listed), sum(one.late(date.today()) for one in listed)
st.progress(
    done / len(listed),
    f"{done} of {how_many(len(listed), 'queries')} done" + (f", {late} overdue" if late else ""),
)
page = int(st.session_state.get("work page", 1))
names = ui.told_apart(pooled_queries(project))
for one in listed[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]:
    row(project, one, name, names.get(one.query_id, one.query_id))
if len(listed) > ROWS_A_PAGE:
    st.pagination(-(-len(listed) // ROWS_A_PAGE), key="work page")
