"""Ties of alpha_nDCG's greedy ideal, broken as in NIST's ndeval: the greatest passage id first."""

from __future__ import annotations

import math

import pytest

from exam_workbench.measures._intents import make_alpha_ndcg

INTENTS = {
    "q": {
        "a": {"1": 1, "2": 1},
        "b": {"3": 1, "4": 1},
        "c": {"1": 1, "3": 1},
    }
}


def test_greatest_id_comes_first_among_passages_of_equal_gain() -> None:
    """All passages answer two questions. After c, each other passage adds 1.5; after a, b would add 2."""
    ideal = 2 + 1.5 / math.log2(3) + 1.5 / 2
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = 2 + 2 / math.log2(3) + 1 / 2
    assert make_alpha_ndcg(INTENTS, 3)(run)["q"] == pytest.approx(found / ideal)
    assert make_alpha_ndcg(INTENTS, 3)({"q": {"c": 3.0, "b": 2.0, "a": 1.0}})["q"] == pytest.approx(1.0)
