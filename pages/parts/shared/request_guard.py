"""Requests that the server answers: for its own host names, from its own pages, and from logged-in
people.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse

from exam_workbench import errors, limits, server
from pages.parts.shared import lasting_files, login, response_headers, streamlit_bridge, ui

CORE, MEDIA, UPLOAD = "/_stcore/", "/media/", "/upload_file/"
OPEN = ("health", "host-config", "stream", "bidi-components")
"""Parts of Streamlit's own paths that a browser requests before login. They reveal no project data.
"""


class RequestGuard:
    """Refuses requests for other host names, from pages of another origin, and from people without
    a role.

    If people log in, files, uploads and figures about the server need a role in a project. The page
    itself is open, because it leads to the login.

    Args:
        app: the ASGI application that answers the other requests.
    """

    def __init__(self, app: response_headers.Asgi) -> None:
        self.app = app
        self._arriving: Counter[str] = Counter()

    async def __call__(
        self,
        scope: response_headers.Message,
        receive: response_headers.Receive,
        send: response_headers.Send,
    ) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        request, path = HTTPConnection(scope), scope["path"]
        try:
            await _check_request(request, path)
            with self._reserve_space(request, path) if UPLOAD in path else nullcontext():
                await self.app(scope, receive, send)
        except errors.WorkbenchError as error:
            status = 413 if error.code == "request-too-large" else 403
            await PlainTextResponse(f"{error.message} {error.hint or ''}", status)(
                scope, receive, send
            )
        finally:
            if scope["type"] == "websocket":
                back = st.get_option("server.disconnectedSessionTTL")
                asyncio.get_running_loop().call_later(back + 1, streamlit_bridge.release_sessions)

    @contextmanager
    def _reserve_space(self, request: HTTPConnection, path: str) -> Iterator[None]:
        """Reserve space for an uploaded file within the limit of its session.

        A request cannot be longer than its stated length. Streamlit limits a request without one to
        `EXAM_LIMIT_UPLOAD`.

        Raises:
            WorkbenchError: the space is used up.
        """
        session = path.partition(UPLOAD)[2].partition("/")[0]
        files = streamlit_bridge.uploads_of(session)
        stated = int(request.headers.get("content-length") or 0)
        size = limits.read_limit("UPLOAD") if "transfer-encoding" in request.headers else stated
        self._arriving[session] += size
        try:
            kept = sum(len(file.data) for file in files.values())
            if size and self._arriving[session] + kept > (most := limits.read_limit("UPLOADS")):
                raise errors.WorkbenchError(
                    "request-too-large",
                    limits.describe_exceeded(
                        "the uploads of this tab are larger than", "UPLOADS", most
                    ),
                    "Reload the page.",
                )
            yield
        finally:
            # Subtraction also drops sessions without arriving files.
            self._arriving = self._arriving - Counter({session: size})
            streamlit_bridge.release_sessions()


async def _check_request(request: HTTPConnection, path: str) -> None:
    host = request.headers.get("host", "")
    # Without such names, the server answers for any.
    server.check_host(host, st.get_option("server.allowedHosts") or ())
    server.check_origin(
        request.headers.get("origin"), host, st.get_option("server.corsAllowedOrigins")
    )
    _, core, rest = path.partition(CORE)
    if MEDIA in path or (core and rest.partition("/")[0] not in OPEN):
        await run_in_threadpool(_check_person, request, path)


def _check_person(request: HTTPConnection, path: str) -> None:
    if login.is_required():
        person = login.proven_identity(login.claims_in(request.cookies))
        if not server.projects_with_role(ui.project_files(), person):
            raise errors.NotAllowed(
                "no-role",
                "You have no role in any project of this server.",
                "Ask an organizer for a role.",
            )
        if MEDIA in path and not path.partition(MEDIA)[2].startswith(lasting_files.mark_of(person)):
            raise errors.NotAllowed(
                "file-of-another-person",
                "This file belongs to another person.",
                "Download the file from your own browser window.",
            )
