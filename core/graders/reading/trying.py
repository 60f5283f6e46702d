"""Asking a grader one thing and looking at every step: the filled-in prompt, what came back, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import GradingError, InputError
from ...types import Asked, Grade
from ..base import Grader
from ..control import Control
from ..prompts.prompt import Messages, fill
from .calls import Call, Completion
from .driving import complete
from .grader import ReadingGrader


@dataclass(frozen=True)
class Exchange:
    """One call and its answer. `messages` is None where the model gets no prompt but the two texts."""

    call: Call
    messages: Messages | None
    completion: Completion


@dataclass(frozen=True)
class Trial:
    """One pair taken through all its steps."""

    exchanges: list[Exchange]
    grade: Grade


def try_pair(grader: Grader, asked: Asked, passage: str, control: Control | None = None) -> Trial:
    """Grade one pair and keep what was said on the way; nothing is written anywhere.

    Args:
        grader: is asked.
        asked: the question.
        passage: the text of the passage.
        control: the caps, as `budgets.trial_control` gives those of the endpoint's owner; none for None.

    Raises:
        InputError: the passage is empty, or the grader needs an answer key that is not there.
        GradingError: the grader cannot be asked at all, or the caps do not allow it.
    """
    # Somebody is waiting for it, and can ask again.
    control = control or Control(attempts=1)
    if not passage.strip():
        raise InputError("empty-passage", "The passage is empty.", "Choose a passage with text.")
    if not isinstance(grader, ReadingGrader):
        ((_, _, grade),) = [
            outcome for batch in grader.grade({0: asked}, {0: passage}, [(0, 0)], control) for outcome in batch
        ]
        return Trial([], grade)
    if "answer_key" in grader.spec.reads and not asked.answer_key:
        raise InputError(
            "no-answer-key",
            "This grader needs an answer key, but the question has none.",
            "Choose a question with an answer key.",
        )
    exchanges: list[Exchange] = []
    steps = grader.steps(asked, passage)
    try:
        call = next(steps)
        while True:
            made = control.usage.calls
            (completion,) = complete(grader.back_end, [call], control)
            if control.exhausted and control.usage.calls == made:
                raise beyond_caps(control)
            messages = None if call.form == "span" else fill(call.prompt, call.values, call.fence)
            exchanges.append(Exchange(call, messages, completion))
            call = steps.send(completion)
    except StopIteration as end:
        return Trial(exchanges, end.value)


def beyond_caps(control: Control) -> GradingError:
    """That the caps are in the way of a call that somebody asks for and waits for."""
    made = control.usage.calls
    return GradingError(
        "call-limit-reached",
        control.overrun or f"The limits of this endpoint allow no more calls. Calls made: {made}.",
        "Ask the server's operator to raise the call limit or the cost limit of a job.",
    )
