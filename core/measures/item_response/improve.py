"""Improvement of an exam by dropping its least valuable items, and a test of the criteria with planted faults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...errors import InputError
from .fits import EstimatorName, Fit, fit
from .model import GRID, Array, Design, Indices, Items, Model, mean_information
from .statistics import CRITERIA, Criterion, ItemWorth, worth

FEWEST_ITEMS = 30
"""An exam is not shortened below this."""
DROP = 10.0
STEPS = 5

# A half with fewer examinees than this says nothing about the other half.
_FEWEST_STUDENTS = 5


@dataclass(frozen=True)
class Step:
    """One fit of the search, and the items that it would drop.

    Args:
        items: number of items in the fit.
        curve: mean information of these at the abilities of `GRID`, on the scale of the first fit.
        information: mean over examinees and items of the information at the examinees' abilities, on the same scale.
        ranking: Spearman correlation of the examinees' abilities with those of the first fit; None if undefined.
        dropped: items to drop, the least valuable first; empty in the last step.
    """

    items: int
    curve: Array
    information: float
    ranking: float | None
    dropped: list[ItemWorth]


@dataclass(frozen=True)
class HeldOut:
    """The effect on examinees that did not influence the choice: one half chooses items, the other half tests them.

    Args:
        students: number of examinees in the other half.
        dropped: items that the first half would drop.
        shared: how many of these all examinees together would drop too.
        before, after: mean information at the other half's abilities, of all items and of the kept ones, on the
        scale of the fit to all.
        ranking: Spearman correlation of the other half's abilities before and after; None if undefined.
    """

    students: int
    dropped: int
    shared: int
    before: float
    after: float
    ranking: float | None


@dataclass(frozen=True)
class Improvement:
    """A proposal to shorten an exam; it removes nothing.

    Args:
        steps: the fit to all items first.
        held_out: None with too few examinees for halves.
        stopped: why it ended before the requested number of steps; empty if it did not.
    """

    criterion: Criterion
    steps: list[Step]
    held_out: HeldOut | None
    stopped: str

    @property
    def retire(self) -> list[ItemWorth]:
        """All items that it would drop, those of the first step first."""
        return [item for step in self.steps for item in step.dropped]


def improve(
    responses: Array,
    design: Design,
    items: Sequence[str],
    drop: float = DROP,
    steps: int = STEPS,
    criterion: Criterion = "information",
    model: Model = "3pl",
    estimator: EstimatorName = "map",
    seed: int = 0,
) -> Improvement:
    """Fit, drop the least informative items, and fit again from there, step by step.

    Source: Guinet et al., ICML 2024, section 5.3 and appendix B.3, algorithm 1, with d as criterion; ties are broken
    by the item's id.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        design: of the m examinees.
        items: n ids, each once.
        drop: per cent of a step's items to drop, above 0 and below 100; at least one item.
        steps: how often to drop, at least once.
        criterion: the value by which items are compared.
        seed: of the halves of the examinees.

    Raises:
        InputError: the percentage is out of range, or the responses are not such a table.
    """
    if not 0 < drop < 100:
        raise InputError(
            "share-out-of-range",
            f"Percentage {drop:g} is out of range.",
            "Use a percentage above 0 and below 100.",
        )
    table = np.asarray(responses, float)
    first = fit(table, design, model, estimator, seed=seed)
    found, stopped = _search(table, first, items, drop, steps, criterion)
    dropped = {item.item for step in found for item in step.dropped}
    return Improvement(criterion, found, _held_out(table, first, items, drop, steps, criterion, dropped, seed), stopped)


def ranking(before: Array, after: Array) -> float | None:
    """Return the Spearman correlation of two lists of abilities; None if one is constant or has fewer than three."""
    from scipy.stats import rankdata

    if len(before) < 3:
        return None
    x, y = rankdata(np.round(before, 9)), rankdata(np.round(after, 9))
    if x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def linked(found: Fit, to: Array) -> tuple[Array, Items]:
    """Return a fit on the scale of other abilities of the same examinees: the same mean and the same spread.

    Every fit has its own unit, and information is measured in one over its square. So two fits can only be compared
    on one scale. Source: Kolen and Brennan, Test Equating, Scaling, and Linking, 2014, section 6.3 (mean/sigma).

    Args:
        found: of m examinees.
        to: m abilities.

    Returns:
        (abilities, items); unchanged if one of the two has no spread.
    """
    spread = float(found.theta.std())
    factor = float(to.std()) / spread if spread > 0 and to.std() > 0 else 1.0
    shift = float(to.mean()) - factor * float(found.theta.mean())
    items = Items(found.items.d / factor, factor * found.items.b + shift, found.items.g)
    return factor * found.theta + shift, items


def _search(
    table: Array, first: Fit, items: Sequence[str], drop: float, steps: int, criterion: Criterion
) -> tuple[list[Step], str]:
    kept = np.arange(len(items))
    found = first
    done: list[Step] = []
    for _ in range(steps):
        few = max(1, round(len(kept) * drop / 100))
        if len(kept) - few < FEWEST_ITEMS:
            why = f"Stopped at {len(kept)} items: the next step would leave fewer than {FEWEST_ITEMS}"
            return [*done, _step(found, first, [])], why
        rows = worth(table[:, kept], found, [items[i] for i in kept.tolist()])
        order = sorted(range(len(rows)), key=lambda i: (rows[i].by(criterion), rows[i].item))
        out = order[:few]
        done.append(_step(found, first, [rows[i] for i in out]))
        left: Indices = np.delete(np.arange(len(kept)), out)
        kept = kept[left]
        found = fit(
            table[:, kept],
            first.design,
            first.model,
            first.estimator,
            begin=replace(found, items=found.items.some(left)),
        )
    return [*done, _step(found, first, [])], ""


def _step(found: Fit, first: Fit, dropped: list[ItemWorth]) -> Step:
    theta, items = linked(found, first.theta)
    told = float(mean_information(items, theta).mean())
    return Step(len(items), mean_information(items, GRID), told, ranking(first.theta, found.theta), dropped)


def _held_out(
    table: Array,
    first: Fit,
    items: Sequence[str],
    drop: float,
    steps: int,
    criterion: Criterion,
    all_dropped: set[str],
    seed: int,
) -> HeldOut | None:
    order = np.random.default_rng(seed).permutation(len(table))
    choosing, seeing = order[: len(order) // 2], order[len(order) // 2 :]
    if len(choosing) < _FEWEST_STUDENTS:
        return None
    if np.isnan(table[choosing]).all() or np.isnan(table[seeing]).all():
        return None
    judge, before = (
        fit(table[half], first.design.of(half), first.model, first.estimator, starts=1) for half in (choosing, seeing)
    )
    chosen, _ = _search(table[choosing], judge, items, drop, steps, criterion)
    dropped = {item.item for step in chosen for item in step.dropped}
    kept = np.array([i for i, item in enumerate(items) if item not in dropped])
    after = fit(
        table[np.ix_(seeing, kept)],
        before.design,
        before.model,
        before.estimator,
        begin=replace(before, items=before.items.some(kept)),
    )
    theta, items_after = linked(after, before.theta)
    return HeldOut(
        len(seeing),
        len(dropped),
        len(dropped & all_dropped),
        float(mean_information(before.items, before.theta).mean()),
        float(mean_information(items_after, theta).mean()),
        ranking(before.theta, after.theta),
    )


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
