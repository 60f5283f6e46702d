"""Closing and reopening: copies and reopened files keep all saved work."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from exam_workbench import bank
from exam_workbench.bank import list_drafts, put_draft, put_grader
from exam_workbench.errors import EngineError, ProjectError
from exam_workbench.exchange import check_project, export_project, import_project
from exam_workbench.graders import Control, Outcome, Pair
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import Progress, find_jobs
from exam_workbench.records import add_job, end_job
from exam_workbench.store import Cursor, Project, _database, _database as database, open_project
from exam_workbench.store._database import has_log
from exam_workbench.types import Grade, GraderInput, GraderSpec, Question
from tests.made.browser import Server
from tests.made.engine_failure import break_database, give_up, give_up_at_commit
from tests.made.projects import SPEC, commit, fill, filled_project, new_project
from tests.made.refusals import mentions, refusal

QUESTION = Question("q1/a", "q1", "A?")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = new_project(tmp_path / "used.duckdb")
    fill(made, [QUESTION], {}, {"one": {"q1": ["p0"]}})
    made.close()
    return open_project(made.path)


def reword(project: Project, words: str) -> None:
    put_draft(project, "ann", Question("q1/a", "q1", words))


def wording(project: Project) -> str | None:
    return next((draft.question.text for draft in list_drafts(project, "ann").values()), None)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "the condition was not met within 60 seconds"
        time.sleep(0.02)


def copied(project: Project, with_log: bool = False) -> Path:
    """Copy the project file, and its log if asked, and return the path of the copy."""
    copy = project.path.with_name("copy.duckdb")
    shutil.copy(project.path, copy)
    if with_log:
        shutil.copy(_database.log_of(project.path), _database.log_of(copy))
    return copy


def opened(path: Path) -> tuple[str | None, str]:
    """Return the wording in a project and the warning about how it was closed."""
    project = open_project(path)
    found = wording(project), project.not_closed
    project.close()
    return found


def test_only_copy_without_log_is_incomplete(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    reword(project, "New?")
    found, said = opened(copied(project, with_log=True))
    assert found == "New?" and "exam check" in said
    copy = copied(project)
    with caplog.at_level(logging.WARNING):
        found, said = opened(copy)
    assert found is None
    assert mentions(said, "copy.duckdb") and mentions(said, "copy.duckdb.wal") and said in caplog.text
    reword(again := open_project(copy), "Newer?")
    again.close()
    assert opened(copy) == ("Newer?", "")
    assert opened(project.path) == ("New?", "")
    project.close()
    assert not has_log(project.path)
    assert opened(copied(project)) == ("New?", "")


@pytest.mark.parametrize("log_first", [False, True])
def test_copy_of_two_moments_warns_and_check_finds_it(project: Project, log_first: bool) -> None:
    """The engine reads such a log without an error, so saves between the moments are missing or doubled."""
    bank.save_version(project, [Question("q1/a", "q1", "First?")], "", "ann")
    copy = project.path.with_name("copy.duckdb")
    pairs = [(project.path, copy), (_database.log_of(project.path), _database.log_of(copy))]
    if log_first:
        pairs.reverse()
    shutil.copy(*pairs[0])
    assert project._database.checkpoint()
    bank.save_version(project, [Question("q1/a", "q1", "Second?")], "", "ann")
    shutil.copy(*pairs[1])
    project.close()
    mixed = open_project(copy)
    # The warning about a copy with its log explains how to check it.
    assert "exam check" in mixed.not_closed and any(check_project(mixed).values())
    mixed.close()
    whole = open_project(project.path)
    assert not any(check_project(whole).values())
    whole.close()


def test_saved_work_is_in_file_once_writing_ends(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_database, "IDLE", 0.05)
    project.checkpoint_when_idle()
    for words in ("New?", "Newer?"):
        reword(project, words)
        until(lambda: not has_log(project.path))
        found, said = opened(copied(project))
        assert found == words and mentions(said, "copy.duckdb")
    project.close()


def test_log_is_written_out_even_during_ongoing_changes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[Path] = []
    mark = _database.write_open_mark

    def counted(connection: Any, path: Path) -> None:
        # A project left open by an earlier test may be written out at the same time.
        if path == project.path:
            marked.append(path)
        mark(connection, path)

    monkeypatch.setattr(_database, "write_open_mark", counted)
    monkeypatch.setattr(_database, "IDLE", 30.0)
    monkeypatch.setattr(_database, "LONGEST", 0.5)
    project.checkpoint_when_idle()
    reword(project, "Begun?")
    assert len(marked) == 1, "the mark before the first change, and none since"
    until(lambda: len(marked) > 1)
    until(lambda: not has_log(project.path))
    project.close()


def test_unreferenced_project_is_released(project: Project) -> None:
    project.close()
    again = open_project(project.path)
    again.checkpoint_when_idle()
    reword(again, "New?")
    database, thread = weakref.ref(again._database), again._database._idle
    del again
    gc.collect()
    assert database() is None
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()


def test_checkpoint_neither_waits_nor_blocks(project: Project) -> None:
    with project.cursor() as reader:
        reader.execute("BEGIN")
        reader.execute("FROM settings").fetchall()
        assert project._database.checkpoint() is True, "the first mark removes nothing that is being read"
        reader.execute("COMMIT")
    assert not has_log(project.path)
    writing, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with project.transaction() as cursor:
            cursor.execute("INSERT INTO settings VALUES ('a', '1')")
            writing.set()
            assert go_on.wait(60)

    with ThreadPoolExecutor(1) as writer:
        work = writer.submit(write)
        assert writing.wait(60)
        assert project._database.checkpoint() is False
        go_on.set()
    work.result()
    assert project.value("SELECT value FROM settings WHERE name = 'a'") == "1"
    assert project._database.checkpoint() is True
    assert not has_log(project.path)
    project.close()


def test_export_omits_whether_project_is_closed(project: Project, tmp_path: Path) -> None:
    reword(project, "New?")
    export_project(project, tmp_path / "out", "ann")
    again = import_project(tmp_path / "out", tmp_path / "again.duckdb")
    assert again.value("SELECT count(*) FROM settings WHERE name = $1", [_database.MARK]) == 0
    again.close()
    project.close()


ENDS = """
import os, signal, sys
from pathlib import Path
from exam_workbench.bank import put_draft
from exam_workbench.store import open_project
from exam_workbench.types import Question
project = open_project(Path(sys.argv[1]))
put_draft(project, "ann", Question("q1/a", "q1", "New?"))
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "said"), [("at its end", False), ("killed", True)])
def test_process_closes_its_project_unless_killed(project: Project, how: str, said: bool) -> None:
    project.close()
    subprocess.run([sys.executable, "-c", ENDS, str(project.path), how], check=False, timeout=120)
    assert has_log(project.path) is said
    found, sentence = opened(project.path)
    assert found == "New?" and bool(sentence) is said
    assert opened(project.path) == ("New?", "")


WAITS = """
import signal, sys, time
from exam_workbench import cli
from exam_workbench.bank import put_draft
from exam_workbench.cli.shell import command_of
from exam_workbench.cli.table import Description
from exam_workbench.operations.registry import operation
from exam_workbench.store import Project
from exam_workbench.types import Question

@operation("wait", act="organize")
def wait(project: Project) -> None:
    put_draft(project, "ann", Question("q1/a", "q1", "New?"))
    print("waiting", flush=True)
    time.sleep(600)

described = Description("wait", "Wait.", False, True, False, False, (), ())
cli.cli.get_command = lambda context, name: command_of(described, name)

# Where the tests run behind nohup, it is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["exam", "wait", "--project", sys.argv[1]]
cli.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_command_closes_the_project(project: Project, sent: signal.Signals) -> None:
    project.close()
    with subprocess.Popen([sys.executable, "-c", WAITS, str(project.path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"waiting\n"
        process.send_signal(sent)
        try:
            assert process.wait(60) == 1
        finally:
            process.kill()
    assert not has_log(project.path)
    assert opened(project.path) == ("New?", "")


@contextmanager
def visited(server: Server, query: str) -> Iterator[None]:
    """Keep a page of the app open by sending the messages of a browser to the server."""
    address = server.address.replace("http:", "ws:") + "/_stcore/stream"
    with connect(address, subprotocols=[Subprotocol("streamlit")], max_size=None) as visitor:
        visitor.send(BackMsg(rerun_script=ClientState(query_string=query)).SerializeToString())
        while True:
            said = ForwardMsg.FromString(visitor.recv(timeout=60, decode=False))
            if (
                said.WhichOneof("type") == "script_finished"
                and said.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            ):
                break
        yield


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_ended_app_closes_its_files(
    project: Project, app_server: Callable[[Path], Server], sent: signal.Signals
) -> None:
    key = commit(project, lambda cursor: add_job(cursor, "grading", put_grader(cursor, SPEC), {}, 1, "ann"))
    project.close()
    server = app_server(project.path.parent)
    # On opening, the app marks the job as interrupted, because its process has ended.
    with visited(server, "project=used"):
        server.process.send_signal(sent)
        server.process.wait(60)
    assert not has_log(project.path)
    copy = open_project(copied(project))
    assert (copy.not_closed, copy.value("SELECT state FROM jobs WHERE job_key = ?", [key])) == ("", "interrupted")
    copy.close()


QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]
PASSAGES = [f"p{i}" for i in range(6)]


filled = filled_project(lambda project: fill(project, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": PASSAGES}}))


def test_committed_work_survives_engine_failure(filled: Project):
    break_database(filled)
    assert [question.text for question in bank.list_questions(filled)] == ["A?", "B?"]
    assert filled.value("SELECT rating FROM grades") == 4
    bank.save_version(filled, [Question("q1/c", "q1", "C?")], "after it", "ann")
    assert [version.note for version in bank.list_versions(filled)] == ["after it", "made for a test"]
    assert ["checkpoint" in one.reason for one in filled.reopenings] == [True]
    filled.close()
    again = open_project(filled.path)
    assert [question.text for question in bank.list_questions(again)] == ["A?", "B?", "C?"]
    again.close()


def test_read_is_repeated_once_after_engine_failure(filled: Project):
    tries: list[int] = []

    def work(cursor: Cursor) -> int:
        tries.append(1)
        if len(tries) == 1:
            give_up(cursor)
        return int(cursor.execute("SELECT count(*) FROM grades").fetchall()[0][0])

    assert (filled.read(work), len(tries)) == (1, 2)
    with refusal("database-failed", kind=EngineError):
        filled.read(give_up)
    assert filled.value("SELECT rating FROM grades") == 4


def test_change_hit_by_engine_failure_is_undone_or_in_doubt(filled: Project) -> None:
    with refusal("change-not-saved", kind=EngineError), filled.transaction() as cursor:
        cursor.execute("DELETE FROM grades")
        # Another person's work makes the engine fail.
        break_database(filled)
        filled.rows("SELECT 1")
    assert filled.value("SELECT count(*) FROM grades") == 1
    with refusal("change-in-doubt", kind=EngineError), filled.transaction() as cursor:
        cursor.execute("INSERT INTO settings VALUES ('a', '1')")
        give_up_at_commit(cursor)
    assert filled.value("SELECT value FROM settings WHERE name = 'a'") == "1"


def test_reopening_waits_for_read_in_another_thread(filled: Project):
    inside, broken = threading.Event(), threading.Event()

    def work(cursor: Cursor) -> int:
        first = not inside.is_set()
        inside.set()
        if first:
            assert broken.wait(60)
        return len(cursor.execute("FROM grades").fetchall())

    with ThreadPoolExecutor(1) as other:
        found = other.submit(filled.read, work)
        assert inside.wait(60)
        break_database(filled)
        broken.set()
        assert filled.value("SELECT count(*) FROM grades") == 1
    assert found.result() == 1
    assert len(filled.reopenings) == 1


class Grader:
    """A grader that gives every pair rating 3, one at a time, and breaks the engine of a project before the third."""

    def __init__(self, breaking: Project | None = None) -> None:
        self.spec = GraderSpec("one by one", "self-rating", "another model")
        self.breaking = breaking

    def grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control | None = None,
    ) -> Iterator[list[Outcome]]:
        for number, (question, passage) in enumerate(pairs):
            if number == 2 and self.breaking is not None:
                break_database(self.breaking)
            yield [(question, passage, Grade(3, "graded"))]


def test_job_continues_and_keeps_each_grade_once(filled: Project, monkeypatch: pytest.MonkeyPatch):
    reported: list[Progress] = []
    monkeypatch.setattr("exam_workbench.jobs._job_run.COMMIT_SECONDS", 0.0)
    final = run_job(filled, Grader(filled), Request(), "ann", reported.append)
    assert (final.state, final.graded, final.failed) == ("done", 12, 0)
    assert len(reported) > 3
    assert filled.value("SELECT count(*) FROM grades") == 1 + 12
    (job,) = find_jobs(filled)
    assert (job.state, job.done, len(filled.reopenings)) == ("done", 12, 1)
    with filled.transaction() as cursor:
        assert not end_job(cursor, job.key, "failed", "once more"), "its recorded end is not overwritten"
    assert find_jobs(filled) == [job]


def test_grades_committed_despite_failure_are_counted_once(filled: Project):
    class Hit(Grader):
        def grade(self, *arguments: object, **more: object) -> Iterator[list[Outcome]]:
            pairs = arguments[2]
            assert isinstance(pairs, Sequence)
            filled.read(give_up_at_commit)
            yield [(question, passage, Grade(None, "failed", reason="odd")) for question, passage in pairs]

    final = run_job(filled, Hit(), Request(), "ann")
    assert (final.state, final.failed) == ("done", 12)
    assert filled.value("SELECT count(*) FROM failures") == 12
    assert [(job.state, job.failed) for job in find_jobs(filled)] == [("done", 12)]


def test_failed_reopening_is_reported_and_retried_later(filled: Project, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, read_only: bool = False) -> Cursor:
        raise ProjectError("project-in-use", f"{path} is open in another process.")

    break_database(filled)
    with monkeypatch.context() as patched:
        patched.setattr(database, "open_connection", refuse)
        with refusal("project-in-use", kind=ProjectError):
            filled.rows("SELECT 1")
    assert filled.value("SELECT rating FROM grades") == 4


def test_read_only_project_is_reopened(tmp_path: Path):
    new_project(tmp_path / "read.duckdb").close()
    project = open_project(tmp_path / "read.duckdb", read_only=True)
    tries: list[int] = []

    def work(cursor: Cursor) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise duckdb.InternalException("INTERNAL Error: odd")
        return len(tries)

    assert project.read(work) == 2
    assert [one.reason for one in project.reopenings] == ["INTERNAL Error: odd"]
    project.close()
