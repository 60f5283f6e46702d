"""Plant bad items in exams and count how many of them each criterion puts last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.measures.item_response import (
    CRITERIA,
    ESTIMATORS,
    FAULTS,
    Items,
    among_last,
    factor_design,
    fit,
    probability,
    worth,
)

ITEMS, BAD, EXAMS = 148, 22, 5
ADDED = {
    "llm": (-0.5, -0.3, 0.4),
    "retrieval": (-1.2, -0.3, 0.1, 0.4, 0.7, 0.7, 0.9),
    "icl": (-0.4, 0.1, 0.2),
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
            counts = dict.fromkeys(CRITERIA, 0)
            for seed in range(EXAMS):
                dice = np.random.default_rng(seed)
                items = Items(np.exp(dice.normal(0, 0.4, ITEMS)), dice.normal(0, 1, ITEMS), dice.beta(5, 16, ITEMS))
                p = probability(theta, items)
                p[:, :BAD] = spoil(p[:, :BAD], dice)
                answers = (dice.random(p.shape) < p).astype(float)
                rows = worth(answers, fit(answers, design, estimator=estimator, starts=1), names)
                for criterion, count in among_last(rows, bad, BAD).items():
                    counts[criterion] += count
            found = ", ".join(f"{criterion} {count / EXAMS:.1f}" for criterion, count in counts.items())
            say(f"  {fault}, estimator {estimator}", found)
