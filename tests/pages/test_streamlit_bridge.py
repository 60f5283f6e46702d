"""Assumptions about Streamlit internals, checked against the installed version.

After an upgrade, the tests that fail here show what to change in `streamlit_bridge.py`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from streamlit.runtime.scriptrunner import ScriptRunContext
from streamlit.testing.v1 import AppTest

from pages.parts.shared.presses import LONGEST, PendingPresses
from pages.parts.shared.streamlit_bridge import PARTS
from tests.made.browser import ready, serving

SCREEN = """
import os
import streamlit as st
from pages.parts.shared import streamlit_bridge

st.components.v2.component("probe", js="export default () => {}")(key="probe")
st.sidebar.text("in the sidebar")
st.header("heading")
st.caption("caption")
st.markdown("markdown")
st.html("<p>html</p>")
st.warning("alert")
st.page_link("https://example.org", label="link")
left, right = st.columns(2)
left.text_input("text")
right.number_input("number")
st.container(border=True).selectbox("choice", [1, 2])
st.multiselect("choices", [1, 2])
st.slider("slider")
st.segmented_control("segments", [1, 2], default=1)
st.metric("metric", 1)
st.vega_lite_chart({"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}})
with st.popover("popover"):
    st.text("inside")
with st.form("form"):
    st.form_submit_button("submit")
st.button("primary", type="primary")

@st.dialog("dialog")
def dialog():
    st.text("inside")

if st.button("dialog", key="open-dialog"):
    dialog()
if st.button("toast", key="show-toast"):
    st.toast("toast")
files = st.file_uploader("files", key="files", accept_multiple_files=True)
if st.button("forget", key="forget-files"):
    streamlit_bridge.release_sessions()
    for file in files:
        streamlit_bridge.forget_upload(file.file_id)
session = st.runtime.scriptrunner.get_script_run_ctx().session_id
st.container(key="uploads").text(len(streamlit_bridge.uploads_of(session)))
if st.button("wait", key="wait-for-me"):
    open(os.environ["EXAM_TEST_GATE"]).read()
st.text("the end")
"""
LATER = {"dialog", "popoverBody", "toastContainer", "running", "stale"}
"""Parts that appear after an action."""


def missing(page: Page, names: set[str]) -> set[str]:
    """Return the names of parts that are not on the page."""
    return {name for name in names if not page.locator(PARTS[name]).count()}


@pytest.mark.browser
def test_every_page_part_is_found_in_installed_streamlit(
    chromium_page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv("EXAM_TEST_GATE", str(gate))
    (tmp_path / "screen.py").write_text(SCREEN)
    page = chromium_page
    with serving(tmp_path, tmp_path / "log", str(tmp_path / "screen.py")) as server:
        page.goto(server.address)
        ready(page)
        assert missing(page, PARTS.keys() - LATER) == set()

        def appears(name: str, key: str) -> None:
            page.locator(f".st-key-{key} button").click()
            expect(page.locator(PARTS[name]).first).to_be_attached()

        page.locator(PARTS["popover"]).get_by_role("button").click()
        expect(page.locator(PARTS["popoverBody"])).to_be_visible()
        page.keyboard.press("Escape")
        appears("toastContainer", "show-toast")
        appears("dialog", "open-dialog")
        page.keyboard.press("Escape")
        expect(page.locator(PARTS["dialog"])).to_have_count(0)

        kept = page.locator(".st-key-uploads")
        page.locator("input[type=file]").set_input_files({"name": "a", "mimeType": "text/plain", "buffer": b"a"})
        expect(kept).to_have_text("1")
        page.locator(".st-key-forget-files button").click()
        expect(kept).to_have_text("0")

        appears("running", "wait-for-me")
        expect(page.locator(PARTS["stale"]).first).to_be_attached()
        gate.write_text("go on")
        expect(page.locator(PARTS["idle"])).to_be_attached()


def test_screens_are_not_run_without_app_file() -> None:
    manager = "__import__('streamlit.runtime.pages_manager').runtime.pages_manager.PagesManager('app.py')"
    script = f"import pages.parts.shared.streamlit_bridge; print({manager}.uses_pages_directory)"
    shown = subprocess.check_output([sys.executable, "-c", script], text=True, cwd=Path(__file__).parents[2])
    assert shown == "False\n"


def test_run_context_reports_history_navigation() -> None:
    assert "is_history_navigation" in {field.name for field in fields(ScriptRunContext)}


def test_added_parameter_is_readable_in_the_same_run() -> None:
    def screen() -> None:
        import streamlit as st

        from pages.parts.shared.streamlit_bridge import make_readable

        make_readable("query", "q1")
        st.text(st.query_params.to_dict())

    script: Callable[[], None] = screen
    (shown,) = AppTest.from_function(script).run().text
    assert shown.value == "{'query': 'q1'}"


SLOW_PAGE = """
import time
import streamlit as st
from pages.parts.shared import presses

st.text_input("Words", key="words")
place = st.empty()
for step in range(40):
    time.sleep(0.05)
    place.text(f"Drawing {step}")
if presses.button("Act"):
    st.session_state["acts"] = st.session_state.get("acts", 0) + 1
st.text(f"Acts: {st.session_state.get('acts', 0)}, words: {st.session_state['words']}")
"""
"""A page that draws for about two seconds before its button."""


@pytest.mark.browser
def test_press_survives_another_input_during_drawing(chromium_page: Page, tmp_path: Path) -> None:
    script, page = tmp_path / "slow.py", chromium_page
    script.write_text(SLOW_PAGE, encoding="utf-8")
    with serving(tmp_path, tmp_path / "server.log", str(script)) as server:
        page.goto(server.address)
        expect(page.get_by_text("Acts: 0, words:")).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Act").click()
        expect(page.get_by_text(re.compile(r"Drawing [12]?[0-9]$"))).to_be_visible(timeout=60_000)
        page.get_by_role("textbox", name="Words").fill("more")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Acts: 1, words: more")).to_be_visible(timeout=60_000)


def test_press_counts_once_and_not_after_leaving_clearing_or_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    here, now = PendingPresses(), 100.0
    monkeypatch.setattr("pages.parts.shared.presses.time.monotonic", lambda: now)
    here.press("save")
    assert not here.remove("undo")
    assert here.remove("save")
    assert not here.remove("save")
    here.press("save", ("Question bank", "demo"))
    assert not here.remove("save", ("Question bank", "another project"))
    assert not here.remove("save", ("Question bank", "demo"))
    here.press("save")
    here.clear()
    assert not here.remove("save")
    here.press("save")
    now += LONGEST
    assert not here.remove("save")


def test_code_of_charts_and_leaderboards_is_imported_before_a_visit() -> None:
    script = "import sys; from pages.parts.shared import ui; ui.load_ahead(); print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True, cwd=Path(__file__).parents[2])
    assert {"altair", "exam_workbench.study._meta_table"} <= set(loaded.split())
