"""Settling disagreements: the queue, the record, and reopened cases."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from exam_workbench import review
from exam_workbench.labels import (
    Policy,
    add_override,
    basis,
    find_overrides,
    list_labels,
    withdraw_by_key,
)
from exam_workbench.review._disagreements.settling import list_settlings
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, judge, read_project
from tests.made.refusals import refusal

LEFT, RIGHT = review.Labels(Policy()), review.Judgments()
QUESTIONS = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
RATINGS = {
    (f"What is {name}?", f"p{number}"): rating
    for name, row in {"A": (5, 0, 4, 0), "B": (1, 1, 5, 0)}.items()
    for number, rating in enumerate(row, 1)
}
RUNS = {"one": {"q1": ["p1", "p2", "p3"]}, "two": {"q1": ["p3", "p2", "p1"]}}
JUDGED = {("q1", "p1"): 0, ("q1", "p2"): 3, ("q1", "p3"): 3, ("q1", "p4"): 0}


def fill_small(project: Project) -> None:
    """Labels 5, 1, 5, 0 against judgments 0, 3, 3, 0: p1 and p2 are disagreements."""
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED, "NIST")


small = read_project(fill_small)
own = filled_project(fill_small)


def case(project: Project, passage: str) -> review.Case:
    """Return the case of a passage between labels and judgments."""
    pairs = [row.pair for row in review.list_disagreements(project, LEFT, RIGHT).rows]
    return review.case_of(project, LEFT, RIGHT, next(pair for pair in pairs if pair.passage_id == passage))


def waiting(project: Project) -> list[str]:
    """Return the passages in the queue."""
    return [row.pair.passage_id for row in review.list_disagreements(project, LEFT, RIGHT).rows]


def logged(project: Project) -> tuple[str, str, dict[str, object]]:
    """Return author, action and detail of the last entry of the activity log."""
    author, act, detail = project.rows("SELECT author, act, detail FROM activity ORDER BY activity_key DESC LIMIT 1")[0]
    return author, act, json.loads(detail)


class TestSettledCase:
    def test_comment_settles_case_for_any_policy_and_order_of_sides(self, own: Project) -> None:
        assert waiting(own) == ["p1", "p2"]
        review.settle_by_comment(own, case(own, "p1"), " both are right ", "ann")
        assert waiting(own) == ["p2"]
        (one,) = list_settlings(own)
        assert (one.act, one.reason, one.author, one.settled) == ("comment", "both are right", "ann", True)
        assert one.case == review.Case("labels of test grader", "judgments of NIST", "q1", "p1", None, 5, 0)
        assert review.list_disagreements(own, LEFT, RIGHT).hidden == 1
        shown = review.list_disagreements(own, LEFT, RIGHT, show_settled=True)
        assert (shown.total, shown.hidden) == (2, 0)
        assert [row.settling.reason if row.settling else None for row in shown.rows] == ["both are right", None]
        other = review.Labels(Policy(min_rating=2, label="mean"))
        assert "p1" not in [row.pair.passage_id for row in review.list_disagreements(own, other, RIGHT).rows]
        assert [row.pair.passage_id for row in review.list_disagreements(own, RIGHT, LEFT).rows] == ["p2"]
        # Other sides have their own cases.
        judge(own, JUDGED, "others")
        assert len(review.list_disagreements(own, LEFT, review.Judgments("others")).rows) == 2
        assert len(review.list_disagreements(own, review.machine_labels(Policy()), RIGHT).rows) == 2

    def test_override_settles_case_and_changes_label(self, own: Project) -> None:
        (key,) = review.settle_by_override(own, case(own, "p1"), ["q1/a"], 1, "no answer in it", "ann")
        assert [(one.key, one.rating, one.reason) for one in find_overrides(own)] == [(key, 1, "no answer in it")]
        assert list_labels(own, basis(own, Policy())).set_index("passage_id")["label"]["p1"] == 1
        (one,) = list_settlings(own)
        assert (one.act, one.touched, one.rating) == ("override", "q1/a", 1)
        assert waiting(own) == ["p2"]
        # A settled case counts even if the sides now agree.
        status = review.agreement_status(own, Policy())
        assert status is not None and (status.open, status.settled) == (1, 1)

    def test_settling_by_edit_records_the_question(self, own: Project) -> None:
        review.settle_by_edit(own, case(own, "p1"), "q1/a", "too broad", "ann")
        review.settle_by_edit(own, case(own, "p2"), None, "a question is missing", "ann")
        assert [one.touched for one in list_settlings(own)] == [None, "q1/a"]
        assert waiting(own) == []

    def test_disputed_judgment_counts_and_is_listed_until_reopened(self, own: Project) -> None:
        one = case(own, "p2")
        review.settle_by_dispute(own, one, "NIST", "off topic", "ann")
        assert waiting(own) == ["p1"]
        rows = review.list_disagreements(own, LEFT, RIGHT, show_settled=True).rows
        assert [row.pair.passage_id for row in rows] == ["p1", "p2"]
        (dispute,) = review.list_disputes(own)
        assert (dispute.source, dispute.value, dispute.reason) == ("NIST", 3, "off topic")
        assert dispute.case.passage_id == "p2"
        author, act, detail = logged(own)
        assert (author, act) == ("ann", "settle disagreement")
        assert detail["by"] == "dispute"
        assert (detail["query"], detail["passage"], detail["source"], detail["value"]) == ("q1", "p2", "NIST", 3)
        review.reopen_case(own, one, "", "bob")
        assert logged(own)[:2] == ("bob", "reopen disagreement")
        assert review.list_disputes(own) == []


class TestReopenedCase:
    def test_reopened_case_is_queued_and_keeps_its_history(self, own: Project) -> None:
        one = case(own, "p1")
        review.settle_by_comment(own, one, "both are right", "ann")
        review.reopen_case(own, one, "no, look again", "bob")
        assert waiting(own) == ["p1", "p2"]
        assert [(a.act, a.author, a.settled) for a in list_settlings(own)] == [
            ("reopen", "bob", False),
            ("comment", "ann", False),
        ]
        review.settle_by_comment(own, one, "now it is", "bob")
        assert waiting(own) == ["p2"]
        assert [a.settled for a in list_settlings(own)] == [True, False, False]
        assert review.count_actions(own) == 3

    def test_overrides_of_several_questions_are_reopened_together(self, own: Project) -> None:
        add_override(own, "q1/b", "p2", 0, "not relevant", "ann")
        one = case(own, "p1")
        keys = review.settle_by_override(own, one, ["q1/a", "q1/b"], 0, "not relevant", "ann")
        given = {(one.question_id, one.passage_id, one.rating) for one in find_overrides(own) if one.key in keys}
        assert given == {("q1/a", "p1", 0), ("q1/b", "p1", 0)}
        assert waiting(own) == ["p2"]
        assert [(one.touched, one.others) for one in list_settlings(own)] == [("q1/a", 1)]
        assert review.reopen_case(own, one, "", "bob", withdraw_override=True) == 2
        assert [one.passage_id for one in find_overrides(own)] == ["p2"]

    @pytest.mark.parametrize("too", [True, False])
    def test_reopening_can_withdraw_override_and_is_recorded(self, own: Project, too: bool) -> None:
        one = case(own, "p1")
        kept = add_override(own, "q1/a", "p1", 3, "another view", "bob")
        (key,) = review.settle_by_override(own, one, ["q1/a"], 1, "no answer in it", "ann")
        assert review.reopen_case(own, one, "", "bob", withdraw_override=too) == int(too)
        assert [found.key for found in find_overrides(own)] == ([kept] if too else [key, kept])
        withdraw_by_key(own, kept, "bob")
        _, act = list_settlings(own)
        assert (act.next_act, act.in_force) == ("reopen", not too)
        assert (act.question_text, act.query_text) == ("What is A?", "query q1")


class TestPeople:
    def test_cases_between_people_are_settled_per_question(self, own: Project) -> None:
        for author, ratings in (("ann", (5, 1)), ("bob", (1, 5))):
            for question, rating in zip(("q1/a", "q1/b"), ratings, strict=True):
                add_override(own, question, "p1", rating, "read it", author)
        left, right = review.Person("ann"), review.Person("bob")
        rows = review.list_disagreements(own, left, right).rows
        assert [row.pair.question_id for row in rows] == ["q1/a", "q1/b"]
        review.settle_by_comment(own, review.case_of(own, left, right, rows[0].pair), "agreed to differ", "ann")
        assert [row.pair.question_id for row in review.list_disagreements(own, left, right).rows] == ["q1/b"]
        assert list(review.settled_cases(own, "ratings of bob", "ratings of ann")) == [("q1/a", "p1")]


class TestRefusals:
    def test_settling_requires_a_reason_and_known_places(self, small: Project) -> None:
        one = case(small, "p1")
        for reason in ("", "  "):
            with refusal("empty-reason"):
                review.settle_by_comment(small, one, reason, "ann")
            with refusal("empty-reason"):
                review.settle_by_override(small, one, ["q1/a"], 1, reason, "ann")
        with refusal("unknown-question", "q9"):
            review.settle_by_edit(small, one, "q9", "too broad", "ann")
        with refusal("unknown-question", "q9"):
            review.settle_by_override(small, one, ["q9"], 1, "wrong", "ann")
        with refusal("unknown-passage", "p9"):
            review.settle_by_comment(small, replace(one, passage_id="p9"), "gone", "ann")
        assert (review.count_actions(small), find_overrides(small)) == (0, [])
        with refusal("no-judgment-to-dispute", "others"):
            review.settle_by_dispute(small, one, "others", "off topic", "ann")
        with refusal("not-settled"):
            review.reopen_case(small, one, "", "ann")

    def test_settling_first_is_refused_if_already_settled(self, own: Project) -> None:
        one = case(own, "p1")
        review.settle_by_comment(own, one, "seen", "bob")
        for settle in (
            lambda: review.settle_by_comment(own, one, "mine", "ann", first=True),
            lambda: review.settle_by_override(own, one, ["q1/a"], 0, "mine", "ann", first=True),
            lambda: review.settle_by_edit(own, one, "q1/a", "mine", "ann", first=True),
            lambda: review.settle_by_dispute(own, one, "NIST", "mine", "ann", first=True),
        ):
            with refusal("already-settled", "bob", "seen", kind=review.AlreadySettled) as refused:
                settle()
            assert refused.value.settling.author == "bob"
        assert (len(list_settlings(own)), find_overrides(own)) == (1, [])
        review.reopen_case(own, one, "look again", "bob")
        review.settle_by_comment(own, one, "mine", "ann", first=True)
        assert list_settlings(own)[0].author == "ann"


class TestFiles:
    def test_record_csv_lists_oldest_first_and_escapes_formulas(self, own: Project) -> None:
        review.settle_by_override(own, case(own, "p1"), ["q1/a"], 1, "no answer in it", "ann")
        review.settle_by_dispute(own, case(own, "p2"), "NIST", "off topic", "bob")
        rows = list(csv.DictReader(io.StringIO(review.record_csv(own))))
        assert [(row["act"], row["author"], row["passage_id"], row["settled"]) for row in rows] == [
            ("override", "ann", "p1", "true"),
            ("dispute", "bob", "p2", "true"),
        ]
        assert (rows[0]["touched_question_id"], rows[0]["rating"]) == ("q1/a", "1")
        assert (rows[1]["disputed_source"], rows[1]["disputed_value"]) == ("NIST", "3")
        judge(own, {("q1", "p3"): -1}, "strict")
        pair = review.list_disagreements(own, LEFT, review.Judgments("strict")).rows[0].pair
        one = review.case_of(own, LEFT, review.Judgments("strict"), pair)
        review.settle_by_dispute(own, one, "strict", "=cmd()\r\nand more", "@ann")
        disputes = csv.DictReader(io.StringIO(review.disputes_csv(own), newline=""))
        assert [(row["reason"], row["author"], row["value"]) for row in disputes if row["author"] != "bob"] == [
            ("'=cmd()\nand more", "'@ann", "-1")
        ]


class TestNames:
    def test_sides_have_readable_names(self, small: Project) -> None:
        assert review.side_name(small, LEFT) == "labels of test grader"
        assert review.side_name(small, review.machine_labels(Policy())) == "labels of test grader without overrides"
        assert review.side_name(small, RIGHT) == "judgments of NIST"
        assert review.side_name(small, review.Person("ann")) == "ratings of ann"

    def test_unnamed_judgments_are_called_judgments(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS)
        judge(project, JUDGED, "judgments")
        one = case(project, "p2")
        assert one.right == "judgments"
        review.settle_by_dispute(project, one, "judgments", "off topic", "ann")
        assert review.list_disputes(project)[0].value == 3


def test_override_is_not_saved_if_settling_fails(own: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("exam_workbench.review._disagreements.settling._write_settling", fails)
    with pytest.raises(OSError, match="disk"):
        review.settle_by_override(own, case(own, "p1"), ["q1/a"], 2, "too kind", "ann")
    assert find_overrides(own) == []
