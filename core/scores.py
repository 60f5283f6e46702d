"""From grades to scores: labels of passages and EXAM-Cover of runs, as pure functions of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from core.bank import check_version
from core.grades import StoredGrader, bank_for, find_grader
from core.policy import Policy, label_sql, weight_sql
from core.project import Project
from core.types import ANSWERED, MAX_RATING, SEPARATOR

if TYPE_CHECKING:
    import pandas as pd

Scores = dict[str, dict[str, float]]
"""Score by query id, by run name."""


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


def labels(project: Project, policy: Policy) -> pd.DataFrame:
    """The label of every pooled passage (DESIGN section 5; exam-plus-plus, equation 2).

    Returns:
        One row a (query, passage) of the pool, in the pool's order, with query_id, passage_id,
        label (NA where no pair has a usable grade), usable and needed (numbers of pairs that
        have a rating, and that should). A label with usable < needed is partial.

    Raises:
        InputError: there is no such grader or version.
    """
    base = basis(project, policy)

    def compute() -> pd.DataFrame:
        import pandas as pd

        found: pd.DataFrame = project.table(
            # From the grades to the pool, not the other way round: pairs are never written out.
            f"WITH bank AS MATERIALIZED {bank_for(base.grader.spec)},"
            f" rated AS (SELECT p.query_key, p.passage_key, {label_sql(policy.label, policy.weighted)} AS label,"
            f"  count(*) FILTER (weight > 0)::INTEGER AS usable FROM {ratings(base)} g"
            "  JOIN bank ON bank.text_key = g.question_text_key"
            "  JOIN pool p ON p.query_key = bank.query_key AND p.text_key = g.passage_text_key GROUP BY ALL),"
            " asked AS (SELECT query_key, count(*) FILTER (weight > 0)::INTEGER AS needed FROM bank GROUP BY 1)"
            " SELECT query_id, passage_id, label, coalesce(usable, 0)::INTEGER AS usable, needed"
            " FROM pool JOIN asked USING (query_key) LEFT JOIN rated USING (query_key, passage_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY query_key, position",
            base.parameters,
        ).to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
        return found

    return project.remember(("labels", base.key), compute)


def coverage(project: Project, policy: Policy, min_ratings: Sequence[int] | None = None) -> dict[int, Scores]:
    """EXAM-Cover@k of every run and query (exam-plus-plus, equation 1, with weights; DESIGN section 5).

    The weight of the questions that any of the run's top k passages answers, minus that of the
    "avoid" questions answered, over the weight of all questions; never below 0.

    Args:
        min_ratings: the thresholds tau to compute at once; the policy's own for None. Where the grader's scale
            ends below one, its top stands for it.

    Returns:
        Per threshold: score by query by run. A query that a run skipped is not in its scores; a
        query without questions of positive weight is in no scores.

    Raises:
        InputError: there is no such grader or version.
    """
    base = basis(project, policy)
    thresholds = tuple(min_ratings or (policy.min_rating,))
    top = base.grader.spec.max_rating

    def compute() -> dict[int, Scores]:
        answered = ", ".join(
            f"greatest(0, coalesce(sum(w) FILTER (best >= {min(tau, top):d}), 0) / total)" for tau in thresholds
        )
        scores: dict[int, Scores] = {tau: {} for tau in thresholds}
        for run, query, *values in project.rows(
            f"WITH bank AS (SELECT *, {weight_sql(policy.weighted)} AS w FROM {bank_for(base.grader.spec)}),"
            " totals AS (SELECT query_key, sum(w) FILTER (w > 0) AS total FROM bank GROUP BY 1),"
            " top AS (SELECT run_key, query_key, text_key FROM rankings JOIN passages USING (passage_key)"
            "  WHERE rank <= $cutoff),"
            " best AS (SELECT run_key, query_key, question_key, any_value(w) AS w, max(g.rating) AS best"
            f"  FROM top JOIN bank USING (query_key) LEFT JOIN {ratings(base)} g"
            "  ON g.question_text_key = bank.text_key AND g.passage_text_key = top.text_key GROUP BY 1, 2, 3)"
            f" SELECT name, query_id, {answered} FROM best JOIN totals USING (query_key)"
            " JOIN runs USING (run_key) JOIN queries USING (query_key)"
            " WHERE total > 0 GROUP BY name, query_id, query_key, total ORDER BY name, query_key",
            base.parameters | {"cutoff": policy.cutoff},
        ):
            for tau, value in zip(thresholds, values, strict=True):
                scores[tau].setdefault(run, {})[query] = value
        return scores

    return project.remember(("coverage", base.key, policy.cutoff, thresholds), compute)
