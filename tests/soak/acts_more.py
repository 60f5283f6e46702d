"""Acts on proposals, on the list of acts, on two states side by side, and in another project."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.soak.checks import ERRORS
from tests.soak.person import PATIENCE, Broken, NotNow, Person
from tests.soak.screens import SIDE_SELECTS

SECOND_PROJECT = "second"
"""Name of a small project beside the one that is worked in."""


def accept_proposal(person: Person) -> str:
    """Accept what a model drafted: it becomes a draft of one's own."""
    text = _choose_proposal(person)
    before = person.facts("unsaved", author=person.name)["drafts"]
    person.warned += ["Proposal "]
    person.press("Accept 1")
    after = person.facts("unsaved", author=person.name)["drafts"]
    new = [key for key in after if key not in before]
    if not new and person.there(person.page.get_by_text(re.compile(r"^Proposal .* is "))):
        return "somebody else was quicker"
    if [after[key]["text"] for key in new] != [text]:
        raise Broken(f"'{text}' was accepted, and {new} came")
    person.unsaved.step({new[0]: {"text": text}})
    return text


def reject_proposal(person: Person) -> str:
    """Reject what a model drafted."""
    text = _choose_proposal(person)
    person.warned += ["Proposal "]
    person.press("Reject 1")
    return text


def put_back_proposal(person: Person) -> str:
    """Make a decided proposal open again."""
    title = person.page.get_by_text(re.compile(r"^Decided proposals \("))
    if not person.there(title):
        raise NotNow
    if not person.there(person.button("Put back")):
        title.first.click()
        expect(person.button("Put back").first).to_be_visible(timeout=PATIENCE)
    person.warned += ["Proposal "]
    person.press("Put back")
    return "the newest"


def reword_proposal(person: Person) -> str:
    """Write a proposal otherwise before anybody decides."""
    box = _proposals(person).locator("textarea")
    if not box.count():
        raise NotNow
    text = person.sign("Put otherwise?")
    person.type(box.nth(person.random.randrange(box.count())), text)
    expect(_proposals(person).locator("textarea", has_text=text).first).to_be_visible(timeout=PATIENCE)
    return text


def _proposals(person: Person) -> Locator:
    return person.page.locator("[class*=st-key-question-saved-proposal-]")


def _choose_proposal(person: Person) -> str:
    """Choose one open proposal and nothing else; gives its words."""
    found = _proposals(person)
    if not found.count():
        raise NotNow
    person.press("None", person.page.locator(".st-key-proposals"))
    one = found.nth(person.random.randrange(found.count()))
    with person.drawn():
        one.get_by_test_id("stCheckbox").locator("label").first.click()
    return one.locator("textarea").input_value()


def filter_acts(person: Person) -> str:
    """List the acts of one person, or of one kind, or all again."""
    clear = person.button("Clear filters")
    if person.there(clear) and person.chance(0.5):
        person.press("Clear filters")
        return "all"
    label = person.random.choice(["Who", "Act"])
    box = person.page.get_by_role("combobox", name=re.compile(f"(^|\\. ){label}$")).first
    return f"{label}: {_any_option(person, box)}"


def change_side(person: Person) -> str:
    """Compare another state: another version, min rating or label rule on one side."""
    side = person.random.choice(["from", "to"])
    part = person.random.choice(SIDE_SELECTS)
    box = person.page.locator(f".st-key-{side}-{part}").get_by_role("combobox").first
    if not box.count():
        raise NotNow
    return f"{side} {part}: {_any_option(person, box)}"


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


def second_project(person: Person) -> str:
    """Look at the same screen in another project, and come back."""
    screen = person.screen()
    box = person.page.get_by_role("combobox", name=re.compile(r"(^|\. )Project$")).first
    if not person.there(box):
        person.page.get_by_test_id("stExpandSidebarButton").click()
    here = person.inside.project.stem
    if box.input_value() != here:
        raise Broken(f"The project is {box.input_value()} in place of {here}")
    person.pick(box, SECOND_PROJECT)
    said = person.page.locator(ERRORS).all_inner_texts()
    if said:
        raise Broken(f"{screen} of the second project shows an error: {said}")
    person.pick(box, here)
    if person.screen() != screen:
        raise Broken(f"Back in {here}, {screen} turned into {person.screen()}")
    return f"on {screen}"
