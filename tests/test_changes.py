"""The impact of an edit equals what saving it and computing everything again gives."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import bank
from core.changes import changes, version_edits
from core.errors import InputError
from core.leaderboard import Leaderboard, leaderboard
from core.policy import Policy
from core.project import Project, create
from core.scores import labels
from core.types import Question
from tests.small import fill

PASSAGES = [f"p{i}" for i in range(5)]
QUERIES = ["q1", "q2"]
WORDINGS = ["A?", "B?", "C?", "D?", "never graded?"]
WEIGHTS = [-1.0, 0.0, 0.5, 1.0, 2.0]
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def banks(draw: st.DrawFn) -> dict[str, list[Question]]:
    return {
        query: [
            Question(
                f"{query}/{i}",
                query,
                f"{query} {draw(st.sampled_from(WORDINGS))}",
                weight=draw(st.sampled_from(WEIGHTS)),
                active=draw(st.booleans()),
            )
            for i in range(draw(st.integers(1, 4)))
        ]
        for query in QUERIES
    }


ratings = st.dictionaries(
    st.sampled_from([(f"{q} {w}", p) for q in QUERIES for w in WORDINGS[:-1] for p in PASSAGES]),
    st.sampled_from([None, 0, 1, 2, 3, 4, 5]),
    min_size=8,
)
rankings = st.fixed_dictionaries(
    {
        run: st.dictionaries(
            st.sampled_from(QUERIES), st.lists(st.sampled_from(PASSAGES), unique=True, min_size=1), min_size=1
        )
        for run in ("a", "b", "c")
    }
)
policies = st.builds(
    Policy,
    min_rating=st.integers(1, 5),
    cutoff=st.integers(1, 3),
    label=st.sampled_from(["max", "mean", "support:2"]),
    weighted=st.booleans(),
    skipped=st.sampled_from(["zero", "ignore"]),
)


@few
@given(
    banks(), banks(), ratings, rankings, policies, st.sampled_from(["EXAM-Cover", "AP", "nDCG@10", "alpha_nDCG@10"])
)
def test_impact_equals_saving_and_computing_again(old, new, graded, runs, policy, measure):
    with tempfile.TemporaryDirectory() as folder:
        project = create(Path(folder) / "p.duckdb")
        everything = [question for questions in old.values() for question in questions]
        wordings = [Question(f"{q}/{w}", q, f"{q} {w}", active=False) for q in QUERIES for w in WORDINGS]
        fill(project, everything + wordings, graded, runs)
        before_version = bank.latest_version(project)
        old_all = {q: bank.questions(project, query_id=q) for q in QUERIES}
        edits = {
            q: [*new[q], *[x for x in old_all[q] if x.question_id not in {n.question_id for n in new[q]}]]
            for q in QUERIES
        }
        try:
            found = changes(project, measure, replace(policy, bank_version=before_version), edits)
        except InputError:
            with pytest.raises(InputError, match="No question of the bank"):
                leaderboard(project, measure, policy=replace(policy, bank_version=before_version))
            project.close()
            return
        before = _labels(project, replace(policy, bank_version=before_version))
        bank.save(project, [q for questions in edits.values() for q in questions], "new", "tester")
        after = _labels(project, policy)
        assert {(c.query_id, c.passage_id): (c.before, c.after) for c in found.labels} == {
            pair: (before.get(pair), after.get(pair))
            for pair in {**before, **after}
            if before.get(pair) != after.get(pair)
        }
        try:
            full = leaderboard(project, measure, policy=policy)
        except InputError:
            assert not found.after.usable
        else:
            _same(found.after, full)
        # The same from the two versions.
        again = changes(
            project,
            measure,
            replace(policy, bank_version=before_version),
            version_edits(project, before_version, bank.latest_version(project)),
        )
        assert again.labels == found.labels
        project.close()


def _labels(project: Project, policy: Policy) -> dict[tuple[str, str], int | None]:
    table = labels(project, policy)
    return {
        (query, passage): None if pd.isna(label) else int(label)
        for query, passage, label in zip(table["query_id"], table["passage_id"], table["label"], strict=True)
    }


def _same(a: Leaderboard, b: Leaderboard) -> None:
    assert {s.run: (pytest.approx(s.score), s.queries, s.rank) for s in a.systems} == {
        s.run: (s.score, s.queries, s.rank) for s in b.systems
    }
    assert (a.needed, a.usable) == (b.needed, b.usable)
    assert sorted(a.query_ids) == sorted(b.query_ids)


BANK = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q1/c", "q1", "C?")]
GRADES = {("A?", "p1"): 5, ("A?", "p2"): 1, ("B?", "p1"): 2, ("B?", "p2"): 4, ("C?", "p1"): 0, ("C?", "p2"): 4}
RUNS = {"x": {"q1": ["p1"]}, "y": {"q1": ["p2"]}, "z": {"q1": ["p1", "p2"]}}


@pytest.fixture
def small(project: Project) -> Project:
    fill(project, BANK, GRADES, RUNS)
    return project


def test_a_flip_names_the_question_that_causes_it(small):
    found = changes(small, "EXAM-Cover", Policy(), {"q1": [replace(BANK[0], active=False), *BANK[1:]]})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [("p1", 5, 2, ("q1/a",))]


def test_two_questions_that_only_together_move_a_label_are_both_named(small):
    off = [BANK[0], replace(BANK[1], active=False), replace(BANK[2], active=False)]
    found = changes(small, "EXAM-Cover", Policy(), {"q1": off})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [
        ("p2", 4, 1, ("q1/b", "q1/c"))
    ]


def test_a_reworded_question_is_unknown_until_graded_and_not_zero(small):
    found = changes(small, "EXAM-Cover", Policy(), {"q1": [replace(BANK[0], text="A, exactly?"), *BANK[1:]]})
    assert (found.to_grade, found.known, found.undecided) == (2, 4, 2)
    assert [(c.before, c.after, c.unknown) for c in found.labels] == [(5, 2, 1)]


def test_notes_and_answer_keys_change_nothing(small):
    edited = [replace(q, note="checked", answer_key="x", subtopic_id="s") for q in BANK]
    found = changes(small, "EXAM-Cover", Policy(), {"q1": edited})
    assert (found.edited, found.labels) == ((), [])
    assert found.before == found.after
