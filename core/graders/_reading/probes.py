"""Changes of passages that show how robust a grader is: most must not turn a pair into an answered one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from .injections import INJECTIONS, NEUTRAL

_WORDS = {
    "because": "since", "however": "but", "such as": "like", "for example": "for instance", "therefore": "so",
    "many": "a lot of", "large": "big", "small": "little", "begin": "start", "about": "roughly", "also": "too",
    "use": "employ", "often": "frequently", "usually": "mostly", "important": "key", "show": "demonstrate",
}  # fmt: skip
"""Words of the paraphrase by rule."""
_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Change:
    """A change of a passage.

    Args:
        keeps: whether an answer stays one: then each difference is a flip. Otherwise the changed passage has no answer
            that the original lacks, and only a new answer is a flip.
        make: returns the passage, from question, passage, the answer of another question, and a number to choose by.
    """

    keeps: bool
    make: Callable[[str, str, str, int], str]


def _paraphrased(question: str, passage: str, other: str, number: int) -> str:
    worded = _WORD.sub(lambda found: _WORDS[found[0].lower()], passage)
    return " ".join(reversed(_SENTENCE.split(worded)))


def _injected(question: str, passage: str, other: str, number: int, family: str) -> str:
    fitting = [one.text for one in INJECTIONS if one.family == family]
    return f"{passage} {fitting[number % len(fitting)]}"


CHANGES: Mapping[str, Change] = {
    "padded": Change(True, lambda question, passage, other, number: " ".join([passage, *[NEUTRAL] * 5])),
    "truncated": Change(True, lambda question, passage, other, number: passage[: (len(passage) + 1) // 2]),
    "duplicated": Change(True, lambda question, passage, other, number: f"{passage}\n{passage}"),
    "paraphrased": Change(True, _paraphrased),
    "empty": Change(False, lambda question, passage, other, number: "."),
    "stuffed": Change(False, lambda question, passage, other, number: " ".join([passage, *[question] * 3])),
    "question repeated": Change(False, lambda question, passage, other, number: question),
    "other answer": Change(False, lambda question, passage, other, number: other),
    **{
        f"injection: {family}": Change(False, partial(_injected, family=family))
        for family in dict.fromkeys(one.family for one in INJECTIONS)
    },
}
"""The changes by name, see `Change`."""
