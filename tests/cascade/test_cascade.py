"""A cascade from its plan to its board: what is asked, from whom each label is, and what stands beside it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cascade import boards, calibrate, cascade_files, cascade_labels, gather, plan, portions, run
from core.errors import InputError
from core.exchange import all_of, bundle, bundle_again
from core.grading import Request
from core.labels import Policy
from core.leaderboard import leaderboard
from core.project import Project
from tests.made.cascades import CHEAP, DEEP, EXPENSIVE, QUERIES, Expensive, fill_both, fill_cheap, grade_all
from tests.made.projects import copy_of, grade


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(fill_cheap, tmp_path)


@pytest.fixture
def graded(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(fill_both, tmp_path)


def planned(project: Project, name: str = "first", **terms: object):  # type: ignore[no-untyped-def]
    # The expensive grader is known to the project by a grade or by its settings; here by one grade in all.
    if not project.value("SELECT count(*) FROM graders WHERE name = 'expensive'"):
        grade(project, {("What of q1?", "q1p1"): 4}, EXPENSIVE)
    given = {"sample": 60, "alpha": 0.15, "seed": 5, "author": "ann"} | terms
    return plan(project, name, "cheap", "expensive", "DCG@5", **given)  # type: ignore[arg-type]


def test_only_what_the_sample_tells_is_asked_and_a_broken_run_goes_on_without_asking_twice(project: Project) -> None:
    made = planned(project)
    before = {one.name: one for one in portions(project, made)}
    assert before["escalated"].passages is None, "nobody can know before the sample is graded"
    assert before["pool"].passages == len(QUERIES) * DEEP and before["sample"].plan.to_grade > 0
    with pytest.raises(InputError, match="exam cascade run first"):
        calibrate(project, made)
    broken = Expensive(breaks_at=10)
    assert run(project, made, broken, Request(), "ann")["sample"].state == "failed"
    whole = Expensive()
    done = run(project, made, whole, Request(), "ann")
    assert [progress.state for progress in done.values()] == ["done", "done"]
    told = calibrate(project, made)
    facts = gather(project, made)
    assert told.waiting == 0 and 0 < told.escalated < (facts.depth > 0).sum()
    asked = broken.asked + whole.asked
    assert len(set(asked)) == len(asked), "nothing is asked twice"
    escalated = {facts.passage_ids[at] for at in told.decision.escalated.nonzero()[0]}
    assert {passage.removeprefix("text of ") for _, passage in asked} | {"q1p1"} == escalated | {"q1p1"}
    assert run(project, made, Expensive(), Request(), "ann") == {}, "nothing is missing, so no job is put on record"
    with pytest.raises(InputError, match="not the expensive grader"):
        other = Expensive()
        other.spec = CHEAP
        run(project, made, other, Request(), "ann")


def test_every_label_says_whose_it_is_and_follows_the_grades(project: Project) -> None:
    made = planned(project)
    run(project, made, Expensive(), Request(), "ann")
    found = cascade_labels(project, made)
    facts, told = gather(project, made), calibrate(project, made)
    expensive = {p: label for p, label in zip(facts.passage_ids, facts.expensive, strict=True) if label == label}
    escalated = {facts.passage_ids[at] for at in told.decision.escalated.nonzero()[0]}
    assert {one.passage_id for one in found.labels if one.grader == "expensive"} == escalated
    assert {one.grader for one in found.labels} == {"cheap", "expensive"}
    assert all(one.label == expensive[one.passage_id] for one in found.labels if one.escalated)
    # What the expensive grader says elsewhere changes nothing: the labels are of the plan.
    grade_all(project)
    assert cascade_labels(project, made).labels == found.labels
    # A grade of the cheap one that comes later is taken in.
    assert found.waiting == 0 and len(found.labels) == len(QUERIES) * DEEP


def test_the_board_stands_beside_the_baseline_and_everything(graded: Project) -> None:
    made = planned(graded)
    found = boards(graded, made)
    assert found.cascade.measure == "nDCG@5" and found.depth == found.cutoff == 5
    assert found.baseline_passages == found.cutoff_passages == (gather(graded, made).depth > 0).sum()
    assert found.everything is not None
    assert found.everything.scores == leaderboard(graded, "nDCG@5", policy=Policy(grader="expensive")).scores
    assert set(found.correlations()) == {"cascade", "top 5", "cheap", "everything"}
    # Under a measure of the ranks down to the cutoff alone, the baseline knows all that counts.
    plain = boards(graded, made, "P@5")
    assert plain.baseline is not None and plain.baseline.scores == plain.everything.scores  # type: ignore[union-attr]
    # Where nothing may disagree, everything that weighs is asked, and the cascade is the baseline.
    strict = planned(graded, "strict", alpha=0.001)
    assert calibrate(graded, strict).decision.guarantee.chosen.kept == 0
    assert boards(graded, strict, "P@5").cascade.scores == plain.baseline.scores


def test_a_bundle_says_who_graded_which_pairs_and_is_the_same_again_after_another_cascade(graded: Project) -> None:
    made = planned(graded)
    packed = bundle(graded, Policy(grader="expensive"), "org", beside=all_of(cascade_files))
    files = zipfile.ZipFile(io.BytesIO(packed))
    told = json.loads(files.read("cascade-1.json"))
    assert (told["name"], told["promise"]["alpha"], told["seed"]) == ("first", 0.15, 5)
    found, said = cascade_labels(graded, made), calibrate(graded, made)
    assert told["labels"] == [[one.query_id, one.passage_id, one.label, one.grader] for one in found.labels]
    assert sum(told["labels_by"].values()) == len(found.labels)
    assert told["labels_by"]["expensive"] == found.from_expensive and told["threshold"]["escalated"] == said.escalated
    assert sum(learned + tested for _, _, learned, tested, _ in told["sample"]) == 60
    assert b"cascade-1.json" in files.read("README.txt")
    planned(graded, "second", seed=6)
    manifest = json.loads(files.read("manifest.json"))
    assert bundle_again(graded, manifest, "bob", all_of(cascade_files)) == packed
    # A bundle of a version that packed no cascades is made again without them.
    before = bundle(graded, Policy(grader="expensive"), "org")
    plain = json.loads(zipfile.ZipFile(io.BytesIO(before)).read("manifest.json"))
    assert bundle_again(graded, plain, "bob", all_of(cascade_files)) == before


def test_the_same_plan_draws_the_same_sample_and_another_is_another(graded: Project) -> None:
    one, same, other = planned(graded), planned(graded, "same"), planned(graded, "other", seed=6)
    assert (gather(graded, one).tested == gather(graded, same).tested).all()
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert (gather(graded, one).tested != gather(graded, other).tested).any()
    assert gather(graded, one).learned.sum() == 20 and gather(graded, one).tested.sum() == 40


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "first"}, "already"),
        ({"name": " "}, "no name"),
        ({"sample": 2}, "out of range"),
        ({"alpha": 1.0}, "alpha"),
        ({"delta": 0.0}, "delta"),
        ({"seed": -1}, "seed"),
        ({"expensive": "cheap"}, "the same"),
        ({"expensive": "nobody"}, "no grader"),
        ({"measure": "AP"}, "weighted sum"),
        ({"promise": "some"}, "promised"),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused_and_leaves_nothing(
    wrong: dict[str, object], said: str, both: Project
) -> None:
    given = {"name": "new", "cheap": "cheap", "expensive": "expensive", "measure": "P@5", "author": "ann"} | wrong
    state = both.state()
    with pytest.raises(InputError, match=said):
        plan(both, **given)  # type: ignore[arg-type]
    assert both.state() == state


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    def make(project: Project) -> None:
        fill_both(project)
        planned(project)

    yield from copy_of(make, tmp_path_factory.mktemp("both"))
