"""The passage desk: search, reading, order, effects of overrides, answer marks and turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from exam_workbench import bank
from exam_workbench.bank import question_text_key
from exam_workbench.labels import (
    Policy,
    add_override,
    basis,
    label_qrels,
    leaderboard,
    override_all,
    withdraw_all,
    withdraw_by_key,
)
from exam_workbench.records import assign_double
from exam_workbench.records.judging import judge_passage as assess
from exam_workbench.review import (
    NONE,
    Filters,
    GraderResult,
    SearchPage,
    cut_segments,
    find_answer,
    label_with,
    my_work,
    next_turn,
    ratings_effect,
    read_passage,
    search_passages,
    strongest_first,
    where_to_begin,
)
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.projects import SPEC, commit, fill, filled_project, grade, judge, pool_passages, read_project
from tests.made.refusals import mentions, refusal

A = Question("q1/a", "q1", "What is A?", weight=2.0)
B = Question("q1/b", "q1", "What is B?")
AVOID = Question("q1/x", "q1", "Is it an advertisement?", weight=-1.0)
D = Question("q2/d", "q2", "What is D?")
ROWS = {
    "What is A?": {"p1": 5, "p2": 1, "p3": 3},
    "What is B?": {"p1": 2, "p2": None, "p3": 3},
    "Is it an advertisement?": {"p1": 5},
    "What is D?": {"p4": 4},
}
RATINGS = {(question, passage): rating for question, row in ROWS.items() for passage, rating in row.items()}
RUNS = {
    "x": {"q1": ["p1", "p2", "p3"], "q2": ["p4", "p5"]},
    "y": {"q1": ["p3", "p2", "p1"], "q2": ["p5", "p4"]},
    "z": {"q1": ["p2", "p3"]},
}


def fill_graded(project: Project) -> None:
    fill(project, [A, B, AVOID, D], RATINGS, RUNS)
    judge(project, {("q1", "p1"): 0, ("q1", "p3"): 1, ("q2", "p4"): -1})


graded = filled_project(fill_graded)
pool = read_project(fill_graded)


def found(project: Project, policy: Policy | None = None, **filters: Any) -> list[str]:
    return [row.passage_id for row in search_passages(project, policy or Policy(), Filters(**filters), 100).rows]


class TestFinding:
    def test_unfiltered_list_shows_whole_pool_by_query(self, pool: Project) -> None:
        rows = search_passages(pool, Policy(), Filters(source="assessors"), 100).rows
        assert [(r.place, r.query_id, r.passage_id, r.label, r.judgment) for r in rows] == [
            (1, "q1", "p1", 5, 0),
            (2, "q1", "p2", 1, None),
            (3, "q1", "p3", 3, 1),
            (4, "q2", "p4", 4, -1),
            (5, "q2", "p5", None, None),
        ]
        assert [(r.failed, r.ungraded) for r in rows] == [(0, 0), (1, 1), (0, 1), (0, 0), (0, 1)]
        assert rows[0].excerpt == "text of p1"

    @pytest.mark.parametrize(
        ("filters", "passages"),
        [
            ({"query_id": "q2"}, ["p4", "p5"]),
            ({"words": "OF P3"}, ["p3"]),
            ({"words": "p5"}, ["p5"]),
            ({"words": "%"}, []),
            ({"label": 3}, ["p3"]),
            ({"label": NONE}, ["p5"]),
            ({"rating": 2}, ["p1"]),
            ({"rating": 5}, ["p1"]),
            ({"source": "assessors", "judgment": 0}, ["p1"]),
            ({"source": "assessors", "judgment": -1}, ["p4"]),
            ({"source": "assessors", "judgment": NONE}, ["p2", "p5"]),
            ({"run": "y", "depth": 1}, ["p3", "p5"]),
            ({"state": "failed"}, ["p2"]),
            ({"state": "ungraded"}, ["p2", "p3", "p5"]),
            ({"state": "complete"}, ["p1", "p4"]),
            ({"source": "assessors", "flagged": True}, ["p1", "p3", "p4"]),
            ({"query_id": "q1", "run": "z", "depth": 1, "state": "failed"}, ["p2"]),
        ],
    )
    def test_filter_lists_matching_passages(self, pool: Project, filters: dict[str, Any], passages: list[str]) -> None:
        assert found(pool, **filters) == passages

    def test_labels_match_qrels_under_any_rule(self, pool: Project) -> None:
        for rule in ("max", "support:2", "mean"):
            policy = Policy(label=rule)
            listed = search_passages(pool, policy, Filters(), 100).rows
            qrels = label_qrels(pool, basis(pool, policy))
            assert {(r.query_id, r.passage_id): r.label for r in listed if r.label is not None} == {
                (query, passage): label for query, labels in qrels.items() for passage, label in labels.items()
            }
        assert found(pool, Policy(min_rating=3), source="assessors", flagged=True) == ["p1", "p4"]

    def test_override_is_found_and_counts_in_label(self, graded: Project) -> None:
        add_override(graded, "q1/b", "p2", 4, "it does", "ann")
        assert found(graded, overridden=True) == ["p2"]
        assert found(graded, label=4) == ["p2", "p4"]
        assert found(graded, state="failed") == []
        assert found(graded, Policy(overrides=False), overridden=True) == []

    def test_unjudged_and_double_assigned_passages_can_be_listed(self, graded: Project) -> None:
        assert found(graded, assigned_to="ann") == []
        assign_double(graded, "q1", "olga", ["ann", "bob"], passages=["p2", "p3"])
        assert found(graded, assigned_to="ann") == found(graded, assigned_to="bob") == ["p2", "p3"]
        assert found(graded, assigned_to="cat") == []
        assess(graded, "q1", "p2", 1, "ann")
        assert found(graded, unjudged_by="assessor: ann") == ["p1", "p3", "p4", "p5"]
        assert found(graded, assigned_to="ann", unjudged_by="assessor: ann") == ["p3"]
        (one,) = (one for one in my_work(graded, "ann", None, None) if one.query_id == "q1")
        assert (one.sampled, one.sampled_left, one.next_step.only) == (2, 1, "assigned")
        assert mentions(one.next_step.said, "1")

    def test_pages_are_limited_and_opened_passages_have_neighbours(self, pool: Project) -> None:
        pages = [search_passages(pool, Policy(), Filters(), 2, page) for page in (1, 2, 3, 99)]
        assert [[r.passage_id for r in page.rows] for page in pages] == [["p1", "p2"], ["p3", "p4"], ["p5"], ["p5"]]
        assert {page.total for page in pages} == {5}
        assert [page.page for page in pages] == [1, 2, 3, 3]
        here = search_passages(pool, Policy(), Filters(), 2, opened=("q1", "p3"))
        assert (here.page, places(here)) == (2, ("p2", "p3", "p4"))
        filtered = search_passages(pool, Policy(), Filters(state="complete"), 2, opened=("q1", "p3"))
        assert places(filtered) == ("p1", None, "p4")
        assert places(search_passages(pool, Policy(), Filters(), 2, opened=("q2", None))) == ("p3", None, "p4")
        assert places(search_passages(pool, Policy(), Filters(), 2, opened=("gone", "p1"))) == (None, None, "p1")

    def test_default_passage_is_one_that_a_run_returned(self, project: Project) -> None:
        fill(project, [A, D], {}, {"x": {"q1": ["p1", "p2"], "q2": ["p3", "p4"]}})
        judge(project, {("q1", "p1"): 0, ("q2", "p3"): 1})
        commit(project, "DELETE FROM rankings WHERE rank = 1")
        listed = search_passages(project, None, Filters(), 9).rows
        assert [row.passage_id for row in listed] == ["p1", "p2", "p3", "p4"]
        assert {row.label for row in listed} == {None}
        assert where_to_begin(project, None, Filters()) == ("q1", "p2")
        assert where_to_begin(project, None, Filters(), "q2") == ("q2", "p4")
        assert where_to_begin(project, None, Filters(query_id="q2"), "gone") == ("q2", "p4")
        assert where_to_begin(project, None, Filters(words="text of p3")) == ("q2", "p3")
        assert where_to_begin(project, None, Filters(words="nowhere")) is None


def places(page: SearchPage) -> tuple[str | None, ...]:
    return tuple(None if row is None else row.passage_id for row in (page.before, page.here, page.after))


class TestReading:
    def test_reading_shows_ratings_states_judgments_and_ranks(self, pool: Project) -> None:
        desk = read_passage(pool, Policy(), "q1", "p1")
        assert (desk.text, desk.label, desk.usable, desk.needed) == ("text of p1", 5, 2, 2)
        assert [(one.number, one.question.text, one.rating, one.gives_label) for one in desk.asked] == [
            (1, "What is A?", 5, True),
            (2, "What is B?", 2, False),
            (3, "Is it an advertisement?", 5, False),
        ]
        assert desk.judgments == [("assessors", 0)]
        assert desk.ranks == [("x", 1), ("y", 3), ("z", None)]
        desk = read_passage(pool, Policy(), "q1", "p2")
        assert [one.said[SPEC.name].status for one in desk.asked] == ["graded", "failed", "ungraded"]
        assert [one.rating for one in desk.asked] == [1, None, None]
        assert (desk.label, desk.usable, desk.needed) == (1, 1, 2)
        desk = read_passage(pool, Policy(), "q2", "p1")
        assert (desk.pooled, desk.label) == (False, None)
        with refusal("unknown-passage", "q1", "p99"):
            read_passage(pool, Policy(), "q1", "p99")

    def test_grader_result_includes_raw_output_and_failure_reason(self, graded: Project) -> None:
        unsure = Grade(1, "defaulted", "five", 0.5, "Five!", note="shortened", distribution=(0.5, 0.5))
        lost = Grade(None, "failed", raw="…", reason="the output is empty")
        told = {("What is D?", "p5"): unsure, ("What is A?", "p5"): lost}
        grade(graded, told, replace(SPEC, name="reader", model="r"))
        said = read_passage(graded, Policy(), "q2", "p5", ["reader", SPEC.name]).asked[0].said
        assert said["reader"] == GraderResult("defaulted", 1, "five", 0.5, "Five!", "shortened", (0.5, 0.5))
        assert said[SPEC.name] == GraderResult("ungraded")
        (only,) = [one for one in read_passage(graded, Policy(), "q1", "p5", ["reader"]).asked if one.number == 1]
        assert only.said["reader"] == GraderResult("failed", raw="…", reason="the output is empty")

    def test_answer_key_grader_is_found_by_its_asked_text(self, project: Project) -> None:
        keyed = replace(A, answer_key="a letter")
        spec = GraderSpec("checker", "answer", "m", parameters={"reads": ["answer_key"]})
        fill(project, [keyed, B], {}, RUNS)
        commit(project, question_text_key, spec.asked_text(keyed))
        grade(project, {(spec.asked_text(keyed), "p1"): 5}, spec)
        desk = read_passage(project, Policy(grader="checker"), "q1", "p1")
        assert [(one.rating, one.counts, list(one.said)) for one in desk.asked] == [
            (5, True, ["checker"]),
            (None, False, []),
        ]
        assert (desk.label, desk.usable, desk.needed) == (5, 1, 1)
        assert label_qrels(project, basis(project, Policy(grader="checker"))) == {"q1": {"p1": 5}}

    def test_direct_grader_is_asked_about_the_query(self, graded: Project) -> None:
        spec = GraderSpec("direct judge", "direct", "m", max_rating=2)
        commit(graded, question_text_key, "query q1")
        grade(graded, {("query q1", "p1"): 2}, spec)
        desk = read_passage(graded, Policy(grader="direct judge"), "q1", "p1", ["direct judge", SPEC.name])
        assert [(one.number, one.rating, list(one.said)) for one in desk.asked] == [
            (0, 2, ["direct judge"]),
            (1, None, [SPEC.name]),
            (2, None, [SPEC.name]),
            (3, None, [SPEC.name]),
        ]
        assert desk.label == 2

    def test_override_is_shown_with_grade_and_stale_one_separately(self, graded: Project) -> None:
        add_override(graded, "q1/a", "p1", 0, "it asks", "ann")
        desk = read_passage(graded, Policy(), "q1", "p1")
        first = desk.asked[0]
        assert (first.said[SPEC.name].rating, first.rating, desk.label) == (5, 0, 2)
        assert first.override is not None and first.override.reason == "it asks"
        bank.save_version(graded, [replace(A, text="What is A, exactly?")], "reworded", "ann")
        first = read_passage(graded, Policy(), "q1", "p1").asked[0]
        assert first.override is None
        assert [one.wording for one in first.stale] == ["What is A?"]

    def test_passage_without_text_can_be_read(self, graded: Project) -> None:
        pool_passages(graded, [("q1", "unseen")], {})
        desk = read_passage(graded, Policy(), "q1", "unseen")
        assert (desk.text, desk.label, desk.pooled) == (None, None, True)


class TestOrder:
    def test_label_giving_question_is_first_and_unrated_last(self, graded: Project) -> None:
        asked = strongest_first(read_passage(graded, Policy(), "q1", "p1").asked)
        assert [(one.question.question_id, one.gives_label) for one in asked] == [
            ("q1/a", True),
            ("q1/x", False),
            ("q1/b", False),
        ]
        failed = strongest_first(read_passage(graded, Policy(), "q1", "p2").asked)
        assert [one.question.question_id for one in failed] == ["q1/a", "q1/b", "q1/x"]
        add_override(graded, "q1/a", "p1", 0, "no", "ann")
        asked = strongest_first(read_passage(graded, Policy(), "q1", "p1").asked)
        assert [one.question.question_id for one in asked] == ["q1/b", "q1/x", "q1/a"]


class TestOverriding:
    def test_predicted_effect_matches_one_and_several_overrides(self, graded: Project) -> None:
        for measure in ("nDCG@10", "EXAM-Cover", "alpha_nDCG@10", "AP"):
            foretold = ratings_effect(graded, measure, Policy(), "p1", {"q1/a": (5, 0)}, "assessors")
            assert foretold.before.scores == leaderboard(graded, measure, with_ungraded=True).scores
            key = add_override(graded, "q1/a", "p1", 0, "no", "ann")
            assert foretold.after.scores == pytest.approx(leaderboard(graded, measure, with_ungraded=True).scores)
            assert (foretold.label_before, foretold.label_after) == (5, 2)
            assert label_qrels(graded, basis(graded, Policy()))["q1"]["p1"] == 2
            assert foretold.systems
            assert foretold.shift is not None
            withdraw_by_key(graded, key, "ann")
            foretold = ratings_effect(graded, measure, Policy(), "p1", {"q1/a": (5, 0), "q1/b": (2, 1)}, "assessors")
            keys = override_all(graded, "p1", {"q1/a": 0, "q1/b": 1}, "no", "ann")
            assert foretold.after.scores == pytest.approx(leaderboard(graded, measure, with_ungraded=True).scores)
            assert (foretold.label_before, foretold.label_after) == (5, 1)
            withdraw_all(graded, keys, "ann")

    def test_label_with_overrides_is_predicted(self, pool: Project) -> None:
        desk = read_passage(pool, Policy(), "q1", "p1")
        assert label_with(pool, Policy(), desk, {"q1/a": 0, "q1/b": 1}) == 1
        assert label_with(pool, Policy(), desk, {"q1/a": None, "q1/b": None}) is None
        assert [label_with(pool, Policy(), desk, {"q1/a": rating}) for rating in (0, 3, None)] == [2, 3, 2]
        assert label_with(pool, Policy(label="mean"), desk, {"q1/b": 5}) == 5
        effect = ratings_effect(pool, "nDCG@10", Policy(), "p1", {"q1/b": (2, 3)})
        assert (effect.label_before, effect.label_after, effect.systems, effect.shift) == (5, 5, [], None)

    def test_prediction_includes_queries_with_same_question_and_passage(self, project: Project) -> None:
        same = Question("q2/a", "q2", "What is A?")
        fill(project, [A, same], {("What is A?", "p1"): 5, ("What is A?", "p2"): 4}, {
            "x": {"q1": ["p1", "p2"], "q2": ["p1", "p2"]}, "y": {"q1": ["p2"], "q2": ["p2", "p1"]},
        })  # fmt: skip
        foretold = ratings_effect(project, "nDCG@10", Policy(), "p1", {"q1/a": (5, 0)})
        add_override(project, "q1/a", "p1", 0, "no", "ann")
        assert foretold.after.per_query == leaderboard(project, "nDCG@10", with_ungraded=True).per_query


class TestMarking:
    @pytest.mark.parametrize(
        ("text", "answer", "marked"),
        [
            ("It is in Paris, France.", "Paris", "Paris"),
            ("It is in paris.", "Paris", "paris"),
            ("two\n  lines here", "two lines", "two\n  lines"),
            ("the start of art", "art", "art"),
            ("in 1969.", "1969", "1969"),
            ("东京是日本的首都", "日本", "日本"),
            ("a (b) [c] \\d", "(b) [c] \\d", "(b) [c] \\d"),
            ("nothing of it", "Rome", None),
            ("a. b.", ".", None),
            ("start", "art", None),
            ("text", "", None),
            ("text", None, None),
        ],
    )
    def test_answer_is_found_in_passage(self, text: str, answer: str | None, marked: str | None) -> None:
        span = find_answer(text, answer)
        assert (text[slice(*span)] if span else None) == marked
        assert text != "the start of art" or span == (13, 16), "only whole words count"

    def test_marks_may_overlap_and_nest(self) -> None:
        pieces = cut_segments("abcdef", [(0, 4), (2, 6), (2, 4)])
        assert [(one.text, one.inside, one.ending) for one in pieces] == [
            ("ab", (0,), ()),
            ("cd", (0, 1, 2), (0, 2)),
            ("ef", (1,), (1,)),
        ]

    @given(st.text(), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20))))
    def test_segments_add_up_to_whole_text(self, text: str, wanted: list[tuple[int, int]]) -> None:
        spans = [(start, min(start + length, len(text))) for start, length in wanted if start < len(text)]
        pieces = cut_segments(text, spans)
        assert "".join(one.text for one in pieces) == text
        for i, (start, end) in enumerate(spans):
            assert "".join(one.text for one in pieces if i in one.inside) == text[start:end]

    @given(st.text(max_size=60), st.data())
    def test_any_answer_gives_valid_span_or_none(self, text: str, data: st.DataObject) -> None:
        answer = data.draw(st.text(max_size=20))
        span = find_answer(text, answer)
        if span is not None:
            assert 0 <= span[0] < span[1] <= len(text)


def test_blind_turn_has_own_order_and_hides_values(graded: Project) -> None:
    pooled = [row.passage_id for row in search_passages(graded, None, Filters(query_id="q1"), 40).rows]
    filters, orders = Filters(source="assessors"), set()
    for name in ("ann", "ben", "cat", "dan", "eve", "fay"):
        turn = next_turn(graded, Policy(), filters, name, True, "q1")
        assert turn is not None and turn == next_turn(graded, Policy(), filters, name, True, "q1")
        assert {(row.listed.label, row.listed.judgment) for row in turn.rows} == {(None, None)}
        orders.add(tuple(row.listed.passage_id for row in turn.rows))
    assert len(orders) > 1 and {frozenset(order) for order in orders} == {frozenset(pooled)}
    seen = next_turn(graded, Policy(), filters, "ann", False, "q1")
    assert seen is not None
    assert [row.listed.passage_id for row in seen.rows] == pooled
    assert any(row.listed.label is not None for row in seen.rows)


def test_turn_counts_own_judgments_and_leads_to_next_query(graded: Project) -> None:
    for row in search_passages(graded, None, Filters(query_id="q1"), 40).rows:
        assess(graded, "q1", row.passage_id, 1, "ann")
    assess(graded, "q2", "p4", 2, "ben")
    turn = next_turn(graded, None, Filters(), "ann", True, "q1")
    assert turn is not None
    assert (turn.judged, turn.following) == (len(turn.rows), "q2")
    other = next_turn(graded, None, Filters(), "ann", True)
    assert other is not None
    assert (other.query_id, other.judged, other.following) == ("q2", 0, None)
    assert next_turn(graded, None, Filters(words="nowhere"), "ann", True) is None
