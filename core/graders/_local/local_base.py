"""Common base of back ends with a model in this process: settings, loading, and batches of calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

from ...errors import GradingError, InputError
from .._access.permissions import acting, current
from .._grader_interface import Control, Outcome, Pair
from .._reading.calls import Call, Completion, Steps, drive_in_windows
from .loading import Loaded, Task, check_settings, load_model, tokenizer_at_hand


@dataclass(frozen=True)
class Group:
    """Prompts that are read together.

    Args:
        rows: their indexes.
        shared: number of common leading tokens that are read once; 0 for none.
    """

    rows: tuple[int, ...]
    shared: int = 0


Batch = list[Group]


def default_budget(device: str) -> int:
    """Return the tokens of a batch, padding included.

    A processor is fastest within its caches, a GPU with large batches.
    """
    return 4096 if device == "cpu" else 32768


def by_length(prompts: Sequence[list[int]], rows: Sequence[int], budget: int) -> list[Batch]:
    """Return batches of prompts with similar length and no common prefix. The longest is first, so that a batch that is
    too large fails early."""
    batches: list[Batch] = []
    for row in sorted(rows, key=lambda row: -len(prompts[row])):
        longest = len(prompts[batches[-1][0].rows[0]]) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= budget:
            batches[-1].append(Group((row,)))
        else:
            batches.append([Group((row,))])
    return batches


def halved(batch: Batch) -> tuple[Batch, Batch]:
    """Split a batch of at least two rows in two: between groups, or within its only group."""
    if len(batch) > 1:
        return batch[: len(batch) // 2], batch[len(batch) // 2 :]
    rows, shared = batch[0].rows, batch[0].shared
    return [Group(rows[: len(rows) // 2], shared)], [Group(rows[len(rows) // 2 :], shared)]


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
                raise InputError("parameter-out-of-range", f"Invalid {name}: {value}.", "Use a whole number from 1.")
        # Keep the creator's permissions, because a job may load the model in another thread.
        self._access = current()

    @abstractmethod
    def answer(self, calls: Sequence[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
        """Answer calls batch by batch, in any order.

        Yields:
            The index of each call with its completion. After `control` stops the job, no more are yielded.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
            InputError: the model does not answer calls of this form.
        """

    def drive(self, work: Iterable[tuple[Pair, Steps]], control: Control) -> Iterator[list[Outcome]]:
        """Run the steps of pairs, a window of them at a time; see `drive_in_windows`.

        Raises:
            GradingError: the model cannot be loaded, or does not fit into memory.
        """
        return drive_in_windows(work, control, self.answer)

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens by the model's own tokenizer; None if this computer does not have it yet."""
        if "_loaded" not in self.__dict__:
            with acting(self._access):
                tokenizer = tokenizer_at_hand(self.model, self.revision)
            return None if tokenizer is None else len(tokenizer(text, add_special_tokens=False).input_ids)
        with self._loaded.lock:
            return len(self._loaded.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    @cached_property
    def _loaded(self) -> Loaded:
        with acting(self._access):
            return load_model(self.model, self.revision, self.device, self.dtype, self.task)

    def _run_in_parts(self, batch: Batch, run: Callable[[Batch], Sequence[Result]]) -> list[tuple[int, Result]]:
        """Return the result of every row of a batch.

        If memory is exhausted, the batch is halved, repeatedly if necessary.
        """
        found: list[tuple[int, Result]] = []
        with self._loaded.lock:
            for part, results in out_of_memory_halves(batch, run):
                found += zip((row for group in part for row in group.rows), results, strict=True)
        return found


def out_of_memory_halves(batch: Batch, run: Callable[[Batch], Result]) -> Iterator[tuple[Batch, Result]]:
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
        if not isinstance(error, (torch.OutOfMemoryError, MemoryError)) and "DefaultCPUAllocator" not in str(error):
            raise
        if sum(len(group.rows) for group in batch) == 1:
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
    # Not in the exception handler, in which the failed pass would still hold its tensors.
    for half in halves:
        yield from out_of_memory_halves(half, run)
