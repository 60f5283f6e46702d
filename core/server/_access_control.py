"""Access control: the host name of the request, its token, its size and its rate."""

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
from ..limits import allow_event, describe_exceeded, read_limit
from ..operations.console import as_workbench_error
from ..records import acting_with, find_token
from ..store import Project
from ._open_projects import list_held

_log = logging.getLogger(__name__)

MINUTE = 60.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Visitor:
    """A person or program whose token was accepted.

    Args:
        project: with their rights.
        name: the name under which their actions are recorded; None for the owner, whose commands
            state it.
        key: the key by which their requests are counted.
    """

    project: Project
    name: str | None
    key: str

    @property
    def owner(self) -> bool:
        """Whether they used the token of the door's file, as the owner of the project does at a
        shell of this computer."""
        return self.name is None


def check_host(header: str, allowed: Sequence[str]) -> None:
    """Refuse a request under a foreign host name, since a web page may point its own name to this
    server.

    Args:
        header: the request's `Host`.
        allowed: names and addresses of this server, or patterns such as *.example.org; those of
            this computer are always allowed.

    Raises:
        NotAllowed: the name is not allowed.
    """
    host = re.sub(r":\d*$", "", header).strip("[]").lower()
    if allowed and not any(fnmatchcase(host, name.lower()) for name in (*LOOPBACK, *allowed)):
        raise NotAllowed(
            "host-not-allowed",
            "The host name of the request is not allowed.",
            "Use a name from server.allowedHosts.",
        )


def check_origin(origin: str | None, host: str, allowed: Sequence[str]) -> None:
    """Refuse a request by a page of another origin; another port of the same host is another
    origin.

    Args:
        origin: the request's `Origin`; None if it is not from a page.
        host: the request's `Host`.
        allowed: further origins whose pages may send it.

    Raises:
        NotAllowed: the origin is not allowed.
    """
    if origin is not None and origin.lower() not in (
        f"http://{host}".lower(),
        f"https://{host}".lower(),
        *allowed,
    ):
        raise NotAllowed(
            "foreign-origin",
            "The request came from a page of another origin.",
            "Use the pages of this server.",
        )


def find_visitor(headers: Mapping[str, str]) -> Visitor:
    """Return the visitor whose token belongs to an open project.

    Args:
        headers: of the request, with names in lower case.

    Raises:
        WorkbenchError: the token is missing or invalid.
    """
    kind, _, sent_token = headers.get("authorization", "").partition(" ")
    sent_token = sent_token.strip()
    if (
        kind.lower() != "bearer"
        or not sent_token
        or len(sent_token) > 200
        or not sent_token.isascii()
    ):
        raise WorkbenchError(
            "no-token",
            "No token in the request.",
            "Send Authorization: Bearer TOKEN. Make a token with exam tokens add.",
        )
    for entry in list_held():
        if entry.door is not None and hmac.compare_digest(entry.door.token, sent_token):
            return Visitor(entry.project, None, "")
    for entry in list_held():
        if (token := find_token(entry.project, sent_token)) is not None:
            name = token.member().name
            return Visitor(
                acting_with(entry.project, token), name, f"{entry.project.path} {token.key}"
            )
    raise WorkbenchError(
        "invalid-token",
        "This token is not valid on this server.",
        "Use another token, or open the project of this token on the server.",
    )


def check_rate(visitor: Visitor, now: float | None = None) -> None:
    """Count a request, and refuse it if there were too many in this minute.

    Args:
        now: seconds that only grow; None means the clock's.

    Raises:
        WorkbenchError: the limit is exceeded.
    """
    if not visitor.owner and not allow_event("REQUESTS", visitor.key, MINUTE, now):
        said = describe_exceeded(
            "Within a minute there were more than", "REQUESTS", read_limit("REQUESTS")
        )
        raise WorkbenchError("too-many-requests", said, "Try again in a minute.")


def check_size(headers: Mapping[str, str]) -> None:
    """Refuse a request that does not state its size, or is too large.

    Raises:
        WorkbenchError: it is too large, or does not state its size.
    """
    stated, most = headers.get("content-length", "0"), read_limit("REQUEST")
    if headers.get("transfer-encoding") or not stated.isascii() or not stated.isdecimal():
        raise InputError(
            "no-content-length",
            "The request does not state its size.",
            "Send a Content-Length header.",
        )
    if len(stated) > 18 or int(stated) > most:
        raise WorkbenchError(
            "request-too-large", describe_exceeded("the request is larger than", "REQUEST", most)
        )


_STATUS_OF_CODES = {
    "no-token": 401,
    "invalid-token": 401,
    "not-a-reading-command": 405,
    "request-too-large": 413,
    "too-many-requests": 429,
}
"""HTTP status of the errors that only the server raises."""
_STATUS: Sequence[tuple[type[WorkbenchError], int]] = (
    (NotAllowed, 403),
    (InputError, 400),
    (EngineError, 503),
)
"""HTTP status of other errors by class; the first match counts. The rest is 409: the work failed.
"""


def get_not_allowed(name: str) -> WorkbenchError:
    """Return the error for a GET request for an operation that changes data."""
    return WorkbenchError(
        "not-a-reading-command",
        f"The command {name} changes data with these values, so GET is not allowed.",
        f"Use POST /api/v1/{name.replace(' ', '/')}.",
    )


def guard_route(
    answer: Callable[[Request, Visitor], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap an answer with the access checks of every API route, and return errors as JSON."""

    async def answer_checked(request: Request) -> Response:
        try:
            check_size(request.headers)
            visitor = await run_in_threadpool(find_visitor, request.headers)
            check_rate(visitor)
            return await answer(request, visitor)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            if (known := as_workbench_error(error)) is not None:
                return _error_response(known)
            number = secrets.token_hex(3).upper()
            _log.error("error %s: %s", number, error, exc_info=error)
            details = {
                "code": "unforeseen",
                "message": "Unexpected error.",
                "hint": f"See error {number} in the log of the server.",
            }
            return JSONResponse(details, 500)

    return answer_checked


def _error_response(error: WorkbenchError) -> JSONResponse:
    usual = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    status = _STATUS_OF_CODES.get(error.code, usual)
    headers = {
        401: {"WWW-Authenticate": "Bearer"},
        405: {"Allow": "POST"},
        429: {"Retry-After": "60"},
    }.get(status)
    return JSONResponse(
        {"code": error.code, "message": error.message, "hint": error.hint}, status, headers
    )
