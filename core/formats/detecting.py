"""Detection of a file's kind from its name and its beginning."""

from __future__ import annotations

import re

from ..text import one_line
from .file_kind import Beginning, Form
from .kinds import KINDS_OF_FILE
from .source import KEYS_NAMED, Source

FIRST_LINE = 80
"""Characters of the first line that are shown for an unrecognised file."""
OBJECTS = re.compile(r"\{[^\n]+\}\r?\n\s*\{")


def detect(source: Source) -> str | None:
    """Guess the kind of a file from its name and its first lines.

    Returns:
        A key of KINDS_OF_FILE, or None if no kind fits.
    """
    beginning = Beginning.of(source)
    if beginning is None:
        return None
    for form in _forms(beginning.text):
        for kind in KINDS_OF_FILE.values():
            if form in kind.looks_like and kind.looks_like[form](beginning):
                return kind.name
    return None


def unrecognised(source: Source) -> str:
    """Return why a file was not recognised: its beginning and its fields, as sentences. `looked_for` lists the known
    kinds."""
    beginning = Beginning.of(source)
    if beginning is None:
        return "The file is empty, or cannot be unpacked."
    keys = list(beginning.keys) if beginning.text.startswith("{") else beginning.header
    names = f" Its fields are {', '.join(sorted(keys)[:KEYS_NAMED])}." if len(keys) > 1 else ""
    return f"The file begins with “{one_line(beginning.lines[0], FIRST_LINE)}”.{names}"


def looked_for() -> list[str]:
    """Return a line for each kind that describes its files."""
    return [kind.what for kind in KINDS_OF_FILE.values()]


def _forms(text: str) -> tuple[Form, ...]:
    """Return the ways to read a file with this beginning, the surest first."""
    if text.startswith("["):
        return ("list",)
    if text.startswith("{"):
        return ("record",) if OBJECTS.match(text) else ("record", "map")
    return ("columns", "cells", "name")
