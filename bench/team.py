"""A team at work: assessors as sessions of the app's protocol, with commands beside them, and what became of it.

Usage: python bench/team.py PROJECT.duckdb [--sessions 5 10 20 50] [--minutes 10] [--think 5 15] [--logins]
       [--out team.md]

For each number of sessions a copy of the project is served by `exam serve`. Every session opens screens, edits
questions and saves them, overrides, judges, and downloads the qrels, with the pauses that people make; one starts a
grading job, one imports a run, and commands that read go through the server all the while. Then the server is stopped,
and the project looked at: whatever was acknowledged is there, once, and `exam check` finds nothing.

With --logins the server is a shared one: an OpenID provider runs beside it, the first person is an organizer and all
others are assessors of the queries that are assigned to them, two and two of them judge a query doubly and blindly, and
now and then somebody tries what is not theirs. Then also looked at is that every act stands under the name of the login
and in the queries that are theirs, and that no one of a pair was ever shown what the other gave.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.assessor import Assessor
from bench.tab import Refused
from bench.team_checks import broken
from bench.team_logins import come_in, give_roles, seats_of, shared_server
from bench.team_measured import Measured, table
from core.exchange import make_demo
from core.project import open_project
from tests.made.browser import ROOT, environment, free_port, running

EXAM = [sys.executable, "-c", "from core.cli import main; main()"]
COMMANDS = (
    ("status",),
    ("leaderboard", "--measure", "nDCG@10"),
    ("leaderboard", "--measure", "EXAM-Cover@20", "--json"),
    ("agreement", "--json"),
    ("bank", "list"),
    ("export", "qrels", "-o", "-"),
    ("activity",),
)
"""Commands that read, given beside the people one after the other."""
COMMAND_EVERY = 10.0
"""Seconds between the end of a command and the next one."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the server's memory and health."""
IMPORTED_LINES = 100
PASSAGES = 40
"""Pooled passages of each query that an assessor may open."""
NEVER = 120.0
"""Seconds after which the answer to an act is taken not to come."""


def team(
    path: Path, sessions: int, seconds: float, think: tuple[float, float], seed: int, logins: bool = False
) -> Measured:
    """Let so many assessors work on a copy of a project, and look what became of it.

    Args:
        path: of the project.
        seconds: for which they work.
        think: least and most seconds between two acts of one person.
        seed: of all dice.
        logins: whether everybody logs in as somebody else, with a role and queries of their own.
    """
    measured = Measured(sessions)
    with tempfile.TemporaryDirectory(prefix="team-") as name, ExitStack() as beside_it:
        folder = Path(name)
        project = folder / "team.duckdb"
        shutil.copyfile(path, project)
        queries, passages = _known_of(project)
        seats = seats_of(sessions, queries, logins)
        provider = beside_it.enter_context(shared_server(folder)) if logins else None
        if logins:
            give_roles(project, seats)
        port = free_port()
        with running([*EXAM[1:], "serve", "--project", str(project), "--port", str(port)], port, folder,
                     folder / "server.log") as server:  # fmt: skip
            measured.begin = measured.peak = _memory(server.process.pid)
            people = []
            for seat in seats:
                with measured.timed("log in and open the app" if logins else "open the app"):
                    visitor = come_in(server.address, seat, provider)
                    people.append(Assessor("team", seat, visitor, passages, Random(f"{seed} {seat.name}")))
            if len(people) < sessions:
                raise RuntimeError(f"Not everybody could open the app: {measured.wrong}")
            measured.full = _memory(server.process.pid)
            measured.peak = max(measured.peak, measured.full)
            done = threading.Event()
            beside = [
                threading.Thread(target=_commands, args=(measured, project, done)),
                threading.Thread(target=_watch, args=(measured, server.process.pid, server.address, people, done)),
            ]
            work = [
                threading.Thread(target=_work, args=(measured, one, at, time.monotonic() + seconds, think))
                for at, one in enumerate(people)
            ]
            began, own, before = time.monotonic(), time.process_time(), _processor(server.process.pid)
            for thread in (*work, *beside):
                thread.start()
            _await(measured, work, seconds)
            done.set()
            for thread in beside:
                thread.join(NEVER)
            measured.seconds = time.monotonic() - began
            children = os.times()
            measured.clients = time.process_time() - own + children.children_user + children.children_system
            measured.server = _processor(server.process.pid) - before
            measured.end = _memory(server.process.pid)
            for one in people:
                one.close()
            through = {command: _output(project, command) for command in COMMANDS[:-1]}
        measured.broken += broken(project, people, logins)
        measured.doubly = sum(one.known.doubly for one in people)
        measured.broken += [
            f"exam {' '.join(command)} printed something else through the server"
            for command, printed in through.items()
            if printed != _output(project, command)
        ]
    return measured


def _known_of(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Queries that have questions and passages, and some pooled passages of each."""
    project = open_project(path)
    rows = project.rows(
        "SELECT query_id, list(passage_id ORDER BY position) FROM pool JOIN queries USING (query_key)"
        " JOIN passages p USING (passage_key) WHERE p.text_key IS NOT NULL"
        " AND query_key IN (SELECT query_key FROM questions) GROUP BY query_id ORDER BY query_id"
    )
    project.close()
    return [query for query, _ in rows], {query: passages[:PASSAGES] for query, passages in rows}


def _work(measured: Measured, one: Assessor, number: int, end: float, think: tuple[float, float]) -> None:
    """One person's work until the time is up. The first one starts a job, the second one or an organizer imports."""
    dice = one.dice

    def do(act: str, what: Callable[[], None]) -> None:
        for happened, seconds in one.rest(dice.uniform(*think)):
            measured.took[happened].append(seconds)
        if time.monotonic() < end:
            with measured.timed(act):
                what()

    if number == 0:
        _a_job(one, do)
    if one.seat.role == "organizer" or (one.seat.role is None and number == 1 % measured.sessions):
        do("import a run", lambda: one.import_run(IMPORTED_LINES))
    while time.monotonic() < end:
        choice = dice.random()
        if choice < 0.45:
            _in_the_bank(one, do)
        elif choice < 0.75:
            do("open a passage", one.open_passage)
            do("override", one.override)
            do("judge", one.judge)
        elif choice < 0.85:
            do("open Export", one.open_export)
            do("download qrels", one.download)
        elif choice < 0.94 or (choice < 0.97 and one.seat.role != "assessor"):
            do("open another screen", one.look)
        elif choice < 0.97:
            do("be refused what is not theirs", one.overstep)
        else:
            do("open the app", one.come_again)


def _a_job(one: Assessor, do: Callable[[str, Callable[[], None]], None]) -> None:
    """Reword and save, so that there is something to grade, and grade it."""
    do("open the bank", one.open_bank)
    do("reword a question", one.edit)
    do("save a version", one.save)
    do("a grading job, to its end", one.grade)


def _in_the_bank(one: Assessor, do: Callable[[str, Callable[[], None]], None]) -> None:
    if one.dice.random() < 0.25:
        do("open the bank", lambda: one.open_bank(one.shared))
        do("add a question", one.add)
    else:
        do("open the bank", one.open_bank)
        for _ in range(one.dice.randint(1, 3)):
            do("reword a question", one.edit)
    if one.dice.random() < 0.6:
        do("save a version", one.save)


def _await(measured: Measured, work: Sequence[threading.Thread], seconds: float) -> None:
    """Wait until everybody has stopped; who does not, waits for something that never comes."""
    last = time.monotonic() + seconds + 2 * NEVER
    for thread in work:
        thread.join(max(0.0, last - time.monotonic()))
    stuck = sum(thread.is_alive() for thread in work)
    if stuck:
        measured.broken.append(f"{stuck} sessions wait for something that never comes")


def _commands(measured: Measured, project: Path, done: threading.Event) -> None:
    number = 0
    while not done.wait(COMMAND_EVERY):
        command = COMMANDS[number % len(COMMANDS)]
        number += 1
        with measured.timed("a command beside"):
            _output(project, command)


def _output(project: Path, command: Sequence[str]) -> bytes:
    """What a command prints.

    Raises:
        Refused: it failed.
    """
    ran = subprocess.run(
        [*EXAM, *command, "--project", str(project)], capture_output=True, check=False,
        cwd=ROOT, env={**environment(project.parent), "EXAM_AUTHOR": "script"},
    )  # fmt: skip
    if ran.returncode:
        raise Refused(f"exam {' '.join(command)}: {ran.stderr.decode()[-300:]}")
    return ran.stdout


def _watch(
    measured: Measured, process: int, address: str, people: Sequence[Assessor], done: threading.Event
) -> None:  # fmt: skip
    while not done.wait(LOOK_EVERY):
        measured.peak = max(measured.peak, _memory(process))
        with measured.timed("the question whether it is well"):
            answer = people[0].visitor.ask("/healthz")
            if answer.status != 200:
                raise Refused(f"{answer.status} {answer.body[:200]!r}")


def _memory(process: int) -> int:
    """Memory that a process has, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def _processor(process: int) -> float:
    """Seconds of the processor that a process took."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def short(say: Callable[..., None]) -> None:
    """Three sessions on the demo for half a minute, among the other measurements."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "demo.duckdb"
        make_demo(path, "demo", True, lambda line: None)
        found = team(path, 3, 30.0, (1.0, 3.0), 17)
    say("team", *table([found]).splitlines())


def main() -> int:
    """Run the drill for each number of sessions, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("project", type=Path)
    parser.add_argument("--sessions", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--think", type=float, nargs=2, default=[5.0, 15.0], metavar=("LEAST", "MOST"))
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--logins", action="store_true", help="everybody logs in, with a role and queries")
    parser.add_argument("--out", type=Path, default=Path("team.md"))
    given = parser.parse_args()
    # Whoever ends it leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    runs = []
    for sessions in given.sessions:
        runs.append(team(given.project, sessions, given.minutes * 60, tuple(given.think), given.seed, given.logins))
        given.out.write_text(table(runs), encoding="utf-8")
        print(table(runs[-1:]), flush=True)
    return int(any(one.broken for one in runs))


if __name__ == "__main__":
    sys.exit(main())
