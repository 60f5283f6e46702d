"""A grader's calls without the endpoint: what it would send for a pair, and the grade once all is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from ...errors import GradingError
from ...types import Asked, Grade
from ..base import Grader, Pair
from ..control import Tokens
from ..local.base import LocalBackEnd
from ..reading.calls import Completion
from ..reading.grader import EMPTY_PASSAGE, ReadingGrader
from .chat import (
    UNEXPLAINED,
    Api,
    Request,
    UnusableBodyError,
    objection,
    read_answer,
    told_tokens,
)
from .redaction import redact, without_keys

if TYPE_CHECKING:
    from .back_end import EndpointBackEnd

NOTHING = Tokens()


@dataclass(frozen=True)
class Told:
    """What is known of a call that was made elsewhere.

    Args:
        content: body of the answer in JSON; None where there is none.
        error: why not.
    """

    content: bytes | None = None
    error: str = ""


@dataclass(frozen=True)
class Played:
    """How far a pair comes with the answers that there are.

    Args:
        grade: what came of it; None where a call is not answered yet.
        body: fields of the request of that call; None where there is a grade.
        used: tokens of the calls that were answered.
        models: the models that are said to have answered, where that is said.
        reserved: tokens that the call of `body` may read and write at most.
    """

    grade: Grade | None
    body: Mapping[str, Any] | None
    used: Tokens = NOTHING
    models: tuple[str, ...] = ()
    reserved: tuple[int, int] = (0, 0)


def is_remote(grader: Grader) -> bool:
    """Whether a grader asks an endpoint, whose calls can be made elsewhere or in batches."""
    # To load the client takes as long as to encode some hundred passages, and every job asks this.
    if not isinstance(grader, ReadingGrader) or isinstance(grader.back_end, LocalBackEnd):
        return False
    from .back_end import EndpointBackEnd

    return isinstance(grader.back_end, EndpointBackEnd)


def asked_by(grader: Grader) -> Api:
    """What an endpoint would be asked for.

    Raises:
        GradingError: the grader asks no endpoint.
    """
    return _back_end(grader)[1].endpoint.dialect.api


def endpoint_of(grader: Grader) -> EndpointBackEnd:
    """The endpoint that a grader asks.

    Raises:
        GradingError: the grader asks no endpoint.
    """
    return _back_end(grader)[1]


def tokens_told(content: bytes, estimate: Tokens) -> Tokens:
    """The tokens that an answer in JSON says it took.

    Args:
        estimate: what counts where it does not say.
    """
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return estimate
    return told_tokens(body.get("usage") if isinstance(body, dict) else None, estimate)


def in_order(grader: Grader, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs in the order in which prompts that begin alike follow each other; for encoders, passage by passage."""
    return grader.ordered(pairs) if isinstance(grader, ReadingGrader) else sorted(pairs, key=lambda pair: pair[::-1])


def play(
    grader: Grader,
    asked: Asked,
    passage: str,
    told: Callable[[Mapping[str, Any]], Told | None],
    key: str = "",
) -> Played:
    """Take a pair through its steps, as far as its calls are answered.

    Args:
        grader: one that reads, with a model behind an endpoint; nothing is sent.
        asked: the question.
        passage: text of the passage.
        told: what is known of a call, by the fields of its request; None where it is not answered.
        key: is kept out of every text; empty where the answers come from files.

    Raises:
        GradingError: the grader asks no endpoint.
    """
    reading, back_end = _back_end(grader)
    if not passage.strip():
        return Played(EMPTY_PASSAGE, None)
    used = NOTHING
    models: list[str] = []
    keep: int | None = None
    steps = reading.steps(asked, passage)
    try:
        call = next(steps)
        while True:
            made = back_end.prepared(call, keep)
            if isinstance(made, Completion):
                call = steps.send(made)
                continue
            reply = told(made.body)
            if reply is None:
                return Played(None, made.body, used, tuple(models), made.reserved)
            if reply.content is None and (shorter := _shorter(reply.error, made)):
                keep = shorter
                continue
            completion, tokens, model = _heard(reply, made, back_end.endpoint.model, key)
            used = used.plus(tokens)
            models += [model] if model else []
            call, keep = steps.send(completion), None
    except StopIteration as end:
        return Played(end.value, None, used, tuple(models))
    finally:
        steps.close()


_STATUS = re.compile(r"HTTP (\d{3})(?:: |$)")


def _shorter(error: str, request: Request) -> int:
    """Characters of the passage to keep if an error means that the prompt is, or may be, too long; else 0."""
    found = _STATUS.match(error)
    status, words = (int(found[1]), error[found.end() :]) if found else (0, error)
    against = "too long" if status == 413 else objection(words, request.body, request.tokens)
    if against == "too long":
        return request.half
    return request.half_on_a_guess if status in UNEXPLAINED and against is None else 0


def _back_end(grader: Grader) -> tuple[ReadingGrader, EndpointBackEnd]:
    from .back_end import EndpointBackEnd

    if isinstance(grader, ReadingGrader) and isinstance(grader.back_end, EndpointBackEnd):
        return grader, grader.back_end
    raise GradingError(
        "grader-without-requests",
        f"{grader.spec.name} makes no requests that can run elsewhere.",
        "Choose a grader with --back-end openai and a model's name. Planning needs no address.",
    )


def _heard(reply: Told, request: Request, asked: str, key: str) -> tuple[Completion, Tokens, str]:
    """An answer's completion, the tokens that it took, and the model that it names."""

    def clean(text: str) -> str:
        return redact(text, [key]) if key else text

    if reply.content is None:
        return Completion(error=clean(reply.error)), NOTHING, ""
    try:
        answer = read_answer(reply.content, request, clean)
    except UnusableBodyError as error:
        return Completion(error=str(error)), NOTHING, ""
    other = answer.model if answer.model and answer.model != asked else None
    text = without_keys(answer.completion.text, [key])
    return replace(answer.completion, text=text, model=other), answer.used, answer.model
