"""The gain of every passage as the judgments of the batches that are done give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..measures.audit import (
    Array,
    Batch,
    Corrected,
    Pool,
    correct,
    planned_chances,
    pool_of,
    predict_batches,
)
from .facts import Facts

PLANNED = 50
"""Batches for which shares are planned at least, whatever the number of looks."""


@dataclass(frozen=True, eq=False)
class Estimation:
    """The audited gains of passages, and what they were computed from.

    Args:
        batches: those that are done.
        planned: chances of the batches as they were planned before the first, from which their shares come.
        gains: of the judged passages; NaN for the others.
        corrected: with predictions from the machine; `plain` without.
    """

    facts: Facts
    pool: Pool
    batches: Sequence[Batch]
    planned: Array
    gains: Array
    predicted: Array
    corrected: Corrected


def estimation(facts: Facts, machine: bool = True) -> Estimation | None:
    """Estimate the gain of every passage from the batches that are done; None where there is none.

    Args:
        machine: whether judgments are predicted from what graders say, or from ranks and what was judged alone; the
            estimate without is unbiased as well.
    """
    done = [batch for batch in facts.batches if batch.done]
    if not done:
        return None
    first = facts.batches[0]
    pool = pool_of(facts.weights, facts.columns if machine else {})
    # Shares are fixed before anything is drawn, so that they know nothing of what was.
    size = float(first.size)
    planned = planned_chances(first.sizes, [size] * max(facts.looks, len(done), PLANNED), known=~np.isnan(first.known))
    judged = [
        Batch(batch.chances, batch.drawn, batch.drawn & ~np.isnan(batch.first), ~np.isnan(batch.known))
        for batch in done
    ]
    gains = facts.gains(facts.judged)
    predicted = predict_batches(pool, judged, planned, gains)
    return Estimation(facts, pool, judged, planned, gains, predicted, correct(judged, planned, gains, predicted))
