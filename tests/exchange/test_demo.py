"""The demo collection: its exam and every grading method."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.bank import bank_for, label_graders
from exam_workbench.exams import exam_items
from exam_workbench.exchange import import_files, is_demo, make_demo
from exam_workbench.exchange._collections import FILES
from exam_workbench.formats import Source
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, Scope, make_plan, run_job
from exam_workbench.labels import Policy, basis, compare, leaderboard, list_labels
from exam_workbench.measures import correlate_scores
from exam_workbench.store import Project, open_project
from exam_workbench.types import GraderSpec
from tests.made.tiny_models import build_tiny_extractive, build_tiny_t5, shared_model

ANY_GRADER = GraderSpec("any", "self-rating", "")


def test_demo_exam_matches_its_file_and_is_not_graded(tmp_path: Path) -> None:
    sat: list[int] = []

    def sit(project: Project) -> None:
        sat.append(len(exam_items(project)))

    make_demo(tmp_path / "demo.duckdb", "ann", False, lambda line: None, sit)
    project = open_project(tmp_path / "demo.duckdb")
    written = json.loads((FILES / "exam_items.json").read_text(encoding="utf-8"))
    items = exam_items(project)
    assert sat == [len(items)] == [len(written)]
    for item, source in zip(items, written, strict=True):
        assert (item.text, item.key, item.topic) == (source["question"], source["key"], source["topic"])
        assert item.source_passage_id == source["source"] and set(item.discriminators) == set(source["wrong"])
    letters = Counter(item.key_position for item in items)
    assert max(letters.values()) < len(items) / 3, "no letter is the key much more often than the others"
    assert min(Counter(item.topic for item in items).values()) >= 10, "enough items for results by topic"
    asking = f"SELECT DISTINCT query_id FROM {bank_for(ANY_GRADER)} JOIN queries USING (query_key)"
    assert len(project.rows(asking, {"version": 2})) == 9
    assert is_demo(project)
    import_files(project, "queries", [Source("more.jsonl", data=b'{"query_id": "q", "text": "Another?"}')], "ann")
    assert not is_demo(project)


@pytest.mark.long
def test_demo_grader_agrees_with_assessors_except_on_planted_query(tmp_path: Path, graded_demo: Path) -> None:
    project = open_project(Path(shutil.copy(graded_demo, tmp_path)))
    found = compare(project, "nDCG@10", "assessors")
    assert found.correlation.kendall is not None and found.correlation.kendall >= 0.8
    mine, theirs = found.board.per_query, found.official.per_query
    taus = {}
    for query in found.board.query_ids:
        of_query = [{run: board[run][query] for run in board} for board in (mine, theirs)]
        taus[query] = correlate_scores(*of_query).kendall or 0
    assert min(taus, key=lambda query: taus[query]) == "fish-mercury"
    # The tour shows systems that the grader and the assessors order differently.
    assert found.board.systems[0].run != found.official.systems[0].run


RATES = {"salt": "5", "water": "4", "river": "3", "rivers": "3", "bridge": "5", "wind": "4", "deck": "3", "Sea": "2"}
JUDGES = {"salt": "Yes", "bridge": "Yes", "wind": "Yes", "Tacoma": "Yes"}
ANSWERS = {"salt": "the red leaves", "wind": "a given passage", "bridge": "unanswerable"}
QUERIES = ("tacoma-bridge",)
ASKED = 4
"""Number of active questions of that query."""


DIRECT = ("Thomas", "FaggioliB_few", "QA-judge")
METHODS = (
    ("self-rating", "rates", {}),
    ("answer", "answers", {"check": "words"}),
    ("answer", "answers", {"check": "model"}),
    ("extractive", "extracts", {"check": "words"}),
    *(("direct", "rates" if prompt == "Thomas" else "judges", {"prompt": prompt}) for prompt in DIRECT),
)


@pytest.mark.long
def test_every_method_grades_demo_under_its_own_name_and_ranks_systems(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    models = {
        "rates": shared_model(tmp_path_factory, build_tiny_t5, answers=RATES),
        "judges": shared_model(tmp_path_factory, build_tiny_t5, answers=JUDGES, none="No"),
        "answers": shared_model(tmp_path_factory, build_tiny_t5, answers=ANSWERS, none="unanswerable"),
        "extracts": shared_model(tmp_path_factory, build_tiny_extractive),
    }
    make_demo(tmp_path / "demo.duckdb", "ann", grade=False, tell=lambda line: None)
    demo = open_project(tmp_path / "demo.duckdb")
    # A demo without an exam, as earlier versions made it, still counts as the demo.
    assert is_demo(demo) and not exam_items(demo)
    # A few questions are enough to test a method and take half the time.
    asked = bank.list_questions(demo, query_id=QUERIES[0])
    bank.save_version(demo, [replace(one, active=False) for one in asked[ASKED:]], "fewer", "ann")
    for kind, model, more in METHODS:
        grader = make_grader(kind, {"model": str(models[model]), **more})
        planned = make_plan(demo, grader.spec, bank.latest_version(demo), Scope(QUERIES))
        final = run_job(demo, grader, Request(Scope(QUERIES)), "ann")
        assert final.state == "done", final.message
        assert final.done == final.total == planned.to_grade
        policy = Policy(grader=grader.spec.fingerprint, min_rating=1)
        given = list_labels(demo, basis(demo, policy)).dropna(subset=["label"])
        assert set(given["label"]) <= set(range(grader.spec.max_rating + 1)) and len(given) > 20, (kind, more)
        board = leaderboard(demo, "nDCG@10", policy=policy)
        assert len(board.systems) == 18, (kind, more)
        assert compare(demo, "nDCG@10", "assessors", policy=policy).correlation.systems == 18, (kind, more)
    names = [grader.spec.name for grader in label_graders(demo) if grader.grades]
    assert len(names) == len(set(names)) == len(METHODS)
