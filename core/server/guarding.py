"""Who is let in: under which name the server is asked, which token is shown, how much and how often one asks."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..errors import EngineError, InputError, NotAllowed, WorkbenchError
from ..limits import exceeded, limit, within
from ..operations.failing import as_workbench_error
from ..project import ActName, Project, acting_with, find_token
from .holding import held

_log = logging.getLogger(__name__)

MINUTE = 60.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Unknown(WorkbenchError):
    """Somebody shows no token, or one that opens nothing here."""


class NotReading(WorkbenchError):
    """A GET request for an operation that changes data."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "not-a-reading-command",
            f"The command {name} changes data with these values, so GET is not allowed.",
            f"Use POST /api/v1/{name.replace(' ', '/')}.",
        )


class TooMuch(WorkbenchError):
    """A request that is larger than allowed."""


class TooOften(WorkbenchError):
    """More requests than are allowed in a minute."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who was let in.

    Args:
        project: as they have it.
        name: under whom they are recorded; None for the owner, whose commands say it.
        key: what their requests are counted by.
    """

    project: Project
    name: str | None
    key: str

    @property
    def owner(self) -> bool:
        """Whether they read the door's file: whoever the project belongs to, at a shell of this computer."""
        return self.name is None

    def require(self, act: ActName) -> None:
        """Refuse an act that their role does not include.

        Raises:
            NotAllowed: it is refused; it says which role is needed and whom to ask.
        """
        self.project.require(act)


def check_host(header: str, allowed: Sequence[str]) -> None:
    """Refuse a request under a name that is not this server's: a web page may point a name of its own here.

    Args:
        header: the request's `Host`.
        allowed: names and numbers of this server, or patterns such as *.example.org; those of this computer are
            allowed without being named.

    Raises:
        NotAllowed: it is another name.
    """
    host = re.sub(r":\d*$", "", header).strip("[]").lower()
    if allowed and not any(fnmatchcase(host, name.lower()) for name in (*LOOPBACK, *allowed)):
        raise NotAllowed(
            "host-not-allowed", "The host name of the request is not allowed.", "Use a name from server.allowedHosts."
        )


def check_origin(origin: str | None, host: str, allowed: Sequence[str]) -> None:
    """Refuse a request by a page of another origin; another port of the same host is another origin.

    Args:
        origin: the request's `Origin`; None if it has none, because no page sends it.
        host: the request's `Host`.
        allowed: further origins whose pages may send it.

    Raises:
        NotAllowed: it is another origin.
    """
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower(), *allowed):
        raise NotAllowed(
            "foreign-origin", "The request came from a page of another origin.", "Use the pages of this server."
        )


def let_in(headers: Mapping[str, str]) -> Visitor:
    """Whoever shows a token that belongs to a project which is open here.

    Args:
        headers: of the request, their names in lower case.

    Raises:
        Unknown: there is no token, or it opens nothing.
    """
    kind, _, shown = headers.get("authorization", "").partition(" ")
    shown = shown.strip()
    if kind.lower() != "bearer" or not shown or len(shown) > 200 or not shown.isascii():
        raise Unknown(
            "no-token",
            "No token in the request.",
            "Send Authorization: Bearer TOKEN. Make a token with exam tokens add.",
        )
    for one in held():
        if one.door is not None and hmac.compare_digest(one.door.token, shown):
            return Visitor(one.project, None, "")
    for one in held():
        if (token := find_token(one.project, shown)) is not None:
            name = token.member().name
            return Visitor(acting_with(one.project, token), name, f"{one.project.path} {token.key}")
    raise Unknown(
        "invalid-token",
        "This token is not valid on this server.",
        "Use another token, or open the project of this token on the server.",
    )


def check_rate(visitor: Visitor, now: float | None = None) -> None:
    """Count a request, and refuse it where there were too many in this minute.

    Args:
        now: seconds that only grow; the clock's for None.

    Raises:
        TooOften: there were.
    """
    if not visitor.owner and not within("REQUESTS", visitor.key, MINUTE, now):
        said = exceeded("Within a minute there were more than", "REQUESTS", limit("REQUESTS"))
        raise TooOften("too-many-requests", said, "Try again in a minute.")


def check_size(headers: Mapping[str, str]) -> None:
    """Refuse a request that does not say how large it is, or is too large.

    Raises:
        TooMuch: it is.
        InputError: it does not say.
    """
    stated, most = headers.get("content-length", "0"), limit("REQUEST")
    if headers.get("transfer-encoding") or not stated.isascii() or not stated.isdecimal():
        raise InputError("no-content-length", "The request does not state its size.", "Send a Content-Length header.")
    if len(stated) > 18 or int(stated) > most:
        raise TooMuch("request-too-large", exceeded("the request is larger than", "REQUEST", most))


_STATUS: Sequence[tuple[type[WorkbenchError], int]] = (
    (Unknown, 401),
    (NotAllowed, 403),
    (NotReading, 405),
    (TooMuch, 413),
    (TooOften, 429),
    (InputError, 400),
    (EngineError, 503),
)
"""The first that fits counts; what is none of them is 409: the work failed."""


def guarded(answer: Callable[[Request, Visitor], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An answer with what every route of the API has around it: who may come in, and errors as JSON."""

    async def answered(request: Request) -> Response:
        try:
            check_size(request.headers)
            visitor = await run_in_threadpool(let_in, request.headers)
            check_rate(visitor)
            return await answer(request, visitor)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            if (known := as_workbench_error(error)) is not None:
                return _told(known)
            number = secrets.token_hex(3).upper()
            _log.error("error %s: %s", number, error, exc_info=error)
            said = {
                "code": "unforeseen",
                "message": "Unexpected error.",
                "hint": f"See error {number} in the log of the server.",
            }
            return JSONResponse(said, 500)

    return answered


def _told(error: WorkbenchError) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    headers = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}, 429: {"Retry-After": "60"}}.get(status)
    return JSONResponse({"code": error.code, "message": error.message, "hint": error.hint}, status, headers)
