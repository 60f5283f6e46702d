"""The models of item response: chances and information of items at each ability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]

Model = Literal["3pl", "2pl", "1pl"]
MODELS: tuple[Model, ...] = ("3pl", "2pl", "1pl")
"""3pl: discrimination, difficulty and guessing; 2pl: without guessing; 1pl: difficulty alone (discrimination 1)."""

GRID: Array = np.linspace(-3.0, 3.0, 61)
"""The abilities at which curves are drawn."""

LEAST = 1e-9
"""Chances are kept this far from 0 and 1, so that their logarithms are finite."""


@dataclass(frozen=True)
class Items:
    """The parameters of n items, each an array of n.

    Args:
        d: discrimination, per unit of ability.
        b: difficulty, on the scale of ability.
        g: guessing, the chance of a right answer without any ability, 0 to 1.
    """

    d: Array
    b: Array
    g: Array

    def __len__(self) -> int:
        return len(self.d)

    def some(self, of: Sequence[int] | Indices | Flags) -> Items:
        """Return only these items, by index or by flag."""
        at = np.asarray(of)
        return Items(self.d[at], self.b[at], self.g[at])


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)) for any z."""
    from scipy.special import expit

    return np.asarray(expit(z))


def probability(theta: Array, items: Items) -> Array:
    """Return the chance of a right answer, p = g + (1 - g) / (1 + exp(-d (theta - b))).

    Source: Guinet et al., ICML 2024, equation 1 (Birnbaum's three-parameter logistic model, 1968).

    Args:
        theta: m abilities.

    Returns:
        m x n chances.
    """
    s = sigmoid(items.d * (np.asarray(theta, float)[:, None] - items.b))
    return items.g + (1 - items.g) * s


def information(theta: Array, items: Items) -> Array:
    """Return Fisher's information of an answer about ability, d^2 ((p - g) / (1 - g))^2 (1 - p) / p.

    Source: Guinet et al., ICML 2024, section 6.1. It is computed as d^2 (1 - g) s^2 (1 - s) / p with s the logistic
    part. This is equal and stays precise if p is nearly 1.

    Args:
        theta: m abilities.

    Returns:
        m x n values, in units of 1 / ability^2.
    """
    z = items.d * (np.asarray(theta, float)[:, None] - items.b)
    s, fails = sigmoid(z), sigmoid(-z)
    p = items.g + (1 - items.g) * s
    # Far below an item's difficulty, without guessing, p and s vanish together; the ratio s / p is then 1.
    share = np.divide(s, p, out=np.ones_like(s), where=p > 0)
    return items.d**2 * (1 - items.g) * s * fails * share


def peak(items: Items) -> Array:
    """Return the ability at which an item is most informative: b + ln((1 + sqrt(1 + 8 g)) / 2) / d.

    Source: Lord, Applications of Item Response Theory, 1980, equation 10-4. (The paper's text says b, which is right
    only without guessing.)

    Returns:
        n abilities.
    """
    return items.b + np.log((1 + np.sqrt(1 + 8 * items.g)) / 2) / items.d


FEWEST_IN_CATEGORY = 5
"""Smaller categories have no curve, since it would show single items."""


@dataclass(frozen=True)
class Curve:
    """Mean information over the abilities of `GRID`.

    Args:
        items: number of items in the mean.
    """

    name: str
    items: int
    values: Array


def mean_information(items: Items, theta: Array = GRID) -> Array:
    """Return the mean over items of their information at each ability: an array like `theta`.

    Source: Guinet et al., ICML 2024, section 6.1, the aggregated information function.
    """
    return np.asarray(information(theta, items).mean(axis=1))


def information_by_category(
    items: Items, categories: Sequence[Sequence[str]], fewest: int = FEWEST_IN_CATEGORY
) -> tuple[list[Curve], Mapping[str, int]]:
    """Return the curves of the categories with enough items.

    Args:
        items: n items.
        categories: the categories of each of the n items; an item may have several or none.
        fewest: fewest items of a category with a curve.

    Returns:
        (curves, the category with most items first; number of items by smaller category).
    """
    members: dict[str, list[int]] = {}
    for i, names in enumerate(categories):
        for name in dict.fromkeys(names):
            members.setdefault(name, []).append(i)
    by_size = sorted(members.items(), key=lambda member: (-len(member[1]), member[0]))
    told = information(GRID, items)
    curves = [Curve(name, len(of), told[:, np.array(of)].mean(axis=1)) for name, of in by_size if len(of) >= fewest]
    return curves, {name: len(of) for name, of in by_size if len(of) < fewest}
