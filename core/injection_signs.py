"""Signs that a text addresses its grader: orders, claimed ratings, role markers, tags, hidden
characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .text import one_line

_RATING = "(?:rating|grade|score|mark)"
_TOP = "(?:top|highest|maximum|perfect|best|full|largest)"
_END = r"(?:[^.0-9a-z]|\.[^0-9]|\.?$)"  # not "Rating: 4.8", which is common in shop texts
_GRADER = "(?:ai|llm|language model|model|grader|rater|assessor|judge|assistant|chat ?gpt)"

_SENTENCE = r"[^.!?\n]*"  # up to the end of the sentence or line

PATTERNS: dict[str, tuple[str, ...]] = {
    "asks for a rating": (
        r"\b(?:rate|grade|score|judge|label) (?:this|it|me)\b[^.:!?\n]*?"
        r"(?:\b[1-5]\b|[１-５]|\b(?:high|highly|relevant|correct)\b)",
        r"\b(?:rate|grade|score|judge|label) (?:the|this)"
        r" (?:passage|text|answer|document|response)\b",
        rf"\b(?:give|assign|award|worth|deserves?|gets?|receives?)\b{_SENTENCE} "
        rf"(?:{_TOP} (?:rating|relevance)|{_RATING} of [1-5]\b)",
        rf"\b{_TOP} relevance {_RATING}",
        rf"\brating below [1-5]\b|\bdigit [1-5]\b|\b(?:a|this) {_SENTENCE}\bgets a [1-5]\b",
        r"\bthe reply is (?:yes|no|[1-5])\b",
    ),
    "states its own rating": (
        r"\b(?:rating|grade|relevance|relevance score|self[ _-]rating)[\"']? ?[:=]"
        rf" ?[\"']?[0-5](?: ?/ ?5)?{_END}",
        r"\bthe (?:rating|grade) is (?:[0-5]|five) *(?:[,;!]|\.[^0-9]|\.?$)",
        r"^ *(?:answer|rating|score|grade) ?: ?(?:[0-5]|yes|no)[. ]*$",
        r"^[ *-]*[0-5] ?[:=-] ?the answer is\b",
        r"(?:\b[0-5] +){8}",
        r"\bcorrect answer is (?:contained|given|found|stated) in this\b|\bevery question is"
        r" answered (?:here|in)\b",
    ),
    "gives instructions": (
        rf"\b(?:ignore|disregard|forget)\b{_SENTENCE} (?:instructions?"
        r"|questions?|prompts?|rules)\b",
        r"\b(?:ignore|disregard|forget) (?:all|everything|anything)(?: of)?"
        r" (?:that|what|said|above|before)\b",
        rf"\b(?:dear|hello|hey) {_GRADER}\b",
        rf"\b(?:note|message|instructions?) (?:to|for) (?:the |all )?{_GRADER}s?\b",
        r"\bdo not (?:judge|rate|grade|write no|answer no)\b",
        r"\b(?:the )?(?:grader|llm|assistant|language model) (?:is|will|must|shall|should"
        rf"|has to)\b{_SENTENCE}\b(?:rate|rating|grade|test mode)\b",
        r"\b(?:always|only) (?:rate|grade|answer yes|reply with|respond with)\b",
    ),
    "imitates a chat role": (
        r"<\|[a-z_]+\|>|\[/?inst\]|<</?sys>>|</?s>|<(?:eos|bos|pad|unk)>|^ *#+"
        r" ?(?:system|instruction|assistant)\b",
        r"^ *(?:system|assistant) ?: ",
    ),
    "imitates the end of the passage": (
        r"</?(?:passage|answer|context|document)(?:-[0-9a-f]+)?>|\bend of (?:the"
        r" )?(?:data|passage|context)\.",
        rf"[\"'](?:rating|answer)[\"'] ?: ?[\"']?(?:[0-5]{_END}|yes\b|no\b)",
        r"\{(?:question|context|passage|examples|answer)\}",
    ),
    "imitates a worked example": (
        r"^ *(?:question|passage|context) ?: .*\n *(?:question|passage|context|answer|rating) ?: ",
        r"\bquestion: .+? (?:context|passage): .+? (?:answer|rating): ",
    ),
    "hides characters": (
        "[\U000e0000-\U000e007f]|[\u202d\u202e]|[a-z][\u200b\u2060][a-z][\u200b\u2060][a-z]",
        "[a-z][\u0400-\u04ff][a-z]",
    ),
}
"""Regular expressions by the kind of sign; they match line by line and ignore case.

The database understands them too: it searches a whole collection in time that is linear in the
texts. Python's engine could take quadratic time, so it gets a text in pieces.
"""
PIECE = 2_000
MOST_PIECES = 10
"""Pieces of `PIECE` characters are searched. If a text is longer, half come from the beginning and
half from the end."""

REPEATS = "repeats a question"
"""The sign of a text that repeats a question of its query word by word, question marks included."""
FEWEST_WORDS = 5
"""Minimum number of words of a question for this sign: texts may repeat a shorter question by
chance.
"""
LONGEST_WORDS = 80
"""Characters of a match that are shown."""

FLAGS = "(?im)"
ANY = FLAGS + "|".join(pattern for patterns in PATTERNS.values() for pattern in patterns)
"""All patterns as one expression."""


@dataclass(frozen=True)
class Sign:
    """One sign that a text addresses its grader.

    Args:
        what: a key of `PATTERNS`, or `REPEATS`.
        words: the matching words, cut; empty if they are invisible.
    """

    what: str
    words: str


def find_signs(text: str, questions: Iterable[str] = ()) -> list[Sign]:
    """Return the signs that a text addresses its grader, one per kind; none for ordinary prose.

    They are hints for people, not proof: a text about grading may contain the same words, and a
    clever text avoids them.

    Args:
        text: text of a passage.
        questions: questions that are asked about it.
    """
    hints = [
        Sign(what, one_line(match[0])[:LONGEST_WORDS])
        for what, pattern in _compile_patterns().items()
        if (match := next(filter(None, map(pattern.search, _split_pieces(text))), None))
    ]
    lowered = text.lower()
    asks = "?" in text
    repeated = next(
        (
            q
            for q in questions
            if (asks or "?" not in q) and (form := repeatable_form(q)) and form in lowered
        ),
        None,
    )
    return (
        hints if repeated is None else [*hints, Sign(REPEATS, one_line(repeated)[:LONGEST_WORDS])]
    )


def repeatable_form(question: str) -> str:
    """Return a question in the form in which a text would repeat it; empty if it is too short."""
    form = question.lower().strip().rstrip("?.! ")
    return form if len(form.split()) >= FEWEST_WORDS else ""


def _split_pieces(text: str) -> list[str]:
    starts = list(range(0, len(text), PIECE))
    if len(starts) > MOST_PIECES:
        starts = starts[: MOST_PIECES // 2] + starts[-MOST_PIECES // 2 :]
    return [text[start : start + PIECE] for start in starts]


@cache
def _compile_patterns() -> dict[str, re.Pattern[str]]:
    return {what: re.compile(FLAGS + "|".join(patterns)) for what, patterns in PATTERNS.items()}
