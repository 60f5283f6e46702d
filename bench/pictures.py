"""Pictures of every screen, so that eyes can compare a change with what was there before it.

Usage: python bench/pictures.py FOLDER [SCREEN...]; without a screen, all. Each is taken 900, 1280 and 1920 pixels wide,
light and dark, and named after these: `passages-1280-dark.png`. The project is the one that `bench/served.py` says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from bench.served import served_project
from pages.parts.shared.person import COOKIE
from pages.parts.shared.screens import SCREENS
from tests.made.browser import DEADLINE, FLAGS, find_chromium, visit

WINDOWS = (
    ViewportSize(width=900, height=900),
    ViewportSize(width=1280, height=900),
    ViewportSize(width=1920, height=1080),
)
SCHEMES = ("light", "dark")
BOARDS = ("All boards", "Two boards", "Two systems", "By budget", "Significance")
"""Views of the Leaderboard beside the one that it opens with."""
STILL = 1200
"""Milliseconds after which a chart has found its place in a window of a new size, which no sign on the page tells."""


def _nothing(page: Page) -> None:
    """What is to be done on a screen that is taken as it opens."""


def _reword(page: Page) -> None:
    """Leave an edit of the first question unsaved."""
    box = page.get_by_role("textbox", name=re.compile("^Question")).first
    box.fill("What is asked when nobody has saved it yet?")
    box.blur()


@dataclass(frozen=True)
class Shot:
    """A screen in a state that is worth a picture.

    Args:
        name: begins the names of its files.
        address: of the screen, with what its link says beside the project.
        do: brings it into the state.
    """

    name: str
    address: str
    do: Callable[[Page], None] = _nothing


SHOTS = (
    *(Shot(name, f"{name}?") for name in SCREENS),
    *(Shot(f"leaderboard-{view.lower().replace(' ', '-')}", f"leaderboard?view={view}&") for view in BOARDS),
    Shot("question_bank-edited", "question_bank?", _reword),
)


def pictures(folder: Path, wanted: tuple[str, ...] = ()) -> None:
    """Take the pictures.

    Args:
        folder: takes them; it is made where it is not there.
        wanted: beginnings of the names of those to take; all for none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=DEADLINE)
    with served_project() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        for scheme in SCHEMES:
            page = _page(browser, scheme)
            for shot in SHOTS:
                if not wanted or shot.name.startswith(wanted):
                    _take(page, address, shot, folder, scheme)
        browser.close()


def _page(browser: Browser, scheme: str) -> Page:
    """A tab of somebody who was here before, another one for each scheme: unsaved edits are a person's own."""
    person = browser.new_context(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    person.set_default_timeout(DEADLINE)
    person.add_cookies([{"name": COOKIE, "value": f"by {scheme}", "url": "http://localhost"}])
    return person.new_page()


def _take(page: Page, address: str, shot: Shot, folder: Path, scheme: str) -> None:
    page.set_viewport_size(WINDOWS[0])
    visit(page, f"{address}/{shot.address}project=bench".replace("/home?", "/?"))
    shot.do(page)
    for window in WINDOWS:
        page.set_viewport_size(window)
        page.wait_for_timeout(STILL)
        page.screenshot(path=folder / f"{shot.name}-{window['width']}-{scheme}.png")


def main() -> None:
    """Take the pictures that the command line asks for."""
    if len(sys.argv) < 2:
        sys.exit("Name the folder that takes the pictures: python bench/pictures.py FOLDER [SCREEN...]")
    pictures(Path(sys.argv[1]), tuple(sys.argv[2:]))


if __name__ == "__main__":
    main()
