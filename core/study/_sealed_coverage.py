"""Public against sealed questions: which systems answer questions better that they could have seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..labels import RANKED, Policy, basis, first_answers
from ..measures import SEALED_LEVEL, sealed_test
from ..records import sealed_questions
from ..store import Project


@dataclass(frozen=True)
class SealedSystem:
    """A system: its mean coverage of public and sealed questions, the surplus beyond the median system, and its p.

    `p` is one-sided and corrected by Holm's method.
    """

    run: str
    public: float
    sealed: float
    surplus: float
    p: float

    @property
    def flagged(self) -> bool:
        """Whether the surplus is significant."""
        return self.p <= SEALED_LEVEL


@dataclass(frozen=True)
class SealedCoverage:
    """The systems by falling surplus, and the number of queries with sealed questions."""

    queries: int
    systems: list[SealedSystem]

    @property
    def says(self) -> str:
        """The result as a sentence."""
        flagged = [one.run for one in self.systems if one.flagged]
        if not self.queries:
            return "No question is sealed."
        if not flagged:
            return "No system answers public questions significantly better than sealed ones."
        return f"Systems that answer public questions significantly better than sealed ones: {', '.join(flagged)}."

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values, as `--json` prints it."""
        return {**asdict(self), "flagged": [one.run for one in self.systems if one.flagged]}


def sealed_coverage(project: Project, policy: Policy) -> SealedCoverage:
    """Compare each system's coverage of public and sealed questions with the median system; see `sealed_test`.

    Only questions with a grade count. A system that skipped a query answers none of its questions.

    Raises:
        InputError: questions are sealed, but fewer than 3 systems or 2 queries can be compared.
    """
    base = basis(project, policy)
    key = ("sealed coverage", base.key, policy.cutoff, base.min_rating)
    return project.cached(key, lambda: _sealed_coverage(project, policy))


def _sealed_coverage(project: Project, policy: Policy) -> SealedCoverage:
    base, sealed = basis(project, policy), sealed_questions(project)
    if not sealed:
        return SealedCoverage(0, [])
    runs = [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]
    place = {name: i for i, name in enumerate(runs)}
    found: dict[str, dict[str, tuple[float, np.ndarray]]] = {}
    for run, query, question, weight, first, usable in project.rows(
        "SELECT name, query_id, question_id, w, first, usable FROM"
        f" {first_answers(base, RANKED, ('run_key', 'query_key'))} JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN questions USING (question_key) WHERE w > 0 ORDER BY ALL",
        base.parameters | {"cutoff": policy.cutoff},
    ):
        if usable:
            _, answered = found.setdefault(query, {}).setdefault(question, (weight, np.zeros(len(runs), bool)))
            answered[place[run]] = first is not None
    flags = {query: np.array([one in sealed for one in asked]) for query, asked in found.items()}
    queries = [query for query, flag in flags.items() if flag.any() and not flag.all()]
    if len(runs) < 3 or len(queries) < 2:
        raise InputError(
            "too-few-to-compare",
            f"{len(runs)} systems and {len(queries)} queries with graded sealed questions cannot be compared.",
            "Use at least 3 systems and 2 queries, and grade the sealed questions.",
        )
    told = sealed_test(
        [np.array([answered for _, answered in found[query].values()]).T for query in queries],
        [np.array([weight for weight, _ in found[query].values()]) for query in queries],
        [flags[query] for query in queries],
    )
    columns = (told.public, told.sealed, told.surplus, told.adjusted)
    systems = [SealedSystem(run, *(float(one[i]) for one in columns)) for i, run in enumerate(runs)]
    return SealedCoverage(len(queries), sorted(systems, key=lambda one: (-one.surplus, one.run)))
