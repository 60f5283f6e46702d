"""Improvement of an exam by dropping its least valuable items, and a test of the criteria with
artificial faults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...choices import (
    ITEM_CRITERIA,
    ITEM_DROP,
    ITEM_STEPS,
    EstimatorName,
    ItemCriterion,
    ResponseModel,
)
from ...errors import check_in_range
from ._fit_statistics import ItemWorth, item_worth
from ._response_fits import Fit, fit_responses
from ._response_models import GRID, Array, Design, Indices, Items, mean_information

FEWEST_ITEMS = 30
"""Minimum number of items; an exam is not shortened below it."""

# A half with fewer examinees than this says nothing about the other half.
_FEWEST_STUDENTS = 5


@dataclass(frozen=True)
class ImprovementStep:
    """A fit in the improvement of an exam, and the items to drop after it.

    Args:
        items: number of items in the fit.
        curve: mean information of these items at the abilities of `GRID`, on the scale of the first
            fit.
        information: mean information over examinees and items at the examinees' abilities, on the
            same scale.
        ranking: Spearman correlation of the examinees' abilities in this fit and in the first fit;
            None if undefined.
        dropped: items to drop, the least valuable first; empty in the last step.
    """

    items: int
    curve: Array
    information: float
    ranking: float | None
    dropped: list[ItemWorth]


@dataclass(frozen=True)
class HeldOutEffect:
    """The effect on examinees without influence on the choice: one half chooses items, the second
    half tests them.

    Args:
        students: number of examinees in the second half.
        dropped: number of items that the first half would drop.
        shared: number of these items that all examinees together would also drop.
        before, after: mean information of all items, and of the kept items, at the abilities of the
            second half. It is on the scale of the fit to all examinees.
        ranking: Spearman correlation of the second half's abilities before and after; None if
            undefined.
    """

    students: int
    dropped: int
    shared: int
    before: float
    after: float
    ranking: float | None


@dataclass(frozen=True)
class Improvement:
    """A proposal to shorten an exam. The items stay in the exam.

    Args:
        steps: the fits, beginning with the fit to all items.
        held_out: None with too few examinees for two halves.
        stopped: why it ended before the requested number of steps; empty if it did not.
    """

    criterion: ItemCriterion
    steps: list[ImprovementStep]
    held_out: HeldOutEffect | None
    stopped: str

    @property
    def retire(self) -> list[ItemWorth]:
        """All items to drop, in the order of the steps."""
        return [item for step in self.steps for item in step.dropped]


def improve_items(
    responses: Array,
    design: Design,
    items: Sequence[str],
    drop: float = ITEM_DROP,
    steps: int = ITEM_STEPS,
    criterion: ItemCriterion = "information",
    model: ResponseModel = "3pl",
    estimator: EstimatorName = "map",
    seed: int = 0,
) -> Improvement:
    """Fit, drop the least informative items, and fit again from there, step by step.

    Source: Guinet et al., ICML 2024, section 5.3 and appendix B.3, algorithm 1, with d as
    criterion; ties are broken by the item's id.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered.
        design: design of the m examinees.
        items: n ids, each once.
        drop: percentage of the items to drop in each step, above 0 and below 100; at least one item
            is dropped.
        steps: number of times to drop items, at least 1.
        criterion: the value by which items are ordered.
        seed: seed of the division of the examinees into halves.

    Raises:
        InputError: the percentage is out of range, or the responses contain no answer.
    """
    check_in_range(
        "share-out-of-range",
        f"Percentage {drop:g}",
        "Use a percentage above 0 and below 100.",
        0 < drop < 100,
    )
    first = fit_responses(responses, design, model, estimator, seed=seed)
    fits, stopped = _drop_stepwise(responses, first, items, drop, steps, criterion)
    dropped = {item.item for step in fits for item in step.dropped}
    return Improvement(
        criterion,
        fits,
        _held_out(responses, first, items, drop, steps, criterion, dropped, seed),
        stopped,
    )


def ability_correlation(before: Array, after: Array) -> float | None:
    """Return the Spearman correlation of two lists of abilities; None if one is constant or has
    fewer than three.
    """
    from scipy.stats import rankdata

    if len(before) < 3:
        return None
    x, y = rankdata(np.round(before, 9)), rankdata(np.round(after, 9))
    if x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def link_scale(fitted: Fit, to: Array) -> tuple[Array, Items]:
    """Return a fit on the scale of given abilities of the same examinees: with the same mean and
    standard deviation.

    Every fit has its own unit of ability, and information has the unit 1 / ability^2. So two fits
    can be compared only on a common scale. Source: Kolen and Brennan, Test Equating, Scaling, and
    Linking, 2014, section 6.3 (mean/sigma).

    Args:
        fitted: fit of m examinees.
        to: m abilities.

    Returns:
        (abilities, items). If the abilities of the fit, or the given abilities, are all equal, only
        the mean changes.
    """
    spread = float(fitted.theta.std())
    factor = float(to.std()) / spread if spread > 0 and to.std() > 0 else 1.0
    shift = float(to.mean()) - factor * float(fitted.theta.mean())
    items = Items(fitted.items.d / factor, factor * fitted.items.b + shift, fitted.items.g)
    return factor * fitted.theta + shift, items


def _drop_stepwise(
    table: Array,
    first: Fit,
    items: Sequence[str],
    drop: float,
    steps: int,
    criterion: ItemCriterion,
) -> tuple[list[ImprovementStep], str]:
    kept_items = np.arange(len(items))
    fitted = first
    steps_done: list[ImprovementStep] = []
    for _ in range(steps):
        few = max(1, round(len(kept_items) * drop / 100))
        if len(kept_items) - few < FEWEST_ITEMS:
            why = (
                f"Stopped at {len(kept_items)} items: the next step would leave fewer than"
                f" {FEWEST_ITEMS}"
            )
            return [*steps_done, _make_step(fitted, first, [])], why
        rows = item_worth(table[:, kept_items], fitted, [items[i] for i in kept_items.tolist()])
        order = sorted(range(len(rows)), key=lambda i: (rows[i].sort_key(criterion), rows[i].item))
        out = order[:few]
        steps_done.append(_make_step(fitted, first, [rows[i] for i in out]))
        remaining: Indices = np.delete(np.arange(len(kept_items)), out)
        kept_items = kept_items[remaining]
        fitted = fit_responses(
            table[:, kept_items],
            first.design,
            first.model,
            first.estimator,
            begin=replace(fitted, items=fitted.items.select(remaining)),
        )
    return [*steps_done, _make_step(fitted, first, [])], ""


def _make_step(fitted: Fit, first: Fit, dropped: list[ItemWorth]) -> ImprovementStep:
    theta, items = link_scale(fitted, first.theta)
    return ImprovementStep(
        len(items),
        mean_information(items, GRID),
        float(mean_information(items, theta).mean()),
        ability_correlation(first.theta, fitted.theta),
        dropped,
    )


def _held_out(
    table: Array,
    first: Fit,
    items: Sequence[str],
    drop: float,
    steps: int,
    criterion: ItemCriterion,
    all_dropped: set[str],
    seed: int,
) -> HeldOutEffect | None:
    order = np.random.default_rng(seed).permutation(len(table))
    choosing, seeing = order[: len(order) // 2], order[len(order) // 2 :]
    without_answers = np.isnan(table[choosing]).all() or np.isnan(table[seeing]).all()
    if len(choosing) < _FEWEST_STUDENTS or without_answers:
        return None
    judge, before = (
        fit_responses(
            table[half], first.design.select_examinees(half), first.model, first.estimator, starts=1
        )
        for half in (choosing, seeing)
    )
    chosen, _ = _drop_stepwise(table[choosing], judge, items, drop, steps, criterion)
    dropped = {item.item for step in chosen for item in step.dropped}
    kept_items = np.array([i for i, item in enumerate(items) if item not in dropped])
    after = fit_responses(
        table[np.ix_(seeing, kept_items)],
        before.design,
        before.model,
        before.estimator,
        begin=replace(before, items=before.items.select(kept_items)),
    )
    step = _make_step(after, before, [])
    return HeldOutEffect(
        len(seeing),
        len(dropped),
        len(dropped & all_dropped),
        float(mean_information(before.items, before.theta).mean()),
        step.information,
        step.ranking,
    )


Fault = Literal["answered at random", "key wrong", "two right", "answer in the question"]

FAULTS: Mapping[Fault, Callable[[Array, np.random.Generator], Array]] = {
    "answered at random": lambda p, dice: np.broadcast_to(
        dice.uniform(0.25, 0.6, p.shape[1]), p.shape
    ),
    "key wrong": lambda p, dice: (1 - p) / 3,
    "two right": lambda p, dice: p / 2,
    "answer in the question": lambda p, dice: 0.9 + 0.08 * p,
}
"""The effect of a fault on the probability p (m x n) of a right answer to a four-choice item. If
the key is wrong, it is one of three wrong choices. If two choices are right, examinees choose
either. If the question contains the answer, nearly all examinees find it."""

SHARE, LAST = 0.1, 0.2
"""The share of items that get a fault, and the share of items, ranked last, among which they are
searched. The second share is larger, because the exam's own poor items are also ranked last."""
TIMES = 10
"""Number of repetitions, each with different items."""


@dataclass(frozen=True)
class PlantedFaults:
    """The number of items with an artificial fault that each criterion finds.

    Args:
        items: number of items of the exam.
        planted: number of items with the fault.
        last: number of items, ranked last by a criterion, that are searched.
        found: by criterion, the number of faulty items among the searched items; means over all
            repetitions.
    """

    fault: Fault
    items: int
    planted: int
    last: int
    found: Mapping[ItemCriterion, float]

    @property
    def by_chance(self) -> float:
        """Expected number of faulty items that a random order finds."""
        return self.planted * self.last / self.items


def among_last(
    rows: Sequence[ItemWorth], bad: Collection[str], last: int
) -> dict[ItemCriterion, int]:
    """Return, by criterion, the number of given items among the items ranked last; ties are broken
    by id.

    Args:
        bad: ids of the given items.
        last: number of items, ranked last, that are searched.
    """
    hits: dict[ItemCriterion, int] = {}
    for criterion in ITEM_CRITERIA:
        ordered = sorted((row.sort_key(criterion), row.item) for row in rows)
        hits[criterion] = sum(item in bad for _, item in ordered[:last])
    return hits


def plant_faults(
    responses: Array,
    design: Design,
    items: Sequence[str],
    model: ResponseModel = "3pl",
    estimator: EstimatorName = "map",
    seed: int = 0,
) -> list[PlantedFaults]:
    """Test the criteria: for each fault, simulate it in a share of the items, fit again, and count
    the found items.

    An item is found if a criterion ranks it last. In `FAULTS`, p is 1 for a right answer and 0 for
    a wrong answer. Missing answers stay missing.

    Args:
        responses: m x n; 1 right, 0 wrong, NaN not answered; not changed.
        design: design of the m examinees.
        items: n ids.
        seed: seed of the random choice of items and answers.

    Returns:
        A row per fault.

    Raises:
        InputError: the responses contain no answer.
    """
    begin = fit_responses(responses, design, model, estimator, starts=1)
    planted, last = (max(1, round(len(items) * share)) for share in (SHARE, LAST))
    plantings = []
    for fault, spoil in FAULTS.items():
        counts = dict.fromkeys(ITEM_CRITERIA, 0)
        for time in range(TIMES):
            # All faults use the same items, so that the comparison is between faults, not between
            # items.
            places = np.random.default_rng([seed, time]).choice(len(items), planted, replace=False)
            dice = np.random.default_rng([seed, time, 1])
            spoilt = responses.copy()
            chances = spoil(responses[:, places], dice)
            drawn = (dice.random(chances.shape) < chances).astype(float)
            spoilt[:, places] = np.where(np.isnan(responses[:, places]), np.nan, drawn)
            rows = item_worth(
                spoilt, fit_responses(spoilt, design, model, estimator, begin=begin), items
            )
            for criterion, count in among_last(
                rows, {items[at] for at in places.tolist()}, last
            ).items():
                counts[criterion] += count
        plantings.append(
            PlantedFaults(
                fault,
                len(items),
                planted,
                last,
                {by: count / TIMES for by, count in counts.items()},
            )
        )
    return plantings
