"""The login of a shared server: who somebody is, as OpenID Connect says it, and what they may do in this project."""

from __future__ import annotations

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
from exam_workbench.project import ACTS, ActName, Member, Project, identity_of
from pages.parts.shared import visitor
from pages.parts.shared.refused_logins import REFUSED, WORD

HOURS_VARIABLE = "EXAM_LOGIN_HOURS"
DEMAND_VARIABLE = "EXAM_LOGIN"
"""Where it is set, nobody works without a login, whatever the secrets say or do not say."""
HOURS = 12.0
"""Hours after which somebody has to log in again, whatever the provider's own session says."""
MEMBER = "logged in as"
_ended: dict[tuple[Any, ...], float] = {}
"""Logins that were ended before their time, and when they were made: a cookie says nothing of it."""


def needed() -> bool:
    """Whether the server is a shared one, on which everybody logs in.

    Raises:
        InputError: its secrets cannot be read.
    """
    demanded = os.environ.get(DEMAND_VARIABLE, "").strip().lower() not in ("", "0", "no", "false")
    return demanded or "auth" in visitor.secrets()


def can_log_in() -> None:
    """Look whether people can log in, where they have to.

    Raises:
        InputError: the secrets cannot be read, or do not say with whom one logs in.
    """
    if "auth" not in visitor.secrets() and needed():
        raise InputError(
            "no-login",
            "Login is not possible: secrets.toml of this server names no identity provider.",
            "Ask the administrator of the server to add the section [auth] (docs/how-to/run-a-team-server.md) and to "
            "restart it.",
        )


def claims() -> Mapping[str, Any] | None:
    """What the provider says of whoever is logged in; None where nobody is."""
    return st.user.to_dict() if st.user.is_logged_in else None


def claims_in(cookies: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Claims of the login whose cookie a request carries; None if it carries none that this server signed."""
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    said = _parse_decoded_user_cookie(signed, get_origin_from_redirect_uri() or "") if signed else {}
    return said if said.get("is_logged_in") else None


def expired(said: Mapping[str, Any], now: float | None = None) -> bool:
    """Whether a login is too old to count.

    Args:
        said: claims of the identity token; `iat` is when it was made, in seconds since 1970, and is always there
            (OpenID Connect Core 1.0, section 2).
        now: likewise; the present for None.
    """
    try:
        return _too_old(float(said["iat"]), now)
    except (KeyError, TypeError, ValueError):
        return True


def _too_old(made: float, now: float | None = None) -> bool:
    hours = float(os.environ.get(HOURS_VARIABLE) or HOURS)
    return (time.time() if now is None else now) - made > hours * 3600


def meant_for_us(said: Mapping[str, Any]) -> bool:
    """Whether a login was made for this application: its client id is among the audiences of the identity token.

    The package for logins lets another audience pass where the token names this client as the party that asked
    (`azp`); a token for others is to be refused (OpenID Connect Core 1.0, section 3.1.3.7, step 3).

    Args:
        said: claims of the identity token, with the name of the provider as `provider`.
    """
    auth = visitor.secrets().get("auth") or {}
    own = auth.get(said.get("provider"))
    client = (own if isinstance(own, Mapping) else auth).get("client_id")
    audience = said.get("aud")
    return client is not None and client in (audience if isinstance(audience, list) else [audience])


def identity() -> str | None:
    """What whoever looks at this screen is known by; None where no login is needed.

    Raises:
        NotAllowed: they are not logged in, or no longer, or for another application.
    """
    return proven(claims()) if needed() else None


def proven(said: Mapping[str, Any] | None) -> str:
    """The identity of a person by the claims of their login.

    Args:
        said: claims of the identity token; None if there is no login.

    Raises:
        NotAllowed: there is no login, it has ended, or it is for another application.
    """
    if said is None or _mark(said) in _ended:
        raise NotAllowed("not-logged-in", "You are not logged in.", "Log in and open the link again.")
    if not meant_for_us(said):
        raise NotAllowed(
            "not-logged-in",
            "Your login is for another application.",
            "Log in again. If it fails again, ask the administrator of the server to check the client id.",
        )
    if expired(said):
        raise NotAllowed("not-logged-in", "Your login has expired.", "Log in again. Saved work is not lost.")
    return identity_of(said)


def end(said: Mapping[str, Any]) -> None:
    """Let a login count no longer, also in other tabs and where its cookie was copied.

    It is kept in memory: a server that is started anew knows nothing of it.

    Args:
        said: claims of the identity token, of which the nonce is another for every login.
    """
    for mark, made in list(_ended.items()):
        if _too_old(made):
            _ended.pop(mark, None)
    if not expired(said):
        _ended[_mark(said)] = float(said["iat"])


def _mark(said: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(said.get(name) for name in ("iss", "sub", "iat", "nonce"))


def passed() -> bool:
    """Whether somebody may come in; where they have to log in first, the way to do that is drawn."""
    ways: Mapping[str | None, str] = {}
    try:
        can_log_in()
        ways = _providers()
        identity()
        return True
    except WorkbenchError as error:
        told = error
    if ways and st.query_params.get(WORD) == REFUSED and claims() is None:
        told = NotAllowed(
            "not-logged-in",
            "Login failed: the identity provider refused it or sent an invalid answer.",
            "Log in again. If it fails again, ask the administrator of the server: the reason is in the server log.",
        )
    st.title("Exam Workbench", anchor=False)
    with st.container(border=True, key=f"error {told.code} 0"):
        st.text(told.message)
        st.text(told.hint)
        for name, title in ways.items():
            if st.button(title, type="primary", icon=":material/login:", key=f"log in {name}"):
                _log_in(name)
    return False


def _providers() -> dict[str | None, str]:
    """Names of the providers with what their buttons say; None is the name of the only one."""
    auth = visitor.secrets().get("auth") or {}
    several = [name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value]
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
    st.container(key="error no-logins 0").error("Login does not work on this server. Ask its administrator for help.")
    st.text(reason)


def handle(project: Project) -> Project:
    """A project as whoever looks at this screen has it.

    Raises:
        NotAllowed: they are not logged in.
    """
    known = identity()
    return project if known is None else project.acting_as(known)


def take_note(project: Project | None) -> None:
    """Find out at the beginning of a run what somebody may do in the project that is on.

    Raises:
        NotAllowed: they have no role in it.
    """
    st.session_state[MEMBER] = None
    if needed() and project is not None:
        st.session_state[MEMBER] = project.member()


def member() -> Member | None:
    """Who is logged in, with their role in the project; None where no login is needed, or they have no role."""
    found: Member | None = st.session_state.get(MEMBER) if needed() else None
    return found


def begins_with_work() -> bool:
    """Whether this is the first screen of an assessor's visit, who begins with what is theirs to do."""
    first = "arrived" not in st.session_state
    st.session_state["arrived"] = True
    found = member()
    return first and found is not None and found.role == "assessor"


def box() -> None:
    """Who is logged in, in the sidebar, and the way out."""
    found = member()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key="signed-in", width="content").text(
            f"{found.name}, {found.role}" if found else identity() or ""
        )
        if st.button("Log out", type="tertiary", icon=":material/logout:", key="log out"):
            end(claims() or {})
            st.logout()


def sees(project: Project | None, screen: str) -> bool:
    """Whether the menu shows a screen to whoever is here; without a project it shows them all.

    Args:
        screen: its name.
    """
    return project is None or any(project.allows(act) for act in _to_see(screen))


def check(project: Project | None, screen: str) -> None:
    """Refuse a screen that the role of whoever is here does not include.

    Raises:
        NotAllowed: it says which role is needed and whom to ask.
    """
    if not sees(project, screen) and project is not None:
        project.require(_to_see(screen)[0])


@functools.cache
def _to_see(screen: str) -> list[ActName]:
    """The acts of which one at least somebody may do who sees a screen: to read what it shows, where that is one."""
    acts = [act for act, rule in ACTS.items() if screen in rule.screens]
    return [act for act in acts if not ACTS[act].writes] or acts
