"""Comparison of an extracted answer with the answer key by words."""

from __future__ import annotations

import re

from rapidfuzz.distance import Levenshtein

from ...text import meaningful_words, normalise_text, without_citations
from .parsing import ill_formed, says_unanswerable

TOLERANCE = 0.2
"""Edit distance from which two answers differ, as a share of the longer one (EXAM++, section
4.2.1).
"""
# "b. rise", "(c) fall", "D) melt": how answer keys and answers name a choice; test banks rarely go
# beyond h.
_CHOICE = re.compile(r"\s*(?:\([a-h]\)|[a-h][.)])\s+(?=\S)", re.IGNORECASE)


# Words of an answer or key, without stop words, and a word with the same meaning.
_SAME = {
    "yes": "true",
    "no": "false",
    "none above": "none",
    "none choices": "none",
    "all above": "all",
    "all choices": "all",
}
_VERDICT = re.compile(
    r"\W*(?:(?:the\s+)?(?:answer|statement)\W+(?:is\W+)?|it\s+is\s+)?(yes|no|true"
    r"|false)(?:\W*\Z|\s*[,.;:!–—])",
    re.IGNORECASE,
)


def is_no_answer(answer: str, key: str) -> bool:
    """Return whether a text is not an answer to a question with this key. Such a text is wrong
    without a comparison. It is ill-formed, or it denies an answer although the key does not. If the
    key is "No", "False" or "Unknown", then "no" and "unknown" are answers. Source: EXAM++, section
    4.2.1.
    """
    return ill_formed(answer) or (says_unanswerable(answer) and not _agrees_with_key(answer, key))


def word_match(answer: str, key: str, tolerance: float = TOLERANCE) -> bool:
    """Return whether an answer matches an answer key: their normalized edit distance is a small
    share of the longer one.

    Source: EXAM++, section 4.2.1. A text that is not an answer (`is_no_answer`) never matches.
    Citation marks and a choice's letter before the text ("b. rise") are ignored. Yes equals true,
    and no equals false. If the key is one of these four words, an answer matches that begins with
    it.

    Args:
        answer: the answer extracted from the passage.
        key: the right answer, one text.
        tolerance: the share from which they differ, above 0 and at most 1.
    """
    if is_no_answer(answer, key):
        return False
    left, right = (without_letter(without_citations(text)) for text in (answer, key))
    if _agrees_with_key(left, right):
        return True
    answer_words, key_words = normalise_text(left), normalise_text(right)
    if (
        not answer_words or not key_words
    ):  # nothing but stop words and signs on a side: compare the original texts
        answer_words, key_words = (" ".join(text.lower().split()) for text in (left, right))
    longer = max(len(answer_words), len(key_words))
    # The cutoff saves work on texts that differ more. The quotient is exact, while the product may
    # be rounded.
    return (
        longer > 0
        and Levenshtein.distance(answer_words, key_words, score_cutoff=int(tolerance * longer) + 1)
        / longer
        < tolerance
    )


SHORT = 30
"""Maximum words of an answer, without stop words, that may contain a key; longer answers may name
many things.
"""
_RESERVED = frozenset(
    {"no", "not", "never", "none", "nor", "neither", "without", "or", "either", "t", "cannot"}
)
"""Words that rule out a contained key: "not in 1967", "1966 or 1967"."""


def contains_key(answer: str, key: str) -> bool:
    """Return whether the words of a key are adjacent in a short answer, both stemmed and without
    stop words.

    This extends the paper's rule, for models that answer in sentences ("The war ended in 1967." for
    the key "1967"). It does not apply to an answer with a denial or alternatives. Nor does it apply
    to a key such as "yes", "unknown" or "none of the above".
    """
    if (
        is_no_answer(answer, key)
        or says_unanswerable(without_letter(key))
        or _canonical_meaning(key) in ("true", "all", "none")
    ):
        return False
    left, right = (without_letter(without_citations(text)) for text in (answer, key))
    words, key_text = normalise_text(left).split(), normalise_text(right)
    if not key_text or len(words) > SHORT:
        return False
    if _RESERVED.intersection(re.findall(r"\w+", left.lower())) - set(
        re.findall(r"\w+", right.lower())
    ):
        return False
    return f" {key_text} " in f" {' '.join(words)} "


def _agrees_with_key(answer: str, key: str) -> bool:
    """Return whether a key is yes or no, "unknown" or similar, or all or none of the above, and the
    answer agrees.
    """
    meant = _canonical_meaning(key)
    if meant in ("true", "false"):
        verdict = _VERDICT.match(answer)
        return verdict is not None and _canonical_meaning(verdict[1]) == meant
    return (
        meant in ("all", "none") or says_unanswerable(without_letter(key))
    ) and _canonical_meaning(answer) == meant


def _canonical_meaning(text: str) -> str:
    words = " ".join(meaningful_words(without_letter(text)))
    return _SAME.get(words, words)


def without_letter(text: str) -> str:
    """Return a choice without its letter."""
    match = _CHOICE.match(text)
    return text[match.end() :] if match else text
