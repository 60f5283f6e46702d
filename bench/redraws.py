"""What a screen costs the server, and what a click does: seconds of its processor and queries to the database, in a
headless Chromium, at growing sizes of a project.

    python bench/run.py redraws

writes the tables of `docs/performance.md`. Each size has an app of its own, which counts (`bench/counted.py`).
`EXAM_BENCH_SIZES` names some of the sizes; `EXAM_BENCH_FOLDER` is where projects are made.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from bench.clicks import ACTS, HEADING, Act, press, took, visitor, whole
from bench.growth import PAGE, SIZES, Size, exponent, markdown
from bench.large import make_large
from pages.parts.shared.screens import SCREENS
from tests.made.browser import free_port, running

TIMES = 3
"""How often each is done; the median counts."""
MEASURED = ("10", "131", "1000")
"""Those of `SIZES` that are measured: 0.4, 4.7 and 20 million grades, and 16 runs."""
SHOWN = (
    "home", "activity", "question_bank", "prompts", "grading", "passages", "disagreements", "changes", "leaderboard",
    "audit", "measures", "export",
)  # fmt: skip
"""Screens that have something to show of a project without logins, students and answers."""
PATIENCE = 1800
"""Seconds after which something is taken not to come; generous, because the machine may be busy."""
PART = re.compile(r"(<!-- measured:redraws -->\n).*?(<!-- /measured -->)", re.S)

COUNT_RUNS = """
new MutationObserver(changes => {
  for (const { target } of changes)
    if (target.dataset.testScriptState === "notRunning") window.ran = (window.ran ?? 0) + 1;
}).observe(document, { subtree: true, attributeFilter: ["data-test-script-state"] });
"""
RAN = "(window.ran ?? 0)"
"""How often the page has been drawn whole."""


def _judge(page: Page, turn: int) -> None:
    press(str(turn % 4))(page, turn)


MORE = (Act("passages: a judgment is saved", "passages", _judge, RAN, 300),)
"""Acts beside those that are timed by the clock."""
AGAIN = Act("drawn again", "", press("r"), RAN, 300)

KINDS = {
    "redrawn": "drawn again, nothing new",
    "after": "drawn again after a rating was overridden",
    "opened": "opened by its address",
    "first": "opened for the first time since the app began",
}


@dataclass
class Cost:
    """What something took: seconds of the server's processor, and queries, each time that it was done."""

    seconds: list[float] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)

    @property
    def milliseconds(self) -> float:
        """The median."""
        return 1000 * statistics.median(self.seconds)

    @property
    def asked(self) -> int:
        """The median of the queries."""
        return int(statistics.median(self.queries))


Costs = dict[tuple[str, str], Cost]
"""By kind and screen; by "click" and the name of an act."""


@dataclass(frozen=True)
class Counted:
    """An app that counts, with one project, called bench."""

    address: str
    door: str
    project: Path

    def ask(self, act: str, **given: object) -> dict[str, Any]:
        """What the door answers."""
        with urllib.request.urlopen(f"{self.door}/{act}?{urlencode(given)}", timeout=PATIENCE) as answer:
            return dict(json.loads(answer.read()))


def redraws(say: Callable[..., None]) -> None:
    """Measure every size and write what was found."""
    wanted = os.environ.get("EXAM_BENCH_SIZES", " ".join(MEASURED)).split()
    found: list[tuple[Size, Costs]] = []
    for size in SIZES:
        if size.name not in wanted:
            continue
        with _app(size) as app:
            costs = _costs(app)
        found.append((size, costs))
        for (kind, name), cost in costs.items():
            say(f"{size.grades:,} grades: {name}, {kind}", f"{cost.milliseconds:.0f} ms", f"{cost.asked} queries")
        _write(found)


@contextmanager
def _app(size: Size) -> Iterator[Counted]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("EXAM_BENCH_FOLDER")) as name:
        folder = Path(name)
        projects = folder / "projects"
        projects.mkdir()
        project = projects / "bench.duckdb"
        make_large(project, size.queries, size.passages, size.runs).close()
        port, door = free_port(), free_port()
        words = ("-m", "bench.counted", str(port), str(door))
        with running(words, port, projects, folder / "server.log") as server:
            yield Counted(server.address, f"http://127.0.0.1:{door}", project)


def _costs(app: Counted) -> Costs:
    costs: Costs = {}
    with visitor() as page:
        page.set_default_timeout(PATIENCE * 1000)
        page.add_init_script(COUNT_RUNS)

        def open_(screen: str) -> None:
            page.goto(f"{app.address}/{'' if screen == 'home' else screen}?project=bench")
            whole(page, HEADING)

        def count(kind: str, name: str, act: Callable[[], object]) -> None:
            before = app.ask("spent")
            act()
            after = app.ask("spent")
            cost = costs.setdefault((kind, name), Cost())
            cost.seconds.append(after["seconds"] - before["seconds"])
            cost.queries.append(after["queries"] - before["queries"])

        for screen in SHOWN:
            count("first", screen, partial(open_, screen))
            for _ in range(TIMES):
                count("opened", screen, partial(open_, screen))
            for turn in range(TIMES):
                count("redrawn", screen, partial(took, page, AGAIN, turn))
        for act in (*ACTS, *MORE):
            open_(act.screen)
            for turn in range(TIMES):
                count("click", act.name, partial(took, page, act, turn))
        for screen in SHOWN:
            open_(screen)
            for turn in range(TIMES):
                app.ask("save", project=app.project, question="question-0", passage="p0", rating=turn)
                count("after", screen, partial(took, page, AGAIN, turn))
    return costs


def _write(found: Sequence[tuple[Size, Costs]]) -> None:
    heads = [f"{size.queries:,} queries, {size.grades / 1e6:.1f} M" for size, _ in found]
    titles = {screen: SCREENS[screen][0] for screen in SHOWN}
    tables = [_table(words, heads, found, kind, titles) for kind, words in KINDS.items()]
    tables.append(_table("a click", heads, found, "click", {act.name: act.name for act in (*ACTS, *MORE)}))
    body = "\n\n".join(tables)
    PAGE.write_text(PART.sub(lambda part: f"{part[1]}\n{body}\n\n{part[2]}", PAGE.read_text()))


def _table(
    what: str, heads: Sequence[str], found: Sequence[tuple[Size, Costs]], kind: str, names: Mapping[str, str]
) -> str:
    rows = []
    for name, title in names.items():
        costs = [costs[kind, name] for _, costs in found]
        grown = exponent([(size.grades, costs[kind, name].milliseconds) for size, costs in found])
        rows.append([title, *(f"{cost.milliseconds:,.0f} ms, {cost.asked}" for cost in costs), grown])
    return markdown([what, *heads, "exponent"], rows)
