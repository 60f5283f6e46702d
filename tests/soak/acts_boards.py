"""Acts on boards: another policy, another measure, another view, and what changed."""

from __future__ import annotations

import re

from tests.soak.person import NotNow, Person
from tests.soak.screens import LABEL_RULES

MEASURES = ("nDCG@10", "AP", "P@10", "EXAM-Cover", "RR", "Judged@10")
VIEWS = ("Board", "All boards", "Two boards", "Two systems", "By budget", "Significance")


def change_policy(person: Person) -> str:
    """Choose another min rating, label rule or threshold, or let weights count or not."""
    what = person.random.choice(["Min rating", "Label", "Judged ≥", "Weights"])
    if what == "Weights":
        box = person.page.get_by_test_id("stCheckbox").filter(has_text="Weights").locator("label").first
        if not person.there(box):
            raise NotNow
        with person.drawn():
            box.click()
        return "Weights"
    options = {"Min rating": list("12345"), "Label": list(LABEL_RULES), "Judged ≥": list("123")}[what]
    return _choose(person, what, options)


def change_measure(person: Person) -> str:
    """Choose another measure."""
    return _choose(person, "Measure", list(MEASURES))


def change_view(person: Person) -> str:
    """Look at the boards in another way."""
    name = person.random.choice(VIEWS)
    radio = person.page.get_by_role("radio", name=name, exact=True)
    if not radio.count() or radio.is_checked():
        raise NotNow
    with person.drawn():
        radio.click()
    return name


def _choose(person: Person, label: str, options: list[str]) -> str:
    box = person.page.get_by_role("combobox", name=re.compile(rf"(^|\. ){re.escape(label)}")).first
    if not person.there(box):
        raise NotNow
    option = person.random.choice([option for option in options if option != box.input_value()])
    person.pick(box, option)
    return f"{label}: {option}"
