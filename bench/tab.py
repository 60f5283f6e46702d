"""A tab of a browser that has no window: what stands on the screen, and what is done there, by the app's own protocol.

Nothing here reaches into the server: screens are asked for as a browser asks for them, parts that draw themselves again
are asked for in their time, components report what their JavaScript would report, files go up over HTTP.
"""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2.bidi_component import main as bidi
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.made.visitor import Visitor, Window

BOUNDARY = "0a1b2c3d4e5f"


class Refused(Exception):
    """The app said that something was not done: a sentence on the screen, or nothing at all."""


class Tab(Window):
    """A tab that keeps what is on the screen by its place, as a browser does, and knows the other screens.

    Attributes:
        shown: elements by their place, each with the part of the screen that draws it.
        screens: the hash of each screen, by its path.
        parts_due: parts that draw themselves again, with the seconds between two times.
        next_due: when each does so next, by the clock that never goes back.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shown: dict[tuple[int, ...], tuple[Any, str]] = {}
        self.screens: dict[str, str] = {}
        self.parts_due: dict[str, float] = {}
        self.next_due: dict[str, float] = {}

    def _next(self) -> ForwardMsg:
        message = super()._next()
        # What came is counted by nobody here, and a tab may be open for long.
        self.arrived.clear()
        kind = message.WhichOneof("type")
        if kind == "new_session":
            parts = set(message.metadata.run.fragment_ids)
            self.shown = {place: one for place, one in self.shown.items() if parts and one[1] not in parts}
            if not parts:
                self.parts_due, self.next_due = {}, {}
        elif kind == "delta" and (drawn := message.delta.new_element.WhichOneof("type")):
            element = getattr(message.delta.new_element, drawn)
            self.shown[tuple(message.metadata.delta_path)] = element, message.delta.fragment_id
        elif kind == "navigation":
            self.screens = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self.parts_due[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            self.drawn_again(message.auto_rerun.fragment_id)
        elif kind == "stop_auto_rerun":
            for part in message.stop_auto_rerun.fragment_ids:
                self.parts_due.pop(part, None)
                self.next_due.pop(part, None)
        return message

    def drawn_again(self, part: str) -> None:
        """Count the time to the next time from now."""
        if part in self.parts_due:
            self.next_due[part] = time.monotonic() + self.parts_due[part]

    def go(self, screen: str, **query: str) -> None:
        """Follow a link of the menu or of a list."""
        self.page, self.query = self.screens[screen], urlencode(query)
        self.run()

    def find(self, **wanted: str) -> tuple[Any, str] | None:
        """The first element with such a label or name of a component, with its part; None where there is none."""
        for element, part in self.shown.values():
            if all(str(getattr(element, name, "")).endswith(value) for name, value in wanted.items()):
                return element, part
        return None

    def must_find(self, **wanted: str) -> tuple[Any, str]:
        found = self.find(**wanted)
        if found is None:
            raise Refused(f"there is no {wanted} on the screen; it says: {self.says()}")
        return found

    def data(self, component: str) -> dict[str, Any]:
        """What a component of ours was given to show."""
        return dict(json.loads(self.must_find(component_name=component)[0].json))

    def news(self) -> int:
        """The number of the newest act of others that the screen does not show; 0 for none."""
        found = self.find(component_name="redraw")
        return 0 if found is None else int(json.loads(found[0].json)["news"])

    def report(self, component: str, event: str, value: object) -> None:
        """Let a component report something that happened in it."""
        element, part = self.must_find(component_name=component)
        told = json.dumps([{"event": event, "value": value}])
        self.run(WidgetState(id=bidi._make_trigger_id(element.id, "events"), json_trigger_value=told), fragment=part)

    def click(self, **wanted: str) -> None:
        button, part = self.must_find(**wanted)
        if button.disabled:
            raise Refused(f"the button {button.label} cannot be pressed")
        self.run(WidgetState(id=button.id, trigger_value=True), fragment=part)

    def says(self) -> str:
        """What is told on the screen as an error."""
        said = [one for one, _ in self.shown.values() if type(one).__name__ in ("Alert", "Exception")]
        errors = [one for one in said if type(one).__name__ == "Exception" or one.format == one.ERROR]
        return " ".join(str(getattr(one, "body", "") or getattr(one, "message", "")) for one in errors)

    def upload(self, visitor: Visitor, name: str, data: bytes, number: str) -> FileUploaderState:
        """Send a file up, as the box for files does before it tells the app of it."""
        asked = BackMsg()
        asked.file_urls_request.request_id = number
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self.session
        self.socket.send(asked.SerializeToString())
        while (message := self._next()).WhichOneof("type") != "file_urls_response":
            pass
        (urls,) = message.file_urls_response.file_urls
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
        answer = visitor.ask(
            urls.upload_url,
            "PUT",
            head.encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode(),
            Content_Type=f"multipart/form-data; boundary={BOUNDARY}",
            X_Xsrftoken=visitor.cookies["_streamlit_xsrf"],
        )
        if answer.status >= 300:
            raise Refused(f"the file was not taken: {answer.status} {answer.body[:200]!r}")
        info = UploadedFileInfo(name=name, size=len(data), file_id=urls.file_id)
        info.file_urls.CopyFrom(urls)
        return FileUploaderState(uploaded_file_info=[info])
