"""Shared prompt prefixes: cached tokens in whole blocks, above a minimum length."""

from __future__ import annotations

import pytest

from exam_workbench.graders import built_in_prompts, make_grader
from exam_workbench.grading._price_tag import read_before


def test_shared_prefixes_count_in_whole_blocks_above_a_minimum() -> None:
    one, other = "a" * 400 + "b" * 400, "a" * 400 + "c" * 400
    assert read_before([one, other], 16, 16) == pytest.approx(96 / 402)
    assert read_before([one, other], 101, 16) == 0
    assert read_before([one, one, one], 128, 128) == pytest.approx(2 * 128 / 603)
    long = "x" * 4 * 1024
    assert read_before([long, long]) == pytest.approx(1024 / 2050)
    assert read_before([long]) == read_before([]) == 0


@pytest.mark.parametrize(("prompt", "fence", "first"), [
    ("self-rating", False, "question"),
    ("self-rating", True, "question"),
    ("self-rating-chat", False, "passage"),
])  # fmt: skip
def test_pairs_are_ordered_to_share_prompt_prefixes(prompt: str, fence: bool, first: str) -> None:
    assert prompt in built_in_prompts()
    grader = make_grader(
        "self-rating", {"model": "m", "base_url": "http://localhost:9/v1", "prompt": prompt, "fence": fence}
    )
    ordered = grader.ordered([(2, 1), (1, 2), (2, 2), (1, 1)])  # type: ignore[attr-defined]
    by_question = [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert ordered == (by_question if first == "question" else [(1, 1), (2, 1), (1, 2), (2, 2)])
