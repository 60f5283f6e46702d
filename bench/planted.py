"""Plant bad items in exams and count how many of them each criterion puts last."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from core.measures.item_response import CRITERIA, ESTIMATORS, Items, factor_design, fit, probability, worth

Array = NDArray[np.float64]

ITEMS, BAD, EXAMS = 148, 22, 5
ADDED = {
    "llm": (-0.5, -0.3, 0.4),
    "retrieval": (-1.2, -0.3, 0.1, 0.4, 0.7, 0.7, 0.9),
    "icl": (-0.4, 0.1, 0.2),
}

# What a fault makes of the chance p that the item would have been answered right: four choices, one of them the key.
FAULTS: Mapping[str, Callable[[Array, np.random.Generator], Array]] = {
    "answered at random": lambda p, dice: np.broadcast_to(dice.uniform(0.25, 0.6, p.shape[1]), p.shape),
    "key wrong": lambda p, dice: (1 - p) / 3,
    "two right": lambda p, dice: p / 2,
    "answer in the question": lambda p, dice: 0.9 + 0.08 * p,
}


def planted(say: Callable[..., None]) -> None:
    """For each fault and estimator: how many of the 22 bad items are among the last 22, means over five exams."""
    places = np.indices([len(added) for added in ADDED.values()]).reshape(len(ADDED), -1)
    design = factor_design({name: [str(level) for level in row] for name, row in zip(ADDED, places, strict=True)})
    theta = design.matrix @ np.concatenate([np.array(added) for added in ADDED.values()])
    names = [f"{i:03}" for i in range(ITEMS)]
    bad = set(names[:BAD])
    say(f"by chance, of {BAD} bad items among {ITEMS}", f"{BAD * BAD / ITEMS:.1f} are among the last {BAD}")
    for fault, spoil in FAULTS.items():
        for estimator in ESTIMATORS:
            counts = {criterion: 0 for criterion in CRITERIA}
            for seed in range(EXAMS):
                dice = np.random.default_rng(seed)
                items = Items(np.exp(dice.normal(0, 0.4, ITEMS)), dice.normal(0, 1, ITEMS), dice.beta(5, 16, ITEMS))
                p = probability(theta, items)
                p[:, :BAD] = spoil(p[:, :BAD], dice)
                answers = (dice.random(p.shape) < p).astype(float)
                rows = worth(answers, fit(answers, design, estimator=estimator, starts=1), names)
                for criterion in CRITERIA:
                    last = sorted(rows, key=lambda row, by=criterion: (row.by(by), row.item))[:BAD]
                    counts[criterion] += len(bad & {row.item for row in last})
            found = ", ".join(f"{criterion} {count / EXAMS:.1f}" for criterion, count in counts.items())
            say(f"  {fault}, estimator {estimator}", found)
