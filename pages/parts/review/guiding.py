"""The guidelines of the project and of a query, next to the passage."""

import streamlit as st

from exam_workbench.project import Project, doubles, guidelines, set_guidelines
from pages.parts.shared import presses, ui


def blind_beside(project: Project, query_id: str, passage_id: str) -> None:
    """Draw a note that other assessors judge the passage, too, if the person takes part in that."""
    mine = [one for one in doubles(project) if one.query_id == query_id and ui.person() in one.present]
    if any(one.holds(passage_id) for one in mine):
        st.caption(
            ":material/visibility_off: Other assessors judge this passage too. Until adjudication, you cannot see each"
            " other's values, and none of them count."
        )


def guidelines_beside(project: Project, query_id: str) -> None:
    """Draw the guidelines, and for organizers a form to edit them; draw nothing without either."""
    found, may = guidelines(project, query_id), project.allows("set guidelines")
    if not (found.project or found.query or may):
        return
    with st.expander("Guidelines", icon=":material/menu_book:", expanded=bool(found.project or found.query)):
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
                    set_guidelines(project, new, ui.author(), about)
                    st.rerun()
