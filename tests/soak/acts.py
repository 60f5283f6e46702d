"""The actions of a person, by name. Add an action for each new function of a screen."""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.soak.person import PATIENCE, Broken, NotNow, Person, Unsaved, hold

BANK, PASSAGES, GRADING = "Question bank", "Passages", "Grading"
SCREENS = ("Home", BANK, GRADING, "Prompts", PASSAGES, "Leaderboard", "Meta-evaluation", "Disagreements", "Changes",
           "Export", "Activity")  # fmt: skip
VALUES = range(4)
ENDED = re.compile(r"^Last (job|trial) (done|cancelled)")


class Act(NamedTuple):
    """An action: a function that does and describes it or raises NotNow, its likelihood, its screen (None for any)."""

    do: Callable[[Person], str]
    weight: float
    screen: str | None


ACTS: dict[str, Act] = {}


def act(weight: float, screen: str | None = None) -> Callable[[Callable[[Person], str]], Callable[[Person], str]]:
    def register(do: Callable[[Person], str]) -> Callable[[Person], str]:
        ACTS[do.__name__.replace("_", " ")] = Act(do, weight, screen)
        return do

    return register


def shown_questions(person: Person) -> dict[str, tuple[str, float, bool]]:
    """Return text, weight and active state of the questions on the screen, by id."""
    rows = person.page.locator("[data-question]").evaluate_all(
        """rows => rows.map(row => [row.dataset.question, row.querySelector('textarea').value,
          Number(row.querySelector('input[type=number]').value), row.querySelector('[data-key=active]').checked])"""
    )
    return {key: tuple(shown) for key, *shown in rows}


@act(12, BANK)
def edit(person: Person) -> str:
    """Change the text, the weight or the state of a question."""
    known = person.known()
    questions, shown = known["saved"] | known["drafts"], shown_questions(person)
    possible = [key for key in shown if key in questions]
    if not possible:
        raise NotNow
    key, name = person.random.choice(possible), person.random.choice(("text", "text", "text", "weight", "active"))
    row, value = person.page.locator(f"[data-question={json.dumps(key)}]"), None
    if name == "text":
        # Sometimes reuse a text that was graded before.
        old = person.random.choice(list(known["saved"].values())).text
        again = old not in (None, "", questions[key].text) and person.random.random() < 0.2
        value = old if again else person.sign("What is it?")
        person.type(row.locator("textarea").first, value)
    elif name == "weight":
        value = person.random.choice([w for w in (0.0, 0.5, 1.0, 2.0, -1.0) if w != questions[key].weight])
        person.type(row.get_by_role("spinbutton", name="Weight"), f"{value:g}")
    else:
        value = not shown[key][2]
        with person.drawn():
            row.get_by_role("checkbox", name="Active").click()
    person.unsaved.step({key: {name: value}})
    return f"{key}: {name} {value}"


@act(5, BANK)
def undo_or_redo(person: Person) -> str:
    name, by, side = person.random.choice((("Undo", -1, 0), ("Redo", 1, 1)))
    if not person.unsaved.steps[side]:
        raise NotNow
    before = person.known()["steps"]
    # While a job is shown, Streamlit may lose a click.
    for _ in range(3):
        person.press(name)
        if person.known()["steps"] != before:
            person.unsaved.at += by
            return name
    raise Broken(f"{name} was pressed three times without effect")


@act(0.5, BANK)
def discard_all(person: Person) -> str:
    person.press("Discard all")
    person.unsaved.step({}, tuple(person.unsaved.now))
    return "all"


@act(4, BANK)
def save(person: Person) -> str:
    mine, note = person.unsaved.now, person.sign("for a reason")
    box = person.page.get_by_role("textbox", name="Note", exact=True).first
    if not mine or not box.count() or not person.button("Save version").count():
        raise NotNow
    box.fill(note)
    person.warned = True
    person.press("Save version")
    known, version = person.known(), (person.name, note)
    if known["drafts"] and version not in known["versions"]:
        return "refused"
    person.unsaved = Unsaved()
    if version not in known["versions"]:
        return "equal to another person's version"
    for key, fields in mine.items():
        lost = {name: value for name, value in fields.items() if getattr(known["saved"][key], name) != value}
        hold(not lost, f"The saved {key} lacks changes of {person.name}: {lost}")
    person.versions.add(version)
    person.expected = ["save bank"]
    return note


@act(8, BANK)
def settle_conflict(person: Person) -> str:
    before, keep = person.known()["conflicts"], person.random.choice(("Keep mine", "Keep theirs"))
    person.press(keep)
    settled = before - person.known()["conflicts"]
    hold(len(settled) == 1, f"One conflict of {before} was settled, and not {settled}")
    if keep == "Keep theirs":
        person.unsaved.step({}, tuple(settled))
    return f"{keep}: {settled}"


@act(3, PASSAGES)
def open_passage(person: Person) -> str:
    _choose_part(person, "Ratings")
    listed = person.page.locator(".st-key-passage-list .row")
    if not listed.count():
        raise NotNow
    with person.drawn():
        listed.nth(person.random.randrange(listed.count())).click()
    return _place(person)


def _place(person: Person) -> str:
    """Return the open query and passage."""
    asked = parse_qs(urlsplit(person.page.url).query)
    if not {"query", "passage"} <= asked.keys():
        raise NotNow
    return f"{asked['query'][0]} {asked['passage'][0]}"


def _choose_part(person: Person, name: str) -> None:
    """Choose a part of Passages."""
    part = person.page.locator(".st-key-part").get_by_role("radio", name=name)
    if not part.count():
        raise NotNow
    if not part.is_checked():
        with person.drawn():
            part.click()


@act(4, PASSAGES)
def judge(person: Person) -> str:
    _choose_part(person, "Judge")
    row, value = person.page.locator(".list [aria-current=true]"), person.random.choice(VALUES)
    if not row.count():
        raise NotNow
    at = " ".join(json.loads(row.get_attribute("data-id") or ""))
    with person.drawn():
        person.page.locator(f".keys button.value[aria-keyshortcuts='{value}']").click()
    person.judged[at], person.expected = value, ["judge"]
    return f"{at}: {value}"


@act(2, PASSAGES)
def undo_judgment(person: Person) -> str:
    _choose_part(person, "Judge")
    before = person.known()["judged"]
    person.press("Undo")
    (at,) = before.keys() - person.known()["judged"].keys()
    del person.judged[at]
    person.expected = ["withdraw judgment"]
    return at


@act(4, PASSAGES)
def override(person: Person) -> str:
    _choose_part(person, "Ratings")
    cells = person.page.locator(".st-key-question-ratings .row .cell:enabled:not(.on):not(.draft)")
    if not cells.count():
        raise NotNow
    cell, reason = cells.nth(person.random.randrange(cells.count())), person.sign("it does not say so")
    rating, box = int(cell.inner_text()), person.page.get_by_role("textbox", name="Reason")
    with person.drawn():
        cell.click()
    box.fill(reason)
    with person.drawn():
        box.press("Enter")
    expect(box).to_be_hidden(timeout=PATIENCE)
    person.overridden[reason], person.expected = rating, ["override"]
    return f"{_place(person)}: {rating}"


@act(4, GRADING)
def grade(person: Person) -> str:
    """Start a job; then wait for its end, pause and resume it, cancel it, or go to another screen."""
    person.warned = True
    then = person.random.choice(("wait", "pause", "cancel", "leave"))
    if not person.known()["busy"]:
        person.press("Grade")
        person.expected = ["start job"]
    if then == "leave":
        person.go("Leaderboard")
        return then
    ended = person.page.get_by_text(ENDED)
    for name in {"wait": (), "pause": ("Pause", "Resume"), "cancel": ("Cancel",)}[then]:
        button = person.button(name)
        expect(button.or_(ended).first).to_be_visible(timeout=10 * PATIENCE)
        if button.count() and button.first.is_enabled():
            button.first.click()
    expect(ended.first).to_be_visible(timeout=10 * PATIENCE)
    person.quiet()
    return f"{then}: {ended.first.inner_text()}"


def _import(person: Person, kind: str, name: str, content: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(content, encoding="utf-8")
        person.exam("import", kind, str(file))


@act(1)
def import_files(person: Person) -> str:
    """Import a query with passages, judgments, a run and a question."""
    query, text = f"{person.name}-{person.number}", person.sign("What is new?")
    passages = list(enumerate((f"{query}-p{at}" for at in range(3)), 1))
    files = {
        "queries": ("q.tsv", f"{query}\t{text}\n"),
        "passages": ("p.tsv", "".join(f"{p}\t{person.sign(p)}\n" for _, p in passages)),
        "qrels": (f"{query}.qrels", "".join(f"{query} 0 {p} {at}\n" for at, p in passages)),
        "runs": ("r.run", "".join(f"{query} Q0 {p} {at} {9.5 - at} {query}\n" for at, p in passages)),
        "bank": ("b.jsonl", json.dumps({"question_id": query, "query_id": query, "text": text}) + "\n"),
    }
    for kind, (name, content) in files.items():
        _import(person, kind, name, content)
    person.expected = [f"import {kind}" for kind in files]
    hold(person.known()["saved"][query].text == text, "An imported question is lost")
    return query


@act(2)
def export(person: Person) -> str:
    """Export the bank, and import it again."""
    _import(person, "bank", "b.jsonl", person.exam("export", "bank", "-o", "-"))
    person.expected = ["export bank", "import bank"]
    return "bank"


@act(6)
def walk(person: Person) -> str:
    person.go(person.random.choice([screen for screen in SCREENS if screen != person.screen()]))
    return person.screen()


@act(2)
def reload(person: Person) -> str:
    person.come()
    return person.page.url
