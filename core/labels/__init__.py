"""Labels and coverage from grades under a policy: their only definitions, in SQL and in memory for one query."""

from __future__ import annotations

from .basis import Basis, basis, has_probabilities
from .citation_values import SUPPORT, set_support
from .coverage import RANKED, Scores, coverage, coverage_by_rank, covered, first_answers, reference_coverage
from .labels import (
    from_answers,
    label_pairs,
    label_qrels,
    labels,
    pooled_labels,
    pooled_passages,
)
from .one_query import QueryRatings, labels_under, load_ratings, ratings_beside, scored, wording
from .overrides import (
    Override,
    confirm,
    override,
    override_all,
    overrides,
    queries_of_questions,
    withdraw,
    withdraw_all,
    write_override,
    write_withdrawal,
)
from .policy import SETTING_OF_MIN_JUDGMENT, Policy, Skipped, usual_min_judgment
from .progress import Progress, failed_pairs, grades_table, progress, ungraded_pairs
from .ratings import graded, graded_pairs, overriding, ratings
from .readiness import Readiness, readiness
from .rules import MISSING, Ratings, coverage_of, label_sql, labels_of, weights_of
from .summary import pool_summary
from .union import coverage_of_union

__all__ = [
    "MISSING",
    "RANKED",
    "SETTING_OF_MIN_JUDGMENT",
    "SUPPORT",
    "Basis",
    "Override",
    "Policy",
    "Progress",
    "QueryRatings",
    "Ratings",
    "Readiness",
    "Scores",
    "Skipped",
    "basis",
    "confirm",
    "coverage",
    "coverage_by_rank",
    "coverage_of",
    "coverage_of_union",
    "covered",
    "failed_pairs",
    "first_answers",
    "from_answers",
    "graded",
    "graded_pairs",
    "grades_table",
    "has_probabilities",
    "label_pairs",
    "label_qrels",
    "label_sql",
    "labels",
    "labels_of",
    "labels_under",
    "load_ratings",
    "override",
    "override_all",
    "overrides",
    "overriding",
    "pool_summary",
    "pooled_labels",
    "pooled_passages",
    "progress",
    "queries_of_questions",
    "ratings",
    "ratings_beside",
    "readiness",
    "reference_coverage",
    "scored",
    "set_support",
    "ungraded_pairs",
    "usual_min_judgment",
    "weights_of",
    "withdraw",
    "withdraw_all",
    "wording",
    "write_override",
    "write_withdrawal",
]
