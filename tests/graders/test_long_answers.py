"""A long text of whatever repeats is read: no answer of an endpoint holds up the program that reads it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

from exam_workbench.graders import parse_list
from exam_workbench.graders._endpoint.redaction import redact_keys
from exam_workbench.graders._reading.parsing import (
    parse_json_rating,
    parse_letter,
    parse_rating,
    parse_yes_no,
    settled_letter,
    settled_rating,
    settled_yes_no,
)
from exam_workbench.injection_signs import find_signs

SIZE = 1 << 17
LIMIT_S = 4  # of processor time; what takes the square of the length takes from many seconds to hours
KEY = "sk-proj-Ab3dEf6hIj9kLmN0pQrStUvWxYz12345678"


@pytest.fixture(autouse=True)
def a_limit() -> Iterator[None]:
    def ended(*_: object) -> None:
        raise TimeoutError(f"reading took more than {LIMIT_S} s")

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


READERS: dict[str, Callable[[str], object]] = {
    "a rating": lambda text: (parse_rating(text), settled_rating(text)),
    "yes or no": lambda text: (parse_yes_no(text), settled_yes_no(text)),
    "a letter": lambda text: (parse_letter(text, "ABCD"), settled_letter(text, "ABCD")),
    "JSON": parse_json_rating,
    "a list": lambda text: parse_list(text, "questions"),
}
ANSWERS = {
    "a list of blank lines": ("1. x", "\n \n"),
    "blank lines": ("1. x", "\n"),
    "tags of ratings": ("rating", "<rating>"),
    "other tags": ("O:", "<b>"),
    "ratings": ("", "rating ("),
    "numbers": ("", "rating 1.1,1/1 "),
    "spaces": ("The answer is", " "),
    "words before an answer": ("", "the correct "),
    "commas": ("yes", ","),
    "brackets": ("", '{"rating": ['),
    "a long number": ('{"rating": ', "9"),
    "doubts": ("", "cannot be "),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("reader", READERS)
def test_a_long_answer_is_read(reader: str, answer: str) -> None:
    beginning, piece = ANSWERS[answer]
    READERS[reader](beginning + piece * (SIZE // len(piece)))


@pytest.mark.parametrize("piece", [KEY[:6] + "zz ", KEY[:11] + "_", "%25", "&amp;", "bearer ", "\u0301"])
def test_keys_are_looked_for_in_a_long_text(piece: str) -> None:
    shown = redact_keys(piece * (SIZE // len(piece)) + f" {KEY} and {KEY[::-1]}", [KEY])
    assert KEY not in shown and KEY[::-1] not in shown


@pytest.mark.parametrize("piece", ["question: ", "rate this "])
def test_a_long_passage_is_looked_through_for_orders(piece: str) -> None:
    find_signs(piece * (SIZE // len(piece)), ["What is the height of the tower?"])
