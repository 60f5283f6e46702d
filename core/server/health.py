"""Whether the server is well: the process up, every open project answering."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from ..errors import WorkbenchError
from .holding import held, hold

_log = logging.getLogger(__name__)


NOT_WELL = {
    "code": "not-well",
    "message": "The server has a problem.",
    "hint": "See the log of the server for the cause.",
}
"""What everybody is told. The reason names a project and where it lies, of which only its people know."""
_logged = ""


async def health(check: Callable[[], None]) -> Response:
    """Whether the process is up, its project open, and the database answering: 200, or 503 with the reason in the log.

    Args:
        check: what has to hold beside; raises WorkbenchError where it does not.
    """
    try:
        check()
        await run_in_threadpool(_look)
    except WorkbenchError as error:
        _log_once(str(error))
        return JSONResponse(NOT_WELL, 503)
    except Exception as error:
        _log.error("the server has a problem: %s", error, exc_info=error)
        return JSONResponse(NOT_WELL, 503)
    _log_once("")
    return JSONResponse({"message": "The server is up, and every open project responds.", "projects": len(held())})


def _log_once(reason: str) -> None:
    """Log why the server is not well, unless it was just that when it was looked at last; nothing for one that is."""
    global _logged
    if reason and reason != _logged:
        _log.error("the server has a problem: %s", reason)
    _logged = reason


def _look() -> None:
    if named := os.environ.get("EXAM_PROJECT"):
        hold(Path(named))
    for one in held():
        one.project.unattended().read(lambda cursor: cursor.execute("SELECT count(*) FROM settings").fetchall())
