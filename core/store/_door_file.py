"""The door file next to an open project, through which commands of its owner find the server that has it open."""

from __future__ import annotations

import json
import logging
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from ..atomic_files import WorkingFolder

_log = logging.getLogger(__name__)

LONGEST = 4096
"""Largest size of a door file in bytes."""


@dataclass(frozen=True)
class Door:
    """The address of the server that has a project open, with an access token.

    Args:
        address: such as http://127.0.0.1:8501, without a slash at the end.
        token: admits anyone who can read the door file.
        process: process id of the server.
        project: path of the project's file when it was opened.
        file: identity of that file on this computer, independent of its name.
    """

    address: str
    token: str
    process: int
    project: str
    file: str


def door_file(path: Path) -> Path:
    """Return the path of a project's door: next to its file, after links are resolved."""
    # Unlike Path.resolve, it accepts a link that leads to itself. Opening it then fails with a clear error.
    file = Path(os.path.realpath(path))
    return file.with_name(f"{file.name}.door")


def make_door(path: Path, address: str) -> Door | None:
    """Create the door of a project that this process has open; only its owner can read the file.

    Args:
        path: the project's file.
        address: of the server, reachable from this computer.

    Returns:
        None if the folder cannot be written; commands then report who has the project open.
    """
    file, project = door_file(path), path.resolve()
    door = Door(address.rstrip("/"), secrets.token_urlsafe(32), os.getpid(), str(project), _which(project))
    try:
        with WorkingFolder(file.parent) as folder:
            made = folder / file.name
            made.write_text(json.dumps(asdict(door)), encoding="utf-8")
            made.chmod(0o600)
            # Replaces the door of a server that was killed.
            made.replace(file)
    except OSError as error:
        _log.warning("%s: commands cannot be forwarded to this server: %s", path, error.strerror)
        return None
    return door


def remove_door(path: Path, door: Door) -> None:
    """Remove a door that this process made, unless another server has replaced it."""
    if _read(door_file(path)) == door:
        door_file(path).unlink(missing_ok=True)


def find_door(path: Path) -> Door | None:
    """Return the door of a project; None if it is missing or untrusted, or its process has ended.

    A file that belongs to or can be written by another user is not trusted: it could lead to a
    server of theirs. A door that was copied with its project belongs to the original, not to the
    copy.
    """
    file = door_file(path)
    try:
        about = file.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode) or (os.name != "nt" and (about.st_uid != os.getuid() or about.st_mode & 0o077)):
        return None
    door = _read(file)
    return door if door is not None and _leads_to(door, path.resolve()) and _lives(door.process) else None


def _which(file: Path) -> str:
    """Return the identity of a file (device and inode), which a move keeps and a copy does not."""
    try:
        about = file.stat()
    except OSError:
        return ""
    return f"{about.st_dev}:{about.st_ino}"


def _leads_to(door: Door, file: Path) -> bool:
    """Return whether a door belongs to a project: by the file's identity, or by its path if the file was replaced."""
    return door.project == str(file) or door.file == _which(file) != ""


def _read(file: Path) -> Door | None:
    try:
        with file.open("rb") as opened:
            door = Door(**json.loads(opened.read(LONGEST)))
    except (OSError, ValueError, TypeError):
        return None
    texts = (door.address, door.token, door.project, door.file)
    fits = all(isinstance(text, str) for text in texts) and type(door.process) is int
    return door if fits and door.process > 0 else None


def _lives(process: int) -> bool:
    if os.name == "nt":
        # On Windows signal 0 would end the process. A request shows whether it runs.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
