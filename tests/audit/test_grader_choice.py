"""Choice of a grader by one audit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exam_workbench.audit import Goal, choose_grader, design_audit, draw_batch, find_audit
from exam_workbench.measures.audit import CorrectedGains, compare_graders
from exam_workbench.store import Project
from tests.made.audits import QUERIES, fill_audited, judge_batch, truth
from tests.made.projects import SPEC, filled_project, grade
from tests.made.refusals import refusal


def several(project: Project) -> None:
    """An audit with a batch, and three graders: right, noisy, and one that grades only three passages."""
    fill_audited(project)
    audit = design_audit(project, "a", "DCG@5", Goal("best"), batch_size=30, looks=2, seed=5, author="org")
    pairs = [(f"What of {query}?", f"{query}p{i}") for query in QUERIES for i in range(1, 10)]
    grade(
        project,
        {(text, passage): truth(text[8:-1], passage) for text, passage in pairs},
        replace(SPEC, name="right", model="right", max_rating=3),
    )
    grade(project, dict.fromkeys(pairs[:3], 1), replace(SPEC, name="few", model="few"))
    draw_batch(project, audit, "org")


project = filled_project(several)


def test_grader_that_matches_all_judgments_is_chosen(project: Project) -> None:
    audit = find_audit(project)
    with refusal("audit-without-batch", "--audit a"):
        choose_grader(project, audit)
    judge_batch(project, audit)
    draw_batch(project, audit, "org", size=1000)
    judge_batch(project, audit)
    found = choose_grader(project, audit)
    by_name = {one.grader: one for one in found.graders}
    assert found.chosen == "right" == found.graders[0].grader
    # All passages are judged now, so there is no sampling error.
    assert by_name["right"].correlation == pytest.approx(1)
    assert [name for name, one in by_name.items() if one.kept] == ["right"]
    assert by_name["few"].labelled < 0.1 < by_name[SPEC.name].labelled == 1
    noisy = by_name[SPEC.name]
    assert noisy.behind == noisy.low == noisy.high == pytest.approx(1 - noisy.correlation)


def test_set_keeps_best_grader_and_drops_far_worse_one() -> None:
    dice = np.random.default_rng(3)
    w = dice.random((8, 400)) / 400
    gains = dice.random(400)
    scores = w @ gains
    machines = np.array([scores + dice.normal(0, 0.1 * scores.std(), 8), scores, dice.permutation(scores)])
    found = CorrectedGains(gains, np.full(400, 1e-6), 400, 0)
    compared = compare_graders(w, machines, found)
    assert compared.chosen == 1
    assert compared.kept.tolist()[1:] == [True, False]
    assert compared.behind.value[2] == pytest.approx(1 - compared.value[2])
    assert compared.behind.low[2] < compared.behind.high[2]
