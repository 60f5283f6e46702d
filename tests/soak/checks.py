"""What must hold after every act: no error anywhere, nobody's work lost, and the screen shows what is true."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.soak.person import PATIENCE, Broken, Inside, Person
from tests.soak.screens import SCREENS

ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"
LOST = re.compile("Connection error|Connection lost|Connecting|Is Streamlit still running")
TROUBLE = re.compile(r"Traceback|WARNING|ERROR|Error:|Exception|INTERNAL|Uncaught")
"""What a server's log must not say."""
BLINK = 200
"""Milliseconds between two looks at a screen that is not right yet."""


@dataclass(frozen=True)
class Before:
    """What was true when a round began.

    Args:
        kept: fingerprints of what must never change, see `facts.kept`.
        act: key of the last act in the log.
        busy: whether a grading job ran.
    """

    kept: dict[str, list[int]]
    act: int
    busy: bool


@dataclass(frozen=True)
class Log:
    """What the server prints.

    Args:
        since: bytes at its beginning that are not looked at.
    """

    path: Path
    since: int = 0

    def text(self) -> str:
        return self.path.read_bytes()[self.since :].decode("utf-8", errors="replace")


def look(inside: Inside, persons: Sequence[Person]) -> Before:
    """Take down what is true before a round."""
    kept = inside.ask("kept", upto={})
    return Before(kept, kept["activity"][0], _busy(inside))


def _busy(inside: Inside) -> bool:
    job = inside.ask("job")
    return job is not None and not job["over"]


REFUSED_SAVES = ("no words yet", "has no text", "changed by somebody else")
"""What a save may be refused for."""


def check(person: Person, before: Before, log: Log, others: bool) -> None:
    """Everything that must hold after an act of a person.

    Args:
        others: whether somebody else acted meanwhile.

    Raises:
        Broken: something does not hold.
    """
    _nothing_went_wrong(person, log)
    _no_work_is_lost(person)
    _the_past_stays(person.inside, before)
    _the_log_of_acts_says_it(person, before)
    _labels_are_right(person)
    # Whoever walks away from a job that they started sees what was true before it ended.
    may_lag = others or before.busy or "start job" in person.expected or len(person.context.pages) > 1
    _the_screen_is_true(person, may_lag)


def _nothing_went_wrong(person: Person, log: Log) -> None:
    said = person.page.locator(ERRORS).all_inner_texts()
    wrong = [text for text in said if not any(words in text for words in person.warned)]
    _hold(not wrong, f"The screen {person.page.url} shows an error: {wrong}")
    # What was said once may not come again by itself; why a save was refused is said as long as that holds.
    elsewhere = person.screen() != "Question bank"
    person.warned = [
        words
        for words in person.warned
        if any(words in text for text in said) or (elsewhere and words in REFUSED_SAVES)
    ]
    lost = person.page.get_by_text(LOST)
    _hold(not person.there(lost), "The connection is lost.")
    _hold(not person.page_errors, f"The browser reports errors: {person.page_errors}")
    text = log.text()
    found = TROUBLE.search(text)
    _hold(found is None, f"The server's log: {text[found.start() :][:3000] if found else ''}")


def _no_work_is_lost(person: Person) -> None:
    kept = person.facts("unsaved", author=person.name)
    for question_id, fields in person.unsaved.now.items():
        # Changed back to what the bank says, a question is no draft any more.
        there = kept["drafts"].get(question_id) or kept["saved"].get(question_id) or {}
        missing = {name: value for name, value in fields.items() if there.get(name) != value}
        _hold(not missing, f"Lost of {person.name}'s draft of {question_id}: {missing}; there is {there}")
    foreign = [
        question_id
        for question_id, question in kept["drafts"].items()
        if question_id not in person.unsaved.now and not _same(question, kept["saved"].get(question_id))
    ]
    _hold(not foreign, f"{person.name} has drafts that they never made, or took back: {foreign}")
    steps = [len(person.unsaved.done), len(person.unsaved.undone)]
    _hold(kept["steps"] == steps, f"{person.name} can undo and redo {kept['steps']} steps, they made {steps}")
    mine = [[one["version"], one["note"]] for one in person.facts("versions") if one["author"] == person.name]
    lost_versions = [one for one in person.saved if one not in mine]
    _hold(not lost_versions, f"Versions that {person.name} saved are gone: {lost_versions}; there are {mine}")
    given = person.facts("given", author=person.name)
    judged = {f"{query} {passage}": value for (query, passage), value in person.judged.items()}
    _hold(given["judgments"] == judged, f"{person.name} judged {judged}, kept are {given['judgments']}")
    for reason, rating in person.overridden.items():
        one = given["overrides"].get(reason)
        _hold(one is not None and rating == one["rating"], f"The override '{reason}' is lost: {one}")


def _same(one: dict[str, Any], other: dict[str, Any] | None) -> bool:
    return other is not None and {**one, "position": None} == {**other, "position": None}


def _the_past_stays(inside: Inside, before: Before) -> None:
    now = inside.ask("kept", upto={table: row[0] for table, row in before.kept.items()})
    changed = [table for table, row in before.kept.items() if now[table][2] != row[1]]
    _hold(not changed, f"What is only ever added to was changed: {changed}")


def _the_log_of_acts_says_it(person: Person, before: Before) -> None:
    # A job ends when it ends, in a round of its own.
    said = [act for _, act, _ in person.facts("acts", author=person.name, after=before.act) if act[:4] != "job "]
    _hold(
        Counter(said) == Counter(person.expected),
        f"The log of {person.name}'s acts should have {person.expected} more and has {said}",
    )


def _labels_are_right(person: Person) -> None:
    found = person.facts("labels", policy={})
    _hold(not found["differ"], f"Labels of core and labels from scratch differ: {found['differ']}")


def _the_screen_is_true(person: Person, may_lag: bool) -> None:
    """Hold what the screen shows against the facts.

    Args:
        may_lag: whether something may have changed since the screen was drawn: then it is looked at anew.
    """
    shows = SCREENS.get(person.screen() or "")
    if shows is None:
        return
    deadline = time.monotonic() + PATIENCE / 1000
    while wrong := shows(person):
        if may_lag:
            # From here on it must be right, unless somebody's work comes in between again.
            stamp = person.facts("stamp")
            person.look_again()
            may_lag = person.facts("stamp") != stamp
        elif time.monotonic() > deadline:
            raise Broken(f"The screen {person.page.url} is not true: {wrong}")
        else:
            # Elements are drawn one after the other.
            person.page.wait_for_timeout(BLINK)


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
