"""Two people judge a batch of an audit in two browsers, by keys alone: no passage twice, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from exam_workbench import audit as room
from exam_workbench.audit import Goal
from tests.made.audits import fill_audited
from tests.made.browser import Server, as_it_is_now, empty_tab, visit
from tests.made.projects import new_project

pytestmark = pytest.mark.browser


class Judge:
    """Somebody at the desk, who looks at a passage and presses a key."""

    def __init__(self, page: Page, link: str) -> None:
        self.page, self.link = page, link
        self.seen: list[str] = []
        visit(page, link)

    @property
    def passage(self) -> str:
        """What is to be judged; empty where nothing is."""
        # Whichever comes: the next passage, or that there is none.
        desk = self.page.locator("section.pane")
        expect(desk.locator(".passage").or_(desk.get_by_role("heading"))).to_be_visible()
        shown = desk.locator(".passage")
        return shown.inner_text() if shown.count() else ""

    def press(self, key: str) -> bool:
        """Press a key for the passage that is shown, and wait until another one is; False where there is none."""
        before = self.passage
        if not before:
            return False
        self.seen.append(before)
        self.page.keyboard.press(key)
        expect(self.page.locator(".pane .passage").get_by_text(before, exact=True)).to_have_count(0)
        return True

    @property
    def query(self) -> str:
        """What is looked for in the passage that is shown."""
        return self.page.get_by_role("heading", level=2).inner_text()

    def wait_until_taken(self) -> None:
        """Wait until the server has taken all that was said here, which the tab keeps until then."""
        self.page.wait_for_function("() => localStorage.getItem('exam-workbench-judging') === null")

    def come_back(self) -> None:
        """Close the tab in the middle of it, and open the desk in a new one."""
        browser = self.page.context
        self.page.close()
        self.page = empty_tab(browser)
        visit(self.page, self.link)


def test_two_people_judge_a_batch_by_keys_and_one_closes_the_browser_in_between(
    tab_of: Callable[[str], Page], server: Server, projects: Path, tmp_path: Path
) -> None:
    project = new_project(projects / "audited.duckdb")
    fill_audited(project)
    audit = room.design_audit(project, "a", "P@3", Goal("best"), batch_size=16, seed=3, author="org")
    drawn = room.draw_batch(project, audit, "org").drawn
    project.close()
    link = f"{server.address}/audit?project=audited&view=Judge"
    ann, ben = Judge(tab_of("ann"), link), Judge(tab_of("ben"), link)
    assert ann.press("3") and ben.press("0") and ann.press("1")
    waiting = ann.passage
    ann.come_back()
    assert ann.passage == waiting, "the passage that she had before her is hers still"
    # She takes the last one back and judges it otherwise.
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".pane .passage")).to_have_text(ann.seen.pop())
    assert ann.press("2")
    # Her query ends. Two of it come back at once with what was asked, although the server deals it no more.
    query = ann.query
    while ann.query == query:
        assert ann.press("1")
    ann.wait_until_taken()
    ann.page.keyboard.press("u")
    ann.page.keyboard.press("u")
    *_, earlier, _ = ann.seen
    expect(ann.page.locator(".pane .passage")).to_have_text(earlier)
    assert ann.query == query
    del ann.seen[-2:]
    going = [ann, ben]
    while going:
        going = [one for one in going if one.press("2")]
    seen = ann.seen + ben.seen
    assert len(seen) == len(set(seen)) == drawn

    found = as_it_is_now(projects / "audited.duckdb", tmp_path)
    audit = room.find_audit(found)
    assert room.list_batches(found, audit)[-1].done
    assert {one.name: one.judged for one in room.list_audit_assessors(found, audit)} == {
        "ann": len(ann.seen),
        "ben": len(ben.seen),
    }
    found.close()
