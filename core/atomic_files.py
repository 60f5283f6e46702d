"""Files that are written whole or not at all, and working folders that no process leaves behind for long.

A file is made in a working folder beside its place, written out to the disk, and renamed. Each working folder is locked
while its process lives. The system drops the lock with the process, so a folder that can be locked is a leftover.
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
"""Beginning of the name of every working folder."""
GROUP = "EXAM_GROUP_FILES"
"""Variable of the environment: if it is set, the group may read and write projects, too."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says of a full disk, a used-up quota and a file that may not grow."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_umask: int | None = None


def keep_private() -> None:
    """From here on create all files of this process for its owner alone; with `GROUP`, for the group too.

    This covers the engine's log and its temporary files. Exports still follow the umask that the process started with.
    """
    global _umask
    if _umask is None:
        _umask = os.umask(0o007 if os.environ.get(GROUP) else 0o077)


class WorkingFolder:
    """A new folder that only its owner can open, deleted at the end of the block or by `close`.

    Leftovers beside it are deleted first.

    Args:
        parent: an existing folder; the system's folder for temporary files for None.

    Attributes:
        path: the folder.

    Raises:
        OSError: it cannot be made.
        ProjectError: the disk became full within the block.
    """

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        remove_leftovers(parent)
        self._handle: int | None = None
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            try:
                self._handle = _lock(self.path)
            except (BlockingIOError, FileNotFoundError):
                # Another process took it for a leftover, before it was locked.
                continue
            except OSError:
                # This disk has no locks. Other processes cannot lock the folder either, so they leave it alone.
                pass
            return

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, OSError) and error.errno in FULL:
            raise full_disk(self.path.parent) from error

    def close(self) -> None:
        """Delete the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def remove_leftovers(folder: Path) -> None:
    """Delete the working folders in a folder whose processes have ended. A link of such a name is left alone."""
    # A folder that is in use, another person's, or a link cannot be locked.
    with suppress(OSError):
        for entry in [one for one in os.scandir(folder) if one.name.startswith(PREFIX)]:
            with suppress(OSError):
                handle = _lock(Path(entry.path))
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(handle)


def _lock(folder: Path) -> int:
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
def written(path: Path) -> Iterator[Path]:
    """A temporary path for the block to write. After the block, that file takes the place of `path`.

    If the block fails, `path` stays as it was. An existing file keeps its mode and owner, and a link stays a link. A
    pipe, a device, and a file in a folder without write access receive the finished content instead.

    Raises:
        InputError: `path` cannot be written.
        ProjectError: the disk is full.
    """
    with writing(path):
        real = path.resolve()
        to_replace = _can_be_replaced(path, real.parent)
        with WorkingFolder(real.parent if to_replace else None) as folder:
            made = folder / path.name
            yield made
            if to_replace:
                put(made, real)
            else:
                with made.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)


def _can_be_replaced(path: Path, folder: Path) -> bool:
    # Standard output may be a file that the shell has open.
    if os.path.abspath(path).startswith(("/dev/fd/", "/dev/std", "/proc/")):
        return False
    return not path.exists() or (path.is_file() and os.access(path, os.W_OK) and os.access(folder, os.W_OK))


def write_file(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all, as `written` does.

    Raises:
        InputError, ProjectError: as `written`.
    """
    with written(path) as made:
        made.write_bytes(content)


def put(made: Path, path: Path, private: bool = False) -> None:
    """Move a finished file or folder to its place on the same disk, so that a loss of power cannot undo it.

    Args:
        path: a file there is replaced, and its mode and owner stay.
        private: a new one keeps the mode that it was created with, instead of following the umask.

    Raises:
        OSError: it cannot be moved. `path` is as it was.
    """
    if path.is_file():
        before = path.stat()
        # A person may write a file of another one, but not give one away. Some disks have no owners and modes, and
        # Windows has no function for owners.
        if hasattr(os, "chown"):
            with suppress(PermissionError):
                shutil.chown(made, before.st_uid, before.st_gid)
        with suppress(PermissionError):
            made.chmod(stat.S_IMODE(before.st_mode))
    elif not private:
        _follow_umask(made)
    for one in (made, *made.rglob("*")):
        sync(one)
    made.replace(path)
    sync(path.parent)


def put_new(made: Path, path: Path) -> bool:
    """Give a finished file another name on the same disk, for good; return whether the name was free."""
    sync(made)
    try:
        os.link(made, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # This disk gives a file one name only.
        if path.exists():
            return False
        made.rename(path)
    sync(path.parent)
    return True


def make_folder(path: Path) -> None:
    """Make a folder for exports, and the missing ones around it; they follow the umask.

    Raises:
        InputError, ProjectError: as `written`.
    """
    with writing(path):
        for one in [folder for folder in reversed((path, *path.parents)) if not folder.exists()]:
            one.mkdir(exist_ok=True)
            _follow_umask(one)


def _follow_umask(path: Path) -> None:
    """Give a file, or a folder with all in it, the mode that it would have without `keep_private`."""
    if (mask := _umask) is not None:
        for one in (path, *path.rglob("*")):
            with suppress(PermissionError):
                one.chmod((0o777 if one.is_dir() else 0o666) & ~mask)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    is_folder = path.is_dir()
    # Windows and some network drives cannot do so for a folder.
    with suppress(OSError) if is_folder else nullcontext():
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Raise a fault of the operating system as an error that says what to do.

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
            "cannot-write-file", f"Cannot write {place}: {error.strerror or error}.", "Choose another location."
        ) from error


def full_disk(place: object) -> ProjectError:
    """What to say if a disk is full.

    Args:
        place: a file or folder on that disk.
    """
    return ProjectError(
        "disk-full",
        f"The disk of {str(place).partition(os.sep + PREFIX)[0]} is full. Nothing was saved.",
        "Free some disk space, then try again. Earlier changes are not lost.",
    )
