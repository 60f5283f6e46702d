"""What each format states of its files: their name, title and endings, reader and writer, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import orjson

from .source import Refused, Source, cells_of, header_of, peek

Form = Literal["list", "record", "map", "columns", "cells", "name"]
"""As what the beginning of a file may be read: a JSON list, the first object of JSONL, a JSON map, columns that white
space separates, cells of a table; or nothing of it but its name."""

WORDS = r'"(?:[^"\\]|\\.)*"'
PEEKED = 1 << 16
LINES = 40
KEY = WORDS + r"\s*:\s*"
ENTRY = r"\{\s*" + KEY
"""Patterns of JSON that may be cut off anywhere: a text, a key, and the beginning of a map up to its first value."""


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which it is recognised.

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
        """What can be seen of a file; None without a line that is not blank."""
        text = peek(source, PEEKED) or ""
        lines = text.splitlines()
        if len(lines) > 1 and len(text.encode()) >= PEEKED:
            lines.pop()
        lines = [line for line in lines if line.strip()][:LINES]
        return cls(source.file.lower(), text.lstrip(), lines) if lines else None

    def named(self, *extensions: str) -> bool:
        """Whether the name has one of these endings, .gz or not."""
        return self.name.removesuffix(".gz").endswith(tuple(f".{extension}" for extension in extensions))

    @cached_property
    def keys(self) -> set[str]:
        """Of a record: the keys of the first object, which may be cut off."""
        try:
            return set(orjson.loads(self.lines[0]))
        except orjson.JSONDecodeError:
            return set(re.findall(r'[{,]\s*"([^"\\]+)"\s*:', self.lines[0]))

    @cached_property
    def columns(self) -> list[list[str]]:
        """What white space separates in the lines that are whole for sure, or in the only line."""
        rows = [line.split() for line in self.lines]
        # Of a line that is cut off the reader says so better than a failed guess does.
        return rows[:-1] or rows

    @cached_property
    def header(self) -> list[str]:
        """The first line's cells as names, whatever separates them; nothing if it is no line of a table."""
        try:
            return header_of(self.lines[0])[1]
        except Refused:
            return []

    @cached_property
    def cells(self) -> list[list[str]]:
        """The cells of each line, separated as in the first; each line is one cell if they cannot be taken apart."""
        try:
            separator = header_of(self.lines[0])[0]
            return [cells_of(line, separator) for line in self.lines]
        except Refused:
            return [[line] for line in self.lines]


@dataclass(frozen=True)
class FileKind:
    """One kind of file that a project takes in.

    Args:
        name: what the command line calls it.
        title: what the screens call it.
        what: what it holds, as a phrase.
        extensions: usual file name endings; any may be followed by .gz.
        read: takes a source (responses: several) and a report.
        write: counterpart of the reader; None where there is none.
        looks_like: how a file of the kind is recognised: by form, whether a beginning that is read so is of one.
        judges: whether it brings judgments.
        source: name under which its judgments or boards are kept where nobody gives one; None for the file's name.
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
        """The name that is proposed for the judgments or boards of a file."""
        return self.source or file.stem
