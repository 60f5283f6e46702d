"""Each assumption about the inside of Streamlit, against the installed version: after an upgrade, what fails here is
what has to change in `streamlit_bridge.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from streamlit.runtime.scriptrunner import ScriptRunContext
from streamlit.testing.v1 import AppTest

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
def test_every_part_is_found_on_a_page_of_the_installed_streamlit(
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


def test_a_run_knows_that_a_person_went_back() -> None:
    assert "is_history_navigation" in {field.name for field in fields(ScriptRunContext)}


def test_a_parameter_is_readable_in_the_run_that_adds_it() -> None:
    def screen() -> None:
        import streamlit as st

        from pages.parts.shared.streamlit_bridge import make_readable

        make_readable({"query": "q1", "empty": ""})
        st.text(st.query_params.to_dict())

    script: Callable[[], None] = screen
    (shown,) = AppTest.from_function(script).run().text
    assert shown.value == "{'query': 'q1'}"
