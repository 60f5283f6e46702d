"""EXAM-Cover: which share of the questions the top passages of a run, the gold texts or the pool answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from core.bank import bank_for
from core.labels.basis import basis, ratings
from core.labels.policy import Policy
from core.labels.rules import weight_sql
from core.project import GOLD, Project

if TYPE_CHECKING:
    pass

By = Literal["gold", "pool"]


def reference_coverage(project: Project, policy: Policy, by: By) -> tuple[dict[str, float], int]:
    """Coverage by query of the gold texts or of the pool, as `coverage` has it for runs, and how many grades it has."""
    base = basis(project, policy)
    passages = GOLD if by == "gold" else "pool"

    def compute() -> tuple[dict[str, float], int]:
        rows = project.rows(
            f"WITH bank AS (SELECT *, {weight_sql(policy.weighted)} AS w FROM {bank_for(base.grader.spec)}),"
            " totals AS (SELECT query_key, sum(w) FILTER (w > 0) AS total FROM bank GROUP BY 1),"
            f" texts AS (SELECT DISTINCT s.query_key, p.text_key FROM {passages} s"
            "  JOIN passages p USING (passage_key)),"
            " best AS (SELECT query_key, question_key, any_value(w) AS w, max(g.rating) AS best, count(g.rating) AS n"
            f"  FROM texts JOIN bank USING (query_key) LEFT JOIN {ratings(base)} g"
            "  ON g.question_text_key = bank.text_key AND g.passage_text_key = texts.text_key GROUP BY 1, 2)"
            " SELECT query_id, greatest(0, coalesce(sum(w) FILTER (best >= $tau), 0) / total), sum(n)::BIGINT"
            " FROM best JOIN totals USING (query_key) JOIN queries USING (query_key)"
            " WHERE total > 0 GROUP BY query_key, query_id, total ORDER BY query_key",
            base.parameters | {"tau": base.min_rating},
        )
        return {query: score for query, score, _ in rows}, sum(n for _, _, n in rows)

    key = ("reference", by, base.key, policy.weighted, base.min_rating)
    return project.remember(key, compute)


Scores = dict[str, dict[str, float]]
"""Score by query id, by run name."""


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
