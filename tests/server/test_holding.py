"""Projects held open by a server, its health, and its shutdown."""

import asyncio
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from exam_workbench import server
from exam_workbench.errors import InputError
from exam_workbench.jobs import find_jobs
from exam_workbench.records import change_member, remove_member, set_member
from exam_workbench.server._operation_requests import OperationRequest, RunningOperation
from exam_workbench.server._routes import NOT_WELL, check_health
from exam_workbench.store import Project, open_project
from tests.made.endpoint_server import EndpointServer, Reply, Seen, well
from tests.made.engine_failure import break_database
from tests.made.requests import requested


@pytest.fixture
def projects(apart: Path, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A project of ann, one of ann and bob, one without members, and two files that are not projects."""
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
    server.close_all_projects()


def test_only_projects_with_a_role_are_listed(projects: dict[str, Path]) -> None:
    def told(name: str) -> list[str]:
        return list(server.projects_with_role(projects, f"{name}@x.org"))

    assert (told("ann"), told("bob"), told("eve")) == (["hers", "theirs"], ["theirs"], [])
    # Role changes count from the next listing, whether made by commands or while the server holds the project.
    project = open_project(projects["hers"])
    set_member(project, "eve@x.org", "viewer", "shell")
    project.close()
    assert told("eve") == ["hers"]
    held = server.hold_project(projects["theirs"])
    remove_member(held, "bob@x.org", "shell")
    change_member(held, "ann@x.org", "shell", role="organizer")
    assert (told("ann"), told("bob"), told("eve")) == (["hers", "theirs"], [], ["hers"])
    # Listing does not open the project, so commands can still use it.
    project = open_project(projects["hers"])
    remove_member(project, "eve@x.org", "shell")
    assert told("eve") == []


def test_server_is_healthy_only_while_its_project_is_usable(
    apart: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def looked(check: Callable[[], None] = lambda: None) -> tuple[int, dict[str, object]]:
        answer = asyncio.run(check_health(check))
        return answer.status_code, json.loads(answer.body)

    path = Path(shutil.copy(apart, tmp_path / "some.duckdb"))
    try:
        project = server.hold_project(path)
        set_member(project, "ann@x.org", "organizer", "shell")
        assert list(server.projects_with_role({"some": path}, "ann@x.org")) == ["some"]
        status, said = looked()
        assert (status, said["projects"]) == (200, 1)

        def refuse() -> None:
            raise InputError("no-login", "Nobody can log in.", "Say with whom.")

        # Health also covers requirements of the screens.
        caplog.clear()
        # The reason is logged once and not returned, because anyone may ask.
        assert looked(refuse) == looked(refuse) == (503, NOT_WELL)
        (record,) = caplog.records
        assert "Nobody can log in. Say with whom." in record.getMessage()
        # The file is reopened without affecting health.
        break_database(project)
        assert looked()[0] == 200 and len(project.reopenings) == 1
        # All further work fails, because the file can no longer be opened.
        content = path.read_bytes()
        break_database(project)
        path.write_bytes(b"nothing of it" * 1000)
        for _ in range(2):
            status, said = looked()
            assert (status, said) == (503, NOT_WELL)
        assert "some.duckdb" in caplog.text
        # Members still see the project listed, and get the error on opening it.
        assert list(server.projects_with_role({"some": path}, "ann@x.org")) == ["some"]
        path.write_bytes(content)
        assert looked()[0] == 200
    finally:
        server.close_all_projects()


async def served(project: Project, words: Sequence[str], told: Callable[[bytes], object]) -> int:
    """Run a command as the server does, and return its exit code.

    Args:
        told: called with each output.
    """
    ended: asyncio.Future[int] = (loop := asyncio.get_running_loop()).create_future()
    with server.stop_commands_on_signal():
        RunningOperation(
            OperationRequest(*requested(words), project, "ann", owner=True),
            lambda _, content: told(content),
            lambda code, _: loop.call_soon_threadsafe(ended.set_result, code),
        )
        return await asyncio.wait_for(ended, 60)


@pytest.fixture
def project(planned: Path, tmp_path: Path) -> Iterator[Project]:
    """An open project with a cascade of two graders; the handler of SIGTERM is restored after the test."""
    known = signal.getsignal(signal.SIGTERM)
    yield open_project(Path(shutil.copy(planned, tmp_path / "some.duckdb")))
    signal.signal(signal.SIGTERM, known)


def test_signal_ends_running_commands_and_then_the_server(project: Project) -> None:
    heard: list[int] = []

    def slowly(seen: Seen) -> Reply:
        if len(server.seen) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return replace(well(seen), delay=0.05)

    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    ours = signal.getsignal(signal.SIGTERM)
    with EndpointServer(slowly) as server:
        words = ["grade", "--grader=self-rating", "--model=m", f"--base-url={server.url}", "--concurrency=1"]
        assert asyncio.run(served(project, words, lambda _: None)) == 1
        asked = len(server.seen)
    assert heard == [signal.SIGTERM] and signal.getsignal(signal.SIGTERM) is ours
    state, graded, total, message = project.rows("SELECT state, done, total, message FROM jobs")[-1]
    assert (state, graded) == ("cancelled", asked) and asked < total
    # The message names the server, because no person cancelled the job.
    assert message.startswith("The server was stopped.")


def test_signal_ends_command_waiting_for_batch_but_not_the_batch(project: Project) -> None:
    def stop(content: bytes) -> None:
        # After this line the command only waits for the batch.
        if b"1 validating" in content:
            os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with EndpointServer() as server:
        server.shelf.states = ("validating",) * 100
        words = ["grade", "--grader=self-rating", "--model=m", f"--base-url={server.url}", "--batch"]
        assert asyncio.run(served(project, words, stop)) == 1
        assert [one["status"] for one in server.shelf.batches.values()] == ["validating"]
    assert find_jobs(project)[-1].state == "waiting"


def test_only_accepted_connections_send_at_once() -> None:
    def at_once(one: socket.socket) -> bool:
        return bool(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    # The app's server creates its socket like this; asyncio handles only sockets with a named protocol.
    with socket.socket() as listening, socket.socket() as client:
        listening.bind(("localhost", 0))
        listening.listen()
        opened = set(os.listdir("/dev/fd"))
        server.send_at_once()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert at_once(accepted) and not at_once(client)
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
        assert set(os.listdir("/dev/fd")) == opened
