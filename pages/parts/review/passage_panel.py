"""The panel next to a passage: the judgments of all sources, the rank in every run, and the guidelines."""

from functools import partial

import streamlit as st

from exam_workbench.records import guidelines, judgment_history, set_guidelines
from exam_workbench.review import Desk
from exam_workbench.store import Project
from pages.parts.shared import html, presses


def known(project: Project, desk: Desk) -> None:
    """Draw the judgments by source with their history, and the rank in every run."""
    st.container(key="known").html(html.known_html(desk, judgment_history(project, desk.query_id, desk.passage_id)))


def guidelines_beside(project: Project, query_id: str) -> None:
    """Draw the guidelines, and for organizers a form to edit them; draw nothing without either."""
    found, may = guidelines(project, query_id), project.allows("set guidelines")
    if not (found.project or found.query or may):
        return
    with st.expander("Guidelines", icon=":material/menu_book:"):
        for text in filter(None, (found.project, found.query)):
            st.text(text)
        if not may:
            return
        with st.popover("Edit guidelines", icon=":material/edit:", key="write guidelines"):
            for title, old, about in (
                ("Project guidelines", found.project, None),
                ("Query guidelines", found.query, query_id),
            ):
                new = st.text_area(title, old, key=f"guidelines {about} {hash(old)}", height=160)
                # Always enabled: the text is known after the field loses focus, which the click on the button causes.
                if presses.button(f"Save {title.lower()}", key=f"save guidelines {about}") and new != old:
                    presses.do(partial(set_guidelines, query_id=about), project, new)
