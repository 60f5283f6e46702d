"""Parsing of model replies into items, and the seeded order of choices."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from exam_workbench.exams._item_generation import ParsedItem, UnreadableReply, parse_item, shuffle_choices, shuffle_seed

QUESTION = "Which of the following metrics tells the total storage that the buckets of a company use?"
CHOICES = ("BucketSizeBytes", "ObjectVersionBytes", "IncompleteMultipartUploads", "NumberOfObjects")


def written(
    question: str = f"Question: {QUESTION}",
    marks: str = "A) B) C) D)",
    key: str = "Correct Answer: B)",
    choices: tuple[str, ...] = CHOICES,
) -> str:
    lines = [f"{mark} {choice}" for mark, choice in zip(marks.split(), choices, strict=True)]
    return "\n".join([question, *lines, key])


# Two sample items of the paper's appendix (A.4), as the prompt asks a model to write them.
SAMPLES = [
    "Question: The Swift team announced an update to the UltraViolet and Optical Telescope calibration to correct for "
    "the loss of sensitivity over time. What is the impact of this update on observations in the three near "
    "ultraviolet (UV) filters?\n"
    "A) It decreases the sensitivity of observations in the UV filters by up to 0.3 mag.\n"
    "B) It corrects for the loss of sensitivity over time, but the magnitude of the correction varies depending on "
    "the filter.\n"
    "C) It has no impact on observations in the UV filters.\n"
    "D) It increases the sensitivity of observations in the UV filters by up to 0.3 mag.\n"
    "Correct Answer: B) It corrects for the loss of sensitivity over time, but the magnitude of the correction varies "
    "depending on the filter.",
    "Question: You are working on a project that requires you to use the 'MailingAddress' field from the contact "
    "object in your visual force email templates and formula fields. However, you are unable to use this field "
    "directly. What should you do instead?\n"
    "A) Use the 'MailingStreet', 'MailingCity', 'MailingState', 'MailingPostcode', and 'MailingCountry' fields "
    "separately in your code.\n"
    "B) Use a third-party library to format the mailing address into a single string.\n"
    "C) Create a custom object that contains the mailing address information and use that object in your code.\n"
    "D) Use a combination of the 'MailingStreet', 'MailingCity', 'MailingState', 'MailingPostcode', and "
    "'MailingCountry' fields to create a new field that represents the full mailing address.\n"
    "Correct Answer: A) Use the 'MailingStreet', 'MailingCity', 'MailingState', 'MailingPostcode', and "
    "'MailingCountry' fields separately in your code.",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_sample_items_of_the_paper_are_parsed(text: str) -> None:
    item = parse_item(text)
    assert isinstance(item, ParsedItem)
    letter, _, key = text.rpartition("Correct Answer: ")[2].partition(") ")
    assert (item.key, item.choices[item.key]) == ("ABCD".index(letter), key)
    assert text.startswith(f"Question: {item.question}\nA) {item.choices[0]}\n")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (written(), 1),
        (written(marks="A. B. C. D.", key="Answer: C"), 2),
        (written(marks="1) 2) 3) 4)", key="Correct answer: 4) NumberOfObjects"), 3),
        (written(marks="1. 2. 3. 4.", key="The answer is 2."), 1),
        (written(marks="a) b) c) d)", key="correct answer: a) BucketSizeBytes"), 0),
        (written(marks="a. b. c. d.", key="answer: (d)"), 3),
        (written(key="Correct Answer: c"), 2),
        (written(key="**Correct Answer:** **D**"), 3),
        (written(key="Correct Answer:\nA) BucketSizeBytes"), 0),
        (written(key="So the correct answer is: B"), 1),
        (written(key="Correct Answer: D - it counts objects"), 3),
        (written(question=f"question: {QUESTION}"), 1),
        (written(question=f"Question 1: {QUESTION}"), 1),
        (written(question=f"**Question:** {QUESTION}"), 1),
        (written(question=f"Here is a difficult multi-form question:\n\nQuestion: {QUESTION}"), 1),
        (f"<think>Question: A) no?</think>{written()}", 1),
        (written(marks="**A)** **B)** **C)** **D)**"), 1),
        (written().replace("\nB)", " B)").replace("\nC)", " C)").replace("\nD)", " D)"), 1),
        (written().replace("\nA)", "\n\nA)").replace("\nB)", "\n\nB)").replace("\nCorrect", "\n\nCorrect"), 1),
        (written(key="Explanation: A) is too small.\n\nCorrect Answer: B"), 1),
        (written(key="Correct Answer: B\n\nExplanation:\nA) is too small.\nC) is none. The answer is not A."), 1),
        (written() + "\n\n" + written(key="Correct Answer: C)"), 1),
    ],
)  # fmt: skip
def test_common_reply_formats_are_parsed(text: str, key: int) -> None:
    assert parse_item(text) == ParsedItem(QUESTION, CHOICES, key)


def test_numbered_list_in_question_is_not_the_choices() -> None:
    listed = (
        "Question: A request takes these steps:\n1. It is sent\n2. It is read\n3. It is answered\n4. It ends\nWhich?"
    )
    item = parse_item(written(question=listed))
    assert isinstance(item, ParsedItem) and item.choices == CHOICES
    assert item.question.splitlines()[1] == "1. It is sent", "line breaks of a question are kept"


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
def test_question_has_lines_only_at_line_feeds(sign: str) -> None:
    item = parse_item(written(question=f"Question: {QUESTION.replace('tells the', f'tells{sign}the')}"))
    assert isinstance(item, ParsedItem) and item.question == QUESTION


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("question", "choices", "key")),
        ("I cannot write a question about this.", ("question", "choices", "key")),
        (written(question=QUESTION), ("question",)),
        (written(question="Question: Which metric?"), ("question",)),
        (written(question="Question: " + QUESTION.replace("?", ".")), ("question",)),
        (written(marks="A) B) C)", choices=CHOICES[:3]), ("choices",)),
        (written(marks="A) B) C) D) E)", choices=(*CHOICES, "none")), ("choices",)),
        (written(marks="A) B) B) D)"), ("choices",)),
        (written(choices=("one", "", "three", "four")), ("choices",)),
        (written(key=""), ("key",)),
        (written(key="Correct Answer: E) none"), ("key",)),
        (written(key="Correct Answer: BucketSizeBytes"), ("key",)),
        (written(key="Correct Answer: A bucket is what counts"), ("key",)),
        (written(question="Question: Why?", key="Correct Answer: 7"), ("question", "key")),
    ],
)
def test_unreadable_reply_names_the_failed_parts(text: str, parts: tuple[str, ...]) -> None:
    found = parse_item(text)
    assert isinstance(found, UnreadableReply)
    assert found.parts == parts
    assert all(f"the {part}" in found.reason for part in parts)


def as_json(**changes: object) -> str:
    return json.dumps({"question": QUESTION, "choices": list(CHOICES), "correct_answer": "B"} | changes)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (as_json(), 1),
        (f"```json\n{as_json()}\n```", 1),
        (as_json(correct_answer="NumberOfObjects"), 3),
        (as_json(correct_answer="C) IncompleteMultipartUploads"), 2),
        (as_json(choices=[f"{letter}) {choice}" for letter, choice in zip("ABCD", CHOICES, strict=True)]), 1),
        (as_json(choices=dict(zip("ABCD", CHOICES, strict=True)), explanation="since"), 1),
    ],
)
def test_items_are_parsed_from_json(text: str, key: int) -> None:
    assert parse_item(text) == ParsedItem(QUESTION, CHOICES, key)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (as_json(question="Which?"), ("question",)),
        (as_json(question=7), ("question",)),
        (as_json(choices=CHOICES[:3]), ("choices",)),
        (as_json(choices=[*CHOICES[:3], 4]), ("choices", "key")),
        (as_json(correct_answer="E"), ("key",)),
        (as_json(correct_answer="none of them"), ("key",)),
    ],
)
def test_invalid_json_item_names_the_failed_parts(text: str, parts: tuple[str, ...]) -> None:
    found = parse_item(text)
    assert isinstance(found, UnreadableReply) and found.parts == parts


@given(st.text(max_size=300), st.sampled_from(["", "Question:", "A) x\nB) y", "Correct Answer: A", '{"question":']))
def test_any_reply_is_parsed_or_refused_by_part(text: str, spice: str) -> None:
    found = parse_item(f"{text}{spice}{text}")
    if isinstance(found, UnreadableReply):
        assert found.parts and found.reason
    else:
        assert len(found.choices) == 4 and all(found.choices) and 0 <= found.key < 4


def test_choice_order_depends_only_on_seed_and_item_and_spreads_the_key() -> None:
    seed = shuffle_seed(7, "exam/a")
    # A literal value, because published exams must stay reproducible.
    assert seed == 6933336395320096489
    assert shuffle_choices(CHOICES, seed) == tuple(CHOICES[at] for at in (0, 3, 2, 1))
    assert sorted(shuffle_choices(CHOICES, seed)) == sorted(CHOICES)
    assert shuffle_seed(7, "exam/a") == seed != shuffle_seed(8, "exam/a")
    assert 0 <= seed < 2**63
    places = Counter(shuffle_choices(CHOICES, shuffle_seed(0, f"exam/{n}")).index(CHOICES[0]) for n in range(1000))
    assert all(200 < places[at] < 300 for at in range(4))
