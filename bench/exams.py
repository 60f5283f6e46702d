"""Measure item response: fits and bootstraps beside gradients by differences and beside loops over items."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from core.measures.item_response import (
    ESTIMATORS,
    Fit,
    Items,
    Objective,
    bootstrap_items,
    factor_design,
    fit,
    flat_design,
    probability,
)

Array = NDArray[np.float64]

LEVELS = {"llm": 3, "retrieval": 7, "icl": 3}
SWEEPS = 5
LOOPED = 400


def _made(students: int, items: int) -> Array:
    """Answers of students whose abilities are standard normal."""
    rng = np.random.default_rng(0)
    made = Items(np.exp(rng.normal(0, 0.4, items)), rng.normal(0, 1, items), rng.beta(5, 16, items))
    theta = np.sort(rng.normal(0, 1, students))
    return (rng.random((students, items)) < probability(theta, made)).astype(float)


def _timed(work: Callable[[], Fit]) -> tuple[float, Fit]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _by_differences(answers: Array, found: Fit) -> float:
    """Seconds of one gradient by forward differences: one value of the objective for every parameter."""
    objective = Objective.of(answers, found.design, found.model, ESTIMATORS[found.estimator])
    vector = objective.join(found.parts, found.items)
    start = time.process_time()
    for _ in range(20):
        objective.value(vector)
    return (time.process_time() - start) / 20 * (len(vector) + 1)


def _item_by_item(answers: Array, sweeps: int) -> float:
    """Seconds of a plain script: each item's 2PL and then each student's ability by a search of its own, in turns."""
    start = time.process_time()
    right = answers.mean(axis=1)
    theta = np.log((right + 0.01) / (1.01 - right))
    lines = np.tile([1.0, 0.0], (answers.shape[1], 1))
    for _ in range(sweeps):
        for i, column in enumerate(answers.T):
            lines[i] = minimize(_misfit, lines[i], args=(theta, column), method="L-BFGS-B").x
        for m, row in enumerate(answers):
            theta[m] = minimize(_misfit_of_student, theta[m : m + 1], args=(lines, row), method="L-BFGS-B").x[0]
    return time.process_time() - start


def _misfit(line: Array, theta: Array, answers: Array) -> float:
    z = line[0] * theta + line[1]
    return float(np.logaddexp(0, np.where(answers == 1, -z, z)).sum() + line @ line / 8)


def _misfit_of_student(theta: Array, lines: Array, answers: Array) -> float:
    z = lines[:, 0] * theta[0] + lines[:, 1]
    return float(np.logaddexp(0, np.where(answers == 1, -z, z)).sum() + theta[0] ** 2 / 2)


def exams(say: Callable[..., None]) -> None:
    """63 students x 515 items by component with 200 bootstrap repeats; 12 x 40,000; in seconds of processor."""
    places = np.indices(tuple(LEVELS.values())).reshape(len(LEVELS), -1)
    design = factor_design({name: [str(level) for level in row] for name, row in zip(LEVELS, places, strict=True)})
    answers = _made(63, 515)
    took, found = _timed(lambda: fit(answers, design, starts=1))
    gradient = _by_differences(answers, found)
    say(
        "63 x 515, 3pl by component, one search",
        f"{took:.2f} s",
        f"one gradient by differences {gradient:.2f} s",
        f"{gradient / took:.1f} x the time of the whole fit",
    )
    start = time.process_time()
    bootstrap_items(answers, found)
    repeats = time.process_time() - start
    say("  200 bootstrap repeats", f"{repeats:.1f} s", f"{repeats / 200 / took:.2f} x a first fit each")
    two, _ = _timed(lambda: fit(answers, flat_design([str(i) for i in range(63)]), "2pl", starts=1))
    plain = _item_by_item(answers, SWEEPS)
    say(
        "63 x 515, 2pl, an ability a student",
        f"{two:.2f} s",
        f"item by item and student by student, {SWEEPS} rounds: {plain:.1f} s",
        f"{plain / two:.0f} x faster",
    )
    wide = _made(12, 40_000)
    flat = flat_design([str(i) for i in range(12)])
    took, _ = _timed(lambda: fit(wide, flat, starts=1))
    plain = _item_by_item(wide[:, :LOOPED], 1) * wide.shape[1] / LOOPED
    say(
        "12 x 40,000, 3pl",
        f"{took:.1f} s",
        f"one round item by item, from {LOOPED} items: {plain:.0f} s",
        f"{plain / took:.1f} x the time of the whole fit",
    )
