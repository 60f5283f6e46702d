"""Calibrating a cascade: what the sample says, the threshold that keeps the promise, and who is asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.cascade.facts import Facts, gather
from core.cascade.records import Cascade
from core.errors import InputError
from core.measures.cascade import Decision, Terms, decide
from core.project import Project


@dataclass(frozen=True)
class Calibration:
    """What the sample of a cascade says. It is computed from grades whenever it is asked for, and kept nowhere."""

    cascade: Cascade
    facts: Facts
    decision: Decision

    @property
    def union(self) -> int:
        """How many passages some system has within the cutoff: what the plain baseline asks."""
        return int((self.facts.depth > 0).sum())

    @property
    def escalated(self) -> int:
        """How many passages the expensive grader is asked in all, the sample among them."""
        return int(self.decision.escalated.sum())

    @property
    def waiting(self) -> int:
        """How many of these have no label of it yet."""
        return int((self.decision.escalated & np.isnan(self.facts.expensive)).sum())

    @property
    def sampled(self) -> int:
        """How many different passages the sample has."""
        return int((self.facts.learned + self.facts.tested > 0).sum())

    def as_dict(self) -> dict[str, Any]:
        """The calibration as plain values, as `--json` prints it."""
        chosen = self.decision.guarantee.chosen
        return {
            "cascade": self.cascade.as_dict(),
            "pool": len(self.facts.codes),
            "union": self.union,
            "sample": self.sampled,
            "escalated": self.escalated,
            "waiting": self.waiting,
            "kept": chosen.kept,
            "threshold": chosen.threshold if chosen.kept else None,
            "bound": chosen.bound if chosen.kept else 0.0,
            "steps": [vars(step) for step in self.decision.guarantee.steps],
        }


def calibrate(project: Project, cascade: Cascade) -> Calibration:
    """Say what the sample tells.

    Raises:
        InputError: the expensive grader has not been asked all of the sample.
    """
    facts = gather(project, cascade)
    if facts.sample_open:
        raise InputError(
            "sample-not-graded",
            f"{facts.sample_open:,} pairs of the sample of '{cascade.name}' are not graded yet.",
            f"Let the expensive grader grade them: exam cascade run {cascade.name}",
        )

    def compute() -> Decision:
        terms = Terms(facts.top, facts.min_rating, cascade.agreement, cascade.promise, cascade.alpha, cascade.delta)
        return decide(facts.x, facts.expensive, facts.weight, facts.depth > 0, facts.learned, facts.tested, terms)

    return Calibration(cascade, facts, project.remember(("cascade decision", cascade.key), compute))
