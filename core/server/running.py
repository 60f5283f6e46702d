"""Running a command of somebody in this process, against a project that is open here."""

from __future__ import annotations

import base64
import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..atomic_files import WorkingFolder
from ..cli import run
from ..cli.guests import Guest, hosting
from ..errors import ProjectError
from ..graders import OWNER, VISITOR, acting
from ..project import Project, recorded_as
from .output import Stream, told

PLACING_SECONDS = 30.0
"""Seconds that a shell has to put files in their places. Meanwhile no other change of the project is made."""
PIECE = 3 << 18
"""Bytes of a file that go into a line of the answer."""

_log = logging.getLogger(__name__)
_under_way: set[Running] = set()


def stop_commands() -> None:
    """End all commands that are under way, as Ctrl+C would: a server that ends waits for its answers."""
    for command in list(_under_way):
        command.stop("The server was stopped.")


@dataclass
class Asked:
    """A command that somebody sent.

    Args:
        words: after `exam`.
        project: as they have it.
        author: under whom they are recorded.
        owner: whether they are whoever the project's file belongs to, at a shell of this computer.
        terminal: whether they watch it on a terminal.
        background: whether a grading job goes on when the command has ended.
        folder: holds their files; deleted at the end.
        named: the value of --project by which a shell found the project; empty if no shell did.
        files: by the words that name each in the command.
    """

    words: Sequence[str]
    project: Project
    author: str
    owner: bool = False
    terminal: bool = False
    background: bool = False
    folder: WorkingFolder = field(default_factory=WorkingFolder)
    named: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)


class Running:
    """A command under way in a thread of its own.

    Args:
        say: is told what it prints, as it does.
        ended: is told its exit code, and the files that it wrote by the words that named them, which are gone after.
        give: is told such files before the command is recorded; `placed` has to follow. None if the caller cannot say.

    Attributes:
        broken: whether it failed by a fault of the program, which is in the log.
        guest: for whom it runs; has the code of the error that ended it.
    """

    def __init__(
        self,
        asked: Asked,
        say: Callable[[Stream, bytes], None],
        ended: Callable[[int, Mapping[str, Path]], None],
        give: Callable[[Mapping[str, Path]], None] | None = None,
    ) -> None:
        self._asked, self._say, self._ended, self._give = asked, say, ended, give
        self.broken = False
        self._placed, self._given = threading.Event(), set[str]()
        self.guest = Guest(
            asked.project, asked.author, asked.folder.path, asked.files, asked.background, named=asked.named,
            hand_over=self._hand_over,
        )  # fmt: skip
        _under_way.add(self)
        threading.Thread(target=self._run, name="command", daemon=True).start()

    def stop(self, by: str = "") -> None:
        """End it as Ctrl+C would, at its next step.

        Args:
            by: who wants that, as a sentence; empty where it is whoever gave the command.
        """
        # Whoever waits for the answer of a server that ends is gone a moment later: that is no other reason.
        self.guest.stopped_by = self.guest.stopped_by or by
        self.guest.stopping.set()
        self._placed.set()

    def placed(self) -> None:
        """Go on: the files that `give` was told are in their places."""
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
                f"The client did not confirm the written files within {PLACING_SECONDS:g} s. Nothing was recorded.",
                "Try again.",
            )
        self.guest.check_stopped()
        self._given |= files.keys()

    def _files(self) -> dict[str, Path]:
        return {name: path for name, path in self.guest.outputs.items() if name not in self._given and path.exists()}

    def _run(self) -> None:
        asked, code = self._asked, 1
        try:
            with (
                told(self._told, asked.terminal),
                hosting(self.guest),
                recorded_as(asked.author),
                acting(OWNER if asked.owner else VISITOR),
            ):
                code = self._code()
            self._ended(code, self._files())
        except Exception as error:
            self.broken = True
            _log.error("a command failed: %s", error, exc_info=error)
            self._ended(1, {})
        finally:
            _under_way.discard(self)
            asked.folder.close()

    def _code(self) -> int:
        try:
            return run(self._asked.words)
        except Exception as error:
            self.broken, number = True, secrets.token_hex(3).upper()
            _log.error("error %s: %s", number, error, exc_info=error)
            said = f"exam: Unexpected error. See error {number} in the log of the server.\n"
            self._told("error", said.encode())
            return 1

    def _told(self, stream: Stream, content: bytes) -> None:
        self.guest.check_stopped()
        self._say(stream, self._named(content))

    def _named(self, content: bytes) -> bytes:
        """What is printed, with the names of files as they were given in the place of where they are here."""
        if bytes(self._asked.folder.path) not in content:
            return content
        for name, path in {**self.guest.absent, **self.guest.files, **self.guest.outputs}.items():
            content = content.replace(bytes(path), str(Path(name)).encode())
        return content


def file_lines(files: Mapping[str, Path]) -> Iterator[bytes]:
    """The lines of an answer that hold files, and what lies in folders."""
    for name, path in files.items():
        if path.is_dir():
            yield line(folder=name)
            for inner in sorted(path.iterdir()):
                yield from _pieces(name, inner, within=inner.name)
        else:
            yield from _pieces(name, path)


def _pieces(name: str, path: Path, **further: str) -> Iterator[bytes]:
    with path.open("rb") as file:
        more = False
        while (piece := file.read(PIECE)) or not more:
            yield line(file=name, data=base64.b64encode(piece).decode(), more=more, **further)
            more = True


def line(**content: object) -> bytes:
    """A line of an answer."""
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
