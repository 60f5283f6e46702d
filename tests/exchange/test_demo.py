"""The demo collection: its exam is that which was written, and a demo with or without it is known as one."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from exam_workbench.bank import bank_for
from exam_workbench.exams import exam_items
from exam_workbench.exchange import import_files, is_demo, make_demo
from exam_workbench.exchange._collections import FILES
from exam_workbench.formats import Source
from exam_workbench.labels import compare
from exam_workbench.measures import correlate_scores
from exam_workbench.store import Project, open_project
from exam_workbench.types import GraderSpec

ANY_GRADER = GraderSpec("any", "self-rating", "")


def test_its_exam_is_the_one_that_was_written_and_asks_nothing_of_passages(tmp_path: Path) -> None:
    sat: list[int] = []

    def sit(project: Project) -> None:
        sat.append(len(exam_items(project)))

    make_demo(tmp_path / "demo.duckdb", "ann", False, lambda line: None, sit)
    project = open_project(tmp_path / "demo.duckdb")
    try:
        written = json.loads((FILES / "exam_items.json").read_text(encoding="utf-8"))
        items = exam_items(project)
        assert sat == [len(items)] == [len(written)]
        for item, source in zip(items, written, strict=True):
            assert (item.text, item.key, item.topic) == (source["question"], source["key"], source["topic"])
            assert item.source_passage_id == source["source"] and set(item.discriminators) == set(source["wrong"])
        letters = Counter(item.key_position for item in items)
        assert max(letters.values()) < len(items) / 3, "no letter is right by far more often than the others"
        assert min(Counter(item.topic for item in items).values()) >= 10, "enough to say something by topic"
        asking = f"SELECT DISTINCT query_id FROM {bank_for(ANY_GRADER)} JOIN queries USING (query_key)"
        assert len(project.rows(asking, {"version": 2})) == 9
        assert is_demo(project)
        import_files(project, "queries", [Source("more.jsonl", data=b'{"query_id": "q", "text": "Another?"}')], "ann")
        assert not is_demo(project)
    finally:
        project.close()


def test_a_demo_that_was_made_before_it_had_an_exam_is_still_the_demo(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo.duckdb", "ann", False, lambda line: None)
    project = open_project(tmp_path / "demo.duckdb")
    try:
        assert is_demo(project) and not exam_items(project)
    finally:
        project.close()


@pytest.mark.long
def test_its_grader_agrees_with_the_assessors_except_on_the_query_with_planted_passages(
    tmp_path: Path, graded_demo: Path
) -> None:
    project = open_project(Path(shutil.copy(graded_demo, tmp_path)))
    try:
        found = compare(project, "nDCG@10", "assessors")
        assert found.correlation.kendall is not None and found.correlation.kendall >= 0.8
        mine, theirs = found.board.per_query, found.official.per_query
        taus = {}
        for query in found.board.query_ids:
            of_query = [{run: board[run][query] for run in board} for board in (mine, theirs)]
            taus[query] = correlate_scores(*of_query).kendall or 0
        assert min(taus, key=lambda query: taus[query]) == "fish-mercury"
        # The tour needs systems that grader and assessors order differently.
        assert found.board.systems[0].run != found.official.systems[0].run
    finally:
        project.close()
