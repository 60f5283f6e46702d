"""The routes of the server beside its screens: /healthz, and /api/v1, where every command can be given."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import logging
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core.errors import EngineError, InputError, NotAllowed, WorkbenchError
from core.grading import current_job
from core.project import current_author
from core.server import words
from core.server.describing import description
from core.server.guarding import TooMuch, TooOften, Unknown, Visitor, check_host, check_rate, check_size, let_in
from core.server.holding import held, hold
from core.server.running import Asked, Running, file_lines, line

MOST_FILES = 1000
LONGEST_REQUEST = 4 << 20
"""Bytes of a request without its files."""

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
Hosts = Callable[[], Sequence[str]]


def routes(hosts: Hosts) -> list[Route]:
    """The routes, for the program that serves them.

    Args:
        hosts: gives the names under which the server may be asked; none for any.
    """
    return [
        Route("/healthz", functools.partial(_health, hosts), methods=["GET"]),
        *(
            Route(f"/api/v1/{path}", functools.partial(_guarded, hosts, answer), methods=[method])
            for method, path, answer in (
                ("GET", "openapi.json", _description),
                ("GET", "door", _door),
                ("POST", "run", _run),
                ("DELETE", "run/{number}", _stop),
                ("POST", "jobs", _start_job),
                ("GET", "jobs/current", _job),
                ("POST", "jobs/current/{what}", _steer_job),
                ("GET", "{words:path}", _read),
                ("POST", "{words:path}", _do),
            )
        ),
    ]


def _told(error: WorkbenchError) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "60"} if status == 429 else None
    return JSONResponse({"message": error.message, "hint": error.hint}, status, headers)


async def _health(hosts: Hosts, request: Request) -> Response:
    """Whether the process is up, its project open, and the database answering."""
    try:
        check_host(request.headers.get("host", ""), hosts())
        await run_in_threadpool(_look)
    except NotAllowed as error:
        return _told(error)
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


async def _guarded(hosts: Hosts, answer: Answer, request: Request) -> Response:
    """What every route of the API has around it: who may come in, and errors as sentences."""
    try:
        check_host(request.headers.get("host", ""), hosts())
        check_size(request.headers)
        visitor = await run_in_threadpool(let_in, request.headers)
        check_rate(visitor)
        return await answer(request, visitor)
    except WorkbenchError as error:
        return _told(error)
    except ClientDisconnect:
        return Response(status_code=400)
    except Exception as error:
        number = secrets.token_hex(3).upper()
        _log.error("error %s: %s", number, error, exc_info=error)
        said = {"message": "Something failed that should not have.", "hint": f"It is in the log under {number}."}
        return JSONResponse(said, 500)


async def _description(request: Request, visitor: Visitor) -> Response:
    return JSONResponse(description())


async def _door(request: Request, visitor: Visitor) -> Response:
    return JSONResponse({"project": visitor.project.name})


_running: dict[tuple[str, str], Running] = {}
"""Commands under way, by whose they are and the number that they gave."""


async def _run(request: Request, visitor: Visitor) -> Response:
    """Run a command as a shell has it, and tell what it says while it runs."""
    asked, number = await _asked(request, visitor)
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(content: bytes | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, content)

    def ended(code: int, files: Mapping[str, Path]) -> None:
        for one in file_lines(files):
            put(one)
        put(line(exit=code))
        put(None)

    command = Running(asked, lambda stream, content: put(line(**{stream: _encoded(content)})), ended)
    key = (visitor.key, number)
    _running[key] = command

    async def body() -> AsyncIterator[bytes]:
        over = False
        try:
            while (content := await lines.get()) is not None:
                yield content
            over = True
        finally:
            _running.pop(key, None)
            if not over:
                # Whoever asked is gone.
                command.stop()

    return StreamingResponse(body(), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


async def _stop(request: Request, visitor: Visitor) -> Response:
    command = _running.get((visitor.key, request.path_params["number"]))
    if command is None:
        raise InputError("There is no such command under way.", "It may have ended.")
    command.stop()
    return JSONResponse({})


async def _asked(request: Request, visitor: Visitor) -> tuple[Asked, str]:
    """A command as `exam` sends it: a field with the words, and the files that they name."""
    form = await request.form(max_files=MOST_FILES, max_fields=4, max_part_size=LONGEST_REQUEST)
    async with _closing(form):
        try:
            content = json.loads(str(form["request"]))
            said = [str(word) for word in content["words"]]
            files = {str(name): form[str(part)] for name, part in content.get("files", {}).items()}
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError("The request names no command.", "See docs/server.md.") from error
        asked = Asked(
            said,
            visitor.project,
            visitor.name or str(content.get("author") or current_author()),
            visitor.owner,
            bool(content.get("terminal")),
        )
        asked.files = await _kept(asked, files)
        return asked, str(content.get("number") or secrets.token_hex(16))


class _closing:
    def __init__(self, form: Any) -> None:
        self._form = form

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        await self._form.close()


async def _kept(asked: Asked, files: Mapping[str, Any]) -> dict[str, Path]:
    """Put what was sent into the command's folder, under the last part of each name."""
    kept: dict[str, Path] = {}
    for at, (name, upload) in enumerate(files.items()):
        plain = Path(name).name
        if not isinstance(upload, UploadFile) or not plain or "\0" in name:
            raise InputError("A file has no name, or was not sent.", "Send every file that the command names.")
        folder = asked.folder / f"sent-{at}"
        folder.mkdir()
        kept[name] = folder / plain
        await run_in_threadpool(_copy, upload, kept[name])
    return kept


def _copy(upload: UploadFile, path: Path) -> None:
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except OSError as error:
        raise InputError(f"A file could not be taken in ({error.strerror}).", "Give it a shorter name.") from error


async def _read(request: Request, visitor: Visitor) -> Response:
    path = request.path_params["words"]
    command = words.find(path)
    if not words.may_read(path):
        return JSONResponse(
            {"message": f"{path} does not only read.", "hint": f"POST /api/v1/{path} does it."}, 405, {"Allow": "POST"}
        )
    said = words.words_of(path, command, request.query_params.multi_items())
    return await _answer(Asked(said, visitor.project, visitor.name or current_author(), visitor.owner))


async def _do(request: Request, visitor: Visitor) -> Response:
    return await _answer(await _posted(request, visitor, request.path_params["words"]))


async def _start_job(request: Request, visitor: Visitor) -> Response:
    asked = await _posted(request, visitor, "grade")
    asked.background = True
    return await _answer(asked, 202)


async def _posted(request: Request, visitor: Visitor, path: str) -> Asked:
    """A command of the parameters in a form, or in an object of JSON."""
    command = words.find(path)
    files: dict[str, Any] = {}
    given: list[tuple[str, str]] = []
    if request.headers.get("content-type", "").startswith(("multipart/", "application/x-www-form-urlencoded")):
        form = await request.form(max_files=MOST_FILES, max_fields=MOST_FILES, max_part_size=LONGEST_REQUEST)
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                plain = Path(value.filename or "").name
                if plain in files:
                    raise InputError(f"Two files are called '{plain}'.", "Give each another name.")
                files[plain] = value
                given.append((name, plain))
            else:
                given.append((name, value))
    else:
        given = _of_object(await _body(request))
    for one in words.written(command):
        if one.required and one.name not in {name for name, _ in given}:
            given.append((str(one.name), "output"))
    asked = Asked(
        words.words_of(path, command, given), visitor.project, visitor.name or current_author(), visitor.owner
    )
    asked.files = await _kept(asked, files)
    return asked


async def _body(request: Request) -> bytes:
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > LONGEST_REQUEST:
            raise TooMuch("The request is too large.", "Send files as a form.")
    return content


def _of_object(content: bytes) -> list[tuple[str, str]]:
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise InputError("The request is no JSON.", "Send an object with the parameters of the command.") from error
    if not isinstance(found, dict):
        raise InputError("The request is no object.", "Send an object with the parameters of the command.")
    return [
        (str(name), one if isinstance(one, str) else json.dumps(one))
        for name, value in found.items()
        if value is not None
        for one in (value if isinstance(value, list) else [value])
    ]


async def _answer(asked: Asked, done: int = 200) -> Response:
    """The answer of a command that is waited for: what it printed, or the one file that it wrote."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[tuple[int, dict[str, bytes]]] = loop.create_future()
    printed: dict[str, bytearray] = {"output": bytearray(), "error": bytearray()}

    def ended(code: int, files: Mapping[str, Path]) -> None:
        content = {Path(name).name: path.read_bytes() for name, path in files.items() if path.is_file()}

        def tell() -> None:
            if not end.done():
                end.set_result((code, content))

        loop.call_soon_threadsafe(tell)

    command = Running(asked, lambda stream, content: printed[stream].extend(content), ended)
    try:
        code, files = await end
    except asyncio.CancelledError:
        command.stop()
        raise
    error = bytes(printed["error"]).decode(errors="replace")
    if code:
        return _failed(code, error)
    if len(files) == 1:
        (content,) = files.values()
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(content, done, headers, "application/octet-stream")
    output = bytes(printed["output"])
    if not output:
        return JSONResponse({"message": error.strip()}, done)
    kind = "application/json" if output.lstrip()[:1] in (b"{", b"[") else "text/plain"
    return Response(output, done, {"X-Content-Type-Options": "nosniff"}, kind)


def _failed(code: int, error: str) -> Response:
    """What a command said that failed: its last line is the reason, with what to do."""
    lines = [one for one in error.splitlines() if one.strip()] or ["The command failed."]
    message, _, hint = lines[-1].removeprefix("exam: ").partition(". ")
    forbidden = "needs the role" in message or "has no role" in message
    return JSONResponse(
        {"message": f"{message.rstrip('.')}.", "hint": hint, "exit_code": code, "said": lines[:-1]},
        403 if forbidden else 400 if code == 2 else 409,
    )


async def _job(request: Request, visitor: Visitor) -> Response:
    def look() -> dict[str, Any]:
        visitor.project.require("read the bank")
        job = current_job(visitor.project)
        if job is None:
            return {"state": None}
        now = job.progress
        return {
            "state": now.state, "paused": job.control.paused, "grader": job.grader_name, "total": now.total,
            "graded": now.graded, "failed": now.failed, "defaulted": now.defaulted, "seconds": round(now.seconds, 2),
            "seconds_left": now.seconds_left, "message": now.message, "calls": now.usage.calls, "cost": now.usage.cost,
            "waits": None if job.control.awaited is None else str(job.control.awaited),
        }  # fmt: skip

    return JSONResponse(await run_in_threadpool(look))


async def _steer_job(request: Request, visitor: Visitor) -> Response:
    await run_in_threadpool(visitor.project.require, "grade")
    job = current_job(visitor.project)
    if job is None or job.progress.over:
        raise InputError("No grading job is under way.", "POST /api/v1/jobs starts one.")
    acts = {"pause": job.control.pause, "resume": job.control.resume, "cancel": job.cancel}
    act = acts.get(request.path_params["what"])
    if act is None:
        raise InputError("That cannot be done to a job.", f"There are: {', '.join(acts)}.")
    act()
    return await _job(request, visitor)
