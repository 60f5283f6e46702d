"""Batches of prompts: which rows a local model reads together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Prompts that are read together.

    Args:
        rows: their positions.
        shared: number of tokens at the beginning that all of them have and that are read once; 0 for none.
    """

    rows: tuple[int, ...]
    shared: int = 0


Batch = list[Group]


def default_budget(device: str) -> int:
    """Tokens of a batch, padding included: a processor works best on what stays in its caches, a GPU on a lot."""
    return 4096 if device == "cpu" else 32768


def by_length(prompts: Sequence[list[int]], rows: Sequence[int], budget: int) -> list[Batch]:
    """Batches of prompts of like length that share nothing, longest first: a batch that is too large shows at once."""
    batches: list[Batch] = []
    for row in sorted(rows, key=lambda row: -len(prompts[row])):
        longest = len(prompts[batches[-1][0].rows[0]]) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= budget:
            batches[-1].append(Group((row,)))
        else:
            batches.append([Group((row,))])
    return batches


def halved(batch: Batch) -> tuple[Batch, Batch]:
    """A batch of at least two rows in two: by groups, or within its only group."""
    if len(batch) > 1:
        return batch[: len(batch) // 2], batch[len(batch) // 2 :]
    rows, shared = batch[0].rows, batch[0].shared
    return [Group(rows[: len(rows) // 2], shared)], [Group(rows[len(rows) // 2 :], shared)]
