"""The audit: a random sample of judgments corrects a machine's leaderboard, with intervals that hold; no project."""

from __future__ import annotations

from core.measures.audit.batches import Batch, Corrected, combined_weights, correct, missing_bounds, predict_batches
from core.measures.audit.bias import group_bias, machine_bias
from core.measures.audit.boards import kendall_bounds, true_correlation
from core.measures.audit.calibration import balanced, cut_points, meanings, thresholds
from core.measures.audit.design import FLOOR, chances, draw, importance, planned_chances, shares
from core.measures.audit.estimate import VARIANCES, Comparisons, Estimates, Variance, alike, compare, estimates
from core.measures.audit.labels import Quality, Rate, quality
from core.measures.audit.order import composite
from core.measures.audit.planning import (
    expected_width,
    guessed_spread,
    judgments_needed,
    judgments_to_tell,
)
from core.measures.audit.prediction import Pool, pool_of
from core.measures.audit.spread import expected_spread, residual_spread
from core.measures.audit.stopping import best, better, level_at, precise, simultaneous
from core.measures.audit.weights import Array, Flags, LinearMeasure, Weights, linear_measure

__all__ = [
    "FLOOR",
    "VARIANCES",
    "Array",
    "Batch",
    "Comparisons",
    "Corrected",
    "Estimates",
    "Flags",
    "LinearMeasure",
    "Pool",
    "Quality",
    "Rate",
    "Variance",
    "Weights",
    "alike",
    "balanced",
    "best",
    "better",
    "chances",
    "combined_weights",
    "compare",
    "composite",
    "correct",
    "cut_points",
    "draw",
    "estimates",
    "expected_spread",
    "expected_width",
    "group_bias",
    "guessed_spread",
    "importance",
    "judgments_needed",
    "judgments_to_tell",
    "kendall_bounds",
    "level_at",
    "linear_measure",
    "machine_bias",
    "meanings",
    "missing_bounds",
    "planned_chances",
    "pool_of",
    "precise",
    "predict_batches",
    "quality",
    "residual_spread",
    "shares",
    "simultaneous",
    "thresholds",
    "true_correlation",
]
