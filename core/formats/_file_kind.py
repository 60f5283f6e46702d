"""The description of a kind of file: its name, title and extensions, reader and writer, and how it is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import orjson

from ._source import Refused, Source, cells_of, header_of, peek

Form = Literal["list", "record", "map", "columns", "cells", "name"]
"""How the beginning of a file can be read: a JSON list, the first object of JSONL, a JSON map, columns separated by
white space, or cells of a table. `name` uses the file's name only."""

WORDS = r'"(?:[^"\\]|\\.)*"'
PEEKED = 1 << 16
LINES = 40
KEY = WORDS + r"\s*:\s*"
ENTRY = r"\{\s*" + KEY
"""Patterns of JSON that may be cut off: a text, a key, and the beginning of a map up to its first value."""


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, from which its kind is recognised.

    Args:
        name: the file's name without folders, in lower case.
        text: its first characters, from the first that is not blank.
        lines: its first lines without blank ones; the last may be cut off.
    """

    name: str
    text: str
    lines: list[str]

    @classmethod
    def of(cls, source: Source) -> Beginning | None:
        """Return the beginning of a file; None if all its lines are blank."""
        text = peek(source, PEEKED) or ""
        lines = text.splitlines()
        if len(lines) > 1 and len(text.encode()) >= PEEKED:
            lines.pop()
        lines = [line for line in lines if line.strip()][:LINES]
        return cls(source.file.lower(), text.lstrip(), lines) if lines else None

    def named(self, *extensions: str) -> bool:
        """Return whether the name has one of these extensions, with or without .gz."""
        return self.name.removesuffix(".gz").endswith(tuple(f".{extension}" for extension in extensions))

    @cached_property
    def keys(self) -> set[str]:
        """The keys of the first object, which may be cut off."""
        try:
            return set(orjson.loads(self.lines[0]))
        except orjson.JSONDecodeError:
            return set(re.findall(r'[{,]\s*"([^"\\]+)"\s*:', self.lines[0]))

    @cached_property
    def columns(self) -> list[list[str]]:
        """The white-space-separated columns of the complete lines, or of the only line."""
        rows = [line.split() for line in self.lines]
        # If a line is cut off, the reader reports it better than a failed guess would.
        return rows[:-1] or rows

    @cached_property
    def header(self) -> list[str]:
        """The first line's cells as column names, with any separator; empty if it is not a table line."""
        try:
            return header_of(self.lines[0])[1]
        except Refused:
            return []

    @cached_property
    def cells(self) -> list[list[str]]:
        """The cells of each line, separated as in the first; a line is one cell if it cannot be split."""
        try:
            separator = header_of(self.lines[0])[0]
            return [cells_of(line, separator) for line in self.lines]
        except Refused:
            return [[line] for line in self.lines]


@dataclass(frozen=True)
class FileKind:
    """One kind of file that a project imports.

    Args:
        name: its name on the command line.
        title: its name on screens.
        what: its content, as a phrase.
        extensions: usual file name extensions; any may be followed by .gz.
        read: reads a source (responses: several) into records, with a report.
        write: counterpart of the reader, or None.
        looks_like: by form, the test that recognises a file of this kind.
        judges: whether it brings judgments.
        source: default source name of its judgments or leaderboards; None means the file's name.
    """

    name: str
    title: str
    what: str
    extensions: tuple[str, ...]
    read: Callable[..., Any]
    write: Callable[..., Any] | None
    looks_like: Mapping[Form, Callable[[Beginning], bool]]
    judges: bool = False
    source: str | None = None

    def source_name(self, file: Source) -> str:
        """Return the proposed source name for the judgments or leaderboards of a file."""
        return self.source or file.stem
