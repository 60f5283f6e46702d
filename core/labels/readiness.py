"""How complete the labels of a policy are: what is graded, failed, ungraded or overridden behind them."""

from __future__ import annotations

from dataclasses import dataclass

from core.bank import speaking_passages
from core.labels.basis import Basis
from core.labels.progress import progress
from core.project import Project


@dataclass(frozen=True)
class Readiness:
    """What the labels of a policy rest on; every needed pair is in one of five states.

    Args:
        needed: pairs of a pooled passage and an active question of positive weight.
        graded: those where a usable grade of the grader counts.
        failed: those that were asked and gave nothing usable.
        ungraded: those that were never asked, but could be.
        without_text: those that cannot be asked, since the text of the passage is missing.
        overridden: those where a person's rating counts.
        stale_overrides: overrides of active questions that were reworded since: they do not count.
        partial_labels: labels where some pairs behind them have no rating.
        unlabelled_passages: pooled (query, passage) without a label.
        speaking_passages: pooled (query, passage) whose text speaks to the grader: see `core.speaking`.
    """

    needed: int
    graded: int
    failed: int
    ungraded: int
    without_text: int
    overridden: int
    stale_overrides: int
    partial_labels: int
    unlabelled_passages: int
    speaking_passages: int

    @property
    def complete(self) -> bool:
        """Whether nothing is left to grade, to retry or to confirm."""
        return not (self.failed or self.ungraded or self.without_text or self.stale_overrides)


def readiness(project: Project, base: Basis) -> Readiness:
    """Say how complete the labels of a policy are."""
    found = progress(project, base)
    return Readiness(
        needed=found.needed,
        graded=found.graded,
        failed=found.failed,
        ungraded=found.ungraded,
        without_text=found.without_text,
        overridden=found.overridden,
        stale_overrides=found.stale_overrides,
        partial_labels=found.partial_labels,
        unlabelled_passages=found.labels[None],
        speaking_passages=len(speaking_passages(project, base.version)),
    )
