"""From a disagreement to better qrels, hostile passages and blind judging, in a real browser."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exam_workbench.exchange import exporting
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy, add_override, leaderboard, withdraw_by_key
from exam_workbench.review import Judgments, Labels, case_of, list_disagreements, settle_by_dispute, side_agreement
from exam_workbench.store import Project, open_project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.browser import Server, button, follow, go_to, heading, note, ready, visit
from tests.made.projects import fill, grade, judge, new_project

pytestmark = pytest.mark.browser

QUERIES = {"tea": "effects of green tea", "bees": "why bees are dying"}
PASSAGES = {
    "tea-1": "Green tea contains caffeine and antioxidants. It may lower blood pressure a little.",
    "tea-2": "A cup of green tea has about thirty milligrams of caffeine, less than coffee.",
    "tea-3": "The tea ceremony came to Japan with Buddhist monks from China.",
    "bees-1": "Pesticides such as neonicotinoids disorient bees, which then do not find their hive.",
    "bees-2": "The varroa mite spreads viruses among honey bees and weakens their colonies until they die.",
    "bees-3": "Honey bees dance to tell one another where flowers are. The dance says how far away they are, and in"
    " which direction.",
    "bees-4": "Stock markets fell on Monday after weak figures from the car industry.",
}
VAGUE, SHARP = "What do honey bees do?", "What kills honey bees?"
"""A question that an off-topic passage answers (rating 4), and a wording that it does not answer (rating 3)."""
BANK = [
    Question("tea/1", "tea", "How much caffeine does green tea contain?"),
    Question("tea/2", "tea", "Does green tea lower blood pressure?"),
    Question("bees/1", "bees", "Which pesticides harm bees?"),
    Question("bees/2", "bees", "How does the varroa mite weaken bee colonies?"),
    Question("bees/3", "bees", VAGUE),
]
RUNS = {
    "dancing": {"tea": ["tea-2", "tea-1", "tea-3"], "bees": ["bees-3", "bees-2", "bees-1", "bees-4"]},
    "careful": {"tea": ["tea-1", "tea-2", "tea-3"], "bees": ["bees-2", "bees-1", "bees-4"]},
    "careless": {"tea": ["tea-3", "tea-1"], "bees": ["bees-4", "bees-3"]},
}
JUDGED = {"tea-1": 2, "tea-2": 1, "tea-3": 0, "bees-1": 1, "bees-2": 2, "bees-3": 0, "bees-4": 0}
WRONG = "bees-3"
"""The passage that is judged not relevant but gets a high label from the vague question alone."""

FORMULA = "=cmd|'/C calc'!A0"
FORMULA_ID = "=cmd|'/C'!A1"


def graded(path: Path) -> Path:
    """Make a graded project in which label and judgment disagree on one passage."""
    project = new_project(path)
    fill(project, BANK, {}, RUNS, texts=QUERIES | PASSAGES)
    judge(project, {(passage.split("-")[0], passage): value for passage, value in JUDGED.items()})
    assert run_job(project, make_grader("embedding", {}), Request(), "maker").state == "done"
    project.close()
    return path


@pytest.fixture
def twin(projects: Path, tmp_path: Path) -> Project:
    """A copy in which core alone repeats the organizer's actions: the expected results of the screens."""
    return open_project(Path(shutil.copy(graded(projects / "bees.duckdb"), tmp_path / "twin.duckdb")))


@pytest.fixture
def page(chromium_page: Page) -> Page:
    """A tab in a browser that has visited the app before."""
    return chromium_page


def merged_kappa(twin: Project) -> str:
    """Return the kappa of the merged table as the screen formats it."""
    return f"{side_agreement(twin, Labels(Policy()), Judgments('assessors')).merged.kappa.value:.2f}"


def expect_board(page: Page, twin: Project) -> list[str]:
    """Wait until the screen shows the twin's leaderboard; return its runs, best first."""
    expected = leaderboard(twin, "nDCG@10", "exam", Policy()).systems
    rows = page.locator("tr.system")
    for at, system in enumerate(expected):
        expect(rows.nth(at).get_by_role("rowheader")).to_have_text(re.compile(system.run))
        expect(rows.nth(at).locator(".score data").first).to_have_attribute("value", repr(system.score))
    expect(rows).to_have_count(len(expected))
    return [system.run for system in expected]


def way(case: Page | Locator, how: str) -> Locator:
    """Return the option for a way to settle a case."""
    return case.locator(f".settle .segment:has([name=how][value={how}])")


def download(page: Page, key: str, within: Locator | None = None) -> bytes:
    """Click a download button, optionally within a part of the page, and return the file's content."""
    with page.expect_download() as started:
        button(within or page, key).click()
    return Path(started.value.path()).read_bytes()


def test_organizer_gets_from_disagreement_to_better_qrels(
    twin: Project, server: Server, tab_of: Callable[[str], Page]
) -> None:
    page = tab_of("ann")
    visit(page, f"{server.address}/export?project=bees")
    before = download(page, "download bees.qrels")
    assert before == exporting.qrels_text(twin, Policy()).encode()
    assert f"bees 0 {WRONG} 4\n".encode() in before
    go_to(page, "leaderboard")
    assert expect_board(page, twin)[0] == "dancing"

    # A table cell leads to the passage and to the question that determined its label.
    go_to(page, "disagreements")
    kappa, cells = page.locator(".kappa"), page.locator(".cross .cell")
    page.locator(".tables .segment").last.click()
    expect(kappa).to_have_text(re.compile(rf" {merged_kappa(twin)}$"))
    page.locator("[data-cell='5,4:0']").click()
    expect(page.locator("button.filter", has_text=re.compile(r"5\D+4\D+0"))).to_be_visible()
    case = page.locator("section.case")
    expect(page.locator(".case h2", has_text=re.compile(r"\b1\D+1$"))).to_be_visible()
    expect(case.locator(".passage")).to_have_text(PASSAGES[WRONG])
    giving = case.locator(".question", has_text=VAGUE)
    expect(giving.locator(".mark")).to_be_visible()
    expect(giving.get_by_role("checkbox")).to_be_checked()
    case.locator("footer a").first.click()
    expect(heading(page, "passages")).to_be_visible()
    ready(page)
    expect(page.locator(".passage-text")).to_contain_text("Honey bees dance to tell one another where flowers are.")
    label = page.locator(".desk-passage .label")
    expect(label).to_have_text(re.compile(r"\b4\D+3$"))
    blamed = page.locator(".rows [role=group]", has_text=VAGUE)
    expect(blamed.locator(".gives")).to_be_visible()

    # One button sets all ratings to 0; it is disabled once all of them are.
    rate_none = page.locator(".ratings .top > button")
    rate_none.click()
    expect(rate_none).to_be_disabled()
    page.locator(".tray form button.link").click()
    expect(rate_none).to_be_enabled()

    # One key begins an override, whose effect is shown before and after it is made. Text typed after the rating is
    # the reason, and no redraw may lose it.
    blamed.focus()
    page.keyboard.press("1")
    effect = note(page, "effect tried")
    expect(effect).to_be_visible()
    expect(effect).to_contain_text("4 → 1")
    expect(effect.locator("p", has_text=re.compile(r"\b2\D+3\D+3\D+nDCG@10"))).to_be_visible()
    page.keyboard.type("It dances, ")
    page.keyboard.press("Alt+j")
    expect(page.locator(".passage-text")).not_to_contain_text("Honey bees")
    page.keyboard.press("Alt+k")
    expect(page.locator(".passage-text")).to_contain_text("Honey bees")
    reason = page.locator(".tray form input")
    expect(reason).to_have_value("It dances, ")
    blamed.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("2 do not die")
    reason.press("Enter")
    expect(label).to_have_text(re.compile(r"\b1\D+1, 2, 3$"))
    expect(note(page, "effect made")).to_be_visible()
    expect(blamed).to_contain_text("ann")
    expect(blamed).to_contain_text("It dances, 2 do not die")
    expect(reason).to_be_hidden()
    key = add_override(twin, "bees/3", WRONG, 1, "as ann", "ann")
    go_to(page, "leaderboard")
    assert expect_board(page, twin)[0] == "careful"
    go_to(page, "disagreements")
    # The chosen filter is still set on return, although no case matches it now.
    expect(page.locator("button.filter", has_text=re.compile(r"5\D+4\D+0"))).to_be_visible()
    page.locator(".tables .segment").last.click()
    expect(kappa).to_have_text(re.compile(r" 1\.00$"))
    expect(cells).to_have_text(["4", "0", "0", "3"])

    # Withdrawing the override restores the previous state.
    go_to(page, "passages")
    page.locator(".st-key-part button", has_text="Ratings").click()
    page.locator(".st-key-override-list summary", has_text=re.compile(r"\b1\b")).click()
    ready(page)
    expect(page.locator(".st-key-override-list .asked .gray")).to_have_text(re.compile(r"\b4 → 1\b.*\bann\b"))
    page.locator(".rows button[data-place^=withdraw]").press("Enter")
    expect(label).to_have_text(re.compile(r"\b4\D+3$"))
    expect(blamed).to_be_focused()
    expect(page.locator(".st-key-override-list summary", has_text=re.compile(r"\b0\b"))).to_be_visible()
    # The list must stay unfolded: a press in a list that folds by itself would be lost.
    expect(note(page, "no-overrides")).to_be_visible()
    withdraw_by_key(twin, key, "ann")
    go_to(page, "leaderboard")
    assert expect_board(page, twin)[0] == "dancing"
    go_to(page, "disagreements")
    page.locator(".tables .segment").last.click()
    expect(kappa).to_have_text(re.compile(rf" {merged_kappa(twin)}$"))

    # Settling the case by rewording opens the question next to the passage.
    expect(page.locator(".case h2", has_text=re.compile(r"\b1\D+1$"))).to_be_visible()
    way(case, "edit").click()
    expect(case.get_by_role("radio", name=VAGUE)).to_be_checked()
    case.locator("input.reason").fill("Bees do many things")
    case.locator(".buttons button.first").click()
    expect(heading(page, "question_bank")).to_be_visible()
    ready(page)
    beside = page.locator(".st-key-impact")
    expect(beside.get_by_text(PASSAGES[WRONG])).to_be_visible()
    expect(note(page, "passage-beside")).to_be_visible()
    question = page.locator("textarea[data-key=text]").nth(2)
    expect(question).to_have_value(VAGUE)
    question.fill(SHARP)
    question.blur()
    expect(page.locator(".bar[data-unsaved='1']")).to_be_visible()
    expect(note(page, "to-grade", "4")).to_be_visible()
    page.locator(".bar [data-key=note]").fill("ask for causes of death")
    button(page, "save").click()
    expect(note(page, "saved-to-grade", "2 4")).to_be_visible()
    page.locator(".st-key-just-saved a[href*=grading]").click()
    expect(heading(page, "grading")).to_be_visible()
    ready(page)
    expect(page.locator(".st-key-metric-to-grade").get_by_test_id("stMetricValue")).to_have_text("4")
    button(page, "grade").click()
    expect(note(page, "job done", "4 0")).to_be_visible()

    # One line of the qrels differs.
    go_to(page, "export")
    expect(note(page, "complete", "18")).to_be_visible()
    after = download(page, "download bees.qrels")
    lines = list(zip(before.splitlines(), after.splitlines(), strict=True))
    assert [both for both in lines if both[0] != both[1]] == [
        (f"bees 0 {WRONG} 4".encode(), f"bees 0 {WRONG} 3".encode())
    ]
    go_to(page, "disagreements")
    page.locator(".tables .segment").last.click()
    expect(kappa).to_have_text(re.compile(r" 1\.00$"))


HOSTILE = {
    "markup": (
        "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><b class=hacked>bold</b> **bold**"
        " $x^2$ :red[red] [link](javascript:window.hacked=1) `code` &lt;entity&gt;\n# heading\n\n| a | b |\n|---|---|",
        None,
    ),
    "directions": ("شكرا على القراءة! \u202eback\u202c שלום (abc) 🙂👩\u200d👩\u200d👧 e\u0301\u0302\u0303 end", None),
    "controls": (
        "null\x00 bell\x07 escape\x1b[31m delete\x7f next\x85 tab\t line\r\nend",
        "null  bell  escape [31m delete  next[U+0085] tab\t line\nend",
    ),
    "long": (" ".join(f"word{number}" for number in range(11_500)) + " the very end", None),
    FORMULA_ID: (f"{FORMULA} is what a spreadsheet would run.", None),
}
"""Passages by id: the original text, and the expected text on screen if it differs."""


@pytest.fixture(scope="module")
def hostile(projects: Path) -> str:
    """Return the name of a project whose texts and names do harm unless shown as plain text."""
    project = new_project(projects / "hostile.duckdb")
    texts = {passage: text for passage, (text, _) in HOSTILE.items()}
    asked = [Question("q/1", "q", f"<b class=hacked>What</b> is **it**? {FORMULA}"), Question("q/2", "q", FORMULA)]
    runs = {FORMULA_ID: {"q": list(texts)}, "other": {"q": list(texts)[::-1]}}
    fill(project, asked, {}, runs, texts={"q": FORMULA} | texts)
    judge(project, {("q", passage): 0 for passage in texts})
    grades = {
        (question.text, passage): Grade(5 - 4 * at, answer=" ".join(text.split(" ")[:3]))
        for passage, text in texts.items()
        for at, question in enumerate(asked)
    }
    grade(project, grades, GraderSpec("reader", "extractive", "none"))
    add_override(project, "q/1", FORMULA_ID, 3, FORMULA, FORMULA)
    labels, judgments = Labels(Policy()), Judgments("assessors")
    worst = next(
        row.pair for row in list_disagreements(project, labels, judgments).rows if row.pair.passage_id == FORMULA_ID
    )
    settle_by_dispute(project, case_of(project, labels, judgments, worst), "assessors", FORMULA, FORMULA)
    project.close()
    return "hostile"


def expect_harmless(page: Page) -> None:
    """Expect that no script or markup of the texts took effect and that the layout is intact."""
    assert page.evaluate("window.hacked") is None
    main = page.get_by_test_id("stMain")
    expect(main.locator(".hacked, script, img, table:not([role=grid], .cross), [href^=javascript]")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert main.evaluate("box => box.scrollWidth <= box.clientWidth")


def expect_judged_in_sight(page: Page, link: str) -> None:
    """Expect that a long passage in a narrow window scrolls above the judging keys, which stay visible."""
    page.set_viewport_size({"width": 900, "height": 900})
    visit(page, link)
    text, keys = page.locator(".pane .passage"), page.locator(".keys .scale")
    above, below = text.bounding_box(), keys.bounding_box()
    assert above is not None and below is not None
    assert above["y"] >= 0 and above["y"] + above["height"] <= below["y"]
    assert below["y"] + below["height"] <= 900
    # The end of the passage is reached by scrolling within it.
    assert text.evaluate("text => { text.scrollTo(0, 1e9); return text.scrollTop > 0; }")
    page.set_viewport_size({"width": 1440, "height": 900})


def test_hostile_passages_are_shown_completely_as_plain_text(hostile: str, server: Server, page: Page) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    visit(page, f"{server.address}/passages?project={hostile}&query=q&passage=markup")
    for number, (name, (text, shown)) in enumerate(HOSTILE.items(), 1):
        if number > 1:
            page.keyboard.press("Alt+j")
        expect(page.locator(".where").first).to_have_text(re.compile(rf"^{number}\D+{len(HOSTILE)}$"))
        expect(page.locator(".desk-passage .foot > .dim")).to_have_text(re.compile(rf" {re.escape(name)}$"))
        box = page.locator(".passage-text")
        # The numbers of questions between the words are not part of the passage.
        whole = box.evaluate(
            "box => { const copy = box.cloneNode(true);"
            " copy.querySelectorAll('sup').forEach(one => one.remove()); return copy.textContent; }"
        )
        assert whole == (shown or text)
        expect(box.locator("sup")).to_have_count(1)
        expect(page.locator(".rows [role=group]", has_text="<b class=hacked>What</b> is **it**?")).to_be_visible()
        ranked = page.locator(".st-key-known [role=row]", has_text=FORMULA_ID).locator("[role=gridcell]").last
        expect(ranked).to_have_text(str(number))
        expect_harmless(page)

    expect_judged_in_sight(
        page, f"{server.address}/passages?project={hostile}&part=Judge&query=q&passage=long&blind=false"
    )
    follow(page, f"/disagreements?project={hostile}&settled=shown", "Disagreements")
    listed = page.locator("ol.list").locator(".row")
    expect(listed).to_have_count(len(HOSTILE))
    for begin in ("<script>window.hacked = 1</script><img", "شكرا على القراءة!", "null  bell", "word0 word1", FORMULA):
        expect(listed.locator(".text").filter(has_text=begin)).to_be_visible()
    shown = page.locator(".case .passage")
    for number in range(len(HOSTILE)):
        expect(page.locator(".case h2", has_text=re.compile(rf"\b{number + 1}\D+{len(HOSTILE)}$"))).to_be_visible()
        expect(shown).to_have_text(re.compile("."))
        expect_harmless(page)
        page.keyboard.press("Alt+j")
    assert not errors


SEEN = """
window.seen = new Set();
const look = (node) => {
  for (const one of node.querySelectorAll("*")) {
    if (one.matches(".label .chip, .chip:not(.rnone), mark")) window.seen.add(one.className || one.tagName);
    if (one.shadowRoot) look(one.shadowRoot);
  }
  requestAnimationFrame(() => node === document && look(document));
};
look(document);
"""
"""Records every element that reveals a label or a rating, in any frame of the page."""


def test_blind_mode_is_on_until_switched_off_in_address(projects: Path, server: Server, page: Page) -> None:
    graded(projects / "unseen.duckdb")
    link = f"{server.address}/passages?project=unseen&query=tea"
    page.add_init_script(SEEN)
    for come in (lambda: visit(page, link), page.reload):
        come()
        expect(page.locator(".pane .passage")).to_be_visible()
        ready(page)
        assert page.evaluate("[...seen]") == []
    page.locator(".st-key-blind label").click()
    expect(page).to_have_url(re.compile("blind=false"))
    expect(page.locator("p.label .chip")).to_be_visible()
    page.reload()
    expect(page.locator("p.label .chip")).to_be_visible()
    assert page.evaluate("seen.size") > 0


def test_typed_reason_is_kept_and_next_case_opens_in_place(projects: Path, server: Server, page: Page) -> None:
    # A separate project, because the app keeps the state of projects that other tests used.
    graded(projects / "typed.duckdb")
    visit(page, f"{server.address}/disagreements?project=typed")
    case, title = page.locator("section.case"), page.locator(".case h2")
    many = int(re.findall(r"\d+", title.inner_text())[1])
    first = case.locator(".passage").inner_text()
    way(case, "comment").click()
    case.locator("input.reason").fill("both are right")
    page.keyboard.press("Alt+j")
    expect(title).to_have_text(re.compile(rf"\b2\D+{many}$"))
    second = case.locator(".passage").inner_text()
    # Back returns to the case with its typed reason; a reload keeps both.
    page.go_back()
    expect(title).to_have_text(re.compile(rf"\b1\D+{many}$"))
    expect(case.locator("input.reason")).to_have_value("both are right")
    page.reload()
    expect(case.locator("input.reason")).to_have_value("both are right")
    # A double click settles the case once and shows no conflict.
    case.locator(".buttons button.first").dblclick()
    expect(title).to_have_text(re.compile(rf"\b1\D+{many - 1}$"))
    expect(case.locator(".passage")).to_have_text(second)
    expect(title).to_be_focused()
    ready(page)
    expect(case.locator(".trouble")).to_be_empty()
    # The message stays while the next case is filled in.
    way(case, "override").click()
    expect(case.locator(".ratings-of")).to_be_visible()
    page.locator(".news button").click()
    expect(title).to_have_text(re.compile(rf"\b1\D+{many}$"))
    expect(case.locator(".passage")).to_have_text(first)
    # One rating for all questions, with a preview of its effect.
    way(case, "override").click()
    case.locator(".ratings-of").get_by_text("0", exact=True).click()
    case.locator(".ratings-of button").click()
    expect(case.locator(".asked input[type=checkbox]").first).to_be_checked()
    expect(case.locator(".effect")).to_contain_text("→ 0")
    # Opening another screen from the menu is a single step for Back.
    go_to(page, "passages")
    expect(page).to_have_url(re.compile("query="))
    page.go_back()
    expect(title).to_have_text(re.compile(rf"\b1\D+{many}$"))
