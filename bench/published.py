"""Decompose the paper's table 2 into components and set them beside its table 3, as far as printed numbers allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from core.measures.item_response import factor_design

Array = NDArray[np.float64]

EXAMS = ("ops", "stk", "arx", "sec")
MODELS = ("7B", "13B", "70B")
RETRIEVALS = ("ClosedB", "SIAM", "DPR", "BM25", "MultiQA", "DPRV2", "Oracle")

# Guinet et al., ICML 2024, table 2: accuracy in per cent by model and retrieval, the best over examples in context.
TABLE_2 = {
    "7B": "52.2 48.6 54.5 49.5 45.5 50.0 57.0 47.6 52.2 58.3 60.3 60.5 58.0 60.4 69.5 55.3 57.7 72.2 69.5 53.6"
    " 55.1 70.1 69.4 63.9 63.8 74.3 68.6 70.9",
    "13B": "50.4 42.4 45.5 45.8 44.6 48.6 56.2 42.7 51.3 54.9 55.4 61.0 54.5 63.2 66.9 55.9 58.0 67.4 66.1 53.8"
    " 55.7 66.7 69.4 63.9 63.0 68.8 68.6 69.9",
    "70B": "63.0 38.2 47.1 48.7 55.4 53.5 57.9 49.5 61.5 59.7 60.3 68.3 71.4 65.3 76.9 64.3 72.6 75.7 74.4 58.6"
    " 69.7 72.2 77.7 67.6 72.6 73.6 76.0 77.1",
}
# Table 3; that of sec is not in the text that we have.
TABLE_3 = {
    "ops": {"llm": (-0.38, -0.04, 1.00), "retrieval": (-0.86, -2.74, -0.87, -0.56, -0.43, -0.54, -0.20)},
    "stk": {"llm": (-0.59, -0.51, 0.40), "retrieval": (-1.39, -0.06, 0.36, 0.62, 1.06, 0.99, 1.14)},
    "arx": {"llm": (-1.03, -0.78, -0.05), "retrieval": (-0.62, -0.21, -0.01, 0.60, 0.62, 0.72, 0.75)},
}
# Table 5: mean d, b and g of each exam.
TABLE_5 = {"ops": (1.10, 0.47, 0.30), "arx": (1.09, 0.40, 0.30), "stk": (1.16, 0.49, 0.30), "sec": (1.01, 0.22, 0.30)}


def decomposed(exam: str) -> dict[str, Array]:
    """What each level adds to ability beside the first of its factor, from the accuracies of one exam.

    An accuracy a is taken to the ability at which the exam's mean item gives it, b + logit((a - g) / (1 - g)) / d, and
    the 21 abilities are split into model and retrieval by least squares.
    """
    cells = [(model, retrieval) for model in MODELS for retrieval in RETRIEVALS]
    percents = np.concatenate([np.array(TABLE_2[model].split(), float).reshape(7, 4) for model in MODELS])
    d, b, g = TABLE_5[exam]
    share = np.maximum((percents[:, EXAMS.index(exam)] / 100 - g) / (1 - g), 0.01)
    theta = b + np.log(share / (1 - share)) / d
    design = factor_design({"llm": [model for model, _ in cells], "retrieval": [found for _, found in cells]})
    parts = np.linalg.lstsq(design.matrix, theta, rcond=None)[0]
    return {name: parts[at] - parts[at.start] for name, at in design.columns.items()}


def published(say: Callable[..., None]) -> None:
    """Print the decomposition of table 2 beside table 3, as differences from the first level."""
    names = {"llm": MODELS, "retrieval": RETRIEVALS}
    for exam in EXAMS:
        ours = decomposed(exam)
        for factor, levels in names.items():
            say(f"{exam}: {factor} from table 2, beside {levels[0]}", _shown(levels, ours[factor]))
            if exam not in TABLE_3:
                continue
            printed = np.array(TABLE_3[exam][factor]) - TABLE_3[exam][factor][0]
            agree = f"correlation {np.corrcoef(printed, ours[factor])[0, 1]:.2f}" if len(printed) > 3 else ""
            say(f"{exam}: {factor} in table 3", _shown(levels, printed), agree)


def _shown(levels: Sequence[str], values: Array) -> str:
    return "  ".join(f"{level} {value:+.2f}" for level, value in zip(levels[1:], values[1:], strict=True))
