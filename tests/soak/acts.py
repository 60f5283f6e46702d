"""Everything that a person may do, by name. A new function of a screen becomes an act here."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Locator, expect

from tests.soak.person import PATIENCE, Broken, Doing, NotNow, Person, hold

BANK, PASSAGES, GRADING = "Question bank", "Passages", "Grading"
SCREENS = ("Home", BANK, GRADING, "Prompts", PASSAGES, "Leaderboard", "Meta-evaluation", "Disagreements", "Changes",
           "Export", "Activity")  # fmt: skip
VALUES = {"Not relevant": 0, "Related": 1, "Highly relevant": 2, "Perfectly relevant": 3}
ENDED = re.compile(r"^Last (job|trial) (done|cancelled)")


def _row(person: Person) -> tuple[Locator, dict[str, Any]]:
    """A question on the screen, and what is known of it."""
    kept = person.facts("unsaved", author=person.name)
    known = kept["saved"] | kept["drafts"]
    rows = person.page.locator("[data-question]")
    found = [at for at, key in enumerate(question_rows(person)) if key in known]
    if not found:
        raise NotNow
    box = rows.nth(person.random.choice(found))
    return box, known[str(box.get_attribute("data-question"))]


def question_rows(person: Person) -> dict[str, list[Any]]:
    """Text, weight and activity of the questions on the screen, by id."""
    rows = person.page.locator("[data-question]").evaluate_all(
        """rows => rows.map(row => [row.dataset.question, row.querySelector('textarea').value,
          Number(row.querySelector('input[type=number]').value), row.querySelector('input[type=checkbox]').checked])"""
    )
    return {key: shown for key, *shown in rows}


def reword(person: Person) -> str:
    box, question = _row(person)
    # Sometimes a wording that was graded before.
    old = person.random.choice(list(person.facts("unsaved", author=person.name)["saved"].values()))["text"]
    text = old if old and old != question["text"] and person.random.random() < 0.2 else person.sign("What is it?")
    person.type(box.locator("textarea").first, text)
    person.unsaved.step({question["question_id"]: {"text": text}})
    return text


def weigh(person: Person) -> str:
    box, question = _row(person)
    weight = person.random.choice([weight for weight in (0.0, 0.5, 1.0, 2.0, -1.0) if weight != question["weight"]])
    person.type(box.get_by_role("spinbutton", name="Weight"), f"{weight:g}")
    person.unsaved.step({question["question_id"]: {"weight": weight}})
    return f"{question['question_id']}: {weight:g}"


def retire_or_restore(person: Person) -> str:
    box, question = _row(person)
    active = box.get_by_role("checkbox", name="Active")
    now = active.is_checked()
    with person.drawn():
        active.click()
    person.unsaved.step({question["question_id"]: {"active": not now}})
    return question["question_id"]


def undo_or_redo(person: Person) -> str:
    ways = {"Undo": (person.unsaved.done, person.unsaved.undo), "Redo": (person.unsaved.undone, person.unsaved.redo)}
    name = person.random.choice(list(ways))
    if not ways[name][0]:
        raise NotNow
    before = person.facts("unsaved", author=person.name)["steps"]
    # While a job is watched, Streamlit may forget a press.
    for _ in range(3):
        person.press(name)
        if person.facts("unsaved", author=person.name)["steps"] != before:
            ways[name][1]()
            return name
    raise Broken(f"{name} was pressed three times without effect")


def discard_all(person: Person) -> str:
    person.press("Discard all")
    person.unsaved.step({}, tuple(person.unsaved.now))
    return "all"


def save(person: Person) -> str:
    mine, note = person.unsaved.now, person.sign("for a reason")
    box = person.page.get_by_role("textbox", name="Note", exact=True).first
    if not mine or not box.count() or not person.button("Save version").count():
        raise NotNow
    box.fill(note)
    person.warned.append("")
    person.press("Save version")
    if [person.name, note] not in person.facts("state")["versions"]:
        if person.facts("unsaved", author=person.name)["drafts"]:
            return "refused"
        person.unsaved.now, person.unsaved.done, person.unsaved.undone = {}, [], []
        return "equal to what others saved"
    saved = person.facts("unsaved", author=person.name)["saved"]
    for key, fields in mine.items():
        lost = {name: value for name, value in fields.items() if saved[key][name] != value}
        hold(not lost, f"The saved {key} has not what {person.name} typed: {lost}")
    person.unsaved.now, person.unsaved.done, person.unsaved.undone = {}, [], []
    person.notes.append(note)
    person.expected = ["save bank"]
    return note


def settle_conflict(person: Person) -> str:
    before = person.facts("unsaved", author=person.name)["conflicts"]
    keep = person.random.choice(("Keep mine", "Keep theirs"))
    person.press(keep)
    settled = set(before) - set(person.facts("unsaved", author=person.name)["conflicts"])
    hold(len(settled) == 1, f"One conflict of {before} was settled, and not {settled}")
    if keep == "Keep theirs":
        person.unsaved.step({}, tuple(settled))
    return f"{keep}: {settled}"


def decide_proposal(person: Person) -> str:
    """Accept a proposal into the drafts, or reject it."""
    found = json.loads(person.exam("proposals", "list", "--json"))["proposals"]
    if not found:
        raise NotNow
    act = person.random.choice(("accept", "reject"))
    before = person.facts("unsaved", author=person.name)["drafts"]
    person.exam("proposals", act, str(person.random.choice(found)["key"]), refused=True)
    after = person.facts("unsaved", author=person.name)["drafts"]
    new = {key: {"text": after[key]["text"]} for key in after if key not in before}
    hold(len(new) == (act == "accept"), f"One proposal: {act}, and {new} came")
    if new:
        person.unsaved.step(new)
    return act


def open_passage(person: Person) -> str:
    listed = person.page.locator(".st-key-passage-list .row")
    if not listed.count():
        raise NotNow
    with person.drawn():
        listed.nth(person.random.randrange(listed.count())).click()
    return _place(person)


def _place(person: Person) -> str:
    """Query and passage that are open."""
    asked = person.asked()
    if not {"query", "passage"} <= asked.keys():
        raise NotNow
    return f"{asked['query']} {asked['passage']}"


def judge(person: Person) -> str:
    at, (name, value) = _place(person), person.random.choice(list(VALUES.items()))
    person.press(name)
    person.judged[at], person.expected = value, ["judge"]
    return f"{at}: {value}"


def withdraw_judgment(person: Person) -> str:
    at = _place(person)
    person.press("Withdraw judgment")
    expect(person.button("Withdraw judgment")).to_have_count(0, timeout=PATIENCE)
    del person.judged[at]
    person.expected = ["withdraw judgment"]
    return at


def override(person: Person) -> str:
    rows = person.page.locator(".st-key-question-ratings .row")
    cells = rows.locator(".cell:enabled:not(.on):not(.draft)")
    if not cells.count():
        raise NotNow
    cell = cells.nth(person.random.randrange(cells.count()))
    rating, reason = int(cell.inner_text()), person.sign("it does not say so")
    with person.drawn():
        cell.click()
    box = person.page.get_by_role("textbox", name="Reason")
    box.fill(reason)
    with person.drawn():
        box.press("Enter")
    expect(box).to_be_hidden(timeout=PATIENCE)
    person.overridden[reason], person.expected = rating, ["override"]
    return f"{_place(person)}: {rating}"


def withdraw_override(person: Person) -> str:
    found = json.loads(person.exam("override", "list", "--json"))["overrides"]
    if not found:
        raise NotNow
    person.exam("override", "withdraw", str(person.random.choice(found)["key"]), refused=True)
    person.expected = ["withdraw override"]
    return "one"


def settle(person: Person) -> str:
    """Settle a disagreement by a comment or a dispute, and sometimes open it again."""
    found = json.loads(person.exam("disagreements", "list", "--json", refused=True))["rows"]
    if not found:
        raise NotNow
    case = person.random.choice(found)["pair"]
    words, by = (case["query_id"], case["passage_id"]), person.random.choice(("comment", "dispute"))
    person.exam("disagreements", "settle", *words, "--by", by, "--reason", person.sign("seen"), refused=True)
    person.expected = ["settle disagreement"]
    if by == "dispute" and person.random.random() < 0.5:
        person.exam("disagreements", "reopen", *words, "--reason", person.sign("again"))
        person.expected.append("reopen disagreement")
    return f"{by}: {words}"


def grade(person: Person) -> str:
    """Start a job; then wait for its end, pause and resume it, cancel it, or walk away."""
    person.warned.append("")
    running = person.facts("state")["busy"]
    then = person.random.choice(("wait", "pause", "cancel", "walk away"))
    if not running:
        person.press("Grade")
        person.expected = ["start job"]
    if then == "walk away":
        person.go("Leaderboard")
        return then
    if then != "wait":
        button = person.button(then.capitalize())
        expect(button.or_(person.page.get_by_text(ENDED)).first).to_be_visible(timeout=10 * PATIENCE)
        if button.count() and button.first.is_enabled():
            button.first.click()
    if then == "pause":
        resume = person.button("Resume")
        expect(resume.or_(person.page.get_by_text(ENDED)).first).to_be_visible(timeout=10 * PATIENCE)
        if resume.count():
            resume.first.click()
    expect(person.page.get_by_text(ENDED).first).to_be_visible(timeout=10 * PATIENCE)
    person.quiet()
    return f"{then}: {person.page.get_by_text(ENDED).first.inner_text()}"


def _import(person: Person, kind: str, name: str, content: str, *options: str, refused: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(content, encoding="utf-8")
        person.exam("import", kind, str(Path(folder) / name), *options, refused=refused)


def import_files(person: Person) -> str:
    """Import a query with passages, judgments, a run and a question."""
    query, text = f"{person.name}-{person.number}", person.sign("What is new?")
    passages = [f"{query}-p{at}" for at in range(3)]
    _import(person, "queries", "q.jsonl", json.dumps({"query_id": query, "text": text}) + "\n")
    _import(person, "passages", "p.tsv", "".join(f"{p}\t{person.sign(p)}\n" for p in passages))
    _import(person, "qrels", f"{query}.qrels", "".join(f"{query} 0 {p} {at}\n" for at, p in enumerate(passages)))
    _import(
        person,
        "runs",
        "r.run",
        "".join(f"{query} Q0 {p} {at + 1} {9.5 - at} {query}\n" for at, p in enumerate(passages)),
    )
    _import(person, "bank", "b.jsonl", json.dumps({"question_id": query, "query_id": query, "text": text}) + "\n")
    person.expected = [f"import {kind}" for kind in ("queries", "passages", "qrels", "runs", "bank")]
    hold(person.facts("unsaved", author=person.name)["saved"][query]["text"] == text, "An imported question is lost")
    return query


def import_wrong(person: Person) -> str:
    """Import a broken file, which is refused by its line and changes nothing."""
    query, passage, _ = person.random.choice(person.facts("state")["pool"])
    try:
        _import(
            person, "runs", "w.run", f"{query} Q0 {passage} 1 2.0 new\n{query} Q0 {passage} two 1.0\n", refused=True
        )
    except NotNow:
        return "refused"
    raise Broken("A broken run was imported")


def export(person: Person) -> str:
    """Export qrels, which equal the labels from scratch, or the bank, whose import changes nothing."""
    before = person.facts("state")
    if person.random.random() < 0.5:
        meant = person.facts("labels")["qrels"]
        lines = sorted(person.exam("export", "qrels", "-o", "-").splitlines())
        wrong = lines != meant
        person.expected = ["export qrels"]
    else:
        _import(person, "bank", "b.jsonl", person.exam("export", "bank", "-o", "-"))
        person.expected = ["export bank", "import bank"]
        wrong = person.facts("state")["versions"] != before["versions"]
    # What others do meanwhile changes it too.
    alone = person.exclusive and not before["busy"]
    hold(not wrong or not alone, "An export is not what the project has")
    return person.expected[0]


def walk(person: Person) -> str:
    person.go(person.random.choice([screen for screen in SCREENS if screen != person.screen()]))
    return person.screen()


def reload(person: Person) -> str:
    person.come()
    return person.page.url


class Act(NamedTuple):
    """An act, how likely it is, and its screen; any for None."""

    do: Doing
    weight: float
    screen: str | None = None


ACTS: dict[str, Act] = {
    "reword": Act(reword, 6, BANK),
    "weigh": Act(weigh, 4, BANK),
    "retire or restore": Act(retire_or_restore, 2, BANK),
    "undo or redo": Act(undo_or_redo, 5, BANK),
    "discard all": Act(discard_all, 0.5, BANK),
    "save": Act(save, 4, BANK),
    "settle a conflict": Act(settle_conflict, 8, BANK),
    "decide a proposal": Act(decide_proposal, 2),
    "open a passage": Act(open_passage, 3, PASSAGES),
    "judge": Act(judge, 4, PASSAGES),
    "withdraw a judgment": Act(withdraw_judgment, 2, PASSAGES),
    "override": Act(override, 4, PASSAGES),
    "withdraw an override": Act(withdraw_override, 2),
    "settle a disagreement": Act(settle, 3),
    "grade": Act(grade, 4, GRADING),
    "import files": Act(import_files, 1),
    "import a wrong file": Act(import_wrong, 1),
    "export": Act(export, 2),
    "walk": Act(walk, 6),
    "reload": Act(reload, 2),
}
