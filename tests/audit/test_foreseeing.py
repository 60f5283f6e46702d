"""Forecasts before an audit is planned; nothing is stored."""

from __future__ import annotations

from exam_workbench.audit import Goal, design_audit, find_audits, forecast_audit, forecast_plan
from exam_workbench.store import Project
from tests.made.audits import fill_audited
from tests.made.projects import read_project
from tests.made.refusals import refusal

looked_at = read_project(fill_audited)


def test_forecast_matches_that_of_the_planned_audit(project: Project) -> None:
    fill_audited(project)
    for goal in (Goal("best"), Goal("pair", first="good", second="poor"), Goal("width", half_width=0.05)):
        seen = forecast_plan(project, "DCG@5", goal)
        assert find_audits(project) == []
        made = design_audit(project, "a", "DCG@5", goal, author="org")
        assert seen == forecast_audit(project, made)
        with project.transaction() as cursor:
            cursor.execute("DELETE FROM audits")


def test_forecast_of_an_invalid_plan_is_refused(looked_at: Project) -> None:
    with refusal("measure-not-linear"):
        forecast_plan(looked_at, "nDCG@10", Goal("best"))
    with refusal("goal-run-not-audited"):
        forecast_plan(looked_at, "P@3", Goal("pair", first="good", second="poor"), runs=["good", "fair"])
