"""Batches of prompts that a local model reads together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
    """Return batches of prompts with similar length and no common prefix, longest first, so that a too large batch
    fails early."""
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
