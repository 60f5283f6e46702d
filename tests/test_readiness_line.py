"""The readiness of a leaderboard: graded pairs, open disagreements, audit, bank version."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench import audit, bank
from exam_workbench.audit import Goal
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.readiness_line import ReadinessLine, publication_checks, readiness_line
from exam_workbench.records import set_member
from exam_workbench.review import Judgments, Labels, list_disagreements, settle_by_comment
from exam_workbench.review._disagreements.settling import case_of
from exam_workbench.store import Project
from tests.made.audits import fill_audited, judge_batch
from tests.made.screens import QUESTIONS, put_small


@pytest.mark.parametrize("measure", ["nDCG@10", "P@1", "EXAM-Cover"])
def test_it_counts_the_pairs_that_the_leaderboard_counts(project: Project, measure: str) -> None:
    put_small(project)
    found, board = readiness_line(project, Policy(), measure), leaderboard(project, measure)
    assert (found.measure, found.needed, found.usable) == (board.measure, board.needed, board.usable)
    assert found.usable and found.bank_version == bank.latest_version(project)


def test_open_disagreements_are_those_of_the_queue_and_hidden_from_viewers(project: Project) -> None:
    put_small(project)
    sides = Labels(Policy()), Judgments("judgments")
    waiting = list_disagreements(project, *sides)
    found = readiness_line(project, Policy(), "AP")
    assert found.disagreements == waiting.total > 1
    settle_by_comment(project, case_of(project, *sides, waiting.rows[0].pair), "agreed", "ann")
    assert readiness_line(project, Policy(), "AP").disagreements == waiting.total - 1
    set_member(project, "vera@x.org", "viewer", "shell")
    seen = readiness_line(project.acting_as("vera@x.org"), Policy(), "AP")
    assert seen == replace(found, disagreements=None)


def test_an_audit_counts_once_its_first_batch_is_judged(project: Project) -> None:
    fill_audited(project)

    def audited() -> str:
        return readiness_line(project, Policy(), "P@3").audited

    assert audited() == "not audited"
    audit.design_audit(project, "first", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    assert audited() == "audit in progress"
    audit.draw_batch(project, audit.find_audit(project), "org")
    judge_batch(project, audit.find_audit(project), "ben")
    assert audited() == "audited"


def test_too_few_pairs_are_graded_after_most_questions_are_new(project: Project) -> None:
    put_small(project)
    assert not readiness_line(project, Policy(), "AP").too_few
    bank.save_version(project, [replace(one, text=f"{one.text} Why?") for one in QUESTIONS[1:]], "", "bob")
    found = readiness_line(project, Policy(), "AP")
    assert found.too_few and 0 < found.usable < found.needed / 2


def test_the_checklist_is_done_where_nothing_is_open(project: Project) -> None:
    put_small(project)
    line = readiness_line(project, Policy(), "AP")
    checks = {check.name: check.done for check in publication_checks(project, Policy(), line)}
    done = {"graded": line.usable == line.needed, "failed": False, "stale": True, "sealed": True}
    assert checks == done | {"disagreements": False, "audit": False}


@pytest.mark.parametrize(
    ("needed", "usable", "graded"),
    [(0, 0, "0%"), (100, 29, "29%"), (1000, 999, "99%"), (9, 9, "100%"), (1000, 9, "under 1%")],
)
def test_the_share_is_never_rounded_up(needed: int, usable: int, graded: str) -> None:
    assert ReadinessLine("AP", needed, usable, None, "not audited", 1).graded == graded
