"""Diagnosis of questions: numbers against counting by hand, verdicts, and near-duplicates."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

from exam_workbench import bank, graders
from exam_workbench.bank import near_duplicates
from exam_workbench.labels import Policy, Skipped
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.study import QueryDiagnosis, bank_summary, bank_worth, diagnose_questions
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import SPEC, commit, examples, fill, grade, judge, new_project
from tests.made.refusals import refusal

PASSAGES = [f"p{i}" for i in range(6)]
WORDINGS = ["A?", "B?", "C?", "D?", "never graded?"]
NO_NUGGETS = GraderSpec("no nuggets", "self-rating", "none", kinds=("question",))
POOL_DEPTH = 2

Ratings = Mapping[tuple[str, str], int | None]
Runs = Mapping[str, Mapping[str, list[str]]]


def share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def counted_by_hand(
    questions: list[Question], ratings: Ratings, runs: Runs, judged: Mapping[str, int], policy: Policy
) -> tuple[dict[str, dict], dict[str, set[str]], set[str], int]:
    """Count figures and strays by question id, uncovered passages and relevant ones from their definitions."""
    active = [q for q in questions if q.active and q.kind != "nugget" and q.weight != 0]
    positive = [q for q in active if q.weight > 0]
    rankings = [by_query.get("q1") for by_query in runs.values()]
    pool = {p for ranking in rankings for p in (ranking or [])[:POOL_DEPTH]} | set(judged)
    relevant = [p for p, value in judged.items() if value >= policy.min_judgment]

    def is_graded(question: Question, passage: str) -> bool:
        return ratings.get((question.text or "", passage)) is not None

    def answers(question: Question, passage: str) -> bool:
        return is_graded(question, passage) and (ratings[question.text or "", passage] or 0) >= policy.min_rating

    figures = {}
    for q in active:
        others = [other for other in positive if other is not q]
        tops = [None if ranking is None else ranking[: policy.cutoff] for ranking in rankings]
        usable = [top for top in tops if top is not None and any(is_graded(q, p) for p in top)]
        # A system that skipped the query did not answer, unless no system has a grade.
        skipped = [False for top in tops if top is None] if usable else []
        systems = share([any(answers(q, p) for p in top) for top in usable] + skipped)
        figures[q.question_id] = {
            "question_id": q.question_id,
            "graded": share([is_graded(q, p) for p in pool]) or 0.0,
            "answered": share([answers(q, p) for p in pool if is_graded(q, p)]),
            "non_relevant": share([p not in relevant for p in judged if answers(q, p)]),
            "only_here": share([answers(q, p) and not any(answers(o, p) for o in others) for p in relevant]),
            "systems": systems,
        }
    strays = {q.question_id: {p for p in judged if p not in relevant and answers(q, p)} for q in active}
    labelled = {p for p in relevant if any(is_graded(q, p) for q in positive)}
    uncovered = {p for p in labelled if not any(answers(q, p) for q in positive)}
    return figures, {key: passages for key, passages in strays.items() if passages}, uncovered, len(labelled)


def questions_at_random(dice: Random) -> list[Question]:
    return [
        Question(
            f"q1/{i}",
            "q1",
            dice.choice(WORDINGS),
            kind=dice.choice(["question", "question", "nugget", "choice"]),
            weight=dice.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 1.0]),
            active=dice.random() < 0.8,
        )
        for i in range(dice.randint(0, 5))
    ]


# Shrinking a seed shows nothing more.
@settings(max_examples=examples(8), phases=(Phase.generate,))
@given(st.integers(0, 2**32))
def test_diagnosis_matches_counting_by_hand(seed: int):
    dice = Random(seed)
    pairs = [(wording, passage) for wording in WORDINGS[:-1] for passage in PASSAGES]
    ratings = {pair: dice.choice([None, 0, 1, 2, 3, 4, 5]) for pair in pairs if dice.random() < 0.7}
    runs = {
        f"run {i}": {
            q: dice.sample(PASSAGES, dice.randint(1, 6)) for q in dice.sample(["q1", "q2"], dice.randint(1, 2))
        }
        for i in range(dice.choice([0, 1, 3, 12]))
    }
    judged = {p: dice.choice([-2, -1, 0, 1, 2, 3]) for p in dice.sample(PASSAGES, dice.randint(0, 5))}
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        commit(project, set_pool_depth, POOL_DEPTH, "tester")
        # Inactive questions register every wording, so that all can be graded.
        known = [Question(f"q1/known {w}", "q1", w, active=False) for w in WORDINGS[:-1]]
        fill(project, [*known, Question("q2/a", "q2", "A?")], ratings, runs, NO_NUGGETS)
        judge(project, {("q1", p): value for p, value in judged.items()} | {("q2", "p1"): 1})
        for _ in range(5):
            policy = Policy(
                min_rating=dice.randint(1, 5), cutoff=dice.randint(1, 4), min_judgment=dice.choice([-1, 0, 1, 1, 2])
            )
            questions = questions_at_random(dice)
            found = diagnose_questions(project, policy, "q1", questions, "assessors")
            figures, strays, uncovered, relevant = counted_by_hand(questions, ratings, runs, judged, policy)
            told = {key: asdict(diagnosis) for key, diagnosis in found.questions.items()}
            verdicts = {key: figures.pop("verdict") for key, figures in told.items()}
            assert told == figures
            assert {q.question_id for q in questions if verdicts.get(q.question_id, True) is None} == {
                q.question_id for q in questions if q.question_id in told and q.weight < 0
            }
            assert {stray.question.question_id: set(stray.passages) for stray in found.strays} == strays
            sizes = [len(stray.passages) for stray in found.strays]
            assert sizes == sorted(sizes, reverse=True)
            assert (set(found.uncovered), found.relevant) == (uncovered, relevant)
            values = [judged[passage] for passage in found.uncovered]
            assert values == sorted(values, reverse=True)
        project.close()


A, B = Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")
AVOID = Question("q1/x", "q1", "Is it an advertisement?", weight=-1.0)
RUNS = {f"run {i}": {"q1": [f"p{i}"]} for i in range(10)}
JUDGED = {("q1", "p0"): 2, ("q1", "p1"): 1, ("q1", "p2"): 0, ("q1", "p3"): -1}


def diagnosed(project: Project, source: str | None = "assessors", **changed: object) -> QueryDiagnosis:
    return diagnose_questions(project, Policy(**changed), "q1", bank.list_questions(project, query_id="q1"), source)  # type: ignore[arg-type]


def small(project: Project, questions: list[Question], ratings: Ratings) -> Project:
    fill(project, questions, ratings, RUNS)
    judge(project, JUDGED)
    return project


def test_ungraded_questions_and_unjudged_queries_have_no_figures(project: Project):
    small(project, [A, B, Question("q2/c", "q2", "A?")], {("A?", "p0"): 3})
    grade(project, {("B?", "p3"): 5, ("B?", "p4"): 5})
    found = diagnose_questions(project, Policy(), "q2", bank.list_questions(project, query_id="q2"), "assessors")
    assert [(q.graded, q.answered, q.verdict) for q in found.questions.values()] == [(0.0, None, "not graded")]
    assert (found.strays, found.uncovered, found.relevant) == ([], [], 0)
    # TREC CAR judges trash with -1 and -2: p3 is a judged passage, and p4 is not.
    assert [(stray.question, stray.passages) for stray in diagnosed(project).strays] == [(B, ["p3"])]
    alone = diagnosed(project, source=None)
    b = alone.questions["q1/b"]
    assert (b.answered, b.non_relevant, b.only_here) == (1.0, None, None)
    assert (alone.strays, alone.uncovered) == ([], [])
    with refusal("unknown-grader", "nobody"):
        diagnosed(project, grader="nobody")


def test_verdict_depends_on_share_of_answering_systems(project: Project):
    verdicts = {
        10: "universal", 9: "universal", 8: "separates lower down", 6: "separates lower down",
        5: "separates the top", 1: "separates the top", 0: "hard",
    }  # fmt: skip
    asked = [Question(f"q1/{n}", "q1", f"Do {n} answer?") for n in verdicts]
    small(project, asked, {(f"Do {n} answer?", f"p{i}"): 4 if i < n else 3 for n in verdicts for i in range(10)})
    found = diagnosed(project).questions
    for n, verdict in verdicts.items():
        assert (found[f"q1/{n}"].systems, found[f"q1/{n}"].verdict) == (pytest.approx(n / 10), verdict)


def test_later_of_alike_questions_is_redundant_and_noise_unclear(project: Project):
    answered = {"good": range(5), "again": range(5), "first three": range(3), "others": range(5, 10)}
    asked = [Question(f"q1/{name}", "q1", f"{name}?") for name in answered]
    ratings = {(f"{name}?", f"p{i}"): 5 * int(i in those) for name, those in answered.items() for i in range(10)}
    small(project, asked, ratings)
    grade(project, {("good?", "p9"): None})
    found = {key: one.verdict for key, one in diagnosed(project).questions.items()}
    assert found == {
        "q1/good": "separates the top",
        "q1/again": "redundant",
        "q1/first three": "separates the top",
        "q1/others": "unclear",
    }


@pytest.mark.parametrize("skipped", ["zero", "ignore"])
def test_verdict_is_the_same_in_diagnosis_and_bank_worth(tmp_path: Path, skipped: Skipped):
    dice = Random(7)
    asked = [
        Question(f"{q}/{i}", q, f"{q} {i}?", weight=dice.choice([-1, 1, 2])) for q in ("q1", "q2") for i in range(9)
    ]
    runs = {f"run {i}": {q: dice.sample(PASSAGES, 3) for q in ("q1", "q2")[: dice.randint(1, 2)]} for i in range(8)}
    ratings = {(q.text or "", p): dice.choice([None, 0, 4]) for q in asked for p in PASSAGES if dice.random() < 0.8}
    project = new_project(tmp_path / "p.duckdb")
    fill(project, asked, ratings, runs)
    policy = Policy(skipped=skipped)
    whole = {row.question_id: (row.verdict, row.alike) for row in bank_worth(project, policy).questions}
    for query in "q1", "q2":
        saved = bank.list_questions(project, query_id=query)
        card = {
            key: one.verdict for key, one in diagnose_questions(project, policy, query, saved, None).questions.items()
        }
        for examinees in "systems", "passages":
            tab = bank_worth(project, policy, query, examinees).questions
            assert {row.question_id: row.verdict for row in tab} == {key: one for key, one in card.items() if one}
            assert {row.question_id: (row.verdict, row.alike) for row in tab}.items() <= whole.items()
    assert len({verdict for verdict, _ in whole.values()}) > 3


def test_bank_summary_follows_grades_and_saves(project: Project):
    asked = [A, B, AVOID, Question("q1/c", "q1", "C?"), Question("q2/c", "q2", "A?")]
    small(project, asked, {("A?", f"p{i}"): 5 for i in range(10)})
    grade(project, {("B?", f"p{i}"): 0 for i in range(10)})
    assert bank_summary(project, Policy(), "assessors") == {"universal": 1, "hard": 1, "not graded": 2}
    grade(project, {("C?", f"p{i}"): i for i in range(6)}, SPEC)
    assert bank_summary(project, Policy(), "assessors") == {
        "separates the top": 1,
        "universal": 1,
        "hard": 1,
        "not graded": 1,
    }
    bank.save_version(project, [replace(B, active=False)], "too hard", "ann")
    assert bank_summary(project, Policy(), "assessors") == {"separates the top": 1, "universal": 1, "not graded": 1}
    assert bank_summary(project, Policy(bank_version=1), "assessors")["hard"] == 1


def test_near_duplicate_names_nearest_active_question(monkeypatch: pytest.MonkeyPatch):
    cosines = {frozenset(pair): value for pair, value in {("0?", "1?"): 0.9, ("0?", "2?"): 0.95}.items()}
    asked: list[list[str]] = []

    def similarity(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return np.array([[1.0 if a == b else cosines.get(frozenset((a, b)), 0.2) for b in texts] for a in texts])

    monkeypatch.setattr(graders, "text_similarities", similarity)
    questions = [Question(f"q1/{i}", "q1", f"{i}?") for i in range(4)]
    found = near_duplicates(questions)
    assert {key: (other.question_id, cosine) for key, (other, cosine) in found.items()} == {
        "q1/0": ("q1/2", 0.95),
        "q1/1": ("q1/0", 0.9),
        "q1/2": ("q1/0", 0.95),
    }
    assert list(near_duplicates(questions, 0.92)) == ["q1/0", "q1/2"]
    unfit = [replace(questions[2], active=False), replace(questions[3], text=None), bank.new_question("q1", " ")]
    assert list(near_duplicates([*questions[:2], *unfit])) == ["q1/0", "q1/1"]
    assert asked[-1] == ["0?", "1?"]
    assert near_duplicates(questions[:1]) == near_duplicates([]) == {}
