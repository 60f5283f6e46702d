"""The projects that a server has open, whether it is well, and which of them somebody is told of who logs in."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from exam_workbench.errors import InputError
from exam_workbench.records import change_member, remove_member, set_member
from exam_workbench.server import close_all_projects, hold_project, projects_with_role
from exam_workbench.server._routes import NOT_WELL, check_health
from exam_workbench.store import open_project
from tests.made.engine_failure import break_database


@pytest.fixture
def projects(apart: Path, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A project of ann, one of ann and bob, one of nobody, and two files that are none."""
    found = {}
    for name, people in (("hers", ["ann"]), ("theirs", ["ann", "bob"]), ("nobodys", [])):
        found[name] = Path(shutil.copy(apart, tmp_path / f"{name}.duckdb"))
        project = open_project(found[name])
        for person in people:
            set_member(project, f"{person}@x.org", "organizer", "shell")
        project.close()
    found["text"], found["other"] = tmp_path / "text.duckdb", tmp_path / "other.duckdb"
    found["text"].write_text("no database")
    duckdb.connect(str(found["other"])).close()
    yield found
    close_all_projects()


def test_one_is_told_of_the_projects_alone_in_which_one_has_a_role(projects: dict[str, Path]) -> None:
    def told(name: str) -> list[str]:
        return list(projects_with_role(projects, f"{name}@x.org"))

    assert (told("ann"), told("bob"), told("eve")) == (["hers", "theirs"], ["theirs"], [])
    # What is said at a shell counts from the next look on, and so does what is said while the server has it open.
    project = open_project(projects["hers"])
    set_member(project, "eve@x.org", "viewer", "shell")
    project.close()
    assert told("eve") == ["hers"]
    held = hold_project(projects["theirs"])
    remove_member(held, "bob@x.org", "shell")
    change_member(held, "ann@x.org", "shell", role="organizer")
    assert (told("ann"), told("bob"), told("eve")) == (["hers", "theirs"], [], ["hers"])
    # Nothing is opened by looking: whoever is at a shell can work with it.
    project = open_project(projects["hers"])
    remove_member(project, "eve@x.org", "shell")
    assert told("eve") == []
    project.close()


def test_a_server_is_well_after_the_engine_failed_and_not_where_its_file_is_gone(
    apart: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def looked(check: Callable[[], None] = lambda: None) -> tuple[int, dict[str, object]]:
        answer = asyncio.run(check_health(check))
        return answer.status_code, json.loads(answer.body)

    path = Path(shutil.copy(apart, tmp_path / "some.duckdb"))
    try:
        project = hold_project(path)
        set_member(project, "ann@x.org", "organizer", "shell")
        assert list(projects_with_role({"some": path}, "ann@x.org")) == ["some"]
        status, said = looked()
        assert (status, said["projects"]) == (200, 1)

        def refuse() -> None:
            raise InputError("no-login", "Nobody can log in.", "Say with whom.")

        # What the screens need beside the projects is looked at, too.
        caplog.clear()
        # Why is for the log, once: everybody may ask.
        assert looked(refuse) == looked(refuse) == (503, NOT_WELL)
        (record,) = caplog.records
        assert "Nobody can log in. Say with whom." in record.getMessage()
        # The file is closed and opened again, of which nobody has to know.
        break_database(project)
        assert looked()[0] == 200 and len(project.reopenings) == 1
        # It refuses all further work: there is no file any more that could be opened.
        content = path.read_bytes()
        break_database(project)
        path.write_bytes(b"nothing of it" * 1000)
        for _ in range(2):
            status, said = looked()
            assert (status, said) == (503, NOT_WELL)
        assert "some.duckdb" in caplog.text
        # Whoever had a role is told of it all the same, and what is wrong when they come.
        assert list(projects_with_role({"some": path}, "ann@x.org")) == ["some"]
        path.write_bytes(content)
        assert looked()[0] == 200
    finally:
        close_all_projects()
