"""Persons at work, round by round: all of them act at once, then everything that must hold is checked."""

from __future__ import annotations

import itertools
import re
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from playwright.sync_api import sync_playwright

from exam_workbench.bank import Generation, add_generations
from exam_workbench.exchange import make_demo
from exam_workbench.project import open_project
from tests.made.browser import FLAGS, WINDOW, Server, find_chromium, free_port, running
from tests.soak.acts import ACTS, question_rows
from tests.soak.person import PATIENCE, Broken, NotNow, Person, hold

NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn")
STAYS = 5
"""How many times likelier an act of the present screen is."""
KILL = 25
"""The server is killed and started again after one of so many rounds."""
TRIES = 30
"""Acts that may be impossible before a person is taken to be stuck."""
ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"
TROUBLE = re.compile(r"Traceback|WARNING|ERROR|Error:|Exception|INTERNAL|Uncaught")


class Soak:
    """A served project, persons, and their rounds.

    Args:
        folder: for the project, the logs and the report of a failure.
        demo: a project to copy; the demo is made for None.
    """

    def __init__(self, folder: Path, seed: int, demo: Path | None = None, tell: Callable[[str], None] = print) -> None:
        self.folder, self.seed, self.tell = folder, seed, tell
        self.project = folder / "projects" / "demo.duckdb"
        self.done: Counter[str] = Counter()
        self.port, self.door = free_port(), free_port()
        self.logs = 0
        self.project.parent.mkdir(parents=True)
        if demo is None:
            make_demo(self.project, "maker", True, tell)
        else:
            shutil.copy(demo, self.project)
        self._propose()

    def _propose(self) -> None:
        """Add proposals, as if a model had drafted them."""
        project = open_project(self.project)
        drafted = []
        for query, text in project.rows("SELECT query_id, text FROM queries ORDER BY query_key"):
            asked = tuple(f"{ask} {text}?" for ask in ("Who studies", "Why does it matter to know", "Since when"))
            drafted.append(Generation("question", query, "a model", "a prompt", "none", asked, "\n".join(asked)))
        add_generations(project, drafted, "maker")
        project.close()

    @property
    def log(self) -> Path:
        return self.folder / f"server-{self.logs}.log"

    @contextmanager
    def serving(self) -> Iterator[Server]:
        self.logs += 1
        command = ("-m", "tests.soak.facts", str(self.port), str(self.door))
        with running(command, self.port, self.project.parent, self.log) as server:
            yield server

    @contextmanager
    def seated(self, name: str, address: str) -> Iterator[tuple[Person, ThreadPoolExecutor]]:
        """A person at a browser of their own, in a thread of their own."""

        def sit() -> Person:
            playwright = sync_playwright().start()
            closing.callback(playwright.stop)
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
            closing.callback(browser.close)
            door = f"http://127.0.0.1:{self.door}"
            return Person(name, browser.new_context(viewport=WINDOW), address, door, self.project)

        closing = ExitStack()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix=name) as thread:
            try:
                yield thread.submit(sit).result(), thread
            finally:
                thread.submit(closing.close).result()

    def run(self, persons: int, minutes: float = 0.0, rounds: int = 0, kills: bool = True) -> None:
        """Let persons work for some minutes, or for some rounds.

        Raises:
            Broken: a condition does not hold; the folder has screenshots and the log.
        """
        until = time.monotonic() + minutes * 60
        with ExitStack() as stack:
            served = stack.enter_context(ExitStack())
            server = served.enter_context(self.serving())
            seats = [stack.enter_context(self.seated(name, server.address)) for name in NAMES[:persons]]
            self._all(seats, 0, "arrive", lambda person: person.come())
            for number in itertools.count(1):
                if number > rounds if rounds else time.monotonic() > until:
                    return
                before = seats[0][0].facts("kept", upto={})
                self._all(seats, number, "act", partial(self._act, number=number, persons=persons))
                if kills and Random(f"{self.seed} {number}").randrange(KILL) == 0:
                    server.process.kill()
                    served.close()
                    server = served.enter_context(self.serving())
                    self._all(seats, number, "return after a kill", lambda person: person.come())
                    self.done["kill"] += 1
                for seat in seats:
                    self._all([seat], number, "check", partial(self._check, before=before))

    def _all(
        self, seats: list[tuple[Person, ThreadPoolExecutor]], number: int, what: str, do: Callable[[Person], object]
    ) -> None:
        """Let persons do something at the same time, and report the first failure."""
        doing = [thread.submit(do, person) for person, thread in seats]
        for (person, thread), future in zip(seats, doing, strict=True):
            if (error := future.exception()) is None:
                continue
            shot = self.folder / f"failure-{number}-{person.name}.png"
            thread.submit(person.page.screenshot, path=shot).exception()
            again = f"make soak SEED={self.seed} PERSONS={len(seats)}"
            detail = "".join(traceback.format_exception(error))
            raise Broken(f"{person.name}, round {number}, {what}. Again: {again}. See {self.folder}.\n{detail}")

    def _act(self, person: Person, number: int, persons: int) -> None:
        person.number, person.random = number, Random(f"{self.seed} {person.name} {number}")
        person.expected, person.exclusive = [], persons == 1
        for _ in range(TRIES):
            here = person.screen()
            weights = [act.weight * (STAYS if act.screen in (here, None) else 1) for act in ACTS.values()]
            name = person.random.choices(list(ACTS), weights)[0]
            try:
                if (screen := ACTS[name].screen) is not None:
                    person.go(screen)
                said = ACTS[name].do(person)
            except NotNow:
                continue
            self.tell(f"{number:5} {person.name:5} {name}: {said}")
            self.done[name] += 1
            return
        raise Broken(f"No act was possible in {TRIES} tries")

    def _check(self, person: Person, before: dict[str, list[int]]) -> None:
        """No error anywhere, nothing lost, the past unchanged, labels right, and the screen shows what is true."""
        said = person.page.locator(ERRORS).all_inner_texts()
        hold(not said or person.warned, f"The screen shows an error: {said}")
        person.warned = [""] if said else []
        hold(not person.page_errors, f"The browser reports errors: {person.page_errors}")
        found = TROUBLE.search(text := self.log.read_text(errors="replace"))
        hold(found is None, f"The server's log: {text[found.start() :][:3000] if found else ''}")
        self._check_work(person)
        now = person.facts("kept", upto={table: row[0] for table, row in before.items()})
        changed = [table for table, row in before.items() if now[table][2] != row[1]]
        hold(not changed, f"Tables that only grow were changed: {changed}")
        logged = person.facts("acts", author=person.name, after=before["activity"][0])
        logged = [act for act in logged if not act.startswith("job ")]
        hold(Counter(logged) == Counter(person.expected), f"Expected in the log: {person.expected}; it has {logged}")
        hold(not (differ := person.facts("labels")["differ"]), f"Labels differ from labels from scratch: {differ}")
        hold(not (faults := person.facts("check")), f"exam check: {faults}")
        deadline = time.monotonic() + PATIENCE / 1000
        while wrong := _wrong_on_screen(person):
            hold(time.monotonic() < deadline, f"The screen {person.page.url} is not true: {wrong}")
            # Others, or a job, may have changed it since it was drawn.
            person.page.evaluate("document.activeElement?.blur()")
            with person.drawn():
                person.page.keyboard.press("r")

    def _check_work(self, person: Person) -> None:
        """Drafts, steps, versions, judgments and overrides of a person are as they left them."""
        kept = person.facts("unsaved", author=person.name)
        for key, fields in person.unsaved.now.items():
            # A draft that equals the bank is no draft.
            there = kept["drafts"].get(key) or kept["saved"].get(key) or {}
            missing = {name: value for name, value in fields.items() if there.get(name) != value}
            hold(not missing, f"Lost of the draft of {key}: {missing}; there is {there}")
        foreign = [key for key in kept["drafts"] if key not in person.unsaved.now and _differs(kept, key)]
        hold(not foreign, f"Drafts that {person.name} never made or dropped: {foreign}")
        steps = [len(person.unsaved.done), len(person.unsaved.undone)]
        hold(kept["steps"] == steps, f"Steps to undo and redo are {kept['steps']}, not {steps}")
        versions = person.facts("state")["versions"]
        lost = [note for note in person.notes if [person.name, note] not in versions]
        hold(not lost, f"Saved versions are lost: {lost}")
        given = person.facts("given", author=person.name)
        hold(given["judgments"] == person.judged, f"Judged: {person.judged}; kept: {given['judgments']}")
        hold(given["overrides"] == person.overridden, f"Overrides: {person.overridden}; kept: {given['overrides']}")


def _differs(kept: dict[str, dict[str, dict[str, object]]], key: str) -> bool:
    return {**kept["drafts"][key], "position": None} != {**kept["saved"].get(key, {}), "position": None}


def _wrong_on_screen(person: Person) -> str | None:
    """How the screen differs from the facts: Home's numbers, the bank's questions, the leaderboard's scores."""
    screen, shown, meant = person.screen(), None, None
    if screen == "Home":
        counts = person.page.locator(".st-key-state .count")
        texts = counts.evaluate_all("all => all.map(one => [...one.children].map(part => part.textContent))")
        shown = {name: int(number.replace(",", "")) for number, name in texts}
        meant = person.facts("state")["counts"]
    elif screen == "Question bank":
        kept = person.facts("unsaved", author=person.name)
        known = kept["saved"] | kept["drafts"]
        shown = question_rows(person)
        fields = ("text", "weight", "active")
        meant = {key: [known[key][field] or (0 if field == "weight" else known[key][field]) for field in fields]
                 for key in shown if key in known}  # fmt: skip
    elif screen == "Leaderboard" and person.page.locator("tr.system").count():
        measure = person.page.get_by_role("combobox", name=re.compile("Measure")).first.input_value()
        official = person.page.locator(".st-key-against input").first.input_value()
        read = "rows => rows.map(row => [row.dataset.run, Number(row.querySelector('.score data').value)])"
        scores: dict[str, float] = dict(person.page.locator("tr.system").evaluate_all(read))
        shown = {run: round(score, 9) for run, score in scores.items()}
        true = person.facts("board", measure=measure, against=official)
        meant = {run: round(score, 9) for run, score in true.items()}
    return None if shown == meant else f"{screen}: it shows {shown}, and true is {meant}"
