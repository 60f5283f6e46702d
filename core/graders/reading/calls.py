"""What a method asks of a model and what comes back: the seam between methods and back ends."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ...types import Grade
from ..base import Outcome, Pair
from ..control import Control
from ..prompts.prompt import Prompt

Form = Literal["rating", "yes-no", "letter", "text", "json", "span", "likelihood"]
"""How an answer is read. `rating`, `yes-no` and `letter` end early and have a distribution; `text` and `json`
are written out; `span` is cut out of the passage; `likelihood` writes nothing and weighs `Call.options`."""

Per = Literal["tokens", "characters", "none"]
"""What the log-likelihood of an option is divided by, so that it does not lose by being long."""


@dataclass(frozen=True)
class Call:
    """One question to a model.

    Args:
        prompt: the template that is filled in.
        values: what it is filled in with, by variable; the passage is under `context`.
        form: how the answer is read.
        fence: whether the passage, or an answer out of it, is fenced off as data.
        options: the answers to choose among: the ratings of the scale as digits, Yes and No, the letters, or
            for `likelihood` the texts to be weighed.
        max_tokens: length of the answer at most.
        per: for `likelihood` what an option's log-likelihood is divided by.
        schema: for `json` the JSON schema of the answer, which an endpoint with structured output is held to.
    """

    prompt: Prompt
    values: Mapping[str, str]
    form: Form
    fence: bool = False
    options: tuple[str, ...] = ()
    max_tokens: int = 64
    per: Per = "tokens"
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Sampling:
    """How a model draws what it writes, where it is not to write what is likeliest.

    Args:
        temperature: by which its logits are divided; above 0.
        seed: of the chance; None to leave it to an endpoint.
    """

    temperature: float
    seed: int | None = None


@dataclass(frozen=True)
class Completion:
    """What a model gave.

    Args:
        text: what it wrote; for `span` the passage's words, empty where it says that there is no answer.
        complete: False where a limit cut it off.
        distribution: probability by option, summing to 1, from a model whose logits can be seen; for
            `likelihood` the log-likelihood by option, divided as `Call.per` says (not probabilities).
        structured: whether the text was asked for as JSON of a schema.
        shortened: tokens of the passage left out so that the prompt fits; 0 where it is whole.
        model: the model that is said to have given it, where that is not the one that was asked; None where it is.
        error: why there is no answer at all: a refusal, a fault that outlasted every retry. None where there is one.
    """

    text: str = ""
    complete: bool = True
    distribution: Mapping[str, float] | None = field(default=None)
    structured: bool = False
    shortened: int = 0
    model: str | None = None
    error: str | None = None


Steps = Generator[Call, Completion, Grade]
"""How one pair is graded: a generator that yields what it asks, is sent what comes back, and returns the grade."""


class BackEnd(Protocol):
    """A model that answers calls, on this computer or behind an endpoint."""

    def drive(self, work: Iterable[tuple[Pair, Steps]], control: Control) -> Iterator[list[Outcome]]:
        """Take pairs through their steps, as many at a time as suits the model.

        Args:
            work: pairs with the steps that grade them, in the order in which prompts share most; it is
                consumed as room comes free, so it may be long.

        Yields:
            Batches of outcomes as they come. It ends early, with every call in flight finished and its outcome
            given, when `control` says so.

        Raises:
            GradingError: it cannot go on at all.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Tokens of a text by the model's own tokenizer; None where it is not at hand."""
        ...
