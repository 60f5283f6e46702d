"""Leaderboards: systems ordered by a measure, and their comparison with official leaderboards."""

from __future__ import annotations

from .board import Leaderboard, System, order_systems, queries_with_ungraded
from .citation_support import (
    Citation,
    citation_grader,
    citations,
    response_support,
    support_agreement,
    support_board,
)
from .comparison import (
    DEFAULT_MEASURE,
    Comparison,
    Queries,
    QueryChoice,
    Shift,
    compare,
    compare_boards,
    correlation_shift,
    official_board,
    sides,
)
from .curves import DEFAULT_MAX_K, MAX_K, CoverCurves, cover_curves
from .files import GradeFiles, leaderboard_of_files
from .given_runs import coverage_measure
from .inspection import QueryScore, inspect_query, per_query_scores
from .making import label_board, leaderboard
from .needs import pairs_needed, seen_by
from .nuggets import NuggetBoardRow, nugget_board
from .one_query import query_scores
from .per_topic import PERS, Per, leaderboard_per
from .scoring import judged_scores, label_scores, score_runs

__all__ = [
    "DEFAULT_MAX_K",
    "DEFAULT_MEASURE",
    "MAX_K",
    "PERS",
    "Citation",
    "Comparison",
    "CoverCurves",
    "GradeFiles",
    "Leaderboard",
    "NuggetBoardRow",
    "Per",
    "Queries",
    "QueryChoice",
    "QueryScore",
    "Shift",
    "System",
    "citation_grader",
    "citations",
    "compare",
    "compare_boards",
    "correlation_shift",
    "cover_curves",
    "coverage_measure",
    "inspect_query",
    "judged_scores",
    "label_board",
    "label_scores",
    "leaderboard",
    "leaderboard_of_files",
    "leaderboard_per",
    "nugget_board",
    "official_board",
    "order_systems",
    "pairs_needed",
    "per_query_scores",
    "queries_with_ungraded",
    "query_scores",
    "response_support",
    "score_runs",
    "seen_by",
    "sides",
    "support_agreement",
    "support_board",
]
