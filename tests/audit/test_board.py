"""Audited leaderboards: exactness, seeds and bundles."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from exam_workbench.audit import (
    Audit,
    AuditBoard,
    Goal,
    Verdict,
    audit_board,
    audit_files,
    audit_notice,
    audit_outcome,
    board_of,
    describe_methods,
    design_audit,
    draw_batch,
    end_batch,
    find_audit,
    judge_drawn,
    list_batches,
    read_facts,
    store_verdict,
)
from exam_workbench.audit._audit_data import gather_facts
from exam_workbench.audit._audited_leaderboard import Difference
from exam_workbench.audit._needed_judgments import forecast_of
from exam_workbench.exchange import bundle_publication, export_project, import_project, reproduce_bundle
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures.audit import linear_measure
from exam_workbench.records import state_families
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.audits import QUERIES, SYSTEMS, deal, fill_audited, judge_batch, next_card, truth
from tests.made.projects import fill, filled_project, judge as import_judgments, read_project
from tests.made.refusals import mentions, refusal


def difference(board: AuditBoard, first: str, second: str) -> Difference:
    """Return the difference of two systems, first minus second."""
    for one in board.differences:
        if (one.first, one.second) == (first, second):
            return one
        if (one.second, one.first) == (first, second):
            low, high = (None if end is None else -end for end in (one.high, one.low))
            return Difference(first, second, -one.value, low, high, one.p, one.adjusted)
    raise KeyError((first, second))


def audited(project: Project) -> None:
    """An audit with one batch judged except for one passage, and a second batch not yet judged."""
    fill_audited(project)
    audit = design_audit(project, "a", "DCG@5", Goal("best"), batch_size=15, looks=3, seed=5, author="org")
    draw_batch(project, audit, "org", doubled=0.3)
    found = deal(project, audit, "ann")
    assert found is not None
    store_verdict(project, audit, Verdict(found.query.query_id, found.cards[0].passage_id, "cannot say"), "ann")
    judge_batch(project, audit)
    judge_batch(project, audit, "bob")
    draw_batch(project, audit, "org")


filled = filled_project(fill_audited)
done = filled_project(audited)
unchanged = read_project(audited)


def plan(project: Project, goal: Goal | None = None, **how: object) -> Audit:
    return design_audit(project, "a", "P@3", goal or Goal("best"), seed=1, author="org", **how)  # type: ignore[arg-type]


def test_estimate_is_exact_if_all_passages_are_judged(filled: Project) -> None:
    audit = plan(filled, batch_size=1000)
    batch = draw_batch(filled, audit, "org")
    assert batch.drawn == batch.frame
    judge_batch(filled, audit)
    board = audit_board(filled, audit)
    values = {(query, f"{query}p{i}"): truth(query, f"{query}p{i}") for query in QUERIES for i in range(1, 10)}
    import_judgments(filled, values, "everything")
    true = leaderboard(filled, "P@3", "everything").scores
    for system in board.systems:
        assert system.audited == pytest.approx(true[system.run])
        assert system.high - system.low == pytest.approx(0)  # type: ignore[operator]
        assert system.machine == pytest.approx(leaderboard(filled, "P@3").scores[system.run])
        assert system.bias == pytest.approx(system.machine - true[system.run])
    assert board.correlation is not None and board.kendall is not None
    assert board.kendall[0] <= board.kendall[1] == pytest.approx(1)
    machine = [system.machine for system in board.systems]
    audited = [system.audited or 0.0 for system in board.systems]
    assert board.correlation.value == pytest.approx(np.corrcoef(machine, audited)[0, 1])
    assert board.statement.holds == (len(set(sorted(true.values())[-2:])) == 2)


def test_unfinished_audit_shows_only_machine_scores(filled: Project) -> None:
    assert "exam audit design" in audit_notice(filled)
    audit = plan(filled, batch_size=10)
    draw_batch(filled, audit, "org")
    assert f"exam audit status --audit {audit.name}" in audit_notice(filled)
    board = audit_board(filled, audit)
    assert {system.audited for system in board.systems} == {None}
    assert board.statement.holds is None and not board.statement.may_stop and board.waiting > 0
    assert board.description and not any(sign.isdigit() for sign in board.description)


def test_sample_depends_only_on_design_and_seed(filled: Project, tmp_path: Path) -> None:
    drawn = []
    for name, seed in (("one", 9), ("two", 9), ("three", 10)):
        audit = design_audit(filled, name, "DCG@5", Goal("best"), batch_size=20, seed=seed, author="org")
        draw_batch(filled, audit, "org")
        facts = gather_facts(filled, audit)
        drawn.append([item for item, taken in zip(facts.weights.items, facts.batches[0].drawn, strict=True) if taken])
    assert drawn[0] == drawn[1] != drawn[2]


def test_system_without_judged_passages_has_no_interval(project: Project) -> None:
    questions = [Question(f"{query}/a", query, f"What of {query}?") for query in QUERIES]
    passages = {query: [f"{query}p{i}" for i in range(1, 4)] for query in QUERIES}
    runs = {"good": {q: p[:2] for q, p in passages.items()}, "unseen": {q: p[2:] for q, p in passages.items()}}
    fill(project, questions, {(f"What of {q}?", p): 4 for q in QUERIES for p in passages[q]}, runs)
    audit = plan(project, batch_size=12)
    draw_batch(project, audit, "org")
    while (found := deal(project, audit, "ann")) is not None and next_card(found) is not None:
        query, passage = found.query.query_id, next_card(found).passage_id
        if passage in runs["unseen"][query]:
            store_verdict(project, audit, Verdict(query, passage, "cannot say"), "ann")
        else:
            judge_drawn(project, audit, query, passage, truth(query, passage), "ann")
    board = audit_board(project, audit)
    good, unseen = sorted(board.systems, key=lambda one: one.run)
    assert good.low is not None and good.bias_high is not None
    assert (unseen.error, unseen.low, unseen.high, unseen.bias_low, unseen.bias_high) == (None,) * 5
    assert unseen.audited is not None and unseen.bias is not None
    assert [(one.low, one.high, one.p, one.adjusted) for one in board.differences] == [(None,) * 4]
    assert difference(board, "unseen", "good").value == -difference(board, "good", "unseen").value
    assert mentions(board.description, "unseen") and not mentions(board.description, "good")
    shown = json.loads(json.dumps(asdict(board), allow_nan=False))
    assert {one["run"]: one["low"] for one in shown["systems"]}["unseen"] is None
    assert mentions(describe_methods(project, audit), "unseen")


def test_earlier_judgments_are_known_and_not_drawn(filled: Project) -> None:
    known = {("q1", f"q1p{i}"): truth("q1", f"q1p{i}") for i in range(1, 10)}
    import_judgments(filled, known, "before")
    audit = plan(filled, source="before", batch_size=10)
    batch = draw_batch(filled, audit, "org")
    facts = gather_facts(filled, audit)
    of_q1 = np.array([query == "q1" for query, _ in facts.weights.items])
    assert batch.known == of_q1.sum() and not facts.batches[0].drawn[of_q1].any()
    assert (facts.batches[0].chances[of_q1] == 1).all() and (facts.batches[0].chances[~of_q1] < 1).all()
    judge_batch(filled, audit)
    assert audit_board(filled, audit).judged == batch.drawn


def test_later_batches_build_on_earlier_ones_and_narrow_intervals(filled: Project) -> None:
    audit = plan(filled, batch_size=12, looks=3)
    widths = []
    for _ in range(3):
        draw_batch(filled, audit, "org")
        judge_batch(filled, audit)
        board = audit_board(filled, audit)
        widths.append(np.median([s.high - s.low for s in board.systems]))  # type: ignore[operator]
    kept = list_batches(filled, audit)
    assert [batch.known for batch in kept] == [0, kept[0].drawn, kept[0].drawn + kept[1].drawn]
    assert widths[2] < widths[0]


def test_changed_run_leaves_an_audit_unchanged(done: Project) -> None:
    audit = find_audit(done)
    before = audit_board(done, audit)
    with done.transaction() as cursor:
        cursor.execute("DELETE FROM rankings WHERE run_key = (SELECT min(run_key) FROM runs)")
    done.cached("nothing", lambda: None)
    assert board_of(gather_facts(done, audit)) == before


def test_missed_passages_yield_worst_case_bounds(unchanged: Project) -> None:
    board = audit_board(unchanged, find_audit(unchanged))
    assert board.missed == 1 and board.waiting > 0
    for system in board.systems:
        assert system.worst_low is not None and system.worst_low < system.worst_high  # type: ignore[operator]
    assert board.people is not None and board.people.value == pytest.approx(1.0)
    assert {name for group in board.groups for name in group} <= set(SYSTEMS)
    one = difference(board, "good", "poor")
    assert one.value == pytest.approx(-difference(board, "poor", "good").value)


def test_open_batch_counts_only_after_it_ends(done: Project) -> None:
    audit = find_audit(done)
    before = audit_board(done, audit)
    found = deal(done, audit, "ann")
    assert found is not None and next_card(found) is not None
    judge_drawn(done, audit, found.query.query_id, next_card(found).passage_id, 2, "ann")
    assert audit_board(done, audit).systems == before.systems
    end_batch(done, audit, "org")
    after = audit_board(done, audit)
    assert after.batches == 2 and after.judged == before.judged + 1 and after.missed > before.missed


def test_bundle_reproduces_the_leaderboard_without_assessor_names(done: Project) -> None:
    audit = find_audit(done)
    packed = bundle_publication(done, Policy(), "org", beside=audit_files)
    files = zipfile.ZipFile(io.BytesIO(packed))
    data = files.read("audit-1.json")
    assert b"ann" not in data and b"audit-1.json" in files.read("README.txt")
    again = board_of(read_facts(data, "audit-1.json"))
    assert again == audit_board(done, audit)
    judge_batch(done, audit)
    manifest = json.loads(files.read("manifest.json"))
    assert reproduce_bundle(done, manifest, "bob", audit_files) == packed


@pytest.mark.parametrize("stored", ["mean judgment@5 (DCG weights)", "DCG@5"])
def test_renamed_measure_keeps_its_stored_name_in_bundles(done: Project, stored: str) -> None:
    title = "mean judgment@5 (DCG weights)"
    assert linear_measure("DCG@5").title == title and linear_measure(title) == linear_measure("DCG@5")
    assert linear_measure(title).discounts().sum() == pytest.approx(1)
    assert find_audit(done).measure == title
    # Earlier versions stored the name of the weights.
    with done.transaction() as cursor:
        cursor.execute("UPDATE audits SET measure = ?", [stored])
    audit = find_audit(done)
    assert {audit.as_dict()["measure"], audit_board(done, audit).measure} == {title} and title in describe_methods(
        done, audit
    )
    assert json.loads(audit_files(done)["audit-1.json"][1])["measure"] == stored


def test_outcome_counts_separated_pairs_and_missing_judgments(filled: Project) -> None:
    goal = Goal("budget", budget=20)
    audit = plan(filled, goal, batch_size=20)
    assert audit_outcome(filled, audit).reached is None
    draw_batch(filled, audit, "org")
    judge_batch(filled, audit)
    board, found = audit_board(filled, audit), audit_outcome(filled, audit)
    apart = [one for one in board.differences if one.adjusted is not None and one.adjusted <= audit.alpha]
    assert (found.reached, found.pairs, found.separated) == (True, 6, len(apart))
    assert found.leader == board.systems[0].run
    assert found.unseparated == len(board.groups[0]) > 1
    needed = forecast_of(replace(gather_facts(filled, audit), goal=Goal("best"))).needed
    assert found.more == needed - board.judged > 0
    assert mentions(found.description, str(found.more))
    whole = design_audit(filled, "whole", "P@3", goal, seed=1, batch_size=1000, author="org")
    draw_batch(filled, whole, "org")
    judge_batch(filled, whole)
    found = audit_outcome(filled, whole)
    assert found.separated == sum(one.value != 0 for one in audit_board(filled, whole).differences)
    assert found.more is None, "all passages are judged"


def test_outcome_of_a_pair_goal_decides_between_both_systems(filled: Project) -> None:
    first, second = SYSTEMS[0], SYSTEMS[2]
    audit = plan(filled, Goal("pair", first=first, second=second), batch_size=1000)
    draw_batch(filled, audit, "org")
    judge_batch(filled, audit)
    found = audit_outcome(filled, audit)
    assert found.reached and found.decides
    assert first in found.description and second in found.description


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", ("not-an-audit",)),
        (b"[]", ("not-an-audit",)),
        (b'{"format": "exam-workbench audit", "format_version": 9}', ("unknown-format-version", "9")),
        (b'{"format": "exam-workbench audit", "format_version": 1}', ("not-an-audit",)),
    ],
)
def test_invalid_audit_file_is_refused(data: bytes, says: tuple[str, ...]) -> None:
    with refusal(*says):
        read_facts(data, "a.json")


def test_audits_survive_export_and_import(done: Project, tmp_path: Path) -> None:
    state_families(done, "run", "good", ["gpt"], "org")
    export_project(done, tmp_path / "out", "org")
    again = import_project(tmp_path / "out", tmp_path / "again.duckdb")
    found: AuditBoard = audit_board(again, find_audit(again))
    assert found == audit_board(done, find_audit(done))
    again.close()


@pytest.mark.parametrize(
    ("measure", "goal", "how", "says"),
    [
        ("nDCG@10", {"aim": "best"}, {}, "measure-not-linear"),
        ("P@3", {"aim": "pair", "first": "good", "second": "none"}, {}, "goal-run-not-audited"),
        ("P@3", {"aim": "best"}, {"runs": ["good"]}, "single-system"),
        ("P@3", {"aim": "best"}, {"graders": ["nobody"]}, "unknown-grader"),
        ("P@3", {"aim": "best"}, {"alpha": 1.5}, "level-out-of-range"),
        ("P@3", {"aim": "best"}, {"name": "a"}, "name-taken"),
        ("P@3", {"aim": "width"}, {}, "incomplete-goal --half-width"),
    ],
)
def test_invalid_audit_plan_is_refused(unchanged: Project, measure: str, goal: dict, how: dict, says: str) -> None:
    with refusal(*says.split()):
        design_audit(unchanged, measure=measure, goal=Goal(**goal), author="org", **{"name": "another", **how})
