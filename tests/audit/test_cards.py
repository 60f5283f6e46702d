"""Grader cards: agreement from a blind audit, cross-fitted by query, stale after changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exam_workbench.audit import Goal, design_audit, draw_batch, find_audit, find_card, make_card, reveal_label
from exam_workbench.bank import find_grader
from exam_workbench.labels import add_override
from exam_workbench.measures.audit import clustered_interval, cross_fitted, relevant_shares, weighted_kappas
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.audits import SYSTEMS, deal, fill_audited, judge_batch
from tests.made.projects import copy_of, filled_project, import_bank, judge
from tests.made.shell import printed, shell_on


def audited(project: Project) -> None:
    fill_audited(project)
    audit = design_audit(project, "a", "DCG@5", Goal("best"), batch_size=40, looks=2, seed=5, author="org")
    draw_batch(project, audit, "org")
    judge_batch(project, audit)


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
    for own in copy_of(fill_audited, tmp_path):
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


def test_command_creates_and_shows_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exam = shell_on(fill_audited, tmp_path, monkeypatch, capsys)
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
