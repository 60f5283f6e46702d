"""Quality of a fit: error by item compared with that of the examinees' shares, and on hidden answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from .joint import Fit, fit
from .model import Array

HELD_OUT = 0.1
"""The share of the answers that is hidden from a fit to test its predictions."""


@dataclass(frozen=True)
class MeanAndSpread:
    """A mean over items or examinees with its standard deviation (over n, not n - 1), as in the paper."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Array) -> MeanAndSpread:
        """Return mean and spread of the values that are not NaN."""
        known = values[~np.isnan(values)]
        return cls(float(known.mean()), float(known.std()))


FIT_ROWS = {
    "accuracy": "accuracy", "rmse": "RMSE", "baseline": "RMSE of shares", "d": "discrimination d",
    "b": "difficulty b", "g": "guessing g", "theta": "ability θ",
}  # fmt: skip
"""The rows of the fit table (Guinet et al., table 5) by field of `FitStatistics`."""


@dataclass(frozen=True)
class FitStatistics:
    """Quality of a fit. Source: Guinet et al., ICML 2024, table 5 and appendix B.1.

    Args:
        accuracy: over examinees, the share of right answers.
        rmse: over items, the root of the mean over examinees of (answer - chance)^2.
        baseline: the same with the examinee's share of right answers as the chance (as in the authors' code; their
            text says the mean of the exam).
        d, b, g: over items.
        theta: over examinees.
        held_out: root mean squared error on answers hidden from the fit; None if not requested.
        held_out_baseline: the same for the examinees' shares among the visible answers.
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
        found: list[tuple[str, MeanAndSpread]] = [(name, getattr(self, field)) for field, name in FIT_ROWS.items()]
        return [(name, value.mean, value.sd) for name, value in found]


def fit_statistics(responses: Array, found: Fit, held_out: bool = True, seed: int = 0) -> FitStatistics:
    """Return the quality of a fit on the answers that it was fitted to, and on hidden answers.

    Args:
        responses: m x n, those that `found` was fitted to.
        held_out: whether to hide a tenth of the answers and fit to the others, which takes about as long as the fit.
        seed: of the hidden answers.
    """
    table = np.asarray(responses, float)
    shares = mean_of(table, 1)
    hidden, base = _hidden_error(table, found, seed) if held_out else (None, None)
    return FitStatistics(
        MeanAndSpread.of(shares),
        MeanAndSpread.of(item_rmse(table, found.chances)),
        MeanAndSpread.of(item_rmse(table, np.broadcast_to(shares[:, None], table.shape))),
        MeanAndSpread.of(found.items.d),
        MeanAndSpread.of(found.items.b),
        MeanAndSpread.of(found.items.g),
        MeanAndSpread.of(found.theta),
        found.log_likelihood,
        found.aic,
        hidden,
        base,
    )


def item_rmse(responses: Array, chances: Array) -> Array:
    """Return by item the root of the mean of (answer - chance)^2 over the examinees who answered; NaN without
    answers."""
    return np.sqrt(mean_of((responses - chances) ** 2, 0))


def mean_of(table: Array, axis: int) -> Array:
    """Return means along an axis without NaN; NaN if all values are NaN."""
    with warnings.catch_warnings():
        # A row without any answer has no mean, and numpy would warn.
        warnings.simplefilter("ignore", RuntimeWarning)
        found: Array = np.nanmean(table, axis=axis)
    return found


def _hidden_error(table: Array, found: Fit, seed: int) -> tuple[float | None, float | None]:
    rows, columns = np.nonzero(~np.isnan(table))
    chosen = np.random.default_rng(seed).permutation(len(rows))[: round(HELD_OUT * len(rows))]
    at = rows[chosen], columns[chosen]
    shown = table.copy()
    shown[at] = np.nan
    if not len(chosen) or np.isnan(shown).all():
        return None, None
    again = fit(shown, found.design, found.model, found.estimator, begin=found)
    shares = mean_of(shown, 1)
    shares = np.where(np.isnan(shares), np.nanmean(shown), shares)
    errors = ((table[at] - told) ** 2 for told in (again.chances[at], shares[at[0]]))
    told, base = (float(np.sqrt(error.mean())) for error in errors)
    return told, base
