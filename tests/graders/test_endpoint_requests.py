"""What an endpoint is asked: structured output, models with wishes, prompts that are too long."""

from __future__ import annotations

import re

import pytest

from exam_workbench.graders import Call, Control, built_in_prompts
from exam_workbench.graders._reading.calls import Form, complete_calls, is_answer
from exam_workbench.graders._reading.grading_methods import rate_directly
from exam_workbench.types import Asked
from tests.made.endpoint_calls import (
    FREE,
    RATE,
    SCALE,
    drive,
    key,
    make,
    nothing_is_left_running,
    only,
    pairs,
    prompt,
    question,
    rated,
)
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    no_structure,
    rate,
    status,
    well,
)
from tests.made.refusals import mentions

__all__ = ["key", "nothing_is_left_running"]


@pytest.mark.parametrize(
    ("form", "options", "field"),
    [
        ("rating", SCALE, {"rating": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}}),
        ("yes-no", ("Yes", "No"), {"answer": {"type": "string", "enum": ["Yes", "No"]}}),
        ("letter", ("A", "B", "C"), {"answer": {"type": "string", "enum": ["A", "B", "C"]}}),
    ],
)
def test_a_choice_among_few_is_asked_for_as_json_of_a_schema(
    form: Form, options: tuple[str, ...], field: object
) -> None:
    with EndpointServer() as server:
        call = Call(RATE, {"question": "q", "context": "c"}, form, options=options, max_tokens=4)
        assert complete_calls(make(server), [call], Control())[0].structured
    body = server.seen[0].body
    asked = body["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"]) == ("json_schema", True)
    assert asked["json_schema"]["schema"]["properties"] == field
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 64)


@pytest.mark.parametrize(("name", "options"), [("Q-judge", ["Yes", "No", "XXX"]), ("Sun", ["Yes", "No"])])
def test_a_judge_that_may_abstain_may_do_so_in_json(name: str, options: list[str]) -> None:
    judge = rate_directly(Asked("What rises?"), "Bread rises.", built_in_prompts()[name])
    call = next(judge)
    with EndpointServer(lambda seen: chat('{"answer": "XXX"}')) as server:
        completion = complete_calls(make(server), [call], Control())[0]
    assert server.seen[0].body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == options
    with pytest.raises(StopIteration) as ended:
        judge.send(completion)
    assert (ended.value.value.rating, ended.value.value.status) == (None, "failed")
    assert is_answer(call, completion.text, structured=True)


@pytest.mark.parametrize(("form", "kind"), [("text", None), ("json", {"type": "json_object"})])
def test_free_answers_have_no_schema(form: Form, kind: object) -> None:
    with EndpointServer(lambda seen: chat("fine")) as server:
        completion = complete_calls(make(server), [Call(FREE, {"question": "q"}, form, max_tokens=9)], Control())[0]
    assert (completion.text, completion.structured) == ("fine", False)
    assert server.seen[0].body.get("response_format") == kind
    assert server.seen[0].body["max_tokens"] == 9


@pytest.mark.parametrize("form", ["likelihood", "span"])
def test_what_only_a_local_model_can_do_costs_no_call(form: Form) -> None:
    with EndpointServer() as server:
        completion = complete_calls(make(server), [Call(RATE, {"question": "q", "context": "c"}, form)], Control())[0]
    assert form in str(completion.error)
    assert server.seen == []


def test_an_endpoint_without_structured_output_is_asked_in_plain_text_from_then_on() -> None:
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        end = make(server, attempts=1)
        assert {g.rating for g in drive(end, pairs(5), Control(concurrency=1)).values()} <= set(range(6))
        assert drive(end, pairs(1))[0].raw == str(digit(prompt(0)))
    assert [seen.wants_json for seen in server.seen] == [True] + [False] * 6


def test_structured_output_is_insisted_on_or_left_out_where_that_is_asked() -> None:
    with EndpointServer(lambda seen: no_structure() if seen.wants_json else well(seen)) as server:
        assert str(only(drive(make(server, structured="json"), pairs(1))).reason).startswith(
            "HTTP 400: response_format"
        )
        assert only(drive(make(server, structured="text"), pairs(1))).rating == digit(prompt(0))


def test_a_model_with_wishes_of_its_own_gets_them() -> None:
    def behave(seen: Seen) -> Reply:
        if "max_tokens" in seen.body:
            return status(400, "Unsupported parameter: use 'max_completion_tokens' instead.", param="max_tokens")
        if "temperature" in seen.body:
            return status(400, "Unsupported value: 0.0", param="temperature", code="unsupported_value")
        return well(seen)

    with EndpointServer(behave) as server:
        assert len(drive(make(server, attempts=1, extra={"seed": 7}), pairs(3), Control(concurrency=1))) == 3
    assert len(server.seen) == 5
    body = server.seen[-1].body
    assert (body["max_completion_tokens"], body["seed"], "max_tokens" in body) == (64, 7, False)


LONG = " ".join(f"word{i}" for i in range(400))


def long_call() -> Call:
    return Call(RATE, {"question": "q?", "context": LONG}, "rating", options=SCALE)


def test_a_prompt_that_is_too_long_comes_again_with_half_of_the_passage() -> None:
    def behave(seen: Seen) -> Reply:
        if len(seen.prompt) > 1000:
            return status(400, "This model's maximum context length is 250 tokens", code="context_length_exceeded")
        return rate(seen, 3)

    with EndpointServer(behave) as server:
        grade = only(drive(make(server, attempts=1), [((0, 0), rated(long_call()))]))
    kept = server.seen[-1].prompt.removeprefix("Question: q?\nPassage: ").removesuffix("\nRating:")
    assert len(server.seen) == 3 and LONG.startswith(kept + " ") and len(kept) > 600
    assert grade.note == f"shortened by {-(-(len(LONG) - len(kept)) // 4)}"


def test_a_prompt_that_stays_too_long_fails_after_a_few_calls() -> None:
    with EndpointServer(lambda seen: status(400, "prompt is too long")) as server:
        grade = only(drive(make(server), [((0, 0), rated(long_call()))]))
    assert grade.rating is None and str(grade.reason).startswith("HTTP 400: prompt is too long")
    assert len(server.seen) <= 7


def test_a_known_limit_shortens_the_passage_before_the_call_and_never_the_question() -> None:
    with EndpointServer() as server:
        end = make(server, max_tokens_in=100)
        (cut,) = re.findall(r"\d+", str(only(drive(end, [((0, 0), rated(long_call()))])).note))
        assert int(cut) > 100, "the tokens by which it was shortened"
        hopeless = Call(RATE, {"question": LONG, "context": "short"}, "rating", options=SCALE)
        assert mentions(str(complete_calls(end, [hopeless], Control())[0].error), "100")
    assert len(server.seen) == 1 and len(server.seen[0].prompt) <= 400
    assert server.seen[0].prompt.startswith("Question: q?\nPassage: word0") and server.seen[0].prompt.endswith(
        "Rating:"
    )


def test_text_that_no_request_can_carry_fails_alone() -> None:
    bad = Call(RATE, {"question": "q", "context": "half a \ud83d pair"}, "rating", options=SCALE)
    with EndpointServer() as server:
        answers = complete_calls(make(server), [bad, question(1)], Control())
    assert str(answers[0].error).startswith("the text cannot be sent")
    assert answers[1].error is None


def test_answers_come_in_the_order_of_the_calls() -> None:
    with EndpointServer(lambda seen: chat(seen.prompt)) as server:
        answers = complete_calls(make(server), [question(i) for i in range(20)], Control(max_calls=15, concurrency=4))
    assert [a.text for a in answers if a.error is None] == [prompt(i) for i in range(15)]
    assert len({a.error for a in answers[15:]} - {None}) == 1 and all(a.error for a in answers[15:])
