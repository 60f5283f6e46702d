"""Planting bad items among those of an exam, to see which criterion puts them last: nothing that is kept changes."""

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
"""What a fault makes of the chance p (m x n) that a student answers an item of four choices right: whoever is wrong
takes one of three, whoever knows two right choices takes either, and what the question says nearly everybody finds."""

SHARE, LAST = 0.1, 0.2
"""Of the items, how many are spoilt, and how many of those that a criterion puts last are looked at: more than are
spoilt, since an exam has poor items of its own, which are among the last as well."""
TIMES = 10
"""How often, each time with other items."""


@dataclass(frozen=True)
class Planting:
    """How many items of one fault are found.

    Args:
        items: of the exam.
        planted: how many of them were spoilt.
        last: how many that a criterion puts last were looked at.
        found: by criterion, how many of the spoilt ones are among these; means over all times.
    """

    fault: Fault
    items: int
    planted: int
    last: int
    found: Mapping[Criterion, float]

    @property
    def by_chance(self) -> float:
        """How many an order that knows nothing would find."""
        return self.planted * self.last / self.items


def among_last(rows: Sequence[ItemWorth], bad: Collection[str], last: int) -> dict[Criterion, int]:
    """By criterion, how many of some items are among those that it puts last; ties by id.

    Args:
        bad: ids of the items.
        last: how many it puts last.
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
    """Spoil a share of the items by each fault in turn, fit again, and count those that each criterion puts last.

    A right answer is taken for a chance of 1, a wrong one for 0; what was not answered stays so.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered; left as they are.
        design: of the m students.
        items: n ids.
        seed: of the dice that choose items and answers.

    Returns:
        One row a fault.

    Raises:
        InputError: the responses are no such table, or hold no answer.
    """
    table = np.asarray(responses, float)
    begin = fit(table, design, model, estimator, starts=1)
    planted, last = (max(1, round(len(items) * share)) for share in (SHARE, LAST))
    found = []
    for fault, spoil in FAULTS.items():
        counts = dict.fromkeys(CRITERIA, 0)
        for time in range(TIMES):
            # The same items for every fault, so that faults are told apart and not items.
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
