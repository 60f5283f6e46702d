"""Persons at work, round by round: all of them act at once, then stand still while what must hold is checked."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from playwright.sync_api import Error, sync_playwright

from core.bank import Generation, add_generations
from core.exchange import make_demo
from core.project import create, open_project
from core.types import Question
from tests.made.browser import FLAGS, find_chromium, free_port, running
from tests.made.projects import fill
from tests.soak import facts
from tests.soak.acts import ACTS, Act
from tests.soak.acts_moving import SECOND_PROJECT
from tests.soak.checks import Before, Log, check, look
from tests.soak.person import WIDE, Broken, Inside, NotNow, Person

NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn")
STAYS = 5
"""How many times likelier an act is whose screen is before one's eyes."""
TRIES = 30
"""Acts that may turn out to be impossible before a person is taken to be stuck."""
MEMORY_ROUNDS = 20
"""Rounds after which the server's memory is told again."""
LAST = 20
"""Acts that a report of a failure lists."""
LOG_TAIL = 20_000
"""Characters of the server's log in the report of a failure."""


@dataclass(frozen=True)
class Soak:
    """What is to be done.

    Args:
        folder: takes the project, the log, the list of acts, and what is known of a failure.
        minutes: for how long; 0 for no limit.
        rounds: how many acts of each person at most; 0 for no limit.
        only: names of the acts to choose from; all for none.
        goes_on: whether the server stays up after a failure and other persons take over, until the time is up.
    """

    folder: Path
    seed: int
    persons: int = 1
    minutes: float = 0.0
    rounds: int = 0
    only: tuple[str, ...] = ()
    goes_on: bool = False
    tell: Callable[[str], None] = print

    @property
    def project(self) -> Path:
        """The project that the persons work in."""
        return self.folder / "projects" / "demo.duckdb"

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.folder / "server.log"

    @property
    def acts(self) -> Path:
        """What everybody did, an act a line."""
        return self.folder / "acts.jsonl"


@dataclass
class Seat:
    """A person with the thread that their browser lives in."""

    person: Person
    thread: ThreadPoolExecutor


def run(soak: Soak, done: Counter[str], demo: Path | None = None) -> None:
    """Serve a project, let persons work in it, and check.

    Args:
        done: counts how often each act was done, also where a run ends early.
        demo: the demo project to work in a copy of; made anew for None.

    Raises:
        Broken: something that must hold did not; the folders `failure-…` say what is known.
    """
    soak.project.parent.mkdir(parents=True)
    if demo is None:
        make_demo(soak.project, "maker", True, soak.tell)
    else:
        shutil.copy(demo, soak.project)
    _furnish(soak.project)
    with ExitStack() as stack:
        address, inside = stack.enter_context(serving(soak))
        _shifts(soak, address, inside, done)


def _shifts(soak: Soak, address: str, inside: Inside, done: Counter[str]) -> None:
    """Let persons work until time is up; after a failure others with new names take over, who have lost nothing."""
    until = time.monotonic() + soak.minutes * 60 if soak.minutes else math.inf
    numbers = iter(range(1, soak.rounds + 1)) if soak.rounds else itertools.count(1)
    failures: list[Broken] = []
    while True:
        shift = f" {len(failures) + 1}" if failures else ""
        acts = done.total()
        try:
            with ExitStack() as stack:
                seats = [
                    stack.enter_context(seated(soak, name + shift, address, inside)) for name in NAMES[: soak.persons]
                ]
                _work(soak, seats, Log(soak.log, soak.log.stat().st_size if shift else 0), numbers, until, done)
            break
        except Broken as failure:
            failures.append(failure)
            if not soak.goes_on or done.total() == acts:
                break
    if failures:
        raise Broken("\n\n".join(str(failure) for failure in failures))


def _furnish(path: Path) -> None:
    """Give a project proposals, as if a model had drafted some, and a second project beside it."""
    project = open_project(path)
    drafted = [
        Generation("question", query, "a model", "a prompt", "none", texts, "\n".join(texts))
        for query, text in facts.queries(project).items()
        for texts in [tuple(f"{ask} {text}?" for ask in ("Who studies", "Where does it matter to know", "Since when"))]
    ]
    add_generations(project, drafted, "maker")
    project.close()
    second = create(path.with_name(f"{SECOND_PROJECT}.duckdb"))
    questions = [Question(f"clocks/{number}", "clocks", text) for number, text in enumerate(("What ticks?", "Why?"))]
    rated = {(question.text or "", passage): 3 for question in questions for passage in ("p1", "p2")}
    fill(second, questions, rated, {"run": {"clocks": ["p1", "p2"]}, "other": {"clocks": ["p2", "p1"]}})
    second.close()


def _work(
    soak: Soak, seats: Sequence[Seat], log: Log, numbers: Iterator[int], until: float, done: Counter[str]
) -> None:
    with soak.acts.open("a", encoding="utf-8", buffering=1) as acts:
        for seat in seats:
            if (failure := seat.thread.submit(_arrived, seat.person).result()) is not None:
                _report(soak, seats, seat, 0, "arrive", failure)
        for number in numbers:
            if time.monotonic() > until:
                return
            before = seats[0].thread.submit(look, seats[0].person.inside, [seat.person for seat in seats]).result()
            at = time.monotonic()
            acting = [seat.thread.submit(_act, soak, seat, number) for seat in seats]
            acted = [one.result() for one in acting]
            took = time.monotonic() - at
            for seat, (name, said, failure) in zip(seats, acted, strict=True):
                acts.write(json.dumps({"number": number, "who": seat.person.name, "act": name, "did": said}) + "\n")
                soak.tell(f"{number:5} {seat.person.name:5} {name}: {said}")
                if failure is not None:
                    _report(soak, seats, seat, number, name, failure)
                done[name] += 1
            at = time.monotonic()
            for seat, (name, _, _) in zip(seats, acted, strict=True):
                failure = seat.thread.submit(_checked, seat.person, before, log, len(seats)).result()
                if failure is not None:
                    _report(soak, seats, seat, number, name, failure)
            soak.tell(f"{number:5} took {took:.1f} s, its check {time.monotonic() - at:.1f} s")
            if number % MEMORY_ROUNDS == 1:
                soak.tell(f"{number:5} the server holds {seats[0].person.inside.ask('memory')} MB")


def _arrived(person: Person) -> str | None:
    try:
        person.come()
    except Exception:
        return traceback.format_exc()
    return None


def _act(soak: Soak, seat: Seat, number: int) -> tuple[str, str, str | None]:
    """Let a person do one act: its name, what was done, and how it failed where it did."""
    person = seat.person
    person.number = number
    person.random = Random(f"{soak.seed} {person.name} {number}")
    person.expected = []
    for _ in range(TRIES):
        name, act = _choose(person, soak.only or tuple(ACTS))
        try:
            if act.screen is not None:
                person.go(act.screen)
            said = act.do(person)
        except NotNow:
            continue
        except Exception:
            return name, "failed", traceback.format_exc()
        return name, said, None
    return "nothing", "nothing was possible", f"{person.name} found nothing to do in {TRIES} tries."


def _choose(person: Person, names: Sequence[str]) -> tuple[str, Act]:
    here = person.screen()
    weights = [ACTS[name].weight * (STAYS if ACTS[name].screen in (here, None) else 1) for name in names]
    name = person.random.choices(names, weights)[0]
    return name, ACTS[name]


def _checked(person: Person, before: Before, log: Log, persons: int) -> str | None:
    try:
        check(person, before, log, persons > 1)
    except Exception:
        return traceback.format_exc()
    return None


def _report(soak: Soak, seats: Sequence[Seat], failed: Seat, number: int, name: str, failure: str) -> None:
    """Write down all that is known of a failure, and end."""
    folder = soak.folder / f"failure-{number}-{failed.person.name.replace(' ', '-')}"
    folder.mkdir()
    for seat in seats:
        seat.thread.submit(_picture, seat.person, folder).result()
    again = f"make soak SEED={soak.seed} PERSONS={soak.persons}"
    last = soak.acts.read_text(encoding="utf-8").splitlines()[-LAST:]
    log = soak.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]
    head = f"{failed.person.name}, act {number} ({name}). Again: {again}"
    (folder / "report.txt").write_text("\n\n".join([head, failure, "Last acts:", *last]), encoding="utf-8")
    (folder / "server-log-tail.txt").write_text(log, encoding="utf-8")
    raise Broken(f"{head}\n{failure}\nSee {folder}.")


def _picture(person: Person, folder: Path) -> None:
    for at, page in enumerate(person.context.pages):
        here = "-here" if page is person.page else ""
        stem = folder / f"{person.name}-{at}{here}"
        try:
            page.screenshot(path=stem.with_suffix(".png"))
            stem.with_suffix(".html").write_text(page.content(), encoding="utf-8")
        except Error as error:
            stem.with_suffix(".txt").write_text(str(error), encoding="utf-8")


@contextmanager
def serving(soak: Soak) -> Iterator[tuple[str, Inside]]:
    """Serve the app with its door until the block ends; gives its address and the facts of the project."""
    port, door = free_port(), free_port()
    command = ("-m", "tests.soak.server", str(port), str(door))
    with running(command, port, soak.project.parent, soak.log) as server:
        yield server.address, Inside(f"http://127.0.0.1:{door}", soak.project)


@contextmanager
def seated(soak: Soak, name: str, address: str, inside: Inside) -> Iterator[Seat]:
    """A person at a browser of their own, in a thread of their own, until the block ends."""
    closing: list[Callable[[], None]] = []

    def sit() -> Person:
        playwright = sync_playwright().start()
        closing.append(playwright.stop)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        closing.append(browser.close)
        return Person(name, soak.seed, browser.new_context(viewport=WIDE, accept_downloads=True), address, inside)

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix=name) as thread:
        try:
            yield Seat(thread.submit(sit).result(), thread)
        finally:
            for close in reversed(closing):
                thread.submit(close).result()
