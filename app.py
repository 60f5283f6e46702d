"""The app: declares the screens and draws the frame around them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core import access, endpoints, secret_keys
from pages import bank_window, failures, presses, ui, visitor

if __name__ == "__main__":
    # A file of our own: the browser would fetch a Material icon for its tab from the network.
    icon = Path(__file__).parent / "docs" / "icon.png"
    st.set_page_config(page_title="Exam Workbench", page_icon=icon, layout="wide")

    secret_keys.register(visitor.secret)
    endpoints.register(visitor.endpoint_tables)
    access.register(visitor.access)
    screen = ui.navigation()
    ui.frame()
    with ui.errors():
        bank_window.take_in()
        screen.run()
        ui.say_reopened()
    presses.presses().forget()
else:
    # `streamlit run` imports this file for what it serves, and runs the same file as the script of every visitor.
    app = st.App(Path(__file__).resolve(), on_script_error=failures.show, lifespan=ui.served)
