"""Reasoning before an answer is no part of it, whatever mark closes it and whether or not a mark opened it."""

from __future__ import annotations

import pytest

from exam_workbench.exams._item_generation import ParsedItem, parse_item
from exam_workbench.graders import parse_list, without_thoughts
from exam_workbench.graders._prompts.prompt import built_in_prompts
from exam_workbench.graders._reading.calls import Call, Completion, is_answer, make_settled_test, read_completion
from exam_workbench.graders._reading.non_answers import opened_reasoning, reasoning_length
from exam_workbench.graders._reading.parsing import (
    Parsed,
    parse_json_answer,
    parse_json_rating,
    parse_letter,
    parse_object,
    parse_rating,
    parse_yes_no,
    settled_letter,
    settled_rating,
    settled_yes_no,
)

REASONED = 'A rating of 1 fits? No, wait. Yes. Rating: 2\n\nA, hmm {"rating": 3}'
MARKS = [
    ("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>\n", "</thought>"), ("<THINK>", "</THINK>"),
    ("<thoughts>", "</thoughts>"), ("<reasoning>", "</reasoning>"), ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"), ("<rationale>", "</rationale>"),
    ("<planning>", "</planning>"), ("<internal>", "</internal>"),
    ("<thinking_process>", "</thinking_process>"), ("<cot>", "</cot>"),
    ("[THINK]", "[/THINK]"), ("<seed:think>", "</seed:think>"), ("◁think▷", "◁/think▷"),
    ("<|think|>", "<|/think|>"), ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"), ("Thinking...\n", "\n...done thinking.\n"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis", "assistantfinal"), ("<|channel>thought\n", "<channel|>"),
    ("Here is my thought process: ", "Here is my response:\n"),
]  # fmt: skip
OTHER_MARKS = [
    ("<plan>", "</plan>"), ("<work>", "</work>"), ("<details><summary>Steps</summary>", "</details>"),
    ("<steps>", "</steps>"), ("<notes type='own'>", "</notes>"), ("[PLAN]", "[/PLAN]"), ("<hidden>", "</hidden>"),
]  # fmt: skip


@pytest.mark.parametrize(("opening", "closing"), MARKS + OTHER_MARKS)
def test_only_the_text_after_the_last_closing_mark_is_read(opening: str, closing: str) -> None:
    for before in (opening + REASONED + closing, REASONED + closing, (opening + REASONED + closing) * 2):
        for gap in ("", "\n\n"):
            assert parse_rating(f"{before}{gap}5") == Parsed(5, "graded")
            assert parse_json_rating(f'{before}{gap}{{"rating": 5}}') == Parsed(5, "graded")
            assert parse_yes_no(f"{before}{gap}NO") == Parsed(0, "graded")
            assert parse_json_answer(f'{before}{gap}{{"answer": "No"}}') == Parsed(0, "graded")
            assert parse_letter(f"{before}{gap}B", "ABC") == Parsed(1, "graded")
            assert parse_list(f'{before}{gap}["Why?"]', "questions") == (["Why?"], None)
            assert parse_object(f'{before}{gap}{{"rating": 5}}') == {"rating": 5}
        assert without_thoughts(before + "Paris.").strip() == "Paris."
        assert reasoning_length(before + "5") >= len(before) - len("<|begin_of_solution|><|START_RESPONSE|>")


@pytest.mark.parametrize(("opening", "closing"), MARKS)
def test_an_answer_that_only_reasons_is_empty(opening: str, closing: str) -> None:
    for text in (opening + REASONED + closing, REASONED + closing):
        assert parse_rating(text) == Parsed(None, "failed", "empty")
        assert parse_yes_no(text) == Parsed(None, "failed", "empty")


@pytest.mark.parametrize(
    "opening",
    [
        "<think>",
        "<thinking>",
        "<reasoning>",
        "<plan>",
        "[THINK]",
        "<|channel|>analysis<|message|>",
        "<|START_THINKING|>",
    ],
)
def test_nothing_is_settled_inside_reasoning(opening: str) -> None:
    for text in (f"{opening}\n4\n", f"{opening}Rating: 4\n", f"{opening}\nOkay, a rating of 2 would"):
        assert not settled_rating(text)
        assert parse_rating(text) == Parsed(None, "failed", "empty")
    assert not settled_yes_no(f"{opening}Yes, it does") and not settled_letter(f"{opening}B. It", "ABC")


def test_a_prompt_that_opens_reasoning_keeps_an_answer_from_being_settled_in_it() -> None:
    prompts = built_in_prompts()
    for form, prompt, begins, ends in (
        ("rating", "self-rating", "4\n", "4\n"), ("yes-no", "verify", "Yes, it ", "Yes, it "),
    ):  # fmt: skip
        call = Call(prompts[prompt], {}, form)
        assert make_settled_test(call)(begins)
        within = make_settled_test(call, "<|Assistant|><think>\n")
        assert not within(begins) and within(f"Hmm.</think>{ends}")
    assert opened_reasoning("Rate it from 0 to 5.\n<|Assistant|><think>\n") == "<think>\n"
    assert opened_reasoning("Rate it from 0 to 5.\n<plan>") == "<plan>"
    assert opened_reasoning("<think>\n\n</think>\n\n") == opened_reasoning("Write <think> first.") == ""


@pytest.mark.parametrize(
    "text",
    [
        "5<|eot_id|>", "5<|im_end|>", "5<end_of_turn>", "5</s>", "5<｜end▁of▁sentence｜>",
        "5<|im_end|>\n<|im_start|>user\n2",
        "<|im_start|>assistant\n5<|im_end|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n5<|eot_id|>", "<s> 5 </s>",
        "<answer>5</answer>", "<reasoning>2</reasoning><answer>\n5\n</answer>",
    ],
)  # fmt: skip
def test_marks_of_the_turn_are_no_part_of_an_answer(text: str) -> None:
    assert parse_rating(text) == Parsed(5, "graded")
    assert parse_yes_no(text.replace("5", "Yes")) == Parsed(1, "graded")
    assert parse_letter(text.replace("5", "C"), "ABC") == Parsed(2, "graded")
    assert parse_json_rating(text.replace("5", '{"rating": 5}')) == Parsed(5, "graded")


@pytest.mark.parametrize(
    "text",
    [
        "2 < 5 and 5 > 2", "a [citation]", "<b>Paris</b>", "Think of 5.", "<rating>4</rating> It names the key.",
        "<ul><li>Paris</li></ul> and more", "4\n<explanation>It says so.</explanation>\nDone.",
        "The <passage>text</passage> tells: 4", "[2] Paris [/2] is it", "<No> It is not.", "[Yes] It is.",
        "<evaluation>4</evaluation>",
    ],
)  # fmt: skip
def test_other_tags_are_left_alone(text: str) -> None:
    assert without_thoughts(text) == text and reasoning_length(text) == 0


def test_calls_are_read_without_reasoning_in_both_forms() -> None:
    call = Call(built_in_prompts()["self-rating"], {}, "rating")
    text = 'Okay, maybe a rating of 2, no.\n</think>\n\n{"rating": 5}'
    assert (
        read_completion(call, Completion(text, structured=True))
        == read_completion(call, Completion(text))
        == Parsed(5, "graded")
    )
    assert is_answer(call, text, structured=True)


def test_an_item_is_read_without_reasoning() -> None:
    item = (
        "Question: What do the tides of the sea follow, by and large, over a month?\nA) The Moon\nB) The wind\n"
        "C) Rain\nD) Mars\nCorrect Answer: {}"
    )
    parsed = parse_item(f"Let me draft one. {item.format('B')}\n</think>\n{item.format('A')}")
    assert isinstance(parsed, ParsedItem) and parsed.key == 0
