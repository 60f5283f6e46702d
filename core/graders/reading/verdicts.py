"""Recognition of yes and no in prose, for answers that do not begin with either."""

from __future__ import annotations

import re

_ADVERB = r"(?:(?:also|clearly|completely|directly|entirely|equally|highly|indeed|therefore|thus)\s+)?"
_RIGHT = r"(?:correct|relevant|right|true)"
_WRONG = r"(?:false|incorrect|irrelevant|wrong)"
_IS = r"(?:is|are|was|were|seems|appears)(?:\s+to\s+be)?"
_NOT = r"(?:(?:is|are|was|were)\s+not|(?:is|are|was|were)n't)"
_DOES_NOT = r"(?:does\s+not|doesn't|do\s+not|don't|did\s+not|didn't)"

_ENDS = r"(?![\w\u0300-\u036f]|[-‐‑'][^\W_])"
_FOUND = r"be\s+(?:answered|derived|found|inferred)"

_SAYS = (
    (1, rf"\byes{_ENDS}"),
    (0, rf"\bno{_ENDS}(?!\s*\w)"),  # "no evidence" names no verdict
    (1, rf"\A\W*{_ADVERB}{_RIGHT}\W*\Z"),
    (0, rf"\A\W*(?:not\s+{_ADVERB}{_RIGHT}|{_WRONG})\W*\Z"),
    (1, rf"\b{_IS}\s+{_ADVERB}(?:an?\s+)?{_RIGHT}\b"),
    (0, rf"\b{_NOT}\s+{_ADVERB}(?:an?\s+)?{_RIGHT}\b"),
    (0, rf"\b{_IS}\s+{_ADVERB}(?:an?\s+)?{_WRONG}\b"),
    (0, r"\b(?:incorrectly|wrongly)\b"),
    (1, r"\b(?:answers\s+the|(?:contains|gives|includes|provides)\s+(?:an|the)(?:\s+correct)?\s+answer)\b"),
    (0, rf"\b{_DOES_NOT}\s+(?:directly\s+)?(?:answer|contain|give|include|provide)\b"),
    (1, rf"\bcan\s+{_FOUND}\b"),
    (0, rf"\b(?:can\s*not|can't|could\s+not|couldn't)\s+{_FOUND}\b"),
)
_PATTERNS = tuple((verdict, re.compile(pattern)) for verdict, pattern in _SAYS)
# Comparisons and doubts name no verdict.
_HEDGES = re.compile(
    r"\b(?:(?:do|did|does|would)(?:\s+not|n't)\s+(?:agree|believe|say|see|think)|not\s+(?:an?\s+)?(?:no|yes)"
    r"|never\s+(?:answers?|contains?|gives?|includes?|provides?)"
    r"|barely|doubtful|few|hardly|neither|no\s+longer|nobody|none\s+of|nothing|rarely|scarcely|unlikely"
    r"|although|but|except|however|if|in\s+part|maybe|might|only|partial|partially|partly|perhaps|possibly|somewhat"
    r"|though|unclear|uncertain|unless|whether|yet|(?:can\s*not|can't|could\s+not|unable\s+to)\s+"
    r"(?:be\s+(?:certain|determined|sure)|conclude|decide|determine|judge|say|tell))\b"
)


def verdicts_in(text: str) -> set[int]:
    """Return the verdicts in prose: 1 for yes, 0 for no; empty if the text doubts or compares the two.

    Examples with a verdict: "I would say yes", "The passage is not relevant.", "It does not answer the question".
    Without one: "It is partially correct", "It is correct, but not complete", "There is no evidence".
    """
    plain = text.lower().replace("’", "'")
    if _HEDGES.search(plain):
        return set()
    return {verdict for verdict, pattern in _PATTERNS if pattern.search(plain)}
