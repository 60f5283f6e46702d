"""A file to download is there when a browser comes for it, and is the one that was made last."""

from __future__ import annotations

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError

from pages.parts.shared.lasting_files import MOST, SECONDS, LastingFiles


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(manager: MediaFileManager, data: bytes, name: str = "a.qrels") -> str:
    """Click on a button for a file: its name in the storage. Then other runs of the app end."""
    url = manager.execute_deferred(manager.add_deferred(lambda: data, "text/plain", "1.1", name))
    for _ in range(3):
        manager.remove_orphaned_files()
    return url.rsplit("/", 1)[1]


def test_a_file_outlasts_the_runs_of_others_and_not_its_time() -> None:
    clock = Clock()
    storage = LastingFiles("/media", clock)
    manager = MediaFileManager(storage)
    first = made(manager, b"q1 0 p1 3\n")
    assert storage.get_file(first).content == b"q1 0 p1 3\n"
    clock.now = SECONDS + 1
    second = made(manager, b"q1 0 p1 2\n")
    assert storage.get_file(second).content == b"q1 0 p1 2\n"
    with pytest.raises(MediaFileStorageError):
        storage.get_file(first)


def test_large_files_that_differ_in_few_places_are_two() -> None:
    storage = LastingFiles("/media", Clock())
    manager = MediaFileManager(storage)
    before = b"q1 0 p1 3\n" * 200_000
    after = before[:500_000] + before[500_000:].replace(b"3", b"2", 1)
    assert storage.get_file(made(manager, before)).content == before
    assert storage.get_file(made(manager, after)).content == after


def test_files_that_nobody_fetched_do_not_pile_up() -> None:
    storage = LastingFiles("/media", Clock())
    manager = MediaFileManager(storage)
    names = [made(manager, bytes([number]) * (MOST // 2)) for number in range(4)]
    there = [name for name in names if name.split(".")[0] in storage._files_by_id]
    assert there == names[-2:]
