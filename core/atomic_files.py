"""Files that are written completely or not at all, and working folders that do not outlive their
process for long.

A file is made in a working folder next to its destination, flushed to the disk, and renamed. Each
working folder is locked while its process lives. The system drops the lock when the process ends,
so a folder that can be locked is a leftover.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from .errors import InputError, ProjectError

if sys.platform != "win32":
    import fcntl

PREFIX = ".exam-work-"
"""Prefix of the name of every working folder."""
GROUP = "EXAM_GROUP_FILES"
"""Environment variable: if it is set, the group may also read and write projects."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, a used-up quota and a file that may not grow."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_umask: int | None = None


def keep_private() -> None:
    """Create all files of this process for its owner alone from now on; if `GROUP` is set, for the
    group too.

    This covers the engine's log and its temporary files. Exports still follow the umask that the
    process started with.
    """
    global _umask
    if _umask is None:
        _umask = os.umask(0o007 if os.environ.get(GROUP) else 0o077)


class WorkingFolder:
    """A new folder that only its owner can open, deleted at the end of the block or by `close`.

    Leftovers in the same parent folder are deleted first.

    Args:
        parent: an existing folder; None means the system's folder for temporary files.

    Attributes:
        path: the folder.

    Raises:
        OSError: the folder cannot be made.
        ProjectError: the disk became full within the block.
    """

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        remove_leftovers(parent)
        self._handle: int | None = None
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            try:
                self._handle = _lock_folder(self.path)
            except (BlockingIOError, FileNotFoundError):
                # Another process deleted the folder as a leftover before it was locked.
                continue
            except OSError:
                # This disk has no locks. Other processes cannot lock the folder either, so they do
                # not delete it.
                pass
            return

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, OSError) and error.errno in FULL:
            raise full_disk(self.path.parent) from error

    def close(self) -> None:
        """Delete the folder and its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def remove_leftovers(folder: Path) -> None:
    """Delete the working folders in a folder whose processes have ended. Links with such a name are
    kept.
    """
    # A folder that is in use, a folder of another person and a link cannot be locked.
    with suppress(OSError):
        for entry in [one for one in os.scandir(folder) if one.name.startswith(PREFIX)]:
            with suppress(OSError):
                handle = _lock_folder(Path(entry.path))
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(handle)


def _lock_folder(folder: Path) -> int:
    """Lock a folder until the handle is closed.

    Raises:
        BlockingIOError, FileNotFoundError: another process has locked it, or deleted it.
        OSError: it is not a folder, or this disk has no locks.
    """
    if sys.platform == "win32":
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.lstat(folder)
    except OSError:
        os.close(handle)
        raise
    return handle


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path for the block to write. After the block, that file or folder replaces
    `path`, which may be an empty folder.

    If the block fails, `path` stays as it was. An existing file keeps its mode and owner, and a
    link stays a link. A pipe, a device, and a file in a folder without write access receive the
    finished content instead.

    Raises:
        InputError: `path` cannot be written.
        ProjectError: the disk is full.
    """
    with explain_write_errors(path):
        real = path.resolve()
        to_replace = _can_be_replaced(path, real.parent)
        with WorkingFolder(real.parent if to_replace else None) as folder:
            temporary = folder / path.name
            yield temporary
            if to_replace:
                move_into_place(temporary, real)
            else:
                with temporary.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)


def _can_be_replaced(path: Path, folder: Path) -> bool:
    # Standard output may be a file that the shell has open.
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return False
    return (
        not path.exists()
        or path.is_dir()
        or (path.is_file() and os.access(path, os.W_OK) and os.access(folder, os.W_OK))
    )


def write_file(path: Path, content: bytes) -> None:
    """Write a file, completely or not at all, as `replace_file` does.

    Raises:
        InputError, ProjectError: as `replace_file`.
    """
    with replace_file(path) as made:
        made.write_bytes(content)


def move_into_place(finished: Path, path: Path, private: bool = False) -> None:
    """Move a finished file or folder to a path on the same disk; a power failure cannot undo the
    move.

    Args:
        path: an existing file is replaced; its mode and owner stay.
        private: a new file keeps the mode that it was created with, instead of following the umask.

    Raises:
        OSError: the file cannot be moved. `path` is as it was.
    """
    if path.is_file():
        before = path.stat()
        # You may write another person's file, but you cannot give a file away. Some disks have no
        # owners and modes, and Windows has no function for owners.
        if hasattr(os, "chown"):
            with suppress(PermissionError):
                shutil.chown(finished, before.st_uid, before.st_gid)
        with suppress(PermissionError):
            finished.chmod(stat.S_IMODE(before.st_mode))
    elif not private:
        _follow_umask(finished)
    for entry in (finished, *finished.rglob("*")):
        sync_to_disk(entry)
    finished.replace(path)
    sync_to_disk(path.parent)


def put_new(finished: Path, path: Path) -> bool:
    """Give a finished file another name on the same disk, permanently; return whether the name was
    free.
    """
    sync_to_disk(finished)
    try:
        os.link(finished, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # This disk allows only one name per file.
        if path.exists():
            return False
        finished.rename(path)
    sync_to_disk(path.parent)
    return True


@contextmanager
def create_file(path: Path, error_if_taken: InputError) -> Iterator[Path]:
    """Yield a temporary path for the block to write. After the block, that file is at `path`, whose
    missing folders are made. If the block fails, no file is there.

    Raises:
        InputError: `error_if_taken`, if `path` exists before or after the block.
        OSError: the file or a folder cannot be made.
    """
    # A broken link counts as an existing file too: its target could be made through it.
    if os.path.lexists(path):
        raise error_if_taken
    path.parent.mkdir(parents=True, exist_ok=True)
    with WorkingFolder(path.parent) as folder:
        made = folder / path.name
        yield made
        if not put_new(made, path):
            raise error_if_taken


def make_folder(path: Path) -> None:
    """Make a folder for exports and its missing parents; their modes follow the umask.

    Raises:
        InputError, ProjectError: as `replace_file`.
    """
    with explain_write_errors(path):
        for one in [folder for folder in reversed((path, *path.parents)) if not folder.exists()]:
            one.mkdir(exist_ok=True)
            _follow_umask(one)


def _follow_umask(path: Path) -> None:
    """Set the mode that a file, or a folder and its content, would have without `keep_private`."""
    if (mask := _umask) is not None:
        for one in (path, *path.rglob("*")):
            with suppress(PermissionError):
                one.chmod((0o777 if one.is_dir() else 0o666) & ~mask)


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    is_folder = path.is_dir()
    # Windows and some network drives cannot sync a folder.
    with suppress(OSError) if is_folder else nullcontext():
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def explain_write_errors(place: Path) -> Iterator[None]:
    """Turn an error of the operating system into an error with a fix.

    Raises:
        InputError: `place` cannot be written.
        ProjectError: the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(place) from error
        raise InputError(
            "cannot-write-file",
            f"Cannot write {place}: {error.strerror or error}.",
            "Choose another location.",
        ) from error


def full_disk(place: object) -> ProjectError:
    """Return the error for a full disk.

    Args:
        place: a file or folder on that disk.
    """
    return ProjectError(
        "disk-full",
        f"The disk of {str(place).partition(os.sep + PREFIX)[0]} is full. Nothing was saved.",
        "Free some disk space, then try again. Earlier changes are not lost.",
    )
