"""Whether what was to be known is known, however often somebody looked: the error is spent over the planned looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.audit.estimation import Estimation
from core.audit.facts import Facts
from core.measures.audit import Array, compare, estimates


@dataclass(frozen=True)
class Statement:
    """What the audit can say of its goal.

    Args:
        holds: whether it can be said; None before a batch is done.
        says: the statement, or how far it is from holding, as a sentence.
        look, looks: which look this is, of how many that were planned.
        level: the error that this look may spend: alpha over the looks (Bonferroni), so that looking after every batch
            and stopping is wrong in at most alpha of audits.
        may_stop: whether nothing more need be judged.
    """

    holds: bool | None
    says: str
    look: int
    looks: int
    level: float
    may_stop: bool


def statement_of(facts: Facts, found: Estimation | None) -> Statement:
    """The statement of an audit after its batches that are done; intervals are about these queries as they are.

    Args:
        found: None before a batch is done.
    """
    look = 0 if found is None else len(found.batches)
    level = facts.alpha / facts.looks
    if found is None:
        return Statement(None, "Nothing was judged yet.", look, facts.looks, level, False)
    holds, says = _KINDS[facts.goal.aim](facts, found, level)
    if look > facts.looks and facts.goal.aim != "budget":
        return Statement(
            False, f"The {facts.looks:,} planned looks are spent: plan another audit, which knows all judgments.", look,
            facts.looks, level, True,
        )  # fmt: skip
    return Statement(holds, says, look, facts.looks, level, holds)


def _best(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    names = facts.weights.systems
    scores = facts.weights.w @ found.corrected.gains
    compared = compare(facts.weights.w, found.corrected)
    leader = int(np.argmax(scores))
    rivals = [
        names[b if a == leader else a]
        for a, b, p in zip(compared.first, compared.second, compared.adjusted, strict=True)
        if leader in (a, b) and p > level
    ]
    if not rivals:
        return True, f"{names[leader]} is the best of {len(names):,} systems."
    return False, f"{names[leader]} leads, and {_listed(rivals)} may be as good."


def _pair(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    goal, names = facts.goal, facts.weights.systems
    rows = facts.weights.w[[names.index(str(goal.first)), names.index(str(goal.second))]]
    compared = compare(rows, found.corrected)
    value = float(compared.difference.value[0])
    better, worse = (goal.first, goal.second) if value >= 0 else (goal.second, goal.first)
    if compared.p[0] <= level:
        return True, f"{better} is better than {worse}, by {abs(value):.4f}."
    return False, f"{better} leads {worse} by {abs(value):.4f}, which may be chance."


def _width(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    told = estimates(facts.weights.w, found.corrected, confidence=1 - level)
    halves: Array = told.width / 2
    goal = float(facts.goal.half_width or 0.0)
    widest = int(np.argmax(halves))
    if halves[widest] <= goal:
        return True, f"Every score is known within ±{goal:g}; the widest interval is ±{halves[widest]:.4f}."
    wide = int((halves > goal).sum())
    return False, (
        f"{wide:,} of {len(halves):,} scores are not known within ±{goal:g};"
        f" that of {facts.weights.systems[widest]} is known within ±{halves[widest]:.4f}."
    )


def _budget(facts: Facts, found: Estimation, level: float) -> tuple[bool, str]:
    budget = facts.goal.budget or 0
    spent = found.corrected.judged
    # A Poisson sample has its size about the budget: what the plan drew is what it cost.
    done = len(found.batches) >= facts.looks
    return done, f"{spent:,} of about {budget:,} judgments are made."


_KINDS = {"best": _best, "pair": _pair, "width": _width, "budget": _budget}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 5 else f"{len(names):,} others"
