"""Acts on the Question bank: editing, adding, weighting, undoing, saving."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, expect

from tests.soak.checks import REFUSED_SAVES
from tests.soak.person import PATIENCE, Broken, NotNow, Person
from tests.soak.screens import opened_query, rows

WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0)
ASKS = ("What is known about {}?", "How does {} matter here?", "Why do people ask about {}?", "Is {} safe?")
PRESSES = 3
"""Times that a person presses a button of which nothing comes."""
WORD = re.compile(r"[a-zA-Z]{5,}")


@dataclass(frozen=True)
class Row:
    """A question on the screen: what is known of it, and where it stands."""

    question: dict[str, Any]
    changed: bool
    box: Locator

    @property
    def question_id(self) -> str:
        return str(self.question["question_id"])


def _rows(person: Person) -> list[Row]:
    """The questions on the screen."""
    kept = person.facts("unsaved", author=person.name)
    known = kept["saved"] | kept["drafts"]
    found = []
    for row, text, weight, active in rows(person):
        box = row_of(person, row)
        question = known.get(row)
        if question is not None:
            # What is before one's eyes, whatever others did since.
            seen = question | {"text": text, "weight": float(weight), "active": active}
            found.append(Row(seen, question["question_id"] in kept["drafts"], box))
    return found


def row_of(person: Person, question_id: str) -> Locator:
    """Where a question stands."""
    return person.page.locator(f'[data-question="{question_id}"]')


def any_row(person: Person, changed: bool = False) -> Row:
    """Any question on the screen, or any changed one."""
    found = [row for row in _rows(person) if row.changed or not changed]
    if not found:
        raise NotNow
    return person.random.choice(found)


def wording(person: Person, query: str) -> str:
    """A question out of the words of a passage; sometimes one that was asked before, whose grades are known."""
    if person.chance(0.2):
        texts = [question["text"] for question in person.facts("questions", version=1)]
        return str(person.random.choice([text for text in texts if text]))
    words = WORD.findall(person.random.choice([text for at, _, text in person.facts("ranked") if at == query]))
    about = " ".join(person.random.sample(words, 2)) if len(words) > 1 else "this"
    return person.sign(person.random.choice(ASKS).format(about))


def reword(person: Person) -> str:
    row = any_row(person)
    text = wording(person, row.question["query_id"])
    if text == row.question["text"]:
        raise NotNow
    person.type(row.box.locator("textarea").first, text)
    expect(row.box.locator("textarea").first).to_have_value(text, timeout=PATIENCE)
    person.unsaved.step({row.question_id: {"text": text}})
    return f"{row.question_id}: {text}"


def weigh(person: Person) -> str:
    row = any_row(person)
    weight = person.random.choice([weight for weight in WEIGHTS if weight != row.question["weight"]])
    person.type(row.box.get_by_role("spinbutton", name="Weight"), f"{weight:g}")
    person.unsaved.step({row.question_id: {"weight": weight}})
    return f"{row.question_id}: {weight:g}"


def retire_or_restore(person: Person) -> str:
    row = any_row(person)
    with person.drawn():
        row.box.get_by_role("checkbox", name="Active").click()
    person.unsaved.step({row.question_id: {"active": not row.question["active"]}})
    return f"{row.question_id}: {'restored' if not row.question['active'] else 'retired'}"


def add(person: Person) -> str:
    query = opened_query(person)
    before = person.facts("unsaved", author=person.name)["drafts"]
    if person.chance(0.3):
        with person.drawn():
            person.page.keyboard.press("Alt+n")
    else:
        person.press("Add a question")
    new = [key for key in person.facts("unsaved", author=person.name)["drafts"] if key not in before]
    if len(new) != 1:
        raise Broken(f"One question was added, and {len(new)} came")
    person.unsaved.step({new[0]: {"text": ""}})
    text = wording(person, query)
    box = row_of(person, new[0]).locator("textarea").first
    expect(box).to_be_focused(timeout=PATIENCE)
    person.type(box, text)
    person.unsaved.step({new[0]: {"text": text}})
    return f"{new[0]}: {text}"


def take_back(person: Person) -> str:
    row = any_row(person, changed=True)
    person.press("Take back", row.box)
    person.unsaved.take_back([row.question_id])
    return row.question_id


def undo(person: Person) -> str:
    if not person.unsaved.done or not person.button("Undo").is_enabled():
        raise NotNow
    presses = _press_until_done(person, "Undo")
    person.unsaved.undo()
    return f"{len(person.unsaved.now)} changes are left" + presses


def redo(person: Person) -> str:
    if not person.unsaved.undone or not person.button("Redo").is_enabled():
        raise NotNow
    presses = _press_until_done(person, "Redo")
    person.unsaved.redo()
    return f"{len(person.unsaved.now)} changes are there" + presses


def _press_until_done(person: Person, name: str) -> str:
    """Press a button, and once more where nothing came of it; says how often where it was not once.

    Streamlit forgets all pressed buttons when a run ends, also one that was pressed just then for the next run. Where
    a job is watched, runs end every other second.
    """
    before = person.facts("unsaved", author=person.name)["steps"]
    for presses in range(1, PRESSES + 1):
        person.press(name)
        if person.facts("unsaved", author=person.name)["steps"] != before:
            return "" if presses == 1 else f", PRESSED {presses} TIMES"
    raise Broken(f"{name} was pressed {PRESSES} times, and nothing came of it")


def save(person: Person) -> str:
    """Save with a note, by button or by key."""
    _can_save(person)
    note = person.sign("for a reason")
    box = person.page.get_by_role("textbox", name="Note", exact=True).first
    box.fill(note)
    return _save(person, note)


def save_without_note(person: Person) -> str:
    """Save without a note: the version says itself what changed, as the box for the note announced."""
    _can_save(person)
    box = person.page.get_by_role("textbox", name="Note", exact=True).first
    if box.input_value():
        raise NotNow
    return _save(person, str(box.get_attribute("placeholder")))


def _can_save(person: Person) -> None:
    if not person.there(person.button("Save version")) or not person.button("Save version").first.is_enabled():
        raise NotNow


def _save(person: Person, note: str) -> str:
    if not person.there(person.button("Save version")):
        return "a conflict came up"
    mine = person.unsaved.now
    before = {one["version"] for one in person.facts("versions")}
    person.warned += REFUSED_SAVES
    with person.drawn():
        if person.chance(0.3):
            person.page.keyboard.press("Control+s")
        else:
            person.button("Save version").first.click()
    new = [v for v in person.facts("versions") if v["version"] not in before and v["author"] == person.name]
    if not new and not person.facts("unsaved", author=person.name)["drafts"] and mine:
        # All of it is what somebody else saved meanwhile.
        person.unsaved.saved()
        return "nothing differed from what is saved"
    if not new:
        return "was refused: " + "; ".join(person.page.get_by_test_id("stAlertContentError").all_inner_texts())
    assert [v["note"] for v in new] == [note], f"{person.name} saved once with the note '{note}', and there is {new}"
    version = new[0]["version"]
    person.sees(re.compile(r"No unsaved changes\."))
    kept = {question["question_id"]: question for question in person.facts("questions", version=version)}
    for question_id, fields in mine.items():
        lost = {name: value for name, value in fields.items() if kept[question_id][name] != value}
        assert not lost, f"Version {version} does not hold what {person.name} typed into {question_id}: {lost}"
    person.unsaved.saved()
    person.saved.append([version, note])
    person.expected = ["save bank"]
    return f"version {version}: {note}"


def discard_all(person: Person) -> str:
    button = person.button("Discard all")
    if not person.there(button) or not button.first.is_enabled():
        raise NotNow
    person.press("Discard all")
    person.unsaved.take_back(list(person.unsaved.now))
    return "no changes are left"


def settle_conflict(person: Person) -> str:
    conflicts = person.facts("unsaved", author=person.name)["conflicts"]
    keep = person.random.choice(["Keep mine", "Keep theirs"])
    if not conflicts or not person.there(person.button(keep)):
        raise NotNow
    person.press(keep)
    left = person.facts("unsaved", author=person.name)["conflicts"]
    settled = [question_id for question_id in conflicts if question_id not in left]
    assert len(settled) == 1, f"One conflict of {conflicts} was settled, and {left} are left"
    if keep == "Keep theirs":
        person.unsaved.take_back(settled)
    return f"{keep}: {settled[0]}"


def open_query(person: Person) -> str:
    texts = person.facts("queries")
    here = opened_query(person)
    query = person.random.choice([query for query in texts if query != here])
    link = person.page.get_by_role("navigation", name="Queries").get_by_role("link").filter(has_text=texts[query])
    with person.drawn():
        link.first.click()
    expect(person.heading(texts[query]).first).to_be_visible(timeout=PATIENCE)
    return query
