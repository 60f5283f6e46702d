"""The basis of every score: a policy with resolved names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..bank import check_version
from ..catalogue import StoredGrader, find_grader
from ..project import Project, as_act
from .policy import Policy
from .rules import label_sql


@dataclass(frozen=True)
class Basis:
    """A policy with resolved names: the input of every score.

    Args:
        policy: with the effective min rating, which is on the grader's own scale.
        overridden: whether there are overrides and the policy counts them.
    """

    policy: Policy
    grader: StoredGrader
    version: int
    overridden: bool

    @property
    def min_rating(self) -> int:
        """The effective min rating."""
        return self.policy.min_rating

    @property
    def key(self) -> tuple[object, ...]:
        """A cache key of everything that labels depend on."""
        return (self.grader.key, self.version, self.policy.label, self.policy.weighted, self.overridden)

    @property
    def label_sql(self) -> str:
        """The label of one passage as an SQL aggregate over the rows of its pairs."""
        return label_sql(self.policy.rule, self.policy.weighted)

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of $version and $grader."""
        return {"version": self.version, "grader": self.grader.key}


@as_act("see boards")
def basis(project: Project, policy: Policy) -> Basis:
    """Return a policy with its grader and bank version resolved.

    Raises:
        InputError: unknown grader or version.
    """
    grader = find_grader(project, policy.grader)
    # The question of a direct grader is the query itself, while an override belongs to a question.
    asks_questions = policy.overrides and grader.spec.method != "direct"
    overridden = asks_questions and project.remember(
        "overridden", lambda: bool(project.value("SELECT count(*) FROM current_overrides"))
    )
    effective = replace(policy, min_rating=grader.spec.min_rating(policy.min_rating))
    return Basis(effective, grader, check_version(project, policy.bank_version), overridden)
