"""Exams of the authors' form: recognised, read, written again, and imported with sources and retrieved contexts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.errors import FileError, Report
from exam_workbench.exams import exam_items
from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source, detect_kind, exam_files
from exam_workbench.records import add_passages, read_retrieval
from exam_workbench.store import Project, open_project
from exam_workbench.types import Passage
from tests.made.projects import new_project
from tests.made.refusals import refusal

ITEMS: list[dict[str, Any]] = [
    {
        "question": "Which metric tells the total storage?",
        "documentation": "BucketSizeBytes is what tells the storage.",
        "choices": ["A) BucketSizeBytes", "B) ObjectVersionBytes", "C) NumberOfObjects", "D) Foam"],
        "correct_answer": "A) BucketSizeBytes",
        "retrieved_context": {"DPR": ["Foam is foam.", "BucketSizeBytes is what tells the storage."], "BM25": []},
    },
    {
        "question": "What is foam?",
        "documentation": "Foam is foam.",
        "choices": ["foam", "water", "wind", "salt"],
        "correct_answer": "D",
        "topic": "sea",
    },
]


def source(content: object) -> Source:
    return Source("exam.json", data=json.dumps(content).encode())


def test_an_exam_is_recognised_read_and_written_again() -> None:
    assert detect_kind(source(ITEMS)) == "exam"
    report = Report()
    found = exam_files.read_exam(source(ITEMS), report)
    assert [one.key for one in found] == ["BucketSizeBytes", "salt"] and report.count == 0
    out = io.StringIO()
    exam_files.write_exam(found, out)
    assert exam_files.read_exam(Source("again.json", data=out.getvalue().encode()), Report()) == found


def test_contexts_of_an_open_and_a_closed_book_are_no_retrievals() -> None:
    report = Report()
    contexts = {"open_book": ["Foam is foam."], "closed-book": [], "DPR": ["Foam is foam."]}
    (found,) = exam_files.read_exam(source([ITEMS[1] | {"retrieved_context": contexts}]), report)
    assert list(found.retrieved) == ["DPR"] and len(report.notes) == 2 and report.count == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"question": "x"}, ("not-a-list",)),
        ([], ("no-items",)),
        ([3], ("not-an-object", "1")),
        ([ITEMS[0] | {"question": " "}], ("empty-value", "1")),
        ([ITEMS[0] | {"question": "\x01 "}], ("empty-value", "1")),
        ([ITEMS[0] | {"retrieved_context": {"bm25": ["\x7f"]}}], ("empty-value", "1")),
        ([ITEMS[0] | {"choices": ["one"]}], ("invalid-choices", "1")),
        ([ITEMS[0] | {"retrieved_context": {"DPR": "x"}}], ("not-a-list", "1", "DPR")),
    ],
)
def test_what_is_no_exam_is_refused_and_nothing_is_imported(
    project: Project, content: object, reason: tuple[str, ...]
) -> None:
    with refusal(*reason, kind=FileError):
        import_files(project, "exam", [source(content)], "ann")
    assert exam_items(project) == []


def test_items_come_with_their_sources_and_what_was_retrieved(project: Project) -> None:
    with project.transaction() as cursor:
        add_passages(cursor, [Passage("foam-1", "Foam is foam.")])
    seen = import_files(project, "exam", [source(ITEMS)], "ann", preview=True).counts
    done = import_files(project, "exam", [source(ITEMS)], "ann").counts
    assert seen == done == {
        "items": 2, "new items": 2, "new queries": 1, "new passages": 1, "retrievals": 1, "bank version": 1,
    }  # fmt: skip
    first, second = exam_items(project, "exam")
    assert (first.key, first.source_text) == ("BucketSizeBytes", ITEMS[0]["documentation"])
    assert (second.topic, second.source_passage_id) == ("sea", "foam-1"), "a text that is there keeps its passage"
    with project.transaction() as cursor:
        assert read_retrieval(cursor, "DPR") == {
            first.question_id: [("foam-1", 2.0), (str(first.source_passage_id), 1.0)]
        }
    again = import_files(project, "exam", [source(ITEMS)], "ann")
    assert again.counts == {"items": 2, "new items": 0, "new queries": 0, "new passages": 0}


def test_a_retrieval_of_other_rankings_needs_a_name_of_its_own(project: Project) -> None:
    import_files(project, "exam", [source(ITEMS)], "ann")
    other = [ITEMS[0] | {"retrieved_context": {"DPR": ["Foam is foam."]}}]
    with refusal("retrieval-differs"):
        import_files(project, "exam", [source(other)], "ann")
    import_files(project, "exam", [source(other)], "ann", Options(source="second"))
    with project.transaction() as cursor:
        assert len(read_retrieval(cursor, "second DPR")) == 1


def test_the_shell_imports_lists_checks_and_retires(tmp_path: Path) -> None:
    path = tmp_path / "p.duckdb"
    new_project(path).close()
    (tmp_path / "exam.json").write_text(json.dumps(ITEMS))

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["items", *arguments, "--project", str(path)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "new items: 2" in run("import", str(tmp_path / "exam.json"))
    listed = json.loads(run("list", "--json"))["items"]
    assert [one["type"] for one in listed] == [["Which"], ["What"]]
    lines = [line.split("\t") for line in run("check").splitlines()]
    assert len(lines) == 3 and {len(line) for line in lines} == {len(lines[0])} and lines[0][0] == "item"
    run("set", listed[0]["question_id"], "--topic", "storage", "--bloom", "Applying")
    run("retire", listed[1]["question_id"], "--note", "too easy")
    said = json.loads(run("statistics", "--no-filters", "--json"))
    assert (said["items"], said["retired"], said["topics"]) == (1, 1, {"storage": 1})
    assert json.loads(run("categories", "--json"))["bloom"] == {listed[0]["question_id"]: ["Applying"]}
    opened = open_project(path)
    assert [item.active for item in exam_items(opened)] == [True, False]
    opened.close()


def test_an_exam_of_whose_items_none_has_its_right_answer_is_refused() -> None:
    report = Report()
    item = {"question": "t", "choices": ["k", "Dt"], "correct_answer": "d", "documentation": "w"}
    assert exam_files.read_exam(Source("e.json", data=json.dumps([item]).encode()), report) == []
    assert report.problems[0].code == "no-usable-items"
