"""Back ends with a model in this process: their base, one for text, and one that extracts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...choices import MOST_BEAMS
from ...errors import GradingError, InputError, check_rules
from ...grouping import group_pairs
from .._access import OfferedEndpoint, current_access, use_access
from .._grader_interface import Control, Outcome, Pair
from .._prompts.prompt import PASSAGE
from .._reading.calls import (
    BackEnd,
    Call,
    Completion,
    Sampling,
    Steps,
    drive_in_windows,
    make_settled_test,
    named_option,
    stream_completions,
)
from .._reading.non_answers import reasoning_length
from .loading import Loaded, Task, check_settings, load_model, prompt_token_limit, tokenizer_at_hand
from .prompting import Batch, Group, PreparedCall, Prompting, by_length, default_budget, split_batch

if TYPE_CHECKING:
    from .text_generation import CausalRunner, Likelihood, Options, Seq2SeqRunner, WrittenText

Result = TypeVar("Result")


@dataclass(eq=False)
class LocalBackEnd(ABC):
    """A model in this process; it is loaded at the first call.

    Args:
        model: folder, or name on the model hub.
        revision: branch, tag or commit on the hub.
        device: auto, cpu, cuda or cuda:N.
        dtype: auto, float32 or bfloat16.
        max_tokens_in: maximum number of tokens of a prompt; None for the model's own limit.
        batch_tokens: tokens of a batch, padding included; None for a value that suits the device.

    Raises:
        InputError: device, dtype or a number is invalid.
    """

    task: ClassVar[Task]
    model: str
    revision: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_tokens_in: int | None = None
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        check_settings(self.device, self.dtype)
        for name in ("max_tokens_in", "batch_tokens"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(
                    "parameter-out-of-range",
                    f"Invalid {name}: {value}.",
                    "Use a whole number from 1.",
                )
        # Keep the creator's permissions, because a job may load the model in another thread.
        self._access = current_access()

    @abstractmethod
    def answer(
        self, calls: Sequence[Call], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in any order.

        Yields:
            The index of each call with its completion. After `control` stops the job, no more are
                yielded.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
            InputError: the model does not answer calls of this form.
        """

    def drive(
        self, work: Iterable[tuple[Pair, Steps]], control: Control
    ) -> Iterator[list[Outcome]]:
        """Run the steps of pairs, a window of them at a time; see `drive_in_windows`.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
        """
        return drive_in_windows(work, control, self.answer)

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the model's own tokenizer; None if this computer does not
        have it yet.
        """
        if "_loaded" not in self.__dict__:
            with use_access(self._access):
                tokenizer = tokenizer_at_hand(self.model, self.revision)
            return (
                None
                if tokenizer is None
                else len(tokenizer(text, add_special_tokens=False).input_ids)
            )
        with self._loaded.lock:
            return len(
                self._loaded.tokenizer(text, add_special_tokens=False, verbose=False).input_ids
            )

    @cached_property
    def _loaded(self) -> Loaded:
        with use_access(self._access):
            return load_model(self.model, self.revision, self.device, self.dtype, self.task)

    def _run_in_parts(
        self, batch: Batch, run: Callable[[Batch], Sequence[Result]]
    ) -> list[tuple[int, Result]]:
        """Return the result of every row of a batch.

        If memory is exhausted, the batch is halved, repeatedly if necessary.
        """
        row_results: list[tuple[int, Result]] = []
        with self._loaded.lock:
            for part, results in out_of_memory_halves(batch, run):
                row_results += zip(
                    (row for group in part for row in group.rows), results, strict=True
                )
        return row_results


def out_of_memory_halves(
    batch: Batch, run: Callable[[Batch], Result]
) -> Iterator[tuple[Batch, Result]]:
    """Run a batch, in repeated halves if it exceeds the memory of the GPU or the computer.

    Yields:
        Each part that was run with its result; together they are the batch.

    Raises:
        GradingError: a single row does not fit.
    """
    import torch

    try:
        result = run(batch)
    except (MemoryError, RuntimeError) as error:
        # For processor memory, PyTorch has no other sign than this text.
        if not isinstance(
            error, (torch.OutOfMemoryError, MemoryError)
        ) and "DefaultCPUAllocator" not in str(error):
            raise
        if sum(len(group.rows) for group in batch) == 1:
            of = "GPU's" if isinstance(error, torch.OutOfMemoryError) else "computer's"
            raise GradingError(
                "out-of-memory",
                f"A single prompt does not fit into the {of} memory.",
                "Choose a smaller model, or lower max_tokens_in.",
            ) from error
        torch.cuda.empty_cache()
        halves = split_batch(batch)
    else:
        yield batch, result
        return
    # Not in the exception handler, in which the failed pass would still hold its tensors.
    for half in halves:
        yield from out_of_memory_halves(half, run)


FEW_STEPS = 6
"""Tokens within which most answers end that may end early.

The longer ones are asked again together, so that a batch does not wait for one long answer.
"""
MOSTLY = 0.25
"""Share of long answers from which all answers get their full length at once."""


@dataclass(eq=False)
class TransformersBackEnd(LocalBackEnd):
    """A seq2seq or causal model in this process; it is loaded at the first call.

    Answers are those of the model's own `generate`: greedy until they are settled, or with beams.

    Args:
        model: folder, or name on the model hub.
        revision: branch, tag or commit on the hub.
        device: auto, cpu, cuda or cuda:N.
        dtype: auto, float32 or bfloat16.
        max_tokens_in: maximum number of tokens of a prompt; None for the model's own limit.
        batch_tokens: tokens of a batch, padding included; None for a value that suits the device.
        share_prefixes: whether a causal model reads a prefix that prompts share only once; never
            with beams.
        num_beams: number of beams; 1 for greedy decoding. Only greedy decoding gives probabilities
            of ratings.
        must_chat: whether to refuse a causal model without a chat template, because its prompts
            would need another end.
        sampling: settings for random sampling, with one beam; None for the likeliest text.

    Raises:
        InputError: device, dtype or a number is invalid.
    """

    task = "text"
    share_prefixes: bool = True
    num_beams: int = 1
    must_chat: bool = False
    sampling: Sampling | None = None
    _options: dict[tuple[str, ...], Options] = field(default_factory=dict, init=False)
    _tried: int = field(default=0, init=False)
    _talkative: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rules(
            (
                type(self.num_beams) is not int or not 1 <= self.num_beams <= MOST_BEAMS,
                InputError(
                    "parameter-out-of-range",
                    f"Invalid num_beams: {self.num_beams}.",
                    f"Use a whole number from 1 to {MOST_BEAMS}. 1 is greedy search.",
                ),
            ),
            (
                self.sampling is not None and self.num_beams > 1,
                InputError(
                    "useless-parameter",
                    "Beam search cannot be combined with sampling.",
                    "Leave num_beams out.",
                ),
            ),
        )

    def answer(
        self, calls: Sequence[Call], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in any order.

        Yields:
            The index of each call with its completion. After `control` stops the job, no more are
                yielded.

        Raises:
            GradingError: the model cannot be loaded, does not fit into memory, or lacks a required
                chat template.
            InputError: the model does not answer calls of this form.
        """
        if any(call.form == "span" for call in calls):
            raise InputError(
                "model-writes",
                f"The model {self.model} writes text and cannot extract answers from a passage.",
                "Choose the method answer for it, or a model for extractive answers.",
            )
        with self._loaded.lock:
            prepared = self._prompting.prepare(calls, self._answer_tokens)
        unfit = [(i, Completion(error=each.error)) for i, each in enumerate(prepared) if each.error]
        if unfit:
            yield unfit
        # Calls with the same form, options, scale and length are answered together.
        kinds = group_pairs(
            ((call.form, call.options, call.prompt.top, call.max_tokens), index)
            for index, (call, each) in enumerate(zip(calls, prepared, strict=True))
            if not each.error
        )
        for (form, *_), indexes in kinds.items():
            some = [calls[i] for i in indexes]
            ready = [prepared[i] for i in indexes]
            answers = self._weigh_options if form == "likelihood" else self._generate_answers
            for batch in answers(some, ready, control):
                yield [(indexes[i], completion) for i, completion in batch]

    @cached_property
    def _prompting(self) -> Prompting:
        limit = prompt_token_limit(self.max_tokens_in, self._loaded.limit, self._loaded.hard_limit)
        prompting = Prompting(self._loaded.tokenizer, not self._loaded.seq2seq, limit)
        if self.must_chat and not self._loaded.seq2seq and not prompting.chat:
            raise GradingError(
                "chat-template-unusable",
                f"The model {self.model} was found to have no chat template when it was loaded.",
                "Start again: prompts then end where the answer begins. To choose their"
                " last line, set cue.",
            )
        return prompting

    def _answer_tokens(self, call: Call) -> int:
        """Return the number of tokens of the context window that the answer needs: 0 for a model
        with an encoder.
        """
        if self._loaded.seq2seq:
            return 0
        if call.form == "likelihood":
            return max((self.count_tokens(option) or 0) + 2 for option in call.options)
        return call.max_tokens

    @cached_property
    def _runner(self) -> CausalRunner | Seq2SeqRunner:
        from .text_generation import CausalRunner, Seq2SeqRunner

        if self._loaded.seq2seq:
            return Seq2SeqRunner(self._loaded)
        return CausalRunner(self._loaded, self.share_prefixes and self.num_beams == 1)

    @property
    def _budget(self) -> int:
        return max(1, (self.batch_tokens or default_budget(self._loaded.device)) // self.num_beams)

    def _generate_answers(
        self, calls: list[Call], ready: list[PreparedCall], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Generate the answers to calls with the same settings; yield (row of the call, answer) in
        groups.
        """
        from .text_generation import write_texts

        ends = make_settled_test(calls[0], ready[0].text)
        whole = calls[0].max_tokens
        watched = self._options_of(calls[0])
        tokens = [each.tokens for each in ready]
        again: list[int] = []

        scored = watched.tokens if watched else ()

        def run_batch(batch: Batch, steps: int) -> list[tuple[int, WrittenText]]:
            return self._run_in_parts(
                batch,
                lambda part: write_texts(
                    self._loaded,
                    self._runner.inputs(tokens, part),
                    steps,
                    ends,
                    scored,
                    self.num_beams,
                    self.sampling,
                ),
            )

        def make_completion(row: int, written: WrittenText) -> tuple[int, Completion]:
            control.replace_reservation(
                (len(tokens[row]), whole), (len(tokens[row]), len(written.tokens))
            )
            completion = Completion(written.text, written.complete, shortened=ready[row].shortened)
            if (
                watched
                and written.complete
                and (name := named_option(calls[row], completion)) is not None
            ):
                reasons = reasoning_length(written.text) > 0
                chances = watched.distribution(written.tokens, written.scores, name, reasons)
                completion = replace(completion, distribution=chances)
            return row, completion

        for batch in self._allowed(self._runner.plan(tokens, self._budget), tokens, whole, control):
            at_once = ends is None or self.num_beams > 1
            talkative = self._talkative > MOSTLY * max(self._tried, 2 * FEW_STEPS)
            steps = whole if at_once or talkative else min(FEW_STEPS, whole)
            written = run_batch(batch, steps)
            finished = [
                (row, answer) for row, answer in written if answer.complete or steps == whole
            ]
            again += [row for row, answer in written if not answer.complete and steps < whole]
            self._tried += len(written)
            self._talkative += sum(
                not answer.complete or len(answer.tokens) > FEW_STEPS for _, answer in written
            )
            if finished:
                yield [make_completion(row, answer) for row, answer in finished]
        for batch in self._runner.plan([tokens[row] for row in again], self._budget):
            control.may_continue()
            rows = [Group(tuple(again[row] for row in group.rows), group.shared) for group in batch]
            if control.cancelled:
                # These answers have their first tokens already, which must be counted.
                for row in (row for group in rows for row in group.rows):
                    control.replace_reservation(
                        (len(tokens[row]), whole), (len(tokens[row]), min(FEW_STEPS, whole))
                    )
            else:
                yield [make_completion(row, answer) for row, answer in run_batch(rows, whole)]

    def _weigh_options(
        self, calls: list[Call], ready: list[PreparedCall], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Yield answers of calls that weigh options: the option with the best log-likelihood for
        its length.
        """
        tokens = [each.tokens for each in ready]

        def weigh_part(part: Batch) -> list[list[Likelihood]]:
            rows = [group.rows[0] for group in part]
            return self._runner.likelihoods(
                [ready[row].text for row in rows],
                [tokens[row] for row in rows],
                [calls[row].options for row in rows],
            )

        for batch in self._allowed(
            self._runner.plan_weighing(tokens, self._budget), tokens, 0, control
        ):
            outcomes = []
            for row, likelihoods in self._run_in_parts(batch, weigh_part):
                control.replace_reservation((len(tokens[row]), 0), (len(tokens[row]), 0))
                outcomes.append((row, _chosen_by(calls[row], likelihoods, ready[row].shortened)))
            yield outcomes

    def _allowed(
        self, batches: list[Batch], tokens: list[list[int]], answer: int, control: Control
    ) -> Iterator[Batch]:
        """Yield the batches with the rows that `control` permits, until it stops the job.

        Args:
            tokens: prompts as tokens, by row.
            answer: maximum number of tokens of the answer to a row.
        """
        for batch in batches:
            if not control.may_continue():
                return
            groups = [
                Group(
                    tuple(row for row in group.rows if control.reserve(len(tokens[row]), answer)),
                    group.shared,
                )
                for group in batch
            ]
            if allowed := [group for group in groups if group.rows]:
                yield allowed

    def _options_of(self, call: Call) -> Options | None:
        """Return the options whose probabilities are read while a call is answered; None with
        beams.
        """
        from .text_generation import Options

        if (
            self.num_beams > 1
            or call.form not in ("rating", "yes-no", "letter")
            or not call.options
        ):
            return None
        if call.options not in self._options:
            with self._loaded.lock:
                self._options[call.options] = Options(call.options, self._loaded.tokenizer)
        return self._options[call.options]


def _chosen_by(call: Call, likelihoods: Sequence[Likelihood], shortened: int) -> Completion:
    """Return the option of a call with the best log-likelihood for its length.

    Per token, that is the length-penalised log-likelihood by which an examinee chooses
    (exam-generation-irt, section 3.2).

    Args:
        likelihoods: those of the options, in their order.
        shortened: number of tokens of the passage that were left out.
    """
    distribution = {}
    for option, (total, tokens) in zip(call.options, likelihoods, strict=True):
        length = {"tokens": tokens, "characters": len(option), "none": 1}[call.per]
        distribution[option] = total / max(1, length)
    return Completion(
        max(distribution, key=distribution.__getitem__), True, distribution, shortened=shortened
    )


BATCH = 32


def pair_scores(model: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Score (question, passage) pairs: the logit of a cross-encoder's last class; higher is more
    relevant.

    A passage that is too long is cut at its end.

    Args:
        model: folder, or name on the hub, of a model for sequence classification.

    Raises:
        InputError: the model has another kind, so that its scores would be random.
        GradingError: it cannot be loaded.
    """
    loaded = load_model(model, task="pair")
    if not any(
        kind.endswith("ForSequenceClassification")
        for kind in loaded.model.config.architectures or []
    ):
        raise InputError(
            "not-a-cross-encoder",
            f"The model {model} is not a cross-encoder.",
            "Use a model for sequence classification.",
        )
    import torch

    scores: list[float] = []
    with loaded.lock, torch.inference_mode():
        for start in range(0, len(pairs), BATCH):
            questions, passages = zip(*pairs[start : start + BATCH], strict=True)
            read = loaded.tokenizer(
                list(questions),
                list(passages),
                padding=True,
                truncation="only_second",
                max_length=loaded.limit,
                return_tensors="pt",
            ).to(loaded.device)
            scores += loaded.model(**read).logits[:, -1].float().tolist()
    return scores


LONGEST_ANSWER = 30
"""Maximum number of tokens of an answer."""
OVERLAP = 128
"""Maximum number of tokens that two windows over a long passage share, so that no answer is cut in
two.
"""
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
class _BestAnswer:
    """The best answer in the windows of one call so far, and the lowest score of no answer."""

    score: float = float("-inf")
    null: float = float("inf")
    place: tuple[int, int] = (0, 0)


@dataclass(eq=False)
class ExtractiveBackEnd(LocalBackEnd):
    """A question answering model in this process, loaded at the first call; it answers calls of the
    form `span`.

    Args:
        model, revision, device, dtype: as for `TransformersBackEnd`.
        max_tokens_in: maximum number of tokens of question and window; None for the model's own
            limit.
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

    def answer(
        self, calls: Sequence[Call], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in any order; the other model answers those of other forms.

        Yields:
            The index of each call with its completion. After `control` stops the job, no more are
                yielded.

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
        for batch in stream_completions(self.other, [calls[i] for i in others], control):
            yield [(others[i], completion) for i, completion in batch]

    def _extract(
        self, calls: list[Call], control: Control
    ) -> Iterator[list[tuple[int, Completion]]]:
        loaded = self._loaded
        budget = self.batch_tokens or default_budget(loaded.device)
        limit = min(self.max_tokens_in or loaded.limit, loaded.hard_limit or loaded.limit)
        # Windows of similar length form batches. Small blocks of calls let answers arrive early.
        block = max(1, budget // 128)
        for start in range(0, len(calls), block):
            if not control.may_continue():
                return
            outcomes: list[tuple[int, Completion]] = []
            windows: dict[int, list[_Window]] = {}
            with loaded.lock:
                for index in range(start, min(start + block, len(calls))):
                    made_windows = _make_windows(loaded.tokenizer, calls[index], index, limit)
                    if isinstance(made_windows, Completion):
                        outcomes.append((index, made_windows))
                    elif control.reserve(_token_count(made_windows), 0):
                        windows[index] = made_windows
                every = [window for some in windows.values() for window in some]
                best = {index: _BestAnswer() for index in windows}
                for batch in by_length(
                    [window.tokens for window in every], range(len(every)), budget
                ):
                    for row, (first, last) in self._run_in_parts(
                        batch, partial(_score_windows, loaded, every)
                    ):
                        _update_best(best[every[row].call], every[row], first, last)
            for index, some in windows.items():
                control.replace_reservation((_token_count(some), 0), (_token_count(some), 0))
                outcomes.append(
                    (index, _make_completion(best[index], calls[index].values[PASSAGE]))
                )
            if outcomes:
                yield outcomes


def _token_count(windows: Sequence[_Window]) -> int:
    return sum(len(window.tokens) for window in windows)


def _make_windows(tokenizer: Any, call: Call, index: int, limit: int) -> list[_Window] | Completion:
    """Return the question with each part of its passage; a completion if no model is needed."""
    passage, question = call.values[PASSAGE], call.values["question"]
    if not passage.strip():
        return Completion("", distribution={ANSWER: 0.0, NO_ANSWER: 1.0})
    null_id = tokenizer.cls_token_id
    if null_id is not None and null_id not in tokenizer("a", "b").input_ids:
        # Such models were trained with this token written before the question.
        question = f"{tokenizer.cls_token}{question}"
    room = limit - len(tokenizer(question, "", verbose=False).input_ids)
    if room < LEAST_PASSAGE:
        return Completion(
            error=(
                "the question leaves no room for the passage: the model reads at"
                f" most {limit} tokens"
            )
        )
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


def _score_windows(loaded: Loaded, every: list[_Window], part: Batch) -> list[tuple[Any, Any]]:
    """Return the logits of start and end, float (tokens,) each, by window of a part."""
    import torch

    from .text_generation import pad_rows, pad_token

    windows = [every[group.rows[0]] for group in part]
    ids, mask = pad_rows(
        [window.tokens for window in windows], pad_token(loaded), False, loaded.device
    )
    extra = {}
    if windows[0].types is not None:
        extra["token_type_ids"] = pad_rows(
            [window.types or [] for window in windows], 0, False, loaded.device
        )[0]
    with torch.inference_mode():
        given = loaded.model(input_ids=ids, attention_mask=mask, **extra)
    return list(zip(given.start_logits.float().cpu(), given.end_logits.float().cpu(), strict=True))


def _update_best(best: _BestAnswer, window: _Window, start: Any, end: Any) -> None:
    """Keep the better of the best span and the window's best, and the lower of both scores of no
    answer.

    A span's score is the sum of its logits. It begins and ends in the passage, in this order, and
    has at most `LONGEST_ANSWER` tokens (Devlin et al. 2019, section 4.3).
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


def _make_completion(best: _BestAnswer, passage: str) -> Completion:
    """Return the answer if its score exceeds that of no answer; the probabilities are those of
    these two alternatives."""
    import torch

    answer = float(torch.sigmoid(torch.tensor(best.score - best.null, dtype=torch.float64)))
    text = passage[slice(*best.place)].strip() if best.score > best.null else ""
    return Completion(text, distribution={ANSWER: answer, NO_ANSWER: 1.0 - answer})
