"""In a real browser: the queue of My work under the pointer, and the browser's title during a long run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from exam_workbench.records import done_queries, judged_pairs
from tests.made.browser import Server, as_it_is_now, css_class, ready, visit
from tests.made.projects import new_project
from tests.made.screens import put_small


@pytest.fixture
def queue(projects: Path, request: pytest.FixtureRequest) -> Path:
    # The server keeps a project open, so each test has its own.
    project = new_project(projects / f"{request.node.name}.duckdb")
    put_small(project)
    project.close()
    return project.path


@pytest.mark.browser
def test_two_clicks_on_one_spot_never_mark_two_queries(queue: Path, server: Server, chromium_page: Page) -> None:
    page = chromium_page
    visit(page, f"{server.address}/my_work?project={queue.stem}")
    first, second = (page.locator(f".{css_class(f'done {query}')} input") for query in ("q1", "q2"))
    spot = page.locator(f".{css_class('done q1')} label").bounding_box()
    assert spot is not None
    for marked in True, False:
        page.mouse.click(spot["x"] + 8, spot["y"] + spot["height"] / 2)
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50" if marked else "0")
        ready(page)
        expect(first).to_be_checked(checked=marked)
        expect(second).not_to_be_checked()


FOCUSED = """(selector) => {
  let node = document.activeElement;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node.matches(selector);
}"""


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that a selector names has the focus."""
    for _ in range(90):
        if page.evaluate(FOCUSED, selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {selector}.")


def enter_from_my_work(page: Page, link: str) -> None:
    """Open My work from the menu, and the first link of a kind there, by keyboard."""
    tab_to(page, ".st-key-menu a[href*=my_work]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/my_work**")
    ready(page)
    tab_to(page, f"[data-testid=stMain] a[href*={link}][href*=query]")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{link}**")
    ready(page)


@pytest.mark.browser
def test_an_assessor_does_the_whole_job_without_a_mouse(
    queue: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    page = chromium_page
    visit(page, f"{server.address}/?project={queue.stem}")
    enter_from_my_work(page, "question_bank")
    tab_to(page, "textarea")
    page.keyboard.press("End")
    page.keyboard.type(" Exactly?")
    page.keyboard.press("Control+s")
    page.locator(".bank-bar[data-version='1'][data-unsaved='0']").wait_for()
    assert page.evaluate(FOCUSED, "textarea")

    enter_from_my_work(page, "passages")
    page.locator(".judging .passage").wait_for()
    for number in range(1, 4):
        page.keyboard.press(str(number))
        expect(page.locator(".progress strong")).to_have_text(str(number))
    ready(page)

    enter_from_my_work(page, "disagreements")
    tab_to(page, "button.row")
    page.keyboard.press("Enter")
    page.wait_for_function(FOCUSED, arg=".case h2")
    ready(page)
    tab_to(page, "input[name=how]")
    while not page.evaluate(FOCUSED, "input[value=comment]"):
        page.keyboard.press("ArrowRight")
    tab_to(page, "input.reason")
    page.keyboard.type("Half of it")
    page.keyboard.press("Enter")
    page.locator(".news button").wait_for()
    page.wait_for_function(FOCUSED, arg=".case h2, .right")
    ready(page)

    tab_to(page, ".st-key-menu a[href*=my_work]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/my_work**")
    ready(page)
    tab_to(page, "[class*=st-key-done] input")
    page.keyboard.press("Space")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    ready(page)
    assert page.evaluate(FOCUSED, "[class*=st-key-done] input")
    copy = as_it_is_now(queue, tmp_path)
    assert done_queries(copy)["tester"].keys() == {"q1"}
    assert len(judged_pairs(copy, "tester")) == 3
    copy.close()


@pytest.mark.browser
def test_the_title_names_a_long_run_and_its_end(queue: Path, server: Server, chromium_page: Page) -> None:
    page = chromium_page
    visit(page, f"{server.address}/my_work?project={queue.stem}")
    title = page.title()
    # As Streamlit does at the beginning and at the end of a run.
    state = "(state) => document.querySelector('[data-testid=stApp]').dataset.testScriptState = state"
    page.evaluate(state, "running")
    page.wait_for_function("(title) => document.title !== title && document.title.endsWith(title)", arg=title)
    page.evaluate(state, "notRunning")
    page.wait_for_function("(title) => document.title === title", arg=title)
