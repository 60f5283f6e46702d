"""Activity: actions, newest first, searchable by person, action, time and words, with links to
their objects.
"""

from itertools import groupby

import streamlit as st

from exam_workbench.records import (
    ActivityEntry,
    ActivityFilter,
    activity_csv,
    bring_back,
    kinds_of_act,
    list_actions,
    people,
)
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import html, presses, screens, ui

ACTS_A_PAGE = 25
# The text of an action takes the free width; its link is on the right, or below in a narrow window.
STYLE = """
[class*="st-key-act-"] { flex-wrap: wrap; gap: 0 0.6rem; }
[class*="st-key-act-"] > :first-child { flex: 1 1 24rem; min-width: min(100%, 24rem); }
.st-key-sought { flex-wrap: wrap; }
.st-key-sought > * { flex: 1 1 7.5rem; min-width: min(100%, 7.5rem); }
@media (max-width: 1100px) { .st-key-sought > :first-child { flex-basis: 100%; } }
"""
NOTHING_SOUGHT = {"find": "", "who": None, "act": None, "since": None, "until": None}


def draw_filters(project: Project) -> ActivityFilter:
    """Draw the filters of the list and return the chosen ones; the choice is kept in the URL."""
    with st.container(key="sought", horizontal=True, vertical_alignment="bottom"):
        return ActivityFilter(
            words=st.text_input(
                "Find",
                key="find",
                bind="query-params",
                placeholder="A name, note, reason or question",
            )
            or "",
            who=st.selectbox(
                "Person",
                people(project),
                index=None,
                key="who",
                bind="query-params",
                placeholder="All",
            ),
            act=st.selectbox(
                "Action",
                kinds_of_act(project),
                index=None,
                key="act",
                bind="query-params",
                placeholder="All",
                format_func=str.capitalize,
            ),
            since=st.date_input(
                "From", None, key="since", bind="query-params", format="YYYY-MM-DD"
            ),
            until=st.date_input("To", None, key="until", bind="query-params", format="YYYY-MM-DD"),
        )


def draw_act(act: ActivityEntry) -> None:
    """Draw one action: time, person, text, number, and a link to the object."""
    with st.container(key=f"act-{act.key}", horizontal=True, vertical_alignment="center"):
        st.container(key=f"said act {act.key}").html(
            '<div class="asked" dir="auto">'
            f'<span class="gray">{act.happened_at:%H:%M}</span> <b>{html.as_html(act.author)}</b>'
            f' <span class="words">{html.as_html(act.said)}</span> <span class="gray">action'
            f" {act.key}</span></div>"
        )
        if act.brought_back:
            st.caption("Restored", width="content")
        if act.place is not None:
            screen, query = act.place
            ui.draw_link(screen, screens.SCREENS[screen][0], **query)
        if act.replaced and not act.brought_back:
            presses.act_button(
                "Restore the replaced content",
                bring_back,
                project,
                act.key,
                key=f"bring back {act.key}",
                type="tertiary",
                icon=":material/undo:",
                message="Restored. You can undo this.",
            )


project = ui.require_project(STYLE)
ui.require_content(
    kinds_of_act(project),
    "No activity yet.",
    "Imports, edits, grading, judgments and exports of this project are listed here.",
    "home",
    code="no-acts",
)
sought = draw_filters(project)
page = int(st.session_state.get(f"acts {sought}", 1))
results = list_actions(project, sought, ACTS_A_PAGE, page)
with st.container(horizontal=True, vertical_alignment="center"):
    st.container(key="acts-found").caption(how_many(results.total, "actions"))
    if sought != ActivityFilter():
        st.button(
            "Clear filters",
            type="tertiary",
            icon=":material/filter_alt_off:",
            on_click=st.session_state.update,
            args=(NOTHING_SOUGHT,),
            key="clear filters",
        )
    st.space("stretch")
    st.download_button(
        "CSV",
        lambda: activity_csv(project, sought),
        file_name=f"{project.name}-activity.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        disabled=not results.total,
        key="activity csv",
    )
if not results.total:
    st.container(key="no-act-fits").text("No action matches the filters.")
for day, acts in groupby(results.acts, lambda act: act.happened_at.date()):
    st.markdown(f"**{day:%d %B %Y}**")
    for act in acts:
        draw_act(act)
ui.draw_pager(f"acts {sought}", results.total, ACTS_A_PAGE)
