"""Names that contain Markdown, shortcodes or formulas: shown as plain text on every screen."""

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from streamlit.testing.v1 import AppTest

from exam_workbench import bank, records, types
from exam_workbench.bank import put_draft, save_named_grader
from exam_workbench.exchange import publish_qrels
from exam_workbench.graders import make_grader
from exam_workbench.labels import Policy, add_override
from exam_workbench.records.judging import judge_passage as assess
from exam_workbench.store import Project
from pages.parts.shared import ui
from tests.made.browser import Server, visit as go_to
from tests.made.projects import grade, new_project
from tests.made.screens import visit

MARKUP = ":material/delete: :streamlit: :+1: -> :red[r] $x$ **b** `c` [l](http://x) <i>i</i> # h"
LONG = "w" * 100_000
WILD = re.compile(
    r":material/delete|:streamlit|:\\?\+1|(?<!\S)\\?-\\?>(?!\S)|(?<!\\):red\[r|(?<!\\)\$x|(?<![\\*])\*\*b\*\*|(?<!\\)`c`|(?<!\\)\[l\]"
)
"""Active parts of `MARKUP`. Browsers unescape before they find shortcodes, so a backslash does not help."""
MARKDOWN = {
    "Markdown": ("body", "help"),
    "Alert": ("body",),
    "Heading": ("body", "help"),
    "Toast": ("body",),
    "Metric": ("label", "body", "delta", "help"),
    "Progress": ("text",),
}
"""Fields that the browser shows as Markdown, by element type. Other types: label, title and tooltip."""
CHOICES = ("ButtonGroup", "Radio")
"""Widgets whose options are Markdown. The options of select boxes are plain text."""


def markdown_of(app: AppTest) -> Iterator[tuple[str, str]]:
    """Yield the element field and text of each string that the browser renders as Markdown."""
    for block in app.main, app.sidebar:
        yield from _of(block)


def _of(node: Any) -> Iterator[tuple[str, str]]:
    for proto in _protos(node.proto):
        kind = type(proto).__name__
        for name in MARKDOWN.get(kind, ("label", "title", "help")):
            if isinstance(text := getattr(proto, name, None), str):
                yield f"{kind}.{name}", text
        for text in _column_helps(proto):
            yield f"{kind} column", text
        for option in proto.options if kind in CHOICES else ():
            yield f"{kind} option", option if isinstance(option, str) else option.content
    for child in getattr(node, "children", {}).values():
        yield from _of(child)


def _column_helps(proto: Any) -> Iterator[str]:
    """Yield the tooltips of table columns, which are Markdown. Column names and cells are plain text."""
    if columns := getattr(proto, "columns", "") if type(proto).__name__ == "Dataframe" else "":
        for column in json.loads(columns).values():
            yield str(column.get("help") or "")


def _protos(proto: Any) -> list[Any]:
    if proto is None:
        return []
    parts = [getattr(proto, name) for name in ("popover", "dialog", "expandable", "tab") if hasattr(proto, name)]
    return [proto, *parts]


def test_unescaped_markup_is_found_in_every_element() -> None:
    def page() -> None:
        import streamlit as st

        name = ":material/delete: :red[r] $x$"
        st.caption(name)
        st.expander(name).metric(name, 1)
        st.tabs([name])
        st.popover(name).button(name)
        st.radio("a", [name])
        st.segmented_control("b", [name])
        st.error(name)
        st.sidebar.checkbox("ok", help=name)
        st.selectbox("fine", [name])
        st.dataframe({name: [name]}, column_config={name: st.column_config.TextColumn(help=name)})

    found = [place for place, text in markdown_of(AppTest.from_function(page).run()) if WILD.search(text)]
    assert sorted(found) == sorted(
        ["Markdown.body", "Expandable.label", "Metric.label", "Tab.label", "Popover.label", "Button.label",
         "Radio option", "ButtonGroup option", "Alert.body", "Checkbox.help", "Dataframe column"]
    )  # fmt: skip


def hostile(project: Project, name: str) -> None:
    """Fill a project with names and texts that contain `name`, kept apart by prefixes."""
    ids = {"q1": f"q1{name.replace(' ', '')[:300]}", "q2": "q2"}
    questions = [
        types.Question(f"{ids['q1']}/a", ids["q1"], f"A {name}?", subtopic_id=f"s{name[:300]}", note=f"n {name}"),
        types.Question("q2/b", "q2", f"B {name}?", answer_key=f"k {name}", kind="question"),
    ]
    passages = [f"p{n}{name.replace(' ', '')[:300]}" for n in range(4)]
    runs = [f"r{n} {name[:400]}" for n in range(3)]
    with project.transaction() as cursor:
        subtopics = (types.Subtopic(f"s{name[:300]}", f"S {name}"),)
        queries = [types.Query(query, f"{key} {name}", f"N {name}", subtopics) for key, query in ids.items()]
        records.add_queries(cursor, queries, replace=True)
        records.add_passages(cursor, [types.Passage(p, f"t{p} {name}") for p in passages])
        rankings = {
            run: [
                types.Ranked(q, p, k, 9.0 - k)
                for q in ids.values()
                for k, p in enumerate(passages[at:] + passages[:at], 1)
            ]
            for at, run in enumerate(runs)
        }
        records.write_runs(cursor, rankings, [(run, run, f"f {name}"[:200]) for run in runs])
        for source in ("one", "two"):
            values = [types.Judgment(q, p, n % 3) for q in ids.values() for n, p in enumerate(passages)]
            records.write_judgments(cursor, f"{source} {name[:400]}", values)
        rows = [types.BoardRow(run, 0.5 - at / 10, 0.01, at + 1) for at, run in enumerate(runs)]
        records.write_board(cursor, types.Board(f"board {name[:400]}", "AP", rows))
        records.refresh_pool(cursor)
    who = f"ann {name[:60]}"
    bank.save_version(project, questions, f"note {name}", who)
    for at, method in enumerate(("self-rating", "answer", "self-rating")):
        spec = types.GraderSpec(f"g{at} {name[:400]}", method, f"m{at} {name[:300]}", f"p {name[:100]}")
        grades = {
            (q.text, p): types.Grade((n * (at + 2) + i) % 6, answer=f"a {name}", raw=f"w {name}")
            for i, q in enumerate(questions) for n, p in enumerate(passages[:3])
        }  # fmt: skip
        grades |= {(q.text, passages[3]): types.Grade(None, "failed", reason=f"why {name}") for q in questions}
        grade(project, grades, spec)
    save_named_grader(project, f"named {name[:300]}", "embedding", {}, who)
    add_override(project, questions[0].question_id, passages[0], 5, f"because {name}", who)
    add_override(project, questions[1].question_id, passages[1], 0, f"because {name}", who)
    bank.save_version(project, [replace(questions[1], text=f"C {name}?")], f"again {name}", who)
    assess(project, ids["q1"], passages[1], 2, who, f"note {name}")
    publish_qrels(project, Policy(), who, False, f"published {name}")
    put_draft(project, "ann", replace(questions[0], text=f"D {name}?"))
    assert make_grader("embedding", {}).spec.method == "embedding"


VISITS = [
    ("home", {}), ("question_bank", {"query": "q2"}), ("question_bank", {}), ("grading", {}), ("prompts", {}),
    ("passages", {}), ("leaderboard", {}), ("measures", {}),
    ("disagreements", {}), ("disagreements", {"show_settled": "true"}), ("changes", {}), ("export", {}),
    ("activity", {}),
]  # fmt: skip


@pytest.mark.parametrize("name", [MARKUP, LONG], ids=["markup", "a word of 100 kB"])
def test_names_are_escaped_on_every_screen(tmp_path: Path, name: str) -> None:
    made = new_project(tmp_path / f"p {MARKUP.replace('/', '')}.duckdb")
    hostile(made, name)
    made.close()
    wild: list[str] = []
    for screen, query in VISITS:
        _look(visit(screen, **query), f"{screen} {query}", wild)
    assert not wild, "\n".join(dict.fromkeys(wild))


def _look(app: AppTest, where: str, wild: list[str]) -> None:
    for place, text in markdown_of(app):
        if found := _wild_in(text):
            wild.append(f"{where}: {place}: …{text[max(0, found.start() - 40) : found.end() + 20]}…")

        if len(text) > 20_000 and place != "Markdown.body":
            wild.append(f"{where}: {place}: {len(text):,} characters: {text[:60]}…")


@functools.cache
def _wild_in(text: str) -> re.Match[str] | None:
    """Cached: searching a long text takes milliseconds, and many screens repeat the same texts."""
    return WILD.search(text)


@pytest.mark.browser
def test_long_words_fit_the_window_and_shortcodes_stay_text(
    projects: Path, server: Server, chromium_page: Page
) -> None:
    for project, name in (("long", LONG), ("shortcodes", MARKUP)):
        made = new_project(projects / f"{project}.duckdb")
        hostile(made, name)
        made.close()
    for screen in ("question_bank", "passages", "leaderboard"):
        go_to(chromium_page, f"{server.address}/{screen}?project=long")
        assert not chromium_page.evaluate(TOO_WIDE), screen
    go_to(chromium_page, f"{server.address}/passages?project=shortcodes")
    heading = chromium_page.get_by_role("heading", level=2).first
    expect(heading).to_contain_text("q1")
    assert heading.inner_text().replace(ui.JOINER, "") == f"q1 {MARKUP}"
    assert heading.locator("img, [role=img], [translate=no], a, b, strong, code").count() == 0


TOO_WIDE = """() => [...document.querySelectorAll('[data-testid=stMain] *')].filter(
    one => one.getBoundingClientRect().right > innerWidth + 2
        && !one.closest('[data-testid=stDataFrame], svg, .stMarkdownEllipsis')
).map(one => one.outerHTML.slice(0, 200))"""
"""Elements that extend beyond the window, except tables, which scroll within their own edges."""
