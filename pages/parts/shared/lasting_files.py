"""Files to download, which are there until a browser had time to fetch them, and are never those of another moment."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from threading import Lock

from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryFile, MemoryMediaFileStorage

SECONDS = 120.0
"""For so long a file is kept that no screen shows any more."""
MOST = 64 << 20
"""Bytes of such files together; one that is larger by itself is kept until the next one comes."""


class LastingFiles(MemoryMediaFileStorage):
    """Streamlit's storage of files, where those to download stay for a while.

    Streamlit lets go of a file that was made at a click once any two runs of the app have ended, whoever's they are:
    with twenty people at work that is before a browser far away has asked for it. And it takes two large files for one
    where their length, beginning, middle and end are alike, so that qrels of which a label changed could be those of
    before: here a file is told by all of its content.

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
        with self._lock:
            self._let_go.pop(told.hexdigest(), None)
            self._files_by_id[told.hexdigest()] = MemoryFile(path_or_data, mimetype, kind, filename)
        return told.hexdigest()

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
    """Let the app that is made next keep its files so; Streamlit has no option for it."""
    memory_media_file_storage.MemoryMediaFileStorage = LastingFiles  # type: ignore[misc]
