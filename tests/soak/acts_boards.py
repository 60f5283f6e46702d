"""Acts on boards: another policy, another measure, another view, what changed, and who did what."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.soak.person import PATIENCE, NotNow, Person
from tests.soak.screens import LABEL_RULES

MEASURES = ("nDCG@10", "AP", "P@10", "EXAM-Cover", "RR", "Judged@10")
VIEWS = ("Board", "All boards", "Two boards", "Two systems", "By budget", "Significance")


def change_policy(person: Person) -> str:
    """Choose another min rating, label rule or threshold, or let weights count or not."""
    what = person.random.choice(["Min rating", "Label", "Judged ≥", "Weights"])
    opener = person.page.locator(".st-key-looking").get_by_role("button", name="Change", exact=True)
    if not person.there(opener):
        raise NotNow
    opener.click()
    place = person.page.get_by_test_id("stPopoverBody")
    expect(place).to_be_visible(timeout=PATIENCE)
    try:
        if what == "Weights":
            box = place.get_by_test_id("stCheckbox").filter(has_text="Weights")
            if box.get_by_role("checkbox").is_disabled():
                raise NotNow
            with person.drawn():
                box.locator("label").first.click()
            return "Weights"
        options = {"Min rating": list("12345"), "Label": list(LABEL_RULES), "Judged ≥": list("123")}[what]
        return _choose(person, what, options)
    finally:
        # A click elsewhere would only close what is open.
        person.page.keyboard.press("Escape")
        expect(place).to_have_count(0, timeout=PATIENCE)


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
    if not person.there(box) or box.is_disabled():
        raise NotNow
    option = person.random.choice([option for option in options if option != box.input_value()])
    person.pick(box, option)
    return f"{label}: {option}"


def change_side(person: Person) -> str:
    """Compare another state: another version, min rating or label rule on one side."""
    side = person.random.choice(["from", "to"])
    part = person.random.choice(["version", "tau", "label"])
    box = person.page.locator(f".st-key-{side}-{part}").get_by_role("combobox").first
    if not box.is_visible():
        # In a narrow window the choices are shown once they are asked for.
        opener = person.page.locator(f".st-key-{side}-state label").first
        if not person.there(opener):
            raise NotNow
        with person.drawn():
            opener.click()
        expect(box).to_be_visible(timeout=PATIENCE)
    chosen = _any_option(person, box)
    return f"{side} {part}: {chosen}"


def filter_acts(person: Person) -> str:
    """List the acts of one person, or of one kind, or all again."""
    clear = person.button("Clear filters")
    if person.there(clear) and person.chance(0.5):
        person.press("Clear filters")
        return "all"
    label = person.random.choice(["Who", "Act"])
    box = person.page.get_by_role("combobox", name=re.compile(f"(^|\\. ){label}$")).first
    return f"{label}: {_any_option(person, box)}"


def _any_option(person: Person, box: Locator) -> str:
    """Choose any of the options that a list offers, other than the one that it has."""
    if not person.there(box):
        raise NotNow
    has = box.input_value()
    box.click()
    options = person.page.get_by_role("option")
    expect(options.first).to_be_visible(timeout=PATIENCE)
    names = [name for name in options.all_inner_texts() if name and name != has]
    if not names:
        person.page.keyboard.press("Escape")
        raise NotNow
    name = person.random.choice(names)
    with person.drawn():
        person.page.get_by_role("option", name=name, exact=True).first.click()
    return name
