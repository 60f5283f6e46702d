"""Numbers about answers: scores against right answers, retrieval, cases, correlation by query, and answer checks."""

from __future__ import annotations

from .cases import (
    CASES,
    RECALL_FAILURES,
    RETEVAL_FAILURES,
    Case,
    Proposal,
    Texts,
    Verdict,
    Verdicts,
    propose,
    settled,
)
from .people import Against, Point, Tested, against_people, halves_test, threshold_curve
from .scoring import (
    Conventional,
    QueryCorrelation,
    Retrieved,
    Scored,
    conventional,
    correlate_queries,
    retrieved,
    score,
)
from .texts import NEAR, TEXT_SCORES, best, greedy_f1, likeness

__all__ = [
    "CASES",
    "NEAR",
    "RECALL_FAILURES",
    "RETEVAL_FAILURES",
    "TEXT_SCORES",
    "Against",
    "Case",
    "Conventional",
    "Point",
    "Proposal",
    "QueryCorrelation",
    "Retrieved",
    "Scored",
    "Tested",
    "Texts",
    "Verdict",
    "Verdicts",
    "against_people",
    "best",
    "conventional",
    "correlate_queries",
    "greedy_f1",
    "halves_test",
    "likeness",
    "propose",
    "retrieved",
    "score",
    "settled",
    "threshold_curve",
]
