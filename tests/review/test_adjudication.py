"""Double assignments: values stay hidden from other assessors until a decision, and the decision counts."""

from __future__ import annotations

import gzip
from datetime import date

import pytest

from exam_workbench import records, review
from exam_workbench.errors import NotAllowed
from exam_workbench.exchange import exporting
from exam_workbench.labels import (
    Policy,
    add_override,
    basis,
    find_overrides,
    label_qrels,
    official_board,
    withdraw_by_key,
)
from exam_workbench.review._disagreements.settling import Case
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project
from tests.made.refusals import refusal

BANK = [Question("q1/a", "q1", "What is A?"), Question("q2/b", "q2", "What is B?")]
GRADES = {("What is A?", passage): 1 for passage in ("p1", "p2", "p3")}
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3"]}}
JUDGED: review.Place = ("q1", "p1", None)
RATED: review.Place = ("q1", "p1", "q1/a")
SECRET = "Zanzibar"
"""The reason that bob gives for his hidden values."""


def make(project: Project) -> None:
    fill(project, BANK, GRADES, RUNS)
    records.set_member(project, "olga@x.org", "organizer", "shell")
    for name in ("ann", "bob"):
        records.set_member(project, f"{name}@x.org", "assessor", "shell", queries=["q2"])
    records.set_member(project, "cat@x.org", "assessor", "shell")
    records.assign_double(project, "q1", "olga", ["ann", "bob"], passages=["p1", "p2"])
    ann, bob = as_(project, "ann"), as_(project, "bob")
    for passage, (one, other) in {"p1": (2, 3), "p2": (1, 1)}.items():
        records.judging.judge_passage(ann, "q1", passage, one, "ann")
        records.judging.judge_passage(bob, "q1", passage, other, "bob", SECRET)
    add_override(ann, "q1/a", "p1", 4, "it says so", "ann")
    review.settle_by_override(
        bob, Case("labels of x", "ratings of bob", "q1", "p1", "q1/a", 1, 5), ["q1/a"], 5, SECRET, "bob"
    )


project = filled_project(make)


def as_(project: Project, name: str) -> Project:
    return project.acting_as(f"{name}@x.org")


def standing(project: Project) -> dict[review.Place, str]:
    return {one.place: one.standing for one in review.contested_cases(project)}


def seen(project: Project) -> str:
    """Return everything readable that could show bob's values, as one string."""
    found = [
        records.assessor_judgments(project),
        records.source_judgments(project, "assessor: bob"),
        records.judgment_history(project, "q1", "p1"),
        [one for one in find_overrides(project) if one.author == "bob"],
        [one for one in review.people(project) if one == "bob"],
        [(one.author, one.detail) for one in records.list_actions(project).acts if one.author == "bob"],
        records.activity_csv(project),
        review.record_csv(project),
        review.read_passage(project, Policy(), "q1", "p1"),
        review.between_people(project),
        review.search_passages(project, Policy(), review.Filters(source="assessor: bob", judgment=3), 9).total,
        gzip.decompress(exporting.graded_file(project)),
    ]
    return repr(found)


@pytest.mark.parametrize("name", ["ann", "cat"])
def test_assessors_see_values_of_others_only_after_decision(project: Project, name: str) -> None:
    told = seen(as_(project, "olga"))
    assert SECRET in told and "'bob'" in told
    handle = as_(project, name)
    # The organizer read everything just before, so that the process has cached it.
    hidden = seen(handle)
    assert SECRET not in hidden and "value=3" not in hidden and "rating=5" not in hidden and "'bob'" not in hidden
    own = {"ann": [("ann", 2), ("ann", 1)], "cat": []}[name]
    assert [(one.author, one.value) for one in records.assessor_judgments(handle)] == own
    review.decide_case(as_(project, "olga"), JUDGED, 3, "by the guidelines", "olga")
    assert ("bob", 3) in [(one.author, one.value) for one in records.assessor_judgments(handle)]
    # Undecided values stay hidden.
    assert not [one for one in find_overrides(handle) if one.author == "bob"]


def test_values_are_hidden_by_name_and_in_settled_cases(project: Project) -> None:
    assert SECRET not in seen(project.seen_by("ann")) and SECRET in seen(project.seen_by("zoe"))
    assert SECRET in seen(project)
    case = Case("ratings of ann", "ratings of bob", "q1", "p1", "q1/a", 4, 5)
    review.settle_by_comment(as_(project, "olga"), case, "both", "olga")
    assert "ratings of bob" not in review.record_csv(as_(project, "ann"))
    assert "ratings of bob" in review.record_csv(project)


def test_values_count_only_once_decided(project: Project) -> None:
    olga, policy = as_(project, "olga"), Policy()
    labels = lambda: label_qrels(project, basis(project, policy))["q1"]["p1"]  # noqa: E731
    assert labels() == 1
    assert standing(olga) == {JUDGED: "differs", RATED: "differs", ("q1", "p2", None): "agrees"}
    review.decide_case(olga, RATED, 5, "it is there", "olga")
    review.decide_case(olga, JUDGED, 3, "it is there", "olga")
    assert review.accept_agreed(olga, "q1", "olga") == 1
    assert labels() == 5 and records.source_judgments(project, records.ADJUDICATED) == {"q1": {"p1": 3, "p2": 1}}
    assert set(standing(olga).values()) == {"decided"}
    review.undo_decision(olga, RATED, "olga")
    review.undo_decision(olga, JUDGED, "olga")
    # An undone decision leaves no value rather than 0.
    assert labels() == 1 and records.source_judgments(project, records.ADJUDICATED) == {"q1": {"p2": 1}}
    assert [one.value for one in review.list_decisions(olga, RATED)] == [None, 5]
    review.decide_case(olga, RATED, 2, "half of it", "olga")
    withdraw_by_key(olga, next(one.key for one in find_overrides(olga) if one.author == "olga"), "olga")
    assert standing(olga)[RATED] == "differs"


def test_decided_values_cannot_be_changed(project: Project) -> None:
    olga, ann = as_(project, "olga"), as_(project, "ann")
    with refusal("override-of-double-assignment"):
        withdraw_by_key(ann, next(one.key for one in find_overrides(project) if one.author == "bob"), "ann")
    for place in (JUDGED, RATED):
        review.decide_case(olga, place, 3, "so", "olga")
    for change in (
        lambda: records.judging.judge_passage(ann, "q1", "p1", 3, "ann"),
        lambda: records.judging.withdraw_judgment(ann, "q1", "p1", "ann"),
        lambda: add_override(ann, "q1/a", "p1", 3, "after all", "ann"),
    ):
        with refusal("decided-meanwhile", "olga"):
            change()
    records.judging.judge_passage(ann, "q1", "p2", 2, "ann")


def test_decision_needs_uninvolved_adjudicator_and_all_values(project: Project) -> None:
    with refusal("adjudicator-takes-part", "ann", kind=NotAllowed):
        review.decide_case(as_(project, "ann"), JUDGED, 2, "mine", "ann")
    with refusal("adjudicator-takes-part", "cat", kind=NotAllowed):
        review.decide_case(as_(project, "cat"), JUDGED, 2, "so", "cat")
    assert review.contested_cases(as_(project, "ann")) == review.contested_cases(as_(project, "cat")) == []
    with refusal("judgment-out-of-range"):
        review.decide_case(project, JUDGED, 4, "so", "olga")
    records.assign_double(project, "q2", "olga", ["ann"], adjudicator="cat")
    records.judging.judge_passage(as_(project, "ann"), "q2", "p3", 0, "ann")
    cat, place = as_(project, "cat"), ("q2", "p3", None)
    with refusal("decisions-missing"):
        review.decide_case(cat, place, 0, "so", "cat")
    with refusal("adjudicator-takes-part", "cat", kind=NotAllowed):
        records.claim_double(cat, "q2", "cat")
    records.claim_double(as_(project, "bob"), "q2", "bob")
    assert standing(cat) == {place: "waiting"}
    # An assessor who is done without a value differs from one who gave 0.
    records.mark_done(as_(project, "bob"), "q2", True, "bob")
    assert standing(cat) == {place: "differs"}
    review.decide_case(cat, place, 0, "so", "cat")


def test_participants_keep_access_until_declined_or_released(project: Project) -> None:
    ann, bob = as_(project, "ann"), as_(project, "bob")
    assigned = ann.members()["ann@x.org"].assigned_queries
    assert [one.query_id for one in review.my_work(project, "ann", assigned, None)] == ["q1", "q2"]
    with refusal("double-assignment-full"):
        records.claim_double(as_(project, "cat"), "q1", "cat")
    records.decline_double(ann, "q1", "ann", "no time")
    with refusal("query-not-assigned", "ann", kind=NotAllowed):
        records.judging.judge_passage(ann, "q1", "p1", 1, "ann")
    # Her values still do not count, and bob's values stay hidden from her.
    assert SECRET not in seen(ann) and label_qrels(project, basis(project, Policy()))["q1"]["p1"] == 1
    records.claim_double(as_(project, "cat"), "q1", "cat")
    records.release_double(project, "q1", "bob", "olga")
    with pytest.raises(NotAllowed):
        records.judging.judge_passage(bob, "q1", "p1", 1, "bob")


def test_double_assignment_ends_once_all_is_decided(project: Project) -> None:
    with refusal("decisions-missing", "2", "q1"):
        review.end_double(project, "q1", "olga")
    for place in (JUDGED, RATED):
        review.decide_case(project, place, 3, "so", "olga")
    review.end_double(project, "q1", "olga")
    ann = as_(project, "ann")
    assert SECRET in seen(ann) and label_qrels(project, basis(project, Policy()))["q1"]["p1"] == 3
    assert official_board(project, records.ADJUDICATED, "P@5", Policy(), "P@5").scores
    drawn = records.sample_of(project, "q1", 2, seed=3)
    assert drawn == records.sample_of(project, "q1", 2, seed=3)
    records.assign_double(project, "q1", "olga", passages=drawn)
    assert not {*records.sample_of(project, "q1", 1)} & {*drawn}


def test_second_pair_judges_other_passages_of_same_query(project: Project) -> None:
    with refusal("already-doubly-assigned", "1", "q1"):
        records.assign_double(project, "q1", "olga", ["ann", "cat"], passages=["p2", "p3"])
    with refusal("already-doubly-assigned", "q1"):
        records.assign_double(project, "q1", "olga", ["ann", "cat"])
    second = records.assign_double(project, "q1", "olga", ["ann", "cat"], passages=records.sample_of(project, "q1", 1))
    ann, bob, cat = (as_(project, name) for name in ("ann", "bob", "cat"))
    for who, name, rating in (ann, "ann", 2), (cat, "cat", 4):
        add_override(who, "q1/a", "p3", rating, f"{name} on three", name)
    by_ann, by_bob, by_cat = seen(ann), seen(bob), seen(cat)
    assert "cat on three" not in by_ann + by_bob and "ann on three" not in by_bob + by_cat
    assert SECRET not in by_ann + by_cat
    # Ann is in both and must give a number; bob is in one.
    with refusal("ambiguous-double-assignment", str(second), "2", "ann", "bob"):
        records.decline_double(ann, "q1", "ann")
    with refusal("unknown-double-assignment", "1"):
        records.decline_double(ann, "q1", "ann", number=1)
    review.decide_case(project, ("q1", "p3", "q1/a"), 3, "between", "olga")
    with refusal("ambiguous-double-assignment"):
        review.end_double(project, "q1", "olga")
    review.end_double(project, "q1", "olga", second)
    assert "cat on three" in seen(cat) + repr(find_overrides(bob)) and SECRET not in seen(ann)
    assert set(standing(as_(project, "olga"))) == {JUDGED, RATED, ("q1", "p2", None)}
    records.decline_double(bob, "q1", "bob")


def test_agreement_covers_passages_with_values_of_two_people(project: Project) -> None:
    review.decide_case(project, RATED, 5, "so", "bob's chief")
    judged, rated = review.between_people(project, "q1")
    (pair,) = judged.pairs
    # The two agree on one of two passages: p_o is 1/2, and p_e is 1/4 by the margins.
    assert (judged.n, judged.same, pair.n, pair.same, pair.kappa.value) == (2, 1, 2, 1, pytest.approx(1 / 3))
    assert (rated.n, rated.same, list(rated.people)) == (1, 0, ["ann", "bob"])
    assert review.between_people(project, "q2")[0].alpha.undefined


def test_queries_are_ordered_by_due_date_and_marked_late(project: Project) -> None:
    today = date(2026, 5, 4)
    records.set_due(project, ["q2"], date(2026, 5, 3), "olga")
    records.set_due(project, ["q1"], date(2026, 5, 9), "olga", "cat")
    assert records.due_of(records.due_dates(project), "q1", "ann") is None
    listed = review.my_work(project, "cat", None, None)
    assert [(one.query_id, one.is_overdue(today)) for one in listed] == [("q2", True), ("q1", False)]
    of_cat = next(one for one in review.assessor_shares(project, today) if one.member.name == "cat")
    assert (of_cat.late, of_cat.next_due, of_cat.pooled) == (1, date(2026, 5, 9), 4)
    records.mark_done(project, "q2", True, "cat")
    records.set_due(project, ["q1"], None, "olga", "cat")
    of_cat = next(one for one in review.assessor_shares(project, today) if one.member.name == "cat")
    assert (of_cat.late, of_cat.next_due) == (0, None)
    with pytest.raises(NotAllowed):
        records.set_due(as_(project, "cat"), ["q1"], None, "cat")
