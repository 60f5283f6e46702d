"""What a model may write: a rating, a verdict, a letter or a list is read from it, and never invented."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random

from core.graders import Parsed, ill_formed, parse_list, parse_rating, parse_yes_no, unanswerable
from core.graders.reading.parsing import (
    parse_json_answer,
    parse_json_rating,
    parse_letter,
    settled_letter,
    settled_rating,
    settled_yes_no,
    without_thoughts,
)
from tests.fuzz import mutations
from tests.fuzz.bench import Bench
from tests.fuzz.inputs import Input
from tests.fuzz.oracles import Broken

PIECES = (
    "0", "1", "2", "3", "4", "5", "6", "9", "10", "4.5", "4,5", "1/4", "5/5", "3/5", "4-6", "12:30", "1e3", "-1",
    "+4", ".5", "½",
    "٣", "５", "⁴", "Rating", "rating:", "score", "Grade", "O:", "M:", "Answer:", "Final answer:", "is", "of",
    "out of 5", "a",
    "{", "}", '{"rating": 4}', '{"rating": "4"}', '{"rating": 4.0}', '{"rating": true}', '{"rating": 9}',
    '"rating":', "```json",
    "```", '{"answer": "yes"}', '{"answer": "B"}', "[", "]", '["Why?", "Who?"]', '{"questions": ["Why?"]}', ",",
    ":", ".", ")",
    "(", "-", "–", "*", "**", "#", '"', "'", "<think>", "</think>", "<b>", "\\boxed{", "$", "yes", "Yes", "no",
    "No", "not", "true",
    "False", "XXX", "maybe", "A", "B", "C.", "(D)", "B)", "or", "and", "either", "unanswerable", "no answer",
    "unknown", "(iii)",
    "a.", "I'm sorry, but I can't assist with that.", "I cannot rate this", "Rate limit exceeded. Retry in 5 seconds.",
    "You have 0 credits left", "I have 3 concerns", "The passage says nothing of it", "does not answer",
    "answers it in full",
    "not a rating of 5", "between 3 and 4", "1. first\n2. second", "question 2", "B12", "\n", "\n\n", "\t", "\r",
    " ", "  ", "\x00",
    "\u200b", "\ufeff", "\u2028", mutations.LONE, "İ", "tides",
)  # fmt: skip
LETTERS = "ABCD"
TOPS = (1, 2, 3, 5)


def an_answer(random: Random) -> Input:
    """A text of pieces that ratings are made of, or of any signs; seldom a very long one."""
    pieces = [random.choice(PIECES) if random.random() < 0.9 else mutations.a_text(random)]
    pieces += [random.choice(PIECES) for _ in range(int(random.expovariate(0.3)))]
    text = random.choice(("", "", " ")).join(pieces)
    if random.random() < 0.004:
        text = (text or "5 ") * (random.choice((2_000, 20_000)) // max(len(text), 1) + 1)
    return Input("ratings", (), {"text": text, "more": random.choice(PIECES), "complete": random.random() < 0.9,
                                 "top": random.choice(TOPS)})  # fmt: skip


def read_answer(bench: Bench, sent: Input) -> bool:
    """Read it in every way; whether it has a rating that is no default."""
    text, complete, top = sent.given["text"], sent.given["complete"], sent.given["top"]
    rating = parse_rating(text, complete, top)
    _one_of_three(rating, top)
    _named(text, rating)
    in_json = parse_json_rating(text, top, complete)
    _one_of_three(in_json, top)
    _named(text, in_json)
    yes_no = parse_yes_no(text, complete)
    _one_of_three(yes_no, 1)
    letter = parse_letter(text, LETTERS, complete)
    _one_of_three(letter, len(LETTERS) - 1)
    if letter.rating is not None and LETTERS[letter.rating].lower() not in text.lower():
        raise Broken("a letter is read that the answer does not have", text)
    for letters in ("", LETTERS):
        _one_of_three(parse_json_answer(text, letters=letters, complete=complete), max(len(letters) - 1, 1))
    if not complete and any(read.rating is not None for read in (rating, in_json, yes_no, letter)):
        raise Broken("an answer that was cut off rates", text)
    items, reason = parse_list(text, "questions")
    if bool(items) == bool(reason) or not all(isinstance(item, str) and item.strip() for item in items):
        raise Broken("a list is neither texts nor a reason", (items, reason))
    _settled(text, sent.given["more"], top)
    unanswerable(text)
    ill_formed(text)
    if without_thoughts(text) not in text:
        raise Broken("an answer without its thoughts is no part of it", text)
    return rating.status == "graded"


def _one_of_three(read: Parsed, top: int) -> None:
    if read.status not in ("graded", "defaulted", "failed"):
        raise Broken("a reading has a state that there is not", read)
    if (read.rating is None) != (read.status == "failed") or (read.rating is None) != bool(read.reason):
        raise Broken("a reading is failed and rates, or has no reason", read)
    if read.rating is not None and (type(read.rating) is not int or not 0 <= read.rating <= top):
        raise Broken("a reading is off the scale", read)
    if read.status == "defaulted" and (top != 5 or read.rating not in (0, 1)):
        raise Broken("a default is none of the paper's", read)


def _named(text: str, read: Parsed) -> None:
    """A rating that is no default stands in the answer, as a digit with no other beside it."""
    if read.status == "graded" and not re.search(rf"(?<![0-9]){read.rating}(?![0-9])", text):
        raise Broken("a number is read that the answer does not have", (read.rating, text))


def _settled(text: str, more: str, top: int) -> None:
    """What is settled does not become another rating by what is written after it; it may still become a refusal."""
    readings: tuple[tuple[str, bool, Callable[[str], Parsed]], ...] = (
        ("rating", settled_rating(text, top), lambda text: parse_rating(text, top=top)),
        ("verdict", settled_yes_no(text), parse_yes_no),
        ("letter", settled_letter(text, LETTERS), lambda text: parse_letter(text, LETTERS)),
    )
    for what, settled, read in readings:
        if settled and (before := read(text).rating) is not None and read(text + more).rating not in (before, None):
            raise Broken(f"a {what} was settled and changes", json.dumps([text, more]))
