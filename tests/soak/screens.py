"""What each screen shows, held against the facts.

A function a screen; it reads with the person's eyes and returns what is wrong, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator

from tests.soak.person import Person

LABEL_RULES = {"Best rating": "max", "Supported by 2 questions": "support:2", "Weighted mean": "mean"}


def policy(person: Person) -> dict[str, Any]:
    """The policy that the address of a screen says; what it leaves out is the default."""
    read: dict[str, tuple[str, Callable[[str], Any]]] = {
        "grader": ("grader", str),
        "tau": ("min_rating", int),
        "label": ("label", LABEL_RULES.__getitem__),
        "relevant": ("min_judgment", int),
        "cutoff": ("cutoff", int),
        "weights": ("weighted", lambda said: said != "false"),
    }
    asked = person.asked()
    return {name: of(asked[key]) for key, (name, of) in read.items() if key in asked}


ROWS = "[data-question]"
"""The questions of the question bank."""


def grid(table: Locator) -> list[list[str]]:
    """The rows of a table, which the canvas that draws it keeps for screen readers."""
    rows: list[list[str]] = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    return rows


def home(person: Person) -> str | None:
    """The numbers of things."""
    shown = person.page.locator(".st-key-state .count")
    texts = shown.evaluate_all("all => all.map(one => [...one.children].map(part => part.textContent))")
    said = {name: int(number.replace(",", "")) for number, name in texts}
    return differ(said, person.facts("counts"))


def question_bank(person: Person) -> str | None:
    """The questions of the open query, as the person's drafts leave them, and the number of drafts."""
    query = opened_query(person)
    kept = person.facts("unsaved", author=person.name)
    expected = {
        question_id: question
        for question_id, question in (kept["saved"] | kept["drafts"]).items()
        if question["query_id"] == query
    }
    for row, text, weight, active in rows(person):
        question = expected.get(row)
        if question is None:
            return f"A row {row} that no question has"
        said, meant = [text, float(weight), active], [question["text"] or "", question["weight"], question["active"]]
        if said != meant:
            return differ(said, meant)
    bar = person.page.get_by_text(re.compile(r"\d+ unsaved changes?|No unsaved changes|Nothing has been saved yet"))
    many = re.match(r"\d+", bar.first.inner_text().strip())
    return differ(int(many[0]) if many else 0, len(kept["drafts"]))


def opened_query(person: Person) -> str:
    """The id of the query whose questions are on the screen."""
    title = person.page.get_by_test_id("stMain").get_by_role("heading", level=2).first.inner_text()
    return next(query for query, text in person.facts("queries").items() if text == title)


def rows(person: Person) -> list[tuple[str, str, str, bool]]:
    """The rows of the question bank: id of the question, text, weight and whether active."""
    found = person.page.locator(ROWS).evaluate_all(
        """rows => rows.map(row => [
          row.dataset.question, row.querySelector('textarea').value, row.querySelector('input[type=number]').value,
          row.querySelector('input[type=checkbox]').checked])"""
    )
    return [tuple(row) for row in found]


def grading(person: Person) -> str | None:
    """The numbers of the plan."""
    if not person.there(person.metric("To grade")):
        return None
    said = {name: person.count(label) for name, label in PLAN.items()}
    return differ(said, person.facts("plan"))


PLAN = {"needed": "Pairs needed", "known": "Known already", "missing": "To grade"}


def leaderboard(person: Person) -> str | None:
    """Every system with its score, by the policy and the measure of the head."""
    view = person.page.get_by_role("radio", name="Board", exact=True)
    if not view.is_checked():
        return None
    measure = person.page.get_by_role("combobox", name=re.compile("Measure")).first.input_value()
    said: dict[str, float] = dict(
        person.page.locator("tr.system").evaluate_all(
            "rows => rows.map(row => [row.dataset.run, Number(row.querySelector('.score data').value)])"
        )
    )
    common = "over-queries" not in person.asked()
    official = person.page.get_by_role("combobox", name=re.compile("Official board")).first
    against = official.input_value() if common else None
    meant = person.facts("board", policy=policy(person), measure=measure, against=against)
    if said.keys() != meant.keys():
        return differ(sorted(said), sorted(meant))
    wrong = {run: (said[run], meant[run]) for run in said if abs(said[run] - meant[run]) > 1e-9}
    return f"By {measure}: {wrong}" if wrong else None


def passages(person: Person) -> str | None:
    """The label of the open passage and the rating of every question."""
    asked = person.asked()
    label = person.page.locator(".desk-passage .label .ew-rating")
    if not {"query", "passage"} <= asked.keys() or not person.there(label):
        return None
    query, passage = asked["query"], asked["passage"]
    meant = person.facts("passage", policy=policy(person), query=query, passage=passage)
    return differ(label.inner_text(), "–" if meant["label"] is None else str(meant["label"]))


def export(person: Person) -> str | None:
    """How many labels there are, and how they are distributed."""
    if not person.there(person.metric("Labels")):
        return None
    meant = person.facts("labels", policy=policy(person))
    said = (
        person.count("Labels"),
        person.count("Passages without a label"),
    )
    if wrong := differ(said, (meant["labelled"], meant["unlabelled"])):
        return wrong
    table = person.page.get_by_test_id("data-grid-canvas").first.locator("table")
    return differ({row[0]: int(row[1]) for row in grid(table)}, meant["distribution"])


def changes(person: Person) -> str | None:
    """How many labels differ between the two states that the address names."""
    metric = person.metric("Labels that differ")
    if not person.there(metric):
        return None
    said = person.count("Labels that differ")
    meant = person.facts("flips", **{side: _side(person, side) for side in ("from", "to")})
    return differ(said, meant)


def _side(person: Person, side: str) -> dict[str, Any]:
    asked = person.asked()
    return {
        "bank_version": int(asked[f"{side}-version"]),
        "min_rating": int(asked[f"{side}-tau"]),
        "label": asked[f"{side}-label"],
        "weighted": asked[f"{side}-weights"] == "yes",
        "overrides": asked[f"{side}-overrides"] == "yes",
    }


def activity(person: Person) -> str | None:
    """How many acts there are of the person and of the kind that are asked for."""
    who, act = (
        person.page.get_by_role("combobox", name=re.compile(f"(^|\\. ){label}$")).first.input_value()
        for label in ("Who", "Act")
    )
    said = person.page.get_by_text(re.compile(r"^[\d,]+ acts?$")).first.inner_text()
    meant = person.facts("logged", who=who or None, act=act.lower() or None)
    return differ(int(said.split()[0].replace(",", "")), meant)


def differ(said: Any, meant: Any) -> str | None:
    """What is wrong where two values are not the same."""
    return None if said == meant else f"it says {said}, and true is {meant}"


SCREENS: dict[str, Callable[[Person], str | None]] = {
    "Home": home,
    "Question bank": question_bank,
    "Grading": grading,
    "Leaderboard": leaderboard,
    "Passages": passages,
    "Export": export,
    "Changes": changes,
    "Activity": activity,
}
"""How to hold a screen against the facts, by its name in the menu."""
