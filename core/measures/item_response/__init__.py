"""Item response: ability of students and what each item tells of it, from right and wrong answers; no project."""

from __future__ import annotations

from core.measures.item_response.analysis import Analysis, analyse, design_of
from core.measures.item_response.components import Bounded
from core.measures.item_response.curves import information_by_category, mean_information
from core.measures.item_response.estimators import ESTIMATORS, EstimatorName
from core.measures.item_response.improve import DROP, FEWEST_ITEMS, STEPS, Improvement, improve
from core.measures.item_response.joint import FEWEST
from core.measures.item_response.marginal import fit_graded, fit_marginal, graded_information
from core.measures.item_response.model import GRID, MODELS, Model, information, probability
from core.measures.item_response.planted import TIMES, Planting, plant
from core.measures.item_response.uncertainty import REPEATS
from core.measures.item_response.worth import CRITERIA, Criterion, ItemWorth, item_rest

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
