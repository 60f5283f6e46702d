"""Draw exams from known abilities and count how many of these the 95 % intervals hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.planted import ADDED
from core.measures.item_response import Bounded, Items, analyse, probability

SIZES, EXAMS = (148, 515), 6


def intervals(say: Callable[..., None]) -> None:
    """For exams of 148 and of 515 items, 63 students by component: the share of true parts and abilities held."""
    places = np.indices([len(added) for added in ADDED.values()]).reshape(len(ADDED), -1).T.tolist()
    names = [str(at) for at in range(len(places))]
    levels = [dict(zip(ADDED, map(str, row), strict=True)) for row in places]
    parts = {factor: np.array(added) - np.mean(added) for factor, added in ADDED.items()}
    theta = np.array([sum(added[at] for added, at in zip(ADDED.values(), row, strict=True)) for row in places])
    theta -= theta.mean()
    for size in SIZES:
        held: dict[str, list[bool]] = {"parts": [], "abilities": []}
        for seed in range(EXAMS):
            dice = np.random.default_rng(seed)
            # The unit of ability is that in which the geometric mean of d is 1.
            d = dice.normal(0, 0.4, size)
            items = Items(np.exp(d - d.mean()), dice.normal(0, 1, size), dice.beta(5, 16, size))
            answers = (dice.random((len(theta), size)) < probability(theta, items)).astype(float)
            told = analyse(
                names, [str(i) for i in range(size)], answers, dict(zip(names, levels, strict=True)), held_out=False
            )
            held["parts"] += [_holds(row.ability, float(parts[row.factor][int(row.level)])) for row in told.components]
            held["abilities"] += [_holds(row.ability, float(theta[int(row.student)])) for row in told.students]
        said = ", ".join(f"{sum(one)} of {len(one)} {what} ({sum(one) / len(one):.1%})" for what, one in held.items())
        say(f"{EXAMS} exams of {size} items, 63 students: the intervals hold", said)


def _holds(found: Bounded, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high
