"""An assessor without a window: what a person does in one browser tab, and what they know to be done."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.WidgetStates_pb2 import WidgetState

from bench.tab import Refused, Tab
from bench.team_logins import Seat
from core.project import SCALE
from tests.made.visitor import Visitor

READ = ("", "leaderboard", "disagreements", "changes", "export", "passages", "activity", "judges")
"""Screens that somebody looks at; the first is Home."""
LOGGED_IN = {"assessor": ("my_work",), "organizer": ("my_work", "people", "adjudication")}
"""Those that a role adds."""
BETWEEN_REDRAWS, REDRAWS_TIMES = 30.0, 100
"""Seconds between two times that a screen shows by itself what others saved: at least, and in times of how long that
took, as redraw.js has it."""


def _reason(name: str) -> str:
    """What begins the reasons of somebody's overrides."""
    return f"{name} rates "


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
        refused: wordings that they tried where they may not.
        doubly: ratings and judgments that they gave in a query that they judge doubly.
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
    refused: list[str] = field(default_factory=list)
    doubly: int = 0
    doubtful: set[str] = field(default_factory=set)
    """Questions, and pairs of query and passage, of which an act has had no answer: either outcome is right."""


class Assessor:
    """Somebody who works on a few queries of their own, and now and then on one that all share.

    Args:
        project: its name at the app.
        seat: who they are, and what is theirs.
        visitor: their browser.
        passages: of each query, pooled ones.
        dice: theirs.
    """

    def __init__(
        self, project: str, seat: Seat, visitor: Visitor, passages: dict[str, list[str]], dice: Random
    ) -> None:
        self.project, self.seat, self.name = project, seat, seat.name
        self.queries, self.shared = list(seat.queries), seat.shared
        self.passages, self.dice, self.visitor = passages, dice, visitor
        self.known = Known()
        self.tab: Tab = self._opened()
        self.count = 0
        self.redrawn, self.rests = time.monotonic(), BETWEEN_REDRAWS
        self.acts = 0
        self.window = ""
        self.places: list[tuple[str, str]] = []

    def _opened(self) -> Tab:
        tab = self.visitor.open("", urlencode({"project": self.project}), made=Tab)
        assert isinstance(tab, Tab)
        return tab

    def close(self) -> None:
        self.tab.close()

    def rest(self, seconds: float) -> Iterator[tuple[str, float]]:
        """Look at the screen for a while; parts of it draw themselves again, and it shows what others saved.

        Gives what happened, and the seconds that each took.
        """
        end = time.monotonic() + seconds
        while (due := self.tab.next_due) and min(due.values()) < end:
            part = min(due, key=due.__getitem__)
            time.sleep(max(0.0, due[part] - time.monotonic()))
            began = time.monotonic()
            self.tab.run(fragment=part)
            self.tab.drawn_again(part)
            yield "a part draws itself again", time.monotonic() - began
            if (news := self.tab.news()) and time.monotonic() - self.redrawn >= self.rests:
                # As redraw.js does for somebody who only looks.
                self.redrawn = began = time.monotonic()
                self.tab.report("redraw", "redraw", news)
                took = time.monotonic() - began
                self.rests = max(BETWEEN_REDRAWS, REDRAWS_TIMES * took)
                yield "what others saved is shown", took
        time.sleep(max(0.0, end - time.monotonic()))

    # What a person does. Each is one thing to wait for, and raises `Refused` where the app says that it was not done.

    def come_again(self) -> None:
        """Close the tab and open the app in another one."""
        self.tab.close()
        self.tab = self._opened()

    def look(self) -> None:
        self.tab.go(self.dice.choice((*READ, *LOGGED_IN.get(str(self.seat.role), ()))), project=self.project)
        self._nothing_broke()

    def open_bank(self, query: str | None = None) -> None:
        query = query or self.dice.choice(self.queries)
        self.tab.go("question_bank", project=self.project, query=query)
        self._nothing_broke()

    def open_passage(self) -> None:
        if not self.places:
            # What is judged doubly comes as often as one's own, so that both of a pair come there.
            doubled = [self.seat.doubled] * len(self.queries) if self.seat.doubled else []
            self.places = [(query, one) for query in (*self.queries, *doubled) for one in self.passages[query]]
            self.dice.shuffle(self.places)
        query, passage = self.places.pop()
        self.tab.go("passages", project=self.project, query=query, passage=passage)
        self._nothing_broke()
        if query == self.seat.doubled and _reason(self.seat.partner) in self.tab.text:
            raise Refused(f"blind, and shown what {self.seat.partner} gave for {query} {passage}")

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
        reason, question = f"{_reason(self.name)}{self._number()}", self.dice.choice(shown["questions"])["id"]
        act = f"{time.time()}.{self.dice.random()}"
        rating = self.dice.randrange(6)
        told = {"id": act, "what": "override", "at": shown["at"], "ratings": {question: rating}, "reason": reason}
        self.tab.report("ratings", "act", told)
        now = self.tab.data("ratings")
        if now["handled"] != act or now["refused"]:
            raise Refused(f"not overridden: {now['refused']} {self.tab.says()}")
        self.known.overrides[reason] = rating
        self.known.doubly += shown["at"][0] == self.seat.doubled

    def overstep(self) -> None:
        """Try to reword a question of a query that is not theirs, which has to be refused."""
        self.tab.go("question_bank", project=self.project, query=self.seat.foreign)
        self._nothing_broke()
        bar, rows = self.tab.data("bar_of_the_bank"), self.tab.data("questions_of_a_query")["rows"]
        row, text = rows[0], self._wording()
        self.known.refused.append(text)
        try:
            self._bank(bar, {"act": "edit", "id": row["id"], "field": "text", "value": text, "base": row["text"]})
        except Refused:
            return
        raise Refused(f"{self.name} could reword a question of {self.seat.foreign}")

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
        self.known.doubly += at[0] == self.seat.doubled

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
