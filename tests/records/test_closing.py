"""A copy of the file alone has what was saved, or says that it was made while the project was in use."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from exam_workbench import bank
from exam_workbench.bank import list_drafts, put_draft, put_grader
from exam_workbench.exchange import check_project, export_project, import_project
from exam_workbench.records import add_job
from exam_workbench.store import Project, _database, open_project
from exam_workbench.store._database import has_log
from exam_workbench.types import Question
from tests.made.browser import Server
from tests.made.projects import SPEC, fill, new_project
from tests.made.refusals import mentions

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
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def copied(project: Project, with_log: bool = False) -> Path:
    """What somebody has who copies the file, and perhaps its log, as they are now."""
    copy = project.path.with_name("copy.duckdb")
    shutil.copy(project.path, copy)
    if with_log:
        shutil.copy(_database.log_of(project.path), _database.log_of(copy))
    return copy


def opened(path: Path) -> tuple[str | None, str]:
    """The wording in a project, and what is said of how it was closed."""
    project = open_project(path)
    found = wording(project), project.not_closed
    project.close()
    return found


def test_a_copy_without_the_log_says_that_something_may_be_missing_until_it_is_closed_itself(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    reword(project, "New?")
    copy = copied(project)
    with caplog.at_level(logging.WARNING):
        found, said = opened(copy)
    assert found is None
    assert mentions(said, "copy.duckdb") and mentions(said, "copy.duckdb.wal") and said in caplog.text
    reword(again := open_project(copy), "Newer?")
    again.close()
    assert opened(copy) == ("Newer?", "")
    project.close()


def test_a_copy_with_its_log_has_everything_and_says_that_it_is_a_copy(project: Project) -> None:
    reword(project, "New?")
    found, said = opened(copied(project, with_log=True))
    assert found == "New?" and "exam check" in said
    project.close()


@pytest.mark.parametrize("log_first", [False, True])
def test_a_copy_whose_file_and_log_are_of_two_moments_says_so_and_a_check_finds_it(
    project: Project, log_first: bool
) -> None:
    """The engine reads such a log without a word: what was saved between the two moments is missing, or there twice."""
    bank.save_version(project, [Question("q1/a", "q1", "First?")], "", "ann")
    copy = project.path.with_name("copy.duckdb")
    pairs = [(project.path, copy), (_database.log_of(project.path), _database.log_of(copy))]
    if log_first:
        pairs.reverse()
    shutil.copy(*pairs[0])
    assert project.checkpoint()
    bank.save_version(project, [Question("q1/a", "q1", "Second?")], "", "ann")
    shutil.copy(*pairs[1])
    project.close()
    mixed = open_project(copy)
    # Of a copy with its log it is said how to check it; nothing of a file that was only not closed.
    assert "exam check" in mixed.not_closed and any(check_project(mixed).values())
    mixed.close()
    whole = open_project(project.path)
    assert not any(check_project(whole).values())
    whole.close()


def test_what_was_closed_and_copied_says_nothing(project: Project) -> None:
    reword(project, "New?")
    project.close()
    assert not has_log(project.path)
    assert opened(copied(project)) == ("New?", "")


def test_a_project_that_is_open_twice_in_one_process_was_not_left_open(project: Project) -> None:
    reword(project, "New?")
    assert opened(project.path) == ("New?", "")
    project.close()


def test_what_was_saved_is_in_the_file_itself_once_nobody_writes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "IDLE", 0.05)
    project.checkpoint_when_idle()
    for words in ("New?", "Newer?"):
        reword(project, words)
        until(lambda: not has_log(project.path))
        found, said = opened(copied(project))
        assert found == words and mentions(said, "copy.duckdb")
    project.close()


def test_while_changes_keep_coming_the_log_waits_but_not_for_ever(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[Path] = []
    mark = _database.write_open_mark

    def counted(connection: Any, path: Path) -> None:
        # A project that an earlier test left open may be written out meanwhile.
        if path == project.path:
            marked.append(path)
        mark(connection, path)

    monkeypatch.setattr(_database, "write_open_mark", counted)
    monkeypatch.setattr(_database, "IDLE", 30.0)
    monkeypatch.setattr(_database, "LONGEST", 0.5)
    project.checkpoint_when_idle()
    reword(project, "Begun?")
    assert len(marked) == 1, "the mark before the first change, and nothing since"
    until(lambda: len(marked) > 1)
    until(lambda: not has_log(project.path))
    project.close()


def test_a_project_that_nobody_holds_any_more_is_let_go(project: Project) -> None:
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


def test_a_checkpoint_waits_for_nobody_and_holds_up_nobody(project: Project) -> None:
    with project.cursor() as reader:
        reader.execute("BEGIN")
        reader.execute("FROM settings").fetchall()
        assert project.checkpoint() is True, "the first mark takes nothing away that somebody reads"
        reader.execute("COMMIT")
    assert not has_log(project.path)
    writing, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with project.transaction() as cursor:
            cursor.execute("INSERT INTO settings VALUES ('a', '1')")
            writing.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=write)
    thread.start()
    assert writing.wait(60)
    assert project.checkpoint() is False
    go_on.set()
    assert thread is not None
    thread.join(60)
    assert project.value("SELECT value FROM settings WHERE name = 'a'") == "1"
    assert project.checkpoint() is True
    assert not has_log(project.path)
    project.close()


def test_an_export_says_nothing_of_whether_the_project_is_closed(project: Project, tmp_path: Path) -> None:
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
def test_a_process_closes_what_it_has_open_when_it_ends(project: Project, how: str, said: bool) -> None:
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
def test_a_command_that_is_told_to_end_closes_the_project(project: Project, sent: signal.Signals) -> None:
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
    """While somebody has a page of the app before them: all that a browser says to the server for it."""
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
def test_an_app_that_is_told_to_end_closes_its_projects(
    project: Project, app_server: Callable[[Path], Server], sent: signal.Signals
) -> None:
    with project.transaction() as cursor:
        key = add_job(cursor, "grading", put_grader(cursor, SPEC), {}, 1, "ann")
    project.close()
    server = app_server(project.path.parent)
    # Opening it, the app writes that the job, whose process is gone, was interrupted.
    with visited(server, "project=used"):
        server.process.send_signal(sent)
        server.process.wait(60)
    assert not has_log(project.path)
    copy = open_project(copied(project))
    assert (copy.not_closed, copy.value("SELECT state FROM jobs WHERE job_key = ?", [key])) == ("", "interrupted")
    copy.close()
