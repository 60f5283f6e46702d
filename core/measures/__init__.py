"""Measures of a ranking, means, correlation, agreement and tests: numbers from numbers, without project or SQL."""

from .agreement import (
    Coefficient,
    CrossTable,
    alpha_of,
    cohen_kappa,
    cross_table,
    halves,
    krippendorff_alpha,
    matching,
    merge,
    per_level,
    weighted_kappa,
)
from .choosing import Choice, Choosing, NewScore, Pairing, Stake, Table, choosing, stakes
from .correlation import Correlation, Ties, bootstrap, bootstrap_samples, correlate, correlate_by
from .intents import Answers, answers_of, make_intent_evaluator
from .means import Array, Interval, Skipped, mean_and_standard_error, system_score, tied, wilson
from .measure import (
    COVER,
    MEASURES,
    SUPPORT_PRECISION,
    SUPPORT_RECALL,
    SUPPORTED_COVER,
    Measure,
    MeasureBasis,
    parse_measure,
)
from .nuggets import SUPPORTED as NUGGETS_SUPPORTED
from .nuggets import NuggetScores, mean_nugget_scores, nugget_scores
from .significance import ALPHA, PERMUTATIONS, holm, mcnemar, randomisation_test, t_test
from .similarity import SIMILARITIES
from .trec import make_evaluator, trec_order

__all__ = [
    "ALPHA",
    "COVER",
    "MEASURES",
    "NUGGETS_SUPPORTED",
    "PERMUTATIONS",
    "SIMILARITIES",
    "SUPPORTED_COVER",
    "SUPPORT_PRECISION",
    "SUPPORT_RECALL",
    "Answers",
    "Array",
    "Choice",
    "Choosing",
    "Coefficient",
    "Correlation",
    "CrossTable",
    "Interval",
    "Measure",
    "MeasureBasis",
    "NewScore",
    "NuggetScores",
    "Pairing",
    "Skipped",
    "Stake",
    "Table",
    "Ties",
    "alpha_of",
    "answers_of",
    "bootstrap",
    "bootstrap_samples",
    "choosing",
    "cohen_kappa",
    "correlate",
    "correlate_by",
    "cross_table",
    "halves",
    "holm",
    "krippendorff_alpha",
    "make_evaluator",
    "make_intent_evaluator",
    "matching",
    "mcnemar",
    "mean_and_standard_error",
    "mean_nugget_scores",
    "merge",
    "nugget_scores",
    "parse_measure",
    "per_level",
    "randomisation_test",
    "stakes",
    "system_score",
    "t_test",
    "tied",
    "trec_order",
    "weighted_kappa",
    "wilson",
]
