"""Common parts of the two kinds of text models: batches of rows, and writing until an answer is settled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import torch

from ...errors import GradingError
from ..reading.calls import Sampling
from .batches import Batch, halved
from .loading import Loaded
from .options import Watch
from .sampling import Draw

Likelihood = tuple[float, int]
"""Log-likelihood of an option's tokens, and their number."""


@dataclass(frozen=True)
class Written:
    """Text that a model wrote for one prompt.

    Args:
        tokens: without the end token.
        text: the tokens as text, stripped.
        complete: whether it ended or was settled before it was cut off.
        scores: float (steps, n): logits of the n watched tokens at each step.
    """

    tokens: list[int]
    text: str
    complete: bool
    scores: torch.Tensor


Result = TypeVar("Result")


def out_of_memory_halves(batch: Batch, run: Callable[[Batch], Result]) -> Iterator[tuple[Batch, Result]]:
    """Run a batch, in repeated halves if it exceeds the memory of the GPU or the computer.

    Yields:
        Each part that was run with its result; together they are the batch.

    Raises:
        GradingError: a single row does not fit.
    """
    try:
        result = run(batch)
    except (MemoryError, RuntimeError) as error:
        # For processor memory, PyTorch has no other sign than this text.
        exhausted = isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "DefaultCPUAllocator" in str(error)
        if not exhausted:
            raise
        rows = sum(len(group.rows) for group in batch)
        if rows == 1:
            of = "GPU's" if isinstance(error, torch.OutOfMemoryError) else "computer's"
            raise GradingError(
                "out-of-memory",
                f"A single prompt does not fit into the {of} memory.",
                "Choose a smaller model, or lower max_tokens_in.",
            ) from error
        torch.cuda.empty_cache()
        halves = halved(batch)
    else:
        yield batch, result
        return
    # Outside the handler, because there the failed pass still holds its tensors.
    for half in halves:
        yield from out_of_memory_halves(half, run)


def regrouped(values: Sequence[Likelihood], options: Sequence[Sequence[str]]) -> list[list[Likelihood]]:
    """Return one value per option, in the shape of the options."""
    rest = iter(values)
    return [list(islice(rest, len(each))) for each in options]


def summed(found: torch.Tensor, counted: torch.Tensor) -> list[Likelihood]:
    """Return the sum of the counted log-likelihoods (rows, tokens) per row, and the number of counted tokens."""
    sums: list[float] = (found * counted).sum(1).tolist()
    numbers: list[int] = counted.sum(1).tolist()
    return [(total, int(number)) for total, number in zip(sums, numbers, strict=True)]


def padded(rows: Sequence[Sequence[int]], pad: int, left: bool, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of tokens as a matrix and its mask, both long (rows, longest)."""
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for index, row in enumerate(rows):
        place = slice(longest - len(row), None) if left else slice(0, len(row))
        ids[index, place] = torch.tensor(row, dtype=torch.long)
        mask[index, place] = 1
    return ids.to(device), mask.to(device)


def pad_token(loaded: Loaded) -> int:
    """Return the padding token: the tokenizer's, or any other, because the mask hides it."""
    for token in (loaded.tokenizer.pad_token_id, loaded.tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    return 0


def write(
    loaded: Loaded,
    inputs: dict[str, Any],
    max_tokens: int,
    settled: Callable[[str], bool] | None,
    watched: Sequence[int],
    beams: int = 1,
    sampling: Sampling | None = None,
) -> list[Written]:
    """Write with a model like its own `generate`.

    With one beam, decoding is greedy or sampled, and each row ends as soon as it is settled. Several beams are searched
    to their end, because the best one is known only then. Their logits belong to no single text, so none are recorded.

    Args:
        inputs: arguments of `generate`: tokens, mask, and earlier computations.
        max_tokens: most tokens written.
        settled: whether a text needs no more tokens; None to write to the end.
        watched: tokens whose logits are recorded.
        beams: number of beams.
        sampling: settings for random sampling, with one beam; None for the likeliest text.
    """
    start = 1 if loaded.seq2seq else inputs["input_ids"].shape[1]

    def decode(tokens: list[int]) -> str:
        text: str = loaded.tokenizer.decode(tokens, skip_special_tokens=True)
        return text

    watch = Watch(start, decode, settled, watched)
    processors: list[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = [watch.process]
    if sampling is not None:
        rows = zip(inputs["input_ids"].tolist(), inputs["attention_mask"].tolist(), strict=True)
        prompts = [[token for token, shown in zip(ids, mask, strict=True) if shown] for ids, mask in rows]
        processors.append(Draw(sampling, prompts))
    looking_on = {"logits_processor": processors, "stopping_criteria": [watch.stop]} if beams == 1 else {}
    with warnings.catch_warnings(), torch.inference_mode():
        # Ignore warnings about the model's sampling settings, which greedy decoding does not use.
        warnings.simplefilter("ignore", UserWarning)
        sequences = loaded.model.generate(
            **inputs,
            do_sample=False,
            num_beams=beams,
            repetition_penalty=1.0,
            max_new_tokens=max_tokens,
            pad_token_id=pad_token(loaded),
            **looking_on,
        )
    ends = loaded.model.generation_config.eos_token_id
    ends = set(ends) if isinstance(ends, list) else {ends}
    answers = []
    for row, tokens in enumerate(sequences[:, start:].tolist()):
        length = watch.length.get(row, len(tokens))
        end = next((i for i, token in enumerate(tokens[:length]) if token in ends), None)
        kept = tokens[: length if end is None else end]
        text = decode(kept)
        complete = end is not None or (settled is not None and settled(text))
        answers.append(Written(kept, text.strip(), complete, watch.scores(row)))
    return answers
