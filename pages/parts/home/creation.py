"""Creating a project: an empty one, or the demo."""

import streamlit as st

from exam_workbench.exchange import make_demo
from exam_workbench.locations import projects_folder
from exam_workbench.pipelines import sit_by_rules
from exam_workbench.project import Project, create, new_file, set_member
from pages.parts.shared import login, presses, ui

NAME, MADE = "name of the new project", "project was made"


def choose(name: str) -> None:
    """Open a project from the next run of the script on."""
    st.session_state["opened"] = name
    st.rerun()


def _belongs(project: Project) -> None:
    """Make the logged-in person the organizer of their new project."""
    if (identity := login.identity()) is not None:
        set_member(project, identity, "organizer", ui.author(), ui.author())


def creation(may: bool = True) -> None:
    """Draw two forms that create a project: an empty one, or the demo.

    Args:
        may: whether the person is an organizer of the open project; on a server with login, only organizers create
            projects.
    """
    if login.needed() and not may:
        st.text(
            "Only organizers of a project can create projects here. On the server, use exam init and then exam people"
            " add."
        )
        return
    if st.session_state.pop(MADE, False):
        st.session_state[NAME] = ""
    left, right = st.columns(2)
    with left, st.form("create", border=True):
        st.markdown("**New project**")
        # File systems allow 255 bytes; a character takes up to four.
        name = st.text_input(
            "Name", key=NAME, placeholder="e.g. our-shared-task-2026", max_chars=60, help="Spaces become hyphens."
        )
        if st.form_submit_button("Create project", type="primary", key="create project"):
            with ui.errors():
                path = new_file(name)
                project = create(path)
                _belongs(project)
                project.close()
                st.session_state[MADE] = True
                choose(path.stem)
    with right, st.container(border=True):
        st.markdown("**Demo**")
        st.text(
            "Nine queries with questions, passages, judgments and runs, and an exam with examinees' answers."
            " Grading takes less than a minute on this computer."
        )
        path = projects_folder() / "demo.duckdb"
        if path.exists():
            st.caption("The demo project exists. Choose it on the left.")
        elif presses.button("Create demo project", key="make demo"):
            with st.status("Creating the demo project", expanded=True) as box:
                author = ui.author()

                def finish(project: Project) -> None:
                    _belongs(project)
                    sit_by_rules(project, author, st.text)

                make_demo(path, author, True, st.text, finish)
                box.update(state="complete")
            choose("demo")
