"""Run operations for requests, on projects that are open in this server, and return their answers:
complete at the end, or as lines while they run, as the shell needs them."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ..atomic_files import WorkingFolder
from ..errors import InputError, ProjectError, WorkbenchError
from ..exchange import zip_bytes
from ..graders import OWNER, VISITOR, use_access
from ..operations.console import (
    ServedRequest,
    Stream,
    as_workbench_error,
    host_guest,
    print_failure,
    print_result,
)
from ..operations.opening import Opening
from ..operations.registry import Operation
from ..store import Project, recorded_as
from ._access_control import Visitor

PLACING_SECONDS = 30.0
"""Seconds that a shell has to put files in their places. Meanwhile no other change of the project
is made.
"""
PIECE = 3 << 18
"""Bytes of a file that go into a line of the answer."""

_log = logging.getLogger(__name__)
_under_way: set[RunningOperation] = set()


def stop_commands() -> None:
    """Stop all running operations as Ctrl+C does. A server that ends waits for its answers."""
    for command in list(_under_way):
        command.stop("The server was stopped.")


@dataclass
class OperationRequest:
    """A request for an operation.

    Args:
        given: the values of the request.
        project: the open project, with the rights of the person.
        author: name under which the person's actions are recorded.
        as_json: whether the result is returned as JSON if it has that form.
        owner: whether the owner of the project's file asks, at a shell of this computer.
        terminal: whether the person sees the output on a terminal.
        background: whether a grading job continues after the operation has ended.
        named: the path by which the shell names the project.
        folder: a folder for the files of the request; deleted at the end.
        files: files that were sent, by their names in the request.
    """

    operation: Operation
    given: Mapping[str, Any]
    project: Project
    author: str
    as_json: bool = True
    owner: bool = False
    terminal: bool = False
    background: bool = False
    named: str = ""
    folder: WorkingFolder = field(default_factory=WorkingFolder)
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(eq=False)
class RunningOperation:
    """An operation that runs in a thread of its own.

    Args:
        _say: receives the printed output.
        _ended: receives the exit code and the written files, which are deleted afterwards.
        _give: receives written files before they are recorded; a call of `confirm_files` has to
            follow. None without a shell.

    Attributes:
        broken: whether it failed by a fault of the program. The log has the fault.
        error: the error that ended it; None if it succeeded or was stopped.
    """

    _asked: OperationRequest
    _say: Callable[[Stream, bytes], None]
    _ended: Callable[[int, Mapping[str, Path]], None]
    _give: Callable[[Mapping[str, Path]], None] | None = None
    broken: bool = field(default=False, init=False)
    error: WorkbenchError | None = field(default=None, init=False)
    _placed: threading.Event = field(default_factory=threading.Event, init=False)
    _given: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        request = self._asked
        self.guest = ServedRequest(
            request.project,
            request.author,
            request.folder.path,
            request.files,
            request.background,
            say=self._pass_output,
            terminal=request.terminal,
            hand_over=self._hand_over,
        )
        _under_way.add(self)
        threading.Thread(target=self._run, name="command", daemon=True).start()

    def stop(self, by: str = "") -> None:
        """Stop it at its next step, as Ctrl+C does.

        Args:
            by: the cause as a sentence; empty if the person stopped it.
        """
        # A client disconnects a moment after its server ends. Keep the first cause.
        self.guest.stopped_by = self.guest.stopped_by or by
        self.guest.stopping.set()
        self._placed.set()

    def confirm_files(self) -> None:
        """Continue: the files that `give` received are in their places."""
        self._placed.set()

    def _hand_over(self) -> None:
        if self._give is None:
            return
        self._placed.clear()
        self.guest.check_stopped()
        self._give(files := self._files())
        if not self._placed.wait(PLACING_SECONDS):
            raise ProjectError(
                "files-not-placed",
                f"The client did not confirm the written files within {PLACING_SECONDS:g} s."
                " Nothing was recorded.",
                "Try again.",
            )
        self.guest.check_stopped()
        self._given |= files.keys()

    def _files(self) -> dict[str, Path]:
        return {
            name: path
            for name, path in self.guest.outputs.items()
            if name not in self._given and path.exists()
        }

    def _run(self) -> None:
        request, code = self._asked, 1
        try:
            with (
                host_guest(self.guest),
                recorded_as(request.author),
                use_access(OWNER if request.owner else VISITOR),
            ):
                code = self._code()
            self._ended(code, self._files())
        except KeyboardInterrupt:
            # A second stop arrived while the message about the first one was printed.
            self._ended(1, {})
        except Exception as error:
            self.broken = True
            _log.error("a command failed: %s", error, exc_info=error)
            self._ended(1, {})
        finally:
            _under_way.discard(self)
            request.folder.close()

    def _code(self) -> int:
        request, operation = self._asked, self._asked.operation
        as_text = any(request.given.get(name) for name in operation.not_json)
        try:
            result = operation.call(
                request.given, Opening(Path(request.named) if request.named else None)
            )
            print_result(result, request.as_json and operation.has_json and not as_text)
        except (Exception, KeyboardInterrupt) as error:
            self.error = as_workbench_error(error)
            if self.error is not None or isinstance(error, KeyboardInterrupt):
                return print_failure(error)
            self.broken, number = True, secrets.token_hex(3).upper()
            _log.error("error %s: %s", number, error, exc_info=error)
            said = f"exam: Unexpected error. See error {number} in the log of the server.\n"
            self._pass_output("error", said.encode())
            return 1
        return 0

    def _pass_output(self, stream: Stream, content: bytes) -> None:
        """Pass output on, with the names of files as the client gave them instead of paths on this
        server.
        """
        guest = self.guest
        if bytes(self._asked.folder.path) in content:
            for name, path in {**guest.absent, **guest.files, **guest.outputs}.items():
                content = content.replace(bytes(path), str(Path(name)).encode())
        self._say(stream, content)


def file_lines(files: Mapping[str, Path]) -> Iterator[bytes]:
    """Yield the lines of an answer with files, and with the files of folders."""
    for name, path in files.items():
        if path.is_dir():
            yield answer_line(folder=name)
            for inner in sorted(path.iterdir()):
                yield from _file_pieces(name, inner, within=inner.name)
        else:
            yield from _file_pieces(name, path)


def _file_pieces(name: str, path: Path, **further: str) -> Iterator[bytes]:
    with path.open("rb") as file:
        more = False
        while (piece := file.read(PIECE)) or not more:
            yield answer_line(
                file=name, data=base64.b64encode(piece).decode(), more=more, **further
            )
            more = True


def answer_line(**content: object) -> bytes:
    """Return a line of an answer."""
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"


_running: dict[tuple[str, str], RunningOperation] = {}
"""Running operations, by the visitor's key and the number that the shell chose."""


async def answer_whole(asked: OperationRequest, done: int = 200) -> Response:
    """Return an operation's output, or the file that it wrote; a zip of several files."""
    end: Future[tuple[int, dict[str, bytes]]] = Future()
    printed: dict[str, bytearray] = {"output": bytearray(), "error": bytearray()}

    def finish(code: int, files: Mapping[str, Path]) -> None:
        # A backup goes into a given folder, and an exported project may be a folder.
        paths = [
            file
            for path in files.values()
            for file in ([path] if path.is_file() else path.iterdir())
        ]
        content = {str(file.relative_to(asked.folder.path)): file.read_bytes() for file in paths}
        # Nothing waits for the answer if the client has disconnected.
        with suppress(InvalidStateError):
            end.set_result((code, content))

    running = RunningOperation(
        asked, lambda stream, content: printed[stream].extend(content), finish
    )
    try:
        code, files = await asyncio.wrap_future(end)
    except asyncio.CancelledError:
        running.stop()
        raise
    error = bytes(printed["error"]).decode(errors="replace")
    if code:
        return _failed_response(code, error, running)
    if files:
        content = next(iter(files.values())) if len(files) == 1 else zip_bytes(files)
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(content, done, headers, "application/octet-stream")
    output = bytes(printed["output"])
    if not output:
        return JSONResponse({"message": error.strip()}, done)
    kind = "application/json" if output.lstrip()[:1] in (b"{", b"[") else "text/plain"
    return Response(output, done, {"X-Content-Type-Options": "nosniff"}, kind)


def _failed_response(code: int, printed: str, running: RunningOperation) -> Response:
    lines = [line for line in printed.splitlines() if line.strip()]
    status = 500 if running.broken else 400 if code == 2 else 409
    if (error := running.error) is None:
        kind = "unforeseen" if running.broken else "stopped"
        last = lines[-1].removeprefix("exam: ") if lines else "The command failed."
        details = {"code": kind, "message": last, "hint": ""}
    else:
        status = 403 if error.code in ("role-needed", "no-role") else status
        details = {"code": error.code, "message": error.message, "hint": error.hint}
    return JSONResponse({**details, "exit_code": code, "said": lines[:-1]}, status)


def answer_streamed(request: OperationRequest, visitor: Visitor, number: str) -> Response:
    """Return lines of JSON with the output and files of an operation; the last line has its exit
    code.

    Args:
        number: chosen by the shell, to stop the operation with.
    """
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def queue_line(content: bytes | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, content)

    def send_files(files: Mapping[str, Path], **then: object) -> None:
        for piece in file_lines(files):
            queue_line(piece)
        queue_line(answer_line(**(then or {"place": True})))

    def finish(code: int, files: Mapping[str, Path]) -> None:
        send_files(files, exit=code)
        queue_line(None)

    running = RunningOperation(
        request,
        lambda stream, content: queue_line(
            answer_line(**{stream: base64.b64encode(content).decode()})
        ),
        finish,
        # The project accepts no other change meanwhile, so only the owner's shell may do this.
        send_files if visitor.owner else None,
    )
    key = (visitor.key, number)
    _running[key] = running

    async def yield_lines() -> AsyncIterator[bytes]:
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

    return StreamingResponse(
        yield_lines(), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"}
    )


async def steer_run(request: Request, visitor: Visitor) -> Response:
    """Stop a running operation as Ctrl+C does (DELETE), or confirm that its files are in place
    (POST).
    """
    running = _running.get((visitor.key, request.path_params["number"]))
    if running is None:
        raise InputError(
            "unknown-command", "The command is not running.", "It may have ended already."
        )
    (running.confirm_files if request.method == "POST" else running.stop)()
    return JSONResponse({})


def shell_of(request: Request) -> dict[str, str] | None:
    """Return the data about a shell in a request; None if the request is not from a shell.

    Raises:
        InputError: the header cannot be read.
    """
    header = request.headers.get("x-exam-shell")
    if header is None:
        return None
    try:
        values = json.loads(header)
        return {"number": secrets.token_hex(16)} | {
            str(name): value for name, value in values.items()
        }
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            "no-command", "The header X-Exam-Shell cannot be read.", "Remove the header."
        ) from error
