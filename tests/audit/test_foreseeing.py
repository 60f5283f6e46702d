"""Before an audit is planned one sees what it takes; nothing is written for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.audit import Goal, audits, design, forecast, foresee
from exam_workbench.store import Project
from tests.made.audits import fill_audited
from tests.made.projects import only_read
from tests.made.refusals import refusal


@pytest.fixture
def looked_at(tmp_path: Path) -> Iterator[Project]:
    yield from only_read(fill_audited, tmp_path)


def test_what_is_foreseen_is_what_the_planned_audit_forecasts(project: Project) -> None:
    fill_audited(project)
    for goal in (Goal("best"), Goal("pair", first="good", second="poor"), Goal("width", half_width=0.05)):
        seen = foresee(project, "DCG@5", goal)
        assert audits(project) == []
        made = design(project, "a", "DCG@5", goal, author="org")
        assert seen == forecast(project, made)
        with project.transaction() as cursor:
            cursor.execute("DELETE FROM audits")


def test_what_cannot_be_audited_is_refused_before_anything_is_planned(looked_at: Project) -> None:
    with refusal("measure-not-linear"):
        foresee(looked_at, "nDCG@10", Goal("best"))
    with refusal("goal-run-not-audited"):
        foresee(looked_at, "P@3", Goal("pair", first="good", second="poor"), runs=["good", "fair"])
