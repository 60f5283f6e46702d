"""A grader's calls without the endpoint: what it would send for a pair, and the grade once all is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.errors import GradingError
from core.graders.base import Grader
from core.graders.endpoint.chat import Api, Request, UnusableBodyError, read_answer
from core.graders.reading.calls import Completion
from core.graders.reading.grader import EMPTY_PASSAGE, ReadingGrader
from core.types import Asked, Grade

if TYPE_CHECKING:
    from core.graders.endpoint.back_end import EndpointBackEnd


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
        used: tokens read and written by the calls that were answered.
        models: the models that are said to have answered, where that is said.
    """

    grade: Grade | None
    body: Mapping[str, Any] | None
    used: tuple[int, int] = (0, 0)
    models: tuple[str, ...] = ()


def asked_by(grader: Grader) -> Api:
    """What an endpoint would be asked for.

    Raises:
        GradingError: the grader asks no endpoint.
    """
    return _back_end(grader)[1].api


def play(grader: Grader, asked: Asked, passage: str, told: Callable[[Mapping[str, Any]], Told | None]) -> Played:
    """Take a pair through its steps, as far as its calls are answered.

    Args:
        grader: one that reads, with a model behind an endpoint; nothing is sent.
        asked: the question.
        passage: text of the passage.
        told: what is known of a call, by the fields of its request; None where it is not answered.

    Raises:
        GradingError: the grader asks no endpoint.
    """
    reading, back_end = _back_end(grader)
    if not passage.strip():
        return Played(EMPTY_PASSAGE, None)
    used = (0, 0)
    models: list[str] = []
    steps = reading.steps(asked, passage)
    try:
        call = next(steps)
        while True:
            made = back_end.prepared(call)
            if isinstance(made, Completion):
                call = steps.send(made)
                continue
            reply = told(made.body)
            if reply is None:
                return Played(None, made.body, used, tuple(models))
            completion, tokens, model = _heard(reply, made, back_end.model)
            used = (used[0] + tokens[0], used[1] + tokens[1])
            models += [model] if model else []
            call = steps.send(completion)
    except StopIteration as end:
        return Played(end.value, None, used, tuple(models))
    finally:
        steps.close()


def _back_end(grader: Grader) -> tuple[ReadingGrader, EndpointBackEnd]:
    from core.graders.endpoint.back_end import EndpointBackEnd

    if isinstance(grader, ReadingGrader) and isinstance(grader.back_end, EndpointBackEnd):
        return grader, grader.back_end
    raise GradingError(
        f"{grader.spec.name} asks no model by requests that could be made elsewhere.",
        "Name a grader with --back-end openai and the model's name; no address is needed to plan.",
    )


def _heard(reply: Told, request: Request, asked: str) -> tuple[Completion, tuple[int, int], str]:
    """An answer's completion, the tokens that it took, and the model that it names."""
    if reply.content is None:
        return Completion(error=reply.error), (0, 0), ""
    try:
        answer = read_answer(reply.content, request, str)
    except UnusableBodyError as error:
        return Completion(error=str(error)), (0, 0), ""
    other = answer.model if answer.model and answer.model != asked else None
    return replace(answer.completion, model=other), answer.used, answer.model
