"""A verdict that is complete before an answer was cut off counts, whatever an endpoint is asked for."""

from __future__ import annotations

import json

import pytest

from exam_workbench.graders._endpoint.chat import Dialect, Request, prepare_request, read_answer
from exam_workbench.graders._prompts.prompt import built_in_prompts
from exam_workbench.graders._reading.calls import Call, read_completion
from exam_workbench.graders._reading.parsing import Parsed


def parsed(form: str, text: str, dialect: Dialect, finish: str = "length") -> Parsed:
    """How an answer that an endpoint gave to a call of a form is read."""
    prompt = built_in_prompts()[{"rating": "self-rating", "yes-no": "verify", "letter": "choice"}[form]]
    names = ("question", "context", "correct_answer", "answer", "choices")
    call = Call(prompt, dict.fromkeys(names, "Tides rise."), form, options=("A", "B", "C") if form == "letter" else ())
    request = prepare_request(call, "m", 0.0, dialect, None, None)
    assert isinstance(request, Request)
    choice = {"text": text} if dialect.api == "completions" else {"message": {"content": text}}
    content = json.dumps({"choices": [choice | {"finish_reason": finish}]}).encode()
    return read_completion(call, read_answer(content, request, str).completion)


@pytest.mark.parametrize("dialect", [Dialect(structured=False), Dialect("completions", structured=False)])
def test_a_verdict_that_comes_first_counts(dialect: Dialect) -> None:
    for form, text, value in (
        ("yes-no", "YES\n\nThe passage provides the reasons for", 1), ("yes-no", "No, the passage does not na", 0),
        ("yes-no", "**No**. It", 0), ("rating", "0\n\nThe passage is about", 0), ("rating", "4 - it names most of", 4),
        ("rating", "Rating: 3\n\nThe passage na", 3), ("rating", "**Rating: 3**. It na", 3),
        ("letter", "B\n\nThe mo", 1), ("rating", "Let me see.\n</think>\n\n5\n\nThe pas", 5),
        ("rating", "3/5\nThe passage", 3),
    ):  # fmt: skip
        assert parsed(form, text, dialect) == Parsed(value, "graded"), text


@pytest.mark.parametrize("dialect", [Dialect(), Dialect(structured=False), Dialect("completions", structured=False)])
def test_a_verdict_that_is_not_complete_is_cut_off(dialect: Dialect) -> None:
    for form, text in (
        ("yes-no", "Y"), ("yes-no", "The passage says yes, b"), ("yes-no", "Yes"), ("rating", "The passage"),
        ("rating", "4"), ("rating", "Okay, a rating of 2 would be"), ("rating", "<think>\n4\n\nHmm"),
        ("rating", "Rating: 5 would"),
        ("rating", '{"rating": '), ("letter", "B"), ("rating", "1. The passage na"), ("rating", ""),
    ):  # fmt: skip
        assert parsed(form, text, dialect) == Parsed(None, "failed", "cut off"), text


def test_json_that_is_complete_counts_whatever_blanks_follow() -> None:
    assert parsed("rating", '{"rating": 4}\n\n\n \n', Dialect()) == Parsed(4, "graded")
    assert parsed("yes-no", '{"answer": "No"}\n\n', Dialect()) == Parsed(0, "graded")
    assert parsed("letter", 'Hmm.</think>{"answer": "C"}\n\n', Dialect()) == Parsed(2, "graded")
    assert parsed("rating", '{"rating": 4}', Dialect(), "stop") == Parsed(4, "graded")
