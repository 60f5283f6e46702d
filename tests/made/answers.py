"""Simulated answers of examinees to items, with the true parameters behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exam_workbench.choices import ResponseModel
from exam_workbench.measures.item_response import answer_probability
from exam_workbench.measures.item_response._response_models import Design, Items, factor_design

ADDED: Mapping[str, Mapping[str, float]] = {
    "llm": {"7B": -0.5, "13B": -0.3, "70B": 0.4},
    "retrieval": {
        "closed-book": -1.2,
        "SIAM": -0.3,
        "DPR": 0.1,
        "BM25": 0.4,
        "MultiQA": 0.7,
        "DPRV2": 0.7,
        "oracle": 0.9,
    },
    "icl": {"0": -0.4, "1": 0.1, "2": 0.2},
}
"""The effect of each level on ability; the combinations are the 63 examinees of the paper."""


@dataclass(frozen=True)
class Exam:
    """Answers (1 right, 0 wrong) with their true parameters."""

    responses: NDArray[np.float64]
    design: Design
    theta: NDArray[np.float64]
    items: Items


def students(added: Mapping[str, Mapping[str, float]] = ADDED) -> dict[str, list[str]]:
    """Return the level of every factor for each examinee: every combination once."""
    rows: list[list[str]] = [[]]
    for levels in added.values():
        rows = [[*row, level] for row in rows for level in levels]
    return {factor: [row[i] for row in rows] for i, factor in enumerate(added)}


def exam(n: int, seed: int = 0, model: ResponseModel = "3pl", added: Mapping[str, Mapping[str, float]] = ADDED) -> Exam:
    """Return the answers of all examinees to n items, drawn with a seed."""
    rng = np.random.default_rng(seed)
    design = factor_design(students(added))
    parts: Sequence[float] = [value for levels in added.values() for value in levels.values()]
    theta = design.matrix @ np.array(parts)
    theta -= theta.mean()
    d = np.ones(n) if model == "1pl" else np.exp(rng.normal(0, 0.4, n))
    items = Items(d, rng.normal(0, 1, n), rng.beta(5, 16, n) if model == "3pl" else np.zeros(n))
    responses = (rng.random((len(theta), n)) < answer_probability(theta, items)).astype(float)
    return Exam(responses, design, theta, items)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Pearson's correlation."""
    return float(np.corrcoef(x, y)[0, 1])
