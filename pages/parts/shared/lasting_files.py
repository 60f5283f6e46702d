"""Files to download, which are there until a browser had time to fetch them, and are never those of another moment."""

from __future__ import annotations

import functools
import hashlib
import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock
from typing import Any

from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryFile, MemoryMediaFileStorage

from pages.parts.shared import login

SECONDS = 120.0
"""For so long a file is kept that no screen shows any more."""
MOST = 64 << 20
"""Bytes of such files together; one that is larger by itself is kept until the next one comes."""


_KEY = secrets.token_bytes(32)
_drawn_for: ContextVar[str | None] = ContextVar("whose screen offers the file that is made", default=None)


def mark_of(person: str | None) -> str:
    """What the ids of all files of a person begin with; it shows nothing of the person."""
    return hashlib.blake2b(str(person).encode(), key=_KEY, digest_size=16).hexdigest()


class LastingFiles(MemoryMediaFileStorage):
    """Streamlit's storage of files, where those to download stay for a while.

    Streamlit lets go of a file that was made at a click once any two runs of the app have ended, whoever's they are:
    with twenty people at work that is before a browser far away has asked for it. And it takes two large files for one
    where their length, beginning, middle and end are alike, so that qrels of which a label changed could be those of
    before: here the id of a file depends on all of its content, and on the person for whom it was made.

    Args:
        media_endpoint: path under which files are served.
        clock: seconds that only grow.
    """

    def __init__(self, media_endpoint: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(media_endpoint)
        self._clock = clock
        self._lock = Lock()
        self._let_go: dict[str, float] = {}

    def load_and_get_id(
        self, path_or_data: str | bytes, mimetype: str, kind: MediaFileKind, filename: str | None = None
    ) -> str:
        """Take a file in; its id."""
        if kind is not MediaFileKind.DOWNLOADABLE or isinstance(path_or_data, str):
            return super().load_and_get_id(path_or_data, mimetype, kind, filename)
        told = hashlib.blake2b(f"{mimetype}\n{filename}\n".encode(), digest_size=28)
        told.update(path_or_data)
        file_id = mark_of(_drawn_for.get() or login.identity()) + told.hexdigest()
        with self._lock:
            self._let_go.pop(file_id, None)
            self._files_by_id[file_id] = MemoryFile(path_or_data, mimetype, kind, filename)
        return file_id

    def delete_file(self, file_id: str) -> None:
        """Let go of a file; one to download stays for a while."""
        with self._lock:
            file = self._files_by_id.get(file_id)
            if file is not None and file.kind is MediaFileKind.DOWNLOADABLE:
                self._let_go[file_id] = self._clock()
            else:
                super().delete_file(file_id)
            self._sweep()

    def _sweep(self) -> None:
        """Delete what nobody fetches any more, and the oldest where there is too much."""
        kept = sum(self._files_by_id[file_id].content_size for file_id in self._let_go)
        for file_id, since in list(self._let_go.items()):
            over = kept > MOST and len(self._let_go) > 1
            if over or self._clock() - since > SECONDS:
                kept -= self._files_by_id[file_id].content_size
                del self._let_go[file_id]
                super().delete_file(file_id)


def install() -> None:
    """Have the app that is made next keep its files so; Streamlit has no option for it."""
    memory_media_file_storage.MemoryMediaFileStorage = LastingFiles
    add = MediaFileManager.add_deferred

    def add_deferred(manager: MediaFileManager, data_callable: Callable[[], Any], *given: Any, **further: Any) -> str:
        return add(manager, functools.partial(_make_for, login.identity(), data_callable), *given, **further)

    MediaFileManager.add_deferred = add_deferred


def _make_for(person: str | None, make: Callable[[], Any]) -> Any:
    """Make a file when its button is pressed. Streamlit asks for it in a thread without a session."""
    _drawn_for.set(person)
    return make()
