"""A press of a button is acted on once, also where the run that it began was ended before it came to the button."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.parts.shared.presses import LONGEST, Presses
from tests.made.browser import serving

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
"""It draws long before it comes to its button."""


@pytest.mark.browser
def test_a_press_is_not_lost_where_something_else_is_done_before_the_page_is_drawn(
    chromium_page: Page, tmp_path: Path
) -> None:
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


def test_a_press_counts_once() -> None:
    here = Presses()
    here.press("save")
    assert not here.take("undo")
    assert here.take("save")
    assert not here.take("save")


def test_a_press_is_forgotten_where_the_person_went_elsewhere() -> None:
    here = Presses()
    here.press("save", ("Question bank", "demo"))
    assert not here.take("save", ("Question bank", "another project"))
    assert not here.take("save", ("Question bank", "demo"))


def test_a_press_is_forgotten_where_a_whole_page_was_drawn_without_its_button() -> None:
    here = Presses()
    here.press("save")
    here.forget()
    assert not here.take("save")


def test_a_press_is_forgotten_where_its_button_was_long_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Presses()
    now = 100.0
    monkeypatch.setattr("pages.parts.shared.presses.time.monotonic", lambda: now)
    here.press("save")
    now += LONGEST
    assert not here.take("save")
