"""The vLLM back end: causal models by vLLM's own engine, in this process and without a server."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.errors import GradingError, InputError
from core.graders.access.access import acting
from core.graders.control import Control
from core.graders.local.base import FEW_STEPS, TextBackEnd, chosen_by, permitted
from core.graders.local.loading import (
    Loaded,
    Source,
    described,
    is_seq2seq,
    limits,
    resolved_dtype,
    source_of,
    telling,
    tokens_in,
)
from core.graders.local.prompting import Prepared
from core.graders.reading.calls import Call, Completion, Sampling
from core.graders.reading.reasoning import reasoning_length
from core.graders.reading.settled import settled

if TYPE_CHECKING:
    from core.graders.local.options import Options

VERSION = "0.30.0"
"""The version of vLLM that the drill ran with; bench/vllm_drill.py is the drill."""
MOST_WATCHED = 128
"""Tokens whose probabilities vLLM gives at each step at most; an answer with more forms than that has none."""

SURROUNDINGS = {
    # In this process: nothing is left of the engine where the program is killed, and work has one order.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Nobody is told that this program ran.
    "VLLM_NO_USAGE_STATS": "1",
    # What a command prints is its result.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # Of a build for processors, which else takes most of the computer's memory: GiB for keys and values.
    "VLLM_CPU_KVCACHE_SPACE": "4",
}
"""What vLLM reads of the environment, where nobody has said otherwise there."""


class VllmBackEnd(TextBackEnd):
    """A causal model in this process that vLLM runs; its engine starts at the first call.

    Prompts, what is left out of them, when an answer is settled, and which probabilities are read are those of
    `TransformersBackEnd`. Beginnings that prompts share are read once by the engine's prefix cache.

    Args:
        model: folder, or name on the model hub.
        revision: branch, tag or commit on the hub.
        dtype: auto, float32 or bfloat16.
        max_tokens_in: tokens of a prompt at most; what the model says of itself for None.
        must_chat: refuses a model without a chat template: its prompts would need another end.
        sampling: draws what it writes by chance; None for the likeliest.

    Raises:
        InputError: dtype or a number is not possible, or the model has an encoder.
    """

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        dtype: str = "auto",
        max_tokens_in: int | None = None,
        must_chat: bool = False,
        sampling: Sampling | None = None,
    ) -> None:
        super().__init__(model, revision, "auto", dtype, max_tokens_in, None, must_chat, sampling)
        if is_seq2seq(model, revision):
            raise has_encoder(model)

    def answer(self, calls: Sequence[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls, as many at once as `control` gives leave for.

        Yields:
            The position of each call with its completion. Once `control` stops the job, no more come.

        Raises:
            GradingError: vLLM is not installed, cannot run the model, or gave up.
            InputError: a call has a form that a model that writes does not answer, or the model has an encoder.
        """
        prepared = self._prepared(calls)
        unfit = [(i, Completion(error=each.error)) for i, each in enumerate(prepared) if each.error]
        if unfit:
            yield unfit
        tokens = [each.tokens for each in prepared]
        fitting = [i for i, each in enumerate(prepared) if not each.error]
        for rows in permitted(fitting, tokens, lambda row: _most(calls[row]), control):
            answered: list[tuple[int, Completion]] = []
            weighing = [row for row in rows if calls[row].form == "likelihood"]
            writing = [row for row in rows if calls[row].form != "likelihood"]
            with self._loaded.lock:
                for some, answers in ((weighing, self._weigh), (writing, self._write)):
                    found = answers([calls[row] for row in some], [prepared[row] for row in some]) if some else []
                    for row, (completion, written) in zip(some, found, strict=True):
                        control.settle((len(tokens[row]), _most(calls[row])), (len(tokens[row]), written))
                        answered.append((row, completion))
            self.tokens_plain += sum(len(tokens[row]) for row in rows)
            yield answered

    def _write(self, calls: Sequence[Call], ready: Sequence[Prepared]) -> list[tuple[Completion, int]]:
        """What is written for each call, and the number of its tokens."""
        tokenizer = self._loaded.tokenizer

        def decode(tokens: list[int]) -> str:
            text: str = tokenizer.decode(tokens, skip_special_tokens=True)
            return text

        texts = [
            _Text(call, each, self._options_of(call), settled(call, each.text))
            for call, each in zip(calls, ready, strict=True)
        ]
        going = texts
        # What is drawn by chance is drawn in one go: gone on with, it would be drawn by the same chances again.
        for most in (FEW_STEPS, None) if self._sampling is None else (None,):
            lengths = [text.room if text.ends is None else min(most or text.room, text.room) for text in going]
            outputs = self._run(
                [text.prompt.tokens + text.tokens for text in going],
                [self._parameters(text, length) for text, length in zip(going, lengths, strict=True)],
            )
            for text, output in zip(going, outputs, strict=True):
                text.take(output.outputs[0], decode)
            going = [text for text in going if not text.complete and text.room > 0]
            if not going:
                break
        return [(text.completion(decode), len(text.tokens)) for text in texts]

    def _weigh(self, calls: Sequence[Call], ready: Sequence[Prepared]) -> list[tuple[Completion, int]]:
        """The likeliest option of each call for its length; nothing is written."""
        from core.graders.local.causal import continued

        rows = [
            continued(self._loaded.tokenizer, each.text, each.tokens, call.options)
            for call, each in zip(calls, ready, strict=True)
        ]
        flat = [row for each in rows for row in each]
        # The engine writes a token at least, which nobody reads.
        reading = self._vllm.SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
        outputs = iter(self._run([whole for whole, _ in flat], [reading] * len(flat)))
        found = []
        for call, each, options in zip(calls, ready, rows, strict=True):
            likelihoods = []
            for whole, at in options:
                told = next(outputs).prompt_logprobs
                likelihoods.append((sum(told[i][whole[i]].logprob for i in range(at, len(whole))), len(whole) - at))
            found.append((chosen_by(call, likelihoods, each.shortened), 0))
        return found

    def _parameters(self, text: _Text, length: int) -> Any:
        """How one text is to be written."""
        from core.graders.local.sampling import seed_of

        chance: dict[str, Any] = {"temperature": 0.0}
        if self._sampling is not None:
            seed = seed_of(self._sampling.seed or 0, text.prompt.tokens)
            chance = {"temperature": self._sampling.temperature, "seed": seed}
        watched = {"logprob_token_ids": text.watched} if text.watched else {}
        return self._vllm.SamplingParams(max_tokens=length, detokenize=False, **chance, **watched)

    def _run(self, prompts: list[list[int]], parameters: list[Any]) -> list[Any]:
        """What the engine gives for each prompt."""
        engine = self._loaded.model
        try:
            outputs: list[Any] = engine.generate(
                [{"prompt_token_ids": prompt} for prompt in prompts], parameters, use_tqdm=False
            )
        except Exception as error:
            # Its errors are of many kinds, and one that gave up may never answer again: the next job starts another.
            _forget(self.__dict__.pop("_loaded"))
            raise GradingError(
                "engine-gave-up",
                f"vLLM gave up: {_first_line(error)}.",
                "What was graded is kept: grade again. If it is the memory, give a smaller max_tokens_in or model.",
            ) from error
        self.tokens_computed += sum(
            len(prompt) - (output.num_cached_tokens or 0) for prompt, output in zip(prompts, outputs, strict=True)
        )
        return outputs

    @cached_property
    def _loaded(self) -> Loaded:
        model, revision, _, dtype = self._source
        with acting(self._access):
            return start_engine(model, revision, dtype, self._max_tokens_in)

    @property
    def _vllm(self) -> Any:
        return import_module("vllm")


@dataclass
class _Text:
    """An answer that is being written.

    Args:
        call, prompt: what is answered.
        options: whose probabilities are read; None for none.
        ends: whether a text needs no more; None where it is written to its end.
    """

    call: Call
    prompt: Prepared
    options: Options | None
    ends: Callable[[str], bool] | None
    tokens: list[int] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    complete: bool = False

    @property
    def room(self) -> int:
        """Tokens that may still be written."""
        return self.call.max_tokens - len(self.tokens)

    @cached_property
    def watched(self) -> list[int]:
        """Tokens whose probabilities are read at each step."""
        return self.options.tokens if self.options and len(self.options.tokens) <= MOST_WATCHED else []

    def take(self, written: Any, decode: Callable[[list[int]], str]) -> None:
        """Take in what the engine wrote, as far as it is needed."""
        new = list(written.token_ids)
        self.complete = written.finish_reason == "stop"
        if self.complete:
            # What ends a text is no part of it.
            new.pop()
        for place, token in enumerate(new):
            self.tokens.append(token)
            if self.watched:
                self.scores.append([written.logprobs[place][each].logprob for each in self.watched])
            if self.ends is not None and self.ends(decode(self.tokens)):
                self.complete = True
                return

    def completion(self, decode: Callable[[list[int]], str]) -> Completion:
        """The answer, with the probability of each option where it names one."""
        import torch

        from core.graders.local.options import named_option

        text = decode(self.tokens).strip()
        distribution = None
        if self.options and self.scores and self.complete and (name := named_option(self.call, text)) is not None:
            reasons = reasoning_length(text) > 0
            distribution = self.options.distribution(self.tokens, torch.tensor(self.scores), name, reasons)
        return Completion(text, self.complete, distribution, shortened=self.prompt.shortened)


_Key = tuple[Source, str, int | None]

_running: dict[_Key, Loaded] = {}
"""The engine that was started last: it takes most of a GPU's memory, so that there is no room for two."""
_starting = threading.Lock()


def start_engine(name_or_folder: str, revision: str | None, dtype: str, max_tokens_in: int | None) -> Loaded:
    """Start vLLM's engine with a model, or give the one that runs already.

    Args:
        name_or_folder: a folder with configuration, weights and tokenizer, or a name on the model hub.
        revision: branch, tag or commit on the hub; ignored for a folder.
        dtype: auto, float32 or bfloat16.
        max_tokens_in: tokens of a prompt and its answer at most; what the model says of itself for None.

    Returns:
        Its model is the engine.

    Raises:
        GradingError: vLLM is not installed, the model is not there, or vLLM cannot run it.
        InputError: the model has an encoder.
    """
    key: _Key = (source_of(name_or_folder, revision), resolved_dtype("auto", dtype), max_tokens_in)
    with _starting:
        if key not in _running:
            vllm = _imported()
            _running.clear()
            gc.collect()
            _running[key] = _started(vllm, *key)
        return _running[key]


def _started(vllm: Any, source: Source, dtype: str, max_tokens_in: int | None) -> Loaded:
    config, tokenizer = described(source)
    if getattr(config, "is_encoder_decoder", False):
        raise has_encoder(source.name)
    limit, positions = limits(config, tokenizer)
    limit = tokens_in(max_tokens_in, limit, positions)
    try:
        with telling(source.name, "weights, and vLLM's engine around them"):
            engine = vllm.LLM(
                model=source.place,
                revision=source.revision,
                tokenizer_revision=source.revision,
                runner="generate",
                trust_remote_code=False,
                load_format="safetensors",
                dtype=dtype,
                max_model_len=limit,
                enable_prefix_caching=True,
                use_tqdm_on_load=False,
            )
    except Exception as error:
        # Kinds of models and of computers that it does not know, and too little memory, come as errors of many kinds.
        raise GradingError(
            "engine-gave-up",
            f"vLLM cannot run the model {source.name}: {_first_line(error)}.",
            "Where it does not know such models, or has no room for this one, take the back end transformers.",
        ) from error
    return Loaded(source.name, engine, tokenizer, "auto", seq2seq=False, limit=limit, hard_limit=positions)


def _imported() -> Any:
    """vLLM, with what makes a model of it loaded as well.

    Raises:
        GradingError: it is not installed, or does not fit what is.
    """
    for name, value in SURROUNDINGS.items():
        os.environ.setdefault(name, value)
    try:
        vllm = import_module("vllm")
        # Their modules are loaded when they are asked for.
        _ = vllm.LLM, vllm.SamplingParams
    except Exception as error:
        raise GradingError(
            "package-missing",
            f"vLLM cannot be loaded ({_first_line(error)}).",
            f"Install it beside this program, in an environment of its own: pip install vllm=={VERSION}",
        ) from error
    return vllm


def _forget(loaded: Loaded) -> None:
    with _starting:
        for key in [key for key, one in _running.items() if one is loaded]:
            del _running[key]


def _most(call: Call) -> int:
    """Tokens that the answer to a call may have."""
    return 0 if call.form == "likelihood" else call.max_tokens


def has_encoder(model: str) -> InputError:
    """That a model is none that vLLM runs here."""
    return InputError(
        "encoder-decoder-model",
        f"The model {model} has an encoder and a decoder, and vLLM runs none of these.",
        "Take the back end transformers for it, or name a causal model.",
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__
