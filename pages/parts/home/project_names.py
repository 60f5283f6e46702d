"""Renaming and removing the open project, and restoring a removed one."""

import streamlit as st

from exam_workbench import server
from exam_workbench.records import RemovedProject, remove_project, removed_projects, rename_project, restore_removed
from exam_workbench.store import Project
from pages.parts.shared import login, ui

REMOVED = "removed project"


def settings(project: Project) -> None:
    """Draw the section that renames or removes the open project, initially collapsed."""
    with st.expander("Rename or remove", icon=":material/edit:", key="rename or remove", on_change="rerun") as part:
        if not part.open:
            return
        with st.form("rename", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            # File systems allow 255 bytes; a character takes up to four.
            name = st.text_input(
                "New name", project.name, max_chars=60, help="Spaces become hyphens.", key="new name of the project"
            )
            renamed = st.form_submit_button("Rename project", key="rename project")
        removed = st.button("Remove project", icon=":material/delete:", key="remove project")
        st.caption("A removed project is moved to the folder `removed`, with its backups. You can undo this.")
        with ui.errors():
            if renamed:
                with server.giving_up(project):
                    path = rename_project(project, name, ui.author())
                choose(path.stem)
            if removed:
                with server.giving_up(project):
                    st.session_state[REMOVED] = remove_project(project, ui.author())
                choose(next(iter(ui.projects()), None))


def choose(name: str | None) -> None:
    """Open a project from the next run of the script on."""
    st.session_state["opened"] = name
    st.rerun()


def undo() -> None:
    """Draw the button that restores the project that was removed in this browser tab; draw nothing without one."""
    removed = st.session_state.get(REMOVED)
    if removed is None or not removed.path.exists():
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="removed"):
        st.text(f"Project {removed.name} is removed.")
        if st.button("Undo", icon=":material/undo:", key="undo removal"):
            _restore(removed)


def removed() -> None:
    """Draw the choice of a removed project to restore; draw nothing without one."""
    found = {f"{one.name} ({one.removed_at:%Y-%m-%d %H:%M:%S})": one for one in removed_projects()}
    if (identity := login.identity()) is not None:
        known = server.with_role({title: one.path for title, one in found.items()}, identity)
        found = {title: found[title] for title in known}
    if found:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            title = st.selectbox("Removed project", list(found), key="project to restore")
            if st.button("Restore project", key="restore project"):
                _restore(found[title])


def _restore(removed: RemovedProject) -> None:
    with ui.errors():
        choose(restore_removed(removed, ui.author(), login.identity()).stem)
