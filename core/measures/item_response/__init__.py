"""Item response: ability of students and what each item tells of it, from right and wrong answers; no project."""

from __future__ import annotations

from core.measures.item_response.analysis import Analysis, analyse, design_of, remarks
from core.measures.item_response.components import (
    Bounded,
    Component,
    StudentAbility,
    components,
    student_abilities,
)
from core.measures.item_response.curves import FEWEST_IN_CATEGORY, Curve, information_by_category, mean_information
from core.measures.item_response.design import FLAT, Design, Factor, factor_design, flat_design, inseparable
from core.measures.item_response.estimators import ESTIMATORS, Estimator, EstimatorName
from core.measures.item_response.improve import (
    DROP,
    FEWEST_ITEMS,
    STEPS,
    HeldOut,
    Improvement,
    Step,
    improve,
    linked,
    ranking,
)
from core.measures.item_response.joint import FEWEST, FEWEST_STUDENTS, STARTS, Fit, fit
from core.measures.item_response.likelihood import Objective, log_likelihood
from core.measures.item_response.marginal import (
    GradedFit,
    GradedItems,
    MarginalFit,
    fit_graded,
    fit_marginal,
    graded_chances,
    graded_information,
)
from core.measures.item_response.model import GRID, MODELS, Items, Model, information, peak, probability
from core.measures.item_response.planted import FAULTS, TIMES, Fault, Planting, among_last, plant
from core.measures.item_response.statistics import FitStatistics, MeanAndSpread, fit_statistics, item_rmse
from core.measures.item_response.uncertainty import (
    CONFIDENCE,
    REPEATS,
    Draws,
    bootstrap_items,
    interval,
    item_errors,
)
from core.measures.item_response.worth import CRITERIA, Criterion, ItemWorth, item_rest, worth

__all__ = [
    "CONFIDENCE",
    "CRITERIA",
    "DROP",
    "ESTIMATORS",
    "FAULTS",
    "FEWEST",
    "FEWEST_IN_CATEGORY",
    "FEWEST_ITEMS",
    "FEWEST_STUDENTS",
    "FLAT",
    "GRID",
    "MODELS",
    "REPEATS",
    "STARTS",
    "STEPS",
    "TIMES",
    "Analysis",
    "Bounded",
    "Component",
    "Criterion",
    "Curve",
    "Design",
    "Draws",
    "Estimator",
    "EstimatorName",
    "Factor",
    "Fault",
    "Fit",
    "FitStatistics",
    "GradedFit",
    "GradedItems",
    "HeldOut",
    "Improvement",
    "ItemWorth",
    "Items",
    "MarginalFit",
    "MeanAndSpread",
    "Model",
    "Objective",
    "Planting",
    "Step",
    "StudentAbility",
    "among_last",
    "analyse",
    "bootstrap_items",
    "components",
    "design_of",
    "factor_design",
    "fit",
    "fit_graded",
    "fit_marginal",
    "fit_statistics",
    "flat_design",
    "graded_chances",
    "graded_information",
    "improve",
    "information",
    "information_by_category",
    "inseparable",
    "interval",
    "item_errors",
    "item_rest",
    "item_rmse",
    "linked",
    "log_likelihood",
    "mean_information",
    "peak",
    "plant",
    "probability",
    "ranking",
    "remarks",
    "student_abilities",
    "worth",
]
