"""A team at work: assessors as sessions of the app's protocol, with commands beside them, and what became of it.

Usage: python bench/team.py PROJECT.duckdb [--sessions 5 10 20 50] [--minutes 10] [--think 5 15] [--out team.md]

For each number of sessions a copy of the project is served by `exam serve`. Every session opens screens, edits
questions and saves them, overrides, judges, and downloads the qrels, with the pauses that people make; one starts a
grading job, one imports a run, and commands that read go through the server all the while. Then the server is stopped,
and the project looked at: whatever was acknowledged is there, once, and `exam check` finds nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.assessor import Assessor, Refused
from bench.team_checks import broken
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


@dataclass
class Measured:
    """What was measured with so many sessions.

    Args:
        took: seconds of each time that an act was done, by act.
        wrong: acts that failed, as sentences, by act.
        broken: what is lost, there twice, or found by the check.
        begin, full, peak, end: memory of the server in bytes: before anybody came, once all had opened the app, at
            most, and before it was stopped.
        server, clients: seconds of the processor that the server took, and the sessions and commands together.
        seconds: by the clock.
    """

    sessions: int
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    begin: int = 0
    full: int = 0
    peak: int = 0
    end: int = 0
    server: float = 0.0
    clients: float = 0.0
    seconds: float = 0.0

    @contextmanager
    def timed(self, act: str) -> Iterator[None]:
        """Time an act; one that fails is counted by itself and stops nobody."""
        began = time.monotonic()
        try:
            yield
        except Refused as error:
            self.wrong[act].append(str(error)[:500])
        except Exception as error:
            self.wrong[act].append(f"{type(error).__name__}: {error}"[:500])
        else:
            self.took[act].append(time.monotonic() - began)


def team(path: Path, sessions: int, seconds: float, think: tuple[float, float], seed: int) -> Measured:
    """Let so many assessors work on a copy of a project, and look what became of it.

    Args:
        path: of the project.
        seconds: for which they work.
        think: least and most seconds between two acts of one person.
        seed: of all dice.
    """
    measured = Measured(sessions)
    with tempfile.TemporaryDirectory(prefix="team-") as name:
        folder = Path(name)
        project = folder / "team.duckdb"
        shutil.copyfile(path, project)
        queries, passages = _known_of(project)
        port = free_port()
        with running([*EXAM[1:], "serve", "--project", str(project), "--port", str(port)], port, folder,
                     folder / "server.log") as server:  # fmt: skip
            measured.begin = measured.peak = _memory(server.process.pid)
            people = _seated(measured, server.address, queries, passages, seed)
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
        measured.broken += broken(project, people)
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


def _seated(
    measured: Measured, address: str, queries: Sequence[str], passages: dict[str, list[str]], seed: int
) -> list[Assessor]:
    """Everybody opens the app; each has queries of their own, and the first one is everybody's."""
    people = []
    for at in range(measured.sessions):
        own = list(queries[1 + at % (len(queries) - 1) :: measured.sessions]) or [queries[-1]]
        with measured.timed("open the app"):
            people.append(Assessor(address, "team", f"ann {at}", own, queries[0], passages, Random(f"{seed} {at}")))
    if len(people) < measured.sessions:
        raise RuntimeError(f"Not everybody could open the app: {measured.wrong}")
    return people


def _work(measured: Measured, one: Assessor, number: int, end: float, think: tuple[float, float]) -> None:
    """One person's work until the time is up. The first one starts a job, the second one imports a run."""
    dice = one.dice

    def do(act: str, what: Callable[[], None]) -> None:
        for seconds in one.rest(dice.uniform(*think)):
            measured.took["a part draws itself again"].append(seconds)
        if time.monotonic() < end:
            with measured.timed(act):
                what()

    if number == 0:
        _a_job(one, do)
    if number == 1 % measured.sessions:
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
        elif choice < 0.97:
            do("open another screen", one.look)
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


# The report.


def table(runs: Sequence[Measured]) -> str:
    """The figures in Markdown: p50 and p95 of each act in milliseconds, with how often; then what held."""
    acts = sorted({act for one in runs for act in (*one.took, *one.wrong)})
    head = "| act: p50 / p95 ms (times) | " + " | ".join(f"{one.sessions} sessions" for one in runs) + " |"
    lines = [head, "| --- |" + " ---: |" * len(runs)]
    lines += [f"| {act} | " + " | ".join(_cell(one, act) for one in runs) + " |" for act in acts]
    lines += ["", "| | " + " | ".join(f"{one.sessions} sessions" for one in runs) + " |", lines[1]]
    facts: dict[str, Callable[[Measured], str]] = {
        "seconds by the clock": lambda one: f"{one.seconds:,.0f}",
        "acts": lambda one: f"{sum(map(len, one.took.values())):,}",
        "acts that failed": lambda one: f"{sum(map(len, one.wrong.values())):,}",
        "lost, twice there, or found by exam check": lambda one: f"{len(one.broken):,}",
        "server's memory before anybody came, MB": lambda one: f"{one.begin / 1e6:,.0f}",
        "with all sessions open, MB": lambda one: f"{one.full / 1e6:,.0f}",
        "at most, MB": lambda one: f"{one.peak / 1e6:,.0f}",
        "at the end, MB": lambda one: f"{one.end / 1e6:,.0f}",
        "for each session when opened, MB": lambda one: f"{(one.full - one.begin) / 1e6 / one.sessions:,.1f}",
        "for each session at most, MB": lambda one: f"{(one.peak - one.begin) / 1e6 / one.sessions:,.1f}",
        "for each session more than the fewest, at most, MB": lambda one: _more(one, runs[0]),
        "server's share of one processor": lambda one: f"{one.server / one.seconds:.0%}",
        "share of the sessions and commands": lambda one: f"{one.clients / one.seconds:.0%}",
    }
    lines += [f"| {name} | " + " | ".join(map(fact, runs)) + " |" for name, fact in facts.items()]
    said = [f"- {one.sessions} sessions: {sentence}" for one in runs for sentence in one.broken]
    said += [
        f"- {one.sessions} sessions, {act}, {len(told)}×: {told[0]}" for one in runs for act, told in one.wrong.items()
    ]
    return "\n".join([*lines, "", *said]).rstrip() + "\n"


def _more(one: Measured, fewest: Measured) -> str:
    """What a further session takes, so that what all share does not count."""
    further = one.sessions - fewest.sessions
    return f"{(one.peak - fewest.peak) / 1e6 / further:,.1f}" if further else "–"


def _cell(one: Measured, act: str) -> str:
    took, failed = sorted(one.took.get(act, ())), len(one.wrong.get(act, ()))
    if not took:
        return f"{failed} failed" if failed else "–"
    p95 = took[min(len(took) - 1, int(0.95 * len(took)))]
    words = f"{statistics.median(took) * 1000:,.0f} / {p95 * 1000:,.0f} ({len(took)})"
    return words + (f", {failed} failed" if failed else "")


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
    parser.add_argument("--out", type=Path, default=Path("team.md"))
    given = parser.parse_args()
    # Whoever ends it leaves no server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    runs = []
    for sessions in given.sessions:
        runs.append(team(given.project, sessions, given.minutes * 60, tuple(given.think), given.seed))
        given.out.write_text(table(runs), encoding="utf-8")
        print(table(runs[-1:]), flush=True)
    return int(any(one.broken for one in runs))


if __name__ == "__main__":
    sys.exit(main())
