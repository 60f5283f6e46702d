"""Screens one after the other in one browser: what a person leaves on one must not break the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core import bank_saving
from core.project import create
from core.types import Question
from tests.browser import Server
from tests.small import fill

pytestmark = pytest.mark.browser

DEADLINE = 60_000
"""Milliseconds after which something is taken not to come; generous, because test machines are busy."""

BANK = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
GRADES = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p1"): 2, ("What is B?", "p2"): 4}
RUNS = {"x": {"q1": ["p1", "p2"]}, "y": {"q1": ["p2", "p1"]}}


def test_changes_can_be_looked_at_after_the_leaderboard(
    app_server: Callable[[Path], Server], chromium_page: Page, tmp_path: Path
) -> None:
    project = create(tmp_path / "small.duckdb")
    fill(project, BANK, GRADES, RUNS)
    bank_saving.save(project, [replace(BANK[1], active=False)], "without B", "bob")
    project.close()
    page = chromium_page
    page.goto(f"{app_server(tmp_path).address}/leaderboard?project=small")
    expect(page.get_by_text("Differs from", exact=True)).to_be_visible(timeout=DEADLINE)
    # Whatever is chosen, everything on the screen is sent to the server, also what was not touched.
    for chosen in ("the best", "the best"):
        page.get_by_role("radio", name=chosen, exact=True).click()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=DEADLINE)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Changes").click()
    expect(page.get_by_text("Labels that differ", exact=True)).to_be_visible(timeout=DEADLINE)
    expect(page.get_by_role("radio", name="Labels", exact=True)).to_be_checked(timeout=DEADLINE)
    expect(page.get_by_text("1 label differs").or_(page.locator("[class*=st-key-question-flip]")).first).to_be_visible(
        timeout=DEADLINE
    )
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
