"""The visitor of a screen: the models and endpoints that they may use, and the keys that they typed
in this window.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from exam_workbench import errors, graders

TYPED = "typed keys"
"""Keys by origin, in the memory of one browser session. They are never stored."""


def is_alone() -> bool:
    """Return whether this visitor is the only person, at the computer of the app."""
    return graders.unshared_localhost(
        st.get_option("server.address"),
        st.get_option("server.allowedHosts") or (),
        "auth" in server_secrets(),
        # These are empty without a connection, which then counts as a remote visitor.
        st.context.headers,
        st.context.ip_address,
    )


def access() -> graders.Access:
    """Return what this visitor may use in addition to the server's configuration."""
    if not is_alone():
        return graders.VISITOR
    return graders.Access(
        any_address=True, any_model=True, typed=dict(st.session_state.get(TYPED, {}))
    )


def type_key(origin: str, key: str) -> None:
    """Keep a key for an origin until the window is closed; an empty one removes it."""
    keys = {**st.session_state.get(TYPED, {}), origin: key.strip()}
    st.session_state[TYPED] = {place: typed for place, typed in keys.items() if typed}


def secret(name: str) -> str | None:
    """Return a text from the app's secrets; None without such an entry or file."""
    found = server_secrets().get(name)
    return found if isinstance(found, str) else None


def endpoint_tables() -> Mapping[str, Any]:
    """Return the endpoints from the app's secrets, unchanged."""
    tables = server_secrets().get("endpoints")
    return tables if isinstance(tables, dict) else {}


def server_secrets() -> dict[str, Any]:
    """Return the content of the server's file of secrets; empty without a file.

    Raises:
        InputError: a file exists but cannot be read. Treating it as empty would switch login off.
    """
    try:
        if st.secrets.load_if_toml_exists():
            return st.secrets.to_dict()
        exists = any(Path(place).exists() for place in st.get_option("secrets.files"))
    except OSError:
        # The file is unreadable, or is a folder.
        exists = True
    if exists:
        raise errors.InputError(
            "secrets-unreadable",
            "Access is refused, because secrets.toml of this server cannot be read.",
            "Ask the administrator of the server to fix the file or its permissions (see the log),"
            " then restart it.",
        )
    return {}
