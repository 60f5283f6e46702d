"""Answers of operations: complete at the end, or as lines while they run, as the shell needs them."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ..errors import InputError
from ..exchange import zipped
from ._access_control import Visitor
from ._operation_runs import Asked, Running, file_lines, line

_running: dict[tuple[str, str], Running] = {}
"""Running operations, by the visitor's key and the number that the shell chose."""


async def whole(asked: Asked, done: int = 200) -> Response:
    """Return an operation's output, or the file that it wrote; a zip of several files."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[tuple[int, dict[str, bytes]]] = loop.create_future()
    printed: dict[str, bytearray] = {"output": bytearray(), "error": bytearray()}

    def ended(code: int, files: Mapping[str, Path]) -> None:
        # A backup goes into a given folder, and an exported project may be a folder.
        found = [one for path in files.values() for one in ([path] if path.is_file() else path.iterdir())]
        content = {str(one.relative_to(asked.folder.path)): one.read_bytes() for one in found}

        def tell() -> None:
            if not end.done():
                end.set_result((code, content))

        loop.call_soon_threadsafe(tell)

    running = Running(asked, lambda stream, content: printed[stream].extend(content), ended)
    try:
        code, files = await end
    except asyncio.CancelledError:
        running.stop()
        raise
    error = bytes(printed["error"]).decode(errors="replace")
    if code:
        return _failed(code, error, running)
    if files:
        content = next(iter(files.values())) if len(files) == 1 else zipped(files)
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(content, done, headers, "application/octet-stream")
    output = bytes(printed["output"])
    if not output:
        return JSONResponse({"message": error.strip()}, done)
    kind = "application/json" if output.lstrip()[:1] in (b"{", b"[") else "text/plain"
    return Response(output, done, {"X-Content-Type-Options": "nosniff"}, kind)


def _failed(code: int, printed: str, running: Running) -> Response:
    lines = [one for one in printed.splitlines() if one.strip()]
    status = 500 if running.broken else 400 if code == 2 else 409
    if (error := running.error) is None:
        kind = "unforeseen" if running.broken else "stopped"
        last = lines[-1].removeprefix("exam: ") if lines else "The command failed."
        told = {"code": kind, "message": last, "hint": ""}
    else:
        status = 403 if error.code in ("role-needed", "no-role") else status
        told = {"code": error.code, "message": error.message, "hint": error.hint}
    return JSONResponse({**told, "exit_code": code, "said": lines[:-1]}, status)


def streamed(asked: Asked, visitor: Visitor, number: str) -> Response:
    """Return lines of JSON with the output and files of an operation; the last line has its exit code.

    Args:
        number: chosen by the shell, to stop the operation with.
    """
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(content: bytes | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, content)

    def give(files: Mapping[str, Path], **then: object) -> None:
        for one in file_lines(files):
            put(one)
        put(line(**(then or {"place": True})))

    def ended(code: int, files: Mapping[str, Path]) -> None:
        give(files, exit=code)
        put(None)

    running = Running(
        asked,
        lambda stream, content: put(line(**{stream: base64.b64encode(content).decode()})),
        ended,
        # The project accepts no other change meanwhile, so only the owner's shell may do this.
        give if visitor.owner else None,
    )
    key = (visitor.key, number)
    _running[key] = running

    async def body() -> AsyncIterator[bytes]:
        over = False
        try:
            while (content := await lines.get()) is not None:
                yield content
            over = True
        finally:
            _running.pop(key, None)
            if not over:
                # The shell has disconnected.
                running.stop()

    return StreamingResponse(body(), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})


async def steer(request: Request, visitor: Visitor) -> Response:
    """Stop a running operation as Ctrl+C does (DELETE), or confirm that its files are in place (POST)."""
    running = _running.get((visitor.key, request.path_params["number"]))
    if running is None:
        raise InputError("unknown-command", "The command is not running.", "It may have ended already.")
    (running.placed if request.method == "POST" else running.stop)()
    return JSONResponse({})


def shell_of(request: Request) -> dict[str, str] | None:
    """Return the data about a shell in a request; None if the request is not from a shell.

    Raises:
        InputError: the header cannot be read.
    """
    told = request.headers.get("x-exam-shell")
    if told is None:
        return None
    try:
        found = json.loads(told)
        return {"number": secrets.token_hex(16)} | {str(name): value for name, value in found.items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError("no-command", "The header X-Exam-Shell cannot be read.", "Remove the header.") from error
