"""Positions of extracted answers in a passage, and the division of the text at their edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int]
"""Position of the first character, and the position after the last character."""

SEARCHED_LOOSELY = 2_000
"""Maximum number of characters of an answer that is also searched without regard to case and white space."""


@dataclass(frozen=True)
class Segment:
    """A piece of a text.

    Args:
        text: the piece; all pieces, joined in order, are the text.
        inside: indexes of the spans that cover the piece.
        ending: indexes of the spans that end with the piece.
    """

    text: str
    inside: tuple[int, ...] = ()
    ending: tuple[int, ...] = ()


def find_answer(text: str, answer: str | None) -> Span | None:
    """Return the first position of an answer in a text: unchanged, or else ignoring case and white space.

    An answer without letters and digits is not searched, because it would be found anywhere. A match must not begin or
    end within a word.
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
        spans: spans within the text; no span is empty.
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
