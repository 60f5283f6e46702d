"""A person at a browser and a shell: what they can see and do, and what they know of their own work."""

from __future__ import annotations

import json
import os
import re
import threading
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
from unittest import mock

from playwright.sync_api import BrowserContext, Locator, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.made.shell import run_words

PATIENCE = 90_000
"""Milliseconds after which an expected element is taken not to appear. Machines are busy."""
QUIET = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  return app !== null && app.getAttribute('data-test-script-state') === 'notRunning'
    && app.getAttribute('data-test-connection-state') === 'CONNECTED'
    && document.querySelector('[data-testid=stSkeleton], [data-testid=stSpinner]') === null;
}"""
SHELL = threading.Lock()
"""Held by the person who uses the shell: words and streams belong to the whole process."""


class NotNow(Exception):
    """An act that is not possible at present. The person does another one."""


class Broken(AssertionError):
    """A condition that does not hold."""


def hold(holds: object, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


@dataclass
class Unsaved:
    """The fields that a person changed and did not save, by question id, with the steps to undo and redo."""

    now: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    undone: list[dict[str, dict[str, Any]]] = field(default_factory=list)

    def step(self, changed: dict[str, dict[str, Any]], dropped: tuple[str, ...] = ()) -> None:
        """One step that changes fields of some questions, or drops the changes of some."""
        self.done.append(self.now)
        self.undone = []
        merged = self.now | {key: self.now.get(key, {}) | fields for key, fields in changed.items()}
        self.now = {key: fields for key, fields in merged.items() if key not in dropped}

    def undo(self) -> None:
        self.undone.append(self.now)
        self.now = self.done.pop()

    def redo(self) -> None:
        self.done.append(self.now)
        self.now = self.undone.pop()


class Person:
    """A person with a browser of their own.

    Attributes:
        random: set for every act from the seed, the name and the number of the round.
        exclusive: if no other person works in the project.
        expected: acts that the log must have after this round.
        warned: errors on the screen that this person caused.
    """

    def __init__(self, name: str, context: BrowserContext, address: str, door: str, project: Path) -> None:
        self.name, self.context, self.address, self.door, self.project = name, context, address, door, project
        self.random, self.number = Random(0), 0
        self.unsaved = Unsaved()
        self.judged: dict[str, int] = {}
        self.overridden: dict[str, int] = {}
        self.notes: list[str] = []
        self.exclusive = True
        self.expected: list[str] = []
        self.warned: list[str] = []
        self.page_errors: list[str] = []
        self._asked = self._begun = self._drawn = 0
        context.set_default_timeout(PATIENCE)
        self.page = context.new_page()
        self.page.on("websocket", self._watch)
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))

    def _watch(self, socket: WebSocket) -> None:
        """Count the runs of the screen that were asked for, that began and that ended, on a new connection."""
        self._asked = self._begun = self._drawn = 0

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

    # Moving
    def come(self) -> None:
        """Load the screen, or the app in a new browser, and give a name if the app asks for it."""
        query = urllib.parse.urlencode({"project": self.project.stem})
        here = self.page.url if self.page.url.startswith("http") else f"{self.address}/?{query}"
        self.page.goto(here)
        self.quiet()
        asked = self.page.locator(".st-key-name-wanted")
        if asked.count():
            asked.locator("input").fill(self.name)
            self.press("Use this name", asked)
        expect(self.page.locator("input[aria-label='Your name']")).to_have_value(self.name, timeout=PATIENCE)

    def go(self, screen: str) -> None:
        if self.screen() != screen:
            self.page.locator(".st-key-menu").get_by_role("link", name=screen, exact=True).click()
            expect(self.page.get_by_role("heading", name=screen, exact=True)).to_be_visible(timeout=PATIENCE)
            self.quiet()

    def screen(self) -> str:
        return self.page.get_by_role("heading", level=1).first.inner_text()

    def asked(self) -> dict[str, str]:
        """The parameters of the address."""
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.page.url).query))

    def quiet(self, asked: int = 0) -> None:
        """Wait until the screen is drawn, for a request after the first `asked` ones."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not (self._asked > asked and self._drawn == self._asked and self.page.evaluate(QUIET)):
            hold(time.monotonic() < deadline, f"The screen {self.page.url} is not drawn.")
            self.page.wait_for_timeout(50)

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Do something that draws the screen, and wait until it is drawn."""
        asked = self._asked
        yield
        self.quiet(asked)

    def button(self, name: str, within: Locator | None = None) -> Locator:
        pattern = re.compile(rf"^{re.escape(name)}( Shortcut .*)?$")
        return (within or self.page).get_by_role("button", name=pattern)

    def press(self, name: str, within: Locator | None = None) -> None:
        """Press a button. It must be there and enabled, or the act is not possible."""
        button = self.button(name, within).first
        if not button.count() or not button.is_visible() or not button.is_enabled():
            raise NotNow
        with self.drawn():
            button.click()

    def type(self, box: Locator, text: str) -> None:
        with self.drawn():
            box.fill(text)
            box.press("Tab")

    # Knowing
    def facts(self, fact: str, **arguments: Any) -> Any:
        """What is true; see `tests.soak.facts`."""
        asked = urllib.parse.urlencode({"project": str(self.project), "arguments": json.dumps(arguments)})
        try:
            with urllib.request.urlopen(f"{self.door}/{fact}?{asked}", timeout=120) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise Broken(f"The fact '{fact}' cannot be had:\n{error.read().decode()}") from error

    def exam(self, *words: str, refused: bool = False) -> str:
        """Give a command to the shell, which asks the app; what it prints.

        Args:
            refused: if the command may be refused, which makes the act impossible.
        """
        own = {"EXAM_PROJECT": str(self.project), "EXAM_AUTHOR": self.name}
        with SHELL, mock.patch.dict(os.environ, own):
            code, out, err = run_words(words)
        if code in (1, 2) and refused:
            raise NotNow
        hold(code == 0, f"exam {' '.join(words)} ends with {code}: {err}")
        return out.decode()

    def sign(self, what: str) -> str:
        """Words that no other act has."""
        return f"{what} ({self.name} {self.number})"


Doing = Callable[[Person], str]
"""An act: does it and says what was done, or raises NotNow."""
