"""Acts of getting about: the menu, links, Back, reloading, another tab, another width."""

from __future__ import annotations

from tests.soak.person import NARROW, WIDE, NotNow, Person

MENU = {
    "Home": "",
    "Question bank": "question_bank",
    "Grading": "grading",
    "Prompts": "prompts",
    "Passages": "passages",
    "Leaderboard": "leaderboard",
    "Measures": "measures",
    "Disagreements": "disagreements",
    "Changes": "changes",
    "Export": "export",
    "Activity": "activity",
}
"""Addresses of the screens, by their names in the menu."""

MOST_TABS = 2


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
    person.quiet()
    return person.page.url


def close_tab(person: Person) -> str:
    """Close the tab and go on in another."""
    if len(person.context.pages) < 2:
        raise NotNow
    person.page.close()
    return other_tab(person)
