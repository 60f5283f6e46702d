"""Places of extracted answers in a passage, and the text cut at their edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int]
"""First character, and the one after the last."""

SEARCHED_LOOSELY = 2_000
"""Longest answer, in characters, that is also searched ignoring case and white space."""


@dataclass(frozen=True)
class Segment:
    """A piece of a text.

    Args:
        text: the piece; all pieces in order are the text.
        inside: places, in the list of spans, of those that cover the piece.
        ending: those of them that end with it.
    """

    text: str
    inside: tuple[int, ...] = ()
    ending: tuple[int, ...] = ()


def find_answer(text: str, answer: str | None) -> Span | None:
    """Return the first place of an answer in a text: as it is, else ignoring case and white space.

    An answer without any letter or digit is not searched, nor is a part of a word: it would be found anywhere.
    """
    words = (answer or "").split()
    if not any(character.isalnum() for word in words for character in word):
        return None
    loose = len(answer or "") <= SEARCHED_LOOSELY
    pattern = r"\s+".join(re.escape(word) for word in words) if loose else re.escape((answer or "").strip())
    # In scripts that separate words by spaces, an adjacent letter means another word.
    if _joins(words[0][0]):
        pattern = r"(?<![^\W_])" + pattern
    if _joins(words[-1][-1]):
        pattern += r"(?![^\W_])"
    found = re.search(pattern, text) or (re.search(pattern, text, re.IGNORECASE) if loose else None)
    return found.span() if found else None


def _joins(character: str) -> bool:
    return character.isalnum() and ord(character) < 0x2E80


def segments(text: str, spans: Sequence[Span]) -> list[Segment]:
    """Cut a text at the edges of spans, which may overlap, touch and nest.

    Args:
        spans: within the text, not empty.
    """
    edges = sorted({0, len(text), *(edge for span in spans for edge in span)})
    return [
        Segment(
            text[start:end],
            tuple(i for i, (first, last) in enumerate(spans) if first <= start and end <= last),
            tuple(i for i, (_, last) in enumerate(spans) if last == end),
        )
        for start, end in pairwise(edges)
    ]
