"""Ratings of passages that are asked the same questions, read from the bytes of a line without parsing each anew.

A line of a graded file says for each of its passages what every question was rated, and names all the questions again.
Where one such list was parsed, another one that has the same bytes but for its ratings needs no parser: its ids are
known, and its ratings are the digits at the same places. That is a third of the work of reading a file.
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
"""Ids of questions and what they were rated, a byte each."""

KEY = b'"self_ratings"'
_BEGINNINGS = (KEY + b":[", KEY + b": [")
"""How a list begins in files of this program and of Python's own JSON; in a text the quotes would be escaped."""
_RATING = re.compile(rb'"self_rating": ?([0-9])\}')
_IDS = ({"question_id", "self_rating"}, {"nugget_id", "self_rating"})
_ZERO = ord("0")
MOST = 64
"""Different lists of a line that are looked at; where each passage is asked something else there is nothing to gain."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A list that was parsed.

    Args:
        ids: of its questions.
        given: the list without brackets.
        places: of the ratings in it.
    """

    ids: list[str]
    given: bytes
    places: np.ndarray


class RepeatedRatings:
    """Takes lists of ratings out of lines."""

    def __init__(self) -> None:
        # Nobody who writes a file knows it, so that nothing in a file can pass for a list that was taken out.
        self._token = secrets.token_hex(16)

    def taken_out(self, line: bytes) -> tuple[bytes, dict[str, Read]]:
        """A line with names in place of its lists of ratings, and what was rated by these names.

        Where the line is no valid JSON it is none afterwards; where it is, it says the same. A list that is not in the
        usual form stays where it is.
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
    """Where lists stand in a line, without their brackets: what stands in one is not looked through for the next."""
    start = end = 0
    while (start := line.find(beginning, end) + len(beginning)) >= len(beginning):
        end = line.find(b"]", start)
        if end < 0:
            return
        yield start, end


def _read(lists: Sequence[bytes]) -> dict[int, Read]:
    """What lists say that are like one of the first of them, by their places."""
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
        # What is below "0" is great, too, as these numbers have no sign.
        rated: list[bool] = np.all(ratings <= 9, axis=1).tolist()
        # With the same ratings they have to be the same bytes, and these are compared faster than numbers are.
        signs[:, known.places] = np.frombuffer(known.given, np.uint8)[known.places]
        rows, size = ratings.tobytes(), len(known.ids)
        for place, number in enumerate(numbers):
            if rated[place] and all_of_them.startswith(known.given, place * length):
                found[number] = known.ids, rows[place * size : (place + 1) * size]
    return dict(sorted(found.items()))


def _learnt(given: bytes) -> _Known | None:
    """A list that is in the usual form: each question's id, which is not empty, and its rating of one digit."""
    if b"\\u0000" in given:
        # Nobody looks for it in what was taken out.
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
