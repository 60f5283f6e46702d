"""What a command prints in the server: each thread's words go to whoever asked, and to the server's own log else."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from ..text import with_escapes

Stream = Literal["output", "error"]
Say = Callable[[Stream, bytes], None]

_listener: ContextVar[tuple[Say, bool] | None] = ContextVar("listener", default=None)
_installing = threading.Lock()


class _Bytes(io.RawIOBase):
    def __init__(self, text: _Parted) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._text.say(bytes(content))
        return len(content)


class _Parted(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr in a process that runs commands of several people at once."""

    def __init__(self, own: Any, stream: Stream) -> None:
        self._own, self._stream = own, stream
        self._bytes = _Bytes(self)

    @property
    def buffer(self) -> Any:
        return self._own.buffer if _listener.get() is None else self._bytes

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "strict"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        listener = _listener.get()
        return bool(self._own.isatty()) if listener is None else listener[1]

    def fileno(self) -> int:
        return int(self._own.fileno())

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here; bytes go to its buffer")
        if _listener.get() is None:
            return int(self._own.write(text))
        shown = with_escapes(text) if self.isatty() else text
        self.say(shown.encode(errors="backslashreplace"))
        return len(text)

    def say(self, content: bytes) -> None:
        if (listener := _listener.get()) is not None:
            listener[0](self._stream, content)

    def flush(self) -> None:
        if _listener.get() is None:
            self._own.flush()


def _install() -> None:
    with _installing:
        if not isinstance(sys.stdout, _Parted):
            sys.stdout = _Parted(sys.stdout, "output")
        if not isinstance(sys.stderr, _Parted):
            # Without a handler, what is logged goes to sys.stderr: it is for the owner of the server alone.
            logging.lastResort = logging.StreamHandler(sys.stderr)
            logging.lastResort.setLevel(logging.WARNING)
            sys.stderr = _Parted(sys.stderr, "error")


@contextmanager
def told(say: Say, terminal: bool) -> Iterator[None]:
    """Let what this thread prints go to a function until the block ends.

    Args:
        terminal: whether the one who asked watches it on a terminal.
    """
    _install()
    token = _listener.set((say, terminal))
    try:
        yield
    finally:
        _listener.reset(token)
