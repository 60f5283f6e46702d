"""Who works in a browser, two windows of one person, and the keys of the bank, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from exam_workbench import bank
from exam_workbench.bank import list_drafts, put_draft
from exam_workbench.exchange import import_files
from exam_workbench.exchange._collections import FILES
from exam_workbench.formats import Source
from exam_workbench.types import Question
from tests.made.browser import (
    Server,
    as_it_is_now,
    button,
    come_to_the_front,
    empty_tab,
    field,
    heading,
    ready,
    visit,
)
from tests.made.projects import fill, new_project

pytestmark = pytest.mark.browser

BANK = [Question(f"q1/{letter}", "q1", f"What is {letter.upper()}?") for letter in "abc"]


@pytest.fixture
def path(projects: Path, request: pytest.FixtureRequest) -> Path:
    """A project with one query and three questions; bob has an unsaved edit in it."""
    project = new_project(projects / f"{request.node.name}.duckdb")
    fill(project, BANK, {}, {"run": {"q1": ["p1", "p2"]}})
    put_draft(project, "bob", Question("q1/c", "q1", "What is C to Bob?"))
    project.close()
    return project.path


@pytest.fixture
def link(server: Server, path: Path) -> str:
    """Where the bank is edited."""
    return f"{server.address}/question_bank?project={path.stem}"


def box(page: Page, number: int) -> Locator:
    """The text of a question."""
    return page.locator("textarea[data-key=text]").nth(number)


def type_into(field: Locator, text: str) -> None:
    """Type instead of what is in a field, and stay in it."""
    field.click()
    field.press("Control+a")
    field.press_sequentially(text)


TAP = "(link) => (document.activeElement.shadowRoot.activeElement.blur(), link.click())"
"""Follow a link of the menu as a finger does, which leaves a box and presses in the same moment."""


def unsaved(page: Page, number: int) -> Locator:
    return page.locator(f".bar[data-unsaved='{number}']")


def test_a_browser_is_asked_once_and_remembers_who_works_there(
    link: str, path: Path, tab_of: Callable[[str], Page], tmp_path: Path
) -> None:
    page = tab_of("")
    visit(page, link)
    # One reads without a name, and sees that nothing can be changed yet, and why.
    expect(box(page, 0)).to_have_value("What is A?")
    expect(box(page, 0)).to_be_disabled()
    page.locator("[data-key=add]").click()
    asked = page.get_by_role("dialog")
    expect(field(asked, "name given")).not_to_have_value("")
    field(asked, "name given").fill("Zoë Müller")
    button(asked, "give name").click()
    expect(asked).to_have_count(0)
    expect(field(page, "author")).to_have_value("Zoë Müller")
    expect(page.locator(".others", has_text=re.compile(r"bob\D+1\D+1\D"))).to_be_visible()
    type_into(box(page, 0), "Who is A?")
    box(page, 0).blur()
    expect(unsaved(page, 1)).to_be_visible()

    page.reload()
    expect(field(page, "author")).to_have_value("Zoë Müller")
    expect(unsaved(page, 1)).to_be_visible()
    tab = empty_tab(page.context)
    visit(tab, link)
    expect(unsaved(tab, 1)).to_be_visible()
    expect(box(tab, 0)).to_have_value("Who is A?")

    # Somebody else in another browser sees whose edits these are, and leaves them alone.
    other = tab_of("bob")
    visit(other, link)
    expect(other.locator(".others", has_text=re.compile(r"Zoë Müller\D+1\D+1\D"))).to_be_visible()
    expect(box(other, 0)).to_have_value("What is A?")
    other.locator("[data-key=discard]").click()
    expect(other.locator(".bar[data-unsaved='0']")).to_be_visible()

    # Whoever gives another name is another person.
    field(tab, "author").fill("eve")
    field(tab, "author").press("Enter")
    expect(tab.locator(".bar[data-unsaved='0']")).to_be_visible()
    expect(box(tab, 0)).to_have_value("What is A?")
    project = as_it_is_now(path, tmp_path)
    assert {name: list(list_drafts(project, name)) for name in ("Zoë Müller", "bob", "eve")} == {
        "Zoë Müller": ["q1/a"], "bob": [], "eve": [],
    }  # fmt: skip
    project.close()


def test_undoing_is_about_the_words_being_typed_and_shows_before_they_were_drawn(
    link: str, tab_of: Callable[[str], Page]
) -> None:
    page = tab_of("ann")
    visit(page, link)
    type_into(box(page, 0), "Who is A?")
    box(page, 0).press("Tab")
    page.keyboard.press("Alt+z")
    # Both come to the server at once, and what it stores is what the questions showed before.
    expect(page.locator("[data-key=redo]")).to_be_enabled()
    expect(box(page, 0)).to_have_value("What is A?", timeout=20_000)
    type_into(box(page, 0), "Who is A?")
    box(page, 0).blur()
    expect(unsaved(page, 1)).to_be_visible()
    type_into(box(page, 1), "Where")
    # However often it is pressed, it stays in this field: once for each letter, and more.
    for _ in range(12):
        page.keyboard.press("Alt+z")
    expect(box(page, 1)).to_have_value("What is B?")
    expect(box(page, 0)).to_have_value("Who is A?")
    box(page, 1).blur()
    # What was noted of it stays with what can be done again.
    note = page.locator(".bar [data-key=note]")
    note.fill("people, not things")
    note.blur()
    page.keyboard.press("Alt+z")
    expect(page.locator(".bar[data-unsaved='0']")).to_be_visible()
    expect(box(page, 0)).to_have_value("What is A?")
    page.keyboard.press("Alt+y")
    expect(unsaved(page, 1)).to_be_visible()
    expect(note).to_have_value("people, not things")


def test_a_new_question_keeps_the_caret_when_an_error_goes(link: str, tab_of: Callable[[str], Page]) -> None:
    page = tab_of("ann")
    visit(page, link)
    # The list adds it: before that is there, its key does nothing.
    expect(box(page, 0)).to_be_visible()
    page.keyboard.press("Alt+n")
    expect(unsaved(page, 1)).to_be_visible()
    page.keyboard.press("Control+s")
    error = page.locator("[class*=st-key-error-]")
    expect(error).to_be_visible()
    page.locator("[data-key=add]").click()
    expect(error).to_have_count(0)
    ready(page)
    # What stands below the error is not drawn anew because it went: the caret would be lost, with what is typed.
    expect(box(page, 4)).to_be_focused(timeout=20_000)


def test_two_windows_of_one_person_show_and_keep_each_others_edits(link: str, tab_of: Callable[[str], Page]) -> None:
    first = tab_of("ann")
    visit(first, link)
    second = empty_tab(first.context)
    visit(second, link)
    type_into(box(first, 0), "From the first?")
    box(first, 0).blur()
    expect(unsaved(first, 1)).to_be_visible()

    # What this window has not shown is not discarded; it shows instead.
    type_into(box(second, 1), "From the second?")
    box(second, 1).blur()
    expect(unsaved(second, 2)).to_be_visible()
    expect(box(second, 0)).to_have_value("From the first?")
    first.locator("[data-key=discard]").click()
    expect(first.locator(".others.told")).to_be_visible()
    expect(unsaved(first, 2)).to_be_visible()
    expect(box(first, 1)).to_have_value("From the second?")

    # A window that comes to the front shows what the other did meanwhile.
    type_into(box(first, 2), "First again?")
    box(first, 2).blur()
    expect(unsaved(first, 3)).to_be_visible()
    come_to_the_front(second)
    expect(box(second, 2)).to_have_value("First again?")
    ready(second)

    # Typing over what was not seen loses neither of the two.
    type_into(box(first, 0), "First, once more?")
    box(first, 0).blur()
    expect(first.locator(".state.changed")).to_have_count(3)
    ready(first)
    type_into(box(second, 0), "Second, over it?")
    box(second, 0).blur()
    expect(second.locator(".crossed", has_text="Second, over it?")).to_be_visible()
    expect(box(second, 0)).to_have_value("First, once more?")
    second.locator("[data-key='take mine']").click()
    expect(box(second, 0)).to_have_value("Second, over it?")


def test_saving_by_key_while_typing_saves_what_is_typed(
    link: str, path: Path, tab_of: Callable[[str], Page], tmp_path: Path
) -> None:
    page = tab_of("ann")
    visit(page, link)
    type_into(box(page, 0), "Who is A?")
    page.keyboard.press("Control+s")
    expect(page.locator(".bar[data-unsaved='0'][data-version='2']")).to_be_visible()
    type_into(box(page, 1), "Who is B?")
    box(page, 1).blur()
    expect(unsaved(page, 1)).to_be_visible()
    note, name = page.locator(".bar [data-key=note]"), field(page, "author")
    type_into(note, "people, not things")
    # It is one person's.
    name.fill("bob")
    name.press("Enter")
    expect(note).to_have_value("")
    name.fill("ann")
    name.press("Enter")
    expect(note).to_have_value("people, not things")
    page.keyboard.press("Control+s")
    expect(page.locator(".bar[data-unsaved='0'][data-version='3']")).to_be_visible()
    project = as_it_is_now(path, tmp_path)
    assert [question.text for question in bank.list_questions(project)] == ["Who is A?", "Who is B?", "What is C?"]
    notes = [version.note for version in bank.list_versions(project)]
    assert notes[:2] == ["people, not things", "1 reworded in query q1"]
    project.close()


def test_what_leads_elsewhere_keeps_what_is_being_typed(link: str, tab_of: Callable[[str], Page]) -> None:
    page = tab_of("ann")
    visit(page, link)
    type_into(box(page, 0), "Who is A?")
    page.keyboard.press("Alt+n")
    # The new one is there at once, with the caret in it, where the button is that adds one, too.
    expect(box(page, 3)).to_be_focused()
    page.keyboard.type("What is new?")
    expect(unsaved(page, 2)).to_be_visible()
    expect(box(page, 0)).to_have_value("Who is A?")
    expect(box(page, 3)).to_have_value("What is new?")
    expect(box(page, 3)).to_be_focused()
    type_into(box(page, 1), "Who is B?")
    page.locator(".st-key-menu a[href*=export]").evaluate(TAP)
    expect(heading(page, "export")).to_be_visible()
    ready(page)
    assert urlsplit(page.url).path == "/export"
    page.go_back()
    expect(box(page, 1)).to_have_value("Who is B?")


def test_the_focus_goes_on_nearby_and_enter_adds_the_next_question(
    link: str, path: Path, tab_of: Callable[[str], Page], tmp_path: Path
) -> None:
    page = tab_of("ann")
    visit(page, link)
    # The list adds it: before that is there, its key does nothing.
    expect(box(page, 0)).to_be_visible()
    page.keyboard.press("Alt+n")
    expect(box(page, 3)).to_be_focused()
    page.wait_for_function("examWorkbenchBank.acts.length === 0")
    for _ in ("weight", "active", "details", "take back"):
        page.keyboard.press("Tab")
    expect(page.locator("[data-key='take back']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box(page, 3)).to_have_count(0)
    expect(box(page, 2)).to_be_focused()
    paste = page.locator("[data-key='paste']")
    paste.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    ready(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(paste).to_be_focused()
    box(page, 2).click()
    page.keyboard.press("Enter")
    expect(box(page, 3)).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("What is new?")
    page.keyboard.press("Enter")
    expect(box(page, 4)).to_be_focused()
    page.keyboard.type("What is next?")
    page.keyboard.press("Enter")
    expect(box(page, 5)).to_be_focused()
    page.keyboard.press("Control+s")
    expect(page.locator(".bar[data-unsaved='0']")).to_be_visible()
    expect(box(page, 5)).to_have_count(0)
    # One that is left empty goes, too.
    box(page, 4).click()
    page.keyboard.press("Enter")
    expect(box(page, 5)).to_be_focused()
    box(page, 0).click()
    expect(box(page, 5)).to_have_count(0)
    expect(page.locator(".bar[data-unsaved='0']")).to_be_visible()
    ready(page)
    now = as_it_is_now(path, tmp_path)
    assert [one.text for one in bank.list_questions(now, query_id="q1")][3:] == ["What is new?", "What is next?"]
    now.close()


def test_a_chip_says_who_answers_a_question_and_its_numbers_appear_on_it(
    server: Server, projects: Path, tab_of: Callable[[str], Page]
) -> None:
    project = new_project(projects / "chips.duckdb")
    answers = {"What is A?": (5, 5), "What is B?": (0, 1), "What is C?": (0, 4)}
    ratings = {(text, f"p{at}"): rating for text, of in answers.items() for at, rating in enumerate(of, 1)}
    fill(project, BANK, ratings, {"one": {"q1": ["p1"]}, "two": {"q1": ["p1", "p2"]}})
    project.close()
    page = tab_of("ann")
    visit(page, f"{server.address}/question_bank?project=chips")
    chips = page.locator(".reach[title]")
    expect(chips).to_have_count(3)
    assert [chip.get_attribute("class") for chip in chips.all()] == ["reach every", "reach none", "reach some"]
    assert [re.findall(r"(\d+)%", chip.get_attribute("title") or "")[:2] for chip in chips.all()] == [
        ["100", "100"],
        ["0", "0"],
        ["50", "50"],
    ]


def test_selected_questions_are_changed_together_and_a_refused_save_says_why_and_leads_to_its_question(
    link: str, tab_of: Callable[[str], Page]
) -> None:
    page = tab_of("ann")
    visit(page, link)
    page.set_viewport_size({"width": 900, "height": 900})
    picks, chosen = page.locator(".row .pick"), page.locator(".chosen")
    expect(picks).to_have_count(3)
    picks.nth(0).focus()
    page.keyboard.press("Space")
    expect(chosen.locator("[data-key='merge chosen']")).to_be_disabled()
    picks.nth(2).press("Space")
    chosen.locator("[data-key='weight of chosen']").fill("2.5")
    chosen.locator("[data-key='weight chosen']").press("Enter")
    expect(chosen).to_have_count(0)
    expect(unsaved(page, 2)).to_be_visible()
    weights = page.locator(".row .weight")
    expect(weights.nth(0)).to_have_value("2.5")
    expect(weights.nth(2)).to_have_value("2.5")
    # A save that is refused says why in full.
    type_into(box(page, 1), "  ")
    box(page, 1).blur()
    expect(unsaved(page, 3)).to_be_visible()
    page.keyboard.press("Control+s")
    told = page.locator(".others.told")
    expect(told).to_be_visible()
    assert told.evaluate("told => told.scrollWidth <= told.clientWidth")
    expect(page.locator(".state.wordless")).to_be_visible()
    for _ in ("once", "and again"):
        box(page, 0).focus()
        page.keyboard.press("Control+s")
        expect(box(page, 1)).to_be_focused(timeout=20_000)


def test_what_is_typed_is_stored_after_a_pause_the_caret_stays_and_later_words_build_on_it(
    link: str, path: Path, tab_of: Callable[[str], Page], tmp_path: Path
) -> None:
    page = tab_of("ann")
    visit(page, link)
    box(page, 0).click()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.keyboard.type("Say: ")
    expect(unsaved(page, 1)).to_be_visible()
    page.keyboard.type("now, ")
    expect(box(page, 0)).to_have_value("Say: now, What is A?")
    expect(page.locator(".state.changed")).to_have_count(1)
    # What is still being typed when the tab is loaded anew is there again, too.
    page.keyboard.type("please: ")
    # The browser keeps what it could not hand over; the app takes it in before it has drawn all of the screen.
    page.reload()
    expect(box(page, 0)).to_have_value("Say: now, please: What is A?")
    # It is shown before the app has it, and kept until then.
    page.wait_for_function("examWorkbenchBank.acts.length === 0")
    expect(unsaved(page, 1)).to_be_visible()
    project = as_it_is_now(path, tmp_path)
    assert list_drafts(project, "ann")["q1/a"].question.text == "Say: now, please: What is A?"
    project.close()
    base = box(page, 0).evaluate(
        """(field) => {
          const bank = examWorkbenchBank;
          const type = (words) => {
            field.value = words;
            field.dispatchEvent(new Event("input", { bubbles: true }));
            bank.flush();
          };
          type("Say: What is A?");
          // The bar, which is drawn first, has heard that it is done.
          bank.hear({ ...bank.place, window: bank.window, done: bank.last, refused: {} });
          type("Say: now, What is A?");
          return bank.acts.at(-1).base;
        }"""
    )
    assert base == "Say: What is A?"


def test_links_are_links_and_queries_and_popovers_are_used_by_keyboard(
    link: str, path: Path, server: Server, tab_of: Callable[[str], Page]
) -> None:
    page = tab_of("ann")
    visit(page, link)
    # Home can be opened in a new tab.
    home = page.locator(".st-key-menu a").first
    home.hover()
    assert home.evaluate("link => link.href") == f"{server.address}/?project={path.stem}"
    page.locator(".pick input").fill("Q1 nothing like it")
    expect(page.locator(".pick p")).to_be_visible()
    page.locator(".pick input").fill("QUERY")
    page.keyboard.press("Tab")
    found = page.get_by_role("link", name="query q1")
    expect(found).to_be_focused()
    expect(found).to_have_attribute("href", f"?project={path.stem}&query=q1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("query=q1"))
    visit(page, f"{server.address}/passages?project={path.stem}&part=Ratings")
    button = page.locator(".st-key-more-filters button").first
    inside = page.get_by_test_id("stPopoverBody")
    button.press("Enter")
    expect(inside.locator(":focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(inside).to_have_count(0)
    expect(button).to_be_focused()
    # Whoever opened it by the mouse goes on by keys as well.
    button.click()
    expect(inside).to_be_visible()
    button.focus()
    page.keyboard.press("Tab")
    expect(inside.locator(":focus")).to_have_count(1)


def test_the_tour_stands_over_the_menu_and_goes_on_when_the_page_is_loaded_anew(
    server: Server, projects: Path, tab_of: Callable[[str], Page]
) -> None:
    project = new_project(projects / "toured.duckdb")
    import_files(project, "queries", [Source.from_path(FILES / "queries.jsonl")], "ann")
    project.close()
    page = tab_of("ann")
    visit(page, f"{server.address}/?project=toured")
    button(page, "start tour").click()
    card = page.locator(".st-key-tour-step")
    expect(card).to_contain_text(re.compile(r"1\D+3"))
    ready(page)
    page.reload()
    expect(card).to_contain_text(re.compile(r"1\D+3"))
    # What the menu covers cannot be clicked.
    button(page, "end tour").click()
    expect(card).to_have_count(0)
    ready(page)
    page.reload()
    ready(page)
    expect(card).to_have_count(0)
