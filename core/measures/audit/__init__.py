"""The audit: a random sample of judgments corrects a machine's leaderboard, with valid intervals; no project."""

from __future__ import annotations

from .batches import (
    Batch,
    Corrected,
    combined_weights,
    correct,
    expected_spread,
    missing_bounds,
    predict_batches,
    residual_spread,
)
from .boards import composite, group_bias, kendall_bounds, machine_bias, true_correlation
from .design import FLOOR, chances, draw, importance, planned_chances, shares
from .estimate import VARIANCES, Comparisons, Estimates, Variance, alike, compare, estimates
from .labels import Quality, Rate, balanced, cut_points, meanings, quality, thresholds
from .planning import (
    best,
    better,
    expected_width,
    guessed_spread,
    judgments_needed,
    judgments_to_tell,
    level_at,
    precise,
    simultaneous,
)
from .prediction import Pool, pool_of
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
