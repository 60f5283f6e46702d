"""Refusals: how an answer begins with which a model declines to answer at all."""

from __future__ import annotations

import re

_SORRY = (
    r"(?:(?:i am|i'm|we are|we're) (?:\w+ )?sorry|sorry|(?:i apologi[sz]e|apologies)(?: for \w+ \w+)?|unfortunately)"
)
_CANNOT = r"(?:can ?not|can't|could not|couldn't|will not|won't|(?:am|'m) (?:unable|not able) to)"
_DO = (
    "answer|assess|assist|comment|complete|comply|continue|discuss|do|engage|evaluate|fulfil|fulfill|generate|give"
    "|grade|help|judge|offer|participate|process|produce|provide|rate|respond|score|support|write"
)

REFUSALS = {
    "cannot do it": rf"(?:i|we) ?{_CANNOT} (?:\w+ly )?(?:{_DO})\b",
    "is sorry that it cannot": rf"{_SORRY}\W+(?:but |that )?(?:i|we) ?{_CANNOT}\b(?! (?:find(?! out)|locate|see)\b)",
    "must decline": r"(?:i|we) (?:must|have to|need to|would have to) (?:\w+ly )?(?:decline|refuse)\b",
    "declines": r"(?:i|we) (?:\w+ly )?(?:decline|refuse) to\b",
    "speaks of itself": r"as an? (?:ai|artificial intelligence|large language model|language model|assistant)\b",
    "says what it is": r"(?:i am|i'm) (?:just |only )?an? (?:ai|large language model|language model)\b",
    "names its rules": r"(?:this|the|your) (?:request|content|prompt) (?:violates|goes against|(?:is|was) blocked)\b",
    "is not comfortable": r"(?:i am|i'm) not comfortable\b",
}
"""How refusals begin, as patterns, by what a model does there. Each is matched where an answer begins, in lower case,
with plain apostrophes and single blanks. "I cannot find it in the passage" is an answer, and none of them."""

_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in REFUSALS.values()))
_LONGEST = 200
_QUOTES = str.maketrans("‘’`´", "'" * 4)


def refuses(text: str) -> bool:
    """Whether an answer begins as a refusal does, behind quotes and markup."""
    beginning = " ".join(text.lstrip()[:_LONGEST].lower().translate(_QUOTES).split())
    return _REFUSAL.match(beginning.lstrip("\"'“”«»*_#>([ -")) is not None
