"""Estimation of the gain of every passage from the judgments of finished batches."""

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
from ._audit_data import Facts

PLANNED = 50
"""Minimum number of batches for which shares are planned, independently of the number of looks."""


@dataclass(frozen=True, eq=False)
class Estimation:
    """The audited gains of passages, with their inputs.

    Args:
        batches: the finished batches.
        planned: chances of the batches as planned before the first batch; they determine the shares of batches.
        gains: gains of the judged passages; NaN for other passages.
        predicted: predictions from graders or ranks.
        corrected: estimates from gains and predictions.
    """

    facts: Facts
    pool: Pool
    batches: Sequence[Batch]
    planned: Array
    gains: Array
    predicted: Array
    corrected: Corrected


def estimation(facts: Facts, machine: bool = True) -> Estimation | None:
    """Estimate the gain of every passage from finished batches; None without finished batches.

    Args:
        machine: whether to predict judgments also from graders; otherwise only from ranks and other judgments. The
            estimates are unbiased in both cases.
    """
    done = [batch for batch in facts.batches if batch.done]
    if not done:
        return None
    first = facts.batches[0]
    pool = pool_of(facts.weights, facts.columns if machine else {})
    # Shares are fixed before anything is drawn, so that they do not depend on the outcome.
    size = float(first.size)
    planned = planned_chances(first.sizes, [size] * max(facts.looks, len(done), PLANNED), known=~np.isnan(first.known))
    judged = [
        Batch(batch.chances, batch.drawn, batch.drawn & ~np.isnan(batch.first), ~np.isnan(batch.known))
        for batch in done
    ]
    gains = facts.gains(facts.judged)
    predicted = predict_batches(pool, judged, planned, gains)
    return Estimation(facts, pool, judged, planned, gains, predicted, correct(judged, planned, gains, predicted))
