"""A full disk, a damaged file, a foreign one and one that must not be written: a sentence each, and reading goes on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank
from exam_workbench.bank import put_draft
from exam_workbench.errors import ProjectError
from exam_workbench.exchange import record_export
from exam_workbench.store import _opening as projects, open_project
from exam_workbench.types import Question
from tests.cli.test_reading_together import run
from tests.made.projects import fill, new_project
from tests.made.refusals import kept_failures, refusal
from tests.made.screens import check_refused, edit, holds, served, sound, texts, visit  # noqa: F401

QUESTIONS = [Question("q1/a", "q1", "A?")]
GRADED = 5_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A project's file with some thousands of grades, so that damage can hit them."""
    project = new_project(tmp_path_factory.mktemp("whole") / "whole.duckdb")
    fill(project, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": ["p0", "p1"]}})
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO grades SELECT grader_key, 9, i, i % 6, false, random(), uuid()::VARCHAR, NULL, 0,"
                       f" NULL, NULL FROM graders, range({GRADED}) t(i)")  # fmt: skip
    project.close()
    return project.path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    file = tmp_path / "some.duckdb"
    file.write_bytes(whole)
    return file


def sqlite(path: Path, whole: bytes) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (b)")


def duck(path: Path, whole: bytes) -> None:
    path.unlink()
    duckdb.connect(str(path)).execute("CREATE TABLE a AS SELECT 1").close()


def folder(path: Path, whole: bytes) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path, whole: bytes) -> None:
    path.unlink()
    os.mkfifo(path)


def flipped(at: int) -> Callable[[Path, bytes], object]:
    def flip(path: Path, whole: bytes) -> None:
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        path.write_bytes(changed)

    return flip


BAD: list[tuple[Callable[[Path, bytes], object], str]] = [
    (sqlite, "not-a-project"),
    (duck, "not-a-project"),
    (folder, "not-a-project"),
    (pipe, "not-a-file"),
    (lambda path, whole: path.write_bytes(b""), "empty-project-file"),
    (lambda path, whole: path.write_text("hello\n" * 2000), "not-a-project"),
    (lambda path, whole: path.write_bytes(bytes(len(whole))), "not-a-project"),
    (lambda path, whole: path.write_bytes(whole[:100]), "damaged-project"),
    (lambda path, whole: path.write_bytes(whole[:100_000]), "damaged-project"),
    (flipped(60), "damaged-project"),
    (flipped(4100), "damaged-project"),
    (flipped(300_000), "damaged-project"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_whole_project_is_refused_with_what_to_do_and_left_as_it_is(
    path: Path, whole: bytes, make: Callable[[Path, bytes], object], code: str, read_only: bool
) -> None:
    make(path, whole)
    before = path.read_bytes() if path.is_file() else None
    with refusal(code, kind=ProjectError) as refused:
        open_project(path, read_only)
    assert refused.value.hint and "Error" not in str(refused.value)
    assert before is None or path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def damage(path: Path, table: str, column: str) -> None:
    """Let a part of a file be unreadable in which a column of a table lies."""
    with duckdb.connect(str(path), read_only=True) as connection:
        (block,) = connection.execute(
            f"SELECT max(block_id) FROM pragma_storage_info('{table}') WHERE column_name = ? AND block_id >= 0",
            [column],
        ).fetchall()[0]
    content = bytearray(path.read_bytes())
    at = 3 * 4096 + block * 262_144
    content[at + 1000] ^= 0xFF
    path.write_bytes(content)


def test_what_lies_beside_the_damage_can_be_read_and_the_rest_is_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(path, "grades", "answer")
    project = open_project(path)
    assert project.value("SELECT count(*) FROM queries") == 1
    with refusal("damaged-project", kind=ProjectError):
        project.rows("SELECT answer FROM grades")
    assert project.value("SELECT text FROM queries") == "query q1"
    project.close()
    assert run(path, monkeypatch, "bank", "list") == 0
    capsys.readouterr()
    assert run(path, monkeypatch, "export", "graded", "-o", str(path.with_name("graded.jsonl.gz"))) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said and len(said.splitlines()) == 1 and path.name in said


def unwritable(monkeypatch: pytest.MonkeyPatch, closed: Path) -> None:
    """Whoever runs the tests may write everywhere, so the answer is given in the system's place."""
    allowed = os.access
    monkeypatch.setattr(
        projects.os, "access", lambda path, mode: allowed(path, mode) and not (mode & os.W_OK and Path(path) == closed)
    )


@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_project_that_must_not_be_written_is_read_and_a_change_says_why_it_cannot_be(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    before = path.read_bytes()
    unwritable(monkeypatch, path if which == "file" else path.parent)
    project = open_project(path)
    assert project.read_only and project.value("SELECT count(*) FROM grades") == 1 + GRADED
    with refusal("cannot-write-file", "some.duckdb", kind=ProjectError):
        put_draft(project, "ann", Question("q1/a", "q1", "Reworded?"))
    assert record_export(project, "ann", "qrels", "some.qrels", lambda: "what is read") == b"what is read"
    project.close()
    assert run(path, monkeypatch, "status") == 0
    failures = kept_failures(monkeypatch)
    assert run(path, monkeypatch, "judgments", "set", "q1", "p0", "1") == 1
    assert [error.code for error in failures] == ["cannot-write-file"]
    assert path.read_bytes() == before


FILL = """
import resource, sys
from pathlib import Path
from exam_workbench.bank import put_draft
from exam_workbench.errors import ProjectError
from exam_workbench.store import open_project
from exam_workbench.types import Question

project = open_project(Path(sys.argv[1]))
project.checkpoint()
put_draft(project, "ann", Question("q1/a", "q1", "Kept?"))
# No file may grow beyond what it is: what a full disk says, but with a reason of its own.
log = Path(sys.argv[1] + ".wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (log + 100, resource.RLIM_INFINITY))
for attempt in range(3):
    try:
        put_draft(project, "ann", Question("q1/a", "q1", "Lost? " * 1000))
        print("stored")
    except ProjectError as error:
        print(error.code)
    print(project.value("SELECT content LIKE '%Kept?%' FROM drafts"), project.checkpoint())
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put_draft(project, "ann", Question("q1/a", "q1", "Again?"))
project.close()
"""


def test_on_a_full_disk_a_change_says_so_nothing_is_lost_and_all_can_be_read(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6, done.stdout
    for said, then in zip(lines[::2], lines[1::2], strict=True):
        assert said == "disk-full"
        assert then == "True False"
    project = open_project(path)
    assert [text for (text,) in project.rows("SELECT content->>'text' FROM drafts")] == ["Again?"]
    project.close()


def test_a_bad_file_among_the_projects_is_a_sentence_on_the_screen_and_the_others_open(
    path: Path,
) -> None:
    for number, (make, _) in enumerate(BAD[:6]):
        bad = path.with_name(f"bad{number}.duckdb")
        bad.write_bytes(b"")
        make(bad, b"")
    app = visit("home", project="bad0")
    check_refused(app, "not-a-project", "bad0", "SQLite")
    assert not app.exception
    assert len(app.selectbox(key="project").options) == 7
    app.selectbox(key="project").select("some").run()
    (here,) = [panel for panel in holds(app, "state")["panels"] if panel["to"] is None]
    assert not app.error and ("1", "query") in {(one["count"], one["text"]) for one in here["blocks"][0]["lines"]}


def test_a_draft_that_cannot_be_stored_stays_in_its_field_says_so_and_is_stored_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit("question_bank", project="some")
    with monkeypatch.context() as full:
        full.setattr("exam_workbench.bank.change_draft", no_room)
        edit(app, texts(app)[0], text="Typed?")
        # The browser keeps what it does not hear of as stored, and shows why.
        (why,) = holds(app, "bank")["refused"].values()
        assert NO_ROOM.message in why
        assert holds(app, "questions")["refused"] == holds(app, "bank")["refused"]
        assert not app.error and texts(app)[0] != "Typed?", "the rest of the screen is there"
    sound(app.run())
    assert holds(app, "bank")["refused"] == {} and texts(app)[0] == "Typed?"
    project = open_project(path)
    assert [draft.question.text for draft in bank.list_drafts(project, "ann").values()] == ["Typed?"]
    project.close()


NO_ROOM = ProjectError("disk-full", "There is no room left on the disk.", "Free some space.")


def no_room(*arguments: object) -> None:
    raise NO_ROOM


def test_an_export_to_another_full_disk_names_that_disk_and_not_the_projects(path: Path, tmp_path: Path) -> None:
    project = open_project(path)
    with refusal("disk-full", "grades.parquet", kind=ProjectError), project.cursor():
        raise duckdb.IOException(f'Could not write file "{tmp_path}/out/grades.parquet": No space left on device')
    assert project.value("SELECT count(*) FROM queries") == 1
    project.close()


def test_the_screens_say_that_a_copy_was_made_while_the_project_was_in_use(path: Path) -> None:
    project = open_project(path)
    put_draft(project, "ann", Question("q1/a", "q1", "Reworded?"))
    path.with_name("copy.duckdb").write_bytes(path.read_bytes())
    project.close()
    app = visit("home", project="copy")
    assert [toast.value for toast in app.toast if "wal" in toast.value]
    assert not visit("home", project="some").toast
