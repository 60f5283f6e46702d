"""A grader's calls without the endpoint: the requests for a pair, and its grade once all are
answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from ...errors import GradingError
from ...types import Grade, GraderInput
from .._grader_interface import NO_TOKENS, Grader, Pair, Tokens
from .._reading.calls import EMPTY_PASSAGE, Completion, ReadingGrader
from .chat import (
    UNEXPLAINED,
    Request,
    UnusableBodyError,
    find_objection,
    read_answer,
    reported_tokens,
)
from .redaction import redact_keys, without_keys

if TYPE_CHECKING:
    from .endpoint_back_end import EndpointBackEnd


@dataclass(frozen=True)
class CallResult:
    """Result of a call that was made elsewhere.

    Args:
        content: body of the answer in JSON; None without an answer.
        error: why the answer is missing.
    """

    content: bytes | None = None
    error: str = ""


@dataclass(frozen=True)
class ReplayedPair:
    """State of a pair with the available answers.

    Args:
        grade: the grade; None if a call is still unanswered.
        body: request fields of that call; None if there is a grade.
        used: tokens of the answered calls.
        models: names of the models in the answers, as far as given.
        reserved: maximum number of tokens that the call of `body` may read and write.
        completions: the completions of the earlier calls.
    """

    grade: Grade | None
    body: Mapping[str, Any] | None
    used: Tokens = NO_TOKENS
    models: tuple[str, ...] = ()
    reserved: tuple[int, int] = (0, 0)
    completions: tuple[Completion, ...] = ()


def is_remote(grader: Grader) -> bool:
    """Return whether a grader uses an endpoint, so that its calls can be made elsewhere or in
    batches.
    """
    return grader.spec.parameters.get("back_end") == "openai"


def grader_endpoint(grader: Grader) -> EndpointBackEnd:
    """Return the endpoint that a grader uses.

    Raises:
        GradingError: the grader uses no endpoint.
    """
    return _back_end(grader)[1]


def tokens_in_answer(content: bytes, estimate: Tokens) -> Tokens:
    """Return the tokens that an answer in JSON reports.

    Args:
        content: valid JSON, as `formats.read_replies` returns it.
        estimate: used if the answer reports none.
    """
    body = orjson.loads(content)
    return reported_tokens(body.get("usage") if isinstance(body, dict) else None, estimate)


def order_pairs(grader: Grader, pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs in an order in which similar prompts are neighbours; for encoders, passage by
    passage.
    """
    return (
        grader.ordered(pairs)
        if isinstance(grader, ReadingGrader)
        else sorted(pairs, key=lambda pair: pair[::-1])
    )


def replay_pair(
    grader: Grader,
    pair: Pair,
    question: GraderInput,
    passage: str,
    find_result: Callable[[Mapping[str, Any]], CallResult | None],
    key: str = "",
) -> ReplayedPair:
    """Run the steps of a pair as far as its calls are answered.

    Args:
        grader: a grader that reads, with a model behind an endpoint; nothing is sent.
        pair: the pair, of which the grader may know the first completions.
        asked: the question.
        passage: text of the passage.
        find_result: returns the result of a call by its request fields; None if it is not answered.
        key: API key that is removed from every text; empty for answers from files.

    Raises:
        GradingError: the grader uses no endpoint.
    """
    reading, back_end = _back_end(grader)
    if not passage.strip():
        return ReplayedPair(EMPTY_PASSAGE, None)
    used = NO_TOKENS
    models: list[str] = []
    completions: list[Completion] = []
    keep: int | None = None
    steps = reading.next_steps(pair, question, passage)
    try:
        call = next(steps)
        while True:
            prepared = back_end.prepared(call, keep)
            if isinstance(prepared, Completion):
                completion = prepared
            else:
                reply = find_result(prepared.body)
                if reply is None:
                    return ReplayedPair(
                        None,
                        prepared.body,
                        used,
                        tuple(models),
                        prepared.reserved,
                        tuple(completions),
                    )
                if reply.content is None and (
                    shorter := _characters_to_keep(reply.error, prepared)
                ):
                    keep = shorter
                    continue
                completion, tokens, model = _read_reply(reply, prepared, key)
                used = used.plus(tokens)
                models += [model] if model else []
            completions.append(completion)
            call, keep = steps.send(completion), None
    except StopIteration as end:
        return ReplayedPair(end.value, None, used, tuple(models))


_STATUS = re.compile(r"HTTP (\d{3})(?:: |$)")


def _characters_to_keep(error: str, request: Request) -> int:
    """Return the characters of the passage to keep if an error means that the prompt is or may be
    too long; else 0.
    """
    match = _STATUS.match(error)
    status, words = (int(match[1]), error[match.end() :]) if match else (0, error)
    against = "too long" if status == 413 else find_objection(words, request.body, request.tokens)
    if against == "too long":
        return request.half_length
    return request.half_on_a_guess if status in UNEXPLAINED and against is None else 0


def _back_end(grader: Grader) -> tuple[ReadingGrader, EndpointBackEnd]:
    from .endpoint_back_end import EndpointBackEnd

    if isinstance(grader, ReadingGrader) and isinstance(grader.back_end, EndpointBackEnd):
        return grader, grader.back_end
    raise GradingError(
        "grader-without-requests",
        f"{grader.spec.name} makes no requests that can run elsewhere.",
        "Choose a grader with --back-end openai and a model's name. Planning needs no address.",
    )


def _read_reply(reply: CallResult, request: Request, key: str) -> tuple[Completion, Tokens, str]:
    """Return an answer's completion, its tokens, and the model that it names."""

    def remove_key(text: str) -> str:
        return redact_keys(text, [key]) if key else text

    if reply.content is None:
        return Completion(error=remove_key(reply.error)), NO_TOKENS, ""
    try:
        answer = read_answer(reply.content, request, remove_key)
    except UnusableBodyError as error:
        return Completion(error=str(error)), NO_TOKENS, ""
    text = without_keys(answer.completion.text, [key])
    return replace(answer.completion, text=text), answer.used, answer.model
