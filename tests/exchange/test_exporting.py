"""Export of qrels, graded files, banks and leaderboards, and import into another project."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.bank import question_text_key
from exam_workbench.errors import FileError, Report
from exam_workbench.exchange import (
    Options,
    bank_csv,
    bank_jsonl,
    board_tsv,
    graded_file,
    import_files,
    qrels_counts,
    qrels_text,
)
from exam_workbench.formats import Source, read_boards
from exam_workbench.formats._graded_form import OURS
from exam_workbench.formats.graded_files import read_graded
from exam_workbench.labels import Policy, cover_curves, leaderboard
from exam_workbench.records import add_queries, set_pool_depth
from exam_workbench.records._runs import by_rank
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Query, Question, Subtopic
from tests.made.projects import commit, fill, filled_project, grade, judge, new_project
from tests.made.refusals import refusal

QUESTIONS = [
    Question("q1/a", "q1", "What is A?", weight=2.0, subtopic_id="s1", note="important"),
    Question("q1/b", "q1", "B is so", kind="nugget", answer_key="B"),
    Question("q1/old", "q1", "What was it?", active=False),
    Question("q2/c", "q2", "Which one?", kind="choice", weight=-1.0, answer_key="x", choices=("x", "y")),
]
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p4"]}, "two": {"q1": ["p3", "p1"]}}
RATINGS = {
    ("What is A?", "p1"): 5, ("What is A?", "p2"): 0, ("What is A?", "p3"): None, ("B is so", "p1"): 3,
    ("B is so", "p2"): 4, ("What was it?", "p1"): 1, ("Which one?", "p4"): 2,
}  # fmt: skip
JUDGED = {("q1", "p1"): 2, ("q1", "p2"): 0, ("q2", "p4"): -1}

OTHERS = [
    GraderSpec("answers", "answer", "a/model", "prompt", "0" * 64, {"check": ["word", 0.2]}, max_rating=1),
    GraderSpec("nuggets only", "self-rating", "a/model", "nuggets", "1" * 64, kinds=("nugget",)),
    GraderSpec("judge", "direct", "b/model", "Thomas", "2" * 64, max_rating=2),
]


def fill_a_graded_file(project: Project) -> None:
    """Fill a project with everything that a graded file can contain."""
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    grade(project, {("What is A?", "p1"): 1, ("What is A?", "p2"): 0, ("Which one?", "p4"): None}, OTHERS[0])
    grade(project, {("B is so", "p3"): 5}, OTHERS[1])
    subtopics = (Subtopic("s1", "the first"), Subtopic("s2", "the second"))
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "query one", "all of it", subtopics)], replace=True)
        question_text_key(cursor, "query one")
    grade(project, {("query one", "p1"): 2, ("query one", "p2"): None}, OTHERS[2])


graded = filled_project(fill_a_graded_file)
"""A project with everything that a graded file can contain."""


def test_qrels_have_pool_order_binary_form_and_counts(graded: Project) -> None:
    assert qrels_text(graded, Policy(min_rating=5), binary=True) == "q1 0 p1 1\nq1 0 p2 0\n"
    assert qrels_text(graded, Policy(min_judgment=2), "assessors", binary=True) == ("q1 0 p1 1\nq1 0 p2 0\nq2 0 p4 0\n")
    for policy in (Policy(), Policy(min_rating=5)):
        for binary in (False, True):
            lines = Counter(int(line.split()[3]) for line in qrels_text(graded, policy, binary=binary).splitlines())
            counted = qrels_counts(graded, policy, binary)
            assert counted == dict(lines) and list(counted) == sorted(counted, reverse=True)
    assert qrels_text(graded, Policy(), "assessors") == "q1 0 p1 2\nq1 0 p2 0\nq2 0 p4 -1\n"
    assert qrels_text(graded, Policy(), "judgments") == qrels_text(graded, Policy(), "assessors")
    assert qrels_text(graded, Policy()) == "q1 0 p1 5\nq1 0 p2 4\n"
    bank.save_version(graded, [replace(QUESTIONS[3], weight=1.0)], "no longer to be avoided", "ann")
    assert qrels_text(graded, Policy()) == "q1 0 p1 5\nq1 0 p2 4\nq2 0 p4 2\n"
    assert qrels_text(graded, Policy(label="mean")) == "q1 0 p1 4\nq1 0 p2 1\nq2 0 p4 2\n"
    assert qrels_text(graded, Policy(bank_version=1)) == "q1 0 p1 5\nq1 0 p2 4\n"


def test_export_of_missing_data_is_refused(graded: Project, fresh: Project):
    with refusal("unknown-source", "assessors"):
        qrels_text(graded, Policy(), "nist")
    with refusal("unknown-source", "assessors"):
        graded_file(graded, "nist")
    with refusal("unknown-bank-version", "9"):
        bank_jsonl(graded, 9)
    with refusal("nothing-graded"):
        qrels_text(fresh, Policy())
    fill(fresh, QUESTIONS, {("What is A?", "p1"): None}, RUNS)
    with refusal("no-labels"):
        qrels_text(fresh, Policy())


def meaning(project: Project) -> dict[str, list]:
    """Return the content of a graded file as stored, without project-specific keys."""
    grader = "JOIN graders USING (grader_key)"
    texts = (
        "JOIN question_texts q ON q.text_key = question_text_key JOIN passage_texts p ON p.text_key = passage_text_key"
    )
    ids = "JOIN queries USING (query_key) JOIN passages USING (passage_key)"
    found = {
        "queries": project.rows("SELECT query_id, text, narrative FROM queries ORDER BY query_key"),
        "subtopics": project.rows(
            "SELECT query_id, subtopic_id, s.text FROM subtopics s JOIN queries USING (query_key) ORDER BY ALL"
        ),
        "passages": project.rows(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key) ORDER BY ALL"
        ),
        "pool": project.rows(f"SELECT query_id, passage_id, position FROM pool {ids} ORDER BY ALL"),
        "judgments": project.rows(
            f"SELECT name, query_id, passage_id, value FROM judgments JOIN sources USING (source_key) {ids}"
            " ORDER BY ALL"
        ),
        "rankings": project.rows(
            f"SELECT name, query_id, passage_id, rank, score FROM rankings JOIN runs USING (run_key) {ids} ORDER BY ALL"
        ),
        "graders": project.rows("SELECT * EXCLUDE (grader_key) FROM graders ORDER BY ALL"),
        "grades": project.rows(
            "SELECT fingerprint, q.text, p.text, rating, defaulted, confidence, answer, raw, note"
            f" FROM grades {grader} {texts} ORDER BY ALL"
        ),
        "failures": project.rows(
            f"SELECT DISTINCT fingerprint, q.text, p.text, f.raw, reason FROM failures f {grader} {texts} ORDER BY ALL"
        ),
    }
    return found | {"questions": bank.list_questions(project)}


def test_graded_file_restores_everything_in_empty_project(graded: Project, fresh: Project):
    said, not_said = Grade(1, answer="an answer: «so»"), Grade(None, "failed", "I cannot say", raw="no verdict")
    grade(graded, {("What was it?", "p2"): said, ("What was it?", "p3"): not_said}, OTHERS[0])
    before = meaning(graded)
    assert [len(rows) for rows in before.values() if not rows] == []
    whole = graded_file(graded)
    import_files(fresh, "graded", [Source("g.jsonl.gz", data=whole)], "tester", Options("assessors"))
    after = meaning(fresh)
    for what, rows in before.items():
        assert after[what] == rows, what
    assert graded_file(fresh) == whole
    for policy in (Policy(grader="test grader", label="mean"), Policy(grader="judge", min_rating=1)):
        assert leaderboard(fresh, "nDCG@10", policy=policy) == leaderboard(graded, "nDCG@10", policy=policy)


def test_repeated_failures_are_exported_once(graded: Project, fresh: Project):
    grade(graded, {("What is A?", "p3"): None})
    grade(graded, {("What is A?", "p2"): None})
    import_files(fresh, "graded", [Source("g.jsonl.gz", data=graded_file(graded))], "tester")
    assert fresh.rows(
        "SELECT q.text, p.text FROM failures JOIN graders USING (grader_key)"
        " JOIN question_texts q ON q.text_key = question_text_key"
        " JOIN passage_texts p ON p.text_key = passage_text_key WHERE name = 'test grader'"
    ) == [("What is A?", "text of p3")]


def test_equal_projects_export_equal_bytes(graded: Project, fresh: Project, tmp_path: Path):
    copied = tmp_path / "copy.duckdb"
    copy = new_project(copied)
    fill(copy, QUESTIONS, RATINGS, RUNS)
    judge(copy, JUDGED)
    fill(fresh, QUESTIONS, dict(reversed(RATINGS.items())), RUNS)
    judge(fresh, dict(reversed(JUDGED.items())))
    for write in (graded_file, bank_jsonl, bank_csv, lambda p: qrels_text(p, Policy())):
        assert write(copy) == write(fresh)
        assert write(graded) == write(graded)


def test_export_uses_latest_wording_unless_version_is_given(graded: Project, fresh: Project) -> None:
    before = bank_jsonl(graded)
    bank.save_version(graded, [replace(QUESTIONS[0], text="Reworded?")], "reword", "ann")
    assert "Reworded?" in bank_jsonl(graded)
    assert bank_jsonl(graded, 1) == before
    bank.save_version(graded, [replace(QUESTIONS[0], text="What is A, reworded?")], "reword", "ann")
    import_files(fresh, "graded", [Source("g.jsonl.gz", data=graded_file(graded))], "tester")
    assert bank.list_questions(fresh) == bank.list_questions(graded)
    assert fresh.value("SELECT count(*) FROM question_texts WHERE text = 'What is A?'") == 0


def test_leaderboard_round_trips_and_graded_file_uses_chosen_source(graded: Project) -> None:
    for measure, source in itertools.product(("nDCG@10", "AP"), ("exam", "assessors")):
        board = leaderboard(graded, measure, source)
        written = board_tsv(board)
        (read,) = read_boards(Source("board.tsv", data=written.encode()), Report())
        assert read.measure == measure
        assert {row.run: (row.score, row.std_error, row.rank) for row in read.rows} == {
            system.run: (system.score, system.std_error, system.rank) for system in board.systems
        }
    judge(graded, {("q1", "p3"): 3}, "second source")
    assert b'"relevance":3' in gzip.decompress(graded_file(graded, "second source"))
    assert b'"relevance":3' not in gzip.decompress(graded_file(graded))


BANK = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
DETAILED_RUNS = {"one": {"q1": ["p1", "p2", "p3"]}}
JUDGE = GraderSpec("judge", "direct", "a/model", "Thomas", "2" * 64, max_rating=2)
GRADES = {
    ("What is A?", "p1"): Grade(4, answer="It is so.", confidence=0.75, raw="4: It is so.", note="shortened"),
    ("What is A?", "p2"): Grade(1, "defaulted", answer="8 months", raw="8 months"),
    ("What is A?", "p3"): Grade(None, "failed", raw="I cannot rate this 5.", reason="a refusal"),
    ("What is B?", "p1"): Grade(0, confidence=0.0, raw="0"),
    ("What is B?", "p2"): Grade(None, "failed", reason="HTTP 500 after 3 attempts"),
}
DETAILED_JUDGED = {
    ("query q1", "p1"): Grade(2, confidence=0.5, raw="2"),
    ("query q1", "p2"): Grade(None, "failed", raw="I would say 2", reason="no rating"),
}


def fill_with_details(project: Project) -> None:
    fill(project, BANK, {}, DETAILED_RUNS)
    judge(project, {("q1", "p1"): 1})
    commit(project, question_text_key, "query q1")
    grade(project, GRADES)
    grade(project, DETAILED_JUDGED, JUDGE)


detailed = filled_project(fill_with_details)


def test_grade_details_round_trip_alongside_interchange_format(detailed: Project, fresh: Project) -> None:
    content = graded_file(detailed)
    import_files(fresh, "graded", [Source("graded.jsonl.gz", data=content)], "ann", Options(source="assessors"))
    assert meaning(fresh) == meaning(detailed)
    assert graded_file(fresh) == content
    line = json.loads(gzip.decompress(graded_file(detailed)))
    first, second, third = line[1]
    assert first["exam_grades"][0]["self_ratings"] == [
        {"question_id": "q1/a", "self_rating": 4},
        {"question_id": "q1/b", "self_rating": 0},
    ]
    assert first["exam_grades"][0][OURS] == {
        "confidence": [0.75, 0.0],
        "raw": ["4: It is so.", "0"],
        "note": ["shortened", None],
    }
    assert second["exam_grades"][0]["self_ratings"] == [{"question_id": "q1/a", "self_rating": 1}]
    assert third["exam_grades"][0]["self_ratings"] == []
    assert third["exam_grades"][0][OURS]["reason"] == ["a refusal"]
    assert second["grades"][0]["self_ratings"] is None
    assert second["grades"][0][OURS] == {"failed": True, "reason": "no rating"}
    known = {"correctAnswered", "wrongAnswered", "answers", "llm", "llm_options", "prompt_info", "exam_ratio"}
    assert set(first["exam_grades"][0]) == known | {"prompt_type", "self_ratings", OURS}


@pytest.mark.parametrize(
    ("ours", "code", "value"),
    [
        ({"raw": ["4"]}, "details-do-not-match", ""),
        ({"raw": "44"}, "details-do-not-match", ""),
        ({"confidence": [2, 0]}, "invalid-detail", "2"),
        ({"confidence": ["high", 0]}, "invalid-detail", "'high'"),
        ({"defaulted": [1, 0]}, "invalid-detail", "defaulted"),
        ({"reason": [5, None]}, "invalid-detail", "reason"),
    ],
)
def test_invalid_grade_details_are_refused(detailed: Project, ours: dict[str, Any], code: str, value: str) -> None:
    line = json.loads(gzip.decompress(graded_file(detailed)))
    line[1][0]["exam_grades"][0][OURS] = ours
    report = Report()
    assert list(read_graded(Source("g.jsonl", data=json.dumps(line).encode()), report)) == []
    (problem,) = report.problems
    assert problem.code == code and value in problem.reason


@pytest.mark.parametrize(
    "change",
    [{"kinds": []}, {"parameters": {"reads": 5}}, {"parameters": {"reads": [1]}}, {"name": ""}, {"max_rating": 9}],
)
def test_invalid_grader_is_refused(project: Project, change: dict[str, Any]) -> None:
    grader = {
        "name": "g", "method": "self-rating", "model": "m", "prompt": "", "prompt_hash": "", "parameters": {},
        "kinds": ["question"], "max_rating": 5, **change,
    }  # fmt: skip
    entry = {
        "llm": "m",
        "prompt_info": {"exam_workbench": grader, "is_self_rated": True},
        "self_ratings": [{"question_id": "q1/a", "self_rating": 4}],
        "answers": [],
    }
    line = json.dumps(["q1", [{"paragraph_id": "p1", "text": "t", "exam_grades": [entry]}]])
    with refusal("invalid-grader", "graded.jsonl:1", "exam_workbench", kind=FileError):
        import_files(project, "graded", [Source("graded.jsonl", data=line.encode())], "ann")


MEASURES = ("AP", "nDCG@10", "P@5", "R@10", "Rprec", "RR", "Bpref", "Judged@10")


def test_ranks_survive_export_of_shallow_pool(project: Project, fresh: Project) -> None:
    """The pool has the top two of seven passages and the judged ones; a second run has tied scores."""
    passages = [f"p{number}" for number in range(1, 8)]
    fill(project, [Question("q/a", "q", "A?")], {("A?", "p1"): 5, ("A?", "p4"): 0}, {"r": {"q": passages}})
    tied = "".join(f"q Q0 {passage} 0 1.0 tied\n" for passage in passages)
    import_files(project, "runs", [Source("tied.run", data=tied.encode())], "ann")
    commit(project, set_pool_depth, 2, "ann")
    judge(project, {("q", "p4"): 1, ("q", "p7"): 2, ("q", "p2"): 0})
    import_files(fresh, "graded", [Source("g.jsonl.gz", data=graded_file(project))], "ann", Options("assessors"))
    ranks = dict(
        fresh.rows(
            "SELECT passage_id, rank FROM rankings JOIN passages USING (passage_key) JOIN runs USING (run_key)"
            " WHERE name = 'r'"
        )
    )
    assert ranks == {"p1": 1, "p2": 2, "p4": 4, "p7": 7, "p6": 6}
    for measure in MEASURES:
        assert (
            leaderboard(fresh, measure, "assessors").per_query == leaderboard(project, measure, "assessors").per_query
        )
    for measure in ("AP", "EXAM-Cover@1", "alpha_nDCG@10"):
        assert leaderboard(fresh, measure).per_query == leaderboard(project, measure).per_query
    curves = [{c.run: c.scores for c in cover_curves(here, max_k=7).curves} for here in (project, fresh)]
    assert curves[0] == curves[1]


def test_huge_rank_gaps_are_not_filled() -> None:
    assert by_rank(["a", "b"], [1, 2_000_000_000]) == {"a": -1.0, "b": -2_000_000_000.0}
    assert len(by_rank(["a", "b"], [1, 100])) == 100
