"""Reports of AutoJudge in and out, judgments by the MD5 of a response, and nuggets_QUERY.json."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.exchange import nugget_docs_zip, reports_jsonl
from exam_workbench.labels import Policy
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.exchange.test_nuggets import a_grade, lines, refuse, take
from tests.made.projects import fill, new_project


def report(run: str, *texts: str, **more: Any) -> dict[str, Any]:
    sentences = [{"text": text, "citations": {"d2": 80.0, "d1": 20.0}, "metadata": {"n": 1}} for text in texts]
    metadata = {"team_id": "t", "run_id": run, "topic_id": "q1", "narrative": "why is it so", "type": "automatic"}
    documents = {
        "d1": {"id": "d1", "title": "One", "text": "The first document.", "url": "https://example.org"},
        "d2": {"id": "d2", "title": "", "text": "The second."},
        "d3": {"id": "d3", "text": ""},
    }
    return {"metadata": metadata, "responses": sentences, "documents": documents, "ranking": []} | more


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = new_project(tmp_path / "test.duckdb")
    yield project
    project.close()


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def without_ours(row: dict[str, Any]) -> dict[str, Any]:
    sentences = []
    for sentence in row["responses"]:
        evaldata = {key: value for key, value in sentence.get("evaldata", {}).items() if key != "exam_workbench"}
        rest = {key: value for key, value in sentence.items() if key != "evaldata"}
        sentences.append(rest | ({"evaldata": evaldata} if evaldata else {}))
    return row | {"responses": sentences}


def test_limits_of_the_track_are_noted(project: Project) -> None:
    topic = {"request_id": "q1", "title": "first", "word_limit": 5, "collection_ids": ["ragtime/2/eng"]}
    take(project, "queries", topic, replace=True)
    sentences = [{"text": "One two three.", "citations": ["d1", "d2", "d3", "d4"]}, {"text": "Four five six."}]
    done = take(project, "responses", report("a", responses=sentences))
    assert [note.code for note in done.notes].count("beyond-track-limit") == 3
    take(project, "queries", {"request_id": "q1", "title": "first", "limit": 4}, replace=True)
    done = take(project, "responses", report("b", "one two three"))
    assert [note.code for note in done.notes].count("beyond-track-limit") == 1


def test_reports_come_back_with_what_their_sentences_answer(project: Project) -> None:
    given = [report("a", "It is so.", " ", "Because."), report("b", "Nobody knows.")]
    given[1]["responses"][0]["evaldata"] = {"theirs": 1}
    done = take(project, "responses", given)
    assert done.counts["responses"] == 2
    # Documents are passages under their ids, their titles before the text; d3 has no text.
    texts = dict(project.rows("SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"))
    assert (texts["d1"], texts["d2"]) == ("One The first document.", "The second.") and "d3" not in texts
    bank.save_version(project, [Question("q1/a", "q1", "Why?")], "made", "ann")
    take(project, "graded", [a_grade(run_id="a", nugget_id="q1/a", question=None, grade=5)], "panel.jsonl")
    policy = Policy(grader="imported: panel")
    first, second = lines(reports_jsonl(project, policy))
    assert [without_ours(row) for row in (first, second)] == given
    evaldata = [one.get("evaldata", {}).get("exam_workbench") for one in first["responses"]]
    assert evaldata == [{"questions": ["Why?"], "rating": 5}, None, {"questions": ["Why?"], "rating": 5}]
    assert second["responses"][0]["evaldata"] == {"theirs": 1, "exam_workbench": {"questions": [], "rating": None}}
    # Exported reports can be imported again.
    take(project, "responses", reports_jsonl(project, policy), replace=True)
    assert lines(reports_jsonl(project, policy)) == [first, second]
    # Plain responses become reports.
    take(project, "responses", {"query_id": "q1", "run": "c", "answer": [{"text": "So.", "citations": ["d1"]}]})
    plain = lines(reports_jsonl(project, policy))[2]
    assert plain["metadata"]["run_id"] == "c" and plain["responses"][0]["citations"] == ["d1"]
    refuse(project, "responses", report("d", "x", documents=[1]), "file.jsonl:1 not-an-object")
    refuse(project, "responses", report("d", "x", documents={"d1": {"text": 5}}), "file.jsonl:1 not-a-text")


def test_judgments_name_responses_by_the_md5_of_their_text(project: Project) -> None:
    long = [f"Sentence number {n} has some words in it." for n in range(40)]
    take(project, "responses", [report("a", "It is so.", "Because."), report("long", *long)])
    names = [md5("It is so. Because."), md5(" ".join(long)), md5("unknown")]
    done = take(project, "qrels", "".join(f"q1 0 {name} {at}\n" for at, name in enumerate(names)), "j.qrels")
    assert "unknown-response" in {note.code for note in done.notes}
    found = project.rows("SELECT passage_id, value FROM judgments JOIN passages USING (passage_key) ORDER BY value")
    assert found == [("a/q1/1", 0), ("long/q1", 1), (names[2], 2)]


def test_nuggets_with_their_documents_in_and_out(project: Project) -> None:
    given = {"Why?": ["OR", {"OPEN_ENDED_ANSWER": ["p1"]}], "When?": ["AND", {"now": ["p2"], "then": []}]}
    for indent in (None, 4):
        take(project, "bank", json.dumps(given, indent=indent), "nuggets_q1.json")
        assert [(q.query_id, q.text, q.answer_key, q.note) for q in bank.list_questions(project)] == [
            ("q1", "Why?", None, "References: p1"),
            ("q1", "When?", "now; then", "References: p2"),
        ]
    refuse(project, "bank", '{"Why?": ["OR", {}], "When?": ["OR"]}', "file.jsonl:1 not-a-list")
    ratings = {("Why?", "p1"): 5, ("Why?", "p2"): None, ("When?", "p1"): 3, ("When?", "p2"): 4}
    fill(project, bank.list_questions(project), ratings, {"sys": {"q1": ["p1", "p2"]}})
    with zipfile.ZipFile(io.BytesIO(nugget_docs_zip(project, Policy()))) as archive:
        (name,) = archive.namelist()
        content = json.loads(archive.read(name))
    assert name == "nuggets_q1.json"
    assert content == {
        "Why?": ["OR", {"OPEN_ENDED_ANSWER": ["p1"]}],
        "When?": ["OR", {"OPEN_ENDED_ANSWER": ["p2"]}],
    }
