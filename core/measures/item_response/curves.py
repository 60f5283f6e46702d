"""Information of an exam at each ability: the mean over its items, in total and by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .model import GRID, Array, Items, information

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
    found: Array = information(theta, items).mean(axis=1)
    return found


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
