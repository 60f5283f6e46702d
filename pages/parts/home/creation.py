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
    back_up_project,
    create_project,
    find_backups,
    find_schedule,
    last_failure,
    list_earlier_copies,
    new_file,
    set_backup_schedule,
)
from pages.parts.shared import login, presses, ui


def _make_organizer(project: Project) -> None:
    """Make the logged-in person the organizer of their new project."""
    if (identity := login.current_identity()) is not None:
        set_member(project, identity, "organizer", ui.author(), ui.author())


def draw_creation(may: bool = True) -> None:
    """Draw two forms that create a project: an empty one, or the demo.

    Args:
        may: whether the person is an organizer of the open project; on a server with login, only
            organizers create projects.
    """
    if login.is_required() and not may:
        st.text(
            "Only organizers of a project can create projects here. On the server, use exam init"
            " and then exam people add."
        )
        return
    left, right = st.columns(2)
    with left, st.form("create", border=True):
        st.markdown("**New project**")
        # File systems allow 255 bytes; a character takes up to four.
        name = st.text_input(
            "Name",
            key=presses.form_key("name of the new project"),
            placeholder="e.g. our-shared-task-2026",
            max_chars=60,
            help="Spaces become hyphens.",
        )
        if st.form_submit_button("Create project", type="primary", key="create project"):
            with ui.errors():
                path = new_file(name)
                project = create_project(path)
                _make_organizer(project)
                project.close()
                presses.clear_form("name of the new project")
                open_project(path.stem)
    with right, st.container(border=True):
        st.markdown("**Demo**")
        st.text(
            "Nine queries with questions, passages, judgments and runs, and an exam with examinees'"
            " answers. Grading takes less than a minute on this computer."
        )
        path = locations.projects_folder() / "demo.duckdb"
        if path.exists():
            st.caption("The demo project exists. Choose it on the left.")
        elif presses.button("Create demo project", key="make demo"):
            with st.status("Creating the demo project", expanded=True) as box:
                author = ui.author()

                def finish_demo(project: Project) -> None:
                    _make_organizer(project)
                    exams.sit_by_rules(project, author, st.text)

                exchange.make_demo(path, author, True, st.text, finish_demo)
                box.update(state="complete")
            open_project("demo")
    draw_removed()


SHOWN = 10
"""Largest number of listed backups."""


def draw_backups(project: Project) -> None:
    """Draw the section on backups, initially collapsed."""
    with st.expander("Backups", icon=":material/shield:", key="backups", on_change="rerun") as part:
        if part.open:
            with ui.errors():
                _draw_backup_now(project)
                if not project.read_only:
                    _by_themselves(project)
            _draw_backup_list(project)


def _draw_backup_now(project: Project) -> None:
    if message := st.session_state.pop("backup made", None):
        st.container(key="backup-made").success(message, icon=":material/check:")

    def make_backup(author: str) -> None:
        with st.spinner("Copying the project and checking the copy. You can close this tab."):
            made = back_up_project(project, author=author)
        st.session_state["backup made"] = f"Backup {ui.escape(made.path.name)} created and checked."

    presses.act_button("Make a backup now", make_backup, key="make a backup")
    st.caption(
        "You can keep working during a backup. To restore a backup, close the app and run"
        " `exam restore BACKUP --project FILE`."
    )


def _by_themselves(project: Project) -> None:
    current = find_schedule(project)
    with (
        st.form("backups by themselves", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        hours = st.number_input(
            "Hours between backups",
            0,
            MOST_HOURS,
            current.hours,
            key="backup hours",
            help=(
                "Makes backups while the app runs, if the project has changed. 0 turns"
                " automatic backups off."
            ),
        )
        keep = st.number_input("Backups to keep", 1, MOST_KEPT, current.keep, key="backups kept")
        if st.form_submit_button("Save schedule", key="set backups"):
            set_backup_schedule(project, Schedule(int(hours), int(keep)), ui.author())
            st.rerun()
    if failed := last_failure(project):
        st.warning(f"The last backup failed. {ui.escape(failed)}", icon=":material/warning:")


def _draw_backup_list(project: Project) -> None:
    copies = [*find_backups(project.path), *list_earlier_copies(project.path)]
    if not copies:
        st.container(key="no-backup").text("No backups yet.")
        return
    st.dataframe(
        {
            "Made at": [copy.made_at for copy in copies],
            "Size, MB": [copy.size / 1e6 for copy in copies],
            "Reason": [copy.why for copy in copies],
            "File": [copy.path.name for copy in copies],
        },
        hide_index=True,
        column_config={
            "Made at": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss"),
            "Size, MB": st.column_config.NumberColumn(format="%.1f"),
        },
    )
    author, names = ui.person(), {copy.path.name: copy for copy in copies[:SHOWN]}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Backup to download", list(names), key="backup to download")
        ui.download(
            "Download backup",
            lambda: _backup_content(project, author, names[name]),
            name,
            mime="application/octet-stream",
            icon=":material/download:",
            on_click="ignore",
            help=(
                "A backup contains the whole project: questions, grades and"
                " judgments. Store it safely."
            ),
            key="download backup",
        )


def _backup_content(project: Project, author: str, copy: Backup) -> bytes:
    with project.permit("take everything out", author=author):
        return exchange.record_export(
            project, author, "backup", copy.path.name, copy.path.read_bytes
        )


REMOVED = "removed project"


def rename_or_remove(project: Project) -> None:
    """Draw the section that renames or removes the open project, initially collapsed."""
    with st.expander(
        "Rename or remove", icon=":material/edit:", key="rename or remove", on_change="rerun"
    ) as part:
        if not part.open:
            return
        with (
            st.form("rename", border=False),
            st.container(horizontal=True, vertical_alignment="bottom"),
        ):
            # File systems allow 255 bytes; a character takes up to four.
            name = st.text_input(
                "New name",
                project.name,
                max_chars=60,
                help="Spaces become hyphens.",
                key="new name of the project",
            )
            renamed = st.form_submit_button("Rename project", key="rename project")
        removed = st.button("Remove project", icon=":material/delete:", key="remove project")
        st.caption(
            "A removed project is moved to the folder `draw_removed`, with its"
            " backups. You can undo this."
        )
        with ui.errors():
            if renamed:
                with server.release_project(project):
                    path = rename_project(project, name, ui.author())
                open_project(path.stem)
            if removed:
                with server.release_project(project):
                    st.session_state[REMOVED] = remove_project(project, ui.author())
                open_project(next(iter(ui.list_projects()), None))


def open_project(name: str | None) -> None:
    """Open a project from the next run of the script on."""
    st.session_state["opened"] = name
    st.rerun()


def undo_removal() -> None:
    """Draw the button that restores the project that was removed in this browser tab; draw nothing
    without one.
    """
    removed = st.session_state.get(REMOVED)
    if removed is not None and removed.path.exists():
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="removed"):
            st.text(f"Project {removed.name} is removed.")
            if st.button("Undo", icon=":material/undo:", key="undo removal"):
                _restore_project(removed)


def draw_removed() -> None:
    """Draw the choice of a removed project to restore; draw nothing without one."""
    by_title = {
        f"{gone.name} ({gone.removed_at:%Y-%m-%d %H:%M:%S})": gone for gone in removed_projects()
    }
    if (identity := login.current_identity()) is not None:
        known = server.projects_with_role(
            {title: gone.path for title, gone in by_title.items()}, identity
        )
        by_title = {title: by_title[title] for title in known}
    if by_title:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            title = st.selectbox("Removed project", list(by_title), key="project to restore")
            if st.button("Restore project", key="restore project"):
                _restore_project(by_title[title])


def _restore_project(removed: RemovedProject) -> None:
    with ui.errors():
        open_project(restore_removed(removed, ui.author(), login.current_identity()).stem)
