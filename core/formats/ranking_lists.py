"""Lists of what runs rank, read from the bytes of a line by columns.

A line of a graded file says for each of its passages where every run has it: of many runs these are most of what there
is, and an object for each entry costs three times what its columns do.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

KEY = b'"rankings"'
_BEGINNINGS = (KEY + b":[", KEY + b": [")
"""How a list begins in files of this program and of Python's own JSON; in a text the quotes would be escaped."""
_BETWEEN = (b"},{", b"}, {")
"""What stands between its entries there."""

_NEEDED = ("method", "rank", "score")
LEAST = 1 << 20
"""Bytes of a line from which lists are taken out: the objects of a shorter one fit into a core's cache."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of some lists, in columns.

    Args:
        sizes: how many entries each list has.
        runs: their names, in the order in which they are first named.
        run: places among these.
        queries: what entries name as their query; None where one names none.
        rank, score: as they are stated.
    """

    sizes: list[int]
    runs: list[str]
    run: NDArray[np.int32]
    queries: set[str | None]
    rank: NDArray[np.int64]
    score: NDArray[np.float64]


class RankingLists:
    """Takes lists of rankings out of the lines of a file, for as long as they are in the usual form."""

    def __init__(self) -> None:
        # Nobody who writes a file knows it, so that nothing in a file can pass for a list that was taken out.
        self._token = secrets.token_hex(16)
        self.usual = True

    def taken_out(self, line: bytes) -> tuple[bytes, dict[str, bytes]]:
        """A line with names in place of its lists of rankings, and the lists without their brackets by these names.

        Where the line is no valid JSON, it or a list is none afterwards; where it is, they say the same.
        """
        if not self.usual or len(line) < LEAST:
            return line, {}
        beginning = next((one for one in _BEGINNINGS if one in line), None)
        if beginning is None:
            return line, {}
        first, *pieces = line.split(beginning)
        parts, taken = [first], dict[str, bytes]()
        for number, piece in enumerate(pieces):
            name, end = f"{self._token} {number}", piece.find(b"]")
            taken[name] = piece[:end]
            parts += (KEY, f':"{name}"'.encode(), piece[end + 1 :])
        return b"".join(parts), taken


def entries_of(lists: Sequence[bytes]) -> Entries | None:
    """The entries of some lists; None where anything in one is not in the usual form, or no valid JSON.

    Args:
        lists: the bytes of JSON arrays without their brackets.
    """
    # Of a list that begins with null Arrow's reader breaks down, and where a list ends it sees no end of an entry.
    if not all(not given or (given.startswith(b"{") and given.endswith(b"}")) for given in lists):
        return None
    between = next((one for one in _BETWEEN if any(one in given for given in lists)), _BETWEEN[0])
    sizes = [given.count(between) + 1 if given else 0 for given in lists]
    # Within a text the end of a line is no valid JSON, so that only entries are parted by it.
    table = _table(b"\n".join(lists).replace(between, b"}\n{"))
    if table is None or len(table) != sum(sizes) or any(table[name].null_count for name in _NEEDED):
        return None
    method = table["method"].dictionary_encode().combine_chunks()
    return Entries(
        sizes=sizes,
        runs=method.dictionary.to_pylist(),
        run=method.indices.to_numpy(),
        queries=set(table["queryId"].unique().to_pylist()),
        rank=table["rank"].to_numpy(),
        score=table["score"].to_numpy(),
    )


def _table(entries: bytes) -> pa.Table | None:
    """Entries, one a line; None where one has further fields or a value of another type.

    Signs beyond ASCII may be no UTF-8, and escaped ones may stand for some that no name may have, which nobody looks at
    here.
    """
    import pyarrow as pa
    from pyarrow import json

    if b"\\" in entries or not entries.isascii() or not entries:
        return None
    fields = {"method": pa.string(), "paragraphId": pa.string(), "queryId": pa.string()}
    numbers = {"rank": pa.int64(), "score": pa.float64()}
    how = json.ParseOptions(explicit_schema=pa.schema({**fields, **numbers}), unexpected_field_behavior="error")
    try:
        # All in one block: each has a dictionary of its own.
        return json.read_json(
            pa.BufferReader(entries), json.ReadOptions(use_threads=False, block_size=len(entries) + 1), how
        )
    except pa.ArrowInvalid:
        return None
