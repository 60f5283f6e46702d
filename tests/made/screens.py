"""Screens in tests without a browser: the app of one person over the projects in a test's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import altair
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

from exam_workbench.project import Project
from exam_workbench.types import Question
from pages.parts.shared import person, visitor
from tests.made.projects import fill, judge, let_go, new_project
from tests.made.refusals import mentions

APP = Path(__file__).resolve().parents[2] / "app.py"
DEADLINE = 120
"""Seconds after which a screen or a job is taken to hang."""

COMPILED = ScriptCache()
"""The screens of the app, as a server keeps them."""

_look_for_its_end = local_script_runner.require_widgets_deltas


def wait_for(runner: LocalScriptRunner, timeout: float) -> None:
    """Wait for a run of a screen; the harness would look a thousand times a second whether it ended."""
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        _look_for_its_end(runner, 0)


class Unconnected:
    """A server's runtime in which no browser is connected: what the app asks of it, and nothing beside.

    The harness makes a mock with all of its attributes at every run of a screen.
    """

    def __init__(self, spec: type) -> None:
        assert spec is Runtime

    def get_client(self, _session_id: str) -> None:
        return None


@pytest.fixture(autouse=True)
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The app of one person, ann, over the projects in the test's folder, in every module that imports this."""
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ann")
    # The browser of somebody who gave a name here before.
    monkeypatch.setattr(person, "remembered", lambda: "ann")
    # The harness has no connection: this is the browser of the one person at this computer.
    monkeypatch.setattr(visitor, "unshared", lambda: True)
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    begin = PagesManager.__init__

    def declared(manager: PagesManager, *args: Any, **options: Any) -> None:
        # The harness forgets between two runs that the screens are declared; a server does not.
        begin(manager, *args, **options)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", declared)
    # A server looks once for components in all installed packages, the harness at every visit; the app uses none.
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", list)
    monkeypatch.setattr(local_script_runner, "require_widgets_deltas", wait_for)
    monkeypatch.setattr(app_test, "MagicMock", Unconnected)
    # A server compiles a screen once, the harness at every run.
    for harness in app_test, local_script_runner:
        monkeypatch.setattr(harness, "ScriptCache", lambda: COMPILED)
    # A widget looks up its own key in it; to have it ready, every widget would read the values of all others.
    monkeypatch.setattr(SafeSessionState, "filtered_state", property(lambda state: state._state))
    yield
    if "shared" not in request.fixturenames:
        st.cache_resource.clear()
    let_go(tmp_path)


@contextmanager
def looking_at(folder: Path, put: Callable[[Project], None]) -> Iterator[Project]:
    """A project that tests share which only look at it: the app keeps it open and remembers what it found out.

    Args:
        put: puts into the empty project what it holds.
    """
    project = new_project(folder / "test.duckdb")
    put(project)
    yield project
    st.cache_resource.clear()
    project.close()


@pytest.fixture
def shared(looked_at: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The project `looked_at` of a module, for a test that only looks at it; one that changes it fails."""
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(looked_at.path.parent))
    database = looked_at._database
    before = database.last_commit_for(None)
    yield looked_at
    assert database.last_commit_for(None) == before, "others look at this project: take one of your own to change"


def visit(name: str, **query: str | list[str]) -> AppTest:
    """A screen as somebody sees it who follows a link; an underscore stands for the hyphen of a parameter."""
    app = AppTest.from_file(str(APP), default_timeout=DEADLINE)
    for key, value in query.items():
        app.query_params[key.replace("_", "-")] = value
    return sound(app.switch_page(f"pages/{name}.py").run())


def sound(app: AppTest) -> AppTest:
    """The same screen, once it is certain that nothing on it broke."""
    assert not app.exception, [element.message for element in app.exception]
    return app


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
"""The same as an id, which has no blanks."""


@pytest.fixture
def small(project: Project) -> Project:
    """A project with two queries, five questions, seven passages, four runs, grades and judgments."""
    put_small(project)
    return project


def put_small(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The same for all tests of a module that only look at it."""
    with looking_at(tmp_path_factory.mktemp("shown"), put_small) as project:
        yield project


def said(app: AppTest) -> str:
    """All sentences of a screen."""
    kinds = ("title", "subheader", "markdown", "text", "caption", "info", "success", "warning", "error", "toast")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def boxes(app: AppTest) -> dict[str, Block]:
    """The containers of a screen that have a key, by it."""
    nodes = (node for part in app._tree.children.values() for node in part)
    return {str(node.key): node for node in nodes if isinstance(node, Block) and node.key}


def note(app: AppTest, key: str) -> str:
    """The text in the containers whose key is this or begins with it, as it is read; empty if the screen has none."""
    inside = [box for name, box in boxes(app).items() if re.match(rf"{re.escape(key)}(?![^ -])", name)]
    found = [node for box in inside for node in box if not isinstance(node, Block)]
    texts = (getattr(node, "value", None) or getattr(node.proto, "body", "") for node in found)
    return re.sub(r"\\(.)", r"\1", "\n".join(str(text) for text in texts))


def shows(app: AppTest, key: str, *values: object) -> bool:
    """Whether a screen has text in the container of a key, and each value in it as a whole word or number."""
    text = note(app, key)
    return bool(text) and all(mentions(text, str(value)) for value in values)


def numbers(text: str) -> list[float]:
    """The numbers of a text in their order, without signs."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)]


def errors(app: AppTest) -> list[str]:
    """The codes of the errors that a screen shows, in their order."""
    return [key.split()[1] for key in boxes(app) if key.startswith("error ")]


def check_refused(app: AppTest, code: str, *values: object) -> None:
    """Check that a screen shows one error, which has a code and each value as a whole word or number."""
    assert errors(app) == [code], [(key, note(app, key)) for key in boxes(app) if key.startswith("error ")]
    (key,) = (key for key in boxes(app) if key.startswith("error "))
    assert shows(app, key, *values), (note(app, key), values)


def component(app: AppTest, key: str) -> Any:
    """What a screen gave the browser for a component of ours."""
    return next(part.proto for part in app.get("bidi_component") if part.proto.id.endswith(f"-{key}"))


def holds(app: AppTest, key: str) -> Any:
    """The data that a component shows."""
    return json.loads(component(app, key).json)


def tell(app: AppTest, key: str, name: str, value: object = True) -> AppTest:
    """Let a component report something that a person did there, as `setTriggerValue` does in the browser."""
    events = [{"event": name, "value": value}]
    return _report(app, main._make_trigger_id(component(app, key).id, "events"), json_trigger_value=json.dumps(events))


def leave(app: AppTest, key: str, **values: object) -> AppTest:
    """Let a component have a state, as `setStateValue` does in the browser."""
    return _report(app, component(app, key).id, json_value=json.dumps(values))


def in_bank(app: AppTest, *acts: dict[str, object]) -> AppTest:
    """Have the browser report what was done in the question bank, as `channel.js` does."""
    here = holds(app, "bank")
    place = {"window": here["window"], "project": here["project"], "author": here["author"]}
    return leave(app, "bank", acts=[{"n": here["done"] + at, **place, **act} for at, act in enumerate(acts, 1)])


def rows(app: AppTest) -> list[dict[str, Any]]:
    """The questions of the open query in the question bank, in their order."""
    found: list[dict[str, Any]] = holds(app, "questions")["rows"]
    return found


def texts(app: AppTest) -> list[str]:
    """What stands in the boxes of the question bank."""
    return [row["text"] for row in rows(app)]


def edited(app: AppTest, text: str | None, /, **fields: object) -> dict[str, object]:
    """Typing into a question of the bank that has a text: what the browser reports of it."""
    ((field, value),) = fields.items()
    row = next(row for row in rows(app) if row["text"] == text)
    return {"act": "edit", "id": row["id"], "field": field, "value": value, "base": row[field]}


def edit(app: AppTest, text: str | None, /, **fields: object) -> AppTest:
    """The app after a question of the bank that has a text was given other values in its fields."""
    return in_bank(app, *(edited(app, text, **{field: value}) for field, value in fields.items()))


def _report(app: AppTest, widget: str, **values: str) -> AppTest:
    states = app._tree.get_widget_states()
    states.widgets.add(id=widget, **values)
    return sound(app._run(states))


def page_links(app: AppTest) -> list[Any]:
    """The links of a screen, without those to the other screens of its entry."""
    tabs = {id(node) for node in boxes(app).get("tabs", ())}
    return [element.proto for element in app.main.get("page_link") if id(element) not in tabs]


def links(app: AppTest) -> list[str]:
    """Where the links of a screen lead."""
    return [link.page for link in page_links(app)]


def keyed(elements: Any, key: str) -> list[Any]:
    """The elements with a key; if there are none, those whose key ends with these words, begins with them, has them."""
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
    """The one element that `keyed` finds, or whose label begins so."""
    found = keyed(elements, key) or [element for element in elements if element.label.startswith(key)]
    assert len(found) == 1, (key, [(element.key, element.label) for element in elements])
    return found[0]


def press(app: AppTest, key: str) -> AppTest:
    named(app.button, key).click()
    return sound(app.run())


def holding(elements: Any, value: object) -> Any:
    """The first element that holds a value."""
    return next(element for element in elements if element.value == value)


def metric(app: AppTest, key: str) -> str:
    """The value of the metric in the container of a key, or whose label begins so."""
    box = boxes(app).get(key)
    found = [] if box is None else [node for node in box if node.type == "metric"]
    return str(found[0].value if found else named(app.metric, key).value)


def choose(app: AppTest, key: str, value: object) -> AppTest:
    """Set a widget as a person does; an option is chosen by its name on the screen, or by its value."""
    return sound(enter(app, key, value).run())


def enter(app: AppTest, key: str, value: object) -> AppTest:
    """The same, going on before the screen is drawn again."""
    box = named([*app.selectbox, *app.number_input, *app.checkbox, *app.text_input], key)
    if box.type == "selectbox" and str(value) in box.options:
        box.select_index(box.options.index(str(value)))
    else:
        box.set_value(value)
    return app


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The charts of a screen, of which each is certain to keep the rules of Vega-Lite."""
    found = [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]
    for chart in found:
        altair.LayerChart.validate(chart)
    return found


def board(app: AppTest) -> Any:
    """The board of systems as a table, by run; scores of the official board have `Official` before their names."""
    held = holds(app, "systems")["board"]
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


def as_text(markdown: str) -> str:
    """What a reader of escaped Markdown sees; fails where anything in it would be rendered."""
    assert not re.search(r"(?<!\\)(?:\\\\)*[<>*$:`\[\]#_]", markdown), markdown
    return re.sub(r"\\(.)", r"\1", markdown)


def drawn_grade(app: AppTest) -> str:
    """The grade that came of a question which somebody asked, as HTML; empty where there is none."""
    bodies = [str(element.proto.body) for element in app.get("html")]
    return next((body.split('class="ew-grade">')[1] for body in bodies if 'class="ew-grade">' in body), "")
