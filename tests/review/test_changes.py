"""The impact of an edit equals saving it and recomputing everything."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exam_workbench import bank
from exam_workbench.errors import InputError
from exam_workbench.labels import Leaderboard, Policy, leaderboard
from exam_workbench.records import add_queries
from exam_workbench.review import changes, version_edits
from exam_workbench.store import Project
from exam_workbench.types import Query, Question
from tests.made.projects import examples, fill, new_project, read_project
from tests.made.refusals import refusal
from tests.review.test_state_changes import labels_of

PASSAGES = [f"p{i}" for i in range(5)]
QUERIES = ["q1", "q2"]
WORDINGS = ["A?", "B?", "C?", "D?", "never graded?"]
WEIGHTS = [-1.0, 0.0, 0.5, 1.0, 2.0]
MEASURES = ["EXAM-Cover", "AP", "nDCG@10", "alpha_nDCG@10"]


def _bank(dice: Random) -> dict[str, list[Question]]:
    return {
        query: [
            Question(
                f"{query}/{i}",
                query,
                f"{query} {dice.choice(WORDINGS)}",
                weight=dice.choice(WEIGHTS),
                active=dice.random() < 0.8,
            )
            for i in range(dice.randint(1, 4))
        ]
        for query in QUERIES
    }


def _ratings(dice: Random) -> dict[tuple[str, str], int | None]:
    pairs = [(f"{q} {w}", p) for q in QUERIES for w in WORDINGS[:-1] for p in PASSAGES]
    return {pair: dice.choice([None, 0, 1, 2, 3, 4, 5]) for pair in pairs if dice.random() < 0.8}


def _runs(dice: Random) -> dict[str, dict[str, list[str]]]:
    return {
        run: {
            query: dice.sample(PASSAGES, dice.randint(1, len(PASSAGES)))
            for query in dice.sample(QUERIES, dice.randint(1, 2))
        }
        for run in ("a", "b", "c")
    }


policies = st.builds(
    Policy,
    min_rating=st.integers(1, 5),
    cutoff=st.integers(1, 3),
    label=st.sampled_from(["max", "mean", "support:2"]),
    weighted=st.booleans(),
    skipped=st.sampled_from(["zero", "ignore"]),
)


@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), policies, policies)
def test_impact_equals_saving_and_recomputing(dice, first, second):
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        # Inactive questions register every wording, so that all can be graded.
        wordings = [Question(f"{q}/{w}", q, f"{q} {w}", active=False) for q in QUERIES for w in WORDINGS]
        old = _bank(dice)
        fill(project, [*old["q1"], *old["q2"], *wordings], _ratings(dice), _runs(dice))
        # Creating a project is slow, so the second edit builds on the first.
        for policy in (first, second):
            _edit_and_compare(project, _bank(dice), policy)
        project.close()


def _edit_and_compare(project: Project, new: dict[str, list[Question]], policy: Policy) -> None:
    version = bank.latest_version(project)
    edits = {query: _with_the_rest(new[query], bank.list_questions(project, query_id=query)) for query in QUERIES}
    state = replace(policy, bank_version=version)
    found = {measure: _or_none(lambda m=measure: changes(project, m, state, edits)) for measure in MEASURES}
    before = labels_of(project, state)
    bank.save_version(project, [q for questions in edits.values() for q in questions], "new", "tester")
    after = labels_of(project, policy)
    differing = {
        pair: (before.get(pair), after.get(pair)) for pair in {**before, **after} if before.get(pair) != after.get(pair)
    }
    for measure in MEASURES:
        board = _or_none(lambda m=measure: leaderboard(project, m, policy=policy, with_ungraded=True))
        impact = found[measure]
        if impact is None:
            assert not any(before.values())
            continue
        assert {(c.query_id, c.passage_id): (c.before, c.after) for c in impact.labels} == differing
        if board is None:
            assert not impact.after.usable
        else:
            _same(impact.after, board)
        between = changes(project, measure, state, version_edits(project, version, bank.latest_version(project)))
        assert between.labels == impact.labels


def _or_none(compute):
    try:
        return compute()
    except InputError as error:
        assert error.code == "nothing-graded"
        return None


def _with_the_rest(new: list[Question], saved: list[Question]) -> list[Question]:
    ids = {question.question_id for question in new}
    return [*new, *(question for question in saved if question.question_id not in ids)]


def _same(a: Leaderboard, b: Leaderboard) -> None:
    assert {s.run: (pytest.approx(s.score), s.queries, s.rank) for s in a.systems} == {
        s.run: (s.score, s.queries, s.rank) for s in b.systems
    }
    assert (a.needed, a.usable) == (b.needed, b.usable)
    assert sorted(a.query_ids) == sorted(b.query_ids)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_impact_equals_saving_and_recomputing_for_topics(project, seed):
    """Questions also move between subtopics; one topic has its own questions and a subtopic."""
    dice = Random(seed)
    topics = ["q1/a", "q1/b", "q2/a", "q1/a/c"]
    asked = [Question(f"other {words}", "q3", words, active=False) for words in WORDINGS]

    def drawn() -> list[Question]:
        return [
            replace(
                question, query_id=query, question_id=f"{query} {i}", subtopic_id=dice.choice([None, "a", "b", "a/c"])
            )
            for query in (*QUERIES, "q1/a")
            for i, question in enumerate(dice.choices(asked, k=6))
        ]

    def active(questions: list[Question]) -> list[Question]:
        return [replace(q, active=dice.random() < 0.8, weight=dice.choice(WEIGHTS)) for q in questions]

    with project.transaction() as cursor:
        add_queries(cursor, [Query(query, query) for query in (*QUERIES, *topics)], replace=True)
    places = [*topics, *QUERIES[seed % 3 :]]
    runs = {run: {query: dice.sample(PASSAGES, 3) for query in dice.sample(places, len(places) - 1)} for run in "abc"}
    pairs = [(words, passage) for words in WORDINGS[:-1] for passage in PASSAGES]
    ratings = {pair: dice.choice([None, 0, 1, 2, 3, 4, 5]) for pair in pairs if dice.random() < 0.8}
    fill(project, [*active(drawn()), *asked], ratings, runs)
    state, now = Policy(bank_version=1, cutoff=2), Policy(cutoff=2)
    edits: dict[str, list[Question]] = {}
    for question in active(drawn()):
        edits.setdefault(question.query_id, []).append(question)
    del edits[dice.choice(list(edits))]
    found = {measure: changes(project, measure, state, edits) for measure in MEASURES}
    before = labels_of(project, state)
    bank.save_version(project, [q for questions in edits.values() for q in questions], "new", "tester")
    after = labels_of(project, now)
    pool = {**before, **after}
    differing = {
        place: (before.get(place), after.get(place)) for place in pool if before.get(place) != after.get(place)
    }
    assert {query for query, _ in differing} & set(topics)
    for measure, impact in found.items():
        assert {(c.query_id, c.passage_id): (c.before, c.after) for c in impact.labels} == differing
        _same(impact.after, leaderboard(project, measure, policy=now, with_ungraded=True))


BANK = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q1/c", "q1", "C?")]
GRADES = {("A?", "p1"): 5, ("A?", "p2"): 1, ("B?", "p1"): 2, ("B?", "p2"): 4, ("C?", "p1"): 0, ("C?", "p2"): 4}
RUNS = {"x": {"q1": ["p1"]}, "y": {"q1": ["p2"]}, "z": {"q1": ["p1", "p2"]}}


def fill_small(project: Project) -> None:
    fill(project, BANK, GRADES, RUNS)


small = read_project(fill_small)


def test_flip_names_the_question_that_causes_it(small):
    found = changes(small, "EXAM-Cover", Policy(), {"q1": [replace(BANK[0], active=False), *BANK[1:]]})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [("p1", 5, 2, ("q1/a",))]


def test_flip_names_both_questions_that_jointly_cause_it(small):
    off = [BANK[0], replace(BANK[1], active=False), replace(BANK[2], active=False)]
    found = changes(small, "EXAM-Cover", Policy(), {"q1": off})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [("p2", 4, 1, ("q1/b", "q1/c"))]


def test_reworded_question_is_unknown_until_graded(small):
    found = changes(small, "EXAM-Cover", Policy(), {"q1": [replace(BANK[0], text="A, exactly?"), *BANK[1:]]})
    assert (found.to_grade, found.known, found.undecided) == (2, 4, 2)
    assert [(c.before, c.after, c.unknown) for c in found.labels] == [(5, 2, 1)]
    assert (found.pending, found.known_part.labels) == ({"q1": 2}, [])
    # The known part excludes movement that depends on missing grades.
    assert found.after.scores != found.before.scores
    assert found.settled == found.before and not any(
        one.score_before != one.score_after for one in found.known_part.systems
    )
    retired = [replace(BANK[0], active=False), *BANK[1:]]
    assert changes(small, "EXAM-Cover", Policy(), {"q1": retired}).pending == {}


def test_known_changes_are_separate_from_pending_queries(tmp_path):
    project = new_project(tmp_path / "two.duckdb")
    asked = [Question(f"{query}/{letter}", query, f"{query} {letter}?") for query in QUERIES for letter in "AB"]
    ratings = {
        (question.text or "", passage): 5 * (place == at % 2)
        for at, question in enumerate(asked)
        for place, passage in enumerate(("p0", "p1"))
    }
    fill(project, asked, ratings, {"a": {"q1": ["p0"], "q2": ["p0"]}, "b": {"q1": ["p1"], "q2": ["p1"]}})
    retire = [replace(asked[0], active=False), asked[1]]
    reword = [asked[2], replace(asked[3], text="new words?", weight=3.0)]
    both = changes(project, "EXAM-Cover@1", Policy(), {"q1": retire, "q2": reword})
    assert both.pending == {"q2": 2}
    alone = changes(project, "EXAM-Cover@1", Policy(), {"q1": retire})
    assert both.settled.scores == alone.after.scores != both.after.scores
    assert both.known_part.labels == alone.labels and both.known_part.systems == alone.systems
    assert {change.query_id for change in both.labels} == {"q1", "q2"}
    project.close()


@pytest.mark.parametrize(("rule", "undecided"), [("max", 1), ("support:2", 2), ("mean", 2)])
def test_label_that_missing_ratings_cannot_change_is_decided(small, rule: str, undecided: int):
    # p1 keeps the 5 of its first question regardless of the second; p2 has a 4.
    reworded = [BANK[0], replace(BANK[1], text="B, exactly?"), BANK[2]]
    found = changes(small, "EXAM-Cover", Policy(label=rule), {"q1": reworded})
    assert (found.to_grade, found.undecided) == (2, undecided)


def test_notes_and_answer_keys_change_nothing(small):
    edited = [replace(q, note="checked", answer_key="x", subtopic_id="s") for q in BANK]
    found = changes(small, "EXAM-Cover", Policy(), {"q1": edited})
    assert (found.edited, found.labels) == ((), [])
    assert found.before == found.after


def test_impact_on_pool_normalised_measure_is_refused(small):
    retired = [replace(question, active=False) for question in bank.list_questions(small, 1, "q1")]
    with refusal("measure-not-predictable") as refused:
        changes(small, "EXAM-Cover@20/pool", Policy(), {"q1": retired})
    assert "EXAM-Cover" in refused.value.hint
