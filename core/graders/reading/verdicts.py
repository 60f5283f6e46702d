"""Verdicts in prose: what a sentence says of yes and no where no answer stands at its beginning."""

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
# Who weighs one thing against another, or doubts, names no verdict.
_HEDGES = re.compile(
    r"\b(?:(?:do|did|does|would)(?:\s+not|n't)\s+(?:agree|believe|say|see|think)|not\s+(?:an?\s+)?(?:no|yes)"
    r"|never\s+(?:answers?|contains?|gives?|includes?|provides?)"
    r"|barely|doubtful|few|hardly|neither|no\s+longer|nobody|none\s+of|nothing|rarely|scarcely|unlikely"
    r"|although|but|except|however|if|in\s+part|maybe|might|only|partial|partially|partly|perhaps|possibly|somewhat"
    r"|though|unclear|uncertain|unless|whether|yet|(?:can\s*not|can't|could\s+not|unable\s+to)\s+"
    r"(?:be\s+(?:certain|determined|sure)|conclude|decide|determine|judge|say|tell))\b"
)

# "I would answer: No", "my verdict is **yes**", and a verdict alone on its line: the rest of it is an explanation.
_FRAME = r"[\s\"“”*_`:=(\[{]*"
_STATES = (
    r"(?:answer|conclusion|judge?ment|output|response|result|verdict)(?:\s+to\s+(?:the|this|your)\s+\w+)?"
    r"(?:\s+(?:is|would\s+be|should\s+be|must\s+be|has\s+to\s+be))?"
    r"|(?:i|we)(?:\s+would|'d|\s+will|'ll|\s+must|\s+have\s+to)?\s+(?:answer|conclude|judge|reply|respond|say)(?:\s+with)?"
)
_STATED = re.compile(rf"\b(?:{_STATES}){_FRAME}(?:yes|no){_ENDS}(?!\s+\w)|(?:\A|\n)\W*(?:yes|no)\W*(?:\n|\Z)")
_WORDS = tuple((verdict, re.compile(pattern)) for verdict, pattern in _SAYS[:2])
# Where a conclusion begins that no longer hangs on what stands before it.
_BEGINS = re.compile(r"[.!?\n](?=\s|\Z)|[;:]\s|,\s+(?=(?:so|therefore|thus|hence)\b)")
_SENTENCE_ENDS = re.compile(r"[.!?\n](?=\s|\Z)")
_SENTENCE = 500  # characters of a sentence that are looked at, so that a long answer takes no time
_TAKES_BACK = re.compile(r"\b(?:although|but|except|however|if|or|though|unless|yet)\b")


def _stated(plain: str) -> set[int]:
    """The one verdict that a text states in so many words, where it has the word for no other; else none.

    A statement in a sentence that doubts or denies before it, or takes it back after it, is none.
    """
    named = {verdict for verdict, word in _WORDS if word.search(plain)}
    if len(named) != 1:
        return set()
    for match in _STATED.finditer(plain):
        before = _BEGINS.split(plain[max(match.start() - _SENTENCE, 0) : match.start()])[-1]
        after = _SENTENCE_ENDS.split(plain[match.end() : match.end() + _SENTENCE], 1)[0]
        if not _HEDGES.search(before) and not _TAKES_BACK.search(after):
            return named
    return set()


def verdicts_in(text: str) -> set[int]:
    """The verdicts that prose names: 1 for yes, 0 for no; none where it doubts or weighs one against the other.

    "I would say yes", "The passage is not relevant." and "It does not answer the question" name one;
    "It is partially correct", "It is correct, but not complete" and "There is no evidence" name none. Who states one in
    so many words has named it, whatever the explanation weighs: "It only mentions 2016. Therefore, the answer is: No".
    """
    plain = text.lower().replace("’", "'")
    if _HEDGES.search(plain):
        return _stated(plain)
    return {verdict for verdict, pattern in _PATTERNS if pattern.search(plain)}
