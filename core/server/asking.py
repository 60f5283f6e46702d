"""Commands asked for by their paths and parameters, each answered at its end: what it printed, or the file it wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import InputError
from ..exchange import zipped
from ..project import current_author
from . import sent, words
from .guarding import Visitor
from .running import Asked, Running

FORMS = "multipart/form-data", "application/x-www-form-urlencoded"


async def read(request: Request, visitor: Visitor) -> Response:
    """A command that only reads, with its parameters in the address."""
    path, command = await _named(request.path_params["words"], visitor)
    if not words.may_read(path):
        return JSONResponse(
            {
                "code": "not-a-reading-command",
                "message": f"The command {path} changes data, so GET is not allowed.",
                "hint": f"Use POST /api/v1/{path}.",
            },
            405,
            {"Allow": "POST"},
        )
    said = words.words_of(path, command, request.query_params.multi_items())
    return await _answer(Asked(said, visitor.project, visitor.name or current_author(), visitor.owner))


async def do(request: Request, visitor: Visitor) -> Response:
    """Any command, with its parameters in a form or an object of JSON."""
    return await _answer(await _posted(request, visitor, request.path_params["words"]))


async def start_job(request: Request, visitor: Visitor) -> Response:
    """Grading that goes on when this is answered."""
    asked = await _posted(request, visitor, "grade")
    asked.background = True
    return await _answer(asked, 202)


async def _named(path: str, visitor: Visitor) -> tuple[str, click.Command]:
    """The command of a path, which whoever asks may give: they are told so before anything else of it is looked at."""
    command = words.find(path)
    await run_in_threadpool(visitor.require, path.replace("/", " "))
    return path, command


async def _posted(request: Request, visitor: Visitor, path: str) -> Asked:
    path, command = await _named(path, visitor)
    files: dict[str, Any] = {}
    given: list[tuple[str, str]] = []
    if not request.headers.get("content-type", "").startswith(FORMS):
        return await _wanted(path, command, await sent.parameters(request), files, visitor)
    async with sent.form(request) as form:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                plain = Path(value.filename or "").name
                if plain in files:
                    raise InputError(
                        "duplicate-file-name", f"Two files are named '{plain}'.", "Give each file its own name."
                    )
                files[plain] = value
                given.append((name, plain))
            else:
                given.append((name, value))
        return await _wanted(path, command, given, files, visitor)


async def _wanted(
    path: str, command: click.Command, given: list[tuple[str, str]], files: Mapping[str, Any], visitor: Visitor
) -> Asked:
    for one in words.written(command):
        if one.required and one.name not in {name for name, _ in given}:
            given.append((str(one.name), "output"))
    said = words.words_of(path, command, given)
    return await sent.take_in(Asked(said, visitor.project, visitor.name or current_author(), visitor.owner), files)


async def _answer(asked: Asked, done: int = 200) -> Response:
    """The answer of a command that is waited for: what it printed, or the file that it wrote; a zip of several."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[tuple[int, dict[str, bytes]]] = loop.create_future()
    printed: dict[str, bytearray] = {"output": bytearray(), "error": bytearray()}

    def ended(code: int, files: Mapping[str, Path]) -> None:
        # A backup goes into a folder that is named, and an exported project may be one.
        found = [one for path in files.values() for one in ([path] if path.is_file() else path.iterdir())]
        content = {str(one.relative_to(asked.folder.path)): one.read_bytes() for one in found}

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
        return _failed(code, error, command)
    if files:
        content = next(iter(files.values())) if len(files) == 1 else zipped(files)
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(content, done, headers, "application/octet-stream")
    output = bytes(printed["output"])
    if not output:
        return JSONResponse({"message": error.strip()}, done)
    kind = "application/json" if output.lstrip()[:1] in (b"{", b"[") else "text/plain"
    return Response(output, done, {"X-Content-Type-Options": "nosniff"}, kind)


def _failed(code: int, error: str, command: Running) -> Response:
    """The answer for a command that failed: its last line is the message with the hint."""
    lines = [one for one in error.splitlines() if one.strip()] or ["The command failed."]
    message, _, hint = lines[-1].removeprefix("exam: ").partition(". ")
    kind = command.guest.failure or ("unforeseen" if command.broken else "wrong-usage" if code == 2 else "failed")
    status = 500 if command.broken else 403 if kind in ("role-needed", "no-role") else 400 if code == 2 else 409
    told = {"code": kind, "message": f"{message.rstrip('.')}.", "hint": hint, "exit_code": code, "said": lines[:-1]}
    return JSONResponse(told, status)
