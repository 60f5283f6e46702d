"""The leaderboard's view by budget: lines of systems, Judged@k, and where to grade what is missing."""

from __future__ import annotations

from core.curves import cover_curves
from core.project import Project
from core.unjudged import unjudged
from tests.small import fill
from tests.test_pages import QUESTIONS, RATINGS, RUNS, links, said, served, small, visit

__all__ = ["served", "small"]


def test_the_view_shows_coverage_and_judged_of_every_system(small: Project) -> None:
    app = visit("leaderboard", project=small.name, view="By budget")
    order = sorted(cover_curves(small).curves, key=lambda curve: -curve.scores[19])
    assert app.multiselect[0].value == [curve.run for curve in order]
    assert len(app.get("vega_lite_chart")) == 1
    assert "The pool ends at rank 20" in said(app)
    table = next(t.value for t in app.dataframe if "Ungraded pairs" in t.value).set_index("Run")
    expected = unjudged(small)
    shares = {(share.run, share.source): share.judged for share in expected.shares}
    assert table["Exam labels"].to_dict() == {run: shares[run, "exam"] for run in RUNS}
    assert table["assessors"].to_dict() == {run: shares[run, "assessors"] for run in RUNS}
    assert table["Failed pairs"].to_dict() == {run.run: run.failed for run in expected.to_grade}
    assert "grading" in links(app)


def test_nothing_to_grade_needs_no_link(project: Project) -> None:
    fill(project, QUESTIONS, {key: rating or 0 for key, rating in RATINGS.items()}, RUNS)
    assert "grading" not in links(visit("leaderboard", project=project.name, view="By budget"))
