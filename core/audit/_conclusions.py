"""Conclusions on the goal of an audit. The error is spent over the planned looks, so repeated looks are valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..measures.audit import best, better, estimates, level_at, precise, simultaneous
from ..text import first_few
from ._audit_data import Facts
from ._audit_records import Aim
from ._passage_gains import Estimation


@dataclass(frozen=True)
class Statement:
    """The conclusion of an audit on its goal.

    Args:
        holds: whether the conclusion can be drawn; None before a batch is done.
        says: the conclusion, or the progress towards it, as a sentence.
        look, looks: number of this look, and number of planned looks.
        level: the error that this look may spend; None if no look is left. If people look after every batch and stop at
            a conclusion, it is wrong in at most a share alpha of audits.
        may_stop: whether judging can stop.
    """

    holds: bool | None
    says: str
    look: int
    looks: int
    level: float | None
    may_stop: bool


def statement_of(facts: Facts, found: Estimation | None) -> Statement:
    """Return the conclusion of an audit after its finished batches. It is about exactly the queries of the audit.

    Args:
        found: the estimated gains; None before a batch is done.
    """
    if found is None:
        return Statement(None, "No batch is finished yet.", 0, facts.looks, None, False)
    look = len(found.batches)
    if facts.goal.aim == "budget":
        budget = facts.goal.budget or 0
        says = f"Judged: {found.corrected.judged:,} of about {budget:,}."
        # The number drawn is random, but the number requested is not.
        asked = sum(batch.size for batch in facts.batches if batch.done)
        spent = asked >= budget or not np.isnan(facts.judged).any()
        return Statement(spent, says, look, facts.looks, None, spent)
    if look > facts.looks:
        says = (
            f"All {facts.looks:,} planned looks are used. Plan another audit with this source to reuse its judgments."
        )
        return Statement(False, says, look, facts.looks, None, True)
    level = level_at(facts.alpha, facts.looks, look)
    holds, says = _KINDS[facts.goal.aim](facts, found, level)
    return Statement(holds, says, look, facts.looks, level, holds)


def _best(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    names = facts.weights.systems
    told = best(facts.weights.w, found.corrected, level)
    scores = facts.weights.w @ found.corrected.gains
    left = sorted(told.systems, key=lambda at: -scores[at])
    if told.holds:
        return True, f"The best of {len(names):,} systems is {names[left[0]]}."
    return False, f"{names[left[0]]} leads. Possibly as good: {first_few([names[at] for at in left[1:]])}."


def _pair(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    names = facts.weights.systems
    one, other = names.index(str(facts.goal.first)), names.index(str(facts.goal.second))
    told = better(facts.weights.w, found.corrected, one, other, level)
    value = float(estimates(facts.weights.w[one] - facts.weights.w[other], found.corrected).value[0])
    first, second = (names[one], names[other]) if value >= 0 else (names[other], names[one])
    if told.holds:
        return True, f"{first} is better than {second}, by {abs(value):.4f}."
    return False, f"{first} leads {second} by {abs(value):.4f}, but the difference is not significant."


def _width(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    goal = float(facts.goal.half_width or 0.0)
    told = precise(facts.weights.w, found.corrected, goal, level)
    halves = simultaneous(facts.weights.w, found.corrected, level).width / 2
    if np.isnan(halves).any():
        unknown = [facts.weights.systems[at] for at in np.flatnonzero(np.isnan(halves))]
        return False, (
            f"Scores with an interval wider than ±{goal:g}: {len(told.systems):,} of {len(halves):,}."
            f" Unknown error, because no informative passage was judged: {first_few(unknown)}."
        )
    widest = int(np.argmax(halves))
    if told.holds:
        return True, f"All scores are within ±{goal:g} (simultaneous intervals). The widest is ±{halves[widest]:.4f}."
    return False, (
        f"Scores with an interval wider than ±{goal:g}: {len(told.systems):,} of {len(halves):,}."
        f" The widest is ±{halves[widest]:.4f}, for {facts.weights.systems[widest]}."
    )


_KINDS: Mapping[Aim, Callable[[Facts, Estimation, float], tuple[bool, str]]] = {
    "best": _best,
    "pair": _pair,
    "width": _width,
}
