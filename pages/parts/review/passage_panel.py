"""The list of passages, and the panel next to a passage: judgments of all sources, ranks and
guidelines.
"""

from functools import partial
from typing import Any

import streamlit as st

from exam_workbench.records import (
    find_guidelines,
    judgment_history,
    set_guidelines,
    source_judgments as given_in,
    source_of,
)
from exam_workbench.review import ListedPassage, PassageDetails, SearchPage
from exam_workbench.store import Project
from pages.parts.shared import actions, html, presses, seen_labels, ui


def draw_known(project: Project, desk: PassageDetails) -> None:
    """Draw the judgments by source with their history, and the rank in every run."""
    history = judgment_history(project, desk.query_id, desk.passage_id)
    with st.container(key="known"):
        if desk.judgments:
            st.dataframe(
                {
                    "Judgments": [name for name, _ in desk.judgments],
                    "Value": [value for _, value in desk.judgments],
                },
                hide_index=True,
            )
        if history:
            with st.expander("Judgment history"):
                st.dataframe(
                    {
                        "Judgment": [
                            "withdrawn" if act.value is None else str(act.value) for act in history
                        ],
                        "By": [html.as_shown(act.author) for act in history],
                        "On": [act.happened_at for act in history],
                        "Blind": [act.blind for act in history],
                        "Note": [html.as_shown(act.note or "") for act in history],
                    },
                    hide_index=True,
                    placeholder="",
                    column_config={
                        "Blind": st.column_config.CheckboxColumn(help="Judged without labels")
                    },
                )
        ranks = sorted(desk.ranks, key=lambda place: (place[1] is None, place[1] or 0))
        if ranks:
            st.dataframe(
                {
                    "Run": [html.as_shown(run) for run, _ in ranks],
                    "Rank": [rank for _, rank in ranks],
                },
                hide_index=True,
                placeholder="–",
            )


def draw_guidelines(project: Project, query_id: str) -> None:
    """Draw the guidelines, and for organizers a form to edit them; draw nothing without either."""
    guides, may = find_guidelines(project, query_id), project.allows("set guidelines")
    if not (guides.project or guides.query or may):
        return
    with st.expander("Guidelines", icon=":material/menu_book:"):
        for text in filter(None, (guides.project, guides.query)):
            st.text(text)
        if not may:
            return
        if not (guides.project or guides.query):
            st.caption("No guidelines yet. Describe here how to judge passages.")
        with st.popover("Edit guidelines", icon=":material/edit:", key="write guidelines"):
            for title, old, about in (
                ("Project guidelines", guides.project, None),
                ("Query guidelines", guides.query, query_id),
            ):
                new = st.text_area(title, old, key=f"guidelines {about} {hash(old)}", height=160)
                # Always enabled: the text is known after the field loses focus, which the click on
                # the button causes.
                if (
                    presses.button(f"Save {title.lower()}", key=f"save guidelines {about}")
                    and new != old
                ):
                    presses.run_act(partial(set_guidelines, query_id=about), project, new)


KEY = "passage-list"
"""Key of the component, whose actions are a passage to open, or a page to turn to."""
PASSAGES_A_PAGE = 40


def passage_list(
    project: Project,
    listing: SearchPage,
    query_id: str | None,
    source: str | None,
    place: tuple[str, str | None] | None,
    graded: bool,
) -> None:
    """Draw one page of the list, with links from the open passage to its neighbours.

    Args:
        query_id: the query to which the list is restricted, if any.
        source: source of judgments that the list shows next to the person's own.
        place: the open passage.
        graded: whether anything has been graded.
    """
    own_source = source_of(ui.person()) if ui.person() else source
    own = {} if own_source is None or own_source == source else given_in(project, own_source)
    actions.pending_actions(KEY).draw(
        "passages",
        {
            "total": listing.total,
            "place": listing.here.place if listing.here else None,
            "page": listing.page,
            "size": PASSAGES_A_PAGE,
            "query": query_id,
            "chosen": place,
            "before": _place_of_row(listing.before),
            "after": _place_of_row(listing.after),
            "rows": [
                _row_data(row, graded, own.get(row.query_id, {}).get(row.passage_id), source)
                for row in listing.rows
            ],
        },
    )


def _place_of_row(row: ListedPassage | None) -> seen_labels.Place | None:
    return None if row is None else (row.query_id, row.passage_id)


def _row_data(
    row: ListedPassage, graded: bool, own: int | None, source: str | None
) -> dict[str, Any]:
    about = [
        "" if own is None else f"you judged {own}",
        ""
        if row.judgment is None
        else f"{'' if own is None else f'{source} '}judged {row.judgment}",
        "overridden" if row.overridden else "",
        f"{row.ungraded} ungraded" if row.ungraded else "",
        f"{row.failed} failed" if row.failed else "",
    ]
    return {
        "at": (row.query_id, row.passage_id),
        "query": ui.shorten_text(row.query, 120),
        "text": ui.shorten_text(" ".join((row.excerpt or row.passage_id).split()), 110),
        "label": row.label,
        "about": html.as_shown(" · ".join(filter(None, about))),
        "graded": graded,
    }
