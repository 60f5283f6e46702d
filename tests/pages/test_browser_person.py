"""Names of people, two windows of one person, and keyboard use of the question bank, in a real browser."""

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
    """A project with one query, three questions and grades; bob has an unsaved edit in it."""
    project = new_project(projects / f"{request.node.name}.duckdb")
    answers = {"What is A?": (5, 5), "What is B?": (0, 1), "What is C?": (0, 4)}
    ratings = {(text, f"p{at}"): rating for text, of in answers.items() for at, rating in enumerate(of, 1)}
    fill(project, BANK, ratings, {"one": {"q1": ["p1"]}, "two": {"q1": ["p1", "p2"]}})
    put_draft(project, "bob", Question("q1/c", "q1", "What is C to Bob?"))
    project.close()
    return project.path


@pytest.fixture
def link(server: Server, path: Path) -> str:
    """The address of the project's question bank."""
    return f"{server.address}/question_bank?project={path.stem}"


@pytest.fixture
def page(link: str, tab_of: Callable[[str], Page]) -> Page:
    """The question bank in the browser of ann."""
    page = tab_of("ann")
    visit(page, link)
    return page


def box(page: Page, number: int) -> Locator:
    """Return the text field of a question."""
    return page.locator("textarea[data-key=text]").nth(number)


def type_into(field: Locator, text: str) -> None:
    """Replace the content of a field by typing, and keep the focus there."""
    field.click()
    field.press("Control+a")
    field.press_sequentially(text)


TAP = "(link) => (document.activeElement.shadowRoot.activeElement.blur(), link.click())"
"""Follows a menu link as a touch does: the field loses focus and the link is clicked at once."""


def unsaved(page: Page, number: int) -> Locator:
    return page.locator(f".bar[data-unsaved='{number}']")


def reword(page: Page, number: int, text: str, changes: int) -> None:
    """Type into a question, leave it, and wait until so many changes are unsaved."""
    type_into(box(page, number), text)
    box(page, number).blur()
    expect(unsaved(page, changes)).to_be_visible()


def test_browser_asks_for_name_once_and_remembers_it(
    link: str, path: Path, tab_of: Callable[[str], Page], tmp_path: Path
) -> None:
    page = tab_of("")
    visit(page, link)
    # Without a name, the bank can be read but not edited.
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
    reword(page, 0, "Who is A?", 1)

    page.reload()
    expect(field(page, "author")).to_have_value("Zoë Müller")
    expect(unsaved(page, 1)).to_be_visible()
    tab = empty_tab(page.context)
    visit(tab, link)
    expect(unsaved(tab, 1)).to_be_visible()
    expect(box(tab, 0)).to_have_value("Who is A?")

    # Another person sees whose edits these are, and discarding leaves them untouched.
    other = tab_of("bob")
    visit(other, link)
    expect(other.locator(".others", has_text=re.compile(r"Zoë Müller\D+1\D+1\D"))).to_be_visible()
    expect(box(other, 0)).to_have_value("What is A?")
    other.locator("[data-key=discard]").click()
    expect(unsaved(other, 0)).to_be_visible()

    # Another name is another person, who does not have these edits.
    field(tab, "author").fill("eve")
    field(tab, "author").press("Enter")
    expect(unsaved(tab, 0)).to_be_visible()
    expect(box(tab, 0)).to_have_value("What is A?")
    project = as_it_is_now(path, tmp_path)
    assert {name: list(list_drafts(project, name)) for name in ("Zoë Müller", "bob", "eve")} == {
        "Zoë Müller": ["q1/a"], "bob": [], "eve": [],
    }  # fmt: skip


def test_undo_stays_in_current_field_and_nothing_typed_is_lost(page: Page) -> None:
    type_into(box(page, 0), "Who is A?")
    box(page, 0).press("Tab")
    page.keyboard.press("Alt+z")
    # Edit and undo reach the server together, so the stored text equals the one shown before.
    expect(page.locator("[data-key=redo]")).to_be_enabled()
    expect(box(page, 0)).to_have_value("What is A?", timeout=20_000)
    reword(page, 0, "Who is A?", 1)
    type_into(box(page, 1), "Where")
    # More undos than typed letters must not reach beyond this field.
    for _ in range(12):
        page.keyboard.press("Alt+z")
    expect(box(page, 1)).to_have_value("What is B?")
    expect(box(page, 0)).to_have_value("Who is A?")
    box(page, 1).blur()
    # Redo must restore the note together with the edit.
    note = page.locator(".bar [data-key=note]")
    note.fill("people, not things")
    note.blur()
    page.keyboard.press("Alt+z")
    expect(unsaved(page, 0)).to_be_visible()
    expect(box(page, 0)).to_have_value("What is A?")
    page.keyboard.press("Alt+y")
    expect(unsaved(page, 1)).to_be_visible()
    expect(note).to_have_value("people, not things")
    # Shortcuts and links keep the text that is being typed.
    page.keyboard.press("Alt+n")
    # The new question appears at once, with the caret in it.
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


def test_two_windows_of_one_person_share_edits(link: str, tab_of: Callable[[str], Page]) -> None:
    first = tab_of("ann")
    visit(first, link)
    second = empty_tab(first.context)
    visit(second, link)
    reword(first, 0, "From the first?", 1)

    # Edits that this window has not shown yet are not discarded but shown.
    reword(second, 1, "From the second?", 2)
    expect(box(second, 0)).to_have_value("From the first?")
    first.locator("[data-key=discard]").click()
    expect(first.locator(".others.told")).to_be_visible()
    expect(unsaved(first, 2)).to_be_visible()
    expect(box(first, 1)).to_have_value("From the second?")

    # A window that comes to the front shows the other window's edits.
    reword(first, 2, "First again?", 3)
    come_to_the_front(second)
    expect(box(second, 2)).to_have_value("First again?")
    ready(second)

    # Typing over an unseen edit loses neither text.
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


def test_save_shortcut_saves_text_being_typed(page: Page, path: Path, tmp_path: Path) -> None:
    type_into(box(page, 0), "Who is A?")
    page.keyboard.press("Control+s")
    expect(page.locator(".bar[data-unsaved='0'][data-version='2']")).to_be_visible()
    reword(page, 1, "Who is B?", 1)
    note, name = page.locator(".bar [data-key=note]"), field(page, "author")
    type_into(note, "people, not things")
    # The note belongs to one person.
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


def test_focus_stays_nearby_and_enter_adds_next_question(page: Page, path: Path, tmp_path: Path) -> None:
    # The shortcut works only once the list is there.
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
    expect(unsaved(page, 0)).to_be_visible()
    expect(box(page, 5)).to_have_count(0)
    # A question that is left empty disappears, too.
    box(page, 4).click()
    page.keyboard.press("Enter")
    expect(box(page, 5)).to_be_focused()
    box(page, 0).click()
    expect(box(page, 5)).to_have_count(0)
    expect(unsaved(page, 0)).to_be_visible()
    ready(page)
    now = as_it_is_now(path, tmp_path)
    assert [one.text for one in bank.list_questions(now, query_id="q1")][3:] == ["What is new?", "What is next?"]


def test_selected_questions_change_together_and_refused_save_leads_to_cause(page: Page) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    picks, chosen = page.locator(".row .pick"), page.locator(".chosen")
    expect(picks).to_have_count(3)
    # Chips show how widely the questions are answered.
    chips = page.locator(".reach[title]")
    expect(chips).to_have_count(3)
    assert [chip.get_attribute("class") for chip in chips.all()] == ["reach every", "reach none", "reach some"]
    shares = [re.findall(r"(\d+)%", chip.get_attribute("title") or "")[:2] for chip in chips.all()]
    assert shares == [["100", "100"], ["0", "0"], ["50", "50"]]
    # A new question keeps the focus when the error disappears.
    page.keyboard.press("Alt+n")
    expect(unsaved(page, 1)).to_be_visible()
    page.keyboard.press("Control+s")
    error = page.locator("[class*=st-key-error-]")
    expect(error).to_be_visible()
    page.locator("[data-key=add]").click()
    expect(error).to_have_count(0)
    ready(page)
    # Elements below the error must not be redrawn when it disappears: caret and typed text would be lost.
    expect(box(page, 4)).to_be_focused(timeout=20_000)
    page.locator("[data-key=discard]").click()
    expect(unsaved(page, 0)).to_be_visible()
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
    # A refused save shows its full cause.
    reword(page, 1, "  ", 3)
    page.keyboard.press("Control+s")
    told = page.locator(".others.told")
    expect(told).to_be_visible()
    assert told.evaluate("told => told.scrollWidth <= told.clientWidth")
    expect(page.locator(".state.wordless")).to_be_visible()
    for _ in ("once", "and again"):
        box(page, 0).focus()
        page.keyboard.press("Control+s")
        expect(box(page, 1)).to_be_focused(timeout=20_000)


def test_typed_text_is_stored_after_pause_and_survives_reload(page: Page, path: Path, tmp_path: Path) -> None:
    box(page, 0).click()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.keyboard.type("Say: ")
    expect(unsaved(page, 1)).to_be_visible()
    page.keyboard.type("now, ")
    expect(box(page, 0)).to_have_value("Say: now, What is A?")
    expect(page.locator(".state.changed")).to_have_count(1)
    # Text still being typed when the tab is reloaded must reappear, too.
    page.keyboard.type("please: ")
    # The browser keeps text that it could not send; the app stores it before the screen is fully drawn.
    page.reload()
    expect(box(page, 0)).to_have_value("Say: now, please: What is A?")
    # The browser shows the text before the app has stored it, and keeps it until then.
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


def test_menu_links_have_addresses_and_popovers_work_by_keyboard(
    page: Page, link: str, path: Path, server: Server
) -> None:
    # Home needs an address, so that it can be opened in a new tab.
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
    # A popover that was opened by mouse can be used by keyboard as well.
    button.click()
    expect(inside).to_be_visible()
    button.focus()
    page.keyboard.press("Tab")
    expect(inside.locator(":focus")).to_have_count(1)


def test_tour_is_clickable_and_survives_reload_until_ended(
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
    # This click would fail if the menu covered the card.
    button(page, "end tour").click()
    expect(card).to_have_count(0)
    ready(page)
    page.reload()
    ready(page)
    expect(card).to_have_count(0)
