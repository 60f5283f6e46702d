"""Cases of answers are confirmed by keys alone in a real browser, lead on, survive a reload, and can be taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from exam_workbench.measures.answers import CASES
from exam_workbench.records import confirmed_cases
from tests.answers.made import question
from tests.made.answered import put_answered, put_verdicts
from tests.made.browser import Server, as_it_is_now, ready, visit
from tests.made.projects import new_project

pytestmark = pytest.mark.browser


def test_what_a_cell_opens_is_in_sight_below_a_long_table(projects: Path, server: Server, chromium_page: Page) -> None:
    project = new_project(projects / "verdicts.duckdb")
    put_answered(project)
    put_verdicts(project)
    project.close()
    page = chromium_page
    page.set_viewport_size({"width": 1280, "height": 320})
    visit(page, f"{server.address}/answers?project=verdicts")
    page.locator("button.cell").first.click()
    title = page.locator(".detail h2")
    expect(title).to_be_in_viewport()
    expect(title).to_have_text(re.compile(r"\bLLM-retEval@2\b.*\btwo\b"))


def test_cases_are_confirmed_by_keys(projects: Path, server: Server, chromium_page: Page, tmp_path: Path) -> None:
    project = new_project(projects / "answered.duckdb")
    put_answered(project)
    project.close()
    page = chromium_page
    visit(page, f"{server.address}/cases?project=answered")
    open_case = page.locator("section.case")
    heading = open_case.get_by_role("heading", level=2)
    expect(heading).to_have_text(question("a"))
    expect(open_case.locator(".passage mark").first).to_have_text("Hamburg")
    expect(open_case.locator(".proposal .quiet")).to_be_visible()
    # In a field a letter is a letter.
    note = open_case.locator("input.note")
    note.fill("not in the judgments: a")
    expect(heading).to_have_text(question("a"))
    heading.click()
    page.keyboard.press("a")
    expect(heading).to_have_text(question("c"))
    expect(page.locator(".news")).to_contain_text(CASES["A"])
    ready(page)
    page.reload()
    expect(heading).to_have_text(question("c"))
    page.keyboard.press("c")
    expect(page.locator("section.left .row")).to_have_count(0)
    expect(open_case.locator(".empty")).to_be_visible()
    page.locator(".news button").click()
    expect(heading).to_have_text(question("c"))
    ready(page)
    found = as_it_is_now(projects / "answered.duckdb", tmp_path)
    (one,) = confirmed_cases(found)
    assert (one.query_id, one.case, one.note) == ("a", "A", "not in the judgments: a")
    assert found.rows("SELECT case_name FROM answer_cases ORDER BY case_key") == [("A",), ("C",)]
    found.close()
