"""BM25: a ranking of passages by the words that they share with a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..text import normalise

K1, B = 1.2, 0.75


class BM25:
    """An index of passages.

    The score of a passage d for a question q is a sum over the words w of q:
    idf(w) · f / (f + k1 · (1 − b + b · |d| / mean length)). f is the frequency of w in d.
    idf(w) = ln(1 + (N − n + 0.5) / (n + 0.5)) with n of N passages that have w. A word that q has twice counts twice.
    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, in the form of Lucene.
    Words are those of `text.normalise`: lower case, without stop words, stemmed.

    Args:
        texts: of N passages.
        k1, b: saturation of word frequency, and penalty for long passages.
    """

    def __init__(self, texts: Sequence[str], k1: float = K1, b: float = B) -> None:
        counts = [Counter(normalise(text).split()) for text in texts]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        shrink = k1 * (1 - b + b * lengths / max(float(lengths.mean()) if len(texts) else 0.0, 1.0))
        places: dict[str, tuple[list[int], list[int]]] = {}
        for row, count in enumerate(counts):
            for word, times in count.items():
                rows, frequencies = places.setdefault(word, ([], []))
                rows.append(row)
                frequencies.append(times)
        self._size = len(texts)
        self._words: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for word, (rows, frequencies) in places.items():
            at = np.array(rows, dtype=np.int64)
            f = np.array(frequencies, dtype=np.float64)
            idf = np.log1p((self._size - len(at) + 0.5) / (len(at) + 0.5))
            self._words[word] = at, idf * f / (f + shrink[at])

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every passage (N), 0 for those that share no word with the question."""
        found = np.zeros(self._size)
        for word in normalise(question).split():
            if word in self._words:
                at, weights = self._words[word]
                found[at] += weights
        return found
