"""Every method of grading runs on the demo collection with tiny local models, and their boards can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from exam_workbench import bank
from exam_workbench.bank import label_graders
from exam_workbench.exchange import make_demo
from exam_workbench.graders import Grader, make_grader
from exam_workbench.grading import Request, Scope, make_plan, run_job
from exam_workbench.labels import Policy, basis, compare, leaderboard, list_labels
from exam_workbench.store import Project, open_project
from tests.made.tiny_models import build_tiny_extractive, build_tiny_t5, shared_model

RATES = {"salt": "5", "water": "4", "river": "3", "rivers": "3", "bridge": "5", "wind": "4", "deck": "3", "Sea": "2"}
JUDGES = {"salt": "Yes", "bridge": "Yes", "wind": "Yes", "Tacoma": "Yes"}
ANSWERS = {"salt": "the red leaves", "wind": "a given passage", "bridge": "unanswerable"}
QUERIES = ("tacoma-bridge",)
ASKED = 4
"""Questions of that query which are asked."""


@dataclass(frozen=True)
class Models:
    """Folders of models that rate, that say yes or no, that answer, and that mark an answer."""

    rates: str
    judges: str
    answers: str
    extracts: str


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(
        str(shared_model(tmp_path_factory, build_tiny_t5, answers=RATES)),
        str(shared_model(tmp_path_factory, build_tiny_t5, answers=JUDGES, none="No")),
        str(shared_model(tmp_path_factory, build_tiny_t5, answers=ANSWERS, none="unanswerable")),
        str(shared_model(tmp_path_factory, build_tiny_extractive)),
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    path = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    make_demo(path, "ann", grade=False, tell=lambda line: None)
    project = open_project(path)
    # Some questions show what a method does as well as all do, in half the time.
    asked = bank.list_questions(project, query_id=QUERIES[0])
    bank.save_version(project, [replace(one, active=False) for one in asked[ASKED:]], "fewer", "ann")
    yield project
    project.close()


DIRECT = ("Thomas", "FaggioliB", "HELM", "Sun", "FaggioliB_few", "Sun_few", "Q-judge", "QA-judge")
METHODS = (
    ("self-rating", "rates", {}),
    ("answer", "answers", {"check": "words"}),
    ("answer", "answers", {"check": "model"}),
    ("extractive", "extracts", {"check": "words"}),
    *(("direct", "rates" if prompt == "Thomas" else "judges", {"prompt": prompt}) for prompt in DIRECT),
)


def grade_with(project: Project, models: Models, kind: str, model: str, more: dict[str, str]) -> Grader:
    """Let a grader work on a query of the demo; what it has done is not done again."""
    grader = make_grader(kind, {"model": getattr(models, model), **more})
    planned = make_plan(project, grader.spec, bank.latest_version(project), Scope(QUERIES))
    final = run_job(project, grader, Request(Scope(QUERIES)), "ann")
    assert final.state == "done", final.message
    assert final.done == final.total == planned.to_grade
    return grader


@pytest.mark.parametrize(("kind", "model", "more"), METHODS, ids=[f"{k} {' '.join(m.values())}" for k, _, m in METHODS])
def test_every_method_grades_the_demo_and_ranks_its_systems(
    demo: Project, models: Models, kind: str, model: str, more: dict[str, str]
) -> None:
    grader = grade_with(demo, models, kind, model, more)
    policy = Policy(grader=grader.spec.fingerprint, min_rating=1)
    given = list_labels(demo, basis(demo, policy)).dropna(subset=["label"])
    assert set(given["label"]) <= set(range(grader.spec.max_rating + 1)) and len(given) > 20
    board = leaderboard(demo, "nDCG@10", policy=policy)
    assert len(board.systems) == 18
    assert compare(demo, "nDCG@10", "assessors", policy=policy).correlation.systems == 18


def test_all_of_them_stand_side_by_side(demo: Project, models: Models) -> None:
    for kind, model, more in METHODS:
        grade_with(demo, models, kind, model, more)
    names = [grader.spec.name for grader in label_graders(demo) if grader.grades]
    assert len(names) == len(set(names)) == len(METHODS)
