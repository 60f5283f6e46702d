"""The audit: a random sample of judgments corrects a machine's leaderboard, with valid intervals; no project."""

from __future__ import annotations

from .batches import Batch, Corrected, combined_weights, correct, missing_bounds, predict_batches
from .bias import group_bias, machine_bias
from .boards import kendall_bounds, true_correlation
from .calibration import balanced, cut_points, meanings, thresholds
from .design import FLOOR, chances, draw, importance, planned_chances, shares
from .estimate import VARIANCES, Comparisons, Estimates, Variance, alike, compare, estimates
from .labels import Quality, Rate, quality
from .order import composite
from .planning import (
    expected_width,
    guessed_spread,
    judgments_needed,
    judgments_to_tell,
)
from .prediction import Pool, pool_of
from .spread import expected_spread, residual_spread
from .stopping import best, better, level_at, precise, simultaneous
from .weights import Array, Flags, LinearMeasure, Weights, linear_measure

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
