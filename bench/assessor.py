"""An assessor without a window: one browser tab over the app's own protocol, and what a person does in it.

Nothing here reaches into the server: screens are asked for as a browser asks for them, parts that draw themselves again
are asked for in their time, components report what their JavaScript would report, files go up and down over HTTP.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2.bidi_component import main as bidi
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from core.project import SCALE
from pages.parts.shared.person import COOKIE
from tests.made.visitor import Visitor, Window

READ = ("", "leaderboard", "disagreements", "changes", "export", "passages", "activity", "judges")
"""Screens that somebody looks at; the first is Home."""
BOUNDARY = "0a1b2c3d4e5f"


class Refused(Exception):
    """The app said that something was not done: a sentence on the screen, or nothing at all."""


class Tab(Window):
    """A tab that keeps what is on the screen by its place, as a browser does, and knows the other screens.

    Attributes:
        shown: elements by their place, each with the part of the screen that draws it.
        screens: the hash of each screen, by its path.
        parts_due: parts that draw themselves again, with the seconds between two times.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shown: dict[tuple[int, ...], tuple[Any, str]] = {}
        self.screens: dict[str, str] = {}
        self.parts_due: dict[str, float] = {}

    def _next(self) -> ForwardMsg:
        message = super()._next()
        # What came is counted by nobody here, and a tab may be open for long.
        self.arrived.clear()
        kind = message.WhichOneof("type")
        if kind == "new_session":
            parts = set(message.metadata.run.fragment_ids)
            self.shown = {place: one for place, one in self.shown.items() if parts and one[1] not in parts}
            if not parts:
                self.parts_due = {}
        elif kind == "delta" and (drawn := message.delta.new_element.WhichOneof("type")):
            element = getattr(message.delta.new_element, drawn)
            self.shown[tuple(message.metadata.delta_path)] = element, message.delta.fragment_id
        elif kind == "navigation":
            self.screens = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self.parts_due[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for part in message.stop_auto_rerun.fragment_ids:
                self.parts_due.pop(part, None)
        return message

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


@dataclass
class Known:
    """What an assessor was told that it is done; `tried` is what was begun, whatever came of it.

    Args:
        texts: the last wording of each question that they edited.
        every: all wordings that they ever typed.
        notes: of the versions that they saved.
        overrides: rating by reason.
        judgments: last value by query and passage.
        judged, downloads: how often; tried_* the same of those begun.
        imported: lines of each run file by the run's name.
        jobs: grading jobs that came to their end.
    """

    texts: dict[str, str] = field(default_factory=dict)
    every: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    overrides: dict[str, int] = field(default_factory=dict)
    judgments: dict[tuple[str, str], int] = field(default_factory=dict)
    judged: int = 0
    tried_judged: int = 0
    downloads: int = 0
    tried_downloads: int = 0
    imported: dict[str, int] = field(default_factory=dict)
    jobs: int = 0
    doubtful: set[str] = field(default_factory=set)
    """Questions, and pairs of query and passage, of which an act has had no answer: either outcome is right."""


class Assessor:
    """Somebody who works on a few queries of their own, and now and then on one that all share.

    Args:
        address: of the app.
        project: its name there.
        name: under which they work.
        queries: their own ones; nobody else changes the questions that are there.
        shared: one to which all add questions.
        passages: of each query, pooled ones.
        dice: theirs.
    """

    def __init__(
        self, address: str, project: str, name: str, queries: list[str], shared: str,
        passages: dict[str, list[str]], dice: Random,
    ) -> None:  # fmt: skip
        self.project, self.name, self.queries, self.shared = project, name, queries, shared
        self.passages, self.dice = passages, dice
        self.visitor = Visitor(address, {COOKIE: name})
        self.known = Known()
        self.tab: Tab = self._opened()
        self.count = 0
        self.acts = 0
        self.window = ""
        self.places: list[tuple[str, str]] = []

    def _opened(self) -> Tab:
        tab = self.visitor.open("", urlencode({"project": self.project}), made=Tab)
        assert isinstance(tab, Tab)
        return tab

    def close(self) -> None:
        self.tab.close()

    def rest(self, seconds: float) -> Iterator[float]:
        """Look at the screen for a while; parts of it that draw themselves again do so. Gives the seconds of each."""
        end = time.monotonic() + seconds
        due = {part: time.monotonic() + every for part, every in self.tab.parts_due.items()}
        while due and (at := min(due.values())) < end:
            time.sleep(max(0.0, at - time.monotonic()))
            part = min(due, key=due.__getitem__)
            began = time.monotonic()
            self.tab.run(fragment=part)
            yield time.monotonic() - began
            due = {
                one: due.get(one, 0.0) if one != part and one in due else time.monotonic() + every
                for one, every in self.tab.parts_due.items()
            }
        time.sleep(max(0.0, end - time.monotonic()))

    # What a person does. Each is one thing to wait for, and raises `Refused` where the app says that it was not done.

    def come_again(self) -> None:
        """Close the tab and open the app in another one."""
        self.tab.close()
        self.tab = self._opened()

    def look(self) -> None:
        self.tab.go(self.dice.choice(READ), project=self.project)
        self._nothing_broke()

    def open_bank(self, query: str | None = None) -> None:
        query = query or self.dice.choice(self.queries)
        self.tab.go("question_bank", project=self.project, query=query)
        self._nothing_broke()

    def open_passage(self) -> None:
        if not self.places:
            self.places = [(query, one) for query in self.queries for one in self.passages[query]]
            self.dice.shuffle(self.places)
        query, passage = self.places.pop()
        self.tab.go("passages", project=self.project, query=query, passage=passage)
        self._nothing_broke()

    def edit(self) -> None:
        """Reword one of the questions on the screen."""
        bar, rows = self.tab.data("bar_of_the_bank"), self.tab.data("questions_of_a_query")["rows"]
        row = self.dice.choice(rows)
        text = self._wording()
        self.known.doubtful.add(row["id"])
        self.known.every.append(text)
        self._bank(bar, {"act": "edit", "id": row["id"], "field": "text", "value": text, "base": row["text"]})
        self._took(row["id"], text)

    def add(self) -> None:
        """Add a question to the query that all work on, and write it."""
        bar = self.tab.data("bar_of_the_bank")
        name, text = f"{self.dice.getrandbits(48):012x}", self._wording()
        key = f"{self.shared}/{name}"
        self.known.doubtful.add(key)
        self.known.every.append(text)
        typed = {"act": "edit", "id": key, "field": "text", "value": text, "base": ""}
        self._bank(bar, {"act": "add", "query": self.shared, "name": name}, typed)
        self._took(key, text)

    def save(self) -> None:
        bar = self.tab.data("bar_of_the_bank")
        if not bar["unsaved"]:
            return
        note = f"{self.name} saves {self._number()}"
        self._bank(bar, {"act": "save", "note": note})
        now = self.tab.data("bar_of_the_bank")
        if now["unsaved"] or now["version"] <= bar["version"]:
            raise Refused(f"nothing was saved: {now['said']} {now['conflicts']} conflicts {self.tab.says()}")
        self.known.notes.append(note)

    def override(self) -> None:
        """Rate one question of the open passage by hand."""
        shown = self.tab.data("ratings")
        reason, question = f"{self.name} rates {self._number()}", self.dice.choice(shown["questions"])["id"]
        act = f"{time.time()}.{self.dice.random()}"
        rating = self.dice.randrange(6)
        told = {"id": act, "what": "override", "at": shown["at"], "ratings": {question: rating}, "reason": reason}
        self.tab.report("ratings", "act", told)
        now = self.tab.data("ratings")
        if now["handled"] != act or now["refused"]:
            raise Refused(f"not overridden: {now['refused']} {self.tab.says()}")
        self.known.overrides[reason] = rating

    def judge(self) -> None:
        """Judge the open passage."""
        at = tuple(self.tab.data("ratings")["at"])
        value = self.dice.choice(list(SCALE))
        self.known.tried_judged += 1
        self.known.doubtful.add(" ".join(at))
        self.tab.click(label=SCALE[value].capitalize())
        if self.tab.must_find(label=SCALE[value].capitalize())[0].type != "primary":
            raise Refused(f"not judged: {self.tab.says()}")
        self.known.doubtful.discard(" ".join(at))
        self.known.judgments[at[0], at[1]] = value
        self.known.judged += 1

    def open_export(self) -> None:
        self.tab.go("export", project=self.project)
        self._nothing_broke()

    def download(self) -> None:
        """Take the qrels."""
        button = self.tab.must_find(label="Download qrels")[0]
        self.known.tried_downloads += 1
        address = self.tab.fetch(button.deferred_file_id)
        answer = self.visitor.ask(address)
        if answer.status != 200 or any(len(line.split()) != 4 for line in answer.body.decode().splitlines()):
            raise Refused(f"these are no qrels: {answer.status} {answer.body[:100]!r}")
        self.known.downloads += 1

    def grade(self) -> None:
        """Start a grading job with the usual grader and watch it to its end."""
        self.tab.go("grading", project=self.project)
        self._nothing_broke()
        if self.tab.find(label="Grade") is None:
            raise Refused("there is nothing to grade")
        self.tab.click(label="Grade")
        if self.tab.find(label="Cancel") is None and "job" not in self.tab.text:
            raise Refused(f"the job did not begin: {self.tab.says()}")
        while self.tab.find(label="Cancel") is not None:
            for _ in self.rest(3.0):
                pass
            if not self.tab.parts_due:
                self.tab.run()
        if said := self.tab.says():
            raise Refused(said)
        self.known.jobs += 1

    def import_run(self, lines: int) -> None:
        """Drag a run file into Home, and import it."""
        self.tab.go("", project=self.project)
        name = f"run-of-{self.name}-{self._number()}".replace(" ", "-")
        found = [(query, passage) for query in self.queries for passage in self.passages[query]][:lines]
        rows = [f"{query} Q0 {passage} {at} {1000 - at} {name}" for at, (query, passage) in enumerate(found, 1)]
        box, part = next(one for one in self.tab.shown.values() if type(one[0]).__name__ == "FileUploader")
        state = self.tab.upload(self.visitor, f"{name}.run", ("\n".join(rows) + "\n").encode(), name)
        self.tab.run(WidgetState(id=box.id, file_uploader_state_value=state), fragment=part)
        self.tab.click(label="Import")
        if not any(type(one).__name__ == "Alert" and "Imported" in one.body for one, _ in self.tab.shown.values()):
            raise Refused(f"not imported: {self.tab.says()}")
        self.known.imported[name] = len(rows)

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _wording(self) -> str:
        return f"What does {self.name} want to know in edit {self._number()}?"

    def _took(self, key: str, text: str) -> None:
        self.known.texts[key] = text
        self.known.doubtful.discard(key)

    def _bank(self, bar: dict[str, Any], *acts: dict[str, Any]) -> None:
        """Send acts of the question bank through its channel, and hear that they were done."""
        if bar["window"] != self.window:
            self.window, self.acts = bar["window"], 0
        place = {"window": bar["window"], "project": bar["project"], "author": bar["author"]}
        sent = [{"n": self.acts + at, **place, **act} for at, act in enumerate(acts, 1)]
        self.acts += len(acts)
        element, part = self.tab.must_find(component_name="bar_of_the_bank")
        self.tab.run(WidgetState(id=element.id, json_value=json.dumps({"acts": sent})), fragment=part)
        now = self.tab.data("bar_of_the_bank")
        if now["done"] < self.acts or now["refused"]:
            raise Refused(f"not done: {now['refused']} {now['said']} {self.tab.says()}")

    def _nothing_broke(self) -> None:
        if said := self.tab.says():
            raise Refused(said)
