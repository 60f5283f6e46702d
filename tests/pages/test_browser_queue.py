"""In a real browser: the queue of My work under the pointer, and the browser's title during a long run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from exam_workbench.records import done_queries
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
def test_two_clicks_on_one_spot_never_mark_two_queries(
    queue: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
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
    # By keyboard, the focus stays on the box.
    first.focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    ready(page)
    expect(first).to_be_focused()
    copy = as_it_is_now(queue, tmp_path)
    assert done_queries(copy)["tester"].keys() == {"q1"}
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
