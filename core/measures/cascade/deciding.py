"""The whole cascade on arrays: learn from one part of the sample, test on the other, say who is asked again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.measures.cascade.guarantee import Guarantee, Promise, promised
from core.measures.cascade.labelling import (
    UNKNOWN,
    Agreement,
    Array,
    Flags,
    Levels,
    agreeing,
    confidence,
    learn,
    priorities,
)


@dataclass(frozen=True)
class Terms:
    """What is promised of a cascade.

    Args:
        top: of the expensive grader's scale.
        min_rating: from which a label on that scale is relevant.
        agreement: when two labels agree.
        promise: of what the agreement is a share.
        alpha: share of weight that may disagree.
        delta: chance that it is more.
    """

    top: int
    min_rating: int
    agreement: Agreement = "relevance"
    promise: Promise = "all"
    alpha: float = 0.1
    delta: float = 0.1


@dataclass(frozen=True)
class Decision:
    """What a cascade does with each passage.

    Args:
        stands_for: shape (N,), the label that the cheap grader's ratings stand for; `UNKNOWN` where it gave none.
        sure: shape (N,), the chance that the expensive grader agrees; NaN where the cheap one gave nothing.
        priority: shape (N,), what is asked again first has most; -inf for what is not on the board.
        guarantee: the threshold, and how it was found.
        escalated: shape (N,), what the expensive grader is asked: above the threshold, or of the sample.
    """

    stands_for: Levels
    sure: Array
    priority: Array
    guarantee: Guarantee
    escalated: Flags

    def labels(self, expensive: Array) -> Levels:
        """The label of each passage, shape (N,): the expensive grader's where it was asked, else what the cheap
        grader's ratings stand for; `UNKNOWN` where there is neither.

        Args:
            expensive: shape (N,); NaN where there is no label.
        """
        taken = self.escalated & ~np.isnan(expensive)
        found: Levels = np.where(taken, np.nan_to_num(expensive).astype(np.int64), self.stands_for)
        return found


def decide(
    x: Array, expensive: Array, weight: Array, counts: Flags, learned: Levels, tested: Levels, terms: Terms
) -> Decision:
    """Learn, test, and say who is asked again.

    Nothing but the labels of the sample is read of `expensive`. Drawn passages without a label, because the expensive
    grader failed, teach nothing and count as disagreeing.

    Args:
        x: shape (N, p), features of the cheap grader; NaN where it gave nothing.
        expensive: shape (N,), labels; NaN where there is none.
        weight: shape (N,), of each passage on the board.
        counts: shape (N,), what is on the board: what some system has within the measure's cutoff.
        learned, tested: shape (N,), how often each was drawn to learn from, and to test with.
        terms: what is promised.

    Raises:
        InputError: no passage that was drawn to learn from has a label of both.
    """
    lessons = np.repeat(np.arange(len(weight)), learned)
    lessons = lessons[~np.isnan(expensive[lessons])]
    model = learn(x[lessons], expensive[lessons].astype(np.int64), terms.top)
    stands_for = model.labels(x)
    sure = confidence(model.chances(x), stands_for, terms.agreement, terms.min_rating)
    priority = np.where(counts, priorities(weight, sure), -np.inf)
    # Positions among those that count.
    place = np.cumsum(counts) - 1
    drawn = np.repeat(np.arange(len(weight)), tested)
    missing = np.isnan(expensive[drawn])
    given = np.where(missing, UNKNOWN, np.nan_to_num(expensive[drawn])).astype(np.int64)
    agrees: Flags = agreeing(stands_for[drawn], given, terms.agreement, terms.min_rating) & ~missing
    guarantee = promised(priority[counts], place[drawn], agrees, terms.alpha, terms.delta, terms.promise)
    escalated: Flags = (counts & (priority > guarantee.chosen.threshold)) | (learned + tested > 0)
    return Decision(stands_for, sure, priority, guarantee, escalated)
