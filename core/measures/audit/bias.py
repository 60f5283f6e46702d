"""The bias of a machine: how much more its labels give a system, or a group of systems, than people do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .batches import Corrected
from .estimate import CONFIDENCE, Estimates, Variance, estimates
from .weights import Array, Flags


def machine_bias(
    w: Array,
    machine: Array,
    found: Corrected,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return how far the machine's score of each system lies above the audited one, with its interval.

    Args:
        w: shape (S, N).
        machine: shape (N,), the gain of the machine's label; 0 if it gave none, as on a leaderboard without an
            audit.
        found, variance, queries, confidence: see `estimates`.

    Returns:
        Arrays of shape (S,): machine minus audited.
    """
    surplus = replace(found, gains=machine - found.gains)
    return estimates(w, surplus, variance=variance, queries=queries, confidence=confidence)


def group_bias(
    w: Array,
    machine: Array,
    found: Corrected,
    members: Flags,
    *,
    variance: Variance = "pool",
    queries: NDArray[np.int64] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """Return how much more the machine favours some systems than people do (circularity).

    Args:
        members: shape (S,), which systems share the machine's model family; some, not all.
        w, machine, found, variance, queries, confidence: see `machine_bias`.

    Returns:
        Arrays of shape (1,): mean bias of the members minus mean bias of the others.

    Raises:
        InputError: all or no systems are members.
    """
    if members.all() or not members.any():
        raise InputError(
            "bias-group-of-all",
            "The bias of a group needs systems inside and outside the group.",
            "Name some of the systems, not all.",
        )
    contrast = w[members].mean(axis=0) - w[~members].mean(axis=0)
    return machine_bias(contrast[None], machine, found, variance=variance, queries=queries, confidence=confidence)
