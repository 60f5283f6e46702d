"""The leaderboard, answer cases, the audit desk and My work, in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from exam_workbench import audit as room
from exam_workbench.audit import Goal
from exam_workbench.choices import ANSWER_CASES
from exam_workbench.labels import compare, leaderboard, per_query_scores
from exam_workbench.records import confirmed_cases, done_queries, judged_pairs
from exam_workbench.study import group_alike
from exam_workbench.study._system_significance import compare_all
from tests.answers.made import question
from tests.made.answered import put_answered, put_verdicts
from tests.made.audits import fill_audited
from tests.made.browser import (
    Server,
    as_it_is_now,
    css_class,
    empty_tab,
    heading,
    ready,
    visit,
)
from tests.made.projects import file_of, fill, judge, new_project
from tests.made.screens import JUDGED, QUESTIONS, RATINGS, RUNS, put_small

pytestmark = pytest.mark.browser


def test_systems_and_chart_marks_open_in_place_and_back_returns(
    projects: Path, server: Server, chromium_page: Page
) -> None:
    page = chromium_page
    project = new_project(projects / "boards.duckdb")
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    found = leaderboard(project, "nDCG@10")
    run = found.systems[1].run
    scores = per_query_scores(project, found, leaderboard(project, "nDCG@10", "assessors"), run)
    compared = compare(project, "nDCG@10", "assessors").board
    like = group_alike(compared, compare_all(compared)).of[run]
    project.close()

    visit(page, f"{server.address}/leaderboard?project=boards")
    rows = page.locator("tr.system")
    expect(rows).to_have_count(len(RUNS))
    row = page.locator(f"tr.system[data-run={run}]")
    row.hover()
    expect(page.locator("tr.system.alike")).to_have_count(len(like))
    alike_now = page.locator("tr.system.alike").evaluate_all("rows => rows.map(row => row.dataset.run)")
    assert alike_now == like

    # A link keeps the order of the table.
    names = page.locator("tr.system").evaluate_all("rows => rows.map(row => row.dataset.run)")
    page.locator("thead th.run button").click()
    expect(page).to_have_url(re.compile("[?&]sorted=run"))
    page.reload()
    ready(page)
    expect(rows).to_have_count(len(RUNS))
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.run)") == sorted(names)
    expect(page.locator(".lane")).to_have_count(0)
    # An unknown column in a link is ignored.
    visit(page, f"{server.address}/leaderboard?project=boards&sorted=length")
    expect(rows).to_have_count(len(RUNS))
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.run)") == names
    page.locator("thead th.run button").click()
    page.locator("thead th.rank button").click()
    expect(page).not_to_have_url(re.compile("sorted="))

    # The summary sentence opens the numbers behind it.
    page.locator(".st-key-summary-agreement button").click()
    expect(page.locator(".st-key-metric-Kendall")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-metric-Kendall")).to_have_count(0)

    # A click on a system's dot opens its queries, and a query opens its passages.
    row.locator(".dot.mine").click()
    queries = page.locator("tr.query")
    expect(queries).to_have_count(len(scores))
    expect(page.locator("tbody > tr").nth(2)).to_contain_text(run)
    assert queries.evaluate_all("rows => rows.map(row => row.dataset.query)") == [score.query_id for score in scores]
    queries.first.get_by_role("button").focus()
    page.keyboard.press("Enter")
    passages = page.locator(".passages li")
    expect(passages.first).to_be_visible()
    expect(queries.first.get_by_role("button")).to_be_focused()
    asked = scores[0].query_id
    expect(page).to_have_url(re.compile(f"followed={run}&asked={asked}"))

    passages.first.locator("a").click()
    expect(heading(page, "passages")).to_be_visible()
    ready(page)
    expect(page).to_have_url(re.compile(f"/passages\\?.*query={asked}&passage="))
    page.go_back()
    expect(heading(page, "leaderboard")).to_be_visible()
    expect(passages).not_to_have_count(0)
    expect(row).to_have_class(re.compile("open"))

    # A narrow window shows the official leaderboard as numbers only and needs no horizontal scrolling.
    page.set_viewport_size({"width": 900, "height": 900})
    expect(page.locator("td.plot.theirs").first).to_be_hidden()
    expect(row.locator("td.plot.mine")).to_be_visible()
    expect(row.locator("td.score.theirs data")).to_be_visible()
    fits = "scroll => scroll.scrollWidth <= scroll.clientWidth"
    assert page.locator(".scroll").first.evaluate(fits)

    row.locator("td.score").first.click()
    expect(queries).to_have_count(0)
    # The view of another screen must not carry over to this one.
    views = page.locator(".st-key-view").get_by_role("radio")
    page.locator(".st-key-menu a[href*=disagreements]").click()
    expect(heading(page, "disagreements")).to_be_visible()
    ready(page)
    page.locator(".st-key-menu a[href*=leaderboard]").click()
    expect(views.first).to_be_checked()
    ready(page)
    expect(page).not_to_have_url(re.compile("view=queue"))

    # Each view is a step in the history: Back returns to the previous one.
    two = re.compile("view=Two")
    views.nth(2).click()
    expect(page).to_have_url(two)
    views.first.click()
    expect(page).not_to_have_url(two)
    page.go_back()
    expect(page).to_have_url(two)
    expect(views.nth(2)).to_be_checked()
    ready(page)
    page.go_back()
    expect(views.first).to_be_checked()
    ready(page)

    # A folded menu frees its space, and nothing in its place covers the name of the screen.
    page.locator("[data-testid=stSidebar]").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    page.wait_for_function(
        "() => { const name = document.querySelector('h1'), at = name.getBoundingClientRect();"
        " return at.left < 100 && name.contains(document.elementFromPoint(at.left + 5, at.top + at.height / 2)); }"
    )

    for view, mark, opened in (
        ("All boards", "point", ["system"]),
        ("Two boards", "circle", ["system"]),
        ("Two systems", "point", ["compared"]),
        ("Significance", "rect mark", ["better.+system", "worse.+system"]),
    ):
        visit(page, f"{server.address}/leaderboard?project=boards&view={view}")
        marks = page.locator(f"[data-testid=stVegaLiteChart] path[aria-roledescription='{mark}']")
        # A name or another mark may cover this one.
        marks.last.click(force=True)
        for name in opened:
            expect(page).to_have_url(re.compile(f"[?&]{name}=[^&]"))
        ready(page)
    # A correlation cell opens its two leaderboards, which can be sorted.
    visit(page, f"{server.address}/measures?project=boards")
    page.get_by_test_id("stDataFrame").click(position={"x": 330, "y": 50})
    expect(page).to_have_url(re.compile(r"[?&]cell=0(,|%2C)0"))
    page.locator("thead th.run button").click()
    expect(page.locator("tr.system").first).to_have_attribute("data-run", min(RUNS))


def test_scores_list_their_queries_and_cases_are_confirmed_by_keyboard(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    project = new_project(projects / "answered.duckdb")
    put_answered(project)
    put_verdicts(project)
    project.close()
    page = chromium_page
    visit(page, f"{server.address}/answers?project=answered")
    page.get_by_test_id("stDataFrame").first.click(position={"x": 200, "y": 50})
    expect(page.get_by_text("LLM-retEval@2 of two")).to_be_in_viewport()
    visit(page, f"{server.address}/cases?project=answered")
    open_case = page.locator("section.case")
    heading = open_case.get_by_role("heading", level=2)
    expect(heading).to_have_text(question("a"))
    expect(open_case.locator(".passage mark").first).to_have_text("Hamburg")
    expect(open_case.locator(".proposal .quiet")).to_be_visible()
    # A letter typed into a field is not a shortcut.
    note = open_case.locator("input.note")
    note.fill("not in the judgments: a")
    expect(heading).to_have_text(question("a"))
    heading.click()
    page.keyboard.press("a")
    expect(heading).to_have_text(question("c"))
    expect(page.locator(".news")).to_contain_text(ANSWER_CASES["A"])
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


class Judge:
    """An assessor at the desk who judges passages by keyboard."""

    def __init__(self, page: Page, link: str) -> None:
        self.page, self.link = page, link
        self.seen: list[str] = []
        visit(page, link)

    @property
    def passage(self) -> str:
        """The passage to judge; empty if none is left."""
        # Wait for either the next passage or the notice that none is left.
        desk = self.page.locator("section.pane")
        expect(desk.locator(".passage").or_(desk.get_by_role("heading"))).to_be_visible()
        shown = desk.locator(".passage")
        return shown.inner_text() if shown.count() else ""

    def press(self, key: str) -> bool:
        """Judge the shown passage by key and wait for the next; return False if no passage is left."""
        before = self.passage
        if not before:
            return False
        self.seen.append(before)
        self.page.keyboard.press(key)
        expect(self.page.locator(".pane .passage").get_by_text(before, exact=True)).to_have_count(0)
        return True

    @property
    def query(self) -> str:
        """The query of the shown passage."""
        return self.page.get_by_role("heading", level=2).inner_text()

    def wait_until_taken(self) -> None:
        """Wait until the server has stored all judgments, which the tab keeps until then."""
        self.page.wait_for_function("() => localStorage.getItem('exam-workbench-judging') === null")

    def come_back(self) -> None:
        """Close the tab and open the desk in a new one."""
        browser = self.page.context
        self.page.close()
        self.page = empty_tab(browser)
        visit(self.page, self.link)


def test_two_people_judge_batch_despite_closed_tab(
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
    assert ann.passage == waiting, "a closed tab must not lose the passage that ann was judging"
    # Ann undoes her last judgment and gives a different one.
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".pane .passage")).to_have_text(ann.seen.pop())
    assert ann.press("2")
    # Two undos return to the finished query, although the server no longer deals its passages.
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


FOCUSED = """(selector) => {
  let node = document.activeElement;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node.matches(selector);
}"""


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that matches a selector has the focus."""
    for _ in range(90):
        if page.evaluate(FOCUSED, selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {selector}.")


def enter_from_my_work(page: Page, link: str) -> None:
    """Open My work from the menu by keyboard, then the first link there to a query on a screen."""
    tab_to(page, ".st-key-menu a[href*=my_work]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/my_work**")
    ready(page)
    tab_to(page, f"[data-testid=stMain] a[href*={link}][href*=query]")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{link}**")
    ready(page)


def test_assessor_completes_all_work_by_keyboard(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    page, path = chromium_page, projects / "queue.duckdb"
    file_of(put_small).write(path)
    visit(page, f"{server.address}/?project=queue")
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
    # The second click of a double click unmarks the same query.
    first, second = (page.locator(f".{css_class(f'done {query}')} input") for query in ("q1", "q2"))
    spot = page.locator(f".{css_class('done q1')} label").bounding_box()
    assert spot is not None
    for marked in True, False:
        page.mouse.click(spot["x"] + 8, spot["y"] + spot["height"] / 2)
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50" if marked else "0")
        ready(page)
        expect(first).to_be_checked(checked=marked)
        expect(second).not_to_be_checked()
    tab_to(page, "[class*=st-key-done] input")
    page.keyboard.press("Space")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    ready(page)
    assert page.evaluate(FOCUSED, "[class*=st-key-done] input")
    copy = as_it_is_now(path, tmp_path)
    assert done_queries(copy)["tester"].keys() == {"q1"}
    assert len(judged_pairs(copy, "tester")) == 3
    copy.close()
    # The title shows a running script. Streamlit sets these states at the beginning and at the end of a run.
    title = page.title()
    state = "(state) => document.querySelector('[data-testid=stApp]').dataset.testScriptState = state"
    page.evaluate(state, "running")
    page.wait_for_function("(title) => document.title !== title && document.title.endsWith(title)", arg=title)
    page.evaluate(state, "notRunning")
    page.wait_for_function("(title) => document.title === title", arg=title)
