"""Whether an extracted answer says what the answer key says, by comparing words."""

from __future__ import annotations

import re

from rapidfuzz.distance import Levenshtein

from ...text import meaningful_words, normalise, without_citations
from .parsing import ill_formed, unanswerable

TOLERANCE = 0.2
"""Edit distance from which two answers differ, as a share of the longer one (EXAM++, section 4.2.1)."""
# "b. rise", "(c) fall", "D) melt": how answer keys and answers name a choice; test banks rarely go beyond h.
_CHOICE = re.compile(r"\s*(?:\([a-h]\)|[a-h][.)])\s+(?=\S)", re.IGNORECASE)


# Keys that answers give in other words, by their words without stop words; and answers that give a verdict and go on.
_SAME = {
    "yes": "true",
    "no": "false",
    "none above": "none",
    "none choices": "none",
    "all above": "all",
    "all choices": "all",
}
_VERDICT = re.compile(
    r"\W*(?:(?:the\s+)?(?:answer|statement)\W+(?:is\W+)?|it\s+is\s+)?(yes|no|true|false)(?:\W*\Z|\s*[,.;:!–—])",
    re.IGNORECASE,
)


def is_no_answer(answer: str, key: str) -> bool:
    """Whether what was extracted is no answer to a question with this key, so that it is wrong without any comparison.

    That is an answer that is ill-formed, or one that says that there is none where the key does not say so as well:
    to the keys "No", "False" and "Unknown" the answers "no" and "unknown" are answers.
    Source: EXAM++, section 4.2.1.
    """
    return ill_formed(answer) or (unanswerable(answer) and not _says_what_the_key_says(answer, key))


def word_match(answer: str, key: str, tolerance: float = TOLERANCE) -> bool:
    """Whether an answer matches an answer key: normalised, their edit distance is a small share of the longer one.

    Source: EXAM++, section 4.2.1. An answer that is none (`is_no_answer`) never matches. Citation marks, and a choice's
    letter before the text ("b. rise"), are no part of an answer or a key. Yes is true and no is false; to a key that is
    one of these four an answer matches that begins with its verdict.

    Args:
        answer: what was extracted from the passage.
        key: the right answer, one text.
        tolerance: the share from which they differ, above 0 and at most 1.
    """
    if is_no_answer(answer, key):
        return False
    left, right = (without_letter(without_citations(text)) for text in (answer, key))
    if _says_what_the_key_says(left, right):
        return True
    one, other = normalise(left), normalise(right)
    if not one or not other:  # nothing but stop words and signs on a side: compare what is written
        one, other = (" ".join(text.lower().split()) for text in (left, right))
    longer = max(len(one), len(other))
    # The cutoff saves the work on texts that differ more; the quotient of the two is exact where their product is not.
    return (
        longer > 0 and Levenshtein.distance(one, other, score_cutoff=int(tolerance * longer) + 1) / longer < tolerance
    )


SHORT = 30
"""Words of an answer, without stop words, in which a key may be contained; a longer one may name many things."""
_RESERVED = frozenset({"no", "not", "never", "none", "nor", "neither", "without", "or", "either", "t", "cannot"})
"""Words before which or after which a phrase may not be the answer: "not in 1967", "1966 or 1967"."""


def contains_key(answer: str, key: str) -> bool:
    """Whether the words of a key stand together in a short answer, both stemmed and without stop words.

    A rule beside the paper's, for models that answer in whole sentences ("The war ended in 1967." to the key "1967").
    An answer that denies something or names alternatives has to match by the paper's rule, and so has one to a key
    that is a verdict ("yes", "unknown", "none of the above").
    """
    if is_no_answer(answer, key) or unanswerable(without_letter(key)) or _meaning(key) in ("true", "all", "none"):
        return False
    left, right = (without_letter(without_citations(text)) for text in (answer, key))
    words, wanted = normalise(left).split(), normalise(right)
    if not wanted or len(words) > SHORT:
        return False
    if _RESERVED.intersection(re.findall(r"\w+", left.lower())) - set(re.findall(r"\w+", right.lower())):
        return False
    return f" {wanted} " in f" {' '.join(words)} "


def _says_what_the_key_says(answer: str, key: str) -> bool:
    """Whether a key is a verdict, "unknown" or its like, or all or none of the above, and the answer says that too."""
    meant = _meaning(key)
    if meant in ("true", "false"):
        verdict = _VERDICT.match(answer)
        return verdict is not None and _meaning(verdict[1]) == meant
    return (meant in ("all", "none") or unanswerable(without_letter(key))) and _meaning(answer) == meant


def _meaning(text: str) -> str:
    words = " ".join(meaningful_words(without_letter(text)))
    return _SAME.get(words, words)


def without_letter(text: str) -> str:
    """A choice without the letter before it."""
    match = _CHOICE.match(text)
    return text[match.end() :] if match else text
