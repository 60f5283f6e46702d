"""Bench of clicks and screens in a headless Chromium, compared with opening the same screen in a new tab."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.figures import Figure
from bench.large import PASSAGES_A_QUERY, QUERIES, RUNS, make_large
from pages.parts.shared.person import COOKIE
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.made.browser import DEADLINE, DRAWN, FLAGS, WINDOW, find_chromium, serving

SHOWN = (
    "home",
    "question_bank",
    "prompts",
    "grading",
    "passages",
    "disagreements",
    "changes",
    "leaderboard",
    "audit",
    "measures",
    "export",
)
"""Screens with content in the generated project."""
CLOCK = "performance.timeOrigin + performance.now()"
BEGIN = "window.began = " + CLOCK
COMPONENT = "document.querySelector('.st-key-{} [data-testid=stBidiComponentIsolated]')?.shadowRoot"
QUESTION = COMPONENT.format("questions") + "?.querySelector('textarea')?.value"
UNSAVED = "(" + COMPONENT.format("bank") + "?.textContent.match(/[0-9]+ unsaved change/) || [])[0]"
HEADING = "document.querySelector('[data-testid=stMain] h1, [data-testid=stMain] h2')?.innerText"


def _reword(page: Page, turn: int) -> None:
    box = page.get_by_role("textbox", name="Question", exact=True).nth(turn)
    box.fill(f"What is asked in turn {turn}?")
    page.evaluate(BEGIN)
    box.blur()


def _press(key: str) -> Callable[[Page, int], None]:
    def press(page: Page, turn: int) -> None:
        page.evaluate(BEGIN)
        page.keyboard.press(key)

    return press


def _walk(page: Page, turn: int) -> None:
    # The list handles the key only after it is drawn.
    page.locator(".st-key-passage-list .row").first.wait_for()
    _press("Alt+j")(page, turn)


CLICKS: tuple[tuple[str, str, Callable[[Page, int], None], str], ...] = (
    ("reword a question", "question_bank", _reword, UNSAVED),
    ("undo", "question_bank", _press("Alt+z"), UNSAVED),
    ("next query", "question_bank", _press("Alt+j"), QUESTION),
    ("next passage", "passages", _walk, "location.href"),
)
"""Name, screen, the click, and JavaScript whose value changes after the click has taken effect."""


def screens(tiny: bool) -> Iterator[Figure]:
    """Measure clicks and screens; the first visit of each screen fills the caches and is not counted."""
    times = 1 if tiny else 5
    with _served(tiny) as address, _page() as page:
        opened = {}
        for screen in ("leaderboard", "question_bank", "passages") if tiny else SHOWN:
            link = f"{address}/{'' if screen == 'home' else screen}?project=bench"
            page.goto(link)
            _wait(page, HEADING)
            opened[screen] = statistics.median(_open_tab(page, link) for _ in range(times))
        for name, screen, click, shown in CLICKS[:2] if tiny else CLICKS:
            page.goto(f"{address}/{screen}?project=bench")
            _wait(page)
            took = [_timed(page, click, turn, shown) for turn in range(times)]
            yield _figure(f"click: {name}", took, opened[screen], 300)
        first, *others = opened
        for screen in (*others, first):
            took = []
            for turn in range(times):
                _timed(page, _follow(next(name for name in opened if name != screen)), turn, HEADING)
                took.append(_timed(page, _follow(screen), turn, HEADING))
            yield _figure(f"screen: {SCREENS[screen][0]}", took, opened[screen], 700)
        page.goto(f"{address}/leaderboard?project=bench")
        _wait(page)
        took = []
        for turn in range(times + 1):
            took.append(_timed(page, _choose("By budget"), turn, "location.href"))
            _timed(page, _choose("Leaderboard"), turn, "location.href")
        # The first time fills the caches, like the first visit of the other screens.
        del took[0]
        yield _figure("screen: By budget", took, opened["leaderboard"], 700)


def _figure(what: str, took: list[float], new_tab: float, budget: int) -> Figure:
    """Return the median of times in milliseconds, compared with the time of a new tab with the same screen."""
    median = statistics.median(took)
    measured = f"{median:.0f} ms (of {' '.join(f'{value:.0f}' for value in took)})"
    return Figure(what, measured, f"new tab: {new_tab:.0f} ms", new_tab / median, f"< {budget} ms", median < budget)


def _follow(screen: str) -> Callable[[Page, int], None]:
    def follow(page: Page, turn: int) -> None:
        entry = entry_of(screen)
        link = page.locator(".st-key-menu").get_by_role("link", name=entry, exact=True)
        if screen != next(iter(MENU[entry][1])):
            link.click()
            link = page.locator(".st-key-tabs").get_by_role("link", name=SCREENS[screen][0], exact=True)
            link.wait_for()
        page.evaluate(BEGIN)
        link.click()

    return follow


def _choose(view: str) -> Callable[[Page, int], None]:
    def choose(page: Page, turn: int) -> None:
        option = page.get_by_role("radio", name=view, exact=True)
        page.evaluate(BEGIN)
        option.click()

    return choose


def _timed(page: Page, click: Callable[[Page, int], None], turn: int, shown: str) -> float:
    """Return milliseconds from a click until the page is complete and the value of `shown` differs."""
    before = page.evaluate(shown)
    click(page, turn)
    _wait(page, f"{shown} !== {'undefined' if before is None else json.dumps(before)}")
    return float(page.evaluate(f"{CLOCK} - window.began"))


def _open_tab(page: Page, link: str) -> float:
    """Return milliseconds until a link shows its screen in a new tab."""
    tab = page.context.new_page()
    began = float(page.evaluate(CLOCK))
    tab.goto(link, wait_until="commit")
    _wait(tab, HEADING)
    took = float(tab.evaluate(CLOCK)) - began
    tab.close()
    return took


def _wait(page: Page, condition: str = "true") -> None:
    """Wait until the page is complete and a JavaScript condition holds, and check in every frame."""
    page.wait_for_function(f"document.querySelector({json.dumps(DRAWN)}) && {condition}", polling="raf")


@contextmanager
def _served(tiny: bool) -> Iterator[str]:
    """Serve the generated project as `bench`; yield the address."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects = folder / "projects"
        projects.mkdir()
        size = (3, 101, 3) if tiny else (QUERIES, PASSAGES_A_QUERY, RUNS)
        make_large(projects / "bench.duckdb", *size).close()
        with serving(projects, folder / "server.log") as server:
            yield server.address


@contextmanager
def _page() -> Iterator[Page]:
    """Open a tab as a person who has given a name."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        person = browser.new_context(viewport=WINDOW, reduced_motion="reduce")
        person.set_default_timeout(DEADLINE)
        person.add_cookies([{"name": COOKIE, "value": "bench", "url": "http://localhost"}])
        yield person.new_page()
        browser.close()
