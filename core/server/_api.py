"""The API: a route for each operation, made from the list of operations, and routes of the grading
job.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from .. import __version__
from ..errors import InputError, check_known, unknown_name
from ..jobs import current_job
from ..operations import every_operation, find_operation, replace_old_name
from ..operations.registry import Operation
from ..store import current_author
from . import _api_requests as api_requests
from ._access_control import Visitor, get_not_allowed, guard_route
from ._operation_requests import (
    OperationRequest,
    answer_streamed,
    answer_whole,
    shell_of,
    steer_run,
)


async def show_job(request: Request, visitor: Visitor) -> Response:
    """Return the progress of the current or last grading job."""

    def read_progress() -> dict[str, Any]:
        visitor.project.require("read the bank")
        running = current_job(visitor.project)
        if running is None:
            return {"state": None}
        now = running.progress
        return {
            "state": now.state,
            "paused": running.control.paused,
            "grader": running.name,
            "total": now.total,
            "graded": now.graded,
            "failed": now.failed,
            "defaulted": now.defaulted,
            "seconds": round(now.seconds, 2),
            "seconds_left": now.seconds_left,
            "message": now.message,
            "calls": now.usage.calls,
            "cost": now.usage.cost,
            "waits": None if running.control.awaited is None else str(running.control.awaited),
        }

    return JSONResponse(await run_in_threadpool(read_progress))


async def steer_job(request: Request, visitor: Visitor) -> Response:
    """Pause, resume or cancel the grading job."""
    await run_in_threadpool(visitor.project.require, "grade")
    running = current_job(visitor.project)
    if running is None or running.over:
        raise InputError("no-job", "No grading job is running.", "Start a job: POST /api/v1/jobs.")
    acts = {
        "pause": running.control.pause,
        "resume": running.control.resume,
        "cancel": running.control.cancel,
    }
    name = request.url.path.rpartition("/")[2]
    check_known("unknown-job-act", "action", acts, name)
    acts[name]()
    return await show_job(request, visitor)


PREFIX = "/api/v1"

_FAILED = {
    "description": "The error: code, problem and fix.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
            }
        }
    },
}
_DONE = "The output of `exam` with --json, or the file that it writes."
_JOB = {
    "": ("GET", "Show the progress of the current or last grading job."),
    "/pause": ("POST", "Pause the grading job: no new calls start."),
    "/resume": ("POST", "Resume the grading job."),
    "/cancel": ("POST", "Cancel the grading job. Stored grades are kept."),
}


class Api:
    """The API as an ASGI application. It is made at the first request, since that loads every
    operation.
    """

    _making = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, also for the earlier name of an operation."""
        made = await run_in_threadpool(self._make)
        before, prefix, words = scope["path"].partition(f"{PREFIX}/")
        await made(
            {**scope, "path": before + prefix + "/".join(replace_old_name(words.split("/")))},
            receive,
            send,
        )

    def _make(self) -> FastAPI:
        # Requests that come together wait for the one that makes it.
        with self._making:
            return make_api()


@functools.cache
def make_api() -> FastAPI:
    """Return an API with a route for each operation that can be requested, and routes of jobs."""
    api = FastAPI(
        title="Exam Workbench", version=__version__, openapi_url=None, docs_url=None, redoc_url=None
    )
    add = functools.partial(api.add_api_route, include_in_schema=False, response_model=None)
    for path, method, answer in (
        ("/openapi.json", "GET", _send_description),
        ("/door", "GET", _answer_door),
        ("/run/{number}", "DELETE", steer_run),
        ("/run/{number}", "POST", steer_run),
    ):
        add(PREFIX + path, guard_route(answer), methods=[method])
    for operation in every_operation():
        if not operation.at_shell:
            _add_operation(api, operation)
        if operation.name == "grade":
            api.add_api_route(
                f"{PREFIX}/jobs",
                guard_route(functools.partial(_start_job, operation)),
                methods=["POST"],
                response_model=None,
                responses={"default": _FAILED},
                operation_id="start_job",
                summary="Start grading in the background. /api/v1/jobs/current shows the progress.",
                openapi_extra=_describe_body(operation),
            )
    for path, (method, summary) in _JOB.items():
        api.add_api_route(
            f"{PREFIX}/jobs/current{path}",
            guard_route(steer_job if path else show_job),
            methods=[method],
            summary=summary,
            operation_id=f"{method.lower()}_job{path.replace('/', '_')}",
            response_model=None,
            responses={"default": _FAILED},
        )
    add(PREFIX + "/{path:path}", guard_route(_refuse_unknown), methods=["GET", "POST"])
    return api


def _add_operation(api: FastAPI, operation: Operation) -> None:
    path = f"/{operation.name.replace(' ', '/')}"
    for method, extra in (("GET", _describe_query(operation)), ("POST", _describe_body(operation))):
        # `exam jobs` reads; POST /jobs starts one.
        if (method == "GET" and not operation.may_read) or (method, path) == ("POST", "/jobs"):
            continue
        api.add_api_route(
            PREFIX + path,
            guard_route(functools.partial(_answer_operation, operation)),
            methods=[method],
            summary=operation.summary,
            operation_id=f"{method.lower()}{path.replace('/', '_').replace('-', '_')}",
            openapi_extra=extra,
            response_model=None,
            responses={"default": _FAILED},
            response_description=_DONE,
        )


def _operation_schema(operation: Operation, files: bool) -> dict[str, Any]:
    schema = api_requests.model_of(operation).model_json_schema()
    schema.pop("$defs", None)
    for parameter in api_requests.request_parameters(operation):
        if parameter.option.file is not None and not files:
            schema["properties"].pop(parameter.name)
        elif parameter.option.file in ("read", "read if sent"):
            file = {"type": "string", "format": "binary"}
            schema["properties"][parameter.name] |= (
                {"type": "array", "items": file} if parameter.many else file
            )
    return schema


def _describe_query(operation: Operation) -> dict[str, Any]:
    schema = _operation_schema(operation, files=False)
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in schema.get("required", ()),
                "description": about.pop("description", ""),
                "schema": about,
            }
            for name, about in schema["properties"].items()
        ]
    }


def _describe_body(operation: Operation) -> dict[str, Any]:
    read = any(
        parameter.option.file in ("read", "read if sent") for parameter in operation.parameters
    )
    kinds = ("multipart/form-data",) if read else ("application/json", "multipart/form-data")
    schema = _operation_schema(operation, files=True)
    return {"requestBody": {"content": {kind: {"schema": schema} for kind in kinds}}}


async def _answer_operation(operation: Operation, request: Request, visitor: Visitor) -> Response:
    asked = await _read_asked(operation, request, visitor)
    shell = shell_of(request)
    if shell is None:
        return await answer_whole(asked)
    if visitor.owner:
        asked.author = str(shell.get("author", asked.author))
        asked.named = str(shell.get("project") or "")
    asked.terminal, asked.as_json = bool(shell.get("terminal")), bool(shell.get("json"))
    return answer_streamed(asked, visitor, shell["number"])


async def _read_asked(operation: Operation, request: Request, visitor: Visitor) -> OperationRequest:
    # The role is checked before anything else in the request.
    await run_in_threadpool(visitor.project.require, operation.act)
    author = visitor.name or current_author()
    if request.method == "GET":
        given = api_requests.check_values(operation, request.query_params.multi_items())
        if not operation.only_reads(
            {
                parameter.name: given.get(parameter.name, parameter.default)
                for parameter in operation.parameters
            }
        ):
            raise get_not_allowed(operation.name)
        return OperationRequest(operation, given, visitor.project, author, owner=visitor.owner)
    pairs, files = await api_requests.read_body(request)
    names = {name for name, _ in pairs}
    # The client need not name the file that the operation writes.
    pairs += [
        (parameter.name, "output")
        for parameter in operation.parameters
        if parameter.option.file == "write" and parameter.required and parameter.name not in names
    ]
    asked = OperationRequest(
        operation,
        api_requests.check_values(operation, pairs),
        visitor.project,
        author,
        owner=visitor.owner,
    )
    try:
        asked.files = await api_requests.store_files(asked.folder, files)
    except BaseException:
        asked.folder.close()
        raise
    return asked


async def _start_job(operation: Operation, request: Request, visitor: Visitor) -> Response:
    """Start grading that continues after the answer."""
    asked = await _read_asked(operation, request, visitor)
    asked.background = True
    return await answer_whole(asked, 202)


async def _refuse_unknown(request: Request, visitor: Visitor) -> Response:
    path = request.path_params["path"]
    known = find_operation(path.replace("/", " "))
    if known is not None and not known.at_shell and request.method == "GET":
        raise get_not_allowed(known.name)
    if known is not None and known.at_shell:
        raise InputError(
            "needs-a-shell",
            f"The command {path} uses files of the server, so it cannot be run through the API.",
            "Run it in a shell on the server.",
        )
    raise unknown_name("unknown-command", "command", path, (), "See /api/v1/openapi.json.")


async def _send_description(request: Request, visitor: Visitor) -> Response:
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    return JSONResponse(
        {
            **request.app.openapi(),
            "components": {"securitySchemes": schemes},
            "security": [{"token": []}],
        }
    )


async def _answer_door(request: Request, visitor: Visitor) -> Response:
    return JSONResponse({"project": visitor.project.name, "version": __version__})
