"""A threshold that holds: how few passages may be asked again so that labels agree, told by a sample, with a promise.

After Jung, Brahman and Choi, Trust or Escalate (ICLR 2025, arXiv 2407.18370): thresholds are tested from the strictest
one down, each by the exact binomial bound at the level delta, and testing stops at the first that does not hold. Since
every test is made only where all before it held, the chance that the chosen threshold breaks the promise is at most
delta, without a correction for the number of tests (fixed-sequence testing). Confidence and thresholds must not depend
on the labels of the sample that tests them: what they learn from is another one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.errors import InputError
from core.measures.cascade.labelling import Array, Flags, Levels

Promise = Literal["all", "kept"]
PROMISES: tuple[Promise, ...] = ("all", "kept")
"""What the agreement is a share of: the weight of all passages, those asked again among them, which agree for certain;
or the weight of those alone that keep the cheap grader's label, as in the paper."""

FEWEST = 30
"""Draws that a threshold is tested with at least, where they are only those that it keeps; the paper's number."""
STEPS = 100
"""Thresholds that are tested at most: at each hundredth of the passages."""


@dataclass(frozen=True)
class Step:
    """One threshold, tested.

    Args:
        threshold: passages up to this priority keep the cheap grader's label.
        kept: how many do.
        draws: how many draws of the sample speak of it.
        disagreed: how many of those kept a label that the expensive grader does not agree with.
        bound: the share of weight that disagrees is at most this, but for a chance of delta.
        holds: whether the bound is at most alpha.
    """

    threshold: float
    kept: int
    draws: int
    disagreed: int
    bound: float
    holds: bool


@dataclass(frozen=True)
class Guarantee:
    """The threshold that was chosen, and what was tested on the way.

    Args:
        passages: how many there are in all.
        steps: in the order in which they were tested; the last one may be the one that did not hold.
    """

    passages: int
    steps: tuple[Step, ...]

    @property
    def chosen(self) -> Step:
        """The last threshold that holds; where none does, the one that keeps nothing, which needs no test."""
        return next((step for step in reversed(self.steps) if step.holds), NOTHING_KEPT)

    @property
    def escalated(self) -> int:
        """How many passages are asked again."""
        return self.passages - self.chosen.kept


NOTHING_KEPT = Step(-np.inf, 0, 0, 0, 0.0, True)


def upper_bound(disagreed: int, draws: int, delta: float) -> float:
    """The largest share under which so few disagreements have at least the chance delta: sup{r : P(Bin(n, r) <= k) >=
    delta} (Clopper and Pearson, Biometrika 26, 1934); 1 without draws."""
    from scipy.special import betaincinv

    if disagreed >= draws:
        return 1.0
    return float(betaincinv(disagreed + 1, draws - disagreed, 1 - delta))


def draws(weight: Array, number: int, seed: int) -> Levels:
    """Draw passages with chances proportional to their weights, with replacement, so that every draw is alike.

    The share of draws that disagree then has the share of *weight* that disagrees as its expectation, and their number
    is binomial. Draw j is decided by the first 53 bits of the BLAKE2b hash of seed and j: the same on any machine.

    Args:
        weight: shape (N,), at least 0, not all of them 0.
        number: of draws.
        seed: whole.

    Returns:
        Shape (number,), positions in `weight`.

    Raises:
        InputError: nothing has a weight.
    """
    sums = np.cumsum(weight)
    if not len(sums) or not sums[-1] > 0:
        raise InputError(
            "no-weights", "No passage weighs anything on the board.", "Import runs, and grade what they rank high."
        )
    hashed = (hashlib.blake2b(f"cascade\x1f{seed}\x1f{j}".encode(), digest_size=8).digest() for j in range(number))
    at = np.array([(int.from_bytes(one, "big") >> 11) * 2.0**-53 for one in hashed])
    found: Levels = np.searchsorted(sums, at * sums[-1], side="right").astype(np.int64)
    return found


def promised(
    priority: Array, drawn: Levels, agrees: Flags, alpha: float, delta: float, promise: Promise = "all"
) -> Guarantee:
    """Choose how few passages are asked again so that labels agree on a share 1 - alpha of the weight.

    With the chance 1 - delta over samples, the share of weight on passages that keep the cheap grader's label and have
    another one from the expensive grader is at most alpha: of the weight of all (`all`), or of the kept (`kept`).

    Args:
        priority: shape (N,), from what is known without the sample; what has least is kept first, infinity never is.
        drawn: shape (n,), positions that were drawn by weight.
        agrees: shape (n,), whether the two graders' labels agree there.
        alpha, delta: between 0 and 1.
        promise: see `PROMISES`.
    """
    ordered = np.sort(priority[np.isfinite(priority)])
    counts = np.unique(np.linspace(0, len(ordered), STEPS + 1).astype(int))[1:]
    steps: list[Step] = []
    for threshold in dict.fromkeys(ordered[counts - 1].tolist()):
        kept = priority[drawn] <= threshold
        tried = len(drawn) if promise == "all" else int(kept.sum())
        if promise == "kept" and tried < FEWEST:
            # Too few to say anything: which thresholds are passed over is told by features alone, not by labels.
            continue
        disagreed = int((kept & ~agrees).sum())
        bound = upper_bound(disagreed, tried, delta)
        holds = bound <= alpha
        steps.append(Step(threshold, int((priority <= threshold).sum()), tried, disagreed, bound, holds))
        if not holds:
            break
    return Guarantee(len(priority), tuple(steps))
