"""Storage of downloads: files are kept until a browser can fetch them, and never replaced by
similar ones.
"""

import functools
import hashlib
import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock
from typing import Any

from pages.parts.shared import login, streamlit_bridge
from pages.parts.shared.streamlit_bridge import (
    MediaFileKind,
    MediaFileManager,
    MemoryFile,
    MemoryMediaFileStorage,
)

SECONDS = 120.0
"""Seconds for which a file is kept after no screen shows it."""
MOST = 64 << 20
"""Largest total bytes of such files; a single larger one is kept until the next one arrives."""


_KEY = secrets.token_bytes(32)
_drawn_for: ContextVar[str | None] = ContextVar(
    "whose screen offers the file that is made", default=None
)


def mark_of(person: str | None) -> str:
    """Return the prefix of the ids of a person's files; it does not reveal the person."""
    return hashlib.blake2b(str(person).encode(), key=_KEY, digest_size=16).hexdigest()


class LastingFiles(MemoryMediaFileStorage):
    """Streamlit's storage of files, with downloads kept for a while.

    Streamlit drops a file that a click made as soon as any two runs of the app have ended, of any
    person. With twenty people at work, that is before a remote browser has asked for it. Streamlit
    also treats two large files as one if their length, beginning, middle and end are equal. Then a
    download of qrels could have an outdated label. Here the id of a file depends on all of its
    content, and on its person.

    Args:
        media_endpoint: path under which files are served.
        clock: returns monotonic seconds.
    """

    def __init__(self, media_endpoint: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(media_endpoint)
        self._clock = clock
        self._lock = Lock()
        self._let_go: dict[str, float] = {}

    def load_and_get_id(
        self,
        path_or_data: str | bytes,
        mimetype: str,
        kind: MediaFileKind,
        filename: str | None = None,
    ) -> str:
        """Store a file and return its id."""
        if kind is not MediaFileKind.DOWNLOADABLE or isinstance(path_or_data, str):
            return super().load_and_get_id(path_or_data, mimetype, kind, filename)
        told = hashlib.blake2b(f"{mimetype}\n{filename}\n".encode(), digest_size=28)
        told.update(path_or_data)
        file_id = mark_of(_drawn_for.get() or login.current_identity()) + told.hexdigest()
        with self._lock:
            self._let_go.pop(file_id, None)
            self._files_by_id[file_id] = MemoryFile(path_or_data, mimetype, kind, filename)
        return file_id

    def delete_file(self, file_id: str) -> None:
        """Release a file; a download is kept for a while."""
        with self._lock:
            file = self._files_by_id.get(file_id)
            if file is not None and file.kind is MediaFileKind.DOWNLOADABLE:
                self._let_go[file_id] = self._clock()
            else:
                super().delete_file(file_id)
            self._sweep()

    def _sweep(self) -> None:
        """Delete expired files, and the oldest ones if the total is too large."""
        kept_size = sum(self._files_by_id[file_id].content_size for file_id in self._let_go)
        for file_id, since in list(self._let_go.items()):
            over = kept_size > MOST and len(self._let_go) > 1
            if over or self._clock() - since > SECONDS:
                kept_size -= self._files_by_id[file_id].content_size
                del self._let_go[file_id]
                super().delete_file(file_id)


def install() -> None:
    """Make the next app use this storage."""
    streamlit_bridge.store_media_in(LastingFiles)
    add = MediaFileManager.add_deferred

    def add_deferred(
        manager: MediaFileManager, data_callable: Callable[[], Any], *given: Any, **further: Any
    ) -> str:
        return add(
            manager,
            functools.partial(_make_for, login.current_identity(), data_callable),
            *given,
            **further,
        )

    MediaFileManager.add_deferred = add_deferred


def _make_for(person: str | None, make: Callable[[], Any]) -> Any:
    """Make a file at the press of its button. Streamlit calls this in a thread without session."""
    _drawn_for.set(person)
    return make()
