"""A person at a browser: what they can see and do, and what they know of their own work."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.made.browser import bring_into_view

PATIENCE = 90_000
"""Milliseconds after which something that a person waits for is taken not to come; generous, as machines are busy."""

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 900, "height": 900}

QUIET = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  return app !== null && app.getAttribute('data-test-script-state') === 'notRunning'
    && app.getAttribute('data-test-connection-state') === 'CONNECTED'
    && document.querySelector('[data-testid=stSkeleton], [data-testid=stSpinner]') === null;
}"""
"""Whether the sign that the app is running is out, and nothing stands where something will come."""

GLANCE = 50
"""Milliseconds between two glances at the screen."""


@dataclass
class Traffic:
    """What a tab asked of the server and what came back: under load the sign that the app is running may never light.

    Attributes:
        asked: how often the screen was asked to be drawn.
        begun, drawn: how many of these a drawing that began, and that ended, knew of.
    """

    asked: int = 0
    begun: int = 0
    drawn: int = 0

    def watch(self, socket: WebSocket) -> None:
        """Follow a connection, in place of the one before."""
        self.asked = self.begun = self.drawn = 0
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes) and BackMsg.FromString(frame).HasField("rerun_script"):
            self.asked += 1

    def _received(self, frame: bytes | str) -> None:
        if not isinstance(frame, bytes):
            return
        message = ForwardMsg.FromString(frame)
        if message.HasField("new_session"):
            self.begun = self.asked
        elif message.HasField("script_finished") and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.drawn = self.begun


class NotNow(Exception):
    """An act that is not possible as things stand; the person does something else."""


class Broken(AssertionError):
    """Something that must hold does not."""


@dataclass
class Inside:
    """The facts of one project, asked through the server's door.

    Args:
        address: of the door.
        project: the project's file.
    """

    address: str
    project: Path

    def ask(self, fact: str, **arguments: Any) -> Any:
        """What is true; see `tests.soak.facts`."""
        asked = urllib.parse.urlencode({"project": str(self.project), "arguments": json.dumps(arguments)})
        try:
            with urllib.request.urlopen(f"{self.address}/{fact}?{asked}", timeout=120) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Broken(f"The fact '{fact}' cannot be had:\n{error.read().decode()}") from error


@dataclass
class Unsaved:
    """What a person has typed and not saved, with its steps: what the drafts have to come to.

    Attributes:
        now: the fields that were changed, by question id.
    """

    now: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    undone: list[dict[str, dict[str, Any]]] = field(default_factory=list)

    def step(self, changed: dict[str, dict[str, Any]]) -> None:
        """One step that changes fields of some questions."""
        self._begin()
        self.now = self.now | {key: self.now.get(key, {}) | fields for key, fields in changed.items()}

    def take_back(self, question_ids: list[str]) -> None:
        """One step that drops the changes of some questions."""
        self._begin()
        self.now = {key: fields for key, fields in self.now.items() if key not in question_ids}

    def undo(self) -> None:
        self.undone.append(self.now)
        self.now = self.done.pop()

    def redo(self) -> None:
        self.done.append(self.now)
        self.now = self.undone.pop()

    def saved(self) -> None:
        self.now, self.done, self.undone = {}, [], []

    def _begin(self) -> None:
        self.done.append(self.now)
        self.undone = []


class Person:
    """Somebody who works in one browser, in one tab or several.

    Attributes:
        name: what they work under.
        page: the tab before their eyes.
        random: their dice, thrown anew for every act, so that an act can be repeated by its number.
        unsaved, judged, overridden: what they know of their own work; `judged` by (query, passage), `overridden`
            by reason, with the rating.
        saved: number and note of each version that they saved.
        published: qrels that they had made again, by the name of the file.
        expected: acts that the log has to show for what they just did.
        introduced: whether this browser was told the name.
        warned: what the app may say in red, for a person who did something wrong.
    """

    def __init__(self, name: str, seed: int, context: BrowserContext, address: str, inside: Inside) -> None:
        self.name = name
        self.seed = seed
        self.context = context
        self.address = address
        self.inside = inside
        self.random = Random(seed)
        self.number = 0
        self.unsaved = Unsaved()
        self.judged: dict[tuple[str, str], int] = {}
        self.overridden: dict[str, int] = {}
        self.saved: list[list[Any]] = []
        self.published: dict[str, bytes] = {}
        self.expected: list[str] = []
        self.warned: list[str] = []
        self.introduced = False
        self.page_errors: list[str] = []
        context.set_default_timeout(PATIENCE)
        context.on("page", self._watch)
        self._traffic: dict[Page, Traffic] = {}
        self.page = context.new_page()

    def _watch(self, page: Page) -> None:
        traffic = self._traffic[page] = Traffic()
        page.on("websocket", traffic.watch)
        page.on("pageerror", lambda error: self.page_errors.append(f"{page.url}: {error}"))

    # Getting about

    def come(self, path: str = "", page: Page | None = None, **query: str) -> None:
        """Open an address of the app, as with a link or a bookmark, and say who one is where one is asked."""
        page = page or self.page
        parameters = urllib.parse.urlencode({"project": self.inside.project.stem} | query)
        page.goto(f"{self.address}/{path}?{parameters}")
        self.page = page
        self.arrive()

    def arrive(self) -> None:
        """Wait for a screen that was loaded anew, and say who one is where this is asked: once, in a new browser."""
        self.quiet()
        asked = self.page.locator(".st-key-name-wanted")
        if self.there(asked):
            if self.introduced:
                raise Broken(f"{self.name} gave a name before, and is asked for it again at {self.page.url}")
            asked.get_by_role("textbox", name="Your name").fill(self.name)
            self.press("Work under this name", asked)
            expect(asked).to_have_count(0, timeout=PATIENCE)
            self.introduced = True
        # On a narrow screen the side bar is closed, and the box is there all the same.
        expect(self.page.locator("input[aria-label='Your name']")).to_have_value(self.name, timeout=PATIENCE)

    def go(self, screen: str) -> None:
        """Follow the menu to a screen, unless one is there."""
        if self.screen() == screen:
            return
        link = self.page.locator(".st-key-menu").get_by_role("link", name=screen, exact=True)
        if not link.is_visible():
            self.page.get_by_test_id("stExpandSidebarButton").click()
        link.click()
        expect(self.heading(screen)).to_be_visible(timeout=PATIENCE)
        self.quiet()

    def screen(self) -> str | None:
        """The screen before one's eyes, by its name in the menu."""
        title = self.page.get_by_role("heading", level=1)
        if not title.count():
            return None
        return title.first.inner_text()

    # Seeing

    def quiet(self, asked: int = 0) -> None:
        """Wait until the screen stands, as a person does before they read.

        Args:
            asked: how often it has to have been asked to be drawn by then, at least once more than this.
        """
        traffic = self._traffic[self.page]
        deadline = time.monotonic() + PATIENCE / 1000
        while not (traffic.asked > asked and traffic.drawn == traffic.asked and self.page.evaluate(QUIET)):
            if time.monotonic() > deadline:
                raise Broken(f"The screen {self.page.url} is not drawn: {traffic}, before {asked}")
            self.page.wait_for_timeout(GLANCE)

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Do something that draws the screen anew, and wait until it stands."""
        asked = self._traffic[self.page].asked
        yield
        self.quiet(asked)

    def look_again(self) -> None:
        """Have the screen drawn anew without leaving it, as the app's own key R does."""
        self.page.evaluate("document.activeElement?.blur()")
        with self.drawn():
            self.page.keyboard.press("r")

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, exact=True)

    def button(self, name: str, within: Locator | None = None) -> Locator:
        # A button that a key presses says so after its name.
        pattern = re.compile(rf"^{re.escape(name)}( Shortcut .*)?$")
        return (within or self.page).get_by_role("button", name=pattern)

    def press(self, name: str, within: Locator | None = None) -> None:
        """Press a button that can be pressed, and wait until the screen stands."""
        with self.drawn():
            self.button(name, within).first.click()

    def unfold(self, title: re.Pattern[str], button: str) -> Locator:
        """Open a folded list by its title, so that its buttons can be pressed; gives the title."""
        found = self.page.get_by_text(title).first
        if not self.there(found):
            raise NotNow
        if not self.there(self.button(button)):
            found.click()
            expect(self.button(button).first).to_be_visible(timeout=PATIENCE)
        return found

    def dialog(self) -> Locator:
        """The dialog that is open."""
        return self.page.get_by_role("dialog").filter(has=self.page.get_by_role("button", name="Close"))

    def metric(self, label: str) -> Locator:
        """The number under a label."""
        box = self.page.get_by_test_id("stMetric").filter(has=self.page.get_by_text(label, exact=True))
        return box.get_by_test_id("stMetricValue").first

    def count(self, label: str) -> int:
        """The whole number under a label."""
        return int(self.metric(label).inner_text().replace(",", ""))

    def sees(self, text: str | re.Pattern[str]) -> Locator:
        """Wait for words to be on the screen."""
        found = self.page.get_by_text(text).first
        expect(found).to_be_visible(timeout=PATIENCE)
        return found

    def there(self, locator: Locator) -> bool:
        """Whether something is to be seen right now."""
        return locator.count() > 0 and locator.first.is_visible()

    def type(self, box: Locator, text: str) -> None:
        """Type into a box and leave it, and wait until the screen stands."""
        with self.drawn():
            box.fill(text)
            box.press("Tab")

    def choose(self, label: str | re.Pattern[str], option: str) -> None:
        """Choose in a list by its label."""
        self.pick(self.page.get_by_role("combobox", name=label).first, option)

    def pick(self, box: Locator, option: str) -> None:
        """Choose in a list that one sees."""
        if box.input_value() == option:
            return
        bring_into_view(box)
        box.click()
        with self.drawn():
            self.page.get_by_role("option", name=option, exact=True).first.click()

    # Knowing

    def facts(self, fact: str, **arguments: Any) -> Any:
        return self.inside.ask(fact, **arguments)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def asked(self) -> dict[str, str]:
        """What the address asks for, by name."""
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.page.url).query))

    def sign(self, what: str) -> str:
        """Words of one's own that nobody else has written: what, by whom, and at which act."""
        return f"{what} ({self.name} {self.number})"


Doing = Callable[[Person], str]
"""An act: does it, and says in words what was done; raises NotNow where it is not possible as things stand."""
