"""Acts on proposals: what a model drafted, accepted, rejected, reworded, put back."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.soak.person import PATIENCE, Broken, NotNow, Person


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
    person.unfold(re.compile(r"^Decided proposals \("), "Put back")
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
