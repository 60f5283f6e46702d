"""An order for the leaderboard: machine scores, moved by residuals that are shrunk to their common shift."""

from __future__ import annotations

import numpy as np

from .weights import Array


def composite(machine: Array, audited: Array, error: Array) -> Array:
    """Return scores to order systems by, between the machine's and the audited order; they have no interval.

    score_r = machine_r + mean(d) + B (d_r - mean(d)), with d_r = audited_r - machine_r, B = s^2 / (s^2 + mean
    error^2) and s^2 = max(0, var(d) - mean error^2). This is empirical Bayes (Efron and Morris, Journal of the
    American Statistical Association 68, 1973). Few judgments keep the machine's order, many give the audited one.

    Args:
        machine: shape (S,), the machine's scores.
        audited: shape (S,), unbiased scores.
        error: shape (S,), their standard errors; NaN if unknown. An unknown error counts as the empty sum that it
            comes from: only then the mean of the estimated variances is right on average over samples.

    Returns:
        Shape (S,). The interval of the audited score does not apply to this score.
    """
    d = audited - machine
    noise = float((np.nan_to_num(error) ** 2).mean())
    spread = max(0.0, float(d.var(ddof=1)) - noise) if len(d) > 1 else 0.0
    kept = spread / (spread + noise) if spread + noise > 0 else 1.0
    found: Array = np.asarray(machine + d.mean() + kept * (d - d.mean()), dtype=np.float64)
    return found
