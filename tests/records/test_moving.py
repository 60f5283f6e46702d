"""A project is renamed, removed and restored with its copies and backups; refusals change nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.bank import put_grader
from exam_workbench.errors import InputError, NotAllowed, ProjectError
from exam_workbench.records import (
    add_job,
    list_actions,
    remove_project,
    removed_projects,
    rename_project,
    restore_removed,
    set_member,
)
from exam_workbench.store import (
    Project,
    back_up_project,
    find_backups,
    list_earlier_copies,
    open_project,
    restore_backup,
)
from tests.made.fuzz_parquet import fill_most
from tests.made.projects import SPEC, made_project
from tests.made.refusals import refusal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(tmp_path))
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, a backup and a copy from before a restore; to be copied."""
    path = tmp_path_factory.mktemp("restored") / "some.duckdb"
    made_project(path, fill_most).close()
    with_backup = open_project(path)
    made = back_up_project(with_backup)
    with_backup.close()
    restore_backup(made.path, path, "ann")
    return path.parent


@pytest.fixture
def project(restored: Path, folder: Path) -> Iterator[Project]:
    """An open project with a backup and a copy from before a restore."""
    shutil.copytree(restored, folder, dirs_exist_ok=True)
    opened = open_project(folder / "some.duckdb")
    yield opened
    opened.close()


def files(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def texts(path: Path) -> list[str]:
    project = open_project(path, read_only=True)
    try:
        return [one.text for one in bank.list_questions(project)]
    finally:
        project.close()


def acts(path: Path) -> list[str]:
    project = open_project(path, read_only=True)
    try:
        return [one.act for one in list_actions(project).acts]
    finally:
        project.close()


def test_a_renamed_project_takes_its_copies_and_backups_along(project: Project, folder: Path) -> None:
    asked, before = [one.text for one in bank.list_questions(project)], files(folder)
    path = rename_project(project, " our track ", "ann")
    assert path == folder / "our-track.duckdb" and project.closed
    assert files(folder) == {name.replace("some", "our-track") for name in before}
    assert texts(path) == asked
    assert len(find_backups(path)) == len(list_earlier_copies(path)) == 1
    assert acts(path)[0] == "rename project"


def test_a_removed_project_comes_back_whole(project: Project, folder: Path) -> None:
    asked, before = [one.text for one in bank.list_questions(project)], files(folder)
    removed = remove_project(project, "ann")
    assert project.closed and not list(folder.glob("*.duckdb*")) and not list(folder.glob("backups/*"))
    assert [one.name for one in removed_projects()] == ["some"] and removed_projects() == [removed]
    path = restore_removed(removed, "bob")
    assert path == folder / "some.duckdb" and texts(path) == asked
    assert files(folder) == before and not removed_projects()
    assert acts(path)[:2] == ["restore removed project", "remove project"]


REFUSED_NAMES = [
    ("", "empty-name"), ("../x", "invalid-name"), ("..", "invalid-name"), ("/etc/x", "invalid-name"),
    ("a\\b", "invalid-name"), ("a\x00b", "invalid-name"), ("a\x1b[31mb", "invalid-name"), ("a\nb", "invalid-name"),
    ("a\x7fb", "invalid-name"), ("a\u202eb", "invalid-name"), ("a\ud800b", "invalid-name"), ("nul", "reserved-name"),
    ("x" * 300, "name-too-long"), ("\N{SNOWMAN}" * 70, "name-too-long"), ("some", "project-exists"),
    ("OTHER", "project-exists"),
]  # fmt: skip


def test_a_refused_name_changes_nothing(project: Project, folder: Path) -> None:
    made_project(folder / "other.duckdb", fill_most).close()
    before = files(folder)
    for name, code in REFUSED_NAMES:
        with refusal(code, kind=InputError):
            rename_project(project, name, "ann")
        assert files(folder) == before and not project.closed
    assert bank.list_questions(project)


def test_other_projects_with_similar_names_stay(project: Project, folder: Path) -> None:
    for name in ("some-two", "some.duckdb.before-x", "some.more"):
        near = made_project(folder / f"{name}.duckdb", fill_most)
        back_up_project(near)
        near.close()
    others = {name for name in files(folder) if "some-two" in name or "some.duckdb.before-x" in name or "more" in name}
    remove_project(project, "ann")
    assert others <= files(folder)


def test_a_project_with_a_running_job_stays(project: Project, folder: Path) -> None:
    before = files(folder)
    with project.transaction() as cursor:
        add_job(cursor, "grading", put_grader(cursor, SPEC), {}, 1, "ann")
    for act in (lambda: rename_project(project, "new", "ann"), lambda: remove_project(project, "ann")):
        with refusal("job-running", kind=ProjectError):
            act()
    assert before <= files(folder) and not project.closed


def test_only_organizers_rename_remove_and_restore(project: Project, folder: Path) -> None:
    set_member(project, "olga@x.org", "organizer", "ann")
    set_member(project, "eve@x.org", "assessor", "ann")
    eve, olga = project.acting_as("eve@x.org"), project.acting_as("olga@x.org")
    for act in (lambda: rename_project(eve, "new", "eve"), lambda: remove_project(eve, "eve")):
        with refusal("role-needed", kind=NotAllowed):
            act()
    removed = remove_project(olga, "olga")
    with refusal("role-needed", kind=NotAllowed):
        restore_removed(removed, "eve", "eve@x.org")
    with refusal("no-role", kind=NotAllowed):
        restore_removed(removed, "x", "x@x.org")
    assert restore_removed(removed, "olga", "olga@x.org").exists()


def test_a_removed_project_is_not_restored_over_another(project: Project, folder: Path) -> None:
    removed = remove_project(project, "ann")
    made_project(folder / "Some.duckdb", fill_most).close()
    before = files(folder)
    with refusal("project-exists", kind=InputError):
        restore_removed(removed, "ann")
    assert files(folder) == before


def test_a_project_outside_the_projects_folder_or_named_at_the_start_stays(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAM_PROJECT", str(project.path))
    with refusal("project-not-movable", kind=InputError):
        remove_project(project, "ann")
    monkeypatch.delenv("EXAM_PROJECT")
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(folder / "elsewhere"))
    with refusal("project-not-movable", kind=InputError):
        rename_project(project, "new", "ann")
    assert not project.closed


def test_a_move_that_fails_halfway_is_undone(project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, rename = files(folder), Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "some.duckdb":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with refusal("cannot-write-file", kind=InputError):
        rename_project(project, "new", "ann")
    assert files(folder) == before


def test_a_block_that_still_reads_delays_the_removal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.store._database.LAST_WRITE", 0.01)
    with project.cursor(), refusal("project-busy", kind=ProjectError):
        remove_project(project, "ann")
    assert bank.list_questions(project)
    remove_project(project, "ann")
    with refusal("project-closed", kind=ProjectError), project.cursor():
        pass
