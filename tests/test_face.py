"""The Python interface: `import exam_workbench as ew`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ir_measures
import pandas as pd
import pytest

import exam_workbench as ew
from exam_workbench.exchange._collections import FILES
from tests.made.refusals import refusal

QUERIES = pd.DataFrame({"qid": [1, 2], "query": ["What is a cat?", "What is a dog?"]})
TEXTS = {"d1": "A cat is an animal.", "d2": "A dog is a mammal.", "d3": "The sea is salty."}
PASSAGES = pd.DataFrame(TEXTS.items(), columns=["docno", "text"])
BANK = pd.DataFrame(
    [("1", "1/a", "What is a cat?", 2.0), ("2", "2/a", "What is a dog?", None)],
    columns=["query_id", "question_id", "text", "weight"],
)
RUNS = {
    "good": [ir_measures.ScoredDoc("1", "d1", 3.0), ir_measures.ScoredDoc("2", "d2", 2.0)],
    "bad": {"1": {"d3": 2, "d1": 1}, "2": {"d3": 1}},
    "worse": pd.DataFrame({"qid": ["2"], "docno": ["d3"], "score": [0.5]}),
}
QRELS = [ir_measures.Qrel("1", "d1", 1), ir_measures.Qrel("2", "d2", 2), ir_measures.Qrel("2", "d3", 0)]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ew.Project]:
    with ew.create(tmp_path / "made.duckdb") as made:
        made.add(queries=QUERIES, passages=PASSAGES, bank=BANK, runs=RUNS, qrels=QRELS)
        yield made


def test_import_loads_no_model_or_screen_libraries() -> None:
    script = (
        "import sys; path = list(sys.path); import exam_workbench as ew; ew.Project; ew.Policy;"
        "print({'torch', 'transformers', 'streamlit', 'core'} & set(sys.modules), path == sys.path)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "True"]
    assert all(hasattr(ew, name) for name in ew.__all__) and not hasattr(ew, "nothing")


def test_added_data_yields_grades_labels_and_leaderboards(project: ew.Project) -> None:
    done = project.grade(limit=1)
    assert (done["state"], done["graded"]) == ("done", 1)
    grades = project.grades()
    assert sorted(grades.state) == ["graded", "ungraded", "ungraded", "ungraded"]
    assert grades.rating.isna().sum() == 3
    assert project.grade()["graded"] == 3
    labels = project.labels().set_index(["query_id", "doc_id"]).relevance
    assert labels["1", "d1"] > labels["1", "d3"] and len(labels) == 4
    board = project.leaderboard("nDCG@10")
    assert list(board.columns) == ["rank", "run", "score", "std_error", "queries"]
    assert board.run[0] == "good" and board.score[0] == pytest.approx(1)
    values = project.per_query("nDCG@10")
    assert values[values.run == "good"].value.mean() == pytest.approx(board.score[0])
    assert list(project.labels().pt().columns) == ["qid", "docno", "label"]
    assert project.leaderboard("AP", source="judgments").run[0] == "good"
    assert project.correlate("judgments", "nDCG@10")["systems"] == 3
    # The labels work as qrels in ir_measures.
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], project.labels(), pd.DataFrame(RUNS["good"]))
    assert found[ir_measures.nDCG @ 10] == pytest.approx(board.score[0])
    tied = [ir_measures.ScoredDoc("1", "d1", 1.0), ir_measures.ScoredDoc("1", "d2", 1.0)]
    with pytest.warns(UserWarning, match="tied"):
        project.add(runs={"tied": tied})


@pytest.mark.filterwarnings("ignore:.*tied score")
def test_added_files_persist_after_reopening(tmp_path: Path) -> None:
    with ew.create(tmp_path / "files.duckdb") as made:
        counts = made.add(
            queries=FILES / "queries.jsonl",
            passages=str(FILES / "passages.jsonl"),
            bank=FILES / "bank.jsonl",
            runs=sorted((FILES / "runs").glob("*.run")),
            qrels=FILES / "qrels.txt",
            source="assessors",
        )
        assert counts["runs"]["runs"] == len(list((FILES / "runs").glob("*.run")))
    with ew.open(tmp_path / "files.duckdb") as again:
        assert len(again.leaderboard("AP", source="assessors")) == counts["runs"]["runs"]


def test_refused_data_changes_nothing(project: ew.Project) -> None:
    before = project.leaderboard("AP", source="judgments")
    for wrong in (
        {"qrels": [ir_measures.Qrel("9", "d1", 1)], "runs": {"new": [ir_measures.ScoredDoc("1", "d1", 1.0)]}},
        {"runs": {"new": pd.DataFrame({"query_id": ["1"], "doc_id": ["d1"], "score": ["much"]})}},
        {"queries": pd.DataFrame({"qid": ["3"]})},
        {"passages": []},
    ):
        with pytest.raises(ew.WorkbenchError):
            project.add(**wrong)
    assert project.leaderboard("AP", source="judgments").equals(before)
    with refusal("unknown-grader"):
        project.grade("no such grader")
    for measure, min_rating in (("no such measure", 4), ("AP", 9)):
        with pytest.raises(ew.WorkbenchError):
            project.leaderboard(measure, min_rating=min_rating)


def test_coverage_in_ir_measures_equals_leaderboard(project: ew.Project) -> None:
    project.grade()
    measure = ew.measure("EXAM-Cover@2", project)
    board = project.per_query("EXAM-Cover@2")
    for run, given in RUNS.items():
        ranked = given.rename(columns={"qid": "query_id", "docno": "doc_id"}) if run == "worse" else given
        values = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], QRELS, ranked)}
        known = board[board.run == run].set_index("query_id").value.to_dict()
        assert values == {"1": 0.0, "2": 0.0} | known, run
        mean = measure.calc_aggregate(QRELS, ranked)
        assert mean == pytest.approx(sum(values.values()) / 2)
    assert set(board.value) > {0.0}
    # As pt.Experiment does it: several measures at once, means by each measure's own aggregator, keys by name.
    both = [measure, ir_measures.nDCG @ 10, ew.measure("EXAM-Cover@2", project, min_rating=5)]
    assert len({str(one) for one in both}) == 3 and str(measure) == "EXAM-Cover@2"
    frames = pd.DataFrame(QRELS), pd.DataFrame(RUNS["good"])
    sums = {str(one): one.aggregator() for one in both}
    for metric in ir_measures.iter_calc(both, *frames):
        sums[str(metric.measure)].add(metric.value)
    assert sums["EXAM-Cover@2"].result() == measure.calc_aggregate(*frames)
    assert str(measure @ 1) == "EXAM-Cover@1"


def test_coverage_measure_skips_insufficiently_graded_queries(project: ew.Project) -> None:
    project.grade()
    measure = ew.measure("EXAM-Cover@2", project)
    run = {"1": {"d1": 2.0, "unknown": 1.0}, "2": {"d2": 1.0}}
    with pytest.warns(UserWarning, match="1"):
        values = {one.query_id: one.value for one in measure.iter_calc([*QRELS, ir_measures.Qrel("9", "d1", 1)], run)}
    assert values["2"] == 1 and pd.isna(values["1"]) and pd.isna(values["9"])
    with pytest.warns(UserWarning):
        assert measure.calc_aggregate(QRELS, run) == 1
    skipping = ew.measure("EXAM-Cover@2", project, skipped="ignore")
    assert (
        skipping.calc_aggregate(QRELS, {"2": {"d2": 1.0}}) == 1 == 2 * measure.calc_aggregate(QRELS, {"2": {"d2": 1}})
    )
    bank = BANK.assign(query_id=["3", "3"], question_id=["3/a", "3/b"], subtopic_id="s")
    topics, judged = {"3/s": {"d1": 2.0}}, [ir_measures.Qrel("3", "d1", 1)]
    queries = pd.DataFrame({"qid": [3], "query": ["Animals"]})
    project.add(queries=queries, bank=bank, runs={"by topic": topics}, qrels=judged, source="NIST")
    project.grade()
    values = {one.query_id: one.value for one in measure.iter_calc(judged, topics)}
    assert values["3/s"] > 0 and pd.isna(values["3"]), "runs answer query 3 by topic"
    with refusal("not-a-coverage-measure", "nDCG@10"):
        ew.measure("nDCG@10", project)
    with refusal("min-rating-out-of-range", "7"):
        ew.measure("EXAM-Cover@2", project, min_rating=7)
