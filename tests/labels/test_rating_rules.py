"""Rating rules: the written rating, or the expected rating cut at given points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench.bank import list_questions
from exam_workbench.exchange import publish_qrels, qrels_text, reproduce_qrels
from exam_workbench.labels import Policy, basis, label_qrels, labels_under, leaderboard, load_ratings
from exam_workbench.review import state_changes
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.projects import SPEC, fill, filled_project, grade
from tests.made.refusals import refusal

ASKED = "What is A?"
BANK = [Question("q1/a", "q1", ASKED)]
RUNS = {"one": {"q1": ["p1", "p2", "p3", "p4"]}}
# The expectations are 4.2, 2.5 and .5. The fourth passage has no probabilities.
CHANCES = {
    "p1": (0.0, 0.0, 0.0, 0.1, 0.6, 0.3),
    "p2": (0.0, 0.0, 0.5, 0.5),
    "p3": (0.5, 0.5, 0.0, 0.0, 0.0, 0.0),
    "p4": None,
}
COSINES = GraderSpec("cosines", "embedding", "e")


def put(project: Project, spec: GraderSpec, grades: dict[str, Grade]) -> None:
    grade(project, {(ASKED, passage): one for passage, one in grades.items()}, spec)


def make(project: Project) -> None:
    fill(project, BANK, {}, RUNS)
    put(project, SPEC, {passage: Grade(5, distribution=chances) for passage, chances in CHANCES.items()})
    cosines = {"p1": 0.61, "p2": 0.5, "p3": 0.2, "p4": 0.45}
    put(project, COSINES, {passage: Grade(1, raw=f"{cosine:.4f}") for passage, cosine in cosines.items()})


project = filled_project(make)


def labels(project: Project, policy: Policy) -> dict[str, int]:
    base = basis(project, policy)
    found = label_qrels(project, base)["q1"]
    # Labels of one query in memory equal those of the whole project.
    bank = list_questions(project, base.version)
    known = load_ratings(project, base, "q1", bank)
    assert dict(zip(known.passage_ids, labels_under(base, known, bank).tolist(), strict=True)) == found
    return found


def test_rating_rules_cut_expectations_and_cosines(project: Project) -> None:
    policy = Policy(SPEC.name, rating="expected")
    assert labels(project, policy) == {"p1": 4, "p2": 3, "p3": 1, "p4": 5}
    assert labels(project, replace(policy, rating="expected:1,2,3,4.1,4.9")) == {"p1": 4, "p2": 2, "p3": 0, "p4": 5}
    scores = [leaderboard(project, "P@4", policy=one).systems[0].score for one in (Policy(SPEC.name), policy)]
    assert scores == [1.0, 0.5]
    # For an embedding grader, the points cut the stored cosine.
    policy = Policy(COSINES.name, rating="expected:.3,.4,.5,.6,.7")
    assert labels(project, policy) == {"p1": 4, "p2": 3, "p3": 0, "p4": 2}
    # The written rating is the default.
    assert labels(project, Policy(SPEC.name)) == dict.fromkeys(RUNS["one"]["q1"], 5)
    assert "rating" not in Policy().as_dict() and Policy(rating="expected").as_dict()["rating"] == "expected"


def test_flip_names_rating_rule_as_cause(project: Project) -> None:
    written, expected = Policy(SPEC.name), Policy(SPEC.name, rating="expected")
    found = state_changes(project, written, expected, "P@4")
    assert {flip.passage_id: flip.causes for flip in found.flips} == dict.fromkeys(["p1", "p2", "p3"], ("rating rule",))
    other = state_changes(project, Policy(COSINES.name), expected, "P@4")
    assert {flip.causes for flip in other.flips} == {("grader",)}


@pytest.mark.parametrize(
    "rule", ["", "best", "written:1", "expected:", "expected:2,1", "expected:1,nan", "expected:1,1"]
)
def test_invalid_rule_is_refused(rule: str) -> None:
    with refusal("unknown-rating-rule"):
        Policy(rating=rule)


def test_rule_unsuitable_for_grades_is_refused(project: Project) -> None:
    plain = GraderSpec("plain", "self-rating", "p")
    put(project, plain, {"p1": Grade(4)})
    for grader, rule, code in (
        (plain.name, "expected", "no-probabilities"),
        (SPEC.name, "expected:1,2", "wrong-number-of-cut-points"),
        (COSINES.name, "expected", "wrong-number-of-cut-points"),
    ):
        with refusal(code, grader):
            basis(project, Policy(grader, rating=rule))


def test_published_labels_from_expected_ratings_are_reproduced(project: Project) -> None:
    for policy in (Policy(SPEC.name, rating="expected"), Policy(COSINES.name, rating="expected:.3,.4,.5,.6,.7")):
        published = publish_qrels(project, policy, "ann")
        assert published.qrels_bytes == qrels_text(project, policy).encode()
        put(project, replace(SPEC, prompt="another"), {"p1": Grade(0)})
        assert reproduce_qrels(project, published.manifest, "ann") == published.qrels_bytes
