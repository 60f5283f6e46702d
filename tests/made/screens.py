"""Tests of screens without a browser: the app for one person and the projects in a test's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import altair
import duckdb
import pandas
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.components.v2.bidi_component import main
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.testing.v1.element_tree import Block
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from exam_workbench.store import Project, _database as database
from exam_workbench.types import Question
from pages.parts.shared import person, visitor
from tests.made.projects import fill, judge, new_project
from tests.made.refusals import mentions

APP = Path(__file__).resolve().parents[2] / "app.py"
DEADLINE = 120
"""Seconds after which a screen or a job counts as hanging."""

COMPILED = ScriptCache()
"""The compiled screens of the app, cached as in a server."""

_look_for_its_end = local_script_runner.require_widgets_deltas


def wait_for(runner: LocalScriptRunner, timeout: float) -> None:
    """Wait for a run of a screen by joining its thread, because the harness would poll a thousand times a second."""
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        _look_for_its_end(runner, 0)


_check_schema = database.check_schema


def check_unless_open(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Check the schema of a file that the test does not have open itself: it takes a tenth of a small test's time."""
    if not database.is_open(path):
        _check_schema(path, connection)


class Unconnected:
    """A server's runtime without a connected browser, with only the method that the app calls.

    The harness would create a mock of all attributes at every run of a screen.
    """

    def __init__(self, spec: type) -> None:
        assert spec is Runtime

    def get_client(self, _session_id: str) -> None:
        return None


@pytest.fixture(autouse=True)
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The app for one person, ann, with the projects in the test's folder, in every module that imports `visit`."""
    if not any(value is visit for value in vars(request.module).values()):
        yield
        return
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ann")
    # As in the browser of a person who entered a name earlier.
    monkeypatch.setattr(person, "remembered_name", lambda: "ann")
    # Without a connection in the harness, this counts as the browser of the only person at this computer.
    monkeypatch.setattr(visitor, "is_alone", lambda: True)
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    begin = PagesManager.__init__

    def declared(manager: PagesManager, *args: Any, **options: Any) -> None:
        # The harness forgets between two runs that the screens are declared; a server does not.
        begin(manager, *args, **options)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", declared)
    # The harness scans all packages for components at every visit, a server only once; the app uses none of them.
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", list)
    monkeypatch.setattr(local_script_runner, "require_widgets_deltas", wait_for)
    monkeypatch.setattr(app_test, "MagicMock", Unconnected)
    # A server compiles a screen once, the harness at every run.
    for harness in app_test, local_script_runner:
        monkeypatch.setattr(harness, "ScriptCache", lambda: COMPILED)
    monkeypatch.setattr(database, "check_schema", check_unless_open)
    # A test has no file of secrets, and the app looks for one fifty times at every run.
    monkeypatch.setattr(visitor, "server_secrets", lambda: st.secrets.to_dict() if st.secrets._secrets else {})
    # The harness copies the values of all widgets for every widget, but only keys are needed.
    monkeypatch.setattr(SafeSessionState, "filtered_state", property(lambda state: state._state))
    yield
    if "shared" not in request.fixturenames:
        st.cache_resource.clear()


def shown_project(put: Callable[[Project], None]) -> Any:
    """Return a fixture: a project filled by `put`, for all tests of a module that only read it.

    The app keeps it open, with its cached results.
    """

    @pytest.fixture(scope="module")
    def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
        project = new_project(tmp_path_factory.mktemp("shown") / "test.duckdb")
        put(project)
        yield project
        st.cache_resource.clear()
        project.close()

    return looked_at


@pytest.fixture
def shared(looked_at: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The project `looked_at` of a module, for a test that only reads it; a test that changes it fails."""
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(looked_at.path.parent))
    database = looked_at._database
    before = database.version()
    yield looked_at
    assert database.version() == before, "other tests read this project: change a project of your own"


def text_of(node: Any) -> str:
    """Return the text of an element, also of a table."""
    value = getattr(node, "value", None)
    return value.to_string() if isinstance(value, pandas.DataFrame) else str(value or getattr(node.proto, "body", ""))


class Screen(AppTest):
    """A screen of the app, or another script, whose runs must raise nothing."""

    def __init__(self, script: Path = APP) -> None:
        super().__init__(script, default_timeout=DEADLINE)

    def _run(self, *given: Any, **more: Any) -> Screen:
        super()._run(*given, **more)
        assert not self.exception, [element.message for element in self.exception]
        return self

    def said(self) -> str:
        """Return all texts of a screen."""
        kinds = ("title", "subheader", "markdown", "text", "caption", "info", "success", "warning", "error", "toast")
        return "\n".join(str(element.value) for kind in kinds for element in getattr(self, kind))

    def plain_texts(self) -> str:
        """Return all texts of a screen, as people read them."""
        return self.said().replace("\\", "")

    def markup(self) -> str:
        """Return all HTML of a screen without its styles."""
        bodies = "\n".join(str(element.proto.body) for element in self.get("html"))
        return re.sub(r"<style>.*?</style>", "", bodies, flags=re.DOTALL)

    def downloads(self) -> list[str]:
        return [str(element.key) for element in self.get("download_button")]

    def boxes(self) -> dict[str, Block]:
        """Return the containers of a screen by their keys."""
        nodes = (node for part in self._tree.children.values() for node in part)
        return {str(node.key): node for node in nodes if isinstance(node, Block) and node.key}

    def note(self, key: str) -> str:
        """Return the rendered text of the containers whose key is or starts with `key`; empty without one."""
        inside = [box for name, box in self.boxes().items() if re.match(rf"{re.escape(key)}(?![^ -])", name)]
        found = [node for box in inside for node in box if not isinstance(node, Block)]
        return re.sub(r"\\(.)", r"\1", "\n".join(map(text_of, found)))

    def shows(self, key: str, *values: object) -> bool:
        """Return whether the container of a key has text that contains each value as a whole word or number."""
        text = self.note(key)
        return bool(text) and all(mentions(text, str(value)) for value in values)

    def errors(self) -> list[str]:
        """Return the codes of the errors on a screen, in their order."""
        return [key.split()[1] for key in self.boxes() if key.startswith("error ")]

    def check_refused(self, code: str, *values: object) -> None:
        """Check that a screen shows exactly one error, with a code and each value as a whole word or number."""
        assert self.errors() == [code], [(key, self.note(key)) for key in self.boxes() if key.startswith("error ")]
        (key,) = (key for key in self.boxes() if key.startswith("error "))
        assert self.shows(key, *values), (self.note(key), values)

    def component(self, key: str) -> Any:
        """Return the message that a screen sent to the browser for one of our components."""
        return next(part.proto for part in self.get("bidi_component") if part.proto.id.endswith(f"-{key}"))

    def holds(self, key: str) -> Any:
        return json.loads(self.component(key).json)

    def tell(self, key: str, name: str, value: object = True) -> Screen:
        """Report an event of a component, as `setTriggerValue` does in the browser."""
        events = [{"event": name, "value": value}]
        trigger = main._make_trigger_id(self.component(key).id, "events")
        return self._report(trigger, json_trigger_value=json.dumps(events))

    def act(self, key: str, *acts: dict[str, object]) -> Screen:
        """Send actions of a desk, with numbers that follow those of its earlier ones."""
        taken = self.holds(key)["taken"]
        return self.tell(key, "acts", [{"id": taken + at, **one} for at, one in enumerate(acts, 1)])

    def leave(self, key: str, **values: object) -> Screen:
        """Set the state of a component, as `setStateValue` does in the browser."""
        return self._report(self.component(key).id, json_value=json.dumps(values))

    def select(self, key: str, **chosen: object) -> Screen:
        """Select rows or cells of a table, as clicks do in the browser; without any, clear the selection."""
        table = next(part.proto for part in self.dataframe if part.proto.id.endswith(f"-{key}"))
        held = {"selection": {"rows": [], "columns": [], "cells": [], **chosen}}
        return self._report(table.id, string_value=json.dumps(held))

    def in_bank(self, *acts: dict[str, object]) -> Screen:
        """Report changes in the question bank, as `channel.js` does in the browser."""
        here = self.holds("bank")
        place = {"window": here["window"], "project": here["project"], "author": here["author"]}
        return self.leave("bank", acts=[{"n": here["done"] + at, **place, **act} for at, act in enumerate(acts, 1)])

    def rows(self) -> list[dict[str, Any]]:
        """Return the questions of the open query in the question bank, in their order."""
        found: list[dict[str, Any]] = self.holds("questions")["rows"]
        return found

    def texts(self) -> list[str]:
        return [row["text"] for row in self.rows()]

    def edited(self, text: str | None, /, **fields: object) -> dict[str, object]:
        """Return the browser's report of typing into the question that has this text."""
        ((field, value),) = fields.items()
        row = next(row for row in self.rows() if row["text"] == text)
        return {"act": "edit", "id": row["id"], "field": field, "value": value, "base": row[field]}

    def edit(self, text: str | None, /, **fields: object) -> Screen:
        """Return the screen after fields of the question with this text were edited."""
        return self.in_bank(*(self.edited(text, **{field: value}) for field, value in fields.items()))

    def _report(self, widget: str, **values: str) -> Screen:
        states = self._tree.get_widget_states()
        states.widgets.add(id=widget, **values)
        return self._run(states)

    def page_links(self) -> list[Any]:
        """Return the links of a screen, without those of the tabs and of the readiness line."""
        frame = {id(node) for key in ("tabs", "readiness") for node in self.boxes().get(key, ())}
        return [element.proto for element in self.main.get("page_link") if id(element) not in frame]

    def links(self) -> list[str]:
        return [link.page for link in self.page_links()]

    def press(self, key: str) -> Screen:
        named(self.button, key).click()
        return self.run()

    def metric_of(self, key: str) -> str:
        """Return the value of the metric in the container of a key, or whose label starts with it."""
        box = self.boxes().get(key)
        found = [] if box is None else [node for node in box if node.type == "metric"]
        return str(found[0].value if found else named(self.metric, key).value)

    def choose(self, key: str, value: object) -> Screen:
        """Set a widget; choose an option by its name on the screen or by its value."""
        return self.enter(key, value).run()

    def enter(self, key: str, value: object) -> Screen:
        """Set a widget as `choose` does, without drawing the screen again."""
        ones, several = (
            [*self.selectbox, *self.number_input, *self.checkbox, *self.text_input],
            self.get("button_group"),
        )
        box = named([*ones, *self.toggle, *self.multiselect, *several], key)
        if box.type == "selectbox" and str(value) in box.options:
            box.select_index(box.options.index(str(value)))
        else:
            box.set_value(value)
        return self

    def charts(self) -> list[dict[str, Any]]:
        """Return the charts of a screen, after validation against Vega-Lite's schema."""
        found = [json.loads(element.proto.spec) for element in self.get("vega_lite_chart")]
        for chart in found:
            altair.LayerChart.validate(chart)
        return found

    def board(self) -> Any:
        """Return the leaderboard as a table by run; official scores have `Official` in front of their names."""
        held = self.holds("systems")["board"]
        names = {"Rank": "rank", "Score": "score", "± error": "error"}
        rows = [
            {"Run": system["run"]}
            | {name: system[field] for name, field in names.items()}
            | (
                {f"Official {name}": (system["official"] or {}).get(field) for name, field in names.items()}
                if held["official"]
                else {}
            )
            for system in held["systems"]
        ]
        found = pandas.DataFrame(rows).set_index("Run")
        for column in held["columns"]:
            found[column["title"]] = column["values"]
        return found

    def drawn_grade(self) -> str:
        """Return the HTML of the grade of a question that a person asked; empty without one."""
        bodies = [str(element.proto.body) for element in self.get("html")]
        return next((body.split('class="ew-grade">')[1] for body in bodies if 'class="ew-grade">' in body), "")


def visit(name: str, **query: str | list[str]) -> Screen:
    """Return a screen as opened by a link; write the hyphen of a parameter as an underscore."""
    app = Screen()
    for key, value in query.items():
        app.query_params[key.replace("_", "-")] = value
    return app.switch_page(f"pages/{name}.py").run()


QUESTIONS = [
    Question("q1/a", "q1", "What is A?", weight=3.0, subtopic_id="s1"),
    Question("q1/b", "q1", "What is B?"),
    Question("q1/c", "q1", "What is C?"),
    Question("q2/d", "q2", "What is D?"),
    Question("q2/e", "q2", "What is E?"),
]


GRID = {
    "ABC": {"p1": (5, 1, 0), "p2": (2, 2, 3), "p3": (0, 4, 4), "p4": (1, 0, None)},
    "DE": {"p5": (4, 0), "p6": (3, 3), "p7": (0, 1)},
}


RATINGS = {
    (f"What is {letter}?", passage): rating
    for letters, rows in GRID.items()
    for passage, ratings in rows.items()
    for letter, rating in zip(letters, ratings, strict=True)
}


RUNS = {
    "good": {"q1": ["p1", "p3", "p2", "p4"], "q2": ["p5", "p6", "p7"]},
    "fair": {"q1": ["p3", "p2", "p4"], "q2": ["p6", "p7", "p5"]},
    "poor": {"q1": ["p4", "p2", "p3", "p1"], "q2": ["p7", "p6"]},
    "bad": {"q1": ["p4", "p2"]},
}


JUDGED = {("q1", "p1"): 2, ("q1", "p2"): 1, ("q1", "p3"): 0, ("q1", "p4"): 0, ("q2", "p5"): 1, ("q2", "p7"): 2}


MARKUP = "<b>x</b> **y** $z$ :red[q] `c` [l](http://x) # h"


MARKED = MARKUP.replace(" ", "")
"""`MARKUP` as an id, without blanks."""


@pytest.fixture
def small(project: Project) -> Project:
    """A project with two queries, five questions, seven passages, four runs, grades and judgments."""
    put_small(project)
    return project


def put_small(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)


looked_at = shown_project(put_small)


def numbers(text: str) -> list[float]:
    """Return the numbers of a text in their order, without signs."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)]


def keyed(elements: Any, key: str) -> list[Any]:
    """Return the elements with a key; else those whose key ends with, starts with or contains these words."""
    keys = [(f" {element.key} ", element) for element in elements]
    fits: list[Callable[[str], bool]] = [
        f" {key} ".__eq__,
        lambda whole: whole.endswith(f" {key} "),
        lambda whole: whole.startswith(f" {key} "),
        lambda whole: f" {key} " in whole,
    ]
    found = ([element for whole, element in keys if fit(whole)] for fit in fits)
    return next(filter(None, found), [])


def named(elements: Any, key: str) -> Any:
    """Return the single element found by `keyed`, or whose label starts with `key`."""
    found = keyed(elements, key) or [element for element in elements if element.label.startswith(key)]
    assert len(found) == 1, (key, [(element.key, element.label) for element in elements])
    return found[0]


def as_text(markdown: str) -> str:
    """Return the displayed text of escaped Markdown; fail if any of it would be rendered."""
    assert not re.search(r"(?<!\\)(?:\\\\)*[<>*$:`\[\]#_]", markdown), markdown
    return re.sub(r"\\(.)", r"\1", markdown)
