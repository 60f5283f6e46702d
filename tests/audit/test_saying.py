"""Further results of an audit: forecast, calibration, circularity, budget and methods."""

from __future__ import annotations

import numpy as np
import pytest

from exam_workbench.audit import (
    Goal,
    accept_cut_points,
    audit_board,
    calibrate_labels,
    describe_methods,
    design_audit,
    draw_batch,
    find_audit,
    find_circularity,
    forecast_audit,
    reveal_label,
)
from exam_workbench.audit._calibration import rating_cuts
from exam_workbench.audit._grader_cards import family_of
from exam_workbench.bank import named_graders
from exam_workbench.labels import Policy
from exam_workbench.records import state_families
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec
from tests.made.audits import deal, fill_audited, judge_batch
from tests.made.projects import SPEC, filled_project, grade
from tests.made.refusals import mentions, refusal


def judged(project: Project) -> None:
    fill_audited(project)
    audit = design_audit(
        project, "a", "P@3", Goal("pair", "good", "poor"), batch_size=25, looks=2, seed=2, author="org"
    )
    draw_batch(project, audit, "org")
    judge_batch(project, audit)


audited = filled_project(judged)


@pytest.mark.parametrize(
    "goal", [Goal("best"), Goal("pair", "good", "fair"), Goal("width", half_width=0.05), Goal("budget", budget=30)]
)
def test_forecast_before_any_judgment_is_a_guess(audited: Project, goal: Goal) -> None:
    found = forecast_audit(audited, design_audit(audited, "b", "P@3", goal, seed=1, author="org"))
    assert found.guessed and found.made == 0 and found.needed is not None
    widths = [one.width for one in found.curve]
    assert widths == sorted(widths, reverse=True) and widths[-1] == pytest.approx(0)
    assert all(one.width <= one.without_machine + 1e-9 for one in found.curve)


def test_forecast_after_a_batch_uses_its_judgments(audited: Project) -> None:
    found = forecast_audit(audited, find_audit(audited))
    assert not found.guessed and found.made == audit_board(audited, find_audit(audited)).judged
    assert found.width is not None and found.needed is not None and found.needed <= found.frame


def test_calibration_proposes_a_min_rating_and_changes_nothing(audited: Project) -> None:
    found = calibrate_labels(audited, find_audit(audited))
    assert sum(one.passages for one in found.meanings) == audit_board(audited, find_audit(audited)).frame
    for one in found.meanings:
        assert not one.chances or sum(share.value or 0 for share in one.chances.values()) == pytest.approx(1)
    assert found.balanced in {one.rating for one in found.min_ratings}
    assert found.cuts == found.new_cuts == () and found.why_no_cuts
    with refusal("no-cut-points", found.why_no_cuts):
        accept_cut_points(audited, find_audit(audited), "new", "org")
    assert named_graders(audited) == []


def test_accepted_cut_points_become_a_new_grader(audited: Project) -> None:
    spec = GraderSpec("similar", "embedding", "m", parameters={"cuts": [0.3, 0.4, 0.5, 0.6, 0.7]})
    rows = audited.rows("SELECT t.text, passage_id, rating FROM grades g JOIN question_texts t ON t.text_key ="
                        " g.question_text_key JOIN passages p ON p.text_key = g.passage_text_key")  # fmt: skip
    grade(audited, {(question, passage): rating for question, passage, rating in rows}, spec)
    with audited.transaction() as cursor:
        cursor.execute("UPDATE grades SET raw = printf('%.4f', 0.1 + rating / 10) WHERE grader_key = (SELECT grader_key"
                       " FROM graders WHERE name = 'similar')")  # fmt: skip
        cursor.execute("INSERT INTO activity VALUES (nextval('keys'), now()::TIMESTAMP, 'org', 'import graded', '{}')")
    audit = design_audit(
        audited, "b", "P@3", Goal("best"), Policy(grader="similar"), batch_size=40, seed=2, author="org"
    )
    draw_batch(audited, audit, "org")
    judge_batch(audited, audit)
    found = calibrate_labels(audited, audit)
    assert found.cuts == (0.3, 0.4, 0.5, 0.6, 0.7) and len(found.new_cuts) == 5
    assert list(found.new_cuts) == sorted(set(found.new_cuts))
    accept_cut_points(audited, audit, "by people", "org")
    (named,) = named_graders(audited)
    assert (named.name, named.kind, tuple(named.parameters["cuts"])) == ("by people", "embedding", found.new_cuts)


@pytest.mark.parametrize("min_rating", range(1, 6))
def test_min_rating_starts_at_the_relevance_boundary(min_rating: int) -> None:
    cuts = rating_cuts((0.4, 0.4, np.inf), min_rating, np.linspace(0, 1, 100))
    assert len(cuts) == 5 and cuts[min_rating - 1] == 0.4 and list(cuts) == sorted(set(cuts))


def test_model_with_two_roles_is_reported_with_its_favour(audited: Project) -> None:
    audit = find_audit(audited)
    assert find_circularity(audited).warnings == [] and audit_board(audited, audit).favour is None
    state_families(audited, "grader", SPEC.fingerprint, ["GPT"], "org")
    state_families(audited, "questions", "", ["gpt", "llama"], "org")
    state_families(audited, "run", "pleasing", ["gpt"], "org")
    state_families(audited, "run", "good", [], "org")
    found = find_circularity(audited)
    assert found.kin == ("pleasing",)
    assert [mentions(warning, "pleasing") for warning in found.warnings] == [False, True, True]
    assert all(mentions(warning, "gpt") for warning in found.warnings)
    assert all(mentions(found.description, value) for value in ("gpt, llama", "2", "4"))
    favour = audit_board(audited, audit).favour
    assert favour is not None and favour.runs == ("pleasing",) and favour.low <= favour.value <= favour.high
    state_families(audited, "run", "pleasing", ["mistral"], "org")
    assert find_circularity(audited).kin == ()
    with refusal("unknown-run", "none"):
        state_families(audited, "run", "none", ["gpt"], "org")


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


def test_methods_description_has_all_numbers(audited: Project) -> None:
    audit = find_audit(audited)
    board = audit_board(audited, audit)
    said = describe_methods(audited, audit)
    for number in (str(board.judged), f"seed {audit.seed}", "P@3", "6", "95%", board.statement.says):
        assert mentions(said, number) or number in said
    assert not mentions(said, "1 passage")
    draw_batch(audited, audit, "org")
    dealt = deal(audited, audit, "ann")
    assert dealt is not None
    reveal_label(audited, audit, dealt.query.query_id, dealt.cards[0].passage_id, "ann")
    assert mentions(describe_methods(audited, audit), "1 passage")


def test_budget_goal_holds_once_the_budget_is_spent(audited: Project) -> None:
    goal = Goal("budget", budget=40)
    audit = design_audit(audited, "b", "P@3", goal, batch_size=15, seed=1, author="org")
    assert audit.looks == 3
    for number, size in enumerate((None, 20, 5), 1):
        draw_batch(audited, audit, "org", size)
        judge_batch(audited, audit)
        told = audit_board(audited, audit).statement
        assert (told.holds, told.may_stop) == (number == 3, number == 3), told.says
    assert mentions(told.says, "40")
    # A budget larger than the pool is spent once the whole pool is judged.
    whole = design_audit(audited, "c", "P@3", Goal("budget", budget=5_000), seed=1, author="org")
    draw_batch(audited, whole, "org", 1_000)
    judge_batch(audited, whole)
    assert audit_board(audited, whole).statement.holds


def test_budget_forecast_is_given_and_capped_by_the_pool(audited: Project) -> None:
    frame = forecast_audit(audited, find_audit(audited)).frame
    for budget, told in (
        (10, ("10", str(frame), "0")),
        (5_000, (str(frame), "0")),
    ):
        audit = design_audit(audited, f"of {budget}", "P@3", Goal("budget", budget=budget), seed=1, author="org")
        found = forecast_audit(audited, audit)
        assert found.guessed and found.given and all(mentions(found.description, number) for number in told)


def test_budget_audit_spends_no_error_on_a_conclusion(audited: Project) -> None:
    assert "power family" in describe_methods(audited, find_audit(audited))
    audit = design_audit(audited, "b", "P@3", Goal("budget", budget=10), seed=1, author="org")
    draw_batch(audited, audit, "org")
    judge_batch(audited, audit)
    said = describe_methods(audited, audit)
    assert mentions(said, "10") and "95%" in said and "power family" not in said
