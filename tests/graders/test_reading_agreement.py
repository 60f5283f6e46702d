"""Published answers of models get the published ratings; the rules explain every difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graders.answer_agreement import (
    DEFAULT_NUMBER,
    DEFAULT_WORDS,
    EXPLAINED,
    FAILED,
    SAME,
    compare_ratings,
    compare_verdicts,
    self_ratings,
    umbrela,
    verdicts,
)


def test_no_answer_of_flan_t5_gets_another_number_than_rubrics_but_for_the_kinds_that_the_rules_make(
    shared_data: Path,
) -> None:
    found = compare_ratings(self_ratings(shared_data))
    assert found.kinds == {SAME: 143_793, FAILED: 328, DEFAULT_NUMBER: 15, DEFAULT_WORDS: 232, EXPLAINED: 47}
    for kind in (DEFAULT_NUMBER, DEFAULT_WORDS):
        assert {(ours, theirs) for _, ours, theirs in found.written[kind]} == {(1, 0)}
    assert {theirs for _, _, theirs in found.written[FAILED]} == {0}
    assert all(len(text) > len("4: ") for text, _, _ in found.written[EXPLAINED])


def test_every_grade_by_umbrelas_prompt_is_read_as_its_authors_read_it(shared_data: Path) -> None:
    assert compare_ratings(umbrela(shared_data), top=3).kinds == {SAME: 11_385}


@pytest.mark.parametrize(("judge", "unread"), [("gpt-4", 9), ("text-davinci-003", 0)])
def test_only_doubting_verdicts_of_real_judges_are_not_read(shared_data: Path, judge: str, unread: int) -> None:
    found = compare_verdicts(verdicts(shared_data, judge))
    assert found.kinds.total() >= 1489
    assert found.kinds[FAILED] == unread
