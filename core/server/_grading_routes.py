"""The progress and control of the grading job."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import InputError, unknown_name
from ..jobs import current_job
from ._access_control import Visitor


async def job(request: Request, visitor: Visitor) -> Response:
    """Return the progress of the current or last grading job."""

    def look() -> dict[str, Any]:
        visitor.project.require("read the bank")
        found = current_job(visitor.project)
        if found is None:
            return {"state": None}
        now = found.progress
        return {
            "state": now.state, "paused": found.control.paused, "grader": found.name, "total": now.total,
            "graded": now.graded, "failed": now.failed, "defaulted": now.defaulted, "seconds": round(now.seconds, 2),
            "seconds_left": now.seconds_left, "message": now.message, "calls": now.usage.calls, "cost": now.usage.cost,
            "waits": None if found.control.awaited is None else str(found.control.awaited),
        }  # fmt: skip

    return JSONResponse(await run_in_threadpool(look))


async def steer_job(request: Request, visitor: Visitor) -> Response:
    """Pause, resume or cancel the grading job."""
    await run_in_threadpool(visitor.project.require, "grade")
    found = current_job(visitor.project)
    if found is None or found.over:
        raise InputError("no-job", "No grading job is running.", "Start a job: POST /api/v1/jobs.")
    acts = {"pause": found.control.pause, "resume": found.control.resume, "cancel": found.control.cancel}
    act = acts.get(request.url.path.rpartition("/")[2])
    if act is None:
        raise unknown_name("unknown-job-act", "action", request.url.path.rpartition("/")[2], acts)
    act()
    return await job(request, visitor)
