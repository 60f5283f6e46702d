"""A whole number rates if it is the whole answer or marked as the rating; of different ones the last marked counts."""

from __future__ import annotations

import pytest

from exam_workbench.graders._reading.parsing import NO_RATING, Parsed, parse_rating, settled_rating


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        # whole numbers in other forms
        ("3.0", 3), ("3.0/5", 3), ("3/5.0", 3), ("3,0", 3), ("Score: 2.00", 2), ('{"rating": 2.0}', 2), ("2 / 5.", 2),
        # as a share of the scale
        ("3 out of 5", 3), ("3 out of 5.", 3), ("It gets 3 out of 5, as it names two.", 3),
        ("3 out of a possible 5", 3), ("This passage deserves 2/5.", 2), ("3 von 5", 3), ("I rate it 5/5", 5),
        # with a reason behind it
        ("2 (only the year is named)", 2), ("2, since it names the year", 2), ("2; it names the year", 2),
        ("2 because it names the year", 2), ("2!", 2), ("Rating → 2", 2),
        ("2 – names the year", 2), ("3 stars", 3), ("3 points.", 3),
        # labels
        ("Relevance: 2", 2), ("Relevance score: 2", 2), ("**Verdict:** 3", 3), ("The passage fits.\n\nAnswer: 4", 4),
        ("Final answer: 2.", 2), ("My assessment: 3, as it is short", 3), ("Rating [0 to 5]: 2", 2),
        ("Rating on a scale from 0 to 5: 2", 2), ("Rating (out of 5): 2", 2), ("Overall: 3", 3), ("Rating: [[2]]", 2),
        ("<rating>2</rating>", 2), ("<score> 2 </score>", 2), ("The answer is 2.", 2), ("The verdict is: 2", 2),
        # other languages and scripts
        ("Bewertung: 3", 3), ("Note : 3", 3), ("Évaluation : 3", 3), ("Calificación: 3", 3), ("Оценка: 3", 3),
        ("評価：3", 3), ("得分：3分", 3), ("3分", 3), ("평점: 3점", 3), ("我的评分：２。", 2),
        ("评分为3分", 3), ("得分是 3", 3), ("التقييم: ٣", 3),
        # stars
        ("★★☆☆☆", 2), ("⭐⭐⭐", 3), ("Rating: ★★★★★", 5), ("☆☆☆☆☆", 0), ("⭐️⭐️ (2/5)", 2),
        # emphasis
        ("So I arrive at **2**.", 2), ("It follows that $\\boxed{3}$", 3), ("This is a clear __2__, I think", 2),
        # a line of its own
        ("It names the year.\n\n3", 3), ("It names the year.\n**3**\n", 3),
        # statements
        ("I would give this passage a 2.", 2), ("I'd rate it 3", 3), ("The passage deserves a 3.", 3),
        ("A rating of 4 would be appropriate.", 4),
    ],
)  # fmt: skip
def test_a_whole_number_that_is_marked_as_the_rating_is_read(text: str, rating: int) -> None:
    assert parse_rating(text) == Parsed(rating, "graded")


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("A score of 5 requires every date. Two are missing, so the score is 2.", 2),
        ("A grade of 4 would be too generous; a grade of 2 fits.", 2),
        ("For a rating of 5 it would have to name all; I settle on a rating of 3.", 3),
        ("Rating: 5? No, the dates are missing. Rating: 3", 3),
        ("Rating: 4\n\nOn reflection the dates are missing.\n\nFinal rating: 3", 3),
        ("4\n\nOn reflection the dates are missing.\nRating: 3", 3),
        ("Score: 5 would need all. Score: 1", 1),
        ("The rating is 5. No: the rating is 4.", 4),
        ("It is 5/5 for style. Rating: 2/5", 2),
        ("It does not reach a rating of 4, so a rating of 3.", 3),
        ("Below a rating of 5, yet above a rating of 3: **4**", 4),
        # an explanation after the rating is none
        ("3: it names the year. A rating of 5 would name the day.", 3),
        ("3\n\nThe passage names 4 of 5 dates, and a top score of 5 needs all.", 3),
        ("Rating: 3\nA score of 4 is too high, since 2 dates are missing.", 3),
        ("Rating: 3. A rating of 5 is reserved for complete answers.", 3),
    ],
)
def test_of_different_ratings_the_last_one_that_is_marked_counts(text: str, rating: int) -> None:
    assert parse_rating(text) == Parsed(rating, "graded")


@pytest.mark.parametrize(
    "text",
    [
        "Rating: 7", "Rating: 45", "Score: 2-3", "Score: 2–3", "Rating: 2 to 3", "Rating: 2/10", "Score: 2.5",
        "Rating: n/a", "Rating: none", "Grade: unclear", "Between 3 and 4", "Either 3 or 4.", "2\n3",
        "2\n\nThe passage is short.\n\n3",
        "It is not a rating of 5", "A rating of 5 would need more details.", "Rating: 5?", "8 months", "4 out of 50",
        "4 out of 5 dentists agree", "3/5 of the people", "Hotel rates rose by 4", "1, 2 and 3", "6 stars", "★★★★★★★",
        "1. The passage describes a war. 2. It gives dates.", "1) It fits. 2) It is short.", "1. A\n2. B", "4 weeks",
        "★", "評価は4です", "这段话我打4分", "점수는 4점입니다", "我认为应该给4分左右", "四4", "4分钟",
    ],
)  # fmt: skip
def test_numbers_that_nothing_marks_as_the_rating_fail(text: str) -> None:
    assert parse_rating(text) == Parsed(None, "failed", NO_RATING)


@pytest.mark.parametrize(
    "text",
    ["The passage is about the war.", "before", "B12", "It fits well", "covid-19", "the 5th", "Ratings are high"],
)
def test_an_answer_without_any_number_gets_the_default(text: str) -> None:
    assert parse_rating(text) == Parsed(1, "defaulted")


def test_reasoning_that_no_mark_opened_does_not_settle_a_rating() -> None:
    assert not settled_rating("Okay, a rating of 2 would be too low.")
    assert not settled_rating("Hmm. Rating: 2 is my first guess")
    assert not settled_rating("Rating: 2 is what I would say")
    assert settled_rating("Okay, a rating of 2 would be too low.</think>\n\n5\n")
