"""The main workflow and the durability of edits, in a real browser against a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exam_workbench import bank
from exam_workbench.bank import project_counts
from exam_workbench.exchange import Group, Options, exporting, import_groups
from exam_workbench.formats import Source
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy, compare, leaderboard
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question
from tests.made.browser import Server, button, come_to_the_front, empty_tab, field, go_to, heading, note, visit
from tests.made.projects import fill, judge, new_project

pytestmark = pytest.mark.browser

QUERIES = {"tea": "effects of green tea", "bees": "why bees are dying"}
PASSAGES = {
    "tea-1": "Green tea contains caffeine and antioxidants. It may lower blood pressure a little.",
    "tea-2": "A cup of green tea has about thirty milligrams of caffeine, less than coffee.",
    "tea-3": "The tea ceremony came to Japan with Buddhist monks from China.",
    "bees-1": "Pesticides such as neonicotinoids disorient bees, which then do not find their hive.",
    "bees-2": "The varroa mite spreads viruses among honey bees and weakens their colonies.",
    "bees-3": "Stock markets fell on Monday after weak figures from the car industry.",
}
BANK = [
    Question("tea/1", "tea", "How much caffeine does green tea contain?", weight=2.0),
    Question("tea/2", "tea", "Does green tea lower blood pressure?"),
    Question("bees/1", "bees", "Which pesticides harm bees?"),
    Question("bees/2", "bees", "How does the varroa mite harm honey bees?"),
]
RUNS = {
    "careful": {"tea": ["tea-1", "tea-2", "tea-3"], "bees": ["bees-2", "bees-1", "bees-3"]},
    "middling": {"tea": ["tea-2", "tea-3", "tea-1"], "bees": ["bees-3", "bees-1", "bees-2"]},
    "careless": {"tea": ["tea-3", "tea-2"], "bees": ["bees-3", "bees-2"]},
}
QRELS = "tea 0 tea-1 2\ntea 0 tea-2 1\ntea 0 tea-3 0\nbees 0 bees-1 1\nbees 0 bees-2 1\nbees 0 bees-3 0\n"

MARKUP = "<b>bold</b> **strong** $x^2$ :red[red] `code`"


@pytest.fixture
def page(chromium_page: Page) -> Page:
    """A tab in a browser that has visited the app before."""
    return chromium_page


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[Path]]:
    """The collection's files by kind."""

    def write(name: str, content: str) -> Path:
        path = tmp_path / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def lines(rows: list[dict[str, object]]) -> str:
        return "".join(json.dumps(row) + "\n" for row in rows)

    return {
        "queries": [write("queries.jsonl", lines([{"query_id": q, "text": t} for q, t in QUERIES.items()]))],
        "passages": [write("passages.jsonl", lines([{"passage_id": p, "text": t} for p, t in PASSAGES.items()]))],
        "bank": [
            write(
                "bank.jsonl",
                lines(
                    [
                        {"question_id": q.question_id, "query_id": q.query_id, "text": q.text, "weight": q.weight}
                        for q in BANK
                    ]
                ),
            )
        ],
        "runs": [
            write(
                f"{run}.run",
                "".join(
                    f"{query} Q0 {passage} {rank} {10 - rank} {run}\n"
                    for query, ranking in by_query.items()
                    for rank, passage in enumerate(ranking, 1)
                ),
            )
            for run, by_query in RUNS.items()
        ],
        "qrels": [write("assessors.qrels", QRELS)],
    }


@pytest.fixture
def twin(tmp_path: Path, files: dict[str, list[Path]]) -> Iterator[Project]:
    """The same files imported and graded by core alone: the expected results of the screens."""
    project = new_project(tmp_path / "twin.duckdb")
    groups = [
        Group(kind, [Source.from_path(path) for path in paths], Options("assessors" if kind == "qrels" else None))
        for kind, paths in files.items()
    ]
    import_groups(project, groups, "twin")
    assert run_job(project, make_grader("embedding", {}), Request(), "twin").state == "done"
    yield project
    project.close()


def make(projects: Path, name: str) -> Path:
    """Make a project with grades and judgments and close it, so that a server can open it."""
    path = projects / f"{name}.duckdb"
    project = new_project(path)
    questions = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
    ratings = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p2"): 3, ("What is B?", "p3"): 0}
    ranked = (["p1", "p2", "p3"], ["p2", "p1"], ["p3", "p2"])
    fill(project, questions, ratings, {f"run {i}": {"q1": ranking} for i, ranking in enumerate(ranked)})
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0, ("q1", "p3"): 0})
    project.close()
    return path


def metric(page: Page, key: str) -> Locator:
    """Return the metric box in the container with this key."""
    return page.locator(f".st-key-metric-{key}")


def held(page: Page, what: str) -> Locator:
    """Return the count of one kind of data as Home shows it."""
    return page.locator(".st-key-state .count").filter(has_text=what).locator("b")


def upload(page: Page, *paths: Path) -> None:
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(list(paths))


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
    app_server: Callable[[Path], Server],
    page: Page,
    files: dict[str, list[Path]],
    twin: Project,
    tmp_path: Path,
) -> None:
    visit(page, app_server(tmp_path / "projects").address)
    expect(heading(page, "home")).to_be_visible()
    field(page, "name of the new project").fill("green tea")
    button(page, "create project").click()
    expect(note(page, "next home")).to_be_visible()

    upload(page, *(path for paths in files.values() for path in paths))
    for counted in ("2 queries", "6 new passages", "3 runs", "6 judgments", "4 questions"):
        expect(page.get_by_text(re.compile(rf"\b{counted}\b")).first).to_be_visible()
    # Before the first import, only the upload is shown.
    expect(held(page, "queries")).to_have_count(0)
    button(page, "import").click()
    expect(held(page, "queries")).to_have_text("2")
    for what, count in (("passages", "6"), ("runs", "3"), ("judgments", "6"), ("questions", "4")):
        expect(held(page, what)).to_have_text(count)

    page.locator(".st-key-next a").click()
    expect(metric(page, "to-grade")).to_contain_text("12")
    button(page, "grade").click()
    expect(note(page, "job done", "12 0")).to_be_visible()

    go_to(page, "leaderboard")
    expected = compare(twin, "nDCG@10", "assessors").correlation
    button(page, "summary agreement").click()
    for label, value in (("Spearman", expected.spearman), ("Kendall", expected.kendall), ("systems", 3)):
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        expect(metric(page, label)).to_contain_text(shown)
    for column in ("Exam nDCG@10", "assessors nDCG@10", "Official rank"):
        expect(board(page).locator("thead th").get_by_text(column)).to_be_visible()
    rows = board(page).locator("tbody tr")
    expect(rows).to_have_count(len(RUNS))
    shown = rows.evaluate_all("rows => rows.map(row => [row.dataset.run, row.querySelector('.score data').value])")
    best_first = leaderboard(twin, "nDCG@10").systems
    assert [run for run, _ in shown] == [system.run for system in best_first]
    assert [float(score) for _, score in shown] == pytest.approx([system.score for system in best_first])

    go_to(page, "export")
    with page.expect_download() as download:
        button(page, "download green-tea.qrels").click()
    download.value.save_as(tmp_path / "downloaded.qrels")
    assert download.value.suggested_filename == "green-tea.qrels"
    expected_bytes = exporting.qrels_text(twin, Policy()).encode()
    assert (tmp_path / "downloaded.qrels").read_bytes() == expected_bytes
    assert len(expected_bytes.splitlines()) == len(PASSAGES)
    # Later script runs, here or in another session, must not remove the file before a slow browser fetches it.
    for screen in ("leaderboard", "home", "export"):
        go_to(page, screen)
    assert page.request.get(download.value.url).body() == expected_bytes


def test_malformed_file_is_refused_with_line_and_changes_nothing(
    projects: Path, server: Server, page: Page, tmp_path: Path
) -> None:
    make(projects, "untouched")
    visit(page, f"{server.address}/?project=untouched")
    expect(held(page, "runs")).to_have_text("3")
    wrong = tmp_path / "wrong.run"
    wrong.write_text("q1 Q0 p1 1 2.0 new\nq1 Q0 p2 two 1.0\n")
    right = tmp_path / "right.tsv"
    right.write_text("q2\tanother query\n")
    upload(page, wrong, right)
    expect(note(page, "error", "wrong.run:2")).to_be_visible()
    expect(button(page, "import")).to_have_count(0)
    page.reload()
    expect(held(page, "runs")).to_have_text("3")
    expect(held(page, "query")).to_have_text("1")


def test_settings_from_address_carry_over_to_other_screens(projects: Path, server: Server, page: Page) -> None:
    make(projects, "chosen")
    visit(page, f"{server.address}/leaderboard?project=chosen&tau=3&label=Supported+by+2+questions")
    for screen in ("export", "leaderboard", "export"):
        expect(note(page, "looking", "3 2").first).to_be_visible()
        go_to(page, screen)
    expect(note(page, "looking", "3 2").first).to_be_visible()
    # Widgets that were folded until now must show the chosen values, not their own defaults.
    button(page, "change scoring").first.click()
    for key, value in {"tau": "3", "label": re.compile(r"\b2\b"), "cutoff": "20"}.items():
        expect(field(page, key)).to_have_value(value)
    expect(page.locator(".st-key-weights input")).to_be_checked()


def test_edits_and_deep_link_survive_closed_tab_and_killed_server(
    app_server: Callable[[Path], Server], page: Page, tmp_path: Path
) -> None:
    make(tmp_path, "another")
    path = make(tmp_path, "edited")
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
    assert [question.text for question in bank.list_questions(project)] == ["Who is A?", "Who is B?"]
    assert bank.list_versions(project)[0].note == "people, not things"
    assert project_counts(project)["grades"] == 4
    project.close()


def test_concurrent_edits_merge_or_conflict(projects: Path, server: Server, tab_of: Callable[[str], Page]) -> None:
    make(projects, "shared")
    link = f"{server.address}/question_bank?project=shared"
    page, other = tab_of("ann"), tab_of("bob")
    visit(page, link)
    visit(other, link)

    # Edits of different questions merge automatically.
    rewrite(page, 0, "Ann's A?")
    rewrite(other, 1, "Bob's B?")
    save(page, "by ann", 2)
    save(other, "by bob", 3)
    expect(question_boxes(other).nth(0)).to_have_value("Ann's A?")

    # Edits of the same question require a choice, and both wordings are kept.
    come_to_the_front(page)
    expect(question_boxes(page).nth(1)).to_have_value("Bob's B?")
    rewrite(page, 1, "Ann's B?")
    rewrite(other, 1, "Bob's second B?")
    note = other.locator(".bar [data-key=note]")
    note.fill("bob again")
    save(page, "ann again", 4)
    button(other, "save").click()
    expect(other.get_by_text("ann again")).to_be_visible()
    expect(note).to_have_value("bob again")
    expect(question_boxes(other).nth(1)).to_have_value("Bob's second B?")
    refusal = other.locator(".others.told")
    expect(refusal).to_be_visible()
    button(other, "mine q1/b").click()
    expect(refusal).to_have_count(0)
    save(other, "bob insists", 5)
    come_to_the_front(page)
    expect(question_boxes(page).nth(1)).to_have_value("Bob's second B?")
    page.locator("[data-key=details]").nth(1).click()
    button(page, "history").click()
    history = page.get_by_role("dialog")
    for wording in ("Ann's B?", "Bob's second B?", "Bob's B?"):
        expect(history.get_by_text(wording, exact=True).first).to_be_visible()


def save(page: Page, note: str, version: int) -> None:
    """Save the drafts with a note and wait for the version."""
    page.locator(".bar [data-key=note]").fill(note)
    button(page, "save").click()
    expect(page.locator(f".bar[data-unsaved='0'][data-version='{version}']")).to_be_visible()


def test_typed_markup_stays_plain_and_discarding_restores_saved_wording(
    projects: Path, server: Server, page: Page
) -> None:
    make(projects, "markup")
    visit(page, f"{server.address}/question_bank?project=markup")
    rewrite(page, 0, "Who is A?")
    button(page, "take back").click()
    expect(question_boxes(page).first).to_have_value("What is A?")
    expect(page.locator(".bar[data-unsaved='0']")).to_be_visible()
    rewrite(page, 0, MARKUP)
    page.locator(".bar [data-key=note]").fill(MARKUP)
    button(page, "save").click()
    expect(page.locator(".bar[data-unsaved='0'][data-version='2']")).to_be_visible()
    expect(question_boxes(page).first).to_have_value(MARKUP)
    page.locator("[data-key=details]").first.click()
    button(page, "history").click()
    history = page.get_by_role("dialog")
    # The wording appears on its own and again as the added part of the change.
    expect(history.get_by_text(MARKUP, exact=True).first).to_be_visible()
    expect(history.locator(".st-key-version-2").get_by_text(MARKUP)).to_be_visible()
    # None of the markup is rendered.
    for rendered in ("b", "code", ".katex", "a"):
        expect(history.locator(rendered)).to_have_count(0)
