"""Statistics of a fit: its quality, the value of each item, and the uncertainty of abilities and
parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...choices import ITEM_DRAWS, ItemCriterion
from .._means_and_tests import CONFIDENCE, defined_quotients, drawn_counts, known_or_none
from ._response_fits import (
    ESTIMATORS,
    KINDS,
    Fit,
    Objective,
    fit_responses,
    in_unit,
    maximise_from,
    prior_curvature,
)
from ._response_models import (
    Array,
    Design,
    Items,
    answer_information,
    most_informative_ability,
    sigmoid,
)

HELD_OUT = 0.1
"""Share of the answers that are hidden from a fit to test its predictions."""


@dataclass(frozen=True)
class MeanAndSpread:
    """A mean over items or examinees with its standard deviation (over n, not n - 1), as in the
    paper.
    """

    mean: float
    sd: float

    @classmethod
    def from_values(cls, values: Array) -> MeanAndSpread:
        """Return the mean and the standard deviation of the values that are not NaN."""
        known = values[~np.isnan(values)]
        return cls(float(known.mean()), float(known.std()))


FIT_ROWS = {
    "accuracy": "accuracy",
    "rmse": "RMSE",
    "baseline": "RMSE of shares",
    "d": "discrimination d",
    "b": "difficulty b",
    "g": "guessing g",
    "theta": "ability θ",
}
"""The titles of the rows of the fit table (Guinet et al., table 5), by field of `FitStatistics`."""


@dataclass(frozen=True)
class FitStatistics:
    """Quality of a fit. Source: Guinet et al., ICML 2024, table 5 and appendix B.1.

    Args:
        accuracy: share of right answers, over examinees.
        rmse: root mean square over examinees of answer minus probability, over items.
        baseline: the same as `rmse`, with the examinee's share of right answers as the probability.
            The authors' code uses this share; their text uses the mean of the exam.
        d, b, g: parameters, over items.
        theta: ability, over examinees.
        held_out: root mean squared error on answers hidden from the fit; None if not requested.
        held_out_baseline: root mean squared error on the same answers, if the prediction is the
            examinee's share of right answers among the visible answers.
    """

    accuracy: MeanAndSpread
    rmse: MeanAndSpread
    baseline: MeanAndSpread
    d: MeanAndSpread
    b: MeanAndSpread
    g: MeanAndSpread
    theta: MeanAndSpread
    log_likelihood: float
    aic: float
    held_out: float | None
    held_out_baseline: float | None

    @property
    def table(self) -> list[tuple[str, float, float]]:
        """The fit table: (name, mean, standard deviation) of each of `FIT_ROWS`."""
        found: list[tuple[str, MeanAndSpread]] = [
            (name, getattr(self, field)) for field, name in FIT_ROWS.items()
        ]
        return [(name, value.mean, value.sd) for name, value in found]


def fit_statistics(
    responses: Array, fitted: Fit, held_out: bool = True, seed: int = 0
) -> FitStatistics:
    """Return the quality of a fit on the answers that it was fitted to, and on hidden answers.

    Args:
        responses: m x n, the answers that `fitted` describes.
        held_out: whether to hide a tenth of the answers and fit to the others, which takes about as
            long as the fit.
        seed: seed of the choice of hidden answers.
    """
    shares = mean_of(responses, 1)
    hidden, base = _hidden_error(responses, fitted, seed) if held_out else (None, None)
    return FitStatistics(
        MeanAndSpread.from_values(shares),
        MeanAndSpread.from_values(item_rmse(responses, fitted.chances)),
        MeanAndSpread.from_values(
            item_rmse(responses, np.broadcast_to(shares[:, None], responses.shape))
        ),
        MeanAndSpread.from_values(fitted.items.d),
        MeanAndSpread.from_values(fitted.items.b),
        MeanAndSpread.from_values(fitted.items.g),
        MeanAndSpread.from_values(fitted.theta),
        fitted.log_likelihood,
        fitted.aic,
        hidden,
        base,
    )


def item_rmse(responses: Array, chances: Array) -> Array:
    """Return, by item, the root mean square of answer minus probability over the examinees who
    answered; NaN without answers."""
    return np.sqrt(mean_of((responses - chances) ** 2, 0))


def mean_of(table: Array, axis: int) -> Array:
    """Return means along an axis without NaN; NaN if all values are NaN."""
    with warnings.catch_warnings():
        # A row without any answer has no mean, and numpy would warn.
        warnings.simplefilter("ignore", RuntimeWarning)
        found: Array = np.nanmean(table, axis=axis)
    return found


def _hidden_error(table: Array, fitted: Fit, seed: int) -> tuple[float | None, float | None]:
    rows, columns = np.nonzero(~np.isnan(table))
    chosen = np.random.default_rng(seed).permutation(len(rows))[: round(HELD_OUT * len(rows))]
    at = rows[chosen], columns[chosen]
    visible = table.copy()
    visible[at] = np.nan
    if not len(chosen) or np.isnan(visible).all():
        return None, None
    again = fit_responses(visible, fitted.design, fitted.model, fitted.estimator, begin=fitted)
    shares = mean_of(visible, 1)
    shares = np.where(np.isnan(shares), np.nanmean(visible), shares)
    errors = ((table[at] - told) ** 2 for told in (again.chances[at], shares[at[0]]))
    told, base = (float(np.sqrt(error.mean())) for error in errors)
    return told, base


WEAK = 0.1
"""An item with a lower item-rest correlation hardly depends on ability."""


@dataclass(frozen=True)
class ItemWorth:
    """The value of one item for an exam.

    Args:
        answered: number of examinees who answered it.
        accuracy: share of right answers; None without answers.
        d, b, g: parameters of the item.
        information: mean over all examinees of the item's information at their abilities.
        item_rest: Pearson correlation of the answer to the item with the examinee's share of right
            answers to the other items; None if either is constant.
        held: which of d, b, g are at a bound of the estimator.
        reason: the problem of the item, as a phrase; empty without a visible problem.
    """

    item: str
    answered: int
    accuracy: float | None
    d: float
    b: float
    g: float
    information: float
    item_rest: float | None
    held: tuple[str, ...]
    reason: str

    def sort_key(self, criterion: ItemCriterion) -> float:
        """Return the number by which items are ordered. Items without a correlation precede all
        other items.
        """
        return RANKED[criterion](self)


RANKED: dict[ItemCriterion, Callable[[ItemWorth], float]] = {
    "information": lambda one: one.information,
    "d": lambda one: one.d,
    "item-rest": lambda one: -2.0 if one.item_rest is None else one.item_rest,
}


def item_rest(responses: Array) -> Array:
    """Return the Pearson correlation of each item with the mean of the examinee's other answers: n
    values.

    Source: Lord and Novick, Statistical Theories of Mental Test Scores, 1968, section 15.5.
    Examinees who did not answer the item, or answered no other item, are left out.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.

    Returns:
        NaN if the answers, or the means of the other answers, are equal for all remaining
        examinees.
    """
    seen = ~np.isnan(responses)
    right = np.where(seen, responses, 0.0)
    others = seen.sum(axis=1)[:, None] - 1
    use = seen & (others > 0)
    rest = np.divide(
        right.sum(axis=1)[:, None] - right, others, out=np.zeros_like(right), where=use
    )
    n = np.maximum(use.sum(axis=0), 1)
    x, y = (np.where(use, values - (values * use).sum(axis=0) / n, 0.0) for values in (right, rest))
    spread = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    # Values that differ only by rounding have no spread.
    return defined_quotients((x * y).sum(axis=0), spread, spread > 1e-12 * n)


def item_worth(responses: Array, fitted: Fit, items: Sequence[str]) -> list[ItemWorth]:
    """Return the value of each item.

    Args:
        responses: m x n, the answers that `fitted` describes.
        items: n ids.

    Returns:
        One row per item, in their order.
    """
    informative = answer_information(fitted.theta, fitted.items).mean(axis=0)
    correlations = item_rest(responses)
    accuracies = mean_of(responses, 0)
    answered = (~np.isnan(responses)).sum(axis=0)
    peaks = most_informative_ability(fitted.items)
    rows = []
    for i, item in enumerate(items):
        accuracy = known_or_none(accuracies[i])
        correlation = known_or_none(correlations[i])
        d, b, g = (float(values[i]) for values in (fitted.items.d, fitted.items.b, fitted.items.g))
        held = tuple(kind for kind in "dbg" if fitted.at_bound[kind][i])
        reason = _why_dropped(
            accuracy, correlation, int(answered[i]), float(peaks[i]), fitted.theta
        )
        rows.append(
            ItemWorth(
                item,
                int(answered[i]),
                accuracy,
                d,
                b,
                g,
                float(informative[i]),
                correlation,
                held,
                reason,
            )
        )
    return rows


def _why_dropped(
    accuracy: float | None, correlation: float | None, answered: int, peak_at: float, theta: Array
) -> str:
    # Without any relation, a correlation is usually within twice 1 / sqrt(n) of 0.
    noise = max(WEAK, 2 / max(answered, 1) ** 0.5)
    hardly = "answers hardly depend on ability: ambiguous, guessed, or given away by the question"
    reasons = (
        (accuracy is None, "not answered yet"),
        (accuracy == 1, "every examinee is right: it does not separate them"),
        (accuracy == 0, "no examinee is right: too hard, or its key is wrong"),
        (
            correlation is not None and correlation < -noise,
            "stronger examinees fail it more often: check its key",
        ),
        (correlation is None or correlation < WEAK, hardly),
        (peak_at > theta.max(), "too hard for these examinees: it would separate stronger ones"),
        (peak_at < theta.min(), "too easy for these examinees: it would separate weaker ones"),
    )
    return next((reason for applies, reason in reasons if applies), "")


# A repeat starts at the fit, and its sampling error is far above this tolerance.
_PRECISION = 1e-8


@dataclass(frozen=True)
class Draws:
    """The results of repeated fits to items drawn with replacement.

    Args:
        parts: repeats x parts, each repeat in its own unit (see `Fit`), and unique up to constants
            that move between factors.
        design: design of the examinees.
    """

    parts: Array
    design: Design

    @property
    def theta(self) -> Array:
        """The abilities, repeats x m."""
        return self.parts @ self.design.matrix.T


def bootstrap_items(
    responses: Array, fitted: Fit, repeats: int = ITEM_DRAWS, seed: int = 0
) -> Draws:
    """Fit repeatedly to n of the n items, drawn with replacement, to estimate the effect of other
    items on abilities.

    An item that is drawn twice counts twice, including its prior. Its copies would get the same
    parameters, so they are fitted as one item. Source: Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 6.

    Args:
        responses: m x n, the answers that `fitted` describes.
        fitted: the start of every repeat.
        repeats: number of repeats, at least 2.
        seed: seed of the draws.
    """
    whole = Objective.from_responses(
        responses, fitted.design, fitted.model, ESTIMATORS[fitted.estimator]
    )
    parts = np.empty((repeats, len(fitted.parts)))
    for repeat, counts in enumerate(drawn_counts(len(fitted.items), repeats, seed)):
        drawn = np.flatnonzero(counts)
        part = replace(
            whole, signs=np.ascontiguousarray(whole.signs[:, drawn]), weights=counts[drawn]
        )
        vector, _, _ = maximise_from(
            part, part.join(fitted.parts, fitted.items.select(drawn)), _PRECISION
        )
        parts[repeat], _ = in_unit(part, vector)
    return Draws(parts, fitted.design)


def bias_corrected_interval(
    estimate: Array, draws: Array, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Return the bias-corrected percentile interval of an estimate.

    Its bounds are quantiles of the draws, shifted by the distance of the estimate from their
    median. Source: Efron, Better Bootstrap Confidence Intervals, Journal of the American
    Statistical Association 82, 1987, section 2.

    Args:
        estimate: values of any shape.
        draws: draws of these values; the first dimension is the repeats.

    Returns:
        (low, high), each in the shape of `estimate`.
    """
    from scipy.special import ndtr, ndtri

    below = ((draws < estimate).mean(axis=0) + (draws <= estimate).mean(axis=0)) / 2
    half = 0.5 / len(draws)
    shift = ndtri(np.clip(below, half, 1 - half))
    z = ndtri((1 + confidence) / 2)
    flat = draws.reshape(len(draws), -1)
    low, high = (
        np.array(
            [
                np.quantile(flat[:, i], level)
                for i, level in enumerate(np.ravel(ndtr(2 * shift + side * z)))
            ]
        )
        for side in (-1, 1)
    )
    return low.reshape(estimate.shape), high.reshape(estimate.shape)


def item_errors(responses: Array, fitted: Fit) -> Items:
    """Return standard errors of the items' parameters, as if abilities were known.

    They are the square roots of the diagonal of the inverse of an item's expected information. The
    information is the sum of J J' / (p (1 - p)) over the examinees who answered, with
    J = dp/d(d, b, g). If the estimator has priors, their curvature is added.
    Source: Baker and Kim, Item Response Theory, 2004, section 2.6.

    Args:
        responses: m x n, the answers that `fitted` describes.

    Returns:
        Standard errors; NaN for fixed parameters, and for parameters at a bound.
    """
    items = fitted.items
    away = fitted.theta[:, None] - items.b
    s = sigmoid(items.d * away)
    p = np.clip(items.g + (1 - items.g) * s, 1e-9, 1 - 1e-9)
    slope = (1 - items.g) * s * (1 - s)
    by = np.stack([slope * away, -slope * items.d, 1 - s])
    seen = ~np.isnan(responses)
    precision = np.einsum("amn,bmn,mn->nab", by, by, seen / (p * (1 - p)))
    if ESTIMATORS[fitted.estimator].priors:
        precision[:, range(3), range(3)] += np.stack(
            prior_curvature(items.d, items.b, items.g), axis=1
        )
    free = np.stack(
        [~fitted.at_bound[kind] & (kind in KINDS[fitted.model]) for kind in "dbg"], axis=1
    )
    # Rows and columns of held parameters become those of the identity, which removes them from the
    # inverse.
    precision = np.where(free[:, :, None] & free[:, None, :], precision, np.eye(3))
    variance = np.diagonal(np.linalg.pinv(precision, hermitian=True), axis1=1, axis2=2)
    errors = np.where(free & (variance > 0), np.sqrt(np.maximum(variance, 0)), np.nan)
    return Items(errors[:, 0], errors[:, 1], errors[:, 2])
