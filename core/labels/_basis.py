"""The basis of every score: a policy with resolved names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..bank import StoredGrader, check_version, find_grader
from ..errors import InputError
from ..store import Project, as_act
from ._policy import Policy
from ._rules import label_sql, parse_cuts


@dataclass(frozen=True)
class Basis:
    """A policy with resolved names: the input of every score.

    Args:
        policy: the policy with the effective min rating, which is on the grader's own scale.
        overridden: whether the project has overrides and the policy counts them.
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
        """A cache key for labels: all settings that determine them."""
        return (*self.rated, self.version, self.policy.label, self.policy.weighted, self.overridden)

    @property
    def rated(self) -> tuple[int, str]:
        """A cache key for the grader's ratings: all settings that determine them."""
        return self.grader.key, self.policy.rating

    @property
    def label_sql(self) -> str:
        """The label of one passage as an SQL aggregate over the rows of its pairs."""
        return label_sql(self.policy.rule, self.policy.weighted)

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the SQL parameters $version and $grader."""
        return {"version": self.version, "grader": self.grader.key}


def _has_probabilities(project: Project, grader: StoredGrader) -> bool:
    """Return whether a grader stored probabilities over ratings, so that the rating rule `expected` can be used."""
    return project.cached(
        ("has probabilities", grader.key),
        lambda: bool(
            project.value("SELECT EXISTS (FROM grades WHERE grader_key = ? AND distribution IS NOT NULL)", [grader.key])
        ),
        frozenset({"grades"}),
    )


@as_act("see boards")
def check_rating_rule(project: Project, grader: StoredGrader, rule: str) -> None:
    """Refuse a rating rule that the stored grades of a grader do not allow.

    Raises:
        InputError: the grader has no probabilities, or the rule does not have a cut point for each rating above 0.
    """
    cuts = parse_cuts(rule)
    if cuts is None:
        return
    top = grader.spec.max_rating
    embedding = grader.spec.method == "embedding"
    if (cuts or embedding) and len(cuts) != top:
        raise InputError(
            "wrong-number-of-cut-points",
            f"Rating rule '{rule}' has {len(cuts)} cut points; grader '{grader.spec.name}' needs {top}.",
            f"Give one cut point for each rating from 1 to {top}, such as expected:"
            + ",".join(f"{0.3 + 0.1 * i:.1f}" if embedding else f"{i + 0.5}" for i in range(top))
            + ".",
        )
    if not embedding and not _has_probabilities(project, grader):
        raise InputError(
            "no-probabilities",
            f"Grader '{grader.spec.name}' stored no probabilities of ratings.",
            "Use --rating-rule written, or a grader with probabilities: a local model, or an endpoint with logprobs.",
        )


@as_act("see boards")
def basis(project: Project, policy: Policy) -> Basis:
    """Return a policy with its grader and bank version resolved.

    Raises:
        InputError: unknown grader or version.
    """
    grader = find_grader(project, policy.grader)
    if grader.spec.rates_citations:
        raise InputError(
            "grader-of-citations",
            f"Grader '{grader.spec.name}' rates citations, not passages.",
            "Choose another grader (--grader), or see exam support show.",
        )
    # The question of a direct grader is the query itself, while an override belongs to a question.
    asks_questions = policy.overrides and grader.spec.method != "direct"
    overridden = asks_questions and project.cached(
        "overridden",
        lambda: bool(project.value("SELECT count(*) FROM current_overrides")),
        frozenset({"current_overrides"}),
    )
    check_rating_rule(project, grader, policy.rating)
    effective = replace(policy, min_rating=grader.spec.min_rating(policy.min_rating))
    return Basis(effective, grader, check_version(project, policy.bank_version), overridden)
