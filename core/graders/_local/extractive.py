"""The extractive back end: a SQuAD2-tuned model extracts the answer from the passage, or reports that there is no
answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from .._access import OfferedEndpoint
from .._grader_interface import Control
from .._prompts.prompt import PASSAGE
from .._reading.calls import BackEnd, Call, Completion, answers
from .loading import Loaded
from .prompting import by_length, default_budget
from .transformers_back_end import LocalBackEnd

LONGEST_ANSWER = 30
"""Maximum number of tokens of an answer."""
OVERLAP = 128
"""Maximum number of tokens that two windows over a long passage share, so that no answer is cut in two."""
LEAST_PASSAGE = 16
"""Minimum number of passage tokens that must fit next to the question."""

ANSWER, NO_ANSWER = "answer", "no answer"


@dataclass(frozen=True)
class _Window:
    """A question with a part of its passage.

    Args:
        call: index of its call.
        tokens, types: token ids and, if the model uses them, segment ids.
        null: index of the token that represents no answer.
        spans: for every token of the passage, its index and its place in the passage's text.
    """

    call: int
    tokens: list[int]
    types: list[int] | None
    null: int
    spans: list[tuple[int, tuple[int, int]]]


@dataclass
class _Best:
    """The best answer in the windows of one call so far, and the lowest score of no answer."""

    score: float = float("-inf")
    null: float = float("inf")
    place: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class ExtractiveBackEnd(LocalBackEnd):
    """A question answering model in this process, loaded at the first call; it answers calls of the form `span`.

    Args:
        model, revision, device, dtype: as for `TransformersBackEnd`.
        max_tokens_in: maximum number of tokens of question and window; None for the model's own limit.
        batch_tokens: tokens of a batch, padding included; None for a value that suits the device.
        other: answers the calls of other forms, such as verification.

    Raises:
        InputError: device, dtype or a number is invalid.
    """

    task = "span"
    other: BackEnd | None = None

    @property
    def offered(self) -> OfferedEndpoint | None:
        """The owner's endpoint that answers calls of other forms; None without one."""
        return getattr(self.other, "offered", None)

    def answer(self, calls: Sequence[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in any order; the other model answers those of other forms.

        Yields:
            The index of each call with its completion. After `control` stops the job, no more are yielded.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
            InputError: a call has another form, and `other` is None.
        """
        spans = [i for i, call in enumerate(calls) if call.form == "span"]
        others = [i for i, call in enumerate(calls) if call.form != "span"]
        for batch in self._extract([calls[i] for i in spans], control) if spans else ():
            yield [(spans[i], completion) for i, completion in batch]
        if not others or control.stopping:
            return
        if self.other is None:
            raise InputError(
                "model-extracts",
                f"The model {self.model} extracts answers from passages and cannot write text.",
                "Choose a second model for the check, or check answers by words.",
            )
        for batch in answers(self.other, [calls[i] for i in others], control):
            yield [(others[i], completion) for i, completion in batch]

    def _extract(self, calls: list[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
        loaded = self._loaded
        budget = self.batch_tokens or default_budget(loaded.device)
        limit = min(self.max_tokens_in or loaded.limit, loaded.hard_limit or loaded.limit)
        # Windows of similar length form batches. Small blocks of calls let answers arrive early.
        block = max(1, budget // 128)
        for start in range(0, len(calls), block):
            control.wait_while_paused()
            if control.stopping:
                return
            done: list[tuple[int, Completion]] = []
            windows: dict[int, list[_Window]] = {}
            with loaded.lock:
                for index in range(start, min(start + block, len(calls))):
                    made = _windows(loaded.tokenizer, calls[index], index, limit)
                    if isinstance(made, Completion):
                        done.append((index, made))
                    elif control.reserve(_size(made), 0):
                        windows[index] = made
                every = [window for some in windows.values() for window in some]
                best = {index: _Best() for index in windows}
                for batch in by_length([window.tokens for window in every], range(len(every)), budget):
                    for row, (first, last) in self._run_in_parts(
                        batch,
                        lambda part: _run(loaded, [every[group.rows[0]] for group in part]),  # noqa: B023
                    ):
                        _improve(best[every[row].call], every[row], first, last)
            for index, some in windows.items():
                control.settle((_size(some), 0), (_size(some), 0))
                done.append((index, _completion(best[index], calls[index].values[PASSAGE])))
            if done:
                yield done


def _size(windows: Sequence[_Window]) -> int:
    return sum(len(window.tokens) for window in windows)


def _windows(tokenizer: Any, call: Call, index: int, limit: int) -> list[_Window] | Completion:
    """Return the question with each part of its passage; a completion if the model is not needed."""
    passage, question = call.values[PASSAGE], call.values["question"]
    if not passage.strip():
        return Completion("", distribution={ANSWER: 0.0, NO_ANSWER: 1.0})
    null_id = tokenizer.cls_token_id
    if null_id is not None and null_id not in tokenizer("a", "b").input_ids:
        # Such models were trained with this token written before the question.
        question = f"{tokenizer.cls_token}{question}"
    room = limit - len(tokenizer(question, "", verbose=False).input_ids)
    if room < LEAST_PASSAGE:
        return Completion(error=f"the question leaves no room for the passage: the model reads at most {limit} tokens")
    # A lone surrogate becomes one character, so that positions in the text do not change.
    encoded = tokenizer(
        question.encode("utf-8", "replace").decode(),
        passage.encode("utf-8", "replace").decode(),
        truncation="only_second",
        max_length=limit,
        stride=min(OVERLAP, room // 2),
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        verbose=False,
    )
    windows = []
    for row, tokens in enumerate(encoded.input_ids):
        of = encoded.sequence_ids(row)
        spans = [
            (position, place)
            for position, place in enumerate(encoded.offset_mapping[row])
            if of[position] == 1 and place[0] < place[1]
        ]
        types = encoded.token_type_ids[row] if "token_type_ids" in encoded else None
        null = tokens.index(null_id) if null_id in tokens else 0
        windows.append(_Window(index, tokens, types, null, spans))
    return windows


def _run(loaded: Loaded, windows: list[_Window]) -> list[tuple[Any, Any]]:
    """Return the logits of start and end, float (tokens,) each, by window."""
    import torch

    from .text_generation import pad_token, padded

    ids, mask = padded([window.tokens for window in windows], pad_token(loaded), False, loaded.device)
    extra = {}
    if windows[0].types is not None:
        extra["token_type_ids"] = padded([window.types or [] for window in windows], 0, False, loaded.device)[0]
    with torch.inference_mode():
        given = loaded.model(input_ids=ids, attention_mask=mask, **extra)
    return list(zip(given.start_logits.float().cpu(), given.end_logits.float().cpu(), strict=True))


def _improve(best: _Best, window: _Window, start: Any, end: Any) -> None:
    """Keep the better of the best span and the window's best, and the lower of both scores of no answer.

    A span's score is the sum of its logits. It begins and ends in the passage, in this order, and has at most
    `LONGEST_ANSWER` tokens (Devlin et al. 2019, section 4.3).
    """
    import torch

    best.null = min(best.null, float(start[window.null] + end[window.null]))
    if not window.spans:
        return
    at = torch.tensor([position for position, _ in window.spans])
    sums = start[at].unsqueeze(1) + end[at].unsqueeze(0)
    length = at.unsqueeze(0) - at.unsqueeze(1)
    sums = sums.masked_fill((length < 0) | (length >= LONGEST_ANSWER), -torch.inf)
    first, last = divmod(int(sums.argmax()), len(at))
    if (score := float(sums[first, last])) > best.score:
        best.score = score
        best.place = (window.spans[first][1][0], window.spans[last][1][1])


def _completion(best: _Best, passage: str) -> Completion:
    """Return the answer if its score exceeds that of no answer; the probabilities are those of these two
    alternatives."""
    import torch

    answer = float(torch.sigmoid(torch.tensor(best.score - best.null, dtype=torch.float64)))
    text = passage[slice(*best.place)].strip() if best.score > best.null else ""
    return Completion(text, distribution={ANSWER: answer, NO_ANSWER: 1.0 - answer})
