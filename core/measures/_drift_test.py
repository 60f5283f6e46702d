"""Detection of a changed model behind a grader: an anytime-valid test on pairs that are asked again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NOISE_CONFIDENCE = 0.995
"""Confidence of the upper bound of the noise. It errs in .5 % of cases, so that the test may err in another .5 %."""
DRIFT_ALARM = float(np.log(200))
"""Evidence of an alarm, as the logarithm of an e-value. Without a change, its probability is 1 / 200 at most, however
often the evidence is computed (Ville's inequality)."""
ALTERNATIVES = 20
"""Number of change rates, spread evenly between the noise and 1, that the test mixes with equal weights."""


def noise_bound(changed: int, asked: int) -> float:
    """Return the upper bound of the share of ratings that differ when an unchanged model is asked again.

    The bound is by Clopper and Pearson (Biometrika 26, 1934), one-sided with `NOISE_CONFIDENCE`.

    Args:
        changed, asked: the pairs that were asked a second time, and those of them whose rating differed.
    """
    from scipy.special import betaincinv

    return float(betaincinv(changed + 1, asked - changed, NOISE_CONFIDENCE)) if changed < asked else 1.0


def drift_evidence(checks: Sequence[tuple[int, int]], bound: float) -> NDArray[np.float64]:
    """Return the logarithm of the e-value after each check: the evidence that more ratings change than by noise.

    A check asks random pairs again, each once. For a rate p above the bound b, the likelihood ratio of x changes among
    n pairs is (p / b)^x ((1 - p) / (1 - b))^(n - x). If the true rate is at most b, its expectation is at most 1; by
    Hoeffding (Journal of the American Statistical Association 58, 1963, theorem 4) also for pairs drawn without
    replacement. The e-value is the mean over `ALTERNATIVES` rates of the products over checks, a nonnegative
    supermartingale (Ramdas et al., Statistical Science 38, 2023).

    Args:
        checks: for each check, the numbers of pairs asked and of changed ratings.
        bound: the noise, from `noise_bound`. With 1, nothing is evidence.
    """
    if bound >= 1:
        return np.zeros(len(checks))
    rates = bound + (1 - bound) * (np.arange(ALTERNATIVES) + 0.5) / ALTERNATIVES
    asked, changed = np.array(checks, float).reshape(-1, 2).T
    logs = np.outer(changed, np.log(rates / bound)) + np.outer(asked - changed, np.log((1 - rates) / (1 - bound)))
    return np.asarray(np.logaddexp.reduce(np.cumsum(logs, axis=0), axis=1) - np.log(ALTERNATIVES))
