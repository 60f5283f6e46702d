"""Answers as numbers: scores against right ones, what was retrieved, cases, correlation by query, judges and people."""

from __future__ import annotations

from core.measures.answers.cases import (
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
from core.measures.answers.correlating import QueryCorrelation, correlate_queries
from core.measures.answers.matches import TEXT_SCORES, best, greedy_f1
from core.measures.answers.people import Against, Point, Tested, against_people, halves_test, threshold_curve
from core.measures.answers.retrieved import Conventional, Retrieved, conventional, retrieved
from core.measures.answers.scoring import Scored, score
from core.measures.answers.texts import NEAR, likeness

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
