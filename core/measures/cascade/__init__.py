"""A cascade in numbers: what a cheap grader's ratings stand for, who is asked again, and a threshold that holds."""

from __future__ import annotations

from core.measures.cascade.deciding import Decision, Terms, decide
from core.measures.cascade.guarantee import (
    FEWEST,
    PROMISES,
    Guarantee,
    Promise,
    Step,
    draws,
    promised,
    upper_bound,
)
from core.measures.cascade.labelling import (
    AGREEMENTS,
    UNKNOWN,
    Agreement,
    Labelling,
    agreeing,
    confidence,
    learn,
    priorities,
)
from core.measures.cascade.weighing import weight

__all__ = [
    "AGREEMENTS",
    "FEWEST",
    "PROMISES",
    "UNKNOWN",
    "Agreement",
    "Decision",
    "Guarantee",
    "Labelling",
    "Promise",
    "Step",
    "Terms",
    "agreeing",
    "confidence",
    "decide",
    "draws",
    "learn",
    "priorities",
    "promised",
    "upper_bound",
    "weight",
]
