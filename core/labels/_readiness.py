"""Completeness of the labels of a policy: their graded, failed, ungraded and overridden pairs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..bank import speaking_passages
from ..store import Project, as_act
from ._basis import Basis
from ._grading_progress import PairCounts, progress


@dataclass(frozen=True)
class Readiness(PairCounts):
    """The counts behind the labels of a policy.

    Args:
        unlabelled_passages: number of pooled (query, passage) without a label.
        speaking_passages: number of pooled (query, passage) whose text addresses the grader; see `injection_signs`.
    """

    unlabelled_passages: int
    speaking_passages: int

    @property
    def complete(self) -> bool:
        """Whether every pair is graded or overridden and no override is stale."""
        return not (self.failed or self.ungraded or self.without_text or self.stale_overrides)


@as_act("see boards")
def readiness(project: Project, base: Basis) -> Readiness:
    """Return the completeness of the labels of a policy."""

    def compute() -> Readiness:
        found = progress(project, base)
        counts = {one.name: getattr(found, one.name) for one in fields(PairCounts)}
        return Readiness(
            **counts,
            unlabelled_passages=found.labels[None],
            speaking_passages=len(speaking_passages(project, base.version)),
        )

    return project.cached(("readiness", base.policy, base.key), compute)
