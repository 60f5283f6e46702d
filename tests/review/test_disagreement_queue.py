"""The queue of disagreements, and gaps between bank and judgments, checked against other functions."""

from __future__ import annotations

import pytest

from exam_workbench import bank
from exam_workbench.labels import (
    Policy,
    add_override,
    basis,
    confirm_override,
    find_overrides,
    list_labels,
    withdraw_by_key,
)
from exam_workbench.records import judging
from exam_workbench.review import (
    Judgments,
    Labels,
    Person,
    case_of,
    list_disagreements,
    list_strays,
    list_uncovered,
    machine_labels,
    override_effect,
    settle_by_override,
    side_agreement,
)
from exam_workbench.review._disagreements.settling import list_settlings
from exam_workbench.store import Project
from exam_workbench.study import diagnose_questions
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import SPEC, commit, fill, filled_project, grade, judge, read_project
from tests.made.refusals import refusal

QUESTIONS = [
    Question("q1/a", "q1", "What is A?"),
    Question("q1/b", "q1", "What is B?", weight=2.0),
    Question("q1/no", "q1", "Is it an advertisement?", weight=-1.0),
    Question("q2/c", "q2", "What is C?"),
]
GRID = {
    "p1": (5, 4, 5, None),
    "p2": (3, 2, 0, None),
    "p3": (0, 4, 0, None),
    "p4": (1, None, 0, None),
    "p5": (None, None, None, 5),
    "p6": (None, None, None, 2),
    "p7": (None, None, None, None),
}
RATINGS = {
    (question.text or "", passage): rating
    for passage, row in GRID.items()
    for question, rating in zip(QUESTIONS, row, strict=True)
    if rating is not None
}
RUNS = {"one": {"q1": ["p1", "p2", "p3", "p4"], "q2": ["p5", "p6", "p7"]}, "two": {"q1": ["p4", "p2"], "q2": ["p6"]}}
JUDGED = {
    (query, f"p{number}"): value
    for query, row in {"q1": {1: 0, 2: 2, 3: 0, 4: 3}, "q2": {5: 3, 6: 1, 7: 3}}.items()
    for number, value in row.items()
}
LEFT, RIGHT = Labels(Policy()), Judgments()


def fill_small(project: Project) -> None:
    """Fill labels 5, 3, 4, 1 and 5, 2, none against judgments 0, 2, 0, 3 and 3, 1, 3."""
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)


small = read_project(fill_small)
own = filled_project(fill_small)


class TestPages:
    def test_pages_are_consecutive_and_one_can_show_a_case_or_query(self, small: Project) -> None:
        everything = list_disagreements(small, LEFT, RIGHT).rows
        pages = [list_disagreements(small, LEFT, RIGHT, limit=2, offset=offset).rows for offset in (0, 2, 4)]
        assert [row for page in pages for row in page] == everything
        for at, row in enumerate(everything):
            found = list_disagreements(small, LEFT, RIGHT, limit=2, case=(row.pair.query_id, row.pair.passage_id, None))
            assert found.first == at - at % 2
            assert found.rows == everything[found.first : found.first + 2]
        for query in ("q1", "q2"):
            found = list_disagreements(small, LEFT, RIGHT, query_id=query)
            assert [row.pair for row in found.rows] == [row.pair for row in everything if row.pair.query_id == query]
            assert found.total == len(found.rows)

    def test_missing_case_gives_page_at_offset_or_last_page(self, small: Project) -> None:
        total = list_disagreements(small, LEFT, RIGHT).total
        gone = ("q1", "gone", None)
        assert list_disagreements(small, LEFT, RIGHT, limit=2, offset=3, case=gone).first == 2
        last = list_disagreements(small, LEFT, RIGHT, limit=2, offset=99, case=gone)
        assert last.first + len(last.rows) == total
        assert list_disagreements(small, LEFT, RIGHT, limit=2, query_id="nothing", case=gone).first == 0


class TestOutcome:
    def test_predicted_outcome_matches_override(self, own: Project) -> None:
        pair = next(row.pair for row in list_disagreements(own, LEFT, RIGHT).rows if row.pair.passage_id == "p3")
        found = override_effect(own, LEFT, RIGHT, pair, Policy(), ["q1/b"], 0, "ann")
        assert (found.before, found.after, found.left, found.right, found.agrees) == (4, 0, 0, 0, True)
        add_override(own, "q1/b", "p3", 0, "no", "ann")
        assert "p3" not in [row.pair.passage_id for row in list_disagreements(own, LEFT, RIGHT).rows]
        # Only a person's own ratings change their side.
        for author, rating in (("ann", 5), ("bob", 0)):
            add_override(own, "q1/a", "p1", rating, "read it", author)
        left, right = Person("ann"), Person("bob")
        (row,) = list_disagreements(own, left, right).rows
        assert override_effect(own, left, right, row.pair, Policy(), ["q1/a"], 0, "ann").agrees
        assert not override_effect(own, left, right, row.pair, Policy(), ["q1/a"], 0, "eve").agrees

    def test_outcome_names_other_question_and_excludes_grader_alone(self, small: Project) -> None:
        pair = next(row.pair for row in list_disagreements(small, LEFT, RIGHT).rows if row.pair.passage_id == "p1")
        found = override_effect(small, LEFT, RIGHT, pair, Policy(), ["q1/a"], 0, "ann")
        assert (found.after, found.agrees) == (4, False)
        assert [(one.text, one.rating) for one in found.also] == [("What is B?", 4)]
        left = machine_labels(Policy())
        pair = next(row.pair for row in list_disagreements(small, left, RIGHT).rows if row.pair.passage_id == "p3")
        found = override_effect(small, left, RIGHT, pair, left.policy, ["q1/b"], 0, "ann")
        assert (found.left, found.agrees) == (4, False)


class TestCells:
    def test_cells_list_labelled_pairs(self, small: Project) -> None:
        for row, column in ((5, 0), (5, 3), (2, 1)):
            found = list_disagreements(small, LEFT, RIGHT, cell=([row], [column]))
            assert {(one.pair.left, one.pair.right) for one in found.rows} == {(row, column)}
            table = side_agreement(small, LEFT, RIGHT).table
            assert found.total == table.counts[list(table.rows).index(row), list(table.columns).index(column)] > 0
        found = list_disagreements(small, LEFT, RIGHT, cell=([5, 4], [0]))
        assert [row.pair.passage_id for row in found.rows] == ["p1", "p3"]
        found = list_disagreements(small, LEFT, RIGHT, cell=(range(6), range(4)))
        assert found.total == 6
        assert "p7" not in [row.pair.passage_id for row in found.rows]


class TestQuestionsBehindLabel:
    def giving(self, project: Project, policy: Policy) -> dict[str, list[tuple[str, int]]]:
        rows = list_disagreements(project, Labels(policy), RIGHT, cell=(range(6), range(4))).rows
        return {row.pair.passage_id: [(one.text, one.rating) for one in row.left_from] for row in rows}

    def test_best_rated_positive_questions_give_the_label(self, small: Project) -> None:
        given = self.giving(small, Policy())
        assert given["p1"] == [("What is A?", 5)]
        assert given["p3"] == [("What is B?", 4)]
        assert self.giving(small, Policy(label="support:2"))["p1"] == [("What is A?", 5), ("What is B?", 4)]
        assert set(map(len, self.giving(small, Policy(label="mean")).values())) == {0}

    def test_override_can_give_the_label(self, own: Project) -> None:
        add_override(own, "q1/b", "p4", 4, "read it", "ann")
        assert self.giving(own, Policy())["p4"] == [("What is B?", 4)]

    def test_other_graders_name_their_own_question_or_none(self, own: Project) -> None:
        grade(own, {("What is B?", "p1"): 3}, GraderSpec("other", "self-rating", "another"))
        sides = machine_labels(Policy(), SPEC.name), machine_labels(Policy(), "other")
        (row,) = list_disagreements(own, *sides).rows
        assert [one.text for one in row.left_from] == ["What is A?"]
        assert [(one.text, one.rating) for one in row.right_from] == [("What is B?", 3)]
        commit(own, bank.question_text_key, "query q1")
        grade(own, {("query q1", "p1"): 3}, GraderSpec("direct", "direct", "m", max_rating=3))
        (row,) = list_disagreements(own, Labels(Policy(grader="direct")), RIGHT).rows
        assert (row.pair.left, row.left_from) == (3, ())


class TestGaps:
    @pytest.mark.parametrize("policy", [Policy(), Policy(min_rating=2), Policy(min_judgment=3, label="mean")])
    def test_gaps_match_diagnosis_of_each_query(self, own: Project, policy: Policy) -> None:
        add_override(own, "q1/a", "p3", 5, "read it", "ann")
        expected_strays: dict[str, set[str]] = {}
        expected_uncovered: set[str] = set()
        for query_id in ("q1", "q2"):
            found = diagnose_questions(own, policy, query_id, bank.list_questions(own, None, query_id), "assessors")
            expected_strays |= {one.question.question_id: set(one.passages) for one in found.strays}
            expected_uncovered |= set(found.uncovered)
        total, listed = list_strays(own, policy, "assessors")
        assert {one.question_id: set(one.passages) for one in listed} == expected_strays
        assert total == len(expected_strays) > 0
        assert [one.non_relevant for one in listed] == sorted((one.non_relevant for one in listed), reverse=True)
        total, left_out = list_uncovered(own, policy, "assessors")
        assert {one.passage_id for one in left_out} == expected_uncovered
        assert total == len(expected_uncovered) > 0

    def test_gaps_have_ratings_and_pages_without_ungraded_passages(self, small: Project) -> None:
        _, listed = list_uncovered(small, Policy(), "assessors")
        assert [(one.passage_id, one.judgment, one.best) for one in listed] == [
            ("p4", 3, 1),
            ("p2", 2, 3),
            ("p6", 1, 2),
        ]
        total, second = list_uncovered(small, Policy(), "assessors", limit=1, offset=1)
        assert (total, [one.passage_id for one in second]) == (3, ["p2"])
        with refusal("unknown-source", "nobody"):
            list_strays(small, Policy(), "nobody")


def test_override_keeps_other_pairs_of_binary_grader_in_agreement(project: Project) -> None:
    spec = GraderSpec("qa", "answer", "none", max_rating=1)
    passages = ["p1", "p2", "p3", "p4"]
    said = dict(zip(passages, (1, 1, 0, 0), strict=True))
    ratings = {("A?", passage): value for passage, value in said.items()}
    fill(project, [Question("q1/a", "q1", "A?")], ratings, {"s": {"q1": passages}}, spec)
    judge(project, {("q1", passage): value for passage, value in said.items()})
    left, right = Labels(Policy()), Judgments()
    assert list_disagreements(project, left, right).total == 0
    add_override(project, "q1/a", "p4", 5, "it does", "ann")
    assert [row.pair.passage_id for row in list_disagreements(project, left, right).rows] == ["p4"]


def test_matching_does_not_depend_on_judgments_given_so_far(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p1"): 3, ("A?", "p2"): 5}, {"s": {"q1": ["p1", "p2"]}})
    left, right = Labels(Policy()), Judgments("assessor: ann")
    judging.judge_passage(project, "q1", "p1", 2, "ann")
    assert list_disagreements(project, left, right).total == 0
    judging.judge_passage(project, "q1", "p2", 3, "ann")
    assert list_disagreements(project, left, right).total == 0
    judge(project, {}, "other")
    assert list_disagreements(project, left, Judgments("other")).total == 0


def test_withdrawn_or_stale_override_reopens_case(project: Project) -> None:
    ratings = {("A?", "p1"): 5, ("A?", "p2"): 0}
    fill(project, [Question("q1/a", "q1", "A?")], ratings, {"s": {"q1": ["p1", "p2"]}})
    judge(project, {("q1", "p1"): 0, ("q1", "p2"): 0})
    left, right = Labels(Policy()), Judgments()
    case = case_of(project, left, right, list_disagreements(project, left, right).rows[0].pair)
    add_override(project, "q1/a", "p1", 5, "fine", "bob")
    (key,) = settle_by_override(project, case, ["q1/a"], 0, "no answer", "ann")
    assert list_disagreements(project, left, right).total == 0
    withdraw_by_key(project, key, "ann")
    assert list_labels(project, basis(project, Policy()))["label"].tolist() == [5, 0]
    assert [one.settled for one in list_settlings(project)] == [False]
    assert list_disagreements(project, left, right).total == 1
    settle_by_override(project, case, ["q1/a"], 0, "no answer", "ann")
    bank.save_version(project, [Question("q1/a", "q1", "What now?")], "reword", "ann")
    grade(project, {("What now?", "p1"): 5, ("What now?", "p2"): 0})
    assert list_disagreements(project, left, right).total == 1
    confirm_override(project, find_overrides(project)[0].key, "ann")
    assert list_disagreements(project, left, right).total == 0
