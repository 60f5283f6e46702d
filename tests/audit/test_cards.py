"""Grader cards from a blind audit, cross-fitted by query and stale after changes, and the choice of a grader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exam_workbench.audit import (
    Goal,
    choose_grader,
    design_audit,
    draw_batch,
    find_audit,
    find_card,
    make_card,
    reveal_label,
)
from exam_workbench.bank import find_grader
from exam_workbench.labels import add_override
from exam_workbench.measures.audit import (
    CorrectedGains,
    clustered_interval,
    compare_graders,
    cross_fitted,
    relevant_shares,
    weighted_kappas,
)
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.audits import QUERIES, SYSTEMS, deal, fill_audited, judge_batch, judged_audit, truth
from tests.made.projects import SPEC, filled_project, grade, import_bank, judge, made_project
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed


def audited(project: Project) -> None:
    fill_audited(project)
    judged_audit(project, "a", "DCG@5", Goal("best"), batch_size=40, looks=2, seed=5)


project = filled_project(audited)


def test_card_reports_audit_agreement_and_later_changes(project: Project) -> None:
    grader = find_grader(project, None)
    assert find_card(project, grader) is None
    card = make_card(project, grader, "org")
    assert card == find_card(project, grader) and card.stale == []
    agreement = card.content["agreement"]
    assert agreement["blind"] and agreement["judged"] > 30
    assert agreement["kappa"]["low"] <= agreement["kappa"]["value"] <= agreement["kappa"]["high"]
    assert set(agreement["by_system"]) == set(SYSTEMS)
    # The grades are never below the judgments, so the label 0 has no relevant passage.
    assert agreement["by_label"]["0"]["value"] == 0 and agreement["by_label"]["3"]["value"] == 1
    assert card.content["failed"] == card.content["defaulted"] == 0 and card.content["consistent"] is None
    import_bank(project, [Question("q1/b", "q1", "More of q1?")])
    again = find_card(project, grader)
    assert again is not None and again.stale == ["questions"]
    add_override(project, "q1/a", "q1p1", 3, "seen", "ann")
    again = find_card(project, grader)
    assert again is not None and again.stale == ["questions", "overrides"]
    assert make_card(project, grader, "org").stale == []


def test_unsampled_judgments_are_reported_apart_from_agreement(tmp_path: Path) -> None:
    own = made_project(tmp_path / "test.duckdb", fill_audited)
    grader = find_grader(own, None)
    before = make_card(own, grader, "org").description
    judge(own, {(query, f"{query}p{i}"): int(i < 4) for query in ("q1", "q2", "q3") for i in range(1, 10)}, "NIST")
    card = make_card(own, grader, "org")
    assert card.content["agreement"] is None and card.content["unsampled"]["source"] == "NIST"
    assert card.content["unsampled"]["judged"] == card.content["unsampled"]["kappa"]["judged"] == 27
    assert card.description.startswith(before.split(".")[0]) and "NIST" in card.description and "NIST" not in before


def test_card_with_revealed_labels_is_not_blind(project: Project) -> None:
    audit = find_audit(project)
    draw_batch(project, audit, "org")
    hand = deal(project, audit, "ann")
    assert hand is not None
    reveal_label(project, audit, hand.query.query_id, hand.cards[0].passage_id, "ann")
    assert make_card(project, find_grader(project, None), "org").content["agreement"]["blind"] is False


def test_command_creates_and_shows_a_card(shell_on: ShellOn) -> None:
    exam = shell_on(fill_audited)
    assert printed(exam("graders", "card", "--json")) == {"card": None}
    made = printed(exam("graders", "card", "--make", "--json"))
    assert made["card"]["content"]["agreement"] is made["card"]["content"]["unsampled"] is None
    assert printed(exam("graders", "card", "--json")) == made


def test_cut_point_of_a_query_is_fitted_on_other_queries() -> None:
    queries = np.repeat(np.arange(10), 4)
    relevant = np.tile([True, True, False, False], 10)
    labels = np.where(relevant, 4.0, 1.0)
    # The labels of one query are reversed; this must not change its own cut point.
    labels[:4] = 5 - labels[:4]
    weight = np.ones(40)
    predicted = cross_fitted(labels, relevant, weight, queries)
    assert predicted[:4].tolist() == [False, False, True, True]
    assert predicted[4:].tolist() == relevant[4:].tolist()
    told = clustered_interval(weighted_kappas, weight, predicted, relevant, queries)
    assert told.value == pytest.approx(0.8) and told.low < 0.8 < told.high
    # Passages count by their weight.
    doubled = np.where(queries == 0, 9.0, 1.0)
    assert clustered_interval(weighted_kappas, doubled, predicted, relevant, queries).value == pytest.approx(0)
    share = clustered_interval(relevant_shares, weight, predicted, relevant, queries)
    assert (share.value, share.low, share.high) == (0.5, 0.5, 0.5)
    one = clustered_interval(weighted_kappas, weight[:4], predicted[:4], relevant[:4], queries[:4])
    assert one.value == -1 and one.low is None


# Choice of a grader


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


with_graders = filled_project(several)


def test_grader_that_matches_all_judgments_is_chosen(with_graders: Project) -> None:
    audit = find_audit(with_graders)
    with refusal("audit-without-batch", "--audit a"):
        choose_grader(with_graders, audit)
    judge_batch(with_graders, audit)
    draw_batch(with_graders, audit, "org", size=1000)
    judge_batch(with_graders, audit)
    found = choose_grader(with_graders, audit)
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
