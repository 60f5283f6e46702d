"""The HTML report: it runs and loads nothing, even with hostile texts in the project."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from exam_workbench.exchange import Figure, Section, Table, report_html
from exam_workbench.labels import Policy, compare
from exam_workbench.operations.project_report import ReportRequest, make_report
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, judge
from tests.made.refusals import refusal
from tests.made.screens import JUDGED
from tests.made.shell import ShellOn, printed

HOSTILE = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
BREAKS = "\"'><svg onload=alert(3)>]]>"
SECRET = "What is the secret A?"
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "ul", "li", "div"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "g", "path", "rect", "line", "text", "defs", "clippath", "circle", "tspan"),
}


class Seen(HTMLParser):
    """Collects all tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check_harmless(page: str) -> Seen:
    """Check that a page has only known tags, no links and no event handlers; return its parts."""
    seen = Seen(page)
    assert seen.tags <= TAGS, seen.tags - TAGS
    names = {name for name, _ in seen.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"href", "src", "xlink:href", "srcset", "action", "data", "formaction"}
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes
    assert not re.search(r"url\((?!#)|@import", page)
    return seen


def put_hostile(project: Project) -> None:
    questions = [
        Question("q1/a", "q1", SECRET),
        Question("q1/b", "q1", IMAGE),
        Question("q2/c", "q2", BREAKS),
        Question("q2/old", "q2", "An old question?", active=False),
    ]
    ratings = {
        (question.text, passage): (place * 3 + int(passage[1])) % 6
        for place, question in enumerate(questions)
        for passage in ("p1", "p2", "p3", "p4", "p5", "p6", "p7")
        if question.active
    }
    runs = {
        HOSTILE: {"q1": ["p1", "p2", "p3"], "q2": ["p5", "p6"]},
        IMAGE: {"q1": ["p3", "p1"], "q2": ["p6", "p5"]},
        BREAKS: {"q1": ["p4"], "q2": ["p7"]},
    }
    fill(project, questions, ratings, runs)
    judge(project, JUDGED, BREAKS)
    with project.transaction() as cursor:
        cursor.execute("UPDATE queries SET text = ? WHERE query_id = 'q1'", [HOSTILE])
        cursor.execute("UPDATE graders SET name = ?", [IMAGE])


hostile = filled_project(put_hostile)


def test_report_escapes_texts_and_shows_leaderboards_and_correlation(hostile: Project) -> None:
    page = make_report(hostile, ReportRequest(against=BREAKS, questions=True))
    texts = check_harmless(page).texts
    for text in (HOSTILE, IMAGE, BREAKS, SECRET):
        assert any(text in one for one in texts), text
    assert "An old question?" not in page
    page = make_report(hostile, ReportRequest(against=BREAKS))
    check_harmless(page)
    assert SECRET not in page
    found = compare(hostile, "nDCG@10", BREAKS)
    texts = Seen(make_report(hostile, ReportRequest(against=BREAKS))).texts
    for system in (*found.board.systems, *found.official.systems):
        assert system.run in texts
        assert f"{system.score:.4f}" in texts
    assert f"{found.correlation.kendall:.3f}" in texts


def test_missing_values_are_dashes_and_figure_ids_are_unique() -> None:
    page = report_html("a", "b", [Section("c", [Table("d", ["e", "f"], [["x", None], ["y", 0.0], ["z", 1200]])])])
    texts = [text for text in Seen(page).texts if text.strip()]
    assert texts[-6:] == ["x", "–", "y", "0.0000", "z", "1,200"]
    svg = '<svg><defs><clipPath id="clip0"></clipPath></defs><g clip-path="url(#clip0)"></g></svg>'
    page = report_html("a", "b", [Section("c", [Figure("d", svg), Figure("e", svg)])])
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(set(ids)) == 2 and re.findall(r"url\(#([^)]+)\)", page) == ids


def test_export_report_command_is_logged(shell_on: ShellOn) -> None:
    exam = shell_on(put_hostile)
    assert exam("export", "report", "-o", "report.html", "--against", "none", "--measure", "P@3")[0] == 0
    check_harmless(Path("report.html").read_text())
    assert printed(exam("activity", "--json"))["acts"][0]["act"] == "export report"


def test_report_of_empty_project_is_refused(project: Project) -> None:
    with refusal("no-runs"):
        make_report(project, ReportRequest(policy=Policy()))
