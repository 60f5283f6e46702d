"""Item response: ability of examinees and information of items, from right and wrong answers; no project."""

from __future__ import annotations

from .analysis import Analysis, analyse, design_of
from .components import Bounded
from .curves import information_by_category, mean_information
from .estimators import ESTIMATORS, EstimatorName
from .improve import DROP, FEWEST_ITEMS, STEPS, Improvement, improve
from .joint import FEWEST
from .marginal import fit_graded, fit_marginal, graded_information
from .model import GRID, MODELS, Model, information, probability
from .planted import TIMES, Planting, plant
from .uncertainty import REPEATS
from .worth import CRITERIA, Criterion, ItemWorth, item_rest

__all__ = [
    "CRITERIA",
    "DROP",
    "ESTIMATORS",
    "FEWEST",
    "FEWEST_ITEMS",
    "GRID",
    "MODELS",
    "REPEATS",
    "STEPS",
    "TIMES",
    "Analysis",
    "Bounded",
    "Criterion",
    "EstimatorName",
    "Improvement",
    "ItemWorth",
    "Model",
    "Planting",
    "analyse",
    "design_of",
    "fit_graded",
    "fit_marginal",
    "graded_information",
    "improve",
    "information",
    "information_by_category",
    "item_rest",
    "mean_information",
    "plant",
    "probability",
]
