"""What every back end with a model in this process shares: its settings, its loading, batches of calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from core.errors import GradingError, InputError
from core.graders.access.access import acting, current
from core.graders.base import Outcome, Pair
from core.graders.control import Control
from core.graders.local.loading import Loaded, Task, check_settings, load_model, tokenizer_at_hand, tokens_in
from core.graders.local.prompting import Prepared, Prompting
from core.graders.reading.calls import Call, Completion, Per, Sampling, Steps
from core.graders.reading.driving import collect, drive_in_windows

if TYPE_CHECKING:
    from core.graders.local.options import Options
    from core.graders.local.writing import Likelihood

FEW_STEPS = 6
"""Tokens within which an answer that ends early mostly does. The few that do not are asked again together, so
that a batch does not wait for its one talkative row."""


class LocalBackEnd(ABC):
    """A model in this process; it is loaded at the first call.

    Args:
        task: what the model is loaded for.
        model: folder, or name on the model hub.
        revision: branch, tag or commit on the hub.
        device: auto, cpu, cuda or cuda:N.
        dtype: auto, float32 or bfloat16.
        max_tokens_in: tokens of a prompt at most; what the model says of itself for None.
        batch_tokens: tokens of a batch, padding included; a value that suits the device for None.

    Raises:
        InputError: device, dtype or a number is not possible.
    """

    def __init__(
        self,
        task: Task,
        model: str,
        revision: str | None,
        device: str,
        dtype: str,
        max_tokens_in: int | None,
        batch_tokens: int | None,
    ) -> None:
        check_settings(device, dtype)
        for name, value in (("max_tokens_in", max_tokens_in), ("batch_tokens", batch_tokens)):
            if value is not None and value < 1:
                raise InputError("parameter-out-of-range", f"{name} is {value}; it must be at least 1.")
        self._task: Task = task
        self._source = (model, revision, device, dtype)
        # Whoever sets it up lets it be loaded, also where a job does that in another thread.
        self._access = current()
        self._max_tokens_in = max_tokens_in
        self._batch_tokens = batch_tokens

    @abstractmethod
    def answer(self, calls: Sequence[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in an order of its own.

        Yields:
            The position of each call with its completion. Once `control` stops the job, no more come.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
            InputError: a call has a form that the model does not answer.
        """

    def complete(self, calls: Sequence[Call], control: Control) -> list[Completion]:
        """Answer calls, in their order.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
        """
        return collect(self.answer, calls, control)

    def drive(self, work: Iterable[tuple[Pair, Steps]], control: Control) -> Iterator[list[Outcome]]:
        """Take pairs through their steps, a window of them at a time; see `drive_in_windows`.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
        """
        return drive_in_windows(work, control, self.answer)

    def count_tokens(self, text: str) -> int | None:
        """Tokens of a text by the model's own tokenizer; None where this computer does not have it yet."""
        if "_loaded" not in self.__dict__:
            with acting(self._access):
                tokenizer = tokenizer_at_hand(*self._source[:2])
            return None if tokenizer is None else len(tokenizer(text, add_special_tokens=False).input_ids)
        with self._loaded.lock:
            return len(self._loaded.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    @cached_property
    def _loaded(self) -> Loaded:
        with acting(self._access):
            return load_model(*self._source, task=self._task)


class TextBackEnd(LocalBackEnd):
    """A model in this process that writes text, whatever runs it: how it is prompted, and what is read off it.

    Args:
        model, revision, device, dtype, max_tokens_in, batch_tokens: as `LocalBackEnd` takes them.
        must_chat: refuses a causal model without a chat template: its prompts would need another end.
        sampling: draws what it writes by chance; None for the likeliest.

    Attributes:
        tokens_computed: tokens of prompts that were run through the model so far.
        tokens_plain: tokens that it would have been, prompt by prompt.

    Raises:
        InputError: device, dtype or a number is not possible.
    """

    def __init__(
        self,
        model: str,
        revision: str | None,
        device: str,
        dtype: str,
        max_tokens_in: int | None,
        batch_tokens: int | None,
        must_chat: bool,
        sampling: Sampling | None,
    ) -> None:
        super().__init__("text", model, revision, device, dtype, max_tokens_in, batch_tokens)
        self._must_chat = must_chat
        self._sampling = sampling
        self._options: dict[tuple[str, ...], Options] = {}
        self.tokens_computed = self.tokens_plain = 0

    def _prepared(self, calls: Sequence[Call]) -> list[Prepared]:
        """Calls as tokens, in their order.

        Raises:
            GradingError: the model cannot be loaded, or has no chat template where it must.
            InputError: a call asks for what no model that writes can give.
        """
        if any(call.form == "span" for call in calls):
            raise InputError(
                "model-writes",
                f"The model {self._source[0]} writes text; it cuts no answers out of a passage.",
                "Choose the method answer for it, or a model for extractive answers.",
            )
        with self._loaded.lock:
            return self._prompting.prepare(calls, self._room)

    @cached_property
    def _prompting(self) -> Prompting:
        limit = tokens_in(self._max_tokens_in, self._loaded.limit, self._loaded.hard_limit)
        prompting = Prompting(self._loaded.tokenizer, not self._loaded.seq2seq, limit)
        if self._must_chat and not self._loaded.seq2seq and not prompting.chat:
            raise GradingError(
                "chat-template-unusable",
                f"The model {self._source[0]} has no chat template, which was not known before it was loaded.",
                "Start again, so that its prompts end in the place of the answer; or say how they end with cue.",
            )
        return prompting

    def _room(self, call: Call) -> int:
        """Tokens of the window that the answer takes: none of an encoder's."""
        if self._loaded.seq2seq:
            return 0
        if call.form == "likelihood":
            return max((self.count_tokens(option) or 0) + 2 for option in call.options)
        return call.max_tokens

    def _options_of(self, call: Call) -> Options | None:
        """The options whose probabilities are read while a call is answered."""
        from core.graders.local.options import Options

        if call.form not in ("rating", "yes-no", "letter") or not call.options:
            return None
        if call.options not in self._options:
            with self._loaded.lock:
                self._options[call.options] = Options(call.options, self._loaded.tokenizer)
        return self._options[call.options]


def permitted(
    rows: Sequence[int], tokens: Sequence[Sequence[int]], answer: Callable[[int], int], control: Control
) -> Iterator[list[int]]:
    """Rows for which `control` gives leave, as many at once as it does; none once it stops the job.

    What some rows do not use of what was set aside for them may do for the others.

    Args:
        tokens: of all prompts, by row.
        answer: tokens that the answer of a row may have.
    """
    rest = list(rows)
    while rest:
        control.wait_while_paused()
        if control.stopping:
            return
        leave = [row for row in rest if control.reserve(len(tokens[row]), answer(row), patient=True)]
        if not leave:
            leave = [row for row in rest[:1] if control.reserve(len(tokens[row]), answer(row))]
        if leave:
            yield leave
        allowed = set(leave)
        rest = [row for row in rest if row not in allowed]


def chosen_by(call: Call, likelihoods: Sequence[Likelihood], shortened: int) -> Completion:
    """The option of a call with the best log-likelihood for its length.

    Per token that is the length-penalised log-likelihood by which a student model chooses (exam-generation-irt,
    section 3.2).

    Args:
        likelihoods: of the options, in their order.
        shortened: tokens of the passage that were left out.
    """
    distribution = {
        option: total / _length(option, tokens_of, call.per)
        for option, (total, tokens_of) in zip(call.options, likelihoods, strict=True)
    }
    return Completion(max(distribution, key=distribution.__getitem__), True, distribution, shortened=shortened)


def _length(option: str, tokens: int, per: Per) -> int:
    """What an option's log-likelihood is divided by."""
    return {"tokens": max(1, tokens), "characters": max(1, len(option)), "none": 1}[per]
