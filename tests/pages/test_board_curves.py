"""The leaderboard's view by budget: lines of systems, Judged@k, and where to grade what is missing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from exam_workbench import bank
from exam_workbench.graders import make_grader
from exam_workbench.grading import make_plan
from exam_workbench.jobs import current_job
from exam_workbench.labels import Policy, cover_curves
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.study import judged_shares, to_grade
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.screens import (
    DEADLINE,
    QUESTIONS,
    RATINGS,
    RUNS,
    AppTest,
    charts,
    choose,
    links,
    press,
    served,
    shows,
    small,
    sound,
    visit,
)

__all__ = ["served", "small"]


def test_the_view_shows_coverage_and_judged_of_every_system(small: Project) -> None:
    app = visit("leaderboard", project=small.name, view="By budget")
    order = sorted(cover_curves(small).curves, key=lambda curve: -curve.scores[19])
    assert app.multiselect[0].value == [curve.run for curve in order]
    assert len(charts(app)) == 1
    assert not shows(app, "pool-ends")
    table = judged_table(app).set_index("Run")
    shares = {(share.run, share.source): share.judged for share in judged_shares(small, Policy(), 20)}
    assert table["Exam labels"].to_dict() == {run: shares[run, "exam"] for run in RUNS}
    assert table["assessors"].to_dict() == {run: shares[run, "assessors"] for run in RUNS}
    assert shows(app, "choose-system")


def judged_table(app: AppTest) -> pd.DataFrame:
    return next(t.value for t in app.dataframe if "Exam labels" in t.value)


def colours(app: AppTest) -> dict[str, str]:
    """The colour of each line, by its run."""
    scale = charts(app)[0]["layer"][1]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_a_system_keeps_its_colour_whatever_its_place_on_the_board(small: Project) -> None:
    app = visit("leaderboard", project=small.name, view="By budget")
    before = colours(app)
    assert len(set(before.values())) == len(RUNS)
    app = choose(app, "tau", 1)
    assert list(colours(app)) != list(before), "the legend is in the order of the board"
    assert colours(app) == before
    app.multiselect("curves of").set_value(["poor", "bad"])
    assert colours(sound(app.run())) == {run: before[run] for run in ("poor", "bad")}
    app.multiselect("curves of").set_value(["fair", "bad", "poor", "good"])
    after = colours(sound(app.run()))
    assert {run: after[run] for run in ("poor", "bad")} == {run: before[run] for run in ("poor", "bad")}
    assert len(set(after.values())) == len(RUNS)


def test_where_runs_are_deeper_than_the_pool_the_view_says_that_curves_may_be_too_flat(small: Project) -> None:
    with small.transaction() as cursor:
        set_pool_depth(cursor, 1, "ann")
    assert shows(visit("leaderboard", project=small.name, view="By budget"), "pool-ends", 1)


def test_without_three_complete_queries_no_curve_is_drawn_and_the_screen_says_what_to_do(small: Project) -> None:
    bank.save_version(small, [Question("q1/new", "q1", "What else?")], "", "ann")
    app = visit("leaderboard", project=small.name, view="By budget")
    assert shows(app, "few-complete", 3) and not charts(app)


def test_nothing_to_grade_asks_for_nothing(project: Project) -> None:
    fill(project, QUESTIONS, {key: rating or 0 for key, rating in RATINGS.items()}, RUNS)
    app = visit("leaderboard", project=project.name, view="By budget")
    assert shows(app, "all-graded")
    assert not shows(app, "choose-system")


def select(app: AppTest, key: str, row: int) -> AppTest:
    """The screen after a click on a row of a table."""
    chosen: dict[str, Any] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.session_state[key] = chosen
    return sound(app.run())


def test_one_click_grades_what_the_top_of_one_system_lacks_and_nothing_else(project: Project) -> None:
    spec = make_grader("embedding", {}).spec
    fill(project, QUESTIONS, {("What is A?", "p1"): 4}, RUNS, spec)
    app = visit("leaderboard", project=project.name, view="By budget")
    ungraded = [to_grade(project, Policy(), run, 20).ungraded for run in judged_table(app)["Run"]]
    row = min((row for row, n in enumerate(ungraded) if n), key=ungraded.__getitem__)
    run, lacking, missing = judged_table(app)["Run"][row], ungraded[row], make_plan(project, spec, 1).to_grade
    assert 0 < lacking < missing
    app = select(app, "judged systems", row)
    listed = next(t.value for t in app.dataframe if "Passage" in t.value)
    assert listed["Ungraded pairs"].sum() == lacking
    assert listed["Rank"].is_monotonic_increasing
    app = press(app, "grade unjudged")
    job = current_job(project)
    assert job is not None
    assert job.wait(DEADLINE)
    assert job.progress.graded == lacking
    sound(app.run())
    assert shows(app, "top-graded")
    assert to_grade(project, Policy(), run, 20).ungraded == 0
    assert make_plan(project, spec, 1).to_grade == missing - lacking


def test_a_passage_to_grade_next_can_be_read(project: Project) -> None:
    fill(project, QUESTIONS, {("What is A?", "p1"): 4}, RUNS, make_grader("embedding", {}).spec)
    app = select(visit("leaderboard", project=project.name, view="By budget"), "judged systems", 0)
    run = judged_table(app)["Run"][0]
    app = select(app, f"next of {run}", 0)
    assert "passages" in links(app)


def test_a_grader_that_came_from_a_file_is_said_not_to_run_here(project: Project) -> None:
    fill(project, QUESTIONS, {("What is A?", "p1"): 4}, RUNS)
    app = select(visit("leaderboard", project=project.name, view="By budget"), "judged systems", 0)
    assert shows(app, "no-grader-here")
