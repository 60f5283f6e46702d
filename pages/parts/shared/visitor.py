"""Who looks at a screen: what this visitor may use, and the keys that they typed in this window."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import streamlit as st

from exam_workbench.errors import InputError
from exam_workbench.graders import VISITOR, Access, unshared_localhost

TYPED = "typed keys"
"""Keys by the origin that each is for, in the memory of one browser session. They are written nowhere."""

_found: ContextVar[list[Mapping[str, Any]] | None] = ContextVar("secrets that this run found", default=None)


def begin() -> None:
    """Begin a run of the app: it asks some forty times what the secrets say, and they are looked up once in it."""
    _found.set([])


def unshared() -> bool:
    """Whether this visitor is the one person who sits at the computer of the app."""
    return unshared_localhost(
        st.get_option("server.address"),
        st.get_option("server.allowedHosts") or (),
        "auth" in secrets(),
        # Without a connection there are none, and it is somebody else.
        st.context.headers,
        st.context.ip_address,
    )


def access() -> Access:
    """What this visitor may use beside what the owner has set up."""
    if not unshared():
        return VISITOR
    return Access(any_address=True, any_model=True, typed=dict(st.session_state.get(TYPED, {})))


def type_key(origin: str, key: str) -> None:
    """Keep a key for an origin until the window is closed; an empty one forgets it."""
    keys = {**st.session_state.get(TYPED, {}), origin: key.strip()}
    st.session_state[TYPED] = {place: typed for place, typed in keys.items() if typed}


def secret(name: str) -> str | None:
    """A text among the app's secrets; None where there is no such entry, or no file of secrets."""
    found = secrets().get(name)
    return found if isinstance(found, str) else None


def endpoint_tables() -> Mapping[str, Any]:
    """The endpoints among the app's secrets, as the file has them."""
    found = secrets().get("endpoints")
    return {} if not isinstance(found, Mapping) else {name: _plain(table) for name, table in found.items()}


def _plain(value: Any) -> Any:
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def secrets() -> Mapping[str, Any]:
    """What the owner of the server keeps in its file of secrets; nothing where there is none.

    Raises:
        InputError: there is one that cannot be read. Nothing is not what it says: a login would not be asked for.
    """
    found = _found.get()
    if found is None:
        return _read()
    if not found:
        found.append(_read())
    return found[0]


def _read() -> Mapping[str, Any]:
    try:
        if st.secrets.load_if_toml_exists():
            return st.secrets
        there = any(Path(place).exists() for place in st.get_option("secrets.files"))
    except OSError:
        # No right to read it, or a folder.
        there = True
    if there:
        raise InputError(
            "secrets-unreadable",
            "Access is refused, because secrets.toml of this server cannot be read.",
            "Ask the administrator of the server to fix the file or its permissions (see the log), then restart it.",
        )
    return {}
