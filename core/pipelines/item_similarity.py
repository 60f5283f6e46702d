"""Similarities of the texts of an item: Jaccard over n-grams of its source, over words, and ROUGE-L."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def words(text: str) -> list[str]:
    """Return the words of a text for the item filters: in lower case, separated by white space."""
    return text.lower().split()


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the multiset Jaccard similarity |a∩b| / |a∪b| of two lists of words; 0 if both are empty."""
    a, b = Counter(one), Counter(other)
    union = (a | b).total()
    return (a & b).total() / union if union else 0.0


def nearest_gram(source: Sequence[str], text: Sequence[str], n: int) -> tuple[float, str]:
    """Return J_n of a source and a text: the largest Jaccard similarity of the text and an n-gram of the source; the
    n-gram.

    Source: exam-generation-irt, A.2. A source of fewer than n words is one n-gram. The first of equally near ones
    counts.

    Args:
        source, text: words.
        n: words of an n-gram, from 1.
    """
    if not source or not text:
        return 0.0, ""
    n = min(max(n, 1), len(source))
    wanted = Counter(text)
    seen: Counter[str] = Counter()
    common = best = best_end = 0
    for end, word in enumerate(source):
        common += seen[word] < wanted[word]
        seen[word] += 1
        if end >= n:
            gone = source[end - n]
            seen[gone] -= 1
            common -= seen[gone] < wanted[gone]
        # All n-grams have the same length, so the one with the most common words is the nearest.
        if end >= n - 1 and (common > best or not best_end):
            best, best_end = common, end + 1
    return best / (n + len(text) - best), " ".join(source[best_end - n : best_end])


def rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """Return ROUGE-L F1 of two lists of words: the harmonic mean of their longest common subsequence's shares of each.

    Source: Lin (2004), with equal weights of precision and recall.
    """
    if not one or not other:
        return 0.0
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for at, same in enumerate(other, 1):
            above = row[at]
            row[at] = before + 1 if word == same else max(above, row[at - 1])
            before = above
    return 2 * row[-1] / (len(one) + len(other))
