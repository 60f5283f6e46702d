"""The requests that the server answers: under its own name, from its own pages, and from people who are logged in."""

from __future__ import annotations

import asyncio
from collections import Counter

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from streamlit import runtime

from core.errors import NotAllowed, WorkbenchError
from core.limits import exceeded, limit
from core.project import outsider
from core.server import TooMuch, check_host, check_origin, with_role
from pages.parts.shared import lasting_files, login, ui
from pages.parts.shared.refused_logins import Asgi, Message, Receive, Send

CORE, MEDIA, UPLOAD = "/_stcore/", "/media/", "/upload_file/"
OPEN = ("health", "host-config", "stream", "bidi-components")
"""Parts of Streamlit's own paths that a browser asks for before a login. They show nothing of a project."""
FORM = 1 << 16
"""Bytes of a request around the file that it uploads."""


class RequestGuard:
    """Refuses requests under the name of another host, from pages of another origin, and from people without a role.

    A role in some project is needed for files, uploads and figures about the server, if people log in. The page itself
    is open, because it leads to the login.

    Args:
        app: answers the requests that are not refused, as the ASGI specification says.
    """

    def __init__(self, app: Asgi) -> None:
        self.app = app
        self._arriving: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        except WorkbenchError as error:
            status = 413 if isinstance(error, TooMuch) else 403
            await PlainTextResponse(f"{error.message} {error.hint or ''}", status)(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        request, path = HTTPConnection(scope), str(scope["path"])
        host = request.headers.get("host", "")
        check_host(host, ui.hosts())
        _, core, rest = path.partition(CORE)
        guarded = MEDIA in path or (core and rest.partition("/")[0] not in OPEN)
        if guarded or scope["type"] == "websocket":
            check_origin(request.headers.get("origin"), host, st.get_option("server.corsAllowedOrigins"))
        person = await run_in_threadpool(_person, request) if guarded else None
        if person is not None and MEDIA in path and not lasting_files.is_for(path.rpartition("/")[2], person):
            raise NotAllowed("This file is not yours.", "Download it from a screen of your own.")
        try:
            if UPLOAD in path:
                session = path.partition(UPLOAD)[2].partition("/")[0]
                await self._take_in(session, person, scope, receive, send)
            else:
                await self.app(scope, receive, send)
        finally:
            if scope["type"] == "websocket":
                wait = st.get_option("server.disconnectedSessionTTL") + 1
                asyncio.get_running_loop().call_later(wait, release_uploads)

    async def _take_in(self, session: str, person: str | None, scope: Message, receive: Receive, send: Send) -> None:
        """Have a file uploaded to a session of the same person, as long as it keeps to the limits."""
        instance = runtime.get_instance()
        known = instance.get_app_session(session)
        if known is not None and person is not None and login.proven(known._user_info) != person:
            raise NotAllowed("This session is not yours.", "Upload the file on a screen of your own.")
        kept, size = instance.uploaded_file_mgr.file_storage, 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            arrived = len(message.get("body", b""))
            size += arrived
            self._arriving[session] += arrived
            whole = self._arriving[session] + sum(len(file.data) for file in kept.get(session, {}).values())
            for name, bytes_now in ("UPLOAD", size), ("UPLOADS", whole):
                if bytes_now > (most := limit(name)) + FORM:
                    raise TooMuch(exceeded("the upload is larger than", name, most))
            return message

        try:
            await self.app(scope, bounded, send)
        finally:
            self._arriving[session] -= size
            # Without the sessions of which nothing is arriving.
            self._arriving = +self._arriving
            release_uploads()


def _person(request: HTTPConnection) -> str | None:
    """The identity of the person who sends a request; None if no login is needed.

    Raises:
        NotAllowed: they are not logged in, or have no role in any project.
    """
    if not login.needed():
        return None
    person = login.proven(login.claims_in(request.cookies))
    if not with_role(ui.project_files(), person):
        raise outsider(person)
    return person


def release_uploads() -> None:
    """Forget sessions whose time to come back is over, and their files: Streamlit keeps them until another one ends."""
    instance = runtime.get_instance()
    sessions, uploads = instance._session_mgr, instance.uploaded_file_mgr
    sessions._session_storage._cache.expire()
    for session in list(uploads.file_storage):
        if sessions.get_session_info(session) is None:
            uploads.remove_session_files(session)
