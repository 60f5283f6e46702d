"""People at work in rounds: all of them act at the same time, then every condition is checked."""

import argparse
import itertools
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from exam_workbench.exchange import make_demo
from tests.made.browser import FLAGS, WINDOW, Server, find_chromium, free_port, running
from tests.soak.acts import ACTS, shown_questions
from tests.soak.person import PATIENCE, Broken, NotNow, Person, hold

NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn")
STAYS = 5
"""Factor by which actions of the current screen are more likely."""
KILL = 25
"""The server is killed and restarted in one of this many rounds on average."""
TRIES = 30
"""Attempts to find a possible action."""
ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"
TROUBLE = re.compile(r"Traceback|WARNING|ERROR|Error:|Exception|INTERNAL|Uncaught")
Seat = tuple[Person, ThreadPoolExecutor]
"""A person, and the thread of their browser."""


class Soak:
    """A served project, people, and their rounds.

    Args:
        folder: for the project, the logs and the screenshots of a failure.
        demo: a project to copy; None makes a new demo project.
    """

    def __init__(self, folder: Path, seed: int, demo: Path | None = None, tell: Callable[[str], None] = print) -> None:
        self.folder, self.seed, self.tell = folder, seed, tell
        self.project = folder / "projects" / "demo.duckdb"
        self.done: Counter[str] = Counter()
        self.ports = (free_port(), free_port())
        self.log = folder / "server.log"
        self.project.parent.mkdir(parents=True)
        if demo is None:
            make_demo(self.project, "maker", True, tell)
        else:
            shutil.copy(demo, self.project)

    @contextmanager
    def serving(self, number: int) -> Iterator[Server]:
        self.log = self.folder / f"server-{number}.log"
        command = ("-m", "tests.soak.facts", *map(str, self.ports))
        with running(command, self.ports[0], self.project.parent, self.log) as server:
            yield server

    @contextmanager
    def seated(self, name: str, address: str) -> Iterator[Seat]:
        """Yield a person with a browser of their own, in a thread of their own."""

        def sit() -> Person:
            playwright = closing.enter_context(sync_playwright())
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
            closing.callback(browser.close)
            return Person(name, browser.new_context(viewport=WINDOW), address, self.ports[1], self.project)

        closing = ExitStack()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix=name) as thread:
            try:
                yield thread.submit(sit).result(), thread
            finally:
                thread.submit(closing.close).result()

    def run(self, persons: int, minutes: float = 0.0, rounds: int = 0) -> None:
        """Run the actions of people for some minutes, or for some rounds.

        Raises:
            Broken: a condition does not hold; the folder has screenshots and the log.
        """
        until = time.monotonic() + minutes * 60
        with ExitStack() as stack:
            served = stack.enter_context(ExitStack())
            server = served.enter_context(self.serving(0))
            seats = [stack.enter_context(self.seated(name, server.address)) for name in NAMES[:persons]]
            self._all(seats, 0, "arrive", Person.come)
            for number in itertools.count(1):
                if number > rounds if rounds else time.monotonic() > until:
                    return
                before = seats[0][0].fact("kept", upto={})
                self._all(seats, number, "act", partial(self._act, number=number))
                if random.Random(f"{self.seed} {number}").randrange(KILL) == 0:
                    server.process.kill()
                    served.close()
                    server = served.enter_context(self.serving(number))
                    self._all(seats, number, "return after a kill", Person.come)
                    self.done["kill"] += 1
                for seat in seats:
                    self._all([seat], number, "check", partial(self._check, before=before))

    def _all(self, seats: list[Seat], number: int, what: str, do: Callable[[Person], object]) -> None:
        """Run a function for all people at the same time, and report the first failure."""
        doing = [thread.submit(do, person) for person, thread in seats]
        for (person, thread), future in zip(seats, doing, strict=True):
            if (error := future.exception()) is not None:
                shot = self.folder / f"failure-{number}-{person.name}.png"
                thread.submit(person.page.screenshot, path=shot).exception()
                again = f"make soak SEED={self.seed} PERSONS={len(seats)}"
                detail = "".join(traceback.format_exception(error))
                raise Broken(f"{person.name}, round {number}, {what}. Again: {again}. See {self.folder}.\n{detail}")

    def _act(self, person: Person, number: int) -> None:
        person.number, person.random = number, random.Random(f"{self.seed} {person.name} {number}")
        person.expected, person.warned = [], False
        for _ in range(TRIES):
            here = person.screen()
            weights = [act.weight * (STAYS if act.screen in (here, None) else 1) for act in ACTS.values()]
            name = person.random.choices(list(ACTS), weights)[0]
            try:
                if (screen := ACTS[name].screen) is not None:
                    person.go(screen)
                told = ACTS[name].do(person)
            except NotNow:
                continue
            self.tell(f"{number:5} {person.name:5} {name}: {told}")
            self.done[name] += 1
            return
        raise Broken(f"No act was possible in {TRIES} tries")

    def _check(self, person: Person, before: dict[str, tuple[int, int]]) -> None:
        """Check for errors, lost work, changed old rows, and differences between the screen and the project."""
        errors = person.page.locator(ERRORS).all_inner_texts()
        hold(not errors or person.warned, f"The screen shows an error: {errors}")
        hold(not person.page_errors, f"The browser reports errors: {person.page_errors}")
        trouble = TROUBLE.search(text := self.log.read_text(errors="replace"))
        hold(trouble is None, f"The server's log: {text[trouble.start() :][:3000] if trouble else ''}")
        _check_work(person)
        now = person.fact("kept", upto={table: last for table, (last, _) in before.items()})
        changed = [table for table, (_, rows) in before.items() if now[table][1] != rows]
        hold(not changed, f"Rows of tables that only grow were changed: {changed}")
        logged = person.fact("acts", author=person.name, after=before["activity"][0])
        hold(Counter(logged) == Counter(person.expected), f"Expected in the log: {person.expected}; it has {logged}")
        hold(not (faults := person.fact("check")), f"exam check: {faults}")
        deadline = time.monotonic() + PATIENCE / 1000
        while (state := _states(person))[0] != state[1]:
            hold(time.monotonic() < deadline, f"The screen {person.page.url} and the project differ: {state}")
            # Other people, or a job, may have changed the project since the screen was drawn.
            person.page.evaluate("document.activeElement?.blur()")
            with person.drawn():
                person.page.keyboard.press("r")


def _check_work(person: Person) -> None:
    """Check drafts, steps, versions, judgments and overrides of a person against the record of their work."""
    known, now = person.known(), person.unsaved.now
    for key, fields in list(now.items()):
        # A draft that equals the bank is not kept, so later versions of other people replace it.
        kept = known["drafts"].get(key) or known["saved"].get(key)
        lost = {name: value for name, value in fields.items() if getattr(kept, name, None) != value}
        hold(not lost, f"Lost of the draft of {key}: {lost}; there is {kept}")
        if key not in known["drafts"]:
            del now[key]
    foreign = [key for key in known["drafts"].keys() - now if known["drafts"][key] != known["saved"].get(key)]
    hold(not foreign, f"Drafts that {person.name} never made or dropped: {foreign}")
    hold(not (lost := person.versions - known["versions"]), f"Saved versions are lost: {lost}")
    for name, meant in (("steps", person.unsaved.steps), ("judged", person.judged), ("overridden", person.overridden)):
        hold(known[name] == meant, f"{person.name}, {name}: {meant}; kept: {known[name]}")


def _states(person: Person) -> tuple[Any, Any]:
    """Return the content of the screen and of the project: Home's numbers, the bank's questions, or systems' scores."""
    screen, page = person.screen(), person.page
    if screen == "Home":
        texts = page.locator(".st-key-state .count").evaluate_all(
            "all => all.map(one => [...one.children].map(part => part.textContent))"
        )
        return {name: int(number.replace(",", "")) for number, name in texts}, person.known()["counts"]
    if screen == "Question bank":
        known, shown = person.known(), shown_questions(person)
        questions = known["saved"] | known["drafts"]
        kept = {key: questions[key] for key in shown if key in questions}
        return shown, {key: (one.text or "", one.weight or 0, one.active) for key, one in kept.items()}
    if screen == "Leaderboard" and page.locator("tr.system").count():
        rows = page.locator("tr.system").evaluate_all(
            "rows => rows.map(row => [row.dataset.run, Number(row.querySelector('.score data').value)])"
        )
        measure = page.get_by_role("combobox", name=re.compile("Measure")).first.input_value()
        against = page.locator(".st-key-against input").first.input_value()
        scores = person.fact("board", measure=measure, against=against)
        return [{run: round(score, 9) for run, score in pairs} for pairs in (rows, scores.items())]  # type: ignore[return-value]
    return None, None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--persons", type=int, default=1, choices=range(1, len(NAMES) + 1))
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--demo", type=Path, default=None, help="a project to copy instead of a new demo")
    parser.add_argument("--out", type=Path, default=None, help="a new folder for the logs and the report of a failure")
    given = parser.parse_args()
    folder = (given.out or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    print(f"Seed {given.seed}, {given.persons} persons, {given.minutes:g} minutes; see {folder}", flush=True)
    # Commands in this process redirect standard output.
    lines = sys.stdout
    soak = Soak(folder, given.seed, given.demo, tell=lambda line: print(line, file=lines, flush=True))
    try:
        soak.run(given.persons, given.minutes)
    except Broken as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        print(", ".join(f"{times} {act}" for act, times in soak.done.most_common()))
        print(f"Never possible: {', '.join(name for name in ACTS if not soak.done[name]) or 'none'}")
    print("Everything held.")
    return 0
