"""The basis of every score: a policy with its names looked up, and the ratings that count under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.bank import bank_for, check_version
from core.catalogue import StoredGrader, find_grader
from core.labels.policy import Policy
from core.labels.rules import label_sql
from core.project import Project
from core.types import ANSWERED, MAX_RATING, SEPARATOR


@dataclass(frozen=True)
class Basis:
    """A policy with its names looked up: what every score is computed from.

    Args:
        overridden: whether there are overrides and the policy lets them count.
    """

    policy: Policy
    grader: StoredGrader
    version: int
    overridden: bool

    @property
    def min_rating(self) -> int:
        """The min rating on the grader's own scale, which may end below it."""
        return min(self.policy.min_rating, self.grader.spec.max_rating)

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


def basis(project: Project, policy: Policy) -> Basis:
    """Look up the grader and the bank version that a policy means.

    Raises:
        InputError: there is no such grader or version.
    """
    grader = find_grader(project, policy.grader)
    # A direct judge is asked about the query, an override is about a question.
    asks_questions = policy.overrides and grader.spec.method != "direct"
    overridden = asks_questions and project.remember(
        "overridden", lambda: bool(project.value("SELECT count(*) FROM current_overrides"))
    )
    return Basis(policy, grader, check_version(project, policy.bank_version), overridden)


def ratings(base: Basis) -> str:
    """The rating that counts for each pair of texts, as a subquery over $grader: a person's before the machine's."""
    graded = "SELECT question_text_key, passage_text_key, rating FROM grades WHERE grader_key = $grader"
    if not base.overridden:
        return f"({graded})"
    top = base.grader.spec.max_rating
    # The same as `GraderSpec.on_scale`.
    given = "rating" if top == MAX_RATING else f"least({top:d}, rating * {top:d} // {ANSWERED})::TINYINT AS rating"
    people = f"(SELECT question_text_key, passage_text_key, {given} FROM current_overrides)"
    if base.grader.spec.reads:
        # A person rates the question; this grader is asked the question together with its answer key.
        separator = f"chr({ord(SEPARATOR)})"
        people = (
            f"(SELECT a.text_key AS question_text_key, passage_text_key, {given} FROM current_overrides o"
            " JOIN question_texts t ON t.text_key = o.question_text_key JOIN question_texts a"
            f" ON contains(a.text, {separator}) AND split_part(a.text, {separator}, 1) = t.text)"
        )
    return (
        f"({graded} AND NOT EXISTS (SELECT * FROM {people} o WHERE o.question_text_key ="
        " grades.question_text_key AND o.passage_text_key = grades.passage_text_key)"
        f" UNION ALL SELECT question_text_key, passage_text_key, rating FROM {people})"
    )


def graded_pairs(base: Basis) -> str:
    """Every needed pair with the rating that counts, as a query over $version and $grader.

    Its columns are query_key, passage_key, position, question_key, weight, rating (NULL where there
    is no usable grade).
    """
    return (
        "SELECT p.query_key, p.passage_key, p.position, b.question_key, b.weight, g.rating"
        f" FROM pool p JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        f" LEFT JOIN {ratings(base)} g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
    )
