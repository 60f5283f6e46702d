"""All that this app assumes about the inside of Streamlit: names in its page, and parts that it
does not document.

After an upgrade of Streamlit, `tests/pages/test_streamlit_bridge.py` says which assumption is
wrong.
"""

import json
from collections.abc import Mapping
from string import Template
from typing import Any

from streamlit import runtime
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryFile, MemoryMediaFileStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import get_session_state

__all__ = [
    "MediaFileKind",
    "MediaFileManager",
    "MemoryFile",
    "MemoryMediaFileStorage",
]

# Parts of the page

_NAMED = """
    app main mainBlockContainer header heading captionContainer markdown markdownContainer text html
    alert sidebar sidebarUserContent widgetLabel textInput numberInputContainer selectbox
    multiSelect sliderThumbValue metricValue metricLabel vegaLiteChart horizontalBlock column
    layoutWrapper toastContainer dialog popover popoverBody form formSubmitButton
"""

PARTS = {name: f'[data-testid="st{name[0].upper()}{name[1:]}"]' for name in _NAMED.split()} | {
    "idle": '[data-testid="stApp"][data-test-script-state="notRunning"]',
    "running": '[data-testid="stApp"][data-test-script-state="running"]',
    "openSidebar": '[data-testid="stSidebar"]:not([data-collapsed="true"])',
    "pageLink": 'a[data-testid^="stPageLink"]',
    "component": '[data-testid*="BidiComponent"]',
    "primaryButton": 'button[data-testid$="primary"]',
    "fieldRoot": '[data-testid$="RootElement"]',
    "selected": (
        '[data-selected="true"]:is([data-variant="segmented_control"], [data-variant="pills"])'
    ),
    "stale": '[data-stale="true"]',
}
"""Selectors of parts of Streamlit's page, by the names that scripts and style sheets use."""

SCRIPT = f"const STREAMLIT = {json.dumps(PARTS)};"
"""The beginning of every script of this app."""


def fill_style(sheet: str) -> str:
    """Return a style sheet in which selectors such as `${main}` are those of Streamlit's page."""
    return Template(sheet).substitute(PARTS)


# The run of a screen

PagesManager.uses_pages_directory = False
"""Otherwise the first visitor of a server would get a screen without the frame of `app.py`."""


def went_back() -> bool:
    """Return whether this run follows a step back or forward in the browser."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def make_readable(name: str, value: str) -> None:
    """Make a parameter readable from the address in this run, without a step in the browser's
    history.
    """
    with get_session_state().query_params() as here:
        here.set_with_no_forward_msg(name, value)


# Files


def uploads_of(session: str) -> Mapping[str, Any]:
    """Return the uploaded files of a session."""
    return _upload_manager().file_storage.get(session, {})


def forget_upload(file_id: str) -> None:
    """Drop an uploaded file of this session, which makes room for others."""
    if (tab := get_script_run_ctx()) is not None:
        # The type of the manager does not name this method.
        manager: Any = tab.uploaded_file_mgr
        manager.remove_file(tab.session_id, file_id)


def release_sessions() -> None:
    """Drop the sessions that cannot be resumed, and their files.

    Streamlit keeps them until another session ends, and their content until Python's garbage
    collector runs.
    """
    sessions, uploads = runtime.get_instance()._session_mgr, _upload_manager()
    for _, info in sessions._session_storage._cache.expire():  # type: ignore[attr-defined]
        info.session.session_state.clear()
        info.session.shutdown()
    # A session may have ended while a file was arriving for it.
    for session in list(uploads.file_storage):
        if sessions.get_session_info(session) is None:
            uploads.remove_session_files(session)


def _upload_manager() -> Any:
    return runtime.get_instance().uploaded_file_mgr


def store_media_in(storage: type[MemoryMediaFileStorage]) -> None:
    """Make the next app keep its files in a storage; Streamlit has no option for it."""
    memory_media_file_storage.MemoryMediaFileStorage = storage
