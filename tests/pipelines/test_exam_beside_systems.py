"""An exam in a project changes nothing of what systems are measured by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.labels import Policy
from core.leaderboard import leaderboard
from core.project import Project
from core.review import changes
from tests.made.exams import put_exam
from tests.made.screens import put_small

MEASURES = ("nDCG@10", "EXAM-Cover@20", "alpha_nDCG@10", "EXAM-Cover@20/pool")


@pytest.fixture
def with_runs(project: Project) -> Project:
    put_small(project)
    return project


@pytest.mark.parametrize("measure", MEASURES)
def test_no_board_changes(with_runs: Project, measure: str) -> None:
    before = leaderboard(with_runs, measure)
    put_exam(with_runs, prefix="jar")
    after = leaderboard(with_runs, measure)
    assert (after.systems, after.query_ids) == (before.systems, before.query_ids)
    assert (after.needed, after.usable) == (before.needed, before.usable)


@pytest.mark.parametrize("measure", MEASURES[:2])
def test_no_edit_of_an_item_does(with_runs: Project, measure: str) -> None:
    items = put_exam(with_runs, prefix="jar")
    found = changes(with_runs, measure, Policy(), {"exam": [replace(items[0], active=False), *items[1:]]})
    assert found.labels == [] and found.to_grade == 0
    assert [one.score_after for one in found.systems] == [one.score_before for one in found.systems]
