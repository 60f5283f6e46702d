"""The routes of the server beside its screens: /healthz, and /api/v1, where every command can be given."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import EngineError, InputError, NotAllowed, WorkbenchError
from ..project import no_room
from . import asking, grading, shell
from .describing import description
from .guarding import TooMuch, TooOften, Unknown, Visitor, check_rate, check_size, let_in
from .health import health

_STATUS: Sequence[tuple[type[WorkbenchError], int]] = (
    (Unknown, 401),
    (NotAllowed, 403),
    (TooMuch, 413),
    (TooOften, 429),
    (InputError, 400),
    (EngineError, 503),
)
"""The first that fits counts; what is none of them is 409: the work failed."""

_log = logging.getLogger(__name__)

Answer = Callable[[Request, Visitor], Awaitable[Response]]
Check = Callable[[], None]


def routes(check: Check = lambda: None) -> list[Route]:
    """The routes, for the program that serves them: it refuses requests under another name, for these and all others.

    Args:
        check: what has to hold beside the projects for the server to be well; raises WorkbenchError where it does not.
    """
    return [
        Route("/healthz", functools.partial(_open, check), methods=["GET"]),
        *(
            Route(f"/api/v1/{path}", functools.partial(_guarded, answer), methods=[method])
            for method, path, answer in (
                ("GET", "openapi.json", _description),
                ("GET", "door", _door),
                ("POST", "run", shell.run),
                ("DELETE", "run/{number}", shell.steer),
                ("POST", "run/{number}", shell.steer),
                ("POST", "jobs", asking.start_job),
                ("GET", "jobs/current", grading.job),
                ("POST", "jobs/current/{what}", grading.steer_job),
                ("GET", "{words:path}", asking.read),
                ("POST", "{words:path}", asking.do),
            )
        ),
    ]


def _told(error: WorkbenchError) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "60"} if status == 429 else None
    return JSONResponse({"code": error.code, "message": error.message, "hint": error.hint}, status, headers)


async def _open(check: Check, request: Request) -> Response:
    """How the server is, for everybody who asks."""
    return await health(check)


async def _guarded(answer: Answer, request: Request) -> Response:
    """What every route of the API has around it: who may come in, and errors as sentences."""
    try:
        check_size(request.headers)
        visitor = await run_in_threadpool(let_in, request.headers)
        check_rate(visitor)
        return await answer(request, visitor)
    except WorkbenchError as error:
        return _told(error)
    except ClientDisconnect:
        return Response(status_code=400)
    except Exception as error:
        if full := no_room("the project", error):
            return _told(full)
        number = secrets.token_hex(3).upper()
        _log.error("error %s: %s", number, error, exc_info=error)
        said = {
            "code": "unforeseen",
            "message": "Unexpected error.",
            "hint": f"See error {number} in the log of the server.",
        }
        return JSONResponse(said, 500)


async def _description(request: Request, visitor: Visitor) -> Response:
    return JSONResponse(description())


async def _door(request: Request, visitor: Visitor) -> Response:
    return JSONResponse({"project": visitor.project.name})
