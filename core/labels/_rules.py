"""Rules for labels from ratings and for weights that count, each in SQL and in memory for one query.

Tests compare the two forms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..text import one_line
from ..types import MAX_RATING, MAX_WEIGHT, Question

MISSING = -1
"""Value for a pair without a usable grade, and for a passage without a label."""

Ratings = NDArray[np.int8]

HALF = 0.5 + 1e-9
"""Added to a mean before it is rounded down, because sums of decimal weights can be slightly below an exact half."""


@dataclass(frozen=True)
class LabelRule:
    """The rule that turns the ratings of a passage into its label.

    Args:
        kind: `max`, `support` (the highest level that at least `support` questions reach) or `mean` (the weighted
            mean, rounded half up).
    """

    kind: Literal["max", "support", "mean"]
    support: int = 1


def parse_rule(name: str) -> LabelRule:
    """Return the label rule with a name: `max`, `support:M` or `mean`.

    Raises:
        InputError: unknown rule.
    """
    if name == "max":
        return LabelRule("max")
    if name == "mean":
        return LabelRule("mean")
    if found := re.fullmatch(r"support:([1-9]\d*)", name):
        return LabelRule("support", int(found[1]))
    raise InputError(
        "unknown-label-rule", f"Unknown label rule '{name}'.", "Use max, mean or support:M (such as support:2)."
    )


def parse_cuts(name: str) -> tuple[float, ...] | None:
    """Return the cut points of a rating rule: None for `written`, empty for `expected`, or those of `expected:C1,C2,…`.

    Raises:
        InputError: unknown rule, or the cut points are not ascending numbers.
    """
    if name == "written":
        return None
    rule, colon, stated = name.partition(":")
    try:
        cuts = tuple(float(cut) for cut in stated.split(",")) if colon else ()
    except ValueError:
        cuts = (math.nan,)
    if rule != "expected" or not all(map(math.isfinite, cuts)) or sorted(set(cuts)) != list(cuts):
        raise InputError(
            "unknown-rating-rule",
            f"Unknown rating rule '{one_line(name, 60)}'.",
            "Use written, expected, or expected:C1,C2,C3,C4,C5 with ascending cut points.",
        )
    return cuts


def weight_sql(weighted: bool) -> str:
    """Return the weight that counts, as SQL over a column `weight`.

    Weights beyond the bound count as the bound, so that sums stay finite. Such weights occur in projects that are older
    than the check at import.
    """
    return f"least(greatest(weight, {-MAX_WEIGHT}), {MAX_WEIGHT})" if weighted else "sign(weight)"


def weights_of(questions: Sequence[Question], weighted: bool) -> NDArray[np.float64]:
    """Return the weights of questions that count, with the bounds of `weight_sql`."""
    return weights_that_count(np.array([question.weight for question in questions], float), weighted)


def weights_that_count(given: NDArray[np.float64], weighted: bool) -> NDArray[np.float64]:
    """Return the weights that count for given weights of the bank."""
    weights: NDArray[np.float64] = np.clip(given, -MAX_WEIGHT, MAX_WEIGHT)
    return weights if weighted else np.sign(weights)


def label_sql(rule: LabelRule, weighted: bool = True) -> str:
    """Return the label of one passage as an SQL aggregate over the rows of its pairs.

    Only questions of positive weight count. So an "avoid" question never raises a label, and weight 0 excludes a
    question. A passage without a usable rating has no label (NULL).
    """
    usable = "rating IS NOT NULL AND weight > 0"
    if rule.kind == "max":
        return "max(rating) FILTER (weight > 0)"
    if rule.kind == "mean":
        weight = weight_sql(weighted)
        return f"floor(sum({weight} * rating) FILTER ({usable}) / sum({weight}) FILTER ({usable}) + {HALF})::TINYINT"
    levels = " ".join(
        f"WHEN count(*) FILTER (rating >= {level} AND weight > 0) >= {rule.support} THEN {level}"
        for level in range(MAX_RATING, 0, -1)
    )
    return f"(CASE WHEN count(*) FILTER ({usable}) = 0 THEN NULL {levels} ELSE 0 END)::TINYINT"


def labels_of(ratings: Ratings, weights: NDArray[np.float64], rule: LabelRule) -> Ratings:
    """Return the label of each passage, by the same rules as `label_sql`.

    Args:
        ratings: p x r.
        weights: r weights; only questions of positive weight count.

    Returns:
        p labels, MISSING if no question of positive weight has a usable grade.
    """
    ratings, weights = ratings[:, weights > 0], weights[weights > 0]
    usable = ratings != MISSING
    none = ~usable.any(axis=1)
    if rule.kind == "mean":
        given = np.where(usable, ratings, 0)
        total = (usable * weights).sum(axis=1)
        mean = (given * weights).sum(axis=1) / np.where(none, 1.0, total)
        found: Ratings = np.floor(mean + HALF).astype(np.int8)
    elif rule.kind == "max":
        found = ratings.max(axis=1, initial=MISSING)
    else:
        found = np.zeros(len(ratings), np.int8)
        for level in range(1, MAX_RATING + 1):
            found[(ratings >= level).sum(axis=1) >= rule.support] = level
    found[none] = MISSING
    return found


def coverage_of(ratings: Ratings, weights: NDArray[np.float64], top: Sequence[int], tau: int) -> float | None:
    """Return EXAM-Cover of one ranking, by the same definition as `labels.coverage`.

    Args:
        ratings: p x r.
        weights: r weights.
        top: rows of the passages down to the cutoff.
        tau: min rating.

    Returns:
        Between 0 and 1; None if all weights are 0 or less.
    """
    if not (weights > 0).any():
        return None
    answered = ratings[list(top)].max(axis=0, initial=MISSING) >= tau
    return float(covered_shares(answered[:, None], weights)[0])


def covered_shares(answered: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of the answered questions over the positive weight of all, never below 0.

    Sums run from the least weight to the greatest, so that the result is exactly equal for any order of the questions.

    Args:
        answered: r questions x n.
        weights: r weights, at least one above 0.

    Returns:
        n shares.
    """
    order = np.argsort(weights)
    weights = weights[order]
    # Cumulative sums add one after another. A sum along an axis would add in an order that depends on the shape.
    total = np.cumsum(weights[weights > 0])[-1]
    gained = np.cumsum(np.where(answered[order], weights[:, None], 0.0), axis=0)[-1]
    shares: NDArray[np.float64] = np.maximum(0.0, gained / total)
    return shares
