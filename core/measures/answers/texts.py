"""Texts of answers and passages as they are compared: normalised, as words, as shingles."""

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
"""Words of a shingle."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_JOINED = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d),(?=\d{3}(?!\d))|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_POINT = r"(?<!\d)\.|\.(?!\d)"
_PUNCTUATION = re.compile(
    rf"{_POINT}|[!-\-/:-@\[-`{{-~¡«·»¿\u2010-\u2027\u2030-\u205e\u3001-\u301f！-／：-＠［-｀｛-･]"
)


@lru_cache(maxsize=50_000)
def plain(text: str) -> str:
    """A text as word checks compare it: lower case, without citation marks and articles, words parted by one space.

    Punctuation parts words, except in U.S., don't, 1,000 and 3.5. Source: after Rajpurkar et al., SQuAD, EMNLP 2016,
    whose evaluation script deletes punctuation, so that "Paris/Lutetia" is one word.
    """
    words = _PUNCTUATION.sub(" ", _JOINED.sub("", without_citations(text).lower()))
    return " ".join(_ARTICLES.sub(" ", words).split())


def contains(text: str, part: str) -> bool:
    """Whether the words of one text stand together in another, both normalised as by `plain`; nothing is in nothing."""
    wanted = plain(part)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def containing(passages: Sequence[str], answers: Sequence[str]) -> int | None:
    """The place of the first passage that has one of the answers in it, from 0; None where none has."""
    return next((at for at, text in enumerate(passages) if any(contains(text, one) for one in answers)), None)


def shingles(text: str) -> frozenset[str]:
    """The runs of five words of a normalised text; the whole of it where it has fewer."""
    words = plain(text).split()
    return frozenset(" ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1))) - {""}


def likeness(passages: Sequence[str], gold: Sequence[str], cosines: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """How alike each passage is to each gold passage: 1 where they are equal when normalised, else the Jaccard
    similarity |A ∩ B| / |A ∪ B| of their shingles, or the cosine of their vectors where that is larger.

    Source: llm-reteval specification, sections 7 and 8 (case B).

    Args:
        passages, gold: p and g texts.
        cosines: of their sentence vectors, (p, g); None where only words are compared.

    Returns:
        Numbers up to 1, (p, g). Texts without any word are like nothing.
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
