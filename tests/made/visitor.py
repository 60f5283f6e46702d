"""A client of the app without a browser: cookies, requests and the websocket, with all data that ever arrived."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

DEADLINE = 120.0
"""Seconds to wait for a response; generous, because test machines are busy."""
XSRF = "_streamlit_xsrf"


@dataclass
class Answer:
    """The response to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


@dataclass
class Visitor:
    """A person with a browser.

    Args:
        address: of the app, such as http://localhost:PORT.
        cookies: cookies set by the app.
    """

    address: str
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, target: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Send one request, with cookies if it goes to the app; keep new cookies, and follow no redirect.

        Args:
            target: an address, or a path of the app exactly as it is sent.
            headers: more headers, with an underscore for a hyphen.
        """
        there = self.address if target.startswith("/") else target
        host = urlsplit(there).netloc
        path = target if target.startswith("/") else target.split(host, 1)[1] or "/"
        ours = host == urlsplit(self.address).netloc
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if ours and self.cookies:
            sent["Cookie"] = self.cookie
        connection = http.client.HTTPConnection(host, timeout=DEADLINE)
        try:
            connection.request(method, path, body, sent)
            got = connection.getresponse()
            answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
            set_now = got.headers.get_all("Set-Cookie") or []
        finally:
            connection.close()
        if ours:
            for line in set_now:
                for name, cookie in SimpleCookie(line).items():
                    if cookie["max-age"] == "0":
                        self.cookies.pop(name, None)
                    else:
                        self.cookies[name] = cookie.value
        return answer

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def follow(self, target: str) -> list[str]:
        """Open an address and follow its redirects; return all addresses."""
        way = [target]
        while (answer := self.ask(way[-1])).location and len(way) < 9:
            way.append(answer.location)
        return way

    def open(
        self, path: str = "", query: str = "", session: str = "", made: type[Window] | None = None,
        **headers: str | None,
    ) -> Window:  # fmt: skip
        """Open a screen in a new tab, and wait until it is drawn.

        Args:
            session: id of an earlier tab to resume.
            made: class of the tab; None for `Window`.
            headers: of the websocket, with an underscore for a hyphen; None leaves a header out.
        """
        if XSRF not in self.cookies:
            self.ask("/_stcore/health")
        given = {"Origin": self.address, "Cookie": self.cookie, **headers}
        tab = (made or Window)(
            connect(
                self.address.replace("http", "ws", 1) + "/_stcore/stream",
                additional_headers={name.replace("_", "-"): value for name, value in given.items() if value},
                subprotocols=["streamlit", self.cookies[XSRF], *([session] if session else [])],
                compression=None,
                max_size=None,
                open_timeout=DEADLINE,
            ),
            path,
            query,
        )
        try:
            tab.run()
        except BaseException:
            tab.close()
            raise
        return tab

    def log_in(self) -> Window:
        """Press the login button and follow its redirects; return the first screen after that."""
        with self.open() as tab:
            tab.press("log in")
            way = self.follow(tab.sent_on)
        return self.open(query=urlsplit(way[-1]).query)


class Window:
    """A tab of a browser that shows a screen.

    Attributes:
        arrived: every message received.
        drawn: those of the latest run.
        session: id of the tab at the server.
    """

    def __init__(self, connecting: AbstractContextManager[ClientConnection], path: str, query: str) -> None:
        self._open = ExitStack()
        self.socket = self._open.enter_context(connecting)
        self.path, self.query = path, query
        self.arrived: list[bytes] = []
        self.drawn: list[ForwardMsg] = []
        self.session = self.sent_on = self.page = ""

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()

    def run(self, *widgets: WidgetState, fragment: str = "") -> None:
        """Draw the screen with changes of widgets, or only one part of it, and wait for the end of the run."""
        self.send(*widgets, fragment=fragment)
        self.drawn = []
        ends = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR}
        if fragment:
            ends.add(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
        while (message := self._next()).WhichOneof("type") != "script_finished" or message.script_finished not in ends:
            self.drawn.append(message)

    def send(self, *widgets: WidgetState, fragment: str = "") -> None:
        """Send the request of `run` without waiting: for an unknown part there is never a response."""
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.fragment_id = self.query, fragment
        if self.page:
            state.page_script_hash = self.page
        else:
            state.page_name = self.path
        state.widget_states.widgets.extend(widgets)
        self.socket.send(asked.SerializeToString())

    def _next(self) -> ForwardMsg:
        raw = self.socket.recv(DEADLINE)
        assert isinstance(raw, bytes)
        self.arrived.append(raw)
        message = ForwardMsg.FromString(raw)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id
            self.drawn = []
        elif kind == "navigation":
            self.page = message.navigation.page_script_hash
        elif kind == "auth_redirect":
            self.sent_on = message.auth_redirect.url
        return message

    def elements(self) -> list[Any]:
        """Return the drawn elements as they were sent to the browser."""
        return [
            getattr(message.delta.new_element, kind)
            for message in self.drawn
            if message.WhichOneof("type") == "delta" and (kind := message.delta.new_element.WhichOneof("type"))
        ]

    @property
    def text(self) -> str:
        """Text of all messages of the screen."""
        return "\n".join(str(message) for message in self.drawn)

    def widget(self, key: str, number: int = 0) -> Any:
        """Return an element whose key is or starts with `key`."""
        fits = re.compile(rf"-{re.escape(key)}($| )")
        return [one for one in self.elements() if fits.search(getattr(one, "id", ""))][number]

    def press(self, key: str) -> None:
        self.run(WidgetState(id=self.widget(key).id, trigger_value=True))

    def box(self, key: str) -> bool:
        """Return whether the screen has a nonempty container whose key starts with `key`."""
        names = (message.delta.add_block.id for message in self.drawn if message.WhichOneof("type") == "delta")
        return any(f"-{key}" in name for name in names)

    def fetch(self, file: str) -> str:
        """Request a file that is made on demand; return its address, or an empty text if refused."""
        asked = BackMsg()
        wanted = asked.backend_operation_request
        wanted.request_id, wanted.session_id, wanted.deferred_file.file_id = "1", self.session, file
        self.socket.send(asked.SerializeToString())
        while (message := self._next()).WhichOneof("type") != "backend_operation_response":
            self.drawn.append(message)
        return message.backend_operation_response.deferred_file.url

    @property
    def parts(self) -> set[str]:
        """Ids of the parts of the screen that can be drawn separately."""
        return {message.delta.fragment_id for message in self.drawn if message.delta.fragment_id}

    def holds(self, words: str) -> bool:
        """Return whether words occur in any data that ever arrived."""
        return any(words.encode() in raw for raw in self.arrived)
