"""The process that holds a project's file, as DuckDB reports it, described for people."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

_IN_THE_WAY = re.compile(r"(?:held|already open) in\s+(?P<program>.+?) \(PID (?P<process>\d+)\)")


@dataclass(frozen=True)
class Holder:
    """A process that holds a file: its description for people, and the fix."""

    name: str
    hint: str


def is_held(reason: str) -> bool:
    """Return whether a DuckDB message says that another process holds a file, also in the wording of Windows."""
    return "set lock" in reason or "already open in" in reason


def holder(reason: str) -> Holder | None:
    """Return the process that holds a file.

    The process id comes from the system, which knows the holder of the lock; the description comes
    from its command line. No file next to the project is used, because it could outlive its writer.

    Args:
        reason: DuckDB's message about the lock.

    Returns:
        None if the message names no process.
    """
    found = _IN_THE_WAY.search(reason)
    return None if found is None else describe(int(found["process"]), PureWindowsPath(found["program"]).name)


def describe(process: int, program: str) -> Holder:
    """Describe a process.

    Args:
        process: its id.
        program: file name of its program, used if its command line cannot be read.
    """
    words = _command_line(process)
    names = [Path(word).name for word in words]
    # The interpreter, its options and the program are at the start; the rest may be anything.
    if "streamlit" in names[:3] and "app.py" in names[:5]:
        port = _option(words, "--server.port")
        name = f"the app on port {port}" if port.isdecimal() else f"the app (process {process})"
        return Holder(name, "Use the screens of the app, or close the app and try again.")
    if "exam" in names[:2]:
        after = words[names.index("exam") + 1 :]
        command = next((word for word in after if re.fullmatch("[a-z][a-z-]*", word)), "")
        return Holder(f"exam {command}".strip() + f" (process {process})", "Try again when that command has finished.")
    return Holder(f"process {process} ({program})", "Close that process, then try again.")


def _command_line(process: int) -> list[str]:
    """Return the words of a command line; empty if the process has ended or the system refuses."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        pass
    try:
        told = subprocess.run(
            ["ps", "-o", "command=", "-p", str(process)], capture_output=True, text=True, timeout=2, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return told.stdout.split()


def _option(words: Sequence[str], name: str) -> str:
    """Return the value of an option, given as the next word or after `=`; empty if it is absent."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""
