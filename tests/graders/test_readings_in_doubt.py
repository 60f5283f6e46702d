"""Answers whose numbers and verdicts are easily taken for what they are not."""

from __future__ import annotations

import pytest

from exam_workbench.graders._reading.parsing import Parsed, parse_rating, parse_yes_no, settled_rating


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("My rating is: 3", 3),
        ("The rating for this passage is: 3", 3),
        ("Grade for this question: 4", 4),
        ("The rating is a 4.", 4),
        ("4 / 5", 4),
        ("Score: 3 / 5", 3),
        ("1. The passage is about dogs.\n2. It names no breed.\n\nFinal grade: 3", 3),
        ("**1.** It fits.\n**2.** It is short.\nRating: 4", 4),
        ("1. Nothing in it answers the question.", 1),
        ("It does not deserve a score of 5; score: 2", 2),
        ("Unfortunately, I could not find any of this in the passage. Rating: 0", 0),
        ("$4$", 4),
    ],
)
def test_the_rating_that_an_answer_names_is_read(text: str, rating: int) -> None:
    assert parse_rating(text) == Parsed(rating, "graded")


@pytest.mark.parametrize("text", ["$5", "$5.", "**$3**"])
def test_a_price_is_no_rating(text: str) -> None:
    assert parse_rating(text) == Parsed(1, "defaulted")


def test_what_may_become_a_list_is_not_settled() -> None:
    assert not settled_rating("1. The passage is about dogs.")
    assert not settled_rating("4 / 5")
    assert settled_rating("4. The passage is about dogs.")


@pytest.mark.parametrize(
    "text",
    [
        "I don't think the passage is relevant.",
        "I do not believe that the answer is correct.",
        "It is unlikely that the answer is correct.",
        "Nothing here is relevant.",
        "None of it is relevant.",
        "Neither is correct.",
        "The passage never answers the question.",
        "The passage barely answers the question.",
        "The passage no longer answers the question.",
        "The answer is not yes.",
    ],
)
def test_a_verdict_that_is_denied_is_none(text: str) -> None:
    assert parse_yes_no(text).status == "failed"
