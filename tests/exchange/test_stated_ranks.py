"""A graded file that goes out and comes back gives every measure as before: its ranks are taken as they are stated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from exam_workbench.exchange import Options, graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.labels import cover_curves, leaderboard
from exam_workbench.records import set_pool_depth, write_runs
from exam_workbench.records._runs import by_rank, stage_rankings
from exam_workbench.store import Project
from exam_workbench.types import Question, Ranked
from tests.made.projects import examples, fill, judge, new_project

MEASURES = ("AP", "nDCG@10", "P@5", "R@10", "Rprec", "RR", "Bpref", "Judged@10")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Project]:
    made = new_project(tmp_path / "other.duckdb")
    yield made
    made.close()


def test_a_pool_that_is_shallower_than_the_rankings_keeps_their_ranks(project: Project, other: Project) -> None:
    """Of seven passages the pool has the top two and those judged, at ranks 4 and 7; two scores are tied."""
    passages = [f"p{number}" for number in range(1, 8)]
    fill(project, [Question("q/a", "q", "A?")], {("A?", "p1"): 5, ("A?", "p4"): 0}, {"r": {"q": passages}})
    tied = [Ranked("q", passage, 0, 1.0) for passage in passages]
    with project.transaction() as cursor:
        stage_rankings(cursor, {"tied": tied})
        write_runs(cursor, [("tied", "tied", "tied.run")])
        set_pool_depth(cursor, 2, "ann")
    judge(project, {("q", "p4"): 1, ("q", "p7"): 2, ("q", "p2"): 0})
    import_files(other, "graded", [Source("g.jsonl.gz", data=graded_file(project))], "ann", Options("assessors"))
    ranks = dict(
        other.rows(
            "SELECT passage_id, rank FROM rankings JOIN passages USING (passage_key) JOIN runs USING (run_key)"
            " WHERE name = 'r'"
        )
    )
    assert ranks == {"p1": 1, "p2": 2, "p4": 4, "p7": 7, "p6": 6}
    for measure in MEASURES:
        assert (
            leaderboard(other, measure, "assessors").per_query == leaderboard(project, measure, "assessors").per_query
        )
    for measure in ("AP", "EXAM-Cover@1", "alpha_nDCG@10"):
        assert leaderboard(other, measure).per_query == leaderboard(project, measure).per_query
    curves = [{c.run: c.scores for c in cover_curves(here, max_k=7).curves} for here in (project, other)]
    assert curves[0] == curves[1]


def test_a_gap_that_nobody_could_fill_is_closed_up() -> None:
    assert by_rank(["a", "b"], [1, 2_000_000_000]) == {"a": -1.0, "b": -2_000_000_000.0}
    assert len(by_rank(["a", "b"], [1, 100])) == 100


def test_real_runs_score_the_same_after_a_round_trip(project: Project, other: Project, shared_data: Path) -> None:
    folder = shared_data / "dl20"
    runs = [folder / "runs" / f"{name}.run" for name in ("BM25", "REP_LLAMA")]
    texts = json.loads((folder / "dl20-queries.json").read_text())
    some = json.dumps(dict(islice(texts.items(), examples(20)))).encode()
    import_files(project, "queries", [Source("some.json", data=some)], "ann")
    import_files(project, "runs", [Source.of(run) for run in runs], "ann", Options(skip_unknown=True))
    import_files(project, "qrels", [Source.of(folder / "qrels-nist.txt")], "ann", Options("NIST", skip_unknown=True))
    import_files(other, "graded", [Source("g.jsonl.gz", data=graded_file(project))], "ann", Options("NIST"))
    for measure in MEASURES:
        assert leaderboard(other, measure, "NIST").per_query == leaderboard(project, measure, "NIST").per_query
