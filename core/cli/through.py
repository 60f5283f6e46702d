"""A command whose project a server has open: it is sent there, and what it prints there is printed here."""

from __future__ import annotations

import base64
import http.client
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO
from urllib.parse import urlsplit

import click

from ..atomic_files import make_folder, written
from ..errors import InputError, ProjectError, WorkbenchError
from ..project import Door, current_author, find_door, no_room

HEALTH_SECONDS = 20.0
"""Seconds that a server has to say that it is there."""
PIECE = 1 << 20
"""Bytes of a file that are sent at a time."""


class Elsewhere(BaseException):
    """That a command has to go on in a server; no error, so nothing in the command takes it for one."""

    def __init__(self, door: Door, files: Mapping[str, bool], project: str) -> None:
        super().__init__()
        self.door, self.files, self.project = door, files, project


class _Unread(Exception):
    """That whoever reads what is printed has enough, as `head` has; the same command without a server ends there."""


def answering(path: Path) -> Door | None:
    """The door of a project behind which its server answers; None where the project is to be opened here."""
    door = find_door(path)
    if door is None or door.process == os.getpid():
        return None
    connection = _connect(door, HEALTH_SECONDS)
    try:
        connection.request("GET", _path(door, "door"), headers=_who(door))
        return door if connection.getresponse().status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def go_through(door: Door, words: Sequence[str], named: Mapping[str, bool], project: str) -> int:
    """Run a command in the server behind a door.

    Args:
        words: of the command, after `exam`.
        named: the files that it names, and whether it writes each.
        project: the path by which it names the project.

    Returns:
        Its exit code.

    Raises:
        InputError: a file cannot be read or written here.
        ProjectError: the server went away; what it had saved is saved.
    """
    number = secrets.token_hex(16)
    read = {f"file{at}": name for at, name in enumerate(n for n, written in named.items() if not written)}
    here = {part: name for part, name in read.items() if name == "-" or Path(name).is_file()}
    asked = {
        "words": list(words),
        "author": os.environ.get("EXAM_AUTHOR") or current_author(),
        "number": number,
        "project": project,
        "places": True,
        "terminal": sys.stderr.isatty(),
        "files": {name: part for part, name in here.items()},
    }
    connection = _connect(door, None)
    try:
        return _converse(connection, door, asked, here, number)
    except (OSError, http.client.HTTPException) as error:
        raise no_room("the output", error) or _gone(error) from error
    finally:
        connection.close()


def _gone(error: Exception) -> ProjectError:
    return ProjectError(
        "server-gone",
        f"Lost the connection to the server that has the project open ({type(error).__name__}).",
        "Check which results were saved, then try again.",
    )


def _converse(
    connection: http.client.HTTPConnection, door: Door, asked: Mapping[str, Any], files: Mapping[str, str], number: str
) -> int:
    boundary = secrets.token_hex(16)
    with ExitStack() as reading:
        head, opened, length = _parts(asked, files, boundary, reading)
        connection.putrequest("POST", _path(door, "run"))
        for name, value in {
            **_who(door),
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(length),
        }.items():
            connection.putheader(name, value)
        connection.endheaders()
        for start, file in zip(head, [*opened, None], strict=True):
            connection.send(start)
            while file is not None and (piece := file.read(PIECE)):
                connection.send(piece)
    with _keyboard(door, number):
        try:
            return _print(_lines(connection.getresponse()), lambda: _steer("POST", door, number))
        except (_Unread, WorkbenchError) as error:
            _steer("DELETE", door, number)
            if isinstance(error, WorkbenchError):
                raise
            return 1


def _parts(
    asked: Mapping[str, Any], files: Mapping[str, str], boundary: str, reading: ExitStack
) -> tuple[list[bytes], list[IO[bytes]], int]:
    """What goes before each file, and at the end; the files; and how many bytes that is in all (RFC 7578)."""
    begin = f"--{boundary}\r\nContent-Disposition: form-data; name="
    before = f'{begin}"request"\r\n\r\n{json.dumps(asked)}\r\n'
    heads, opened, length = [], list[IO[bytes]](), 0
    for part, name in files.items():
        try:
            opened.append(reading.enter_context(_opened(name)))
        except OSError as error:
            raise InputError("cannot-read-file", f"Cannot read {name} ({error.strerror}).") from error
        heads.append(f'{before}{begin}"{part}"; filename="{part}"\r\n\r\n'.encode())
        length += os.fstat(opened[-1].fileno()).st_size
        before = "\r\n"
    heads.append(f"{before}--{boundary}--\r\n".encode())
    return heads, opened, length + sum(map(len, heads))


def _opened(name: str) -> IO[bytes]:
    if name != "-":
        return Path(name).open("rb")
    # A request states its length, so that standard input is read to its end first.
    spooled = tempfile.TemporaryFile()  # noqa: SIM115
    shutil.copyfileobj(sys.stdin.buffer, spooled)
    spooled.seek(0)
    return spooled


@contextmanager
def _keyboard(door: Door, number: str) -> Iterator[None]:
    """Let Ctrl+C stop the command in the server, whose last words are still waited for; a second one, this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        for name in before:
            signal.signal(name, signal.default_int_handler)
        threading.Thread(target=_steer, args=("DELETE", door, number), daemon=True).start()

    before = {name: signal.signal(name, stop) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _steer(method: str, door: Door, number: str) -> None:
    """Stop the command in the server (DELETE), or say there that its files are in their places here (POST)."""
    connection = _connect(door, HEALTH_SECONDS)
    with suppress(OSError, http.client.HTTPException):
        connection.request(method, _path(door, f"run/{number}"), headers=_who(door))
        connection.getresponse()
    connection.close()


def _lines(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """What the server says, as it says it."""
    if answer.status != 200:
        said = json.loads(answer.read() or b"{}")
        raise ProjectError(
            str(said.get("code") or "server-refused"),
            str(said.get("message") or "The server refused the request."),
            str(said.get("hint") or ""),
        )
    try:
        while line := answer.readline():
            yield json.loads(line)
    except OSError as error:
        # Not to be taken for an error of a file that is being written.
        raise _gone(error) from error
    raise http.client.IncompleteRead(b"")


def _print(said: Iterator[dict[str, Any]], placed: Callable[[], None]) -> int:
    # Files come in pieces. They are put in their places together, once all are there.
    with ExitStack() as files:
        made: dict[Path, Path] = {}
        for one in said:
            if "folder" in one:
                make_folder(Path(one["folder"]))
            if "exit" in one:
                return int(one["exit"])
            if "place" in one:
                files.close()
                made.clear()
                placed()
            elif "file" in one:
                path = Path(one["file"], one.get("within", ""))
                if path not in made:
                    made[path] = files.enter_context(written(path))
                with made[path].open("ab") as file:
                    file.write(base64.b64decode(one["data"]))
            else:
                for name, stream in (("output", sys.stdout), ("error", sys.stderr)):
                    if name in one:
                        _say(stream, base64.b64decode(one[name]))
    return 1


def _say(stream: TextIO, words: bytes) -> None:
    try:
        stream.flush()
        stream.buffer.write(words)
        stream.buffer.flush()
    except BrokenPipeError as error:
        # What is left in the stream is written once more at the end of the process, which would complain.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        raise _Unread from error


def _connect(door: Door, seconds: float | None) -> http.client.HTTPConnection:
    place = urlsplit(door.address)
    return http.client.HTTPConnection(place.hostname or "127.0.0.1", place.port, timeout=seconds)


def _path(door: Door, what: str) -> str:
    return f"{urlsplit(door.address).path}/api/v1/{what}"


def _who(door: Door) -> dict[str, str]:
    return {"Authorization": f"Bearer {door.token}"}
