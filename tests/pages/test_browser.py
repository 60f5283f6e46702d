"""The main workflow and the durability of edits, in a real browser against a real server."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exam_workbench import bank
from exam_workbench.bank import project_counts
from exam_workbench.exchange import Group, Options, exporting, import_groups
from exam_workbench.exchange._collections import FILES
from exam_workbench.formats import Source
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, make_plan, run_job
from exam_workbench.labels import Policy
from exam_workbench.store import open_project
from tests.made.browser import Server, button, empty_tab, field, go_to, heading, note, visit
from tests.made.projects import file_of, new_project
from tests.made.screens import RATINGS, put_small

pytestmark = pytest.mark.browser

RUNS = ("bm25", "dense", "random")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[Path]]:
    """The demo's files by kind, with few lines about two queries, and all passages."""

    def part(name: str, mark: str) -> Path:
        lines = (FILES / name).read_text(encoding="utf-8").splitlines(keepends=True)
        path = tmp_path / "files" / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line for line in lines if re.match(mark, line)), encoding="utf-8")
        return path

    query = "clock-change|heat-pumps"
    return {
        "queries": [part("queries.jsonl", f'.*"({query})"')],
        "passages": [part("passages.jsonl", "")],
        "bank": [part("bank.jsonl", f'.*"({query})/q0[12]"')],
        "runs": [part(f"runs/{run}.run", rf"({query}) Q0 \S+ [1-3] ") for run in RUNS],
        "qrels": [part("qrels.txt", rf"({query}) 0 [\w-]+-0[1-4] ").rename(tmp_path / "assessors.qrels")],
    }


def held(page: Page, what: str) -> Locator:
    """Return the count of one kind of data as Home shows it."""
    return page.locator(".st-key-state .count").filter(has_text=what).locator("b")


def board(page: Page) -> Locator:
    """Return the table of systems on the Leaderboard."""
    return page.get_by_role("table", name=re.compile("^Systems by"))


def question_boxes(page: Page) -> Locator:
    return page.locator("textarea[data-key=text]")


def rewrite(page: Page, number: int, text: str) -> None:
    """Replace a question's text and leave the field."""
    box = question_boxes(page).nth(number)
    box.fill(text)
    box.blur()
    expect(page.locator(".state.changed").first).to_be_visible()


def test_new_user_gets_from_files_to_qrels(
    app_server: Callable[[Path], Server], chromium_page: Page, files: dict[str, list[Path]], tmp_path: Path
) -> None:
    page = chromium_page
    # Core alone imports and grades the same files: the expected results of the screens.
    twin = new_project(tmp_path / "twin.duckdb")
    groups = [
        Group(kind, [Source.from_path(path) for path in paths], Options("assessors" if kind == "qrels" else None))
        for kind, paths in files.items()
    ]
    import_groups(twin, groups, "twin")
    pairs = make_plan(twin, (grader := make_grader("embedding", {})).spec, 1).to_grade
    assert run_job(twin, grader, Request(), "twin").state == "done"
    counts = project_counts(twin)

    visit(page, app_server(tmp_path / "projects").address)
    expect(heading(page, "home")).to_be_visible()
    field(page, "name of the new project 0").fill("green tea")
    button(page, "create project").click()
    expect(note(page, "next home")).to_be_visible()

    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(
        [path for paths in files.values() for path in paths]
    )
    for what in ("queries", "new passages", "runs", "judgments", "questions"):
        counted = f"{counts[what.removeprefix('new ')]} {what}"
        expect(page.get_by_text(re.compile(rf"\b{counted}\b")).first).to_be_visible()
    # Before the first import, only the upload is shown.
    expect(held(page, "queries")).to_have_count(0)
    button(page, "import").click()
    for what in ("queries", "passages", "runs", "judgments", "questions"):
        expect(held(page, what)).to_have_text(str(counts[what]))

    page.locator(".st-key-next a").click()
    expect(page.locator(".st-key-metric-to-grade")).to_contain_text(f"{pairs:,}")
    button(page, "grade").click()
    expect(note(page, "job done", f"{pairs:,} 0")).to_be_visible()

    go_to(page, "export")
    with page.expect_download() as download:
        button(page, "download green-tea.qrels").click()
    download.value.save_as(tmp_path / "downloaded.qrels")
    assert download.value.suggested_filename == "green-tea.qrels"
    expected_bytes = exporting.qrels_text(twin, Policy()).encode()
    assert (tmp_path / "downloaded.qrels").read_bytes() == expected_bytes
    assert len(expected_bytes.splitlines()) == twin.value("SELECT count(*) FROM pool")
    # Later script runs, here or in another session, must not remove the file before a slow browser fetches it.
    for screen in ("leaderboard", "home", "export"):
        go_to(page, screen)
    assert page.request.get(download.value.url).body() == expected_bytes


def test_edits_and_deep_link_survive_closed_tab_and_killed_server(
    app_server: Callable[[Path], Server], chromium_page: Page, tmp_path: Path
) -> None:
    page, path = chromium_page, tmp_path / "edited.duckdb"
    for project in tmp_path / "another.duckdb", path:
        file_of(put_small).write(project)
    server = app_server(tmp_path)
    link = "/question_bank?project=edited"
    visit(page, f"{server.address}{link}")
    rewrite(page, 0, "Who is A?")
    expect(page.locator(".bar[data-unsaved='1']")).to_be_visible()
    page.close()

    again = empty_tab(page.context)
    visit(again, f"{server.address}{link}")
    expect(question_boxes(again).first).to_have_value("Who is A?")
    rewrite(again, 1, "Who is B?")
    expect(again.locator(".bar[data-unsaved='2']")).to_be_visible()
    server.process.kill()
    server.process.wait()

    server = app_server(tmp_path)
    visit(again, f"{server.address}/leaderboard?project=edited&measure=AP")
    expect(heading(again, "leaderboard")).to_be_visible()
    expect(board(again).locator("th").get_by_text("Exam AP")).to_be_visible()
    expect(field(again, "project")).to_have_value("edited")
    go_to(again, "question_bank")
    expect(again).to_have_url(re.compile("project=edited"))
    expect(question_boxes(again).nth(0)).to_have_value("Who is A?")
    expect(question_boxes(again).nth(1)).to_have_value("Who is B?")
    again.locator(".bar [data-key=note]").fill("people, not things")
    button(again, "save").click()
    expect(again.locator(".bar[data-unsaved='0'][data-version='2']")).to_be_visible()
    server.process.kill()
    server.process.wait()

    project = open_project(path)
    assert [question.text for question in bank.list_questions(project)[:3]] == ["Who is A?", "Who is B?", "What is C?"]
    assert bank.list_versions(project)[0].note == "people, not things"
    assert project_counts(project)["grades"] == sum(rating is not None for rating in RATINGS.values())
