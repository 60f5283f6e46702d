"""Operations on a project that a server has open: the request is sent there, and its result is
printed here.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TextIO

import click

from ..atomic_files import make_folder, replace_file
from ..errors import InputError, ProjectError, WorkbenchError
from ..operations.describing import DATE
from ..operations.opening import HEALTH_SECONDS, authorization_header
from ..store import Door, current_author, no_room
from .table import Description

LONGEST_ADDRESS = 4000
"""Maximum number of characters of values in an address; proxies truncate long addresses."""

Lines = queue.SimpleQueue[dict[str, Any] | Exception]


class _ReaderEnded(Exception):
    """The reader of the output, for example `head`, has ended. The command ends too, as without a
    server.
    """


def ask_server(
    door: Door, operation: Description, given_values: Mapping[str, Any], as_json: bool, project: str
) -> int:
    """Run an operation in the server that has the project open.

    Args:
        given_values: the values of the request.
        project: the path by which the shell names the project.

    Returns:
        Its exit code.

    Raises:
        InputError: a file cannot be read or written here.
        ProjectError: the connection was lost; saved results stay saved.
    """
    # Imported here, because it loads slowly and most commands ask no server.
    import httpx2

    number = secrets.token_hex(16)
    shell = {
        "author": given_values["author"]
        if "author" in given_values
        else os.environ.get("EXAM_AUTHOR") or current_author(),
        "number": number,
        "project": project,
        "terminal": sys.stderr.isatty(),
        "json": as_json,
    }
    with (
        ExitStack() as opened,
        httpx2.Client(base_url=f"{door.address}/api/v1/", timeout=None, trust_env=False) as client,
    ):
        client.headers = {**authorization_header(door), "X-Exam-Shell": json.dumps(shell)}
        values, files = _request_parts(operation, given_values, opened)
        lines: Lines = queue.SimpleQueue()

        # An operation that only reads is sent as GET.
        reads = (
            operation.reads
            and not files
            and sum(len(value) for _, value in values) < LONGEST_ADDRESS
        )
        # Servers escape file names in a form in different ways, so the real names are sent as a
        # value.
        names = {str(at): name for at, (_, name, _) in enumerate(files)}
        parts: list[Any] = [
            ("", (None, json.dumps(names))),
            *((name, (None, value)) for name, value in values),
            *((parameter, (str(at), file)) for at, (parameter, _, file) in enumerate(files)),
        ]
        request: dict[str, Any] = (
            {"method": "GET", "params": values} if reads else {"method": "POST", "files": parts}
        )

        def send_request() -> None:
            try:
                with client.stream(url=operation.name.replace(" ", "/"), **request) as answer:
                    if answer.status_code != 200:
                        raise _refusal_error(answer.read())
                    for line in answer.iter_lines():
                        lines.put(json.loads(line))
                lines.put(_connection_lost("the answer ended early"))
            except (httpx2.HTTPError, OSError) as error:
                lines.put(no_room("the output", error) or _connection_lost(type(error).__name__))
            except WorkbenchError as error:
                lines.put(error)

        def steer_run(method: str) -> None:
            with suppress(httpx2.HTTPError):
                client.request(method, f"run/{number}", timeout=HEALTH_SECONDS)

        asking = threading.Thread(target=send_request, daemon=True)
        asking.start()
        code = _follow_output(lines, steer_run)
        asking.join(HEALTH_SECONDS)
        return code


def _request_parts(
    operation: Description, given_values: Mapping[str, Any], opened: ExitStack
) -> tuple[list[Any], list[Any]]:
    """Return the values of a request as texts, and the files that it names."""
    values: list[tuple[str, str]] = []
    files: list[tuple[str, str, IO[bytes]]] = []
    for parameter in operation.parameters:
        # The author is part of the header about the shell.
        value = None if parameter.name == "author" else given_values.get(parameter.name)
        for each in value if isinstance(value, tuple | list) else [] if value is None else [value]:
            name = str(each)
            if parameter.option.file in ("read", "read if sent") and (
                Path(name).is_file() or (parameter.option.stdin and name == "-")
            ):
                files.append((parameter.name, name, _open_sent_file(name, opened)))
            else:
                values.append(
                    (parameter.name, each.strftime(DATE) if isinstance(each, datetime) else name)
                )
    return values, files


def _open_sent_file(name: str, opened: ExitStack) -> IO[bytes]:
    if name == "-":
        # A request states its length, so standard input is read to its end first.
        spooled = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.seek(0)
        return spooled
    try:
        return opened.enter_context(Path(name).open("rb"))
    except OSError as error:
        raise InputError("cannot-read-file", f"Cannot read {name} ({error.strerror}).") from error


def _refusal_error(answer: bytes) -> ProjectError:
    reply = json.loads(answer or b"{}")
    return ProjectError(
        str(reply.get("code") or "server-refused"),
        str(reply.get("message") or "The server refused the request."),
        str(reply.get("hint") or ""),
    )


def _connection_lost(reason: str) -> ProjectError:
    return ProjectError(
        "server-gone",
        f"Lost the connection to the server that has the project open ({reason}).",
        "Check which results were saved, then try again.",
    )


def _follow_output(lines: Lines, steer: Any) -> int:
    """Print the server's output until its last line. Ctrl+C stops the operation; a second one stops
    this process.
    """
    stopping = False
    # Files arrive in pieces. They are moved to their places together, once all are complete.
    with ExitStack() as files:
        written_files: dict[Path, Path] = {}
        while True:
            try:
                line = lines.get()
                if isinstance(line, Exception):
                    raise line
                if "exit" in line:
                    return int(line["exit"])
                if "place" in line:
                    files.close()
                    written_files.clear()
                    steer("POST")
                else:
                    _take_line(line, files, written_files)
            except KeyboardInterrupt:
                if stopping:
                    raise click.Abort from None
                stopping = True
                threading.Thread(target=steer, args=("DELETE",), daemon=True).start()
            except _ReaderEnded:
                steer("DELETE")
                return 1
            except WorkbenchError:
                steer("DELETE")
                raise


def _take_line(line: Mapping[str, Any], files: ExitStack, written_files: dict[Path, Path]) -> None:
    """Print a text, or write a piece of a file."""
    if "folder" in line:
        make_folder(Path(line["folder"]))
    elif "file" in line:
        path = Path(line["file"], line.get("within", ""))
        if path not in written_files:
            written_files[path] = files.enter_context(replace_file(path))
        with written_files[path].open("ab") as file:
            file.write(base64.b64decode(line["data"]))
    for name, stream in (("output", sys.stdout), ("error", sys.stderr)):
        if name in line:
            _print_content(stream, base64.b64decode(line[name]))


def _print_content(stream: TextIO, content: bytes) -> None:
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.buffer.flush()
    except BrokenPipeError as error:
        # Python flushes the stream again at the end of the process, which would print an error.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        raise _ReaderEnded from error
