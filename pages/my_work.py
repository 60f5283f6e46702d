"""My work: the queries of an assessor, how far each is, and what is next."""

from __future__ import annotations

import streamlit as st

from core.labels import basis
from core.labels import progress as progress_of
from core.project import Project, guidelines, mark_done
from core.review import Work, my_work
from core.text import how_many
from pages.parts.shared import login, policy_widgets, presses, ui

ROWS_A_PAGE = 25
# What a query is takes the room there is; the rest stands beside it, or below where the window is narrow.
STYLE = """
[class*="st-key-work-"] { flex-wrap: wrap; gap: 0 0.8rem; }
[class*="st-key-work-"] > :first-child { flex: 1 1 22rem; min-width: min(100%, 22rem); }
"""


def row(project: Project, one: Work, name: str) -> None:
    """One query: its text, how far it is, the next step, and whether it is done."""
    said, screen = one.next
    with st.container(key=f"work-{one.query_id}", horizontal=True, vertical_alignment="center"):
        counts = [
            how_many(one.questions, "questions"),
            f"{one.judged:,} of {one.pooled:,} passages judged by you",
            *([f"{one.ungraded:,} pairs ungraded"] if one.ungraded else []),
        ]
        st.markdown(f"**{ui.plain(ui.shortened(one.text, ui.LISTED))}**  \n{ui.plain(' · '.join(counts))}")
        if one.done:
            st.caption(":material/check: Done", width="content")
        else:
            ui.go(screen, said[0].upper() + said[1:], query=one.query_id)
        label = "Not done after all" if one.done else "Done"
        if name and presses.button(label, key=f"{label} {one.query_id}", type="tertiary"):
            mark_done(project, one.query_id, not one.done, name)
            st.rerun()


ui.begin()
st.html(f"<style>{STYLE}</style>")
project, name, member = ui.project(), ui.person(), login.member()
if text := guidelines(project).project:
    with st.expander("Guidelines of the project", icon=":material/menu_book:"):
        st.text(text)
view = policy_widgets.seen()
graded = progress_of(project, basis(project, view.policy)) if view else None
listed = my_work(project, name, member.queries if member else None, graded)
if not listed:
    assigned = member is not None and member.queries is not None
    ui.empty(
        "No query is assigned to you." if assigned else "There is nothing to assess yet.",
        "An organizer assigns queries on the screen People, and imports passages on Home.",
    )
done = sum(one.done for one in listed)
st.progress(done / len(listed), f"{done} of {how_many(len(listed), 'queries')} done")
page = int(st.session_state.get("work page", 1))
for one in listed[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]:
    row(project, one, name)
if len(listed) > ROWS_A_PAGE:
    st.pagination(-(-len(listed) // ROWS_A_PAGE), key="work page")
