"""Item response theory: ability of examinees and information of items, from right and wrong answers. Only numbers."""

from .analysis import Analysis, Bounded, analyse, design_of
from .fits import ESTIMATORS, FEWEST, EstimatorName, fit_graded, fit_marginal, graded_information
from .improve import DROP, FEWEST_ITEMS, STEPS, TIMES, Improvement, Planting, improve, plant
from .model import GRID, MODELS, Model, information, information_by_category, mean_information, probability
from .statistics import CRITERIA, REPEATS, Criterion, ItemWorth, item_rest

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
