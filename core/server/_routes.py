"""The routes of the server in addition to its screens: /healthz, and the API below /api/v1.

The health check passes if the process is up and every open project responds.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import WorkbenchError
from ._api import PREFIX, Api
from ._open_projects import hold_project, list_held

_log = logging.getLogger(__name__)

Check = Callable[[], None]


def routes(check: Check = lambda: None) -> list[Route]:
    """Return the routes. The program that serves them checks host names, for these and all other
    routes.

    Args:
        check: a further check of the server's health; raises WorkbenchError if it fails.
    """
    return [
        Route("/healthz", functools.partial(check_health, check), methods=["GET"]),
        Route(PREFIX + "/{path:path}", Api()),
    ]


NOT_WELL = {
    "code": "not-well",
    "message": "The server has a problem.",
    "hint": "See the log of the server for the cause.",
}
"""The public answer. The cause names a project and its path, which only its people may know."""
_logged = ""


async def check_health(check: Check, request: Request | None = None) -> Response:
    """Return 200 if the process is up, its project open, and the database answers; else 503, with
    the cause in the log.

    Args:
        check: a further check; raises WorkbenchError if it fails.
    """
    try:
        check()
        await run_in_threadpool(_check_projects)
    except WorkbenchError as error:
        _log_once(str(error))
        return JSONResponse(NOT_WELL, 503)
    except Exception as error:
        _log.error("the server has a problem: %s", error, exc_info=error)
        return JSONResponse(NOT_WELL, 503)
    _log_once("")
    return JSONResponse(
        {
            "message": "The server is up, and every open project responds.",
            "projects": len(list_held()),
        }
    )


def _log_once(reason: str) -> None:
    """Log a problem of the server, unless it equals the last one; an empty one means no problem."""
    global _logged
    if reason and reason != _logged:
        _log.error("the server has a problem: %s", reason)
    _logged = reason


def _check_projects() -> None:
    if named := os.environ.get("EXAM_PROJECT"):
        hold_project(Path(named))
    for entry in list_held():
        entry.project.unattended().read(
            lambda cursor: cursor.execute("SELECT count(*) FROM settings").fetchall()
        )
