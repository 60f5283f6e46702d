"""The sampling design: chances from rank weights and expected residuals, Poisson sampling by seed, shares of
batches.

One batch. Passage i is drawn with chance pi_i, independently of all others (Poisson sampling; Särndal, Swensson and
Wretman, Model Assisted Survey Sampling, 1992, section 3.5). The variance of the score sum_i w_i y_i, estimated with
predictions f, is sum_i w_i^2 (y_i - f_i)^2 (1 / pi_i - 1). For a given expected number of draws it is least if pi_i
is proportional to w_i times the spread of y_i - f_i. For many systems w_i^2 is their mean.

Several batches. Batch t is drawn after batches 1 .. t-1 are known; its chances pi_t,i may use all of their results.
Judged passages leave its population. For one passage, with y known exactly once it is judged,

    z_t,i = y_i                                   if judged before batch t,
            f_t,i + d_t,i (y_i - f_t,i) / pi_t,i  else, d_t,i being 1 if it is drawn in batch t,

has the expectation y_i given any past. Shares a_1,i + ... + a_T,i = 1 that are fixed before the first draw make
sum_t a_t,i z_t,i unbiased too. Each z_t,i - y_i has expectation 0 given the past, so errors of different batches are
uncorrelated (a martingale), and variances add up. Shares that depend on the draw would break this: the share of
batch 1 must not depend on batch 1.

Shares may differ by passage, and should. With planned chances p_1, p_2, ... and r = y - f, the error of z_t has the
variance r^2 prod_{s<t} (1 - p_s) (1 - p_t) / p_t: that of one draw, times the chance that the passage is still open.
Shares proportional to the inverse, o_t = p_t / prod_{s<=t} (1 - p_s), give r^2 / sum o_t = r^2 (1 - P) / P in total,
with P = 1 - prod (1 - p_t). That is the variance of one batch with the chance P. So batches cost nothing if they are
drawn as planned, and little if new knowledge changed the chances. One share for all passages would lose much: a
passage that the second batch certainly judges would still carry the error of the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError
from .weights import Array, Flags, Item

Aim: TypeAlias = Literal["scores", "differences"]
"""Quantities whose intervals should be narrow: the scores of systems, or the differences between them."""

FLOOR = 0.1
"""The least chance of a passage with weight, as a share of the chance under equal chances for all."""
# Most bisection steps.
_STEPS = 200


def importance(w: Array, aim: Aim = "scores") -> Array:
    """Return how much a unit of error in a passage's gain matters to all systems together.

    Args:
        w: shape (S, N), the weights of the systems; for "is A better than B" give the weights of A and B alone.
        aim: `scores` uses sqrt(mean_s w_s^2). `differences` uses sqrt(mean over pairs of (w_s - w_s')^2), which is
            sqrt(2 S / (S - 1)) times the standard deviation over systems: a passage that all systems rank alike says
            nothing about which is better.

    Returns:
        Shape (N,), at least 0.
    """
    if aim == "differences" and len(w) > 1:
        return np.asarray(np.sqrt(2 * len(w) / (len(w) - 1)) * w.std(axis=0))
    return np.asarray(np.sqrt((w**2).mean(axis=0)))


def chances(size: Array, budget: float, floor: float = FLOOR, eligible: Flags | None = None) -> Array:
    """Return chances proportional to a size, capped at 1, with a floor, that add up to the budget.

    pi_i = min(1, max(floor budget / n, c size_i)) over the n eligible passages, with c such that the chances add up
    to the budget. The sum rises with c, so c is found by bisection. If the budget covers all, each chance is 1.

    Args:
        size: shape (N,), at least 0 and finite, in any unit: importance times expected spread.
        budget: expected number of draws, above 0.
        floor: least share of the uniform chance for every eligible passage, above 0 and at most 1; 1 is the uniform
            design.
        eligible: passages that can be drawn; None means all. It must hold every passage with weight that is not yet
            known.

    Returns:
        Shape (N,); 0 if not eligible.

    Raises:
        InputError: a budget or floor is out of range, or a size is negative or not finite.
    """
    if not np.isfinite(budget) or budget <= 0:
        raise InputError("budget-out-of-range", f"Budget {budget:g} is out of range.", "Use at least 1 judgment.")
    if not 0 < floor <= 1:
        raise InputError("share-out-of-range", f"Floor {floor:g} is out of range.", "Use a share above 0 and up to 1.")
    if not np.all(np.isfinite(size)) or np.any(size < 0):
        raise InputError(
            "invalid-size",
            "The size of a passage is negative or not finite.",
            "Check the weights and expected spreads.",
        )
    still = np.ones(len(size)) if eligible is None else np.asarray(eligible, float)
    return _solve(np.asarray(size, float), budget, floor, still)


def _solve(size: Array, budget: float, floor: float, still: Array) -> Array:
    """Return chances whose sum is the budget, each passage counted with the chance `still` that it is open."""
    found = np.zeros(len(size))
    open_ = still > 0
    sizes, count = size[open_], still[open_]
    n = count.sum()
    if budget >= n:
        found[open_] = 1.0
        return found
    least = floor * budget / n
    if not sizes.max() > 0:
        found[open_] = budget / n
        return found
    # At the upper end every passage with a size is certain.
    low, high = 0.0, 1 / sizes[sizes > 0].min()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (count * np.clip(middle * sizes, least, 1.0)).sum() < budget:
            low = middle
        else:
            high = middle
    taken = np.clip(high * sizes, least, 1.0)
    short = budget - (count * taken).sum()
    if short > 0 and np.any(sizes == 0):
        # All passages with a size are certain; the rest of the budget is spread evenly over the others.
        taken[sizes == 0] += short / count[sizes == 0].sum()
    found[open_] = taken
    return found


def uniforms(seed: str | int, batch: int, items: Sequence[Item]) -> Array:
    """Return a number in [0, 1) for each passage that depends only on seed, batch and the passage's ids.

    It is the first 53 bits of the BLAKE2b hash (RFC 7693) of the four. So a sample is the same on any machine and
    for any order of rows.

    Args:
        seed: as stored with the design.
        batch: number of the batch, from 1.
        items: N passages.

    Returns:
        Shape (N,).
    """
    start = hashlib.blake2b(f"{seed}\x1f{batch}\x1f".encode(), digest_size=8)
    found = np.empty(len(items))
    for i, (query, passage) in enumerate(items):
        one = start.copy()
        one.update(f"{query}\x1f{passage}".encode())
        found[i] = (int.from_bytes(one.digest(), "big") >> 11) * 2.0**-53
    return found


def draw(chance: Array, seed: str | int, batch: int, items: Sequence[Item]) -> Flags:
    """Return which passages are drawn: those whose number is below their chance (Poisson sampling).

    Args:
        chance: shape (N,), from `chances`; 1 is always drawn, 0 never.
        seed, batch, items: see `uniforms`.

    Returns:
        Shape (N,).
    """
    return uniforms(seed, batch, items) < chance


def planned_chances(size: Array, budgets: Sequence[float], floor: float = FLOOR, known: Flags | None = None) -> Array:
    """Return the chances that batches of given budgets would have if nothing were learnt between them.

    Batch t has `chances` of the same size over the passages that are not judged yet. Judgments of earlier batches
    are taken at their expectation, so a passage counts with the chance that it is still open.

    Args:
        size, floor: see `chances`.
        budgets: expected draws of each of T batches.
        known: passages that are known before the first batch.

    Returns:
        Shape (T, N): the chance in batch t of a passage that is still open then; 1 for known passages.
    """
    done = np.zeros(len(size), bool) if known is None else np.asarray(known, bool)
    still = np.where(done, 0.0, 1.0)
    rows = []
    for budget in budgets:
        row = np.where(done, 1.0, _solve(size, budget, floor, still))
        rows.append(row)
        still = still * (1 - row)
    return np.array(rows)


def shares(planned: Array) -> Array:
    """Return the share of each batch in the combined estimate of each passage, from the planned chances.

    A share is proportional to p_t / prod_{s <= t} (1 - p_s), see the top of this module. If a planned chance is 1,
    the first such batch has the whole share. Fix the shares before the first draw: computed from the design of batch
    1 for T = 1, 2, ..., they do not depend on later results.

    Args:
        planned: shape (T, N), from `planned_chances`, for the T batches to combine.

    Returns:
        Shape (T, N); each column adds up to 1.
    """
    # Multiplied by prod over all batches of (1 - p), the odds are finite even if a chance is 1.
    after = np.ones_like(planned)
    for t in range(len(planned) - 2, -1, -1):
        after[t] = after[t + 1] * (1 - planned[t + 1])
    odds = planned * after
    total = odds.sum(axis=0)
    # After a certain batch there is nothing left to learn, and earlier batches are not needed.
    for i in np.flatnonzero((planned >= 1).any(axis=0)):
        first = int(np.argmax(planned[:, i] >= 1))
        odds[:, i] = 0.0
        odds[first, i] = total[i] = 1.0
    return np.asarray(np.divide(odds, total, out=np.full_like(odds, 1 / len(planned)), where=total > 0))
