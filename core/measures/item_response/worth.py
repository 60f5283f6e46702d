"""The value of each item: discrimination, information, item-rest correlation and accuracy, with a reason in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .joint import Fit
from .model import Array, information, peak
from .statistics import mean_of

Criterion = Literal["information", "d", "item-rest"]
CRITERIA: tuple[Criterion, ...] = ("information", "d", "item-rest")

WEAK = 0.1
"""An item with a lower item-rest correlation hardly depends on ability."""


@dataclass(frozen=True)
class ItemWorth:
    """The value of one item for an exam.

    Args:
        answered: number of examinees who answered it.
        accuracy: their share of right answers; None without answers.
        d, b, g: its parameters.
        information: mean over the examinees of its information at their abilities.
        item_rest: Pearson correlation of right answers with the share right of the examinee's other answers; None if
            one of the two is constant.
        held: which of d, b, g lie at a bound of the estimator.
        reason: its problem, in words; empty if none is visible.
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

    def by(self, criterion: Criterion) -> float:
        """Return the number by which items are ordered; an item without a correlation precedes all that have one."""
        return RANKED[criterion](self)


RANKED: dict[Criterion, Callable[[ItemWorth], float]] = {
    "information": lambda one: one.information,
    "d": lambda one: one.d,
    "item-rest": lambda one: -2.0 if one.item_rest is None else one.item_rest,
}


def item_rest(responses: Array) -> Array:
    """Return the Pearson correlation of each item with the mean of the examinee's other answers: n values.

    Source: Lord and Novick, Statistical Theories of Mental Test Scores, 1968, section 15.5. Examinees who did not
    answer the item, or answered nothing else, are left out.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.

    Returns:
        NaN if answers or rests are the same for all remaining examinees.
    """
    seen = ~np.isnan(responses)
    right = np.where(seen, responses, 0.0)
    others = seen.sum(axis=1)[:, None] - 1
    use = seen & (others > 0)
    rest = np.divide(right.sum(axis=1)[:, None] - right, others, out=np.zeros_like(right), where=use)
    n = np.maximum(use.sum(axis=0), 1)
    x, y = (np.where(use, values - (values * use).sum(axis=0) / n, 0.0) for values in (right, rest))
    spread = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    found: Array = np.full(responses.shape[1], np.nan)
    # Values that differ only by rounding have no spread.
    np.divide((x * y).sum(axis=0), spread, out=found, where=spread > 1e-12 * n)
    return found


def worth(responses: Array, found: Fit, items: Sequence[str]) -> list[ItemWorth]:
    """Return the value of each item.

    Args:
        responses: m x n, those that `found` was fitted to.
        items: their n ids.

    Returns:
        One row per item, in their order.
    """
    table = np.asarray(responses, float)
    told = information(found.theta, found.items).mean(axis=0)
    correlations = item_rest(table)
    accuracies = mean_of(table, 0)
    answered = (~np.isnan(table)).sum(axis=0)
    peaks = peak(found.items)
    rows = []
    for i, item in enumerate(items):
        accuracy = None if np.isnan(accuracies[i]) else float(accuracies[i])
        correlation = None if np.isnan(correlations[i]) else float(correlations[i])
        d, b, g = (float(values[i]) for values in (found.items.d, found.items.b, found.items.g))
        held = tuple(kind for kind in "dbg" if found.at_bound[kind][i])
        reason = _reason(accuracy, correlation, int(answered[i]), float(peaks[i]), found.theta)
        rows.append(ItemWorth(item, int(answered[i]), accuracy, d, b, g, float(told[i]), correlation, held, reason))
    return rows


def _reason(accuracy: float | None, correlation: float | None, answered: int, peak_at: float, theta: Array) -> str:
    if accuracy is None:
        return "not answered yet"
    if accuracy == 1:
        return "every examinee is right: it does not separate them"
    if accuracy == 0:
        return "no examinee is right: too hard, or its key is wrong"
    # Without any relation, a correlation is usually within twice 1 / sqrt(n) of 0.
    if correlation is not None and correlation < -max(WEAK, 2 / answered**0.5):
        return "stronger examinees fail it more often: check its key"
    if correlation is None or correlation < WEAK:
        return "answers hardly depend on ability: ambiguous, guessed, or given away by the question"
    if peak_at > theta.max():
        return "too hard for these examinees: it would separate stronger ones"
    if peak_at < theta.min():
        return "too easy for these examinees: it would separate weaker ones"
    return ""
