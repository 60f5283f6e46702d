"""Links as project paths: to a project, to nothing, to themselves, or to another kind of file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exam_workbench.cli import run_command
from exam_workbench.errors import InputError, WorkbenchError
from exam_workbench.server import close_all_projects, hold_project, projects_with_role
from exam_workbench.store import create_project, find_door
from pages.parts.shared import login, ui
from tests.made.projects import new_project
from tests.made.screens import served, visit

__all__ = ["served"]  # fixture


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder of links, a pipe and a folder, all named like projects, and a project."""
    folder = tmp_path / "projects"
    new_project(tmp_path / "real.duckdb").close()
    (tmp_path / "notes.txt").write_text("These are notes.\n")
    new_project(folder / "own.duckdb").close()
    for name, target in ("real", "real.duckdb"), ("none", "none.duckdb"), ("notes", "notes.txt"):
        (folder / f"{name}.duckdb").symlink_to(tmp_path / target)
    (folder / "loop.duckdb").symlink_to("loop.duckdb")
    os.mkfifo(folder / "pipe.duckdb")
    (folder / "folder.duckdb").mkdir()
    return folder


def test_bad_links_are_refused_and_links_to_projects_followed(links: Path) -> None:
    for name in "none", "loop", "notes":
        path = links / f"{name}.duckdb"
        assert find_door(path) is None
        assert projects_with_role({name: path}, "ann@x.org") == {}
        assert run_command(["status", "--project", str(path)]) in (1, 2)
        with pytest.raises(WorkbenchError):
            hold_project(path)
    assert (links.parent / "notes.txt").read_text() == "These are notes.\n"
    try:
        assert hold_project(links / "real.duckdb") is hold_project(links.parent / "real.duckdb")
    finally:
        close_all_projects()
    for name in "none", "loop", "real":
        with pytest.raises(InputError):
            create_project(links / f"{name}.duckdb")
    assert not (links.parent / "none.duckdb").exists()


def test_screens_report_bad_links_and_shared_server_offers_none(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(links))
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    for name in "none", "loop", "notes":
        app = visit("home", project=name)
        assert app.error and not app.exception
    assert sorted(ui.project_files()) == ["folder", "loop", "none", "notes", "own", "pipe", "real"]
    monkeypatch.setenv(login.DEMAND_VARIABLE, "1")
    assert sorted(ui.project_files()) == ["own"]
    # The folder and the start project may be links, because the server's operator chose them.
    (links.parent / "folder").symlink_to(links)
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(links.parent / "folder"))
    monkeypatch.setenv("EXAM_PROJECT", str(links / "real.duckdb"))
    assert sorted(ui.project_files()) == ["own", "real"]
