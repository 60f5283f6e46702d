"""A person at a browser and a shell, and a record of their work."""

import os
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Client
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from playwright.sync_api import BrowserContext, Locator, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.parts.shared.screens import SCREENS, entry_of
from tests.made.browser import DRAWN
from tests.made.shell import run_words

PATIENCE = 90_000
"""Milliseconds to wait for an element; generous, because machines are busy."""
SHELL = threading.Lock()
"""Held during a command, because its arguments and streams belong to the whole process."""
Fields = dict[str, dict[str, Any]]
"""Changed fields by question id."""


class NotNow(Exception):
    """Raised if an action is not possible now; the person then tries another."""


class Broken(AssertionError):
    """Raised if a condition does not hold."""


def hold(holds: object, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


class Unsaved:
    """The unsaved changes of a person, with the steps to undo and redo."""

    def __init__(self) -> None:
        self.states: list[Fields] = [{}]
        self.at = 0

    @property
    def now(self) -> Fields:
        return self.states[self.at]

    @property
    def steps(self) -> list[int]:
        """The number of steps to undo and to redo."""
        return [self.at, len(self.states) - self.at - 1]

    def step(self, changed: Fields, dropped: tuple[str, ...] = ()) -> None:
        """Change fields of some questions, or drop the changes of some."""
        merged = self.now | {key: self.now.get(key, {}) | fields for key, fields in changed.items()}
        after = {key: fields for key, fields in merged.items() if key not in dropped}
        self.states[self.at + 1 :] = [after]
        self.at += 1


class Person:
    """A person with a browser of their own.

    Attributes:
        random: set for each action from the seed, the name and the number of the round.
        expected: actions that the log must have after this round.
        warned: whether an action of this round may show an error on the screen.
    """

    def __init__(self, name: str, context: BrowserContext, address: str, facts_port: int, project: Path) -> None:
        self.name, self.address, self.facts_port, self.project = name, address, facts_port, project
        self.random, self.number, self.warned = Random(0), 0, False
        self.unsaved = Unsaved()
        self.judged: dict[str, int] = {}
        self.overridden: dict[str, int] = {}
        self.versions: set[tuple[str, str]] = set()
        self.expected: list[str] = []
        self.page_errors: list[str] = []
        self._asked = self._begun = self._drawn = 0
        context.set_default_timeout(PATIENCE)
        self.page = context.new_page()
        self.page.on("websocket", self._watch)
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))

    def _watch(self, socket: WebSocket) -> None:
        """Count the runs of the screen that were requested, begun and ended."""
        # Runs that were requested on an earlier connection never end.
        self._begun = self._drawn = self._asked

        def sent(frame: bytes | str) -> None:
            if isinstance(frame, bytes) and BackMsg.FromString(frame).HasField("rerun_script"):
                self._asked += 1

        def received(frame: bytes | str) -> None:
            message = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
            if message.HasField("new_session"):
                self._begun = self._asked
            elif message.HasField("script_finished") and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._drawn = self._begun

        socket.on("framesent", sent)
        socket.on("framereceived", received)

    def come(self) -> None:
        """Load the screen, or the app in a new browser, and give a name if the app asks for it."""
        first = f"{self.address}/?{urllib.parse.urlencode({'project': self.project.stem})}"
        with self.drawn():
            self.page.goto(self.page.url if self.page.url.startswith("http") else first)
        wanted = self.page.locator(".st-key-name-wanted")
        if wanted.count():
            wanted.locator("input").fill(self.name)
            self.press("Use this name")
        expect(self.page.locator("input[aria-label='Your name']")).to_have_value(self.name, timeout=PATIENCE)

    def go(self, screen: str) -> None:
        if self.screen() != screen:
            name = next(name for name, (title, _) in SCREENS.items() if title == screen)
            entry = self.page.locator(".st-key-menu").get_by_role("link", name=entry_of(name), exact=True)
            tab = self.page.locator(".st-key-tabs").get_by_role("link", name=screen, exact=True)
            if not tab.count():
                with self.drawn():
                    entry.click()
            if self.screen() != screen:
                tab.click()
            expect(self.page.get_by_role("heading", name=screen, exact=True)).to_be_visible(timeout=PATIENCE)
            self.quiet()

    def screen(self) -> str:
        return self.page.get_by_role("heading", level=1).first.inner_text()

    def quiet(self, asked: int = 0) -> None:
        """Wait until the screen is drawn, for a request after the first `asked` ones."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not (self._asked > asked and self._drawn == self._asked and self.page.locator(DRAWN).count()):
            hold(time.monotonic() < deadline, f"The screen {self.page.url} is not drawn.")
            self.page.wait_for_timeout(50)

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Do something that draws the screen, and wait until it is drawn."""
        asked = self._asked
        yield
        self.quiet(asked)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=re.compile(rf"^{re.escape(name)}( Shortcut .*)?$"))

    def press(self, name: str) -> None:
        """Press a button; raise NotNow if it is missing or disabled."""
        button = self.button(name).first
        if not button.count() or not button.is_visible() or not button.is_enabled():
            raise NotNow
        with self.drawn():
            button.click()

    def type(self, box: Locator, text: str) -> None:
        with self.drawn():
            box.fill(text)
            box.press("Tab")

    def fact(self, fact: str, **arguments: Any) -> Any:
        """Return a fact of `tests.soak.facts`, from the process of the app."""
        with Client(("127.0.0.1", self.facts_port)) as connection:
            connection.send((fact, self.project, arguments))
            answer, failure = connection.recv()
        hold(not failure, f"The fact '{fact}' is not available:\n{failure}")
        return answer

    def known(self) -> Mapping[str, Any]:
        return self.fact("known", author=self.name)

    def exam(self, *words: str) -> str:
        """Run a command in the app and return its output."""
        own = {"EXAM_PROJECT": str(self.project), "EXAM_AUTHOR": self.name}
        with SHELL, mock.patch.dict(os.environ, own):
            code, out, err = run_words(words)
        hold(code == 0, f"exam {' '.join(words)} ends with {code}: {err}")
        return out.decode()

    def sign(self, text: str) -> str:
        """Return a text that is unique to this action."""
        return f"{text} ({self.name} {self.number})"
