"""Commands as a shell sends them through a project's door: run here, and told there what they say while they run."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ..errors import InputError
from ..project import current_author
from . import sent, words
from .guarding import Visitor
from .running import Asked, Running, file_lines, line

_running: dict[tuple[str, str], Running] = {}
"""Commands under way, by whose they are and the number that they gave."""


async def run(request: Request, visitor: Visitor) -> Response:
    """Run a command, and tell what it says while it runs: lines of JSON, the last of them its exit code."""
    asked, number, places = await _asked(request, visitor)
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

    command = Running(
        asked,
        lambda stream, content: put(line(**{stream: base64.b64encode(content).decode()})),
        ended,
        give if places else None,
    )
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


async def steer(request: Request, visitor: Visitor) -> Response:
    """End a command that is under way, as Ctrl+C would (DELETE), or say that its files are in their places (POST)."""
    command = _running.get((visitor.key, request.path_params["number"]))
    if command is None:
        raise InputError("unknown-command", "The command is not running.", "It may have ended already.")
    (command.placed if request.method == "POST" else command.stop)()
    return JSONResponse({})


async def _asked(request: Request, visitor: Visitor) -> tuple[Asked, str, bool]:
    """The command in a form: a field with its words, and the files that they name.

    Returns:
        The command, its number, and whether its caller says when files are in their places.
    """
    async with sent.form(request, fields=4) as form:
        try:
            content = json.loads(str(form["request"]))
            said = [str(word) for word in content["words"]]
            files = {str(name): form[str(part)] for name, part in content.get("files", {}).items()}
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                "no-command", "The request has no valid command.", "Send the form as shown in docs/server.md."
            ) from error
        await run_in_threadpool(visitor.require, words.named(said))
        asked = Asked(
            said,
            visitor.project,
            visitor.name or str(content.get("author") or current_author()),
            visitor.owner,
            bool(content.get("terminal")),
            named=str(content.get("project") or "") if visitor.owner else "",
        )
        number = str(content.get("number") or secrets.token_hex(16))
        # The project takes no other change meanwhile, so that this is for the owner's shell alone.
        return await sent.take_in(asked, files), number, visitor.owner and bool(content.get("places"))
