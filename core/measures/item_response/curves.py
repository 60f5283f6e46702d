"""What an exam tells at each ability: mean information of its items, all together and by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .model import GRID, Array, Items, information

FEWEST_IN_CATEGORY = 5
"""A category of fewer items has no curve: it would be that of single items."""


@dataclass(frozen=True)
class Curve:
    """Mean information over the abilities of `GRID`.

    Args:
        items: how many items the mean is of.
    """

    name: str
    items: int
    values: Array


def mean_information(items: Items, theta: Array = GRID) -> Array:
    """The mean over items of their information at each ability: an array like `theta`.

    Source: Guinet et al., ICML 2024, section 6.1, the aggregated information function.
    """
    found: Array = information(theta, items).mean(axis=1)
    return found


def information_by_category(
    items: Items, categories: Sequence[Sequence[str]], fewest: int = FEWEST_IN_CATEGORY
) -> tuple[list[Curve], Mapping[str, int]]:
    """Curves of the categories that enough items are of.

    Args:
        items: n items.
        categories: those of each of the n items; an item may be of several, or of none.
        fewest: items that a category needs for a curve.

    Returns:
        (curves, the category with most items first; number of items of the categories that have too few).
    """
    members: dict[str, list[int]] = {}
    for i, names in enumerate(categories):
        for name in dict.fromkeys(names):
            members.setdefault(name, []).append(i)
    by_size = sorted(members.items(), key=lambda member: (-len(member[1]), member[0]))
    told = information(GRID, items)
    curves = [Curve(name, len(of), told[:, np.array(of)].mean(axis=1)) for name, of in by_size if len(of) >= fewest]
    return curves, {name: len(of) for name, of in by_size if len(of) < fewest}
