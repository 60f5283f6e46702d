"""Screens in tests without a browser: the app of one person over the projects in a test's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from altair.utils import schemapi
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from pages.parts.shared import person, visitor

APP = Path(__file__).resolve().parents[1] / "app.py"
DEADLINE = 120
"""Seconds after which a screen or a job is taken to hang."""

components_of_packages = cache(manifest_scanner.scan_component_manifests)
"""A server looks once for components in all installed packages, the harness at every visit."""


_judged: dict[tuple[str, int], tuple[dict[str, Any], Any]] = {}
"""Parts of charts, each with the rules that it was held against, and the errors found."""
_errors, _FromDict = schemapi._get_errors_from_spec, schemapi._FromDict


def errors(spec: Any, schema: dict[str, Any], rootschema: dict[str, Any] | None = None) -> Any:
    """What is wrong with a part of a chart; half the time of all screens went into finding it out again and again."""
    key = (json.dumps(spec, default=repr), id(schema))
    if key not in _judged:
        _judged[key] = (schema, _errors(spec, schema, rootschema))
    return [error.with_traceback(None) for error in _judged[key][1]]


class ChartParts(_FromDict):
    """Makes parts of charts; which class is for which rules is found once, not for every part."""

    def __init__(self, classes: Any, /) -> None:
        self.class_dict = _by_rules(tuple(classes))


@cache
def _by_rules(classes: tuple[type[schemapi.SchemaBase], ...]) -> Any:
    return _FromDict(classes).class_dict


_look_for_its_end = local_script_runner.require_widgets_deltas


def wait_for(runner: LocalScriptRunner, timeout: float) -> None:
    """Wait for a run of a screen; the harness would look a thousand times a second whether it ended."""
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        _look_for_its_end(runner, 0)


@pytest.fixture(autouse=True)
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", components_of_packages)
    monkeypatch.setattr(schemapi, "_get_errors_from_spec", errors)
    monkeypatch.setattr(schemapi, "_FromDict", ChartParts)
    monkeypatch.setattr(local_script_runner, "require_widgets_deltas", wait_for)
    yield
    st.cache_resource.clear()


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
