"""Entry point of the app: draws the chosen screen and the frame around it."""

from base64 import b64encode
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from exam_workbench import atomic_files, graders, server
from pages.parts.bank import editing_window as bank_window
from pages.parts.home import tour
from pages.parts.shared import (
    address,
    error_messages,
    job_progress,
    lasting_files,
    login,
    people_here,
    presses,
    request_guard,
    response_headers,
    scoring_settings,
    screens,
    ui,
    visitor,
)

if __name__ == "__main__":
    # Streamlit would fetch a Material icon for the browser tab from the network. A data address
    # also works before login, when the server refuses files.
    icon = b64encode((Path(__file__).parent / "docs" / "icon.png").read_bytes()).decode()
    st.set_page_config(page_title=ui.NAME, page_icon=f"data:image/png;base64,{icon}", layout="wide")

    graders.providers.key = visitor.secret
    graders.providers.endpoints = visitor.endpoint_tables
    graders.providers.access = visitor.access
    name, screen, all_screens = screens.navigation()
    if not login.check_login():
        st.stop()
    menu, tabs = ui.frame(name)
    try:
        with ui.errors():
            # First, so that the line shows the latest saved changes.
            bank_window.take_in()
        with ui.errors():
            scoring_settings.draw_settings_line(name)
        with ui.errors():
            job_progress.show_running_jobs(name)
        with ui.errors():
            people_here.redraw_on_changes()
    finally:
        choices, visible = address.kept_parameters(), ui.visible_screens()
        with menu:
            screens.menu(name, all_screens, choices, visible, ui.empty_entries(name))
        with tabs:
            screens.tabs(name, all_screens, choices, visible)
    with ui.errors():
        ui.check(name)
        if login.begins_with_work() and name == "home":
            st.switch_page("pages/my_work.py", query_params=address.kept_parameters())
        tour.draw_tour_step(name)
        screen.run()
        ui.show_reopened()
    presses.presses().clear()
else:
    atomic_files.keep_private()
    # `streamlit run` imports this file to find the app, and runs the same file as the script of
    # every visitor.
    lasting_files.install()
    app = st.App(
        Path(__file__).resolve(),
        on_script_error=error_messages.show,
        lifespan=ui.server_lifespan,
        routes=[*server.routes(login.can_log_in), screens.first_by_name()],
        middleware=[
            Middleware(response_headers.ResponseHeaders),
            Middleware(request_guard.RequestGuard),
        ],
    )
