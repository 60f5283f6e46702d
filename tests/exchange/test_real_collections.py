"""What other programs computed on real test collections comes out of ours."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from exam_workbench.exchange import exporting, import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, compare, leaderboard
from exam_workbench.store import Project
from tests.made import collections
from tests.made.projects import examples, new_project

SELF_RATED = "flan-t5-large · QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture(scope="module")
def dl23(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from collections.dl23(shared_data, tmp_path_factory)


@pytest.fixture(scope="module")
def dl20(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from collections.dl20(shared_data, tmp_path_factory)


def test_a_graded_file_arrives_whole(dl23: Project) -> None:
    assert dl23.value("SELECT count(*) FROM pool") == 7263
    assert dl23.value("SELECT count(*) FROM runs") == 16
    assert dl23.value("SELECT count(*) FROM queries") == 25
    assert dl23.value("SELECT count(*) FROM judgments") == 7263
    assert dl23.value("SELECT count(*) FROM rankings") == 37_250
    # Texts that occur under several passage ids are graded once: count them back out per passage.
    per_passage = dl23.rows(
        "SELECT method, count(*) FROM (SELECT query_key, text_key AS asked FROM questions JOIN question_texts"
        " ON placeholder = question_id UNION ALL SELECT query_key, t.text_key FROM queries JOIN question_texts t"
        " USING (text)) JOIN pool USING (query_key)"
        " JOIN grades ON (question_text_key, passage_text_key) = (asked, pool.text_key)"
        " JOIN graders USING (grader_key) GROUP BY name, method ORDER BY ALL"
    )
    assert per_passage == [
        ("answer", 71_785), ("answer", 72_630), ("direct", 7_263), ("self-rating", 71_785), ("self-rating", 72_630),
    ]  # fmt: skip
    with_answers = "SELECT count(*) FROM grades WHERE answer IS NOT NULL"
    assert dl23.value(with_answers) >= 250_000


def test_questions_without_text_are_kept_and_named_by_id(dl23: Project) -> None:
    from exam_workbench import bank

    found = bank.list_questions(dl23, query_id="q18")
    assert len(found) == 20
    assert all(question.text is None and question.question_id.startswith("q18/") for question in found)


def test_label_qrels_equal_those_of_rubric_byte_for_byte(dl23: Project, shared_data: Path) -> None:
    reference = (shared_data / "dl23-llmjudge/reference/eval-rated.qrels").read_text()
    assert exporting.qrels_text(dl23, Policy(grader=SELF_RATED)) == reference


@pytest.mark.parametrize("tau", [1, 2, 3, 4, 5])
def test_coverage_and_its_standard_error_equal_those_of_rubric(dl23: Project, shared_data: Path, tau: int) -> None:
    policy = Policy(grader=SELF_RATED, min_rating=tau, skipped="ignore")
    found = {s.run: s for s in leaderboard(dl23, "EXAM-Cover@20", policy=policy).systems}
    with (shared_data / f"dl23-llmjudge/reference/eval-cover-min{tau}.tsv").open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["method"] != "_overall_"]
    assert {row["method"] for row in rows} == set(found)
    for row in rows:
        system = found[row["method"]]
        assert f"{system.score:.3f} {system.std_error:.3f}" == f"{row['ExamCover']} {row['std-err']}"


def test_skipped_queries_lower_the_score_when_they_count(dl23: Project) -> None:
    policies = [Policy(grader=SELF_RATED, skipped=skipped) for skipped in ("zero", "ignore")]
    zero, ignored = (leaderboard(dl23, "EXAM-Cover@20", policy=policy).scores for policy in policies)
    assert zero["random2_miss5"] < ignored["random2_miss5"]
    assert zero["bm25l"] == ignored["bm25l"]


def test_official_ndcg_equals_that_of_trec_eval(dl23: Project, shared_data: Path) -> None:
    expected = json.loads((shared_data / "dl23-llmjudge/reference/scores-ndcg10.json").read_text())
    found = leaderboard(dl23, "nDCG@10", "judgments").scores
    assert {run: round(score, 4) for run, score in found.items()} == expected


def test_an_exported_graded_file_makes_the_same_project_again(shared_data: Path, tmp_path: Path) -> None:
    """Some of the queries, with all that the file has of them: their passages, grades, runs and judgments."""
    with gzip.open(shared_data / "dl23-llmjudge/graded-with-rankings.jsonl.gz") as whole:
        some = b"".join(islice(whole, examples(2)))
    project, again = (new_project(tmp_path / f"{name}.duckdb") for name in ("first", "again"))
    import_files(project, "graded", [Source("some.jsonl", data=some)], "tester")
    exported = exporting.graded_file(project)
    import_files(again, "graded", [Source("again.jsonl.gz", data=exported)], "tester")
    for table in _MEANING:
        rows = project.rows(table)
        assert rows and again.rows(table) == rows, table
    assert exporting.graded_file(again) == exported
    project.close()
    again.close()


_MEANING = (
    "SELECT query_id, text FROM queries ORDER BY ALL",
    "SELECT passage_id, t.text FROM passages JOIN passage_texts t USING (text_key) ORDER BY ALL",
    "SELECT query_id, passage_id, value FROM judgments JOIN queries USING (query_key)"
    " JOIN passages USING (passage_key) ORDER BY ALL",
    "SELECT name, query_id, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
    " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY ALL",
    "SELECT fingerprint, coalesce(q.text, placeholder), p.text, rating, defaulted, answer FROM grades"
    " JOIN graders USING (grader_key) JOIN question_texts q ON q.text_key = question_text_key"
    " JOIN passage_texts p ON p.text_key = passage_text_key ORDER BY ALL",
    "SELECT question_id, kind, weight, active FROM question_revisions JOIN questions USING (question_key) ORDER BY ALL",
)


def test_runs_that_share_a_tag_are_named_by_file(dl20: Project, shared_data: Path) -> None:
    names = {name for (name,) in dl20.rows("SELECT name FROM runs")}
    assert names == {path.stem for path in (shared_data / "dl20/runs").glob("*.run")}


def test_rubric_labels_agree_with_nist_as_published(dl20: Project) -> None:
    source = "QuestionSelfRatedUnanswerablePromptWithChoices"
    found = compare(dl20, "nDCG@10", "NIST", source=source).correlation
    assert found.systems == 24
    assert found.spearman == pytest.approx(0.957, abs=5e-4)
    assert found.kendall == pytest.approx(0.855, abs=5e-4)


def test_all_questions_are_there(dl20: Project) -> None:
    assert dl20.value("SELECT count(*) FROM questions") == 540


def test_published_boards_import_as_leaderboards(project: Project, shared_data: Path) -> None:
    collections.take(project, "leaderboard", [shared_data / "dl20/published/official-results.tsv"])
    board = leaderboard(project, "", "official-results ndcg_cut_10")
    assert board.scores["rr-pass-roberta"] == pytest.approx(0.7169)
