"""The board in a real browser: a system opens where it stands, Back returns to it, and a narrow window shows less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from exam_workbench.labels import compare, leaderboard, per_query_scores
from exam_workbench.study import group_alike
from exam_workbench.study._system_significance import compare_all
from tests.made.browser import Server, button, heading, ready, visit
from tests.made.projects import fill, judge, new_project
from tests.made.screens import JUDGED, QUESTIONS, RATINGS, RUNS

pytestmark = pytest.mark.browser


def test_a_system_opens_where_it_stands_and_back_comes_back_to_it(
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
    # An unknown column in a link is ignored.
    visit(page, f"{server.address}/leaderboard?project=boards&sorted=length")
    expect(rows).to_have_count(len(RUNS))
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.run)") == names
    page.locator("thead th.run button").click()
    page.locator("thead th.rank button").click()
    expect(page).not_to_have_url(re.compile("sorted="))

    # Each part of the sentence above opens its numbers.
    page.locator(".st-key-summary-agreement button").click()
    expect(page.locator(".st-key-metric-Kendall")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-metric-Kendall")).to_have_count(0)

    # A click on the dot opens the queries below it, and one of these its passages.
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

    # Where there is no room for two scales the official board is numbers, and all of them are in sight.
    page.set_viewport_size({"width": 900, "height": 900})
    expect(page.locator("td.plot.theirs").first).to_be_hidden()
    expect(row.locator("td.plot.mine")).to_be_visible()
    expect(row.locator("td.score.theirs data")).to_be_visible()
    fits = "scroll => scroll.scrollWidth <= scroll.clientWidth"
    assert page.locator(".scroll").first.evaluate(fits)

    row.locator("td.score").first.click()
    expect(queries).to_have_count(0)
    page.get_by_role("columnheader", name="System").get_by_role("button").click()
    for place, name in enumerate(sorted(RUNS)):
        expect(rows.nth(place)).to_have_attribute("data-run", name)
    expect(page.locator(".lane")).to_have_count(0)

    # What another screen calls its view is not this one's.
    views = page.locator(".st-key-view").get_by_role("radio")
    page.locator(".st-key-menu a[href*=disagreements]").click()
    expect(heading(page, "disagreements")).to_be_visible()
    ready(page)
    page.locator(".st-key-menu a[href*=leaderboard]").click()
    expect(views.first).to_be_checked()
    ready(page)
    expect(page).not_to_have_url(re.compile("view=queue"))

    # A view is a step: Back leads to the one before.
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

    # A folded menu leaves its room to the page, and what stands in its place does not lie over the name of the screen.
    page.locator("[data-testid=stSidebar]").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    page.wait_for_function(
        "() => { const name = document.querySelector('h1'), at = name.getBoundingClientRect();"
        " return at.left < 100 && name.contains(document.elementFromPoint(at.left + 5, at.top + at.height / 2)); }"
    )


def test_a_click_on_a_mark_of_a_chart_opens_its_system_or_query(
    projects: Path, server: Server, chromium_page: Page
) -> None:
    page = chromium_page
    project = new_project(projects / "marks.duckdb")
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    project.close()
    for view, mark, opened in (
        ("All boards", "point", ["system"]),
        ("Two boards", "circle", ["system"]),
        ("Two systems", "point", ["compared"]),
        ("Significance", "rect mark", ["better.+system", "worse.+system"]),
    ):
        visit(page, f"{server.address}/leaderboard?project=marks&view={view}")
        marks = page.locator(f"[data-testid=stVegaLiteChart] path[aria-roledescription='{mark}']")
        # A name or another mark may lie above it.
        marks.last.click(force=True)
        for name in opened:
            expect(page).to_have_url(re.compile(f"[?&]{name}=[^&]"))
        ready(page)
    # A cell of the correlations opens its two leaderboards, which people can sort.
    visit(page, f"{server.address}/measures?project=marks")
    page.locator("td.cell button").first.click()
    page.locator(".detail thead th.run button").click()
    expect(page.locator(".detail tr.system").first).to_have_attribute("data-run", min(RUNS))


def test_a_report_opens_offline_asks_for_nothing_and_runs_nothing(
    projects: Path, server: Server, chromium: Browser, chromium_page: Page, tmp_path: Path
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    project = new_project(projects / "reported.duckdb")
    fill(project, QUESTIONS, RATINGS, RUNS | {hostile: {"q1": ["p1"], "q2": ["p5"]}})
    judge(project, JUDGED)
    project.close()
    visit(chromium_page, f"{server.address}/export?project=reported")
    with chromium_page.expect_download() as started:
        button(chromium_page, "download reported-report.html").click()
    file = tmp_path / "report.html"
    started.value.save_as(file)

    alone = chromium.new_context(offline=True)
    page, asked, said = alone.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(file.as_uri())
    expect(page.get_by_role("cell", name=hostile, exact=True)).to_be_visible()
    assert page.locator("svg").count() >= 2
    assert (asked, said) == ([file.as_uri()], [])
    alone.close()
