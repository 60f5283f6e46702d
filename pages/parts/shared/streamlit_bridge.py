"""All that this app assumes about the inside of Streamlit: names in its page, and parts that it does not document.

After an upgrade of Streamlit, `tests/pages/test_streamlit_bridge.py` says which assumption is wrong.
"""

import json


def _part(name: str) -> str:
    return f'[data-testid="{name}"]'


PARTS = {
    "app": _part("stApp"),
    "idle": '[data-testid="stApp"][data-test-script-state="notRunning"]',
    "running": '[data-testid="stApp"][data-test-script-state="running"]',
    "main": _part("stMain"),
    "dialog": _part("stDialog"),
    "popover": _part("stPopover"),
    "popoverBody": _part("stPopoverBody"),
    "pageLink": 'a[data-testid^="stPageLink"]',
    "form": _part("stForm"),
    "formSubmit": _part("stFormSubmitButton"),
    "component": '[data-testid*="BidiComponent"]',
    "textInput": _part("stTextInput"),
}
"""Selectors of parts of Streamlit's page, by the names that scripts use."""

SCRIPT = f"const STREAMLIT = {json.dumps(PARTS)};"
"""The beginning of every script of this app."""
