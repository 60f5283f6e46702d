"""Safe reading of input files: compression, encodings, limits, refused lines, and how kinds of file
are recognised.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, TextIO, cast

import orjson
from isal import isal_zlib
from isal.igzip_lib import IsalError

from ..errors import UNENDED, InputError, Report
from ..limits import describe_exceeded, read_limit
from ..text import LONGEST_ID, fault_of_id, first_few, quote_name

ONE_COLUMN = ("query", "lesson", "page", "passage")
"""Things whose id is one column of qrels and runs. A run's name is one column too, but its blanks
become `_`.
"""
KEYS_NAMED = 20
"""Maximum number of keys of a line that a message names."""
CHUNK = 1 << 20
PACKED_CHUNK = 1 << 14
"""Bytes of a gzip file read at a time. Each further gzip member copies the rest of such a block."""
RATIO_AFTER = 64 << 20
"""Bytes that a gzip file of any size may expand to."""

GZIP_MAGIC = b"\x1f\x8b"
OTHER_MAGIC = {
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstandard file; unpack it first",
    b"PAR1": "a Parquet file, not text",
    b"%PDF": "a PDF file, not text",
}
NUL_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
BLANKS = " \t\r\v\f"
USUAL_FLAGS = 0b1001
"""Flags of a gzip header that isal handles: the data may be text, and has a name."""
# The library's type stubs declare its exception class wrongly.
_DAMAGED = cast(type[Exception], IsalError)


@dataclass(frozen=True)
class Source:
    """A file to read: from a path (shell) or from bytes in memory (upload).

    Args:
        name: its name for the user; shown in every message.
        path: its path, or None.
        data: its content, or None; preferred to the path.
    """

    name: str
    path: Path | None = None
    data: bytes | None = None

    @classmethod
    def from_path(cls, path: str | Path) -> Source:
        """Return a source for a file on disk, named as the path was written."""
        return cls(str(path), Path(path))

    @property
    def stem(self) -> str:
        """The file's name without folders, compression extension and one usual extension."""
        return re.sub(
            r"(?<=.)\.(runs?|txt|trec|results?|res|input|tsv|csv|jsonl?|qrels?)$",
            "",
            re.sub(r"(?<=.)\.gz$", "", self.file, flags=re.IGNORECASE),
            flags=re.IGNORECASE,
        )

    @property
    def file(self) -> str:
        """The file's name without folders."""
        return re.split(r"[/\\]", self.name)[-1] or self.name


class _Reason(Exception):
    """The reason why a part of a file cannot be used.

    Args:
        code: as for a problem.
        reason: a sentence without a full stop.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Refused(_Reason, ValueError):
    """The reason why a line cannot be used. A reader turns it into a problem with file and line."""


@contextmanager
def report_refusals(report: Report, file: str, line: int | None, place: str = "") -> Iterator[None]:
    """Report a `Refused` that the block raises; the block ends there.

    Args:
        place: text before the reason.
    """
    try:
        yield
    except Refused as refused:
        report.refuse(file, line, refused.code, f"{place}{refused}")


class _Broken(_Reason):
    """The reason why the rest of a file cannot be read."""


_FIELDS = {
    "file": "FILE",
    "expanded": "EXPANDED",
    "ratio": "RATIO",
    "members": "MEMBERS",
    "lines": "LINES",
    "blank": "BLANK_LINES",
    "refused": "REFUSED_LINES",
    "line": "LINE",
}


class Limits:
    """The limits of `core.limits` that opening a file checks.

    Args:
        names: by attribute, another limit's name than the usual one, such as {"line": "TREC_LINE"}.
    """

    file: int
    expanded: int
    ratio: int
    members: int
    lines: int
    blank: int
    refused: int
    line: int

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names = _FIELDS | dict(names or {})
        vars(self).update((attribute, read_limit(name)) for attribute, name in self.names.items())

    def exceeded(self, what: str, attribute: str) -> str:
        """Return a sentence that a limit is exceeded; see `limits.describe_exceeded`."""
        return describe_exceeded(what, self.names[attribute], getattr(self, attribute))

    def check(self, number: int, what: str, attribute: str) -> None:
        """Stop reading a file if a number exceeds a limit.

        Raises:
            _Broken: the number exceeds it; `what` is as in `limits.describe_exceeded`.
        """
        if number > getattr(self, attribute):
            raise _Broken("limit-exceeded", self.exceeded(what, attribute))


WHOLE = {"file": "WHOLE", "expanded": "WHOLE", "lines": "WHOLE_LINES"}
"""The limits of a file whose records are held in memory together."""

SMALL = {"file": "SMALL_FILE", "expanded": "SMALL_FILE", "lines": "WHOLE_LINES"}
"""The limits of files that are always small."""

TREC_LINE = {"line": "TREC_LINE"}


def open_byte_lines(
    source: Source, report: Report, limits: Limits | None = None, keep_return: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Stream the lines of a file, decompressed if its content is gzip.

    Args:
        source: the file.
        report: receives refusals; reading continues after a refused line if possible.
        limits: sizes beyond which a line or the file is refused; None means the usual ones.
        keep_return: keep a carriage return at a line's end (it may be inside a quoted CSV cell).

    Yields:
        Line number from 1 and the line in UTF-8 (validated only if the file was UTF-16), without
            its line feed.
        Lines that are too long or hold a NUL byte are left out.
    """
    limits = limits or Limits()
    number = 1
    parts: list[bytes] = []
    length = blank = 0
    before = report.count

    def finish_line() -> bytes | None:
        nonlocal blank
        if length > limits.line:
            report.refuse(
                source.name,
                number,
                "limit-exceeded",
                limits.exceeded("the line is longer than", "line"),
            )
            return None
        line = parts[0] if len(parts) == 1 else b"".join(parts)
        # Free the parts, so that a long line is not in memory twice.
        parts.clear()
        if not line or line.isspace():
            blank += 1
            limits.check(blank, "the file has more than", "blank")
        elif b"\0" in line:
            report.refuse(source.name, number, "nul-byte", "the line has a NUL byte")
            return None
        return line if keep_return or not line.endswith(b"\r") else line[:-1]

    try:
        for chunk in _convert_to_utf8(_expand_content(source, limits)):
            first, *rest = chunk.split(b"\n")
            if number == 1 and not rest and b"\r" in chunk.rstrip(b"\r"):
                raise _Broken(
                    "old-line-ends",
                    "the lines end in carriage returns alone; save the file with line feeds",
                )
            parts.append(first)
            length += len(first)
            for piece in rest:
                line = finish_line()
                if line is not None:
                    yield number, line
                    line = None
                number += 1
                parts, length = [piece], len(piece)
            if length > limits.line:
                parts = []
            limits.check(number, "the file has more than", "lines")
            limits.check(report.count - before, "reading stops here, after more than", "refused")
        if length:
            line = finish_line()
            if line is not None:
                if not line.isspace():
                    report.remark(source.name, number, "no-line-end", UNENDED)
                yield number, line
    except _Broken as broken:
        report.stop(source.name, number, broken.code, str(broken))
    except OSError as error:
        report.refuse(
            source.name,
            None,
            "unreadable-file",
            f"the file cannot be read: {error.strerror or error}",
        )


def open_lines(
    source: Source, report: Report, limits: Limits | None = None, keep_return: bool = False
) -> Iterator[tuple[int, str]]:
    """Stream the lines of a text file: `open_byte_lines` with UTF-8 checked line by line."""
    for number, line in open_byte_lines(source, report, limits, keep_return):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            report.refuse(source.name, number, "not-utf8", _not_utf8(error))
            continue
        del line
        yield number, text


def open_columns(
    source: Source,
    report: Report,
    names: Sequence[str],
    form: str,
    spare: bool = False,
    limits: Limits | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Stream the lines of a file in white-space-separated columns; blank lines are left out.

    Args:
        source: the file.
        report: receives lines with too few or too many columns.
        names: the columns that a line must have.
        form: the name of such a file in messages.
        spare: whether further columns are allowed.
        limits: sizes beyond which a line or the file is refused; None means those of a file read
            line by line.

    Yields:
        Line number and cells: `len(names)` of them, or more with `spare`.
    """
    expected = f"{form} has {len(names)} ({' '.join(names)})"
    short: tuple[int, str] | None = None
    any_good = False
    for number, line in open_lines(source, report, limits or Limits(TREC_LINE)):
        cells = line.split() if line.isascii() else re.split(f"[{BLANKS}]+", line.strip(BLANKS))
        if not cells or not cells[0]:
            continue
        if short:
            report.refuse(source.name, short[0], "wrong-number-of-columns", short[1])
            short = None
        wrong = f"the line has {len(cells)} columns; {expected}"
        if len(cells) < len(names):
            short = (number, wrong)
        elif len(cells) > len(names) and not spare:
            report.refuse(source.name, number, "wrong-number-of-columns", wrong)
        else:
            any_good = True
            yield number, cells
    if short:
        code, cut = (
            ("cut-off-file", "; the file may be cut off here")
            if any_good
            else ("wrong-number-of-columns", "")
        )
        report.refuse(source.name, short[0], code, short[1] + cut)


def parse_json(line: str | bytes, any_depth: bool = False) -> Any:
    """Parse one JSON value.

    Args:
        line: its text.
        any_depth: leave the depth check to the caller; the parser itself stops at a thousand
            levels.

    Raises:
        Refused: it is invalid JSON (as are NaN and lone surrogates), holds a NUL character, or
            exceeds the limit of values or levels.
    """
    raw = line.encode() if isinstance(line, str) else line
    check_shape(raw, any_depth)
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            raw.decode()
        except UnicodeDecodeError as undecodable:
            raise Refused("not-utf8", _not_utf8(undecodable)) from undecodable
        raise Refused(
            "invalid-json", f"invalid JSON: {error.msg} at character {error.colno}"
        ) from error
    check_nul(raw)
    return value


def check_nul(raw: bytes) -> None:
    """Refuse JSON with an escaped NUL character.

    Raises:
        Refused: it has one.
    """
    # Searching one character first is ten times as fast as searching six.
    if b"\\" in raw and b"\\u0000" in raw and NUL_ESCAPE.search(raw):
        raise Refused("nul-byte", "the line has a NUL character")


def check_limit(number: int, what: str, name: str) -> None:
    """Refuse a line that exceeds a limit; see `limits.describe_exceeded`.

    Raises:
        Refused: the number exceeds the limit of this name.
    """
    if number > (most := read_limit(name)):
        raise Refused("limit-exceeded", describe_exceeded(what, name, most))


def check_shape(raw: bytes, any_depth: bool = False) -> None:
    """Refuse JSON that would take far more memory than its size, before it is parsed.

    Raises:
        Refused: it exceeds the limit of values or, unless `any_depth`, of levels.
    """
    most, deepest = read_limit("VALUES"), read_limit("DEPTH")
    if any_depth and len(raw) <= most:
        # Every value takes at least one character, so this line cannot exceed the limit.
        return
    # Counting three characters gives upper bounds.
    levels = raw.count(b"[") + raw.count(b"{")
    values = levels + raw.count(b",") + 1
    if values <= most and (any_depth or levels <= deepest):
        return
    values, levels = _json_shape(raw)
    check_limit(values, "the JSON has more than", "VALUES")
    if not any_depth:
        check_limit(levels, "the JSON is nested deeper than", "DEPTH")


_BLOCK = 1 << 22
"""Characters counted per step."""
_SIGNS = b'"[]{},'
_REST = bytes(set(range(256)) - set(_SIGNS))


def _json_shape(text: bytes) -> tuple[int, int]:
    """Return the number of values and the greatest depth of a JSON text.

    Args:
        text: JSON; the result for any other text is meaningless.

    Returns:
        The number of values: lists, objects, and all their members; an empty list counts as one
        more. And the levels of nested lists and objects.
    """
    # Imported here, because it takes .1 s and most files are no JSON.
    import numpy as np

    signs = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _REST)
    values, deepest, depth, inside = 1, 0, 0, 0
    for begin in range(0, len(signs), _BLOCK):
        block = np.frombuffer(signs, np.uint8, min(_BLOCK, len(signs) - begin), begin)
        quotes = block == ord('"')
        # A character is inside a string if the number of quotes before it is odd.
        within = (np.cumsum(quotes, dtype=np.int32) + inside) & 1
        inside = int(within[-1])
        outside = block[(within == 0) & ~quotes]
        opens = (outside == ord("[")) | (outside == ord("{"))
        commas = outside == ord(",")
        values += int(opens.sum()) + int(commas.sum())
        levels = np.cumsum(opens.astype(np.int8) - (~opens & ~commas), dtype=np.int32)
        if len(levels):
            deepest = max(deepest, depth + int(levels.max()))
            depth += int(levels[-1])
    return values, deepest


def check_cells(line: str, delimiter: str) -> None:
    """Refuse a table line with too many cells, before it is split.

    Raises:
        Refused: it exceeds the limit.
    """
    check_limit(line.count(delimiter) + 1, "the line has more than", "CELLS")


def parse_object(line: str | bytes) -> dict[str, Any]:
    """Parse one JSON object.

    Raises:
        Refused: as `parse_json`, or it is not an object.
    """
    return as_object(parse_json(line), "the line is not a JSON object")


def as_object(value: Any, reason: str) -> dict[str, Any]:
    """Return a value that is a JSON object.

    Raises:
        Refused: it is not, for this reason.
    """
    if not isinstance(value, dict):
        raise Refused("not-an-object", reason)
    return value


def as_objects(value: Any, reason: str) -> list[dict[str, Any]]:
    """Return a value that is a list of JSON objects.

    Raises:
        Refused: it is not, for this reason.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Refused("not-a-list", reason)
    return value


def open_objects(
    source: Source, report: Report, limits: Limits | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Stream the objects of JSONL with their line numbers, without blank lines. `report` receives
    invalid lines.
    """
    for number, line in open_byte_lines(source, report, limits):
        if line and not line.isspace():
            with report_refusals(report, source.name, number):
                yield number, parse_object(line)


def write_objects(rows: Iterable[Mapping[str, Any]], out: TextIO) -> None:
    """Write JSONL, one object per line."""
    out.writelines(orjson.dumps(row).decode() + "\n" for row in rows)


def open_records(
    source: Source, report: Report, is_record: Callable[[str], bool], keep_return: bool = False
) -> tuple[int, list[str], Iterator[tuple[int, str]]]:
    """Open a file that is a JSON list or map, or has a record or a table row on each line.

    Args:
        is_record: whether a text that begins like JSON is a record. One record may also be on
            several lines.
        keep_return: as for `open_byte_lines`.

    Returns:
        The number of the first line that is not blank, the lines of a list or map, and the lines of
        any other file. One of the two is empty.
    """
    lines = open_lines(source, report, Limits(WHOLE), keep_return)
    start, first = next((each for each in lines if each[1].strip()), (0, ""))
    is_list = LIST.match(first)
    if not is_list and (not first.lstrip().startswith("{") or is_record(first)):
        return start, [], chain([(start, first)], lines)
    texts = [first, *(line for _, line in lines)]
    if is_list or not is_record("\n".join(texts)):
        return start, texts, iter(())
    report.whole(source.name)
    return start, [], iter([(start, "\n".join(texts))])


def parse_pairs(
    source: Source, report: Report, start: int, lines: Sequence[str]
) -> list[tuple[str, Any]]:
    """Parse a JSON object over any number of lines; repeated keys are all kept.

    Args:
        source: the file, for its name.
        report: receives the refusal, with its line, if this is invalid JSON.
        start: number of the first of the lines.
        lines: the text of the object.

    Returns:
        Keys with their values in file order. Inner objects are tuples of such pairs. Empty if the
        file is refused.
    """
    load = partial(json.loads, object_pairs_hook=tuple)
    return list(_parse_whole(source, report, start, lines, load))


def parse_list(
    source: Source,
    report: Report,
    start: int,
    lines: Sequence[str],
    begins: re.Pattern[str],
    form: str,
) -> list[tuple[int, Any]]:
    """Parse a JSON list over any number of lines; see `parse_pairs`.

    Args:
        begins: matches the beginning of such a list.
        form: its items, for messages.

    Returns:
        The line on which each item begins, and the item. Empty if the file is refused.
    """
    parse = partial(_items_of, begins, form)
    return [
        (start + line, item) for line, item in _parse_whole(source, report, start, lines, parse)
    ]


def _parse_whole(
    source: Source,
    report: Report,
    start: int,
    lines: Sequence[str],
    parse: Callable[[str], Iterable[Any]],
) -> Iterable[Any]:
    report.whole(source.name)
    text = "\n".join(lines)
    try:
        parse_json(text)
        return parse(text)
    except Refused as refused:
        place = refused.__cause__
        line = start + place.lineno - 1 if isinstance(place, json.JSONDecodeError) else start
        report.refuse(source.name, line, refused.code, str(refused))
    except RecursionError:
        report.refuse(source.name, start, "limit-exceeded", "the objects are nested too deeply")
    return []


def _items_of(begins: re.Pattern[str], form: str, text: str) -> list[tuple[int, Any]]:
    if not begins.match(text):
        raise Refused(
            "not-a-list", f"not a JSON list of {form}; write other objects one per line (JSONL)"
        )
    decoder, items = json.JSONDecoder(), list[tuple[int, Any]]()
    line, at, end = 0, 0, text.index("[") + 1
    while text[begin := _GAP.match(text, end).end()] != "]":  # type: ignore[union-attr]
        item, end = decoder.raw_decode(text, begin)
        line, at = line + text.count("\n", at, begin), begin
        items.append((line, item))
    return items


_GAP = re.compile(r"[\s,]*")
LIST = re.compile(r"\s*\[\s*([\[{\]]|$)")
"""The beginning of a JSON list that is not a table row."""


def peek_text(source: Source, size: int) -> str | None:
    """Return the first characters of a file, decompressed, for detecting its kind; None if it is
    unreadable.
    """
    try:
        read = b""
        for chunk in _convert_to_utf8(_expand_content(source, Limits())):
            read += chunk
            if len(read) >= size:
                break
    except (_Broken, OSError):
        return None
    return read[:size].decode(errors="ignore")


def good_id(value: object, what: str) -> str:
    """Return an id as text; whole numbers in JSON count as ids.

    Args:
        value: the value in the file.
        what: the kind of thing that it identifies, for the message.

    Raises:
        Refused: it is empty, longer than 512 characters, has control characters, or is not an id at
            all. White space is refused if the id is one column of a TREC file.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        raise Refused("id-missing", f"the {what} id is missing")
    if not isinstance(value, str):
        raise Refused("invalid-id", f"the {what} id is not a text")
    if value.isprintable() and " " not in value and 0 < len(value) <= LONGEST_ID:
        # The fast path for nearly every id.
        return value
    if not value or value.isspace():
        raise Refused("empty-id", f"the {what} id is empty")
    if fault := fault_of_id(value, what in ONE_COLUMN):
        raise Refused("invalid-id", f"the {what} id {quote_name(value)} {fault}")
    return value


def good_text(value: object, what: str) -> str:
    """Return a text that is not blank.

    Raises:
        Refused: it is missing, blank, or not a text.
    """
    if value is None:
        raise Refused("value-missing", f"the {what} is missing")
    if not isinstance(value, str):
        raise Refused("not-a-text", f"the {what} is not a text")
    if not value or value.isspace():
        raise Refused("empty-value", f"the {what} is empty")
    return value


def first_of(row: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of the first of several keys that an object has, or None."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def value_of(row: dict[str, Any], keys: Sequence[str], what: str) -> Any:
    """Return the value of the first of several keys that an object has.

    Raises:
        Refused: it lacks all of them; the message names the keys that it has.
    """
    value = first_of(row, keys)
    if value is None:
        has = ", ".join(map(str, list(row)[:KEYS_NAMED])) or "nothing"
        raise Refused(
            "value-missing",
            f"the {what} is missing; the line has {has}; use one of {', '.join(keys)}",
        )
    return value


def note_unread(
    row: dict[str, Any], groups: Iterable[Sequence[str]], file: str, line: int, report: Report
) -> None:
    """Note the unread text fields of an object, except a text that is also read under another key.

    Args:
        groups: groups of keys; the first key of a group that the object has is read.
    """
    read = {next((key for key in keys if row.get(key) is not None), "") for keys in groups}
    for key, value in row.items():
        if key in read or not isinstance(value, str) or not value.strip():
            continue
        if all(value != row.get(other) for other in read):
            report.remark(file, line, "unknown-field", f"the field {key} is ignored")


def open_rows(
    lines: Iterator[tuple[int, str]],
    file: str,
    report: Report,
    keys: tuple[Sequence[str], Sequence[str]],
    of_cells: Callable[[str], dict[str, Any]],
    exact: bool = False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read lines as objects: JSON objects, or the rows of a table with or without a header.
    Quotation marks are special between commas and semicolons. Between tabs they are text.

    Args:
        lines: with their numbers; blank ones are left out.
        report: receives refused lines.
        keys: possible names of the id, and of the text. A first line that has one of each is a
            header.
        of_cells: reads a line of a table without a header.
        exact: whether cells of a table with a header keep their blanks.
    """
    first = next((each for each in lines if each[1] and not each[1].isspace()), (0, ""))
    of_line: Callable[[str], dict[str, Any]] = parse_object
    lines = chain([first], lines)
    if not first[1].lstrip().startswith("{"):
        of_line, lines = of_cells, _note_quoted(lines, file, report)
        try:
            separator, names = header_of(first[1])
            is_header = separator != "" and not set(names).isdisjoint(keys[0])
            if is_header:
                value_of(dict.fromkeys(names, ""), keys[1], "column of texts")
                check_names(names)
        except Refused as refused:
            report.refuse(file, first[0], refused.code, str(refused))
            return
        if is_header:
            number, _ = next(lines)
            report.remark(file, number, "header", "the line is a header")
            if separator != "\t" or len(names) > 2 or names[0] not in keys[0]:
                yield from _table_rows(lines, number, names, separator, exact, file, report)
                return
    for number, line in lines:
        if not line or line.isspace():
            continue
        # As `report_refusals` does, without its costs for each line of large files.
        try:
            yield number, of_line(line)
        except Refused as refused:
            report.refuse(file, number, refused.code, str(refused))


_QUOTED = re.compile(r'\t *"[^\t]*" *(?=[\t\r]|$)')
"""A cell after a tab that a spreadsheet may have quoted."""


def _note_quoted(
    lines: Iterator[tuple[int, str]], file: str, report: Report
) -> Iterator[tuple[int, str]]:
    """Yield lines, and note those with a quoted cell between tabs."""
    for number, line in lines:
        if '"' in line and _QUOTED.search(line):
            reason = "a text is in quotation marks; between tabs, they are part of the text"
            report.remark(file, number, "quotation-marks-kept", reason)
        yield number, line


def check_names(names: Sequence[str]) -> None:
    """Refuse column names or keys that occur more than once.

    Raises:
        Refused: one does, apart from columns without a name.
    """
    if twice := [name for name, times in Counter(names).items() if name and times > 1]:
        raise Refused("duplicate-name", f"{first_few(twice)} occurs several times; keep one")


def _table_rows(
    lines: Iterator[tuple[int, str]],
    at: int,
    names: Sequence[str],
    separator: str,
    exact: bool,
    file: str,
    report: Report,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows below a header without empty cells; quoted cells may contain line ends."""

    def yield_texts() -> Iterator[str]:
        nonlocal at
        for number, line in lines:
            at = number
            check_cells(line, separator)
            yield line + "\n"

    csv.field_size_limit(read_limit("CELL"))
    rows = csv.reader(
        yield_texts(),
        delimiter=separator,
        strict=True,
        quoting=csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL,
    )
    number = at + 1
    try:
        for cells in rows:
            cells = cells if exact else [cell.strip() for cell in cells]
            if len(cells) == len(names):
                yield number, {name: cell for name, cell in zip(names, cells, strict=True) if cell}
            elif any(cells):
                report.refuse(
                    file,
                    number,
                    "wrong-number-of-columns",
                    f"the row has {len(cells)} cells; the header has {len(names)}",
                )
            number = at + 1
    except csv.Error as error:
        long = "field larger than field limit" in str(error)
        reason = (
            describe_exceeded("a cell is longer than", "CELL", read_limit("CELL"))
            if long
            else f"invalid CSV: {error}"
        )
        report.refuse(file, number, "invalid-csv", reason)
    except Refused as refused:
        report.refuse(file, at, refused.code, str(refused))


SEPARATORS = "\t;,"


def header_of(line: str, below: str = "") -> tuple[str, list[str]]:
    """Return the separator of a table's first line, and its cells as keys of a JSON object.

    The separator is a tab if the line has one, else the semicolon or comma that the line below also
    has, else the more frequent of both, else white space (empty).

    Raises:
        Refused: the line cannot be split, or begins a JSON list.
    """
    if LIST.match(line):
        raise Refused("not-a-table", "a JSON list; write one object per line (JSONL)")
    signs = (sign for sign in SEPARATORS if sign in line)
    separator = max(
        signs, key=lambda sign: (sign == "\t", sign in below, line.count(sign)), default=""
    )
    return separator, [re.sub("[ -]", "_", cell.lower()) for cell in cells_of(line, separator)]


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of a table line, stripped. Quotation marks are special between commas and
    semicolons.

    Args:
        separator: empty for white space.

    Raises:
        Refused: a quotation mark is not closed, or there are too many cells.
    """
    if not separator:
        return line.split()
    check_cells(line, separator)
    if separator == "\t":
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except csv.Error as fault:
        raise Refused("invalid-csv", f"invalid CSV: {fault}") from fault


def open_cells(
    lines: Iterable[tuple[int, str]], file: str, report: Report
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the lines of a table with their numbers and cells, separated as in the first line,
    without blank lines.

    Args:
        report: receives lines that cannot be split.
    """
    separator: str | None = None
    filled = ((number, line) for number, line in lines if line and not line.isspace())
    first = list(islice(filled, 2))
    for number, line in chain(first, filled):
        with report_refusals(report, file, number):
            if separator is None:
                separator, _ = header_of(line, first[-1][1])
            yield number, line, cells_of(line, separator)
        if separator is None:
            return


def number_in(cell: str) -> float | None:
    """Return the number in a cell, which may be nan or inf; None without a number. Underscores
    and digits of other scripts, which Python reads, are not numbers in files.
    """
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def is_number(cell: str) -> bool:
    """Return whether a cell holds a number, as `number_in`."""
    return number_in(cell) is not None


def describe_cell(cell: str) -> str:
    """Return a cell that should be a number, for a message, with a hint on decimal commas."""
    comma = "," in cell and is_number(cell.replace(",", ".", 1))
    return (
        f"{cell[:40]!r}, a number with a decimal comma; use a point"
        if comma
        else f"{cell[:40]!r}, not a finite number"
    )


def _not_utf8(error: UnicodeDecodeError) -> str:
    return (
        f"byte 0x{error.object[error.start]:02x} at position {error.start + 1} is not valid UTF-8"
    )


def read_small(path: Path) -> bytes:
    """Return the content of a small file that a command is given: a prompt, a manifest, examples.

    Raises:
        InputError: it is not a regular file, is too large, or cannot be read.
    """
    most = read_limit("SMALL_FILE")
    try:
        with open(path, "rb", opener=_open_regular) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(
            "cannot-read-file", f"{path}: the file cannot be read ({error.strerror or error})."
        ) from error
    if len(content) > most:
        raise InputError(
            "file-too-large",
            f"{path}: {describe_exceeded('the file is longer than', 'SMALL_FILE', most)}.",
        )
    return content


def read_small_text(path: Path) -> str:
    """Return the text of a small file, with every line end as a line feed; see `read_small`.

    Raises:
        InputError: as `read_small`.
        UnicodeDecodeError: it is not in UTF-8.
    """
    return io.TextIOWrapper(io.BytesIO(read_small(path)), encoding="utf-8").read()


_IRREGULAR = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _open_regular(path: str, flags: int) -> int:
    """Open a regular file. Devices and pipes are refused, since they may never end."""
    # Opening a pipe must not block.
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = next((name for is_it, name in _IRREGULAR if is_it(mode)), "something else")
        raise OSError(f"{kind}, not a regular file")
    return handle


def _open_source(source: Source) -> io.BufferedReader:
    if source.data is not None:
        return io.BufferedReader(io.BytesIO(source.data))
    if source.path is None:
        raise _Broken("empty-file", "the file has no content")
    return open(source.path, "rb", opener=_open_regular)


def _expand_content(source: Source, limits: Limits) -> Iterator[bytes]:
    with _open_source(source) as raw:
        head = raw.peek(8)[:8]
        if head.startswith(GZIP_MAGIC):
            yield from _expand_gzip(raw, limits, plain=len(head) > 3 and not head[3] & ~USUAL_FLAGS)
            return
        if source.name.lower().endswith(".gz"):
            raise _Broken("not-gzip", "the name ends in .gz, but the file is not a gzip file")
        for magic, what in OTHER_MAGIC.items():
            if head.startswith(magic):
                raise _Broken("file-of-another-kind", f"the file is {what}")
        read = 0
        while chunk := raw.read(CHUNK):
            read += len(chunk)
            limits.check(read, "the file is longer than", "file")
            yield chunk


def _expand_gzip(raw: IO[bytes], limits: Limits, plain: bool) -> Iterator[bytes]:
    """Expand gzip data.

    Args:
        plain: whether the header of the first member has only `USUAL_FLAGS`. isal reads other
            headers differently from zlib.
    """
    packed = expanded = 0
    members = 1
    # isal takes a third of zlib's time. Most files have one member.
    member = isal_zlib.decompressobj(wbits=31) if plain else zlib.decompressobj(wbits=31)
    try:
        while chunk := raw.read(PACKED_CHUNK):
            packed += len(chunk)
            limits.check(packed, "the file is longer than", "file")
            while chunk:
                if member.eof:
                    chunk = chunk.lstrip(b"\0")
                    if not chunk:
                        break
                    members += 1
                    limits.check(members, "the gzip data has more than", "members")
                    member = zlib.decompressobj(wbits=31)
                data = member.decompress(chunk, CHUNK)
                expanded += len(data)
                limits.check(expanded, "the gzip data expands to more than", "expanded")
                if expanded > RATIO_AFTER and expanded > limits.ratio * packed:
                    reason = describe_exceeded(
                        "the gzip data expands to more than", "RATIO", limits.ratio
                    )
                    raise _Broken("limit-exceeded", reason.replace("times", "times its size", 1))
                yield data
                chunk = member.unused_data if member.eof else member.unconsumed_tail
    except (zlib.error, _DAMAGED) as error:
        raise _Broken("damaged-gzip", "the gzip data is damaged") from error
    if not member.eof:
        yield member.flush()
    if not member.eof:
        raise _Broken("cut-off-gzip", "the gzip data ends too early; the file may be cut off")


def _convert_to_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    if not first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    try:
        yield from (text.encode() for text in codecs.iterdecode(chain([first], chunks), "utf-16"))
    except UnicodeDecodeError as error:
        raise _Broken("not-utf16", "the file begins like UTF-16 but is not valid UTF-16") from error


Form = Literal["list", "record", "map", "columns", "cells", "name"]
"""How the beginning of a file can be read: a JSON list, the first object of JSONL, a JSON map,
columns separated by white space, or cells of a table. `name` uses the file's name only."""

WORDS = r'"(?:[^"\\]|\\.)*"'
PEEKED = 1 << 16
LINES = 40
KEY = WORDS + r"\s*:\s*"
ENTRY = r"\{\s*" + KEY
"""Patterns of JSON that may be cut off: a text, a key, and the beginning of a map up to its first
value.
"""


@dataclass(frozen=True)
class FileBeginning:
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
    def from_source(cls, source: Source) -> FileBeginning | None:
        """Return the beginning of a file; None if all its lines are blank."""
        text = peek_text(source, PEEKED) or ""
        lines = text.split("\n")
        if len(lines) > 1 and len(text.encode()) >= PEEKED:
            lines.pop()
        lines = [line for line in lines if line.strip()][:LINES]
        return cls(source.file.lower(), text.lstrip(), lines) if lines else None

    def has_extension(self, *extensions: str) -> bool:
        """Return whether the name has one of these extensions, with or without .gz."""
        return self.name.removesuffix(".gz").endswith(
            tuple(f".{extension}" for extension in extensions)
        )

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
        """The first line's cells as column names, with any separator; empty if it is not a table
        line.
        """
        try:
            return header_of(*self.lines[:2])[1]
        except Refused:
            return []

    @cached_property
    def cells(self) -> list[list[str]]:
        """The cells of each line, separated as in the first; a line is one cell if it cannot be
        split.
        """
        try:
            separator = header_of(*self.lines[:2])[0]
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
    looks_like: Mapping[Form, Callable[[FileBeginning], bool]]
    judges: bool = False
    source: str | None = None

    def source_name(self, file: Source) -> str:
        """Return the proposed source name for the judgments or leaderboards of a file."""
        return self.source or file.stem
