"""Texts of answers and passages in the forms in which they are compared: normalised, as words, as shingles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...text import without_citations

NEAR = 0.9
"""The similarity from which two passages count as the same text (llm-reteval specification, sections 7 and 8)."""
SHINGLE = 5
"""Words per shingle."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_JOINED = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d),(?=\d{3}(?!\d))|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_POINT = r"(?<!\d)\.|\.(?!\d)"
_PUNCTUATION = re.compile(
    rf"{_POINT}|[!-\-/:-@\[-`{{-~¡«·»¿\u2010-\u2027\u2030-\u205e\u3001-\u301f！-／：-＠［-｀｛-･]"
)


@lru_cache(maxsize=50_000)
def plain(text: str) -> str:
    """Return a text for word checks: lower case, without citation marks and articles, words separated by one space.

    Punctuation separates words, except in U.S., don't, 1,000 and 3.5. Source: after Rajpurkar et al., SQuAD, EMNLP
    2016. Their evaluation script deletes punctuation instead, so that "Paris/Lutetia" is one word.
    """
    words = _PUNCTUATION.sub(" ", _JOINED.sub("", without_citations(text).lower()))
    return " ".join(_ARTICLES.sub(" ", words).split())


def contains(text: str, part: str) -> bool:
    """Return whether a text contains another's words in sequence, both normalised by `plain`; False for empty words."""
    wanted = plain(part)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def containing(passages: Sequence[str], answers: Sequence[str]) -> int | None:
    """Return the position, from 0, of the first passage that contains one of the answers, or None."""
    return next((at for at, text in enumerate(passages) if any(contains(text, one) for one in answers)), None)


def shingles(text: str) -> frozenset[str]:
    """Return the runs of five words of a normalised text, or the whole text if it is shorter."""
    words = plain(text).split()
    return frozenset(" ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1))) - {""}


def likeness(passages: Sequence[str], gold: Sequence[str], cosines: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Return the similarity of each passage to each gold passage.

    It is 1 if they are equal after normalisation. Otherwise it is the Jaccard similarity |A ∩ B| / |A ∪ B| of their
    shingles, or the cosine of their vectors if larger.
    Source: llm-reteval specification, sections 7 and 8 (case B).

    Args:
        passages, gold: p and g texts.
        cosines: of their sentence vectors, (p, g); None compares only words.

    Returns:
        Numbers up to 1, (p, g). Texts without words have similarity 0.
    """
    left, right = [shingles(text) for text in passages], [shingles(text) for text in gold]
    found = np.zeros((len(passages), len(gold)))
    for row, one in enumerate(left):
        for column, other in enumerate(right):
            union = len(one | other)
            if plain(passages[row]) == plain(gold[column]):
                found[row, column] = float(bool(one))
            elif union:
                found[row, column] = len(one & other) / union
    return found if cosines is None else np.maximum(found, np.asarray(cosines, np.float64))
