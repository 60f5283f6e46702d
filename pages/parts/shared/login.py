"""Login on a shared server: the identity from OpenID Connect, and the role in the project."""

import functools
import os
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.errors import StreamlitAuthError, StreamlitMissingAuthlibError
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import (
    _get_signed_cookie_with_chunks,
    _parse_decoded_user_cookie,
)

from exam_workbench.errors import InputError, NotAllowed, WorkbenchError
from exam_workbench.records import identity_of
from exam_workbench.store import ACTS, ActName, Member, Project
from pages.parts.shared import response_headers, visitor

HOURS_VARIABLE = "EXAM_LOGIN_HOURS"
DEMAND_VARIABLE = "EXAM_LOGIN"
"""If it is set, login is required, whether or not the secrets configure it."""
HOURS = 12.0
"""Hours after which a person has to log in again, even if the provider's session lasts longer."""
MEMBER = "logged in as"
_ended: dict[tuple[Any, ...], float] = {}
"""Ended logins and the times when they were made, since their cookies stay valid."""


def is_required() -> bool:
    """Return whether the server requires login.

    Raises:
        InputError: its secrets cannot be read.
    """
    demanded = os.environ.get(DEMAND_VARIABLE, "").strip().lower() not in ("", "0", "no", "false")
    return demanded or "auth" in visitor.server_secrets()


def can_log_in() -> None:
    """Check that login is possible if it is required.

    Raises:
        InputError: the secrets cannot be read, or name no identity provider.
    """
    if "auth" not in visitor.server_secrets() and is_required():
        raise InputError(
            "no-login",
            "Login is not possible: secrets.toml of this server names no identity provider.",
            "Ask the administrator of the server to add the section [auth]"
            " (docs/how-to/run-a-team-server.md) and to restart it.",
        )


def login_claims() -> Mapping[str, Any] | None:
    """Return the provider's claims about the logged-in person; None without a login."""
    return st.user.to_dict() if st.user.is_logged_in else None


def claims_in(cookies: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the claims of the login cookie of a request; None without a cookie that this server
    signed.
    """
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    said = (
        _parse_decoded_user_cookie(signed, get_origin_from_redirect_uri() or "") if signed else {}
    )
    return said if said.get("is_logged_in") else None


def is_expired(token: Mapping[str, Any], now: float | None = None) -> bool:
    """Return whether a login is too old.

    Args:
        token: claims of the identity token; `iat` is the time of its issue in seconds since 1970.
            OpenID Connect Core 1.0, section 2, requires it.
        now: in the same unit; None for the present.
    """
    try:
        return _too_old(float(token["iat"]), now)
    except (KeyError, TypeError, ValueError):
        return True


def _too_old(made_at: float, now: float | None = None) -> bool:
    hours = float(os.environ.get(HOURS_VARIABLE) or HOURS)
    return (time.time() if now is None else now) - made_at > hours * 3600


def is_for_this_app(token: Mapping[str, Any]) -> bool:
    """Return whether a login is for this application: its client id is in the audience of the
    identity token.

    The login package accepts other audiences if the token names this client as the authorized party
    (`azp`). But a token for others must be refused (OpenID Connect Core 1.0, section 3.1.3.7, step
    3).

    Args:
        token: claims of the identity token, with the name of the provider as `provider`.
    """
    auth = visitor.server_secrets().get("auth") or {}
    own = auth.get(token.get("provider"))
    client = (own if isinstance(own, Mapping) else auth).get("client_id")
    audience = token.get("aud")
    return client is not None and client in (audience if isinstance(audience, list) else [audience])


def current_identity() -> str | None:
    """Return the identity of the person at this screen; None if no login is required.

    Raises:
        NotAllowed: the login is missing, has ended, or is for another application.
    """
    return proven_identity(login_claims()) if is_required() else None


def proven_identity(token: Mapping[str, Any] | None) -> str:
    """Return the identity of a person from the claims of their login.

    Args:
        token: claims of the identity token; None without a login.

    Raises:
        NotAllowed: the login is missing, has ended, or is for another application.
    """
    if token is None or _login_mark(token) in _ended:
        raise NotAllowed(
            "not-logged-in", "You are not logged in.", "Log in and open the link again."
        )
    if not is_for_this_app(token):
        raise NotAllowed(
            "not-logged-in",
            "Your login is for another application.",
            "Log in again. If it fails again, ask the administrator of the server to"
            " check the client id.",
        )
    if is_expired(token):
        raise NotAllowed(
            "not-logged-in", "Your login has expired.", "Log in again. Saved work is not lost."
        )
    return identity_of(token)


def end_login(token: Mapping[str, Any]) -> None:
    """End a login, also in other tabs and for copies of its cookie.

    This is kept in memory, so a restarted server does not know it.

    Args:
        token: claims of the identity token; its nonce is unique to the login.
    """
    for mark, made in list(_ended.items()):
        if _too_old(made):
            _ended.pop(mark, None)
    if not is_expired(token):
        _ended[_login_mark(token)] = float(token["iat"])


def _login_mark(token: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(token.get(name) for name in ("iss", "sub", "iat", "nonce"))


def check_login() -> bool:
    """Return whether the person may use the app; otherwise draw the login."""
    ways: Mapping[str | None, str] = {}
    try:
        can_log_in()
        ways = _list_providers()
        current_identity()
        return True
    except WorkbenchError as error:
        refusal = error
    if (
        ways
        and st.query_params.get(response_headers.WORD) == response_headers.REFUSED
        and login_claims() is None
    ):
        refusal = NotAllowed(
            "not-logged-in",
            "Login failed: the identity provider refused it or sent an invalid answer.",
            "Log in again. If it fails again, ask the administrator of the server: the reason is"
            " in the server log.",
        )
    st.title("Exam Workbench", anchor=False)
    with st.container(border=True, key=f"error {refusal.code} 0"):
        st.text(refusal.message)
        st.text(refusal.hint)
        for name, title in ways.items():
            if st.button(title, type="primary", icon=":material/login:", key=f"log in {name}"):
                _log_in(name)
    return False


def _list_providers() -> dict[str | None, str]:
    """Return names of the providers with the labels of their buttons; a single provider has the
    name None.
    """
    auth = visitor.server_secrets().get("auth") or {}
    several = [
        name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value
    ]
    return {name: f"Log in with {name}" for name in several} or {None: "Log in"}


def _log_in(provider: str | None) -> None:
    try:
        st.login(provider)
    except StreamlitMissingAuthlibError:
        reason = "The package Authlib is not installed."
    except StreamlitAuthError as error:
        reason = str(error)
    else:
        return
    st.container(key="error no-logins 0").error(
        "Login does not work on this server. Ask its administrator for help."
    )
    st.text(reason)


def current_member() -> Member | None:
    """Return the logged-in person with their role, as the beginning of the run found it; None if
    login is not required, or they have no role.
    """
    return st.session_state.get(MEMBER) if is_required() else None


def begins_with_work() -> bool:
    """Return whether this is the first screen of an assessor's visit: it begins with My work."""
    first = "arrived" not in st.session_state
    st.session_state["arrived"] = True
    found = current_member()
    return first and found is not None and found.role == "assessor"


def draw_box() -> None:
    """Draw the logged-in person in the sidebar, and the button to log out."""
    role_holder = current_member()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key="signed-in", width="content").text(
            f"{role_holder.name}, {role_holder.role}" if role_holder else current_identity() or ""
        )
        if st.button("Log out", type="tertiary", icon=":material/logout:", key="log out"):
            end_login(login_claims() or {})
            st.logout()


def may_see(project: Project | None, screen: str) -> bool:
    """Return whether the menu shows a screen to the person; without a project it shows all.

    Args:
        screen: its name.
    """
    return project is None or any(project.allows(act) for act in acts_of_screen(screen))


@functools.cache
def acts_of_screen(screen: str) -> list[ActName]:
    """Return the actions of a screen; a person who may do one of them sees it. Actions that only
    read are preferred.
    """
    acts = [act for act, rule in ACTS.items() if screen in rule.screens]
    return [act for act in acts if not ACTS[act].writes] or acts
