"""Topics `query/subtopic`: reviews of single queries use the same labels as the leaderboard."""

from __future__ import annotations

import pytest

from exam_workbench import bank
from exam_workbench.grading._needed_pairs import trial_pairs
from exam_workbench.labels import Policy, add_override, find_overrides, leaderboard
from exam_workbench.records import add_queries
from exam_workbench.review import (
    Judgments,
    Labels,
    case_of,
    changes,
    list_disagreements,
    ratings_effect,
    read_passage,
    reopen_case,
    settle_by_override,
    state_changes,
)
from exam_workbench.store import Project
from exam_workbench.types import Query, Question, Subtopic
from tests.made.projects import SPEC, fill, judge

BANK = [Question("x1", "q", "what a?", subtopic_id="a"), Question("x2", "q", "what b?", subtopic_id="b")]
RETIRED = [Question("x1", "q", "what a?", subtopic_id="a", active=False), BANK[1]]


@pytest.fixture
def topics(project: Project) -> Project:
    """Two topics of one query have runs; the questions belong to the query and its subtopics."""
    facets = (Subtopic("a", "facet a"), Subtopic("b", "facet b"))
    with project.transaction() as cursor:
        queries = [Query("q", "query q", subtopics=facets), Query("q/a", "q / a"), Query("q/b", "q / b")]
        add_queries(cursor, queries, replace=True)
    ratings = {("what a?", "d1"): 2, ("what a?", "d2"): 5, ("what b?", "d3"): 5, ("what b?", "d4"): 0}
    runs = {"r": {"q/a": ["d1", "d2"], "q/b": ["d3", "d4"]}, "s": {"q/a": ["d2", "d1"], "q/b": ["d4", "d3"]}}
    fill(project, BANK, ratings, runs)
    return project


@pytest.mark.parametrize("measure", ["AP", "EXAM-Cover@1", "alpha_nDCG@10"])
def test_forecasts_of_override_and_edit_match_effects(topics: Project, measure: str) -> None:
    foretold = ratings_effect(topics, measure, Policy(), "d1", {"x1": (2, 5)})
    assert foretold.before.scores == leaderboard(topics, measure).scores
    add_override(topics, "x1", "d1", 5, "it does", "ann")
    assert foretold.after.scores == leaderboard(topics, measure).scores
    foretold = changes(topics, measure, Policy(), {"q": RETIRED})
    assert foretold.before.scores == leaderboard(topics, measure).scores
    bank.save_version(topics, RETIRED, "retire", "ann")
    assert foretold.after.scores == leaderboard(topics, measure).scores


def test_label_flip_of_topic_names_its_question(topics: Project) -> None:
    bank.save_version(topics, RETIRED, "retire", "ann")
    found = state_changes(topics, Policy(bank_version=1), Policy(bank_version=2), "AP")
    assert {(flip.query_id, flip.causes, flip.questions) for flip in found.flips} == {("q/a", ("retired",), ("x1",))}


def test_case_of_topic_is_reopened_and_override_withdrawn(topics: Project) -> None:
    judge(topics, {("q/a", "d2"): 0})
    left, right = Labels(Policy()), Judgments()
    case = case_of(topics, left, right, list_disagreements(topics, left, right).rows[0].pair)
    settle_by_override(topics, case, ["x1"], 0, "no", "ann")
    assert reopen_case(topics, case, "", "ann", withdraw_override=True)
    assert find_overrides(topics) == []


def test_topic_passage_shows_subtopic_questions_and_overrides(topics: Project) -> None:
    add_override(topics, "x1", "d1", 5, "it does", "ann")
    desk = read_passage(topics, Policy(), "q/a", "d1")
    ((one,), label) = desk.asked, desk.label
    assert (one.question.question_id, one.rating, label) == ("x1", 5, 5)
    assert one.override is not None and one.override.author == "ann"


def test_draft_is_tried_on_passages_of_its_topic(topics: Project) -> None:
    drafted = [Question("new", "q", "what else?", subtopic_id="a"), Question("x1", "q", "what a?", subtopic_id="a")]
    (pairs,) = trial_pairs(topics, SPEC, drafted)
    assert len(pairs) == 2, "the new question with d1 and d2; the old one is graded"
