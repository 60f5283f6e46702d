"""Bench of clicks and screens in a headless Chromium, compared with opening the same screen in a new tab."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from playwright.sync_api import Page, sync_playwright

from bench.figures import Figure, faster
from bench.large import large_file, large_size
from pages.parts.shared.person import COOKIE
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.made.browser import DEADLINE, DRAWN, FLAGS, WINDOW, find_chromium, serving

EMPTY = {"my_work", "adjudication", *MENU["Exams"][1], *MENU["Answers"][1], *MENU["Administration"][1]}
"""Screens without content in the generated project."""
Click = Callable[[Page, int], None]

CLOCK = "(performance.timeOrigin + performance.now()) / 1000"
BEGIN = "window.began = " + CLOCK
COMPONENT = "document.querySelector('.st-key-{} [data-testid=stBidiComponentIsolated]')?.shadowRoot"
QUESTION = COMPONENT.format("questions") + "?.querySelector('textarea')?.value"
UNSAVED = "(" + COMPONENT.format("bank") + "?.textContent.match(/([0-9]+|No) unsaved change/) || [])[0]"
HEADING = "document.querySelector('[data-testid=stMain] h1, [data-testid=stMain] h2')?.innerText"


def _reword(page: Page, turn: int) -> None:
    box = page.get_by_role("textbox", name="Question", exact=True).nth(turn)
    box.fill(f"What is asked in turn {turn}?")
    page.evaluate(BEGIN)
    box.blur()


def _press(page: Page, turn: int, key: str) -> None:
    # A component handles keys only after it is drawn.
    page.locator(".st-key-questions textarea, .st-key-passage-list .row").first.wait_for()
    page.evaluate(BEGIN)
    page.keyboard.press(key)


def _walk(page: Page, turn: int) -> None:
    if turn == 0:
        page.locator(".st-key-part").get_by_role("radio", name="Ratings").click()
    _press(page, turn, "Alt+j")


CLICKS: tuple[tuple[str, str, Click, str], ...] = (
    ("reword a question", "question_bank", _reword, UNSAVED),
    ("undo", "question_bank", partial(_press, key="Alt+z"), UNSAVED),
    ("next query", "question_bank", partial(_press, key="Alt+j"), QUESTION),
    ("next passage", "passages", _walk, "location.href"),
)
"""Name, screen, the click, and JavaScript whose value changes after the click has taken effect."""


def screens(tiny: bool) -> Iterator[Figure]:
    """Measure clicks and screens; the first visit of each screen fills the caches and is not counted."""
    times = 1 if tiny else 5
    with (
        large_file(large_size(tiny)) as path,
        serving(path.parent, path.with_suffix(".log")) as server,
        _page(server.address) as page,
    ):
        opened = {}
        with_content = [screen for screen in SCREENS if screen not in EMPTY]
        for screen in ("leaderboard", "question_bank", "passages") if tiny else with_content:
            _go(page, screen)
            opened[screen] = statistics.median(_open_tab(page, screen) for _ in range(times))
        for name, screen, click, shown in CLICKS[:2] if tiny else CLICKS:
            _go(page, screen)
            took = [_timed(page, click, turn, shown) for turn in range(times)]
            yield _figure(f"click: {name}", took, opened[screen], 0.3)
        for screen in opened:
            # A tab is reached from the first tab of its entry, and an entry from another one.
            siblings = [name for name in MENU[entry_of(screen)][1] if name != screen]
            is_tab = screen != next(iter(MENU[entry_of(screen)][1]))
            other = siblings[0] if is_tab else next(name for name in opened if name != screen)
            _go(page, other)
            there, back = (partial(_follow, screen=name, is_tab=is_tab) for name in (screen, other))
            took = _there_and_back(page, there, back, HEADING, times)
            yield _figure(f"screen: {SCREENS[screen][0]}", took, opened[screen], 0.7)
        _go(page, "leaderboard")
        there, back = (partial(_choose, view=view) for view in ("By budget", "Leaderboard"))
        took = _there_and_back(page, there, back, "location.href", times)
        yield _figure("screen: By budget", took, opened["leaderboard"], 0.7)


def _figure(what: str, took: list[float], new_tab: float, limit: float) -> Figure:
    """Return the median of times, compared with the time of a new tab with the same screen."""
    all_times = " ".join(f"{seconds * 1000:.0f}" for seconds in took)
    return faster(f"{what} (of {all_times})", statistics.median(took), "new tab", new_tab, limit)


def _follow(page: Page, turn: int, screen: str, is_tab: bool) -> None:
    links, name = (".st-key-tabs", SCREENS[screen][0]) if is_tab else (".st-key-menu", entry_of(screen))
    link = page.locator(links).get_by_role("link", name=name, exact=True)
    link.wait_for()
    page.evaluate(BEGIN)
    link.click()


def _choose(page: Page, turn: int, view: str) -> None:
    option = page.get_by_role("radio", name=view, exact=True)
    page.evaluate(BEGIN)
    option.click()


def _there_and_back(page: Page, there: Click, back: Click, shown: str, times: int) -> list[float]:
    """Return seconds of a click that another one reverses; the first time fills the caches and is left out."""
    took = []
    for turn in range(times + 1):
        took.append(_timed(page, there, turn, shown))
        _timed(page, back, turn, shown)
    return took[1:]


def _timed(page: Page, click: Click, turn: int, shown: str) -> float:
    """Return seconds from a click until the page is complete and the value of `shown` differs."""
    _wait(page, f"{shown} !== undefined")  # A component may be drawn after the page is complete.
    before = page.evaluate(shown)
    click(page, turn)
    _wait(page, f"![undefined, {json.dumps(before)}].includes({shown})")
    return float(page.evaluate(f"{CLOCK} - window.began"))


def _open_tab(page: Page, screen: str) -> float:
    """Return seconds until the link of a screen shows it in a new tab."""
    tab = page.context.new_page()
    began = float(page.evaluate(CLOCK))
    _go(tab, screen)
    took = float(tab.evaluate(CLOCK)) - began
    tab.close()
    return took


def _go(page: Page, screen: str) -> None:
    page.goto(f"/{'' if screen == 'home' else screen}?project=large", wait_until="commit")
    _wait(page, HEADING)


def _wait(page: Page, condition: str = "true") -> None:
    """Wait until the page is complete and a JavaScript condition holds, and check in every frame."""
    page.wait_for_function(f"document.querySelector({json.dumps(DRAWN)}) && {condition}", polling="raf")


@contextmanager
def _page(address: str) -> Iterator[Page]:
    """Open a tab as a person who has given a name; links are relative to the address."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        person = browser.new_context(base_url=address, viewport=WINDOW, reduced_motion="reduce")
        person.set_default_timeout(DEADLINE)
        person.add_cookies([{"name": COOKIE, "value": "bench", "url": "http://localhost"}])
        yield person.new_page()
        browser.close()
