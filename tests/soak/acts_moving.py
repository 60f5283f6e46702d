"""Acts of getting about: the menu, links, Back, reloading, another tab, another width, another project."""

from __future__ import annotations

import re

from tests.soak.checks import ERRORS
from tests.soak.person import GLANCE, NARROW, WIDE, Broken, NotNow, Person

MENU = {
    "Home": "",
    "Question bank": "question_bank",
    "Grading": "grading",
    "Prompts": "prompts",
    "Passages": "passages",
    "Leaderboard": "leaderboard",
    "Meta-evaluation": "measures",
    "Disagreements": "disagreements",
    "Changes": "changes",
    "Export": "export",
    "Activity": "activity",
}
"""Addresses of the screens, by their names in the menu."""

MOST_TABS = 2

SECOND_PROJECT = "second"
"""Name of a small project beside the one that is worked in."""


def walk(person: Person) -> str:
    screen = person.random.choice([screen for screen in MENU if screen != person.screen()])
    person.go(screen)
    return screen


def reload(person: Person) -> str:
    person.page.reload()
    person.arrive()
    return person.page.url


def follow_link(person: Person) -> str:
    query, passage, _ = person.random.choice(person.facts("ranked"))
    screen, asked = person.random.choice(
        [
            ("question_bank", {"query": query}),
            ("passages", {"query": query, "passage": passage}),
            ("leaderboard", {"measure": "AP"}),
            ("leaderboard", {"tau": "3", "label": "Weighted mean"}),
            ("changes", {}),
        ]
    )
    person.come(screen, **asked)
    return person.page.url


def go_back(person: Person) -> str:
    before = person.page.url
    person.page.go_back()
    if person.page.url == "about:blank":
        person.page.go_forward()
        person.arrive()
        raise NotNow
    person.arrive()
    if person.asked().get("project") == SECOND_PROJECT:
        # Back in the project that was looked into: what is asked after every act is about the other one.
        person.page.go_forward()
        person.arrive()
        raise NotNow
    return f"from {before} to {person.page.url}"


def resize(person: Person) -> str:
    width = NARROW if person.page.viewport_size == WIDE else WIDE
    person.page.set_viewport_size(width)
    return f"{width['width']} px"


def open_tab(person: Person) -> str:
    """Go on in another tab, as with a link that opens one."""
    if len(person.context.pages) >= MOST_TABS:
        raise NotNow
    person.come(person.random.choice(list(MENU.values())), page=person.context.new_page())
    return person.page.url


def other_tab(person: Person) -> str:
    """Go on in the tab that one left."""
    others = [page for page in person.context.pages if page is not person.page]
    if not others:
        raise NotNow
    person.page = person.random.choice(others)
    person.page.bring_to_front()
    # A browser without windows does not say by itself that this tab is looked at again.
    person.page.evaluate("window.dispatchEvent(new Event('focus'))")
    person.page.wait_for_timeout(GLANCE)
    person.quiet()
    return person.page.url


def close_tab(person: Person) -> str:
    """Close the tab and go on in another."""
    if len(person.context.pages) < 2:
        raise NotNow
    person.page.close()
    there = other_tab(person)
    # It was drawn before what the closed one did.
    person.look_again()
    return there


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
