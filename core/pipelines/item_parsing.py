"""Parsing of multiple-choice items written by models, and shuffling of their choices."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..bank import cleaned
from ..graders import without_thoughts
from ..text import clean_text, without_marks

Part = Literal["question", "choices", "key"]
PARTS: tuple[Part, ...] = ("question", "choices", "key")

CHOICES = 4
SHORTEST_QUESTION = 50
"""Characters that a question must exceed; shorter ones are stems without content (the authors' parser)."""

_STYLES = ("A)", "A.", "1)", "1.", "a)", "a.")
"""Marks of choices, in the order in which they are tried."""
_CLASSES = {"A": "A-Z", "1": "1-9", "a": "a-z"}
_QUESTION = r"question(?:[ \t]*\d+)?[ \t]*\*{0,2}:\*{0,2}"
_HEADERS = (
    re.compile(rf"^[ \t#*]*{_QUESTION}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"\b{_QUESTION}", re.IGNORECASE),
)
"""A header at the beginning of a line takes precedence over one within an introduction."""
_KEYS = tuple(
    re.compile(rf"\b{begins}[ \t*_]*", re.IGNORECASE)
    for begins in (
        r"correct[ \t]+answer(?:[ \t]+is)?[ \t]*\*{0,2}:", r"answer[ \t]*\*{0,2}:", r"answer[ \t]+is\b:?",
    )
)  # fmt: skip
_LETTER = re.compile(r"[\s*_\"'“‘(\[{]{0,4}([A-Za-z0-9])(?=[).:,;*_\"'”’\]}]|\s*\Z|[ \t]*\n|[ \t]+[-–—])")
_EXPLANATION = r"\n[ \t#*]*explanations?\b"
_END_OF_CHOICES = re.compile(_EXPLANATION, re.IGNORECASE)
_END_OF_CHOICE = re.compile(rf"\n[ \t]*\n|{_EXPLANATION}", re.IGNORECASE)


@dataclass(frozen=True)
class ParsedItem:
    """An item as a model wrote it, with the choices in the model's order and without their marks.

    Args:
        key: position of the right choice, from 0.
    """

    question: str
    choices: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class Unparsed:
    """A reply that is not a valid item.

    Args:
        parts: the parts that could not be read, in the order question, choices, key.
        reason: their faults, as a phrase.
    """

    parts: tuple[Part, ...]
    reason: str


def parse_item(text: str) -> ParsedItem | Unparsed:
    """Read a question, its four choices and its key from a model's reply.

    As text (exam-generation-irt, A.1 and A.2; the order of marks is that of the authors' parser):
    - The question is between `Question:` and the first choice, has more than 50 characters and ends in a question mark.
    - Choices are marked `A)`, else `A.`, `1)`, `1.`, `a)`, `a.`. There are exactly four, not empty, with different
    marks.
    - The key is the letter after `Correct Answer:`, else `answer:`, `answer is`, and is one of the marks. Something
    must end the letter: the article in "answer is A bucket" does not count.

    As JSON: an object with `question`, `choices` (a list of four) and `correct_answer`, a letter or the text of a
    choice. The same rules hold for the parts.

    Args:
        text: the reply, with or without text around the item; thoughts before it are ignored.
    """
    text = clean_text(without_thoughts(text))
    found = _object(text)
    return _of_words(text) if found is None else _of_object(found)


def shuffle_seed(exam_seed: int, item_id: str) -> int:
    """Return the seed of an item's order: the first 63 bits of the BLAKE2b hash of the exam seed and the item id."""
    digest = hashlib.blake2b(f"{exam_seed}/{item_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def shuffled(choices: Sequence[str], seed: int) -> tuple[str, ...]:
    """Return choices in an order that depends only on the seed; the key, being a text, goes with them.

    Places are ordered by the hash of seed and place, so that the order is the same in every version of Python.
    """
    places = sorted(range(len(choices)), key=lambda at: hashlib.blake2b(f"{seed}/{at}".encode()).digest())
    return tuple(choices[at] for at in places)


def _of_words(text: str) -> ParsedItem | Unparsed:
    header = next(filter(None, (pattern.search(text) for pattern in _HEADERS)), None)
    begin = header.end() if header else 0
    marks, key_at, letter = _marks(text, begin)
    question = _tidy(text[begin : marks[0].start()]) if marks else ""
    letters = [mark["mark"].upper() for mark in marks]
    ends = [mark.start() for mark in marks[1:]] + [len(text) if key_at is None else key_at]
    choices = tuple(_choice(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False))
    key = letters.index(letter.upper()) if letter is not None and letter.upper() in letters else None
    no_key = "no letter follows 'Correct Answer:'" if letter is None else f"{letter} marks none of the choices"
    unasked = question_fault(question) if marks else None
    fault = "it does not begin with 'Question:'" if header is None else unasked
    return _item(question, fault, choices, choices_fault(choices, letters), key, no_key)


def _item(
    question: str,
    question_is: str | None,
    choices: tuple[str, ...],
    choices_are: str | None,
    key: int | None,
    no_key: str,
) -> ParsedItem | Unparsed:
    """Return an item of its parts, or the faults of the parts.

    Args:
        question_is, choices_are: their faults; None without one.
        key: position of the right choice; None if unknown.
        no_key: why it is unknown.
    """
    faults = dict(zip(PARTS, (question_is, choices_are, no_key if key is None else None), strict=True))
    lost = {part: fault for part, fault in faults.items() if fault}
    if lost or key is None:
        return Unparsed(tuple(lost), "; ".join(f"the {part}: {fault}" for part, fault in lost.items()))
    return ParsedItem(question, choices, key)


def question_fault(question: str) -> str | None:
    """Return why a text is not an exam question; None for a valid one."""
    if len(question) <= SHORTEST_QUESTION:
        return f"its {len(question)} characters are too few, more than {SHORTEST_QUESTION} are needed"
    return None if question.endswith("?") else "it does not end with a question mark"


def choices_fault(choices: Sequence[str], marks: Sequence[str] | None = None) -> str | None:
    """Return why texts are not the choices of an item; None for valid ones."""
    if len(choices) != CHOICES:
        return f"there are {len(choices)} instead of {CHOICES}"
    if marks is not None and len(set(marks)) < CHOICES:
        return "two of them have the same mark"
    return None if all(choices) else "at least one is empty"


def _marks(text: str, begin: int) -> tuple[list[re.Match[str]], int | None, str | None]:
    """Return the marks of the choices, the start of the key part, and the letter of the key.

    The style is the first that has four marks before the key, else the one with the most marks.
    """
    best: tuple[list[re.Match[str]], int | None, str | None] = ([], None, None)
    for own_line in (True, False):
        for style in _STYLES:
            found = list(_pattern(style, own_line).finditer(text, begin))
            if not found:
                continue
            key_at, letter = _key(text, found[0].end())
            explained = _END_OF_CHOICES.search(text, found[0].end())
            end = min(at for at in (key_at, explained and explained.start(), len(text)) if at is not None)
            before = [mark for mark in found if mark.start() < end]
            if len(before) == CHOICES:
                return before, key_at, letter
            if len(before) > max(1, len(best[0])):
                best = before, key_at, letter
    return best if best[0] else ([], *_key(text, begin))


def _pattern(style: str, own_line: bool) -> re.Pattern[str]:
    marks, sign = _CLASSES[style[0]], re.escape(style[1])
    before = r"(?m:^)[ \t]*(?:[-•][ \t]+)?[*_(]{0,3}" if own_line else r"(?<!\S)"
    return re.compile(rf"{before}(?P<mark>[{marks}])[*_]{{0,2}}{sign}(?!\d)[*_]{{0,2}}")


def _key(text: str, begin: int) -> tuple[int | None, str | None]:
    """Return where the words that name the key begin, and its letter; the first words followed by a letter count."""
    first: int | None = None
    for pattern in _KEYS:
        for found in pattern.finditer(text, begin):
            letter = _LETTER.match(text, found.end())
            line = text.rfind("\n", begin, found.start()) + 1
            at = max(line, begin) if line and _short(text[line : found.start()]) else found.start()
            first = at if first is None else first
            if letter:
                return at, letter[1]
    return first, None


def _short(words: str) -> bool:
    """Return whether the words before the key on its line are only an introduction such as "So the", or emphasis."""
    return len(words.split()) <= 3 and not re.match(r"\s*[*_(]{0,3}\w[).]", words)


def _choice(text: str) -> str:
    """Return a choice up to a blank line or the explanation, on one line."""
    return cleaned(_END_OF_CHOICE.split(text.strip("\n \t"), maxsplit=1)[0]).strip("*_ ")


def _tidy(text: str) -> str:
    """Return a question with its lines, which code and lists need, but without blank ones."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line).strip("*_ \n")


def _object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text that has a question, ignoring text around it."""
    decoder = json.JSONDecoder()
    for opening in re.finditer(r"\{\s*\"", text):
        try:
            found, _ = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "question" in found:
            return found
    return None


def _of_object(found: dict[str, Any]) -> ParsedItem | Unparsed:
    question = _tidy(clean_text(found["question"])) if isinstance(found["question"], str) else ""
    given = found.get("choices")
    given = list(given.values()) if isinstance(given, dict) else given
    texts = given if isinstance(given, list) and all(isinstance(one, str) for one in given) else []
    choices = without_marks([cleaned(one) for one in texts])
    key = _named(found.get("correct_answer"), choices)
    no_key = "'correct_answer' is neither the letter nor the text of a choice"
    return _item(question, question_fault(question), choices, choices_fault(choices), key, no_key)


def _named(answer: object, choices: Sequence[str]) -> int | None:
    """Return the position of the choice that is named by a letter, or by its text with or without a letter."""
    if not isinstance(answer, str):
        return None
    text = cleaned(clean_text(answer))
    for form in (text, re.sub(r"^[A-Z][).:]\s*", "", text)):
        if form in choices:
            return choices.index(form)
    letter = re.match(r"\(?([A-Z])(?:[).:]|\Z)", text)
    at = ord(letter[1]) - ord("A") if letter else len(choices)
    return at if at < len(choices) else None
