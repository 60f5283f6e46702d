"""Acts on the Question bank that change several questions, or bring back what was: its menus, dialogs and versions."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Locator, expect

from tests.made.browser import bring_into_view
from tests.soak.acts_bank import WEIGHTS, Row, any_row, wording
from tests.soak.person import GLANCE, PATIENCE, Broken, NotNow, Person
from tests.soak.screens import opened_query, rows

FIELDS = ("text", "weight", "active")
"""What of a question a person sees at once, and remembers."""
MOST_DRAFTS = 12
"""Unsaved changes beyond which a person adds no more of them at once."""


def duplicate(person: Person) -> str:
    """Make another question that says the same."""
    row, menu = _menu(person)
    with _changing(person) as changed:
        person.press("Duplicate", menu)
    if len(changed) != 1:
        raise Broken(f"One question was duplicated, and {changed} came")
    (new,) = changed
    person.unsaved.step({new: {field: row.question[field] for field in FIELDS}})
    return f"{row.question_id} as {new}"


def move(person: Person) -> str:
    """Move a question up or down; what stands at an end stays."""
    way = person.random.choice(["Move up", "Move down"])
    row, menu = _menu(person)
    before = [end for end, *_ in rows(person)]
    with _changing(person) as changed:
        person.press(way, menu)
    after = [end for end, *_ in rows(person)]
    if changed:
        person.unsaved.step({question_id: {} for question_id in changed})
    # What others saved meanwhile may stand there, too.
    if len(set(after)) < len(after) or not set(before) <= set(after):
        raise Broken(f"Moving {row.question_id} turned {before} into {after}")
    return f"{row.question_id}: {way}, {len(changed)} changed"


def split(person: Person) -> str:
    """Make two questions of one, which is retired."""
    row, menu = _menu(person)
    person.press("Split", menu)
    dialog = person.dialog()
    texts = [person.sign("What comes first?"), person.sign("What comes then?")]
    person.type(dialog.get_by_role("textbox", name="One question a line"), "\n".join(texts))
    with _changing(person) as changed:
        person.press("Split", dialog)
        expect(dialog).to_have_count(0, timeout=PATIENCE)
    _came(changed, texts)
    made = {key: {"text": question["text"]} for key, question in changed.items() if question["text"] in texts}
    person.unsaved.step(made | {row.question_id: {"active": False}})
    return f"{row.question_id} in {len(made)}"


def paste(person: Person) -> str:
    """Add several questions as a list."""
    if len(person.unsaved.now) > MOST_DRAFTS:
        raise NotNow
    query = opened_query(person)
    texts = [person.sign(f"{number} {wording(person, query)}") for number in range(1, 4)]
    person.press("Paste a list")
    dialog = person.dialog()
    person.type(dialog.get_by_role("textbox", name=re.compile("^One question a line")), "- " + "\n- ".join(texts))
    with _changing(person) as changed:
        person.press("Add them", dialog)
        expect(dialog).to_have_count(0, timeout=PATIENCE)
    # A number before a question is taken for that of a list only where it has a dot or a bracket.
    _came(changed, texts)
    person.unsaved.step({key: {"text": question["text"]} for key, question in changed.items()})
    return f"{len(texts)} questions"


def several(person: Person) -> str:
    """Weigh, retire or restore all questions of a query."""
    query = opened_query(person)
    kept = person.facts("unsaved", author=person.name)
    there = [q for q in (kept["saved"] | kept["drafts"]).values() if q["query_id"] == query]
    if len(there) < 2:
        raise NotNow
    person.press("Several at once")
    dialog = person.dialog()
    with person.drawn():
        dialog.get_by_test_id("stCheckbox").locator("label").first.click()
    act = person.random.choice(["Set the weight", "Retire", "Restore", "Restore"])
    fields: dict[str, Any] = {"active": act == "Restore"}
    if act == "Set the weight":
        weight = person.random.choice([weight for weight in WEIGHTS if weight != 1.0])
        person.type(dialog.locator("input[type=number]"), f"{weight:g}")
        fields = {"weight": weight}
    label = act if act == "Set the weight" else f"{act} {len(there)}"
    with _changing(person) as changed:
        person.press(label, dialog)
        expect(dialog).to_have_count(0, timeout=PATIENCE)
    ((field, value),) = fields.items()
    if any(question[field] != value for question in there):
        person.unsaved.step({question["question_id"]: fields for question in there})
    elif changed:
        raise Broken(f"Nothing was to change, and {list(changed)} did")
    return f"{label} in {query}"


def merge(person: Person) -> str:
    """Make one question of two, which are retired."""
    found = rows(person)
    if len(found) < 2:
        raise NotNow
    person.press("Several at once")
    dialog = person.dialog()
    chosen = person.random.sample(sorted({text for _, text, _, _ in found if text}), 2)
    # The list stays open while one chooses, and nothing else can be reached: the dialog itself counts as hidden.
    box = person.page.get_by_test_id("stDialog").get_by_role("combobox", name="Questions", include_hidden=True).first
    # Fields of the questions have options of their own.
    options = person.page.get_by_role("listbox").get_by_role("option")
    bring_into_view(box)
    box.click()
    for text in chosen:
        # Of a long list only what is in sight is there.
        box.fill(text)
        with person.drawn():
            # Where two questions say the same, their ids stand behind it.
            options.filter(has_text=re.compile(rf"^{re.escape(text)}( \(.+\))?$")).first.click()
    person.page.keyboard.press("Escape")
    expect(options).to_have_count(0, timeout=PATIENCE)
    text = person.sign("What about both?")
    person.type(dialog.get_by_role("textbox", name=re.compile("^Merge the chosen")), text)
    with _changing(person) as changed:
        person.press("Merge", dialog)
        expect(dialog).to_have_count(0, timeout=PATIENCE)
    _came(changed, [text])
    fields = {
        key: {"text": text} if question["text"] == text else {"active": False} for key, question in changed.items()
    }
    person.unsaved.step(fields)
    return f"{len(fields)} questions changed"


def bring_back_wording(person: Person) -> str:
    """Bring back what a question was before, out of its history."""
    row, menu = _menu(person)
    if not person.there(person.button("History", menu)):
        raise NotNow
    person.press("History", menu)
    dialog = person.dialog()
    expect(dialog).to_be_visible(timeout=PATIENCE)
    kept = person.facts("unsaved", author=person.name)
    now = (kept["saved"] | kept["drafts"])[row.question_id]
    others = [
        revision
        for revision in person.facts("history", question_id=row.question_id)
        if any(revision["question"][field] != now[field] for field in FIELDS)
    ]
    if not others:
        person.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0, timeout=PATIENCE)
        return f"{row.question_id} was never another"
    chosen = person.random.choice(others)
    person.press("Bring back", dialog.locator(f".st-key-revision-{chosen['version']}"))
    expect(dialog).to_have_count(0, timeout=PATIENCE)
    person.unsaved.step({row.question_id: {field: chosen["question"][field] for field in FIELDS}})
    return f"{row.question_id} of version {chosen['version']}"


def bring_back_version(person: Person) -> str:
    """Bring back an earlier version of the whole bank, as a new one."""
    title = person.page.get_by_role("radio", name=re.compile(r"^Versions of the bank \("))
    button = person.page.get_by_role("button", name=re.compile(r"^Bring back version \d+"))
    if not person.there(button):
        with person.drawn():
            title.click()
    if not person.there(button):
        raise NotNow
    label = button.first.inner_text().strip()
    version = int(label.split()[-1])
    before = person.facts("versions")
    with person.drawn():
        button.first.click()
    made = [one for one in person.facts("versions") if one not in before and one["author"] == person.name]
    if not made:
        return f"{label}: nothing differed"
    if made[0]["note"] != f"Brought back version {version}":
        raise Broken(f"{label} made {made}")
    person.saved.append([made[0]["version"], made[0]["note"]])
    person.expected = ["save bank"]
    return label


def save_while_typing(person: Person) -> str:
    """Ctrl+S with words that are still being typed saves these words."""
    if person.facts("unsaved", author=person.name)["conflicts"] or any(
        not (fields.get("text", "x") or "").strip() for fields in person.unsaved.now.values()
    ):
        raise NotNow
    row = any_row(person)
    if not row.question["active"]:
        raise NotNow
    text = person.sign("What is being typed?")
    before = {one["version"] for one in person.facts("versions")}
    box = row.box.locator("textarea").first
    with person.drawn():
        box.fill(text)
        person.page.keyboard.press("Control+s")
    # The words are handed over first, which draws the screen, too.
    deadline = time.monotonic() + PATIENCE / 1000
    while not (made := _made(person, before)) and time.monotonic() < deadline:
        person.page.wait_for_timeout(GLANCE)
    person.quiet()
    if len(made) != 1:
        raise Broken(f"{person.name} saved once while typing, and there is {made}")
    kept = {question["question_id"]: question for question in person.facts("questions", version=made[0]["version"])}
    mine = person.unsaved.now | {row.question_id: person.unsaved.now.get(row.question_id, {}) | {"text": text}}
    for question_id, fields in mine.items():
        lost = {name: value for name, value in fields.items() if kept[question_id][name] != value}
        if lost:
            raise Broken(f"Version {made[0]['version']} does not hold what was typed into {question_id}: {lost}")
    person.unsaved.saved()
    person.saved.append([made[0]["version"], made[0]["note"]])
    person.expected = ["save bank"]
    return f"{row.question_id}: {text}"


def _made(person: Person, before: set[int]) -> list[dict[str, Any]]:
    """Versions of the person's that were not there before."""
    return [v for v in person.facts("versions") if v["version"] not in before and v["author"] == person.name]


def _menu(person: Person) -> tuple[Row, Locator]:
    """Open the details of any question: the question, and where they stand."""
    row = any_row(person)
    button = row.box.get_by_role("button", name="Details", exact=True)
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    expect(person.button("Duplicate", row.box)).to_be_visible(timeout=PATIENCE)
    return row, row.box


@contextmanager
def _changing(person: Person) -> Iterator[dict[str, dict[str, Any]]]:
    """Do something to drafts; afterwards the yielded questions are those that changed, as they are now."""
    changed: dict[str, dict[str, Any]] = {}
    before = person.facts("unsaved", author=person.name)["drafts"]
    yield changed
    kept = person.facts("unsaved", author=person.name)
    after = kept["drafts"]
    for question_id in before.keys() | after.keys():
        if before.get(question_id) != after.get(question_id):
            changed[question_id] = after.get(question_id) or kept["saved"].get(question_id) or {}


def _came(changed: dict[str, dict[str, Any]], texts: list[str]) -> None:
    missing = set(texts) - {question.get("text") for question in changed.values()}
    if missing:
        raise Broken(f"Questions that were written are not there: {missing}")
