"""Ratings of passages with the same questions, read from the bytes of a line without parsing each list.

For each passage, a line of a graded file lists the ratings and repeats all question ids. Once one such list is
parsed, any list with the same bytes except for its ratings needs no parser: its ids are known, and its ratings are
the digits at the same places. This saves a third of the work of reading a file.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import orjson

Read = tuple[list[str], bytes]
"""Ids of questions and their ratings, one byte each."""

KEY = b'"self_ratings"'
_BEGINNINGS = (KEY + b":[", KEY + b": [")
"""Beginnings of a list in files of this program and of Python's own JSON. Inside a text the quotes would be escaped."""
_RATING = re.compile(rb'"self_rating": ?([0-9])\}')
_IDS = ({"question_id", "self_rating"}, {"nugget_id", "self_rating"})
_ZERO = ord("0")
MOST = 64
"""Maximum number of different lists of a line that are compared; more are not worth the comparison."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A parsed list.

    Args:
        ids: ids of its questions.
        given: the list without brackets.
        places: positions of the ratings in `given`.
    """

    ids: list[str]
    given: bytes
    places: np.ndarray


class RepeatedRatings:
    """Cuts lists of ratings out of lines."""

    def __init__(self) -> None:
        # The token is secret, so that no text of a file can pass for a list that was cut out.
        self._token = secrets.token_hex(16)

    def taken_out(self, line: bytes) -> tuple[bytes, dict[str, Read]]:
        """Return a line with placeholder names for its lists of ratings, and the ratings by these names.

        A valid JSON line keeps its meaning; an invalid one stays invalid. A list that is not in the usual form stays
        in the line.
        """
        beginning = next((one for one in _BEGINNINGS if one in line), None)
        if beginning is None:
            return line, {}
        places = list(_places(line, beginning))
        found = _read([line[start:end] for start, end in places])
        parts, taken, after = list[bytes](), dict[str, Read](), 0
        for number, read in found.items():
            start, end = places[number]
            name = f"{self._token} {number}"
            taken[name] = read
            parts += (line[after : start - len(beginning)], KEY, f':"{name}"'.encode())
            after = end + 1
        return b"".join([*parts, line[after:]]), taken


def _places(line: bytes, beginning: bytes) -> Iterator[tuple[int, int]]:
    """Yield begin and end of lists in a line, without their brackets. The inside of a list is not searched."""
    start = end = 0
    while (start := line.find(beginning, end) + len(beginning)) >= len(beginning):
        end = line.find(b"]", start)
        if end < 0:
            return
        yield start, end


def _read(lists: Sequence[bytes]) -> dict[int, Read]:
    """Return the content of the lists that are like one of the first `MOST` different lists, by their positions."""
    alike: dict[tuple[int, bytes], list[int]] = {}
    for number, given in enumerate(lists):
        alike.setdefault((len(given), given[: given.find(b",")]), []).append(number)
    found: dict[int, Read] = {}
    for (length, _), numbers in islice(alike.items(), MOST):
        known = _learnt(lists[numbers[0]])
        if known is None:
            continue
        all_of_them = bytearray().join([lists[number] for number in numbers])
        signs = np.frombuffer(all_of_them, np.uint8).reshape(-1, length)
        ratings = signs[:, known.places] - _ZERO
        # The numbers are unsigned, so characters below "0" become large numbers.
        rated: list[bool] = np.all(ratings <= 9, axis=1).tolist()
        # Give all lists the same ratings. Then equal lists have equal bytes, and bytes are compared faster than
        # numbers.
        signs[:, known.places] = np.frombuffer(known.given, np.uint8)[known.places]
        rows, size = ratings.tobytes(), len(known.ids)
        for place, number in enumerate(numbers):
            if rated[place] and all_of_them.startswith(known.given, place * length):
                found[number] = known.ids, rows[place * size : (place + 1) * size]
    return dict(sorted(found.items()))


def _learnt(given: bytes) -> _Known | None:
    """Return a list that is in the usual form: each question's id, which is not empty, and a one-digit rating."""
    if b"\\u0000" in given:
        # A list that is cut out is not checked for NUL characters, so one with a NUL stays in the line.
        return None
    try:
        rows: list[Any] = orjson.loads(b"[" + given + b"]")
    except orjson.JSONDecodeError:
        return None
    places = np.array([found.start(1) for found in _RATING.finditer(given)], int)
    if not rows or len(places) != len(rows) or not all(isinstance(row, dict) and row.keys() in _IDS for row in rows):
        return None
    ids = [row.get("question_id", row.get("nugget_id")) for row in rows]
    if not all(isinstance(one, str) and one for one in ids):
        return None
    return _Known(ids, given, places)
