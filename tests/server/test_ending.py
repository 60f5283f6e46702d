"""A server that is asked to end waits for no command that takes long."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

from exam_workbench.jobs import find_jobs
from exam_workbench.server import stop_commands_on_signal
from exam_workbench.server._operation_requests import Asked, Running
from exam_workbench.store import open_project
from tests.made.endpoint_server import EndpointServer, Reply, Seen, well
from tests.made.requests import requested


def test_a_signal_ends_the_commands_under_way_and_then_the_server(planned: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    path.write_bytes(planned.read_bytes())
    heard: list[int] = []

    def slowly(seen: Seen) -> Reply:
        if len(server.seen) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return replace(well(seen), delay=0.05)

    async def serve() -> int:
        ended: asyncio.Future[int] = (loop := asyncio.get_running_loop()).create_future()
        words = ["grade", "--grader=self-rating", "--model=m", f"--base-url={server.url}", "--concurrency=1"]
        with stop_commands_on_signal():
            Running(
                Asked(*requested(words), project, "ann", owner=True),
                lambda *_: None,
                lambda code, _: loop.call_soon_threadsafe(ended.set_result, code),
            )
            return await ended

    known = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    ours = signal.getsignal(signal.SIGTERM)
    project = open_project(path)
    try:
        with EndpointServer(slowly) as server:
            assert asyncio.run(serve()) == 1
            asked = len(server.seen)
        assert heard == [signal.SIGTERM] and signal.getsignal(signal.SIGTERM) is ours
        state, graded, total, message = project.rows("SELECT state, done, total, message FROM jobs")[-1]
        assert (state, graded) == ("cancelled", asked) and asked < total
        # Nobody pressed anything.
        assert message.startswith("The server was stopped.")
    finally:
        signal.signal(signal.SIGTERM, known)
        project.close()


def test_a_signal_ends_a_command_that_waits_for_a_batch_and_the_batch_goes_on(planned: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    path.write_bytes(planned.read_bytes())

    async def serve() -> int:
        ended: asyncio.Future[int] = (loop := asyncio.get_running_loop()).create_future()
        words = ["grade", "--grader=self-rating", "--model=m", f"--base-url={server.url}", "--batch"]
        with stop_commands_on_signal():
            Running(
                Asked(*requested(words), project, "ann", owner=True),
                # From now on it has nothing more to say.
                lambda _, content: os.kill(os.getpid(), signal.SIGTERM) if b"1 validating" in content else None,
                lambda code, _: loop.call_soon_threadsafe(ended.set_result, code),
            )
            return await asyncio.wait_for(ended, 60)

    known = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    project = open_project(path)
    try:
        with EndpointServer() as server:
            server.shelf.states = ("validating",) * 100
            assert asyncio.run(serve()) == 1
            assert [one["status"] for one in server.shelf.batches.values()] == ["validating"]
        assert find_jobs(project)[-1].state == "waiting"
    finally:
        signal.signal(signal.SIGTERM, known)
        project.close()
