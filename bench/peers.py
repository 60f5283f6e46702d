"""Measure item response beside the libraries girth and mirt, on what they can do: marginal fits of one ability."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.measures.item_response import Items, Model, fit_marginal, probability

Array = NDArray[np.float64]

LSAT6 = "3 6 2 11 1 1 3 4 1 8 0 16 0 3 2 15 10 29 14 81 3 28 15 80 16 56 21 173 11 61 28 298"
"""Students by pattern of answers, from 00000 to 11111 (Bock and Lieberman, Psychometrika 35, 1970)."""


@dataclass(frozen=True)
class Told:
    """What a fit says: discriminations and difficulties of items, and the log-likelihood where it is told."""

    d: Array
    b: Array
    likelihood: float | None


def _ours(answers: Array, model: Model) -> Told:
    found = fit_marginal(answers, model)
    return Told(found.items.d, found.items.b, found.log_likelihood)


def _girth(answers: Array, model: Model) -> Told:
    girth: Any = importlib.import_module("girth")
    found = {"2pl": girth.twopl_mml, "3pl": girth.threepl_mml}[model](answers.T.astype(int))
    return Told(np.asarray(found["Discrimination"]), np.asarray(found["Difficulty"]), None)


def _mirt(answers: Array, model: Model) -> Told:
    mirt: Any = importlib.import_module("mirt")
    found = mirt.fit_mirt(answers.astype(int), model=model.upper(), compute_standard_errors=False)
    items = found.model.parameters
    d = np.ravel(items["discrimination"])
    return Told(d, np.ravel(items["difficulty"]), float(found.log_likelihood))


FITS: dict[str, Callable[[Array, Model], Told]] = {"here": _ours, "girth": _girth, "mirt": _mirt}


def _lsat6() -> Array:
    patterns = np.array([[int(digit) for digit in f"{number:05b}"] for number in range(32)], float)
    return np.repeat(patterns, [int(count) for count in LSAT6.split()], axis=0)


def _made(students: int, items: int, guess: float = 0.0) -> tuple[Array, Items]:
    rng = np.random.default_rng(0)
    made = Items(np.exp(rng.normal(0, 0.4, items)), rng.normal(0, 1, items), np.full(items, guess))
    theta = rng.normal(0, 1, students)
    return (rng.random((students, items)) < probability(theta, made)).astype(float), made


def peers(say: Callable[..., None]) -> None:
    """LSAT6, 1,000 x 40 and 63 x 515, 2PL and 3PL marginal: seconds of processor, likelihood, recovery of what was
    made.

    Neither library has abilities by component, priors on them, or a bootstrap of these: that part has no peer. They are
    not among the dependencies; install them beside (`pip install girth mirt`) to run this.
    """
    missing = [name for name in ("girth", "mirt") if importlib.util.find_spec(name) is None]
    if missing:
        say("item response beside its peers", f"not measured: install {' and '.join(missing)}")
        return
    wide, items = _made(63, 515)
    tall, few = _made(1_000, 40)
    guessed, guessing = _made(1_000, 40, 0.2)
    cases: tuple[tuple[str, Array, Items | None, Model], ...] = (
        ("LSAT6, 2pl", _lsat6(), None, "2pl"),
        ("1,000 x 40, 2pl", tall, few, "2pl"),
        ("1,000 x 40, 3pl", guessed, guessing, "3pl"),
        ("63 x 515, 2pl", wide, items, "2pl"),
    )
    for what, answers, made, model in cases:
        for name, fitting in FITS.items():
            begin = time.process_time()
            try:
                found = fitting(answers, model)
            except Exception as error:
                # What a library cannot fit is a result, too.
                say(f"{what}, {name}", f"no fit: {type(error).__name__}: {error}"[:100])
                continue
            facts = [f"{time.process_time() - begin:.2f} s"]
            if found.likelihood is not None:
                facts.append(f"log-likelihood {found.likelihood:.3f}")
            if made is None:
                facts += [f"d {np.round(found.d, 3)}", f"b {np.round(found.b, 3)}"]
            else:
                facts.append(f"r of d {np.corrcoef(found.d, made.d)[0, 1]:.3f}")
                facts.append(f"r of b {np.corrcoef(found.b, made.b)[0, 1]:.3f}")
            say(f"{what}, {name}", *facts)
