"""Unexpected failures get an error page with a number; a full disk gets a one-sentence message."""

import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from exam_workbench.exchange import list_publications
from exam_workbench.records import list_actions
from exam_workbench.store import Project
from pages.parts.shared import error_messages
from tests.made.browser import Server, heading
from tests.made.engine_failure import break_database
from tests.made.projects import commit, fill, new_project
from tests.made.screens import Screen, named, visit
from tests.records.test_reopening import QUESTIONS

SHOWN = "[class*='st-key-error-unforeseen-']"
SOON = 60_000
"""Milliseconds that a busy machine may need to draw a page."""

SCRIPT = """
import streamlit as st

from exam_workbench.errors import InputError


def click(error):
    raise error


@st.fragment
def part():
    if st.button("Break the part"):
        raise KeyError("in a part")
    st.text("The part is whole.")


st.button("Break the click", on_click=click, args=(LookupError("in a click"),))
st.button("Refuse the click", on_click=click, args=(InputError("empty-note", "The note is empty.", "Say why."),))
st.button("Fill the disk", on_click=click, args=(OSError(28, "No space left on device", "/some/file"),))
part()
"""


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send script errors to our handler as the server does; the test harness has no server."""
    begin = LocalScriptRunner.__init__

    def handling(runner: LocalScriptRunner, *args: Any, **options: Any) -> None:
        begin(runner, *args, **options)
        runner._on_script_error = error_messages.show

    monkeypatch.setattr(LocalScriptRunner, "__init__", handling)


def test_failure_in_fragment_or_callback_shows_error_page(
    tmp_path: Path, handled: None, caplog: pytest.LogCaptureFixture
) -> None:
    script = tmp_path / "broken.py"
    script.write_text(SCRIPT, encoding="utf-8")
    for label, error in (("Break the part", "in a part"), ("Break the click", "in a click")):
        app = Screen(script).run()
        next(button for button in app.button if button.label == label).click().run()
        number = next(key.split()[2] for key in app.boxes() if key.startswith("error unforeseen "))
        app.check_refused("unforeseen", number)
        assert any(number in line and error in line for line in caplog.messages)
        next(button for button in app.button if button.label == "Try again").click().run()
        assert not app.error
        assert "The part is whole." in [text.value for text in app.text]
    for label, code in (("Refuse the click", "empty-note"), ("Fill the disk", "disk-full")):
        app = Screen(script).run()
        next(button for button in app.button if button.label == label).click().run()
        assert app.errors() == [code]


def number_on(page: Page) -> str:
    box = page.locator(SHOWN)
    expect(box).to_be_visible(timeout=SOON)
    found = re.search(r"st-key-error-unforeseen-([0-9A-F]{6})", box.get_attribute("class") or "")
    assert found is not None
    # The box is drawn before its text.
    expect(box).to_contain_text(found[1], timeout=SOON)
    return found[1]


@pytest.mark.browser
def test_failing_screen_shows_error_page_and_other_screens_work(
    projects: Path, server: Server, chromium_page: Page
) -> None:
    made, page = new_project(projects / "broken.duckdb"), chromium_page
    fill(made, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": ["p0"]}})
    commit(made, "INSERT INTO named_graders VALUES ('odd', 'self-rating', 'no JSON', 'ann', now()::TIMESTAMP)")
    made.close()
    page.goto(f"{server.address}/grading?project=broken")
    number_on(page)
    expect(page.get_by_text("Oh no")).to_have_count(0)
    page.locator(".st-key-menu a[href*=leaderboard]").click()
    expect(heading(page, "leaderboard")).to_be_visible(timeout=SOON)
    expect(page.locator(SHOWN)).to_have_count(0, timeout=SOON)


def test_reopened_database_is_announced_once(project: Project) -> None:
    fill(project, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": ["p0"]}})
    project.close()
    app = visit("leaderboard")
    assert not app.toast
    break_database(app.session_state["in use"])
    # The screen has cached its own data, so only a screen with other data notices the failure.
    app.switch_page("pages/passages.py").run()
    assert len(app.toast) == 1 and re.search(r"\d\d:\d\d", app.toast[0].value)
    app.run()
    assert not app.toast


@contextmanager
def full_disk() -> Iterator[None]:
    """Limit files to a few bytes, so that writing fails as on a full disk, and write no broken bytecode."""
    before, sys.dont_write_bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), True
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = False


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files.")
def test_publishing_on_full_disk_is_refused_and_works_later(small: Project, handled: None) -> None:
    app = visit("export")
    named(app.text_input, "publication note").set_value("for the paper")
    before = len(list_actions(small).acts)
    with full_disk():
        app.press("publish")
    assert app.errors() == ["disk-full"] and "Something failed" not in app.said(), app.said()
    assert list_publications(small) == [] and len(list_actions(small).acts) == before
    # The typed note must be kept.
    assert named(app.text_input, "publication note").value == "for the paper"
    app.press("publish")
    assert [one["note"] for one in list_publications(small)] == ["for the paper"] and app.errors() == []
