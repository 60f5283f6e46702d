"""A graded file carries all that is known of a grade, in fields that its other readers pass over."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_workbench.bank import put_grader, question_text_key
from exam_workbench.errors import FileError, Report
from exam_workbench.exchange import Options, graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.formats._graded_form import OURS
from exam_workbench.formats.graded_files import read_graded
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.projects import SPEC, fill, judge, made_project, new_project
from tests.made.refusals import refusal

BANK = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
RUNS = {"one": {"q1": ["p1", "p2", "p3"]}}
JUDGE = GraderSpec("judge", "direct", "a/model", "Thomas", "2" * 64, max_rating=2)
GRADES = {
    ("What is A?", "p1"): Grade(4, answer="It is so.", confidence=0.75, raw="4: It is so.", note="shortened"),
    ("What is A?", "p2"): Grade(1, "defaulted", answer="8 months", raw="8 months"),
    ("What is A?", "p3"): Grade(None, "failed", raw="I cannot rate this 5.", reason="a refusal"),
    ("What is B?", "p1"): Grade(0, confidence=0.0, raw="0"),
    ("What is B?", "p2"): Grade(None, "failed", reason="HTTP 500 after 3 attempts"),
}
JUDGED = {
    ("query q1", "p1"): Grade(2, confidence=0.5, raw="2"),
    ("query q1", "p2"): Grade(None, "failed", raw="I would say 2", reason="no rating"),
}
STORED = (
    "SELECT method, q.text, p.text, rating, defaulted, confidence, answer, raw, note, NULL AS reason FROM grades g"
    " JOIN graders USING (grader_key) JOIN question_texts q ON q.text_key = question_text_key"
    " JOIN passage_texts p ON p.text_key = passage_text_key"
    " UNION ALL SELECT method, q.text, p.text, NULL, NULL, NULL, NULL, raw, NULL, reason FROM failures f"
    " JOIN graders USING (grader_key) JOIN question_texts q ON q.text_key = question_text_key"
    " JOIN passage_texts p ON p.text_key = passage_text_key ORDER BY ALL"
)


def fill_with_details(project: Project) -> None:
    fill(project, BANK, {}, RUNS)
    judge(project, {("q1", "p1"): 1})
    with project.transaction() as cursor:
        question_text_key(cursor, "query q1")
    texts = dict(project.rows("SELECT text, text_key FROM question_texts"))
    passages = dict(project.rows("SELECT passage_id, text_key FROM passages"))
    with project.transaction() as cursor:
        for spec, grades in ((SPEC, GRADES), (JUDGE, JUDGED)):
            outcomes = [(texts[question], passages[passage], grade) for (question, passage), grade in grades.items()]
            add_outcomes(cursor, put_grader(cursor, spec), outcomes, job_key=0)


@pytest.fixture
def graded(tmp_path: Path) -> Iterator[Project]:
    project = made_project(tmp_path / "test.duckdb", fill_with_details)
    yield project
    project.close()


def _again(content: bytes, folder: Path) -> Project:
    project = new_project(folder / "again.duckdb")
    import_files(project, "graded", [Source("graded.jsonl.gz", data=content)], "ann", Options(source="assessors"))
    return project


def test_grades_and_failures_come_back_with_all_that_is_known_of_them(graded: Project, tmp_path: Path) -> None:
    content = graded_file(graded)
    again = _again(content, tmp_path)
    assert again.rows(STORED) == graded.rows(STORED)
    assert graded_file(again) == content
    again.close()


def test_what_the_interchange_form_has_is_what_it_was_and_the_rest_stands_apart(graded: Project) -> None:
    line = json.loads(gzip.decompress(graded_file(graded)))
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
def test_details_out_of_form_are_refused_with_the_line(
    graded: Project, ours: dict[str, Any], code: str, value: str
) -> None:
    line = json.loads(gzip.decompress(graded_file(graded)))
    line[1][0]["exam_grades"][0][OURS] = ours
    report = Report()
    assert list(read_graded(Source("g.jsonl", data=json.dumps(line).encode()), report)) == []
    (problem,) = report.problems
    assert problem.code == code and value in problem.reason


@pytest.mark.parametrize(
    "change",
    [{"kinds": []}, {"parameters": {"reads": 5}}, {"parameters": {"reads": [1]}}, {"name": ""}, {"max_rating": 9}],
)
def test_a_grader_that_nothing_could_be_computed_with_is_refused(project: Project, change: dict[str, Any]) -> None:
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
