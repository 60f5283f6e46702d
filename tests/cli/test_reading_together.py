"""Concurrent access: readers share a project, and commands wait for a writer and then name it."""

import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from exam_workbench import cli, records
from exam_workbench.audit import Goal, design_audit, draw_batch, judge_drawn as give_verdict
from exam_workbench.bank import question_text_key
from exam_workbench.errors import ProjectError
from exam_workbench.store import Project, _database as database, _engine as engine, migrations, open_project
from exam_workbench.store.migrations import MIGRATIONS
from exam_workbench.types import Query
from tests.made.projects import file_of, fill, judge, set_patience
from tests.made.refusals import kept_failures, refusal
from tests.records.test_reopening import QUESTIONS

HOLD = """
import duckdb, sys
held = duckdb.connect(sys.argv[-2], read_only=sys.argv[-1] == "read")
print("held", flush=True)
sys.stdin.read()
"""


def fill_all(project: Project) -> None:
    fill(project, QUESTIONS, {("A?", "p1"): 4, ("B?", "p2"): 1}, {"one": {"q1": ["p1", "p2"]}, "two": {"q1": ["p2"]}})
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0})
    audit = design_audit(project, "an audit", "P@2", Goal("best"), seed=1, author="org")
    draw_batch(project, audit, "org")
    for passage in ("p1", "p2"):
        give_verdict(project, audit, "q1", passage, 1, "ann")
    with project.transaction() as cursor:
        records.add_queries(cursor, [Query("q1", "query q1", answer="clay")], replace=True)
        key = records.put_answer_model(cursor, "generator", records.AnswerModel("elsewhere", "made"), "ann")
        question = question_text_key(cursor, "query q1")
        places = [(question, ("one", 1), None, 1), (question, ("gold", 0), None, 1)]
        records.add_generated(cursor, key, [records.Generated(place, "clay") for place in places], None)
        ((query,),) = cursor.execute("SELECT query_key FROM queries WHERE query_id = 'q1'").fetchall()
        records.put_answer_verdicts(cursor, "people", {(query, "clay"): True}, {query: question}, "ann")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "some.duckdb"
    file_of(fill_all).write(path)
    set_patience(monkeypatch, 0.0)
    return path


@contextmanager
def held(path: Path, how: str, *command: str) -> Iterator[subprocess.Popen[str]]:
    """Hold the file open in another process with the given command line."""
    arguments = [sys.executable, *(command or ("-c", HOLD)), str(path), how]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.communicate("")


def run(path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setenv("EXAM_PROJECT", str(path))
    monkeypatch.setattr(sys, "argv", ["exam", *words])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


ARGUMENTS = {
    "bank diff": ("--from", "1"), "adjudicate history": ("q1", "--passage", "p1"),
    "changes": ("--from", "1", "--to", "1"), "correlate": ("--against", "assessors"),
    "graders test": ("--question", "q1/a"), "items statistics": ("--no-filters",),
    "meta-evaluation": ("--against", "assessors"), "reteval agreement": ("--judge", "em"),
    "snapshots compare": ("one", "two"), "prompts show": ("self-rating-0-5",),
}  # fmt: skip


def test_no_command_writes_while_another_process_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server tests run all other reading commands alongside such a process."""
    with held(path, "read"):
        for command in ("graders test", "backup"):
            assert run(path, monkeypatch, *command.split(), *ARGUMENTS.get(command, ())) == 0
        assert run(path, monkeypatch, "judgments", "set", "q1", "p1", "1") == 1


def test_committed_work_of_killed_process_is_readable(path: Path) -> None:
    killed = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute(sys.argv[2]); os._exit(1)"
    statement = "INSERT INTO settings VALUES ('a', '1')"
    subprocess.run([sys.executable, "-c", killed, str(path), statement], check=False)
    assert path.with_name(f"{path.name}.wal").exists()
    readers = [open_project(path, read_only=True) for _ in range(2)]
    assert [reader.value("SELECT value FROM settings WHERE name = 'a'") for reader in readers] == ["1", "1"]
    for reader in readers:
        reader.close()
    project = open_project(path, read_only=True)
    with refusal("cannot-write-file", kind=ProjectError), project.transaction() as cursor:
        cursor.execute("DELETE FROM grades")
    assert project.read_only and project.value("SELECT count(*) FROM grades") == 2


def colour(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("ALTER TABLE queries ADD COLUMN colour VARCHAR DEFAULT 'blue'")


def test_older_project_is_upgraded_first_or_names_the_holder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, ("0999_colour", colour)))
    with held(path, "read") as reader, refusal("project-in-use", str(reader.pid), kind=ProjectError):
        open_project(path, read_only=True)
    project = open_project(path, read_only=True)
    assert project.read_only and project.value("SELECT colour FROM queries") == "blue"


def test_opening_waits_for_writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_patience(monkeypatch, 60.0)
    waited = threading.Event()
    with held(path, "write") as writer:

        def let_go(seconds: float) -> None:
            # At the first pause the file is held and the opener waits.
            waited.set()
            writer.communicate("")

        monkeypatch.setattr(database.time, "sleep", let_go)
        open_project(path, read_only=True)
    assert waited.is_set()


@pytest.mark.parametrize(
    ("folders", "words", "name"),
    [
        ("exam", ("grade", "--grader", "self-rating"), "exam grade (process {pid})"),
        ("streamlit", ("run", "/some/app.py", "--server.port", "8599"), "the app on port 8599"),
        ("streamlit", ("run", "app.py", "--server.port=8599"), "the app on port 8599"),
        ("streamlit", ("run", "app.py"), "the app (process {pid})"),
        ("other.py", ("exam", "grade"), "process {pid} (python"),
    ],
)
def test_holder_of_project_is_described_by_its_command(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folders: str,
    words: tuple[str, ...], name: str,
) -> None:  # fmt: skip
    program = path.with_name(folders)
    program.write_text(HOLD, encoding="utf-8")
    failures = kept_failures(monkeypatch)
    with held(path, "write", str(program), *words) as holder:
        code = run(path, monkeypatch, "status")
    said = capsys.readouterr()
    assert (code, said.out, len(said.err.splitlines())) == (1, "", 1)
    assert path.name in said.err and name.format(pid=holder.pid) in said.err
    assert [error.code for error in failures] == ["project-in-use"]
    # The process has ended, so only its number is known.
    assert engine.describe_process(holder.pid, "python3").name == f"process {holder.pid} (python3)"


def checksum(block: bytes) -> bytes:
    """Return DuckDB's checksum of a block of its file."""
    found = 5381
    for (word,) in struct.iter_unpack("<Q", block):
        found ^= word * 0xBF58476D1CE4E5B9 % 2**64
    return found.to_bytes(8, "little")


def test_newer_engine_file_is_refused_with_migration_steps(path: Path) -> None:
    content = bytearray(path.read_bytes())
    # Write the storage format number and engine name of DuckDB 2.0.0 into the file header.
    content[12:20] = (69).to_bytes(8, "little")
    content[52:84] = b"v2.0.0".ljust(32, b"\0")
    content[:8] = checksum(content[8:4096])
    path.write_bytes(content)
    with refusal("other-database-version", "DuckDB 2.0.0", kind=ProjectError) as refused:
        open_project(path)
    assert f"exam export project --project {path} -o FOLDER" in refused.value.hint
    assert "exam import project FOLDER --project NEW.duckdb" in refused.value.hint
    assert path.read_bytes() == content
