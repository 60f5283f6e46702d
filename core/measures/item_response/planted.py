"""Planted bad items in an exam, to see which criterion ranks them last; stored data does not change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .design import Design
from .estimators import EstimatorName
from .joint import fit
from .model import Array, Model
from .worth import CRITERIA, Criterion, ItemWorth, worth

Fault = Literal["answered at random", "key wrong", "two right", "answer in the question"]

FAULTS: Mapping[Fault, Callable[[Array, np.random.Generator], Array]] = {
    "answered at random": lambda p, dice: np.broadcast_to(dice.uniform(0.25, 0.6, p.shape[1]), p.shape),
    "key wrong": lambda p, dice: (1 - p) / 3,
    "two right": lambda p, dice: p / 2,
    "answer in the question": lambda p, dice: 0.9 + 0.08 * p,
}
"""The effect of a fault on the chance p (m x n) that an examinee answers a four-choice item right. A wrong answer is
one of three. With two right choices, either is taken. An answer given away by the question is nearly always found."""

SHARE, LAST = 0.1, 0.2
"""The share of items that are spoilt, and the share ranked last in which they are looked for. The latter is larger,
since the exam's own poor items are ranked last too."""
TIMES = 10
"""Number of repetitions, each with other items."""


@dataclass(frozen=True)
class Planting:
    """The number of found items for one fault.

    Args:
        items: number of items of the exam.
        planted: number of spoilt items.
        last: number of items, ranked last by a criterion, that are searched.
        found: by criterion, how many of the spoilt ones are among these; means over all repetitions.
    """

    fault: Fault
    items: int
    planted: int
    last: int
    found: Mapping[Criterion, float]

    @property
    def by_chance(self) -> float:
        """The number that a random order would find."""
        return self.planted * self.last / self.items


def among_last(rows: Sequence[ItemWorth], bad: Collection[str], last: int) -> dict[Criterion, int]:
    """Return by criterion how many of the given items are among those ranked last; ties by id.

    Args:
        bad: ids of the items.
        last: how many items, ranked last, are searched.
    """
    found: dict[Criterion, int] = {}
    for criterion in CRITERIA:
        ordered = sorted((row.by(criterion), row.item) for row in rows)
        found[criterion] = sum(item in bad for _, item in ordered[:last])
    return found


def plant(
    responses: Array,
    design: Design,
    items: Sequence[str],
    model: Model = "3pl",
    estimator: EstimatorName = "map",
    seed: int = 0,
) -> list[Planting]:
    """Spoil a share of the items by each fault in turn, fit again, and count those that each criterion ranks last.

    A right answer counts as a chance of 1, a wrong one as 0; missing answers stay missing.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered; not changed.
        design: of the m examinees.
        items: n ids.
        seed: of the random choice of items and answers.

    Returns:
        One row per fault.

    Raises:
        InputError: the responses are not such a table, or contain no answer.
    """
    table = np.asarray(responses, float)
    begin = fit(table, design, model, estimator, starts=1)
    planted, last = (max(1, round(len(items) * share)) for share in (SHARE, LAST))
    found = []
    for fault, spoil in FAULTS.items():
        counts = dict.fromkeys(CRITERIA, 0)
        for time in range(TIMES):
            # All faults use the same items, so that the comparison is between faults, not between items.
            places = np.random.default_rng([seed, time]).choice(len(items), planted, replace=False)
            dice = np.random.default_rng([seed, time, 1])
            spoilt = table.copy()
            chances = spoil(table[:, places], dice)
            drawn = (dice.random(chances.shape) < chances).astype(float)
            spoilt[:, places] = np.where(np.isnan(table[:, places]), np.nan, drawn)
            rows = worth(spoilt, fit(spoilt, design, model, estimator, begin=begin), items)
            for criterion, count in among_last(rows, {items[at] for at in places.tolist()}, last).items():
                counts[criterion] += count
        found.append(Planting(fault, len(items), planted, last, {by: count / TIMES for by, count in counts.items()}))
    return found
