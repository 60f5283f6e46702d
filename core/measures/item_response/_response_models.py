"""The models of item response: the design of examinees, and right answers and information of items
by ability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...grouping import group_pairs
from .._means_and_tests import Array as Array, Flags as Flags, Indices as Indices

GRID: Array = np.linspace(-3.0, 3.0, 61)
"""The abilities at which curves are drawn."""

LEAST = 1e-9
"""Minimum distance of probabilities from 0 and 1, so that their logarithms are finite."""


@dataclass(frozen=True)
class Items:
    """The parameters of n items, as arrays of n.

    Args:
        d: discrimination, per unit of ability.
        b: difficulty, on the scale of ability.
        g: guessing, the probability of a right answer without any ability, 0 to 1.
    """

    d: Array
    b: Array
    g: Array

    def __len__(self) -> int:
        return len(self.d)

    def select(self, chosen: Sequence[int] | Indices | Flags) -> Items:
        """Return only these items, by index or by flag."""
        at = np.asarray(chosen)
        return Items(self.d[at], self.b[at], self.g[at])


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)) for any z."""
    from scipy.special import expit

    return np.asarray(expit(z))


def answer_probability(theta: Array, items: Items) -> Array:
    """Return the probability of a right answer, p = g + (1 - g) / (1 + exp(-d (theta - b))).

    Source: Guinet et al., ICML 2024, equation 1 (Birnbaum's three-parameter logistic model, 1968).

    Args:
        theta: m abilities.

    Returns:
        m x n probabilities.
    """
    s = sigmoid(items.d * (np.asarray(theta, float)[:, None] - items.b))
    return items.g + (1 - items.g) * s


def answer_information(theta: Array, items: Items) -> Array:
    """Return the Fisher information of an answer about ability, d^2 ((p - g) / (1 - g))^2 (1 - p) /
    p.

    Source: Guinet et al., ICML 2024, section 6.1. It is computed as d^2 (1 - g) s^2 (1 - s) / p,
    with s the logistic part. This is equal, and precise even if p is nearly 1.

    Args:
        theta: m abilities.

    Returns:
        m x n values, in units of 1 / ability^2.
    """
    z = items.d * (np.asarray(theta, float)[:, None] - items.b)
    s, fails = sigmoid(z), sigmoid(-z)
    p = items.g + (1 - items.g) * s
    # Far below an item's difficulty, without guessing, p and s vanish together; the ratio s / p is
    # then 1.
    share = np.divide(s, p, out=np.ones_like(s), where=p > 0)
    return items.d**2 * (1 - items.g) * s * fails * share


def most_informative_ability(items: Items) -> Array:
    """Return the ability at which an item is most informative: b + ln((1 + sqrt(1 + 8 g)) / 2) / d.

    Source: Lord, Applications of Item Response Theory, 1980, equation 10-4. (The paper's text says
    b, which is right only without guessing.)

    Returns:
        n abilities.
    """
    return items.b + np.log((1 + np.sqrt(1 + 8 * items.g)) / 2) / items.d


FEWEST_IN_CATEGORY = 5
"""Minimum number of items of a category with a curve. The curve of a smaller category would show
single items.
"""


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
    return np.asarray(answer_information(theta, items).mean(axis=1))


def information_by_category(
    items: Items, categories: Sequence[Sequence[str]], fewest: int = FEWEST_IN_CATEGORY
) -> tuple[list[Curve], Mapping[str, int]]:
    """Return the curves of the categories with enough items.

    Args:
        items: n items.
        categories: the categories of each of the n items; an item can have any number of
            categories.
        fewest: minimum number of items of a category with a curve.

    Returns:
        (curves, largest category first; number of items of each category without a curve, by
        category).
    """
    members = group_pairs(
        (name, i) for i, names in enumerate(categories) for name in dict.fromkeys(names)
    )
    by_size = sorted(members.items(), key=lambda member: (-len(member[1]), member[0]))
    told = answer_information(GRID, items)
    curves = [
        Curve(name, len(of), told[:, np.array(of)].mean(axis=1))
        for name, of in by_size
        if len(of) >= fewest
    ]
    return curves, {name: len(of) for name, of in by_size if len(of) < fewest}


FLAT = "student"
"""The factor of a design in which every examinee has an ability of its own."""

# A contrast can be estimated if its distance from the span of the design's rows is below this.
_SPANNED = 1e-8


@dataclass(frozen=True)
class Factor:
    """One named component of an examinee.

    Args:
        levels: its values in order of first appearance; differences are taken from the first.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """The design of examinees: their abilities are sums of parts, theta = matrix @ parts.

    Args:
        factors: the factors, in the order of the columns. Each level of a factor has a part.
        matrix: m examinees x all levels of all factors; 1 for the level of each factor that the
            examinee has, else 0.
    """

    factors: tuple[Factor, ...]
    matrix: Array

    @property
    def flat(self) -> bool:
        """Whether every examinee has an ability of its own."""
        return [factor.name for factor in self.factors] == [FLAT]

    @property
    def columns(self) -> dict[str, slice]:
        """The positions of each factor's levels among the parts."""
        ends = np.cumsum([0, *(len(factor.levels) for factor in self.factors)]).tolist()
        return {factor.name: slice(ends[i], ends[i + 1]) for i, factor in enumerate(self.factors)}

    @property
    def rank(self) -> int:
        """The rank of the matrix: how many independent numbers determine the abilities."""
        return len(self.matrix) if self.flat else int(np.linalg.matrix_rank(self.matrix))

    def select_examinees(self, students: Indices | Flags) -> Design:
        """Return the design of some of the examinees, with the same parts."""
        return Design(self.factors, self.matrix[students])

    def centred(self, parts: Array) -> tuple[Array, Array]:
        """Return centred parts, whose mean is 0 in each factor, and the common level, the sum of
        the removed means.

        The fit determines parts only up to constants that move between factors. Centred parts are
        unique.

        Args:
            parts: parts in the last dimension, after any other dimensions.

        Returns:
            (centred parts in the shape of `parts`, common level in the shape of the other
            dimensions).
        """
        out = np.array(parts, float)
        level: Array = np.zeros(out.shape[:-1])
        for at in self.columns.values():
            mean = out[..., at].mean(axis=-1)
            out[..., at] -= mean[..., None]
            level = level + mean
        return out, level


def flat_design(students: Sequence[str]) -> Design:
    """Return a design in which every examinee has an ability of its own."""
    return Design((Factor(FLAT, tuple(students)),), np.eye(len(students)))


def factor_design(factors: Mapping[str, Sequence[str]]) -> Design:
    """Return a design from the components of the examinees.

    Args:
        factors: by name of the factor, its level for each of the m examinees, in the same order.

    Raises:
        InputError: the factors are missing, their lengths differ, a factor has only one level, or
            the components cannot be separated; the message names them.
    """
    counts = {len(levels) for levels in factors.values()}
    if len(counts) != 1:
        raise InputError(
            "students-without-factors",
            "A factor has no level for an examinee.",
            "Give one level per examinee and factor.",
        )
    named = [Factor(name, tuple(dict.fromkeys(levels))) for name, levels in factors.items()]
    for factor in named:
        if len(factor.levels) < 2:
            raise InputError(
                "factor-with-one-level",
                f"Factor '{factor.name}' has too few levels for an effect:"
                f" {', '.join(factor.levels) or 'none'}.",
                "Remove this factor.",
            )
    blocks = [
        np.array([[level == one for one in factor.levels] for level in factors[factor.name]], float)
        for factor in named
    ]
    design = Design(tuple(named), np.concatenate(blocks, axis=1))
    if mixed := inseparable_levels(design):
        examples = ", ".join(f"{name} {level}" for name, level in mixed[:6]) + (
            " and more" if len(mixed) > 6 else ""
        )
        raise InputError(
            "factors-not-separable",
            f"The effects of these components cannot be separated: {examples}.",
            "Add examinees with other combinations, remove a factor, or fit without factors.",
        )
    return design


def inseparable_levels(design: Design) -> list[tuple[str, str]]:
    """Return the levels whose difference from the first level of their factor cannot be estimated.

    A difference can be estimated if it is a linear combination of rows of the design. Confounded
    levels are returned together: if only one model used a retrieval, the retrieval and the model
    are returned.

    Returns:
        (factor, level), in the order of the columns.
    """
    if design.flat:
        return []
    # An orthonormal basis of the rows of the design.
    _, sizes, rows = np.linalg.svd(design.matrix, full_matrices=False)
    rows = rows[sizes > sizes.max() * max(design.matrix.shape) * np.finfo(float).eps]
    mixed = []
    for factor, at in zip(design.factors, design.columns.values(), strict=True):
        for i in range(1, len(factor.levels)):
            contrast = np.zeros(design.matrix.shape[1])
            contrast[at.start], contrast[at.start + i] = -1, 1
            if np.linalg.norm(contrast - rows.T @ (rows @ contrast)) > _SPANNED:
                mixed.append((factor.name, factor.levels[i]))
    return mixed
