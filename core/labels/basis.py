"""The basis of every score: a policy with its names looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..bank import check_version
from ..catalogue import StoredGrader, find_grader
from ..errors import InputError
from ..project import Project, as_act
from .policy import Policy
from .rules import label_sql


@dataclass(frozen=True)
class Basis:
    """A policy with its names looked up: what every score is computed from.

    Args:
        policy: with the effective min rating, which is on the grader's own scale.
        overridden: whether there are overrides and the policy lets them count.
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
        """Names all that labels depend on, for a cache."""
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
    """Look up the grader and the bank version that a policy means.

    Raises:
        InputError: there is no such grader or version.
    """
    grader = find_grader(project, policy.grader)
    if grader.spec.rates_citations:
        raise InputError(
            "grader-of-citations",
            f"Grader '{grader.spec.name}' rates citations, not passages.",
            "Choose another grader (--grader), or see exam support show.",
        )
    # A direct judge is asked about the query, an override is about a question.
    asks_questions = policy.overrides and grader.spec.method != "direct"
    overridden = asks_questions and project.remember(
        "overridden", lambda: bool(project.value("SELECT count(*) FROM current_overrides"))
    )
    effective = replace(policy, min_rating=grader.spec.min_rating(policy.min_rating))
    return Basis(effective, grader, check_version(project, policy.bank_version), overridden)
