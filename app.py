"""The app: declares the screens and draws the frame around them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core import secret_keys
from pages import ui

# A file of our own: the browser would fetch a Material icon for its tab from the network.
ICON = Path(__file__).parent / "docs" / "icon.png"
st.set_page_config(page_title="Exam Workbench", page_icon=ICON, layout="wide")

secret_keys.register(ui.secret)
screen = ui.navigation()
ui.frame()
with ui.errors():
    screen.run()
