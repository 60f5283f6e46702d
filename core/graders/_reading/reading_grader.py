"""Graders that combine a method, a model and a prompt, and their trial on one pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...errors import GradingError, InputError
from ...types import Asked, Grade, GraderSpec
from .._grader_interface import Control, Grader, Outcome, Pair
from .._prompts.prompt import Messages, fill
from .calls import BackEnd, Call, Completion, Steps, complete

EMPTY_PASSAGE = Grade(None, "failed", reason="the passage is empty")
"""Grade for a pair with an empty passage: no model is asked."""

Method = Callable[[Asked, str], Steps]
"""Returns the steps of one pair for a question and a passage."""


@dataclass(eq=False)
class ReadingGrader:
    """Asks a model about every pair by the steps of a method.

    Args:
        spec: identity of the grader.
        steps: returns the steps of one pair.
        back_end: the model.
        by_passage: whether to ask passage by passage, because prompts about the same passage share their beginning; if
            False, question by question.
    """

    spec: GraderSpec
    steps: Method
    back_end: BackEnd
    by_passage: bool

    def ordered(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs in an order in which similar prompts are neighbours, for models that cache prefixes."""
        return sorted(pairs, key=lambda pair: pair[::-1] if self.by_passage else pair)

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, as many at a time as suits the model; see `Grader.grade`."""
        order = self.ordered(pairs)
        empty = [(question, passage, EMPTY_PASSAGE) for question, passage in order if not passages[passage].strip()]
        if empty:
            yield empty
        yield from self.back_end.drive(
            (
                ((question, passage), self.steps(questions[question], passages[passage]))
                for question, passage in order
                if passages[passage].strip()
            ),
            control,
        )


@dataclass(frozen=True)
class Exchange:
    """One call and its answer. `messages` is None if the model gets no prompt but only the two texts."""

    call: Call
    messages: Messages | None
    completion: Completion


@dataclass(frozen=True)
class Trial:
    """The trial of one pair, with all its steps."""

    exchanges: list[Exchange]
    grade: Grade


def try_pair(grader: Grader, asked: Asked, passage: str, control: Control | None = None) -> Trial:
    """Grade one pair and return all its steps; nothing is stored.

    Args:
        grader: the grader.
        asked: the question.
        passage: the text of the passage.
        control: the limits, such as those of `budgets.trial_control`; None for no limits.

    Raises:
        InputError: the passage is empty, or the question lacks the answer key that the grader needs.
        GradingError: the grader cannot be asked at all, or the limits do not allow it.
    """
    # A person waits for the result, and can try again.
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
    """Return the error for a call that the limits do not allow."""
    made = control.usage.calls
    return GradingError(
        "call-limit-reached",
        control.overrun or f"The limits of this endpoint allow no more calls. Calls made: {made}.",
        "Ask the server's operator to raise the call limit or the cost limit of a job.",
    )
