"""Whether the server is well: the process up, every open project answering."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from core.errors import WorkbenchError
from core.server.holding import held, hold

_log = logging.getLogger(__name__)


async def health(check: Callable[[], None]) -> Response:
    """Whether the process is up, its project open, and the database answering: 200, or 503 with the reason.

    Args:
        check: what has to hold beside; raises WorkbenchError where it does not.
    """
    try:
        check()
        await run_in_threadpool(_look)
    except WorkbenchError as error:
        return JSONResponse({"message": error.message, "hint": error.hint}, 503)
    except Exception as error:
        _log.error("the server is not well: %s", error, exc_info=error)
        said = {
            "message": "The database does not answer.",
            "hint": "Look into the log of the server, or start it anew.",
        }
        return JSONResponse(said, 503)
    return JSONResponse({"message": "Up, and every open project answers.", "projects": len(held())})


def _look() -> None:
    if named := os.environ.get("EXAM_PROJECT"):
        hold(Path(named))
    for one in held():
        one.project.unattended().read(lambda cursor: cursor.execute("SELECT count(*) FROM settings").fetchall())
