"""Dropping the items that tell least, step by step: a list of what one might retire, and what that would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from .curves import mean_information
from .design import Design
from .estimators import EstimatorName
from .joint import Fit, fit
from .model import GRID, Array, Indices, Items, Model
from .worth import Criterion, ItemWorth, worth

FEWEST_ITEMS = 30
"""An exam is not made shorter than this."""
DROP = 10.0
STEPS = 5

# Fewer students than this in a half tell nothing about the other.
_FEWEST_STUDENTS = 5


@dataclass(frozen=True)
class Step:
    """One fit of the search, and what it would drop.

    Args:
        items: how many items it was fitted to.
        curve: mean information of these at the abilities of `GRID`, on the scale of the first fit.
        information: mean over students and items of the information at the students' abilities, on that scale too.
        ranking: Spearman correlation of the students' abilities with those of the first fit; None where undefined.
        dropped: what it drops, the least worth first; none in the last step.
    """

    items: int
    curve: Array
    information: float
    ranking: float | None
    dropped: list[ItemWorth]


@dataclass(frozen=True)
class HeldOut:
    """What dropping does to students who had no say in it: items are chosen by one half, seen on the other.

    Args:
        students: how many the other half has.
        dropped: items that the first half would drop.
        shared: how many of these all students together would drop too.
        before, after: mean information at the other half's abilities, of all items and of those that are kept, on the
            scale of the fit to all.
        ranking: Spearman correlation of the other half's abilities before and after; None where undefined.
    """

    students: int
    dropped: int
    shared: int
    before: float
    after: float
    ranking: float | None


@dataclass(frozen=True)
class Improvement:
    """A proposal to make an exam shorter: nothing is removed by it.

    Args:
        steps: the fit to all items first.
        held_out: None where there are too few students for halves.
        stopped: why it ended before the number of steps that was asked for; empty where it did not.
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
    """Fit, take out the items that tell least, fit again from there, and so on.

    Source: Guinet et al., ICML 2024, section 5.3 and appendix B.3, algorithm 1, where the criterion is d; ties are
    broken by the item's id.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        design: of the m students.
        items: n ids, each once.
        drop: per cent of the items of a step that it drops, above 0 and below 100; at least one item.
        steps: how often to drop, at least once.
        criterion: by which the least is found.
        seed: of the halves of the students.

    Raises:
        InputError: the share is no such per cent, or the responses are no such table.
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
    """Spearman correlation of two lists of abilities; None where one of them is constant or has fewer than three."""
    from scipy.stats import rankdata

    if len(before) < 3:
        return None
    x, y = rankdata(np.round(before, 9)), rankdata(np.round(after, 9))
    if x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def linked(found: Fit, to: Array) -> tuple[Array, Items]:
    """A fit on the scale of other abilities of the same students: the same mean and the same spread.

    Every fit has a unit of its own, and information is measured in one over its square: two fits are compared on one
    scale alone. Source: Kolen and Brennan, Test Equating, Scaling, and Linking, 2014, section 6.3 (mean/sigma).

    Args:
        found: of m students.
        to: m abilities.

    Returns:
        (abilities, items); as they are where one of the two has no spread.
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
        found = fit(table[:, kept], first.design, first.model, first.estimator, begin=_without(found, left))
    return [*done, _step(found, first, [])], ""


def _step(found: Fit, first: Fit, dropped: list[ItemWorth]) -> Step:
    theta, items = linked(found, first.theta)
    told = float(mean_information(items, theta).mean())
    return Step(len(items), mean_information(items, GRID), told, ranking(first.theta, found.theta), dropped)


def _without(found: Fit, left: Indices) -> Fit:
    """A fit to start from, with some of its items alone."""
    return replace(found, items=found.items.some(left))


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
        table[np.ix_(seeing, kept)], before.design, before.model, before.estimator, begin=_without(before, kept)
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
