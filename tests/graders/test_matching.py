"""An extracted answer matches the key when its words do; an answer that is none never does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from exam_workbench.graders import ill_formed
from exam_workbench.graders._reading.matching import SHORT, contains_key, is_no_answer, without_letter, word_match
from exam_workbench.graders._reading.parsing import UNANSWERABLE
from exam_workbench.text import STOP_WORDS, normalise_text


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("rise", "rise"),
        ("rising", "rise"),
        ("It will rise.", "rise"),
        ("RISES", "rise"),
        ("b. rise", "rise"),
        ("rise", "(b) rise"),
        ("b) rising", "c. rise"),
        ("the solar system", "Solar Systems"),
        ("photosynthesys", "photosynthesis"),
        ("ﬁlter", "filter"),
        ("3.5", "3.5"),
        ("cafe\u0301", "café"),
        ("US", "us"),
        ("it", "It"),
        ("May", "may"),
    ],
)
def test_answers_that_differ_in_endings_case_small_words_or_a_typing_error_match(answer: str, key: str) -> None:
    assert word_match(answer, key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("increase", "rise"),
        ("During very wet times, the water table will rise.", "rise"),
        ("fall", "rise"),
        ("not possible", "possible"),
        ("before the war", "after the war"),
        ("3.5", "35"),
        ("1990", "1991"),
        ("it", "them"),
        ("rise", ""),
        ("東京", "京都"),
    ],
)
def test_answers_of_other_words_do_not_match(answer: str, key: str) -> None:
    assert not word_match(answer, key)


@pytest.mark.parametrize("answer", [*UNANSWERABLE, "Unanswerable.", "a.", "(iii)", "", "...", "No answer is given."])
def test_an_answer_that_is_none_matches_no_key_of_substance(answer: str) -> None:
    for key in ("rise", "Norway", "all of the above", "true"):
        assert not word_match(answer, key) and is_no_answer(answer, key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("yes", "true"), ("Yes.", "True"), ("true", "yes"), ("Yes, the tides rise.", "b. true"), ("It is true", "yes"),
        ("The answer is yes", "true"), ("no", "false"), ("No.", "False"), ("False", "No"), ("No, it falls.", "no"),
        ("unknown", "Unknown"), ("Unknown.", "(c) unknown"), ("no", "No"), ("It does not say", "it does not say"),
        ("none of the above", "none of the above"), ("None of these", "d. none of the above"), ("none",
        "none of these"),
        ("d. all of the above", "all of the above"), ("All of these.", "all of the choices"),
    ],
)  # fmt: skip
def test_keys_that_are_verdicts_or_say_that_there_is_none_can_be_matched(answer: str, key: str) -> None:
    assert word_match(answer, key) and not is_no_answer(answer, key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("no", "true"), ("yes", "false"), ("No water rises", "false"), ("no answer", "false"), ("not true", "true"),
        ("unknown", "no"), ("no", "unknown"), ("unknown", "unanswerable"), ("none of the above", "all of the above"),
        ("all", "none"), ("Yes and no", "true"), ("a.", "a."),
    ],
)  # fmt: skip
def test_another_verdict_does_not_match(answer: str, key: str) -> None:
    assert not word_match(answer, key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("The war began in 1962 and ended in 1967.", "1967"), ("During wet times, the water table will rise.", "rise"),
        ("It was Peter Gardner Ostrum who played him", "Gardner Ostrum"), ("Tides[1] are rising", "rise"),
        ("It is the solar system, Sir.", "the Solar Systems"),
        ("They said it was not for the poor.", "not for the poor"),
    ],
)  # fmt: skip
def test_a_short_answer_contains_a_key_as_a_whole_phrase(answer: str, key: str) -> None:
    assert contains_key(answer, key) and not word_match(answer, key)


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("It did not end in 1967.", "1967"), ("It ended in 1966 or 1967.", "1967"), ("It didn't end in 1967", "1967"),
        ("It ended in 19678.", "1967"), ("3.5 metres", "3"), ("The passage does not mention it.", "mention"),
        ("No water rises.", "no"), ("It is true that it rises", "true"), ("All of them rise", "all of the above"),
        ("The passage does not answer the question.", "question"), ("rise", "rise of the sea"), ("it", "the"),
        ("word " * SHORT + "1967", "1967"), ("Nobody knows; unknown", "unknown"), ("", "1967"), ("1967", ""),
    ],
)  # fmt: skip
def test_a_key_within_another_statement_does_not_match(answer: str, key: str) -> None:
    assert not contains_key(answer, key)


@pytest.mark.parametrize(
    "answer",
    ["Paris[1].", "Paris⁶", "Paris [2, 3]", "Paris【4†source】", "Paris [doc 2]", "Paris<sup>1</sup>", "[1] Paris"],
)
def test_citation_marks_are_no_part_of_an_answer(answer: str) -> None:
    assert word_match(answer, "Paris")


def test_answers_differ_from_a_fifth_of_the_longer_one_on() -> None:
    assert word_match("abcdefghij", "abcdefghix")  # 1 of 10
    assert not word_match("abcdefghij", "abcdefghxy")  # 2 of 10, exactly a fifth
    assert not word_match("abcde", "abcdx")  # 1 of 5
    assert word_match("abcdefghij", "abcdefghxy", tolerance=0.21)
    for length in range(5, 200, 5):
        fifth = length // 5
        assert not word_match("w" * length, "w" * (length - fifth) + "z" * fifth), "exactly a fifth, at any length"


def test_what_is_left_of_a_text_is_stems_without_small_words() -> None:
    assert normalise_text("The rising tides, and the Moon's 3.5 pulls!") == "rise tide moon s 3.5 pull"
    assert normalise_text("of the") == ""
    assert not STOP_WORDS & {"no", "not", "never", "none", "all", "before", "after", "under", "over", "more", "less"}


def test_the_letter_of_a_choice_is_no_part_of_it() -> None:
    assert without_letter("b. rise") == without_letter("(B) rise") == without_letter(" b) rise") == "rise"
    for text in ("rise", "b.", "U.S. Army", "ab. rise", "a rise", "x. rise"):
        assert without_letter(text) == text


@given(st.text() | st.sampled_from(["rise", "the", "b. rise", "\ud800", "Ⅳ"]), st.text(max_size=20))
def test_any_text_can_be_compared_and_a_sound_answer_matches_itself(answer: str, key: str) -> None:
    assert word_match(answer, key) in (True, False)
    assert word_match(answer, answer) == (not ill_formed(answer))


def test_threads_can_compare_at_the_same_time() -> None:
    words = [f"{word}{ending}" for word in ("jump", "walk", "climb", "paint", "turn") for ending in ("s", "ing", "ed")]
    with ThreadPoolExecutor(8) as threads:
        stems = list(threads.map(normalise_text, words * 200))
    assert set(stems) == {"jump", "walk", "climb", "paint", "turn"}
