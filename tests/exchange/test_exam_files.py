"""Exams and answers that leave a project come back the same, from the shell and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.errors import FileError, InputError
from exam_workbench.exams import Plan, add_student, answers_csv, exam_items, exam_json, examinee_responses, sit_by_rules
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.records import put_retrieval, read_retrieval
from exam_workbench.store import Project, open_project
from tests.made.exams import put_exam
from tests.made.projects import new_project


def test_an_exam_and_its_answers_are_read_back(project: Project, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        exam_json(project)
    first, *_ = put_exam(project, 5)
    with pytest.raises(InputError):
        answers_csv(project)
    with project.transaction() as cursor:
        put_retrieval(cursor, "bm25", "file", {first.question_id: [("p2", 2.0), ("p1", 1.0)]}, "ann")
    add_student(project, Plan("longest", name="long"), "ann")
    sit_by_rules(project, "ann", lambda _: None)
    written, table = exam_json(project), answers_csv(project)
    fresh = new_project(tmp_path / "fresh.duckdb")
    import_files(fresh, "exam", [Source("exam.json", data=written.encode())], "ann")
    facts = [
        sorted((item.text, item.choices, item.key, item.topic, item.source_text) for item in exam_items(each))
        for each in (project, fresh)
    ]
    assert facts[0] == facts[1] and len(facts[0]) == 5
    with fresh.transaction() as cursor:
        assert [len(ranking) for ranking in read_retrieval(cursor, "bm25").values()] == [2]
    assert exam_json(fresh) == written
    other = new_project(tmp_path / "other.duckdb")
    import_files(other, "responses-matrix", [Source("answers.csv", data=table.encode())], "ann")
    theirs, ours = examinee_responses(other), examinee_responses(project)
    assert (theirs.names, theirs.items) == (ours.names, ours.items)
    assert theirs.correct.tolist() == ours.correct.tolist()
    fresh.close()
    other.close()


def test_the_shell_exports_boards_as_json_exams_and_answers(tmp_path: Path) -> None:
    path = tmp_path / "p.duckdb"
    made = new_project(path)
    put_exam(made, 3)
    matrix = Source("m.csv", data=b"student,i1,i2\nx,1,0\n")
    import_files(made, "responses-matrix", [matrix], "ann")
    board = Source("b.tsv", data=b"run\tAP\na\t0.5\nb\t0.25\n")
    import_files(made, "leaderboard", [board], "ann")
    made.close()

    def export(what: str, file: str, *more: str) -> str:
        output = str(tmp_path / file)
        result = CliRunner().invoke(cli, ["export", what, "-o", output, "--project", str(path), *more])
        assert result.exit_code == 0, result.output
        return (tmp_path / file).read_text()

    written = json.loads(export("leaderboard", "board.json", "--source", "b"))
    assert written == {"AP": {"a": 0.5, "b": 0.25}}
    assert len(json.loads(export("exam", "exam.json"))) == len(json.loads(export("exam", "e.json", "--source", "exam")))
    assert export("responses-matrix", "answers.csv").splitlines() == ["student,i1,i2,i3", "x,1,0,"]
    opened = open_project(path)
    import_files(opened, "leaderboard", [Source.of(tmp_path / "board.json")], "ann")
    opened.close()


def test_a_matrix_without_a_header_is_refused(project: Project) -> None:
    for text in ("x,1,0\ny,0,0\n", "x,1\n", "x\t1\t0\t1.0\n"):
        with pytest.raises(FileError):
            import_files(project, "responses-matrix", [Source("m.csv", data=text.encode())], "ann")
    # Items may be called 1 and 0.
    found = import_files(project, "responses-matrix", [Source("m.csv", data=b"student,1,0\nx,1,0\n")], "ann")
    assert found.counts["new items"] == 2
