"""Creating, renaming, removing, restoring and backing up projects."""

import streamlit as st

from exam_workbench import exams, exchange, locations, server
from exam_workbench.records import (
    RemovedProject,
    remove_project,
    removed_projects,
    rename_project,
    restore_removed,
    set_member,
)
from exam_workbench.store import (
    MOST_HOURS,
    MOST_KEPT,
    Backup,
    Project,
    Schedule,
    backup,
    backups,
    create,
    last_failure,
    new_file,
    schedule,
    set_aside,
    set_schedule,
)
from pages.parts.shared import login, presses, ui

NAME, MADE = "name of the new project", "project was made"


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
        path = locations.projects_folder() / "demo.duckdb"
        if path.exists():
            st.caption("The demo project exists. Choose it on the left.")
        elif presses.button("Create demo project", key="make demo"):
            with st.status("Creating the demo project", expanded=True) as box:
                author = ui.author()

                def finish(project: Project) -> None:
                    _belongs(project)
                    exams.sit_by_rules(project, author, st.text)

                exchange.make_demo(path, author, True, st.text, finish)
                box.update(state="complete")
            choose("demo")
    removed()


SHOWN = 10
"""Largest number of listed backups."""


def safekeeping(project: Project) -> None:
    """Draw the section on backups, initially collapsed."""
    with st.expander("Backups", icon=":material/shield:", key="backups", on_change="rerun") as part:
        if part.open:
            with ui.errors():
                _now(project)
                if not project.read_only:
                    _by_themselves(project)
            _listed(project)


def _now(project: Project) -> None:
    if told := st.session_state.pop("backup made", None):
        st.container(key="backup-made").success(told, icon=":material/check:")

    def make(author: str) -> None:
        with st.spinner("Copying the project and checking the copy. You can close this tab."):
            made = backup(project, author=author)
        st.session_state["backup made"] = f"Backup {ui.plain(made.path.name)} created and checked."

    presses.doing("Make a backup now", make, key="make a backup")
    st.caption(
        "You can keep working during a backup. To restore a backup, close the app and run"
        " `exam restore BACKUP --project FILE`."
    )


def _by_themselves(project: Project) -> None:
    current = schedule(project)
    with st.form("backups by themselves", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        hours = st.number_input(
            "Hours between backups", 0, MOST_HOURS, current.hours, key="backup hours",
            help="Makes backups while the app runs, if the project has changed. 0 turns automatic backups off.",
        )  # fmt: skip
        keep = st.number_input("Backups to keep", 1, MOST_KEPT, current.keep, key="backups kept")
        if st.form_submit_button("Save schedule", key="set backups"):
            set_schedule(project, Schedule(int(hours), int(keep)), ui.author())
            st.rerun()
    if failed := last_failure(project):
        st.warning(f"The last backup failed. {ui.plain(failed)}", icon=":material/warning:")


def _listed(project: Project) -> None:
    found = [*backups(project.path), *set_aside(project.path)]
    if not found:
        st.container(key="no-backup").text("No backups yet.")
        return
    st.dataframe(
        {
            "Made at": [one.made_at for one in found],
            "Size, MB": [one.size / 1e6 for one in found],
            "Reason": [one.why for one in found],
            "File": [one.path.name for one in found],
        },
        hide_index=True,
        column_config={
            "Made at": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss"),
            "Size, MB": st.column_config.NumberColumn(format="%.1f"),
        },
    )
    _download(project, found[:SHOWN])


def _download(project: Project, found: list[Backup]) -> None:
    author = ui.person()
    names = {one.path.name: one for one in found}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Backup to download", list(names), key="backup to download")
        ui.download(
            "Download backup",
            lambda: _content(project, author, names[name]),
            name,
            mime="application/octet-stream",
            icon=":material/download:",
            on_click="ignore",
            help="A backup contains the whole project: questions, grades and judgments. Store it safely.",
            key="download backup",
        )


def _content(project: Project, author: str, one: Backup) -> bytes:
    with project.doing("take everything out", author=author):
        return exchange.recorded(project, author, "backup", one.path.name, one.path.read_bytes)


REMOVED = "removed project"


def rename_or_remove(project: Project) -> None:
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


def undo_removal() -> None:
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
