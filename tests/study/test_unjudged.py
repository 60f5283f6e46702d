"""Judged@k by source, and the passages of a new run that need grading."""

from __future__ import annotations

import json
from functools import partial

import pytest

from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.grading import Request, Scope, make_plan, run_job
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.study import to_grade, unjudged_shares
from exam_workbench.types import Question
from tests.made.projects import SPEC, commit, fill, filled_project, judge
from tests.made.refusals import refusal
from tests.made.shell import exam_on
from tests.records.test_doors import Recorder

BANK = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q2/c", "q2", "C?")]
OLD = {"old": {"q1": ["p1", "p2"], "q2": ["p3"]}}
RATINGS = {("A?", "p1"): 5, ("B?", "p1"): 1, ("A?", "p2"): 0, ("B?", "p2"): None, ("C?", "p3"): 4}
NEW = "q1 Q0 p4 1 9 new\nq1 Q0 p1 2 8 new\nq1 Q0 p2 3 7 new\nq2 Q0 p5 1 9 new\n"


def add_new_run(project: Project) -> None:
    fill(project, BANK, RATINGS, OLD)
    texts = "p4\ttext of p4\np5\ttext of p5\n"
    import_files(project, "passages", [Source("new.tsv", data=texts.encode())], "ann")
    import_files(project, "runs", [Source("new.run", data=NEW.encode())], "ann")


filled = filled_project(add_new_run)


def test_judged_share_is_counted_by_run_and_source(filled: Project) -> None:
    judge(filled, {("q1", "p4"): 1, ("q1", "p1"): 0, ("q1", "p2"): -1, ("q2", "p3"): 0})
    shares = {(s.run, s.source): s for s in unjudged_shares(filled).shares}
    assert (shares["old", "exam"].known, shares["old", "exam"].top, shares["old", "exam"].judged) == (3, 3, 1.0)
    # The new run has labels for p1 and p2 of three passages in q1, and for none in q2.
    assert (shares["new", "exam"].known, shares["new", "exam"].top) == (2, 4)
    assert shares["new", "exam"].judged == pytest.approx((2 / 3 + 0) / 2)
    # A judgment of -1 does not count as judged.
    assert (shares["new", "assessors"].known, shares["old", "assessors"].known) == (2, 2)
    board = leaderboard(filled, "Judged@2", "assessors", Policy(skipped="ignore"))
    found = {s.run: s.judged for s in unjudged_shares(filled, top_k=2).shares if s.source == "assessors"}
    assert found == pytest.approx(board.scores)
    with refusal("unknown-run", "nobody"):
        unjudged_shares(filled, runs=["nobody"])
    with refusal("unknown-run", "nobody"):
        make_plan(filled, SPEC, 1, Scope(runs=("nobody",)))
    with refusal("depth-out-of-range", "0"):
        unjudged_shares(filled, top_k=0)


def test_missing_grades_are_listed_by_best_rank(filled: Project) -> None:
    found = to_grade(filled, Policy(), "new", 20)
    assert (found.passages, found.ungraded, found.failed, found.not_pooled) == (4, 3, 1, 0)
    assert [(n.query_id, n.passage_id, n.rank, n.ungraded, n.failed) for n in found.next] == [
        ("q1", "p4", 1, 2, 0),
        ("q2", "p5", 1, 1, 0),
        ("q1", "p2", 3, 0, 1),
    ]
    short = to_grade(filled, Policy(), "new", 20, listed=1)
    assert (len(short.next), short.more, short.ungraded) == (1, 2, 3)
    assert to_grade(filled, Policy(), "old", 20).ungraded == 0
    commit(filled, set_pool_depth, 1, "ann")
    found = to_grade(filled, Policy(), "new", 20)
    # p4 and p5 are at rank 1, and p1 at rank 1 of the old run, so only p2 is not pooled.
    assert (found.passages, found.not_pooled, found.ungraded) == (4, 1, 3)
    assert unjudged_shares(filled).top_k == 1


def test_job_grades_only_missing_pairs_of_run(filled: Project) -> None:
    project = filled
    import_files(project, "passages", [Source("p6.tsv", data=b"p6\ttext of p6\n")], "ann")
    import_files(project, "runs", [Source("other.run", data=b"q1 Q0 p6 1 9 other\n")], "ann")
    wanted = to_grade(project, Policy(), "new", 20)
    assert make_plan(project, SPEC, 1, Scope(runs=("new",))).to_grade == wanted.ungraded == 3
    assert make_plan(project, SPEC, 1, Scope(runs=("new", "other"))).to_grade == 5
    assert make_plan(project, SPEC, 1).to_grade == 5
    grader = Recorder(SPEC, 5)
    final = run_job(project, grader, Request(Scope(runs=("new",))), "ann")  # type: ignore[arg-type]
    assert (final.state, final.graded) == ("done", 3)
    assert sorted((question.text, passage) for question, passage in grader.asked) == [
        ("A?", "text of p4"),
        ("B?", "text of p4"),
        ("C?", "text of p5"),
    ]
    after = unjudged_shares(project, runs=["new"])
    assert after.to_grade[0].ungraded == 0
    assert [s.judged for s in after.shares if s.source == "exam"] == [1.0]
    assert json.loads(project.value("SELECT request FROM jobs ORDER BY job_key DESC LIMIT 1"))["runs"] == ["new"]


def test_passages_without_text_are_not_counted_as_ungraded(project: Project) -> None:
    fill(project, BANK, RATINGS, OLD)
    import_files(project, "runs", [Source("new.run", data=NEW.encode())], "ann")
    found = to_grade(project, Policy(), "new", 20)
    assert (found.without_text, found.ungraded, found.failed) == (2, 0, 1)


def test_judged_shares_work_before_any_grading(project: Project) -> None:
    fill(project, BANK, {}, OLD)
    commit(project, "DELETE FROM graders")
    judge(project, {("q1", "p1"): 1})
    found = unjudged_shares(project)
    assert found.grader is None and found.to_grade == []
    assert [(s.source, s.known) for s in found.shares] == [("assessors", 1)]


def test_command_outputs(filled: Project) -> None:
    exam = partial(exam_on, filled)
    found = exam("unjudged", "--run", "new", "--json")
    assert found["to_grade"][0]["ungraded"] == 3
    assert {share["run"] for share in found["shares"]} == {"new"}
    assert "Judged@20" in exam("unjudged")
    curve = exam("curve", "--max-k", "2", "--run", "old", "--json")
    assert curve["curves"][0]["scores"] == pytest.approx([(1 / 2 + 1) / 2, (1 / 2 + 1) / 2])
    assert "@2" in exam("curve", "--max-k", "2")
    assert exam("leaderboard", "--measure", "EXAM-Cover@2", "--per", "topic", "--json")["per"] == "topic"
    assert exam("plan", "--run", "new", "--json")["needed"] == 7
