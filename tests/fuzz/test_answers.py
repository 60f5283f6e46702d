"""Answers of models: a rating, a verdict, a letter or a list is read from them, and never invented."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from exam_workbench.graders import ill_formed, parse_list, unanswerable
from exam_workbench.graders.reading.parsing import (
    Parsed,
    parse_json_answer,
    parse_json_rating,
    parse_letter,
    parse_rating,
    parse_yes_no,
    settled_letter,
    settled_rating,
    settled_yes_no,
    without_thoughts,
)
from tests.fuzz.checks import fuzzed, in_time
from tests.fuzz.strategies import LONE, TEXTS

PIECES = (
    "0", "1", "2", "3", "4", "5", "6", "9", "10", "45", "4.5", "4,5", "1/4", "5/5", "3/5", "4-6", "12:30", "1e3",
    "-1", "+4", ".5", "½", "٣", "５", "⁴", "Rating", "rating:", "score", "Grade", "O:", "M:", "Answer:",
    "Final answer:", "is", "of", "out of 5", "a", "{", "}", '{"rating": 4}', '{"rating": "4"}', '{"rating": 4.0}',
    '{"rating": true}', '{"rating": 9}', '"rating":', "```json", "```", '{"answer": "yes"}', '{"answer": "B"}', "[",
    "]", '["Why?", "Who?"]', '{"questions": ["Why?"]}', ",", ":", ".", ")", "(", "-", "–", "*", "**", "#", '"', "'",
    "<think>", "</think>", "<b>", "\\boxed{", "$", "yes", "Yes", "no", "No", "not", "true", "False", "XXX", "maybe",
    "A", "B", "C.", "(D)", "B)", "or", "and", "either", "unanswerable", "no answer", "unknown", "(iii)", "a.",
    "I'm sorry, but I can't assist with that.", "I cannot rate this", "Rate limit exceeded. Retry in 5 seconds.",
    "You have 0 credits left", "I have 3 concerns", "The passage says nothing of it", "does not answer",
    "answers it in full", "not a rating of 5", "between 3 and 4", "1. first\n2. second", "question 2", "B12", "\n",
    "\t", "\r", " ", "  ", "\x00", "\u200b", "\ufeff", "\u2028", LONE, "İ", "tides",
)  # fmt: skip
LETTERS = "ABCD"
PIECE = st.one_of(st.sampled_from(PIECES), st.sampled_from(PIECES), st.sampled_from(TEXTS), st.text(max_size=8))
ANSWERS = st.builds(str.join, st.sampled_from(("", "", " ")), st.lists(PIECE, min_size=1, max_size=8))


@fuzzed(120)
@given(ANSWERS, st.sampled_from(PIECES), st.integers(0, 9).map(bool), st.sampled_from((1, 2, 3, 5)))
@example("45", "", True, 5)
@example("3\nRating: 3", "", True, 5)
@example("no number at all", "4", True, 5)
@example('{"rating": 4}', "5", False, 5)
@example("5 " * 1_000, "4", True, 5)
@example("٣", "4", True, 5)
@example("<think>4</think>", "</think> 3", True, 5)
def test_what_is_read_stands_in_the_answer(text: str, more: str, complete: bool, top: int) -> None:
    with in_time():
        rating, in_json = parse_rating(text, complete, top), parse_json_rating(text, top, complete)
        yes_no, letter = parse_yes_no(text, complete), parse_letter(text, LETTERS, complete)
        items, reason = parse_list(text, "questions")
        unanswerable(text)
        ill_formed(text)
    for read, most in ((rating, top), (in_json, top), (yes_no, 1), (letter, len(LETTERS) - 1)):
        _is_one_state(read, most)
        assert complete or read.rating is None, "an answer that was cut off rates"
    digits = "".join(str(unicodedata.decimal(sign, sign)) for sign in text)
    for read in (rating, in_json):
        assert read.status != "graded" or re.search(rf"(?<![0-9]){read.rating}(?![0-9])", digits), read
    assert letter.rating is None or LETTERS[letter.rating].lower() in text.lower()
    for letters in ("", LETTERS):
        _is_one_state(parse_json_answer(text, letters=letters, complete=complete), max(len(letters) - 1, 1))
    assert bool(items) != bool(reason)
    assert all(isinstance(item, str) and item.strip() for item in items)
    assert without_thoughts(text) in text
    for settled, parse in (
        (settled_rating(text, top), lambda text: parse_rating(text, top=top)),
        (settled_yes_no(text), parse_yes_no),
        (settled_letter(text, LETTERS), lambda text: parse_letter(text, LETTERS)),
    ):
        before = parse(text).rating
        assert not settled or before is None or parse(text + more).rating in (before, None), "a settled answer changes"


def _is_one_state(read: Parsed, top: int) -> None:
    """Graded, defaulted or failed: a failure has a reason and no rating, the others a rating on the scale."""
    assert read.status in ("graded", "defaulted", "failed")
    assert (read.rating is None) == (read.status == "failed") == bool(read.reason), read
    assert read.rating is None or (type(read.rating) is int and 0 <= read.rating <= top), read
    assert read.status != "defaulted" or (top == 5 and read.rating in (0, 1)), read
