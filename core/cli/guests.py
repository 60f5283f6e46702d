"""A command that runs in the server of an open project: its project, its files, its author, and how it is stopped."""

from __future__ import annotations

import gzip
import io
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from ..atomic_files import written
from ..errors import InputError
from ..project import ACTS, ActName, Project

LONGEST_NAME = 50
"""Characters of a file's name, of which each takes 4 bytes at most and a name 255."""


@dataclass
class Guest:
    """Somebody whose command this thread runs.

    Args:
        project: the open project, as they have it.
        author: under whom it is recorded what they do.
        folder: a new one for their files; nothing outside it is read or written for them.
        files: what they sent: by the words with which the command names each, where it is now.
        background: whether a grading job goes on when the command has ended.
        stopping: set where the command is to end.
        stopped_by: who wants that, as a sentence; empty where it is themselves, as by Ctrl+C.
        named: the value of --project by which a shell found this project; empty if no shell did.
        failure: the code of the error that ended the command; empty if no `WorkbenchError` did.
    """

    project: Project
    author: str
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    background: bool = False
    stopping: threading.Event = field(default_factory=threading.Event)
    stopped_by: str = ""
    named: str = ""
    failure: str = ""
    hand_over: Callable[[], None] = lambda: None
    """Waits until the files that the command has written are in their places, if its caller says so."""
    outputs: dict[str, Path] = field(default_factory=dict)
    """What the command may write: by the words that name each."""
    absent: dict[str, Path] = field(default_factory=dict)
    """What it asks for and was not sent, likewise: nothing is there."""

    def check_stopped(self) -> None:
        """End the command here, once, where it is to end.

        Raises:
            KeyboardInterrupt: as Ctrl+C would in a process of its own; it says who stopped the command, where that is
                somebody else.
        """
        if self.stopping.is_set():
            self.stopping.clear()
            raise KeyboardInterrupt(self.stopped_by)

    def place(self, name: str, written: bool) -> Path:
        """Where a file lies that the command names; somewhere empty where it was not sent."""
        if not written and name in self.files:
            return self.files[name]
        known, kind = (self.outputs, "written") if written else (self.absent, "absent")
        if name not in known:
            folder = self.folder / f"{kind}-{len(known)}"
            folder.mkdir()
            # Its end says what kind of file it is. No system takes names of any length, and the engine not every sign.
            plain = re.sub(r"[^\w. -]", "-", Path(name).name)[-LONGEST_NAME:]
            known[name] = folder / (plain if plain not in ("", "..") else "file")
        return known[name]


_guest: ContextVar[Guest | None] = ContextVar("guest", default=None)


def act_of(command: str) -> ActName:
    """The act that a command comes to in the table of roles.

    Args:
        command: its words after `exam`; what is in none of the table's rows organizes.
    """
    for act, rule in ACTS.items():
        if any(fnmatchcase(command, pattern) for pattern in rule.commands):
            return act
    return "organize"


def guest() -> Guest | None:
    """Whose command this thread runs in a server; None in a process of its own."""
    return _guest.get()


@contextmanager
def hosting(one: Guest) -> Iterator[None]:
    """Let this thread run a command of somebody until the block ends."""
    token = _guest.set(one)
    try:
        yield
    finally:
        _guest.reset(token)


def pause(seconds: float) -> None:
    """Wait; the command of a guest ends meanwhile where it is to end.

    Raises:
        KeyboardInterrupt: as `Guest.check_stopped`.
    """
    if (host := guest()) is None:
        time.sleep(seconds)
    else:
        host.stopping.wait(seconds)
        host.check_stopped()


def close_unfinished(project: Project) -> None:
    """Mark jobs whose process died; in a server, which did so when it opened the project, others are under way."""
    if guest() is None:
        # What only reads need not wait for all that grades.
        from ..project import close_interrupted

        close_interrupted(project)


GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""


def deliver(files: Mapping[str, bytes]) -> None:
    """Write files, all or none, and wait until they are in their places, also at a shell that asked a server.

    Args:
        files: contents by path. `-` is standard output, which is written at the end of the command. What a path that
            ends with .gz gets is compressed.

    Raises:
        InputError, ProjectError, KeyboardInterrupt: they are not in place. Nothing may be recorded of them.
    """
    with ExitStack() as places:
        for name, content in files.items():
            if name != "-":
                compressed = name.endswith(".gz") and not content.startswith(GZIP)
                # Without the time, so that the same content gives the same bytes.
                made = gzip.compress(content, mtime=0) if compressed else content
                places.enter_context(written(Path(name))).write_bytes(made)
    if (host := guest()) is not None:
        host.hand_over()


NAMED = "exam.files"
"""Where a command's context keeps the names of its files: by name whether it is written."""


class File(click.Path):
    """A file that a command names. A server reads what it was sent in its place, and nothing else.

    Args:
        written: whether the command writes it; `-` is standard output then.
        further: of `click.Path`. With `allow_dash` the name `-` means standard input, which `text_of` reads.
        perhaps: whether the words may also mean something else than a file.
    """

    def __init__(self, written: bool = False, perhaps: bool = False, **further: Any) -> None:
        super().__init__(**further)
        self.written = written
        self.perhaps = perhaps

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, in a server that of the file which was sent, or of where it is to be written.

        Raises:
            click.BadParameter: it is not there, and has to be.
        """
        name = str(value)
        if ctx is not None and (name != "-" or self.allow_dash):
            ctx.find_root().meta.setdefault(NAMED, {})[name] = self.written
        if (host := guest()) is not None and not (self.written and name == "-"):
            if self.perhaps and name not in host.files:
                return name
            value = host.place(name, self.written)
            value = value if self.type is not None else str(value)
        return super().convert(value, param, ctx)


def text_of(file: Path) -> str:
    """The text of a small file that a command names, or of standard input.

    Raises:
        InputError: it cannot be read, or is not in UTF-8.
    """
    # Most commands read no such file.
    from ..formats import read_small_text

    try:
        if guest() is None and file == Path("-"):
            return io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()), encoding="utf-8").read()
        return read_small_text(file)
    except UnicodeDecodeError as error:
        raise InputError("not-utf8", f"{file} is not valid UTF-8.", "Save it as UTF-8.") from error


def sent_file(name: str) -> Path | None:
    """The file that words mean which may mean something else; None where there is none, or a server was sent none."""
    if (host := guest()) is not None and Path(name) not in host.files.values():
        return None
    path = Path(name)
    return path if path.is_file() else None
