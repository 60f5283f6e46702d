"""What the batches of an audit say of each passage's gain: predictions, corrected where people judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .design import shares
from .prediction import Pool, predictions
from .weights import Array, Flags


@dataclass(frozen=True)
class Batch:
    """One drawn batch.

    Args:
        chances: shape (N,), the chance of each passage in this batch; read only where not `known`.
        drawn: shape (N,), who was drawn.
        judged: shape (N,), who of these was judged; drawn and not judged is "cannot say" or skipped.
        known: shape (N,), what was known before this batch was drawn: judged in earlier batches, or elsewhere for
            whatever reason. It counts exactly, and is not in the batch's population.
    """

    chances: Array
    drawn: Flags
    judged: Flags
    known: Flags


@dataclass(frozen=True)
class Corrected:
    """The gain of every passage as the audit estimates it: any weighted sum of gains follows from it.

    Args:
        gains: shape (N,), sum over batches of share times (prediction, corrected where judged); the expectation is the
            gain itself, so single values can lie far outside the scale.
        variances: shape (N,), what each passage adds to the estimated variance of a sum with weight 1.
        judged: how many passages were judged in the batches.
        missed: how many were drawn and not judged.
        unsure: shape (N,), whose gain is not exact: not known, and not judged with certainty. None for nobody's.
        tested: shape (N,), which of them were judged: they alone say how far a sum may be off. None likewise.
    """

    gains: Array
    variances: Array
    judged: int
    missed: int
    unsure: Flags | None = None
    tested: Flags | None = None


def combined_weights(batches: Sequence[Batch], share: Array) -> tuple[Array, Array]:
    """The weight of each passage in sums over the pool, and what it adds to their variance.

    The estimate of sum_i c_i over the pool is sum_i weight_i c_i, which reads c where a passage is judged or known
    alone (Horvitz and Thompson, Journal of the American Statistical Association 47, 1952), with the estimated variance
    sum_i spread_i c_i^2.

    Args:
        batches: T batches in order.
        share: shape (T, N), from `shares`.

    Returns:
        weight = sum_t share_t (known_t + judged_t / pi_t) and spread = sum_t share_t^2 judged_t (1 - pi_t) / pi_t^2,
        each of shape (N,); pi is the chance of being drawn and judged, see `response`.
    """
    weight = np.zeros(share.shape[1])
    spread = np.zeros(share.shape[1])
    for batch, own in zip(batches, share, strict=True):
        weight += own * batch.known
        at = np.flatnonzero(batch.judged & ~batch.known)
        pi = _chance_of_answer(batch)[at]
        weight[at] += own[at] / pi
        spread[at] += own[at] ** 2 * (1 - pi) / pi**2
    return weight, spread


def response(batch: Batch) -> float:
    """The share of the drawn passages of a batch that were judged; 1 where none was drawn.

    What was skipped, or where people could not say, is taken as missing at random among the drawn: the chance of a
    passage to be drawn and judged is pi times this share (the response homogeneity model, Särndal, Swensson and
    Wretman, 1992, section 15.6). Predictions carry what machines know of the difference between those who were judged
    and those who were not. The interval widens as if the sample had been smaller. `missing_bounds` says what the worst
    would do.
    """
    asked = int((batch.drawn & ~batch.known).sum())
    return int((batch.judged & ~batch.known).sum()) / asked if asked else 1.0


def _chance_of_answer(batch: Batch) -> Array:
    found: Array = batch.chances * response(batch)
    return found


def predict_batches(pool: Pool, batches: Sequence[Batch], planned: Array, gains: Array) -> Array:
    """The prediction that each batch is corrected from: learnt from what was judged up to and with that batch.

    What later batches bring must not change the prediction of an earlier one, or that batch would not be unbiased given
    its past.

    Args:
        pool: features, folds and queries of the N passages.
        batches: T batches in order.
        planned: shape (T or more, N), the planned chances that the shares come from.
        gains: shape (N,); NaN where nobody judged.

    Returns:
        Shape (T, N).
    """
    rows = []
    learnt = np.zeros(len(gains), bool)
    for t, batch in enumerate(batches):
        before = learnt.copy()
        learnt |= batch.judged
        weight, _ = combined_weights(batches[: t + 1], shares(planned[: t + 1]))
        rows.append(predictions(pool, gains, learnt, weight, before))
    return np.array(rows)


def correct(batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array) -> Corrected:
    """The estimated gain of every passage from all batches together.

    In batch t a passage has z_t = y where it was known before, else f_t + judged (y - f_t) / pi_t (the difference
    estimator, Särndal, Swensson and Wretman, 1992, section 6.3; with cross-fitted f it is prediction-powered inference,
    Angelopoulos et al., Science 382, 2023, and Zrnic and Candès, PNAS 121, 2024, with chances that differ, Zrnic and
    Candès, ICML 2024). The estimate is sum_t share_t z_t, with shares that were fixed beforehand, so that it is
    unbiased and the variances of the batches add up; see `measures.audit.design`.

    Args:
        batches: T batches in order, at least one.
        planned: shape (T, N), the planned chances as they were fixed with the first batch.
        gains: shape (N,); NaN where unknown.
        predicted: shape (T, N), from `predict_batches`; zeros give the design without a machine.

    Raises:
        InputError: where something judged has no gain, or was drawn without a chance.
    """
    _check(batches, planned, gains)
    share = shares(planned[: len(batches)])
    value = np.zeros(len(gains))
    variance = np.zeros(len(gains))
    unsure, tested = np.zeros(len(gains), bool), np.zeros(len(gains), bool)
    seen = np.nan_to_num(gains)
    for batch, own, f in zip(batches, share, predicted, strict=True):
        at = np.flatnonzero(batch.judged & ~batch.known)
        pi = _chance_of_answer(batch)[at]
        residual = seen[at] - f[at]
        z = np.where(batch.known, seen, f)
        z[at] += residual / pi
        value += own * z
        variance[at] += own[at] ** 2 * (1 - pi) / pi**2 * residual**2
        exact = batch.known | (own == 0)
        exact[at[pi >= 1]] = True
        unsure |= ~exact
        tested[at] |= ~exact[at]
    judged = np.any([batch.judged for batch in batches], axis=0)
    drawn = np.any([batch.drawn for batch in batches], axis=0)
    return Corrected(value, variance, int(judged.sum()), int((drawn & np.isnan(gains)).sum()), unsure, tested)


def _check(batches: Sequence[Batch], planned: Array, gains: Array) -> None:
    if not batches:
        raise InputError("no-batch", "No batch of the audit has been drawn.", "Draw a batch first.")
    if len(planned) < len(batches):
        raise InputError(
            "batch-does-not-match",
            f"The plan covers {len(planned)} of {len(batches)} batches of the audit.",
            "Plan chances for every batch.",
        )
    for number, batch in enumerate(batches, 1):
        if np.isnan(gains[batch.judged | batch.known]).any():
            raise InputError(
                "batch-does-not-match",
                f"Batch {number} has a judged passage without a gain.",
                "Give a gain for every judgment.",
            )
        if np.any(batch.judged & ~batch.drawn):
            raise InputError(
                "batch-does-not-match",
                f"Batch {number} has a judged passage that was not drawn.",
                "Pass other judgments as known, not as a sample.",
            )
        if np.any(batch.drawn & ~batch.known & ~(batch.chances > 0)):
            raise InputError(
                "batch-does-not-match",
                f"Batch {number} has a drawn passage without a chance.",
                "Use the chances with which the batch was drawn.",
            )


def missing_bounds(
    batches: Sequence[Batch], planned: Array, gains: Array, predicted: Array, lowest: float, highest: float
) -> tuple[Corrected, Corrected]:
    """The estimate if all that was drawn and not judged had the lowest, and if it had the highest gain.

    Args:
        lowest, highest: the ends of the scale of gains.

    Returns:
        Both, with their variances; the interval from the low end of the first to the high end of the second holds
        whatever the reason was for which passages were not judged.
    """
    both = []
    for value in (lowest, highest):
        filled = gains.copy()
        missed = np.any([batch.drawn for batch in batches], axis=0) & np.isnan(gains)
        filled[missed] = value
        whole = [Batch(one.chances, one.drawn, one.drawn & ~one.known, one.known) for one in batches]
        both.append(correct(whole, planned, filled, predicted))
    return both[0], both[1]
