"""Calls of models and their completions, and graders that ask by the steps of a method."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

from ...choices import LikelihoodPer
from ...errors import GradingError, InputError
from ...types import Grade, GraderInput, GraderSpec
from .._grader_interface import Control, Grader, Outcome, Pair
from .._prompts.prompt import Messages, Prompt, fill_prompt
from .non_answers import opened_reasoning
from .parsing import (
    UNDECIDED,
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

Form = Literal["rating", "yes-no", "letter", "text", "json", "span", "likelihood"]
"""Form of an answer.

`rating`, `yes-no` and `letter` end early and have a distribution. `text` and `json` are written in
full. `span` is an extract of the passage. `likelihood` writes nothing and weighs `Call.options`.
"""


@dataclass(frozen=True)
class Call:
    """One request to a model.

    Args:
        prompt: the template.
        values: values of its variables; the passage is under `context`.
        form: form of the answer.
        fence: whether to mark the passage, or an answer from it, as data.
        options: the possible answers: the ratings of the scale as digits, Yes and No, the letters,
            or for `likelihood` the texts to weigh.
        max_tokens: maximum number of tokens of the answer.
        per: for `likelihood`, the divisor of an option's log-likelihood.
        schema: for `json`, the JSON schema of the answer, which an endpoint with structured output
            enforces.
    """

    prompt: Prompt
    values: Mapping[str, str]
    form: Form
    fence: bool = False
    options: tuple[str, ...] = ()
    max_tokens: int = 64
    per: LikelihoodPer = "tokens"
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Sampling:
    """Settings for random sampling of a model's text, instead of its likeliest text.

    Args:
        temperature: divisor of its logits; above 0.
        seed: seed of the random numbers; None to leave it to an endpoint.
    """

    temperature: float
    seed: int | None = None


@dataclass(frozen=True)
class Completion:
    """Reply of a model.

    Args:
        text: its text; for `span` the passage's words, empty if the passage has no answer.
        complete: False if a limit cut it off.
        distribution: probability by option, summing to 1, if the model's logits are available. For
            `likelihood` the log-likelihood by option, divided as in `Call.per` (not probabilities).
        structured: whether JSON with a schema was requested.
        shortened: number of tokens of the passage left out to fit the prompt; 0 for a whole
            passage.
        model: name of the model that answered, if it differs from the requested one; else None.
        error: reason for a missing answer: a refusal, or a fault that outlasted all retries. None
            if there is an answer.
    """

    text: str = ""
    complete: bool = True
    distribution: Mapping[str, float] | None = field(default=None)
    structured: bool = False
    shortened: int = 0
    model: str | None = None
    error: str | None = None

    def notes(self, shortening: str, *others: str | None) -> str | None:
        """Return notes on the reply as one text; None without any.

        Args:
            shortening: the note if the passage was shortened.
            others: further notes, which come first.
        """
        shortened = shortening if self.shortened else None
        answered = None if self.model is None else f"answered by {self.model}"
        return "; ".join(filter(None, (*others, shortened, answered))) or None


Steps = Generator[Call, Completion, Grade]
"""Steps of grading one pair: a generator that yields calls, receives their completions, and returns
the grade.
"""


class BackEnd(Protocol):
    """A model that answers calls, on this computer or behind an endpoint."""

    def drive(
        self, work: Iterable[tuple[Pair, Steps]], control: Control
    ) -> Iterator[list[Outcome]]:
        """Run the steps of pairs, as many at a time as suits the model.

        Args:
            work: pairs with their steps, ordered so that prompts share most. It is consumed as
                capacity becomes free, so it may be long.

        Yields:
            Batches of outcomes as they arrive. If `control` stops the job, it ends early, after the
                outcomes of all
            calls in flight.

        Raises:
            GradingError: it cannot continue at all.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the model's own tokenizer; None if it is not available."""
        ...


WINDOW = 256
"""Maximum number of pairs in progress: enough for batches of similar length, few enough to start
and stop quickly.
"""

Answer = Callable[[Sequence[Call], Control], Iterator[list[tuple[int, Completion]]]]
"""Answers calls batch by batch, each answer with the index of its call.

Calls that `control` forbids are left out: such an answer is missing, not failed.
"""


def drive_in_windows(
    work: Iterable[tuple[Pair, Steps]], control: Control, answer: Answer, window: int = WINDOW
) -> Iterator[list[Outcome]]:
    """Run the steps of pairs, a window of them at a time.

    Every round asks the pending call of each pair in progress; finished pairs are replaced by new
    ones.

    Args:
        work: pairs with their steps; consumed as capacity becomes free.
        control: asked before every round and, by `answer`, before every batch.
        answer: the model.
        window: maximum number of pairs in progress.

    Yields:
        The outcomes of every batch that finished some pairs. Pairs with open calls have no outcome
            if `control` stopped
        the job.
    """
    waiting = iter(work)
    pending: list[tuple[Pair, Steps, Call]] = []
    while True:
        if not control.may_continue():
            return
        outcomes: list[Outcome] = []
        while len(pending) < window and (new := next(waiting, None)) is not None:
            _run_step(*new, None, pending, outcomes)
        if outcomes:
            yield outcomes
        if not pending:
            return
        asking, pending = pending, []
        for batch in answer([call for _, _, call in asking], control):
            outcomes = []
            for index, completion in batch:
                _run_step(*asking[index][:2], completion, pending, outcomes)
            if outcomes:
                yield outcomes


def stream_completions(
    back_end: BackEnd, calls: Sequence[Call], control: Control
) -> Iterator[list[tuple[int, Completion]]]:
    """Yield completions with the indexes of their calls as they arrive, in any order; fewer if
    `control` stops the job.

    A batch may be empty: an endpoint yields one at least every second, so that the caller regains
    control.
    """
    arrived: dict[int, Completion] = {}

    def capture_steps(i: int, call: Call) -> Steps:
        # The interface drives pairs to grades; only the completion on the way is needed here.
        arrived[i] = yield call
        return Grade(None, "failed")

    for outcomes in back_end.drive(
        (((i, 0), capture_steps(i, call)) for i, call in enumerate(calls)), control
    ):
        yield [(i, arrived.pop(i)) for i, _, _ in outcomes]


def complete_calls(back_end: BackEnd, calls: Sequence[Call], control: Control) -> list[Completion]:
    """Return a completion for each call, in their order; a call that `control` forbids gets an
    error.

    Raises:
        GradingError: the back end cannot answer at all.
    """
    completions = [
        Completion(complete=False, error="not asked, because the job was stopped")
    ] * len(calls)
    for batch in stream_completions(back_end, calls, control):
        for index, completion in batch:
            completions[index] = completion
    return completions


def _run_step(
    pair: Pair,
    steps: Steps,
    completion: Completion | None,
    pending: list[tuple[Pair, Steps, Call]],
    outcomes: list[Outcome],
) -> None:
    """Run the next step of a pair, which asks again or ends. None as completion starts it."""
    try:
        call = next(steps) if completion is None else steps.send(completion)
    except StopIteration as end:
        outcomes.append((*pair, end.value))
    else:
        pending.append((pair, steps, call))


def read_completion(call: Call, completion: Completion) -> Parsed:
    """Read a rating, yes or no, or the position of a letter; `call` has one of these forms."""
    text, complete = completion.text, completion.complete
    match call.form, completion.structured:
        case "rating", True:
            return parse_json_rating(text, call.prompt.top, complete)
        case "rating", False:
            return parse_rating(text, complete, call.prompt.top)
        case "letter", True:
            return parse_json_answer(text, letters=call.options, complete=complete)
        case "letter", False:
            return parse_letter(text, call.options, complete)
        case _, True:
            return parse_json_answer(text, complete=complete)
    return parse_yes_no(text, complete)


def named_option(call: Call, completion: Completion) -> str | None:
    """Return the option of a call that an answer names, by the parser's rules; None if it names no
    option.
    """
    parsed = read_completion(call, completion)
    if parsed.rating is None or parsed.status != "graded":
        return None
    names = {"yes-no": ("no", "yes"), "letter": call.options}.get(call.form)
    name = str(parsed.rating) if names is None else names[parsed.rating].casefold()
    return next((option for option in call.options if option.casefold() == name), None)


def is_answer(call: Call, text: str, structured: bool) -> bool:
    """Return whether a text is one of the requested answers, or says that the model cannot tell.

    Args:
        structured: whether it must be JSON of the requested schema; if not, an answer in words.
    """
    if call.form == "json":
        # The caller parses words in any form.
        return structured and parse_object(text) is not None
    parsed = read_completion(call, Completion(text, structured=structured))
    return parsed.status == "graded" or parsed.reason == UNDECIDED


def make_settled_test(call: Call, prompt: str = "") -> Callable[[str], bool] | None:
    """Return a test whether the answer to a call needs no more text; None if the whole answer is
    needed.

    Args:
        call: the call.
        prompt: the prompt's text. If it ends in an opening mark of reasoning, the model's text
            begins as reasoning.
    """
    opened = opened_reasoning(prompt)
    by_form: dict[str, Callable[[str], bool]] = {
        "rating": lambda text: settled_rating(opened + text, call.prompt.top),
        "yes-no": lambda text: settled_yes_no(opened + text),
        "letter": lambda text: settled_letter(opened + text, call.options),
    }
    return by_form.get(call.form)


EMPTY_PASSAGE = Grade(None, "failed", reason="the passage is empty")
"""Grade for a pair with an empty passage: no model is asked."""

Method = Callable[[GraderInput, str], Steps]
"""Returns the steps of one pair for a question and a passage."""


def _continue_steps(steps: Steps, completions: Sequence[Completion]) -> Steps:
    """Run steps whose first calls have these completions."""
    try:
        call = next(steps)
        for completion in completions:
            call = steps.send(completion)
        while True:
            call = steps.send((yield call))
    except StopIteration as end:
        return cast(Grade, end.value)


@dataclass(eq=False)
class ReadingGrader:
    """Asks a model about every pair by the steps of a method.

    Args:
        spec: identity of the grader.
        steps: returns the steps of one pair.
        back_end: the model.
        by_passage: whether to ask passage by passage, because prompts about the same passage share
            their beginning; if False, question by question.
        known: completions of the first calls of some pairs; these calls are not made again.
    """

    spec: GraderSpec
    steps: Method
    back_end: BackEnd
    by_passage: bool
    known: Mapping[Pair, Sequence[Completion]] = field(default_factory=dict)

    def next_steps(self, pair: Pair, question: GraderInput, passage: str) -> Steps:
        """Return the steps of a pair from its first call without a known completion."""
        steps = self.steps(question, passage)
        return _continue_steps(steps, self.known[pair]) if pair in self.known else steps

    def ordered(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs in an order in which similar prompts are neighbours, for models that
        cache prefixes.
        """
        return sorted(pairs, key=lambda pair: pair[::-1] if self.by_passage else pair)

    def grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control,
    ) -> Iterator[list[Outcome]]:
        """Grade pairs, as many at a time as suits the model; see `Grader.grade`."""
        order = self.ordered(pairs)
        empty = [
            (question, passage, EMPTY_PASSAGE)
            for question, passage in order
            if not passages[passage].strip()
        ]
        if empty:
            yield empty
        yield from self.back_end.drive(
            (
                (pair, self.next_steps(pair, questions[pair[0]], passages[pair[1]]))
                for pair in order
                if passages[pair[1]].strip()
            ),
            control,
        )


@dataclass(frozen=True)
class CallRecord:
    """One call and its answer. `messages` is None if the model gets no prompt but only the two
    texts.
    """

    call: Call
    messages: Messages | None
    completion: Completion


@dataclass(frozen=True)
class PairTrial:
    """The trial of one pair, with all its steps."""

    exchanges: list[CallRecord]
    grade: Grade


def try_pair(
    grader: Grader, question: GraderInput, passage: str, control: Control | None = None
) -> PairTrial:
    """Grade one pair and return all its steps; nothing is stored.

    Args:
        grader: the grader.
        question: the question.
        passage: the text of the passage.
        control: the limits, such as those of `budgets.trial_control`; None for no limits.

    Raises:
        InputError: the passage is empty, or the question lacks the answer key that the grader
            needs.
        GradingError: the grader cannot be asked at all, or the limits do not allow it.
    """
    # A person waits for the result, and can try again.
    control = control or Control(attempts=1)
    if not passage.strip():
        raise InputError("empty-passage", "The passage is empty.", "Choose a passage with text.")
    if not isinstance(grader, ReadingGrader):
        ((_, _, grade),) = [
            outcome
            for batch in grader.grade({0: question}, {0: passage}, [(0, 0)], control)
            for outcome in batch
        ]
        return PairTrial([], grade)
    if "answer_key" in grader.spec.reads and not question.answer_key:
        raise InputError(
            "no-answer-key",
            "This grader needs an answer key, but the question has none.",
            "Choose a question with an answer key.",
        )
    exchanges: list[CallRecord] = []
    steps = grader.steps(question, passage)
    try:
        call = next(steps)
        while True:
            made = control.usage.calls
            (completion,) = complete_calls(grader.back_end, [call], control)
            if control.exhausted and control.usage.calls == made:
                raise beyond_caps(control)
            messages = (
                None if call.form == "span" else fill_prompt(call.prompt, call.values, call.fence)
            )
            exchanges.append(CallRecord(call, messages, completion))
            call = steps.send(completion)
    except StopIteration as end:
        return PairTrial(exchanges, end.value)


def beyond_caps(control: Control) -> GradingError:
    """Return the error for a call that the limits do not allow."""
    made = control.usage.calls
    return GradingError(
        "call-limit-reached",
        control.overrun or f"The limits of this endpoint allow no more calls. Calls made: {made}.",
        "Ask the server's operator to raise the call limit or the cost limit of a job.",
    )
