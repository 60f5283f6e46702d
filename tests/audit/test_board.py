"""Audited leaderboards: exactness, seeds, bundles, forecasts, calibration and methods."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from exam_workbench.audit import (
    Audit,
    AuditBoard,
    Goal,
    Verdict,
    accept_cut_points,
    audit_board,
    audit_files,
    audit_notice,
    audit_outcome,
    board_of,
    calibrate_labels,
    describe_methods,
    design_audit,
    draw_batch,
    end_batch,
    find_audit,
    find_audits,
    find_circularity,
    forecast_audit,
    forecast_plan,
    judge_drawn,
    list_batches,
    read_facts,
    reveal_label,
    store_verdict,
)
from exam_workbench.audit._audit_data import gather_facts
from exam_workbench.audit._calibration import rating_cuts
from exam_workbench.audit._grader_cards import family_of
from exam_workbench.audit._needed_judgments import forecast_of
from exam_workbench.bank import named_graders
from exam_workbench.exchange import bundle_publication, reproduce_bundle
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures.audit import linear_measure
from exam_workbench.records import state_families
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.audits import QUERIES, SYSTEMS, deal, fill_audited, judge_batch, judged_audit, next_card, truth
from tests.made.projects import (
    SPEC,
    commit,
    fill,
    filled_project,
    grade,
    judge as import_judgments,
    manifest_of,
    read_project,
    reimported,
    unpacked,
)
from tests.made.refusals import mentions, refusal


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
    assert "exam audit design" in audit_notice(filled)
    audit = plan(filled, batch_size=1000)
    batch = draw_batch(filled, audit, "org")
    assert batch.drawn == batch.frame
    # An unfinished audit shows only machine scores.
    assert f"exam audit status --audit {audit.name}" in audit_notice(filled)
    board = audit_board(filled, audit)
    assert {system.audited for system in board.systems} == {None}
    assert board.statement.holds is None and not board.statement.may_stop and board.waiting > 0
    assert board.description and not any(sign.isdigit() for sign in board.description)
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


def test_missed_passages_yield_worst_case_bounds(unchanged: Project) -> None:
    board = audit_board(unchanged, find_audit(unchanged))
    assert board.missed == 1 and board.waiting > 0
    for system in board.systems:
        assert system.worst_low is not None and system.worst_low < system.worst_high  # type: ignore[operator]
    assert board.people is not None and board.people.value == pytest.approx(1.0)
    assert {name for group in board.groups for name in group} <= set(SYSTEMS)


def test_open_batch_counts_only_after_it_ends_and_changed_runs_never(done: Project) -> None:
    audit = find_audit(done)
    before = audit_board(done, audit)
    found = deal(done, audit, "ann")
    assert found is not None and next_card(found) is not None
    judge_drawn(done, audit, found.query.query_id, next_card(found).passage_id, 2, "ann")
    assert audit_board(done, audit).systems == before.systems
    end_batch(done, audit, "org")
    after = audit_board(done, audit)
    assert after.batches == 2 and after.judged == before.judged + 1 and after.missed > before.missed
    commit(done, "DELETE FROM rankings WHERE run_key = (SELECT min(run_key) FROM runs)")
    done.cached("nothing", lambda: None)
    assert board_of(gather_facts(done, audit)) == after


def test_bundle_reproduces_the_leaderboard_without_assessor_names(done: Project) -> None:
    audit = find_audit(done)
    packed = bundle_publication(done, Policy(), "org", beside=audit_files)
    files = unpacked(packed)
    data = files["audit-1.json"]
    assert b"ann" not in data and b"audit-1.json" in files["README.txt"]
    again = board_of(read_facts(data, "audit-1.json"))
    assert again == audit_board(done, audit)
    judge_batch(done, audit)
    assert reproduce_bundle(done, manifest_of(packed), "bob", audit_files) == packed


@pytest.mark.parametrize("stored", ["mean judgment@5 (DCG weights)", "DCG@5"])
def test_renamed_measure_keeps_its_stored_name_in_bundles(done: Project, stored: str) -> None:
    title = "mean judgment@5 (DCG weights)"
    assert linear_measure("DCG@5").title == title and linear_measure(title) == linear_measure("DCG@5")
    assert linear_measure(title).discounts().sum() == pytest.approx(1)
    assert find_audit(done).measure == title
    # Earlier versions stored the name of the weights.
    commit(done, "UPDATE audits SET measure = ?", [stored])
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
    whole = judged_audit(filled, "whole", "P@3", goal, seed=1, batch_size=1000)
    found = audit_outcome(filled, whole)
    assert found.separated == sum(one.value != 0 for one in audit_board(filled, whole).differences)
    assert found.more is None, "all passages are judged"


def test_outcome_of_a_pair_goal_decides_between_both_systems(filled: Project) -> None:
    first, second = SYSTEMS[0], SYSTEMS[2]
    audit = judged_audit(filled, "a", "P@3", Goal("pair", first=first, second=second), seed=1, batch_size=1000)
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


def test_audits_survive_export_and_import(done: Project) -> None:
    state_families(done, "run", "good", ["gpt"], "org")
    again = reimported(done)
    found: AuditBoard = audit_board(again, find_audit(again))
    assert found == audit_board(done, find_audit(done))


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


# Forecast, calibration, circularity, budget and methods


def judged(project: Project) -> None:
    fill_audited(project)
    judged_audit(project, "a", "P@3", Goal("pair", "good", "poor"), batch_size=25, looks=2, seed=2)


finished = filled_project(judged)


@pytest.mark.parametrize(
    "goal", [Goal("best"), Goal("pair", "good", "fair"), Goal("width", half_width=0.05), Goal("budget", budget=30)]
)
def test_forecast_before_any_judgment_is_a_guess(finished: Project, goal: Goal) -> None:
    found = forecast_audit(finished, design_audit(finished, "b", "P@3", goal, seed=1, author="org"))
    assert found.guessed and found.made == 0 and found.needed is not None
    widths = [one.width for one in found.curve]
    assert widths == sorted(widths, reverse=True) and widths[-1] == pytest.approx(0)
    assert all(one.width <= one.without_machine + 1e-9 for one in found.curve)


def test_forecast_of_a_plan_matches_that_of_the_planned_audit(project: Project) -> None:
    fill_audited(project)
    for goal in (Goal("best"), Goal("pair", first="good", second="poor"), Goal("width", half_width=0.05)):
        seen = forecast_plan(project, "DCG@5", goal)
        assert find_audits(project) == []
        made = design_audit(project, "a", "DCG@5", goal, author="org")
        assert seen == forecast_audit(project, made)
        commit(project, "DELETE FROM audits")
    with refusal("measure-not-linear"):
        forecast_plan(project, "nDCG@10", Goal("best"))
    with refusal("goal-run-not-audited"):
        forecast_plan(project, "P@3", Goal("pair", first="good", second="poor"), runs=["good", "fair"])


def test_forecast_after_a_batch_uses_its_judgments(finished: Project) -> None:
    found = forecast_audit(finished, find_audit(finished))
    assert not found.guessed and found.made == audit_board(finished, find_audit(finished)).judged
    assert found.width is not None and found.needed is not None and found.needed <= found.frame


def test_calibration_proposes_a_min_rating_and_changes_nothing(finished: Project) -> None:
    found = calibrate_labels(finished, find_audit(finished))
    assert sum(one.passages for one in found.meanings) == audit_board(finished, find_audit(finished)).frame
    for one in found.meanings:
        assert not one.chances or sum(share.value or 0 for share in one.chances.values()) == pytest.approx(1)
    assert found.balanced in {one.rating for one in found.min_ratings}
    assert found.cuts == found.new_cuts == () and found.why_no_cuts
    with refusal("no-cut-points", found.why_no_cuts):
        accept_cut_points(finished, find_audit(finished), "new", "org")
    assert named_graders(finished) == []


def test_accepted_cut_points_become_a_new_grader(finished: Project) -> None:
    spec = GraderSpec("similar", "embedding", "m", parameters={"cuts": [0.3, 0.4, 0.5, 0.6, 0.7]})
    rows = finished.rows("SELECT t.text, passage_id, rating FROM grades g JOIN question_texts t ON t.text_key ="
                        " g.question_text_key JOIN passages p ON p.text_key = g.passage_text_key")  # fmt: skip
    grade(
        finished, {(text, passage): Grade(rating, raw=str(0.1 + rating / 10)) for text, passage, rating in rows}, spec
    )
    audit = judged_audit(finished, "b", "P@3", Goal("best"), policy=Policy(grader="similar"), batch_size=40, seed=2)
    found = calibrate_labels(finished, audit)
    assert found.cuts == (0.3, 0.4, 0.5, 0.6, 0.7) and len(found.new_cuts) == 5
    assert list(found.new_cuts) == sorted(set(found.new_cuts))
    accept_cut_points(finished, audit, "by people", "org")
    (named,) = named_graders(finished)
    assert (named.name, named.kind, tuple(named.parameters["cuts"])) == ("by people", "embedding", found.new_cuts)


@pytest.mark.parametrize("min_rating", range(1, 6))
def test_min_rating_starts_at_the_relevance_boundary(min_rating: int) -> None:
    cuts = rating_cuts((0.4, 0.4, np.inf), min_rating, np.linspace(0, 1, 100))
    assert len(cuts) == 5 and cuts[min_rating - 1] == 0.4 and list(cuts) == sorted(set(cuts))


def test_model_with_two_roles_is_reported_with_its_favour(finished: Project) -> None:
    audit = find_audit(finished)
    assert find_circularity(finished).warnings == [] and audit_board(finished, audit).favour is None
    state_families(finished, "grader", SPEC.fingerprint, ["GPT"], "org")
    state_families(finished, "questions", "", ["gpt", "llama"], "org")
    state_families(finished, "run", "pleasing", ["gpt"], "org")
    state_families(finished, "run", "good", [], "org")
    found = find_circularity(finished)
    assert found.kin == ("pleasing",)
    assert [mentions(warning, "pleasing") for warning in found.warnings] == [False, True, True]
    assert all(mentions(warning, "gpt") for warning in found.warnings)
    assert all(mentions(found.description, value) for value in ("gpt, llama", "2", "4"))
    favour = audit_board(finished, audit).favour
    assert favour is not None and favour.runs == ("pleasing",) and favour.low <= favour.value <= favour.high
    state_families(finished, "run", "pleasing", ["mistral"], "org")
    assert find_circularity(finished).kin == ()
    with refusal("unknown-run", "none"):
        state_families(finished, "run", "none", ["gpt"], "org")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("google/flan-t5-large", "flan-t5"),
        ("openai/gpt-4o-mini-2024-07-18", "gpt"),
        ("o3-mini", "gpt"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("someone/own-model-7b", "own-model"),
        ("sentence-transformers/all-MiniLM-L6-v2@sha256:53aa", "minilm"),
    ],
)
def test_model_family_is_derived_from_its_name(model: str, family: str) -> None:
    assert family_of(model) == family


def test_methods_description_has_all_numbers(finished: Project) -> None:
    audit = find_audit(finished)
    board = audit_board(finished, audit)
    said = describe_methods(finished, audit)
    for number in (str(board.judged), f"seed {audit.seed}", "P@3", "6", "95%", board.statement.says):
        assert mentions(said, number) or number in said
    assert not mentions(said, "1 passage")
    draw_batch(finished, audit, "org")
    dealt = deal(finished, audit, "ann")
    assert dealt is not None
    reveal_label(finished, audit, dealt.query.query_id, dealt.cards[0].passage_id, "ann")
    assert mentions(describe_methods(finished, audit), "1 passage")


def test_budget_goal_holds_once_the_budget_is_spent(finished: Project) -> None:
    goal = Goal("budget", budget=40)
    audit = design_audit(finished, "b", "P@3", goal, batch_size=15, seed=1, author="org")
    assert audit.looks == 3
    for number, size in enumerate((None, 20, 5), 1):
        draw_batch(finished, audit, "org", size)
        judge_batch(finished, audit)
        told = audit_board(finished, audit).statement
        assert (told.holds, told.may_stop) == (number == 3, number == 3), told.says
    assert mentions(told.says, "40")
    # A budget larger than the pool is spent once the whole pool is judged.
    whole = judged_audit(finished, "c", "P@3", Goal("budget", budget=5_000), 1_000, seed=1)
    assert audit_board(finished, whole).statement.holds


def test_budget_forecast_is_given_and_capped_by_the_pool(finished: Project) -> None:
    frame = forecast_audit(finished, find_audit(finished)).frame
    for budget, told in (
        (10, ("10", str(frame), "0")),
        (5_000, (str(frame), "0")),
    ):
        audit = design_audit(finished, f"of {budget}", "P@3", Goal("budget", budget=budget), seed=1, author="org")
        found = forecast_audit(finished, audit)
        assert found.guessed and found.given and all(mentions(found.description, number) for number in told)
    # A budget audit spends no error on a conclusion.
    assert "power family" in describe_methods(finished, find_audit(finished, "a"))
    audit = find_audit(finished, "of 10")
    draw_batch(finished, audit, "org")
    judge_batch(finished, audit)
    said = describe_methods(finished, audit)
    assert mentions(said, "10") and "95%" in said and "power family" not in said
