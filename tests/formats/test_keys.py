"""Keys of other collections: ids, texts, titles and importances are read under their names, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from exam_workbench.errors import FileError, Report
from exam_workbench.formats import Source, detect_kind, read_answer_verdicts, read_answers, read_bank, read_responses
from exam_workbench.formats.passage_files import read_passages
from exam_workbench.formats.query_files import read_queries
from exam_workbench.types import Passage, Query


def source(*rows: dict[str, Any], name: str = "f.jsonl") -> Source:
    return Source(name, data="".join(json.dumps(row) + "\n" for row in rows).encode())


def table(text: str, name: str = "f.tsv") -> Source:
    return Source(name, data=text.encode())


def noted(report: Report) -> int:
    """How many notes there are, where nothing was refused."""
    report.raise_if_refused()
    return len(report.notes)


@pytest.mark.parametrize(
    ("row", "text", "notes"),
    [
        ({"_id": "d", "title": "Bees", "text": "They eat.", "metadata": {}}, "Bees They eat.", 1),
        ({"_id": "d", "title": "", "text": "They eat."}, "They eat.", 0),
        ({"doc_id": "d", "text": "Bees eat.", "title": "Bees"}, "Bees eat.", 1),
        ({"docid": "d", "url": "u", "title": "Bees", "headings": "h", "segment": "They eat."}, "Bees They eat.", 3),
        ({"docno": "d", "body": "They eat.", "extra": " ", "number": 3}, "They eat.", 0),
        ({"passage_id": "d", "doc_id": "whole", "text": "They eat."}, "They eat.", 1),
        ({"passage_id": "d", "id": "d", "contents": "They eat."}, "They eat.", 0),
        ({"pid": "d", "passage": "They eat.", "spans": "(0,9)", "docid": "whole"}, "They eat.", 2),
        ({"docid": "whole", "segment_id": "d", "segment": "They eat."}, "They eat.", 1),
    ],
)
def test_passages_keep_their_titles_and_unread_keys_are_noted(row: dict[str, Any], text: str, notes: int) -> None:
    for rows in ([row], [row, row]):
        report = Report()
        assert list(read_passages(source(*rows), report)) == [Passage("d", text)] * len(rows)
        assert noted(report) == notes
    assert detect_kind(source(row, name="corpus.jsonl")) == "passages"


@pytest.mark.parametrize(
    ("row", "query", "notes"),
    [
        ({"_id": "q", "text": "why", "metadata": {}}, Query("q", "why"), 0),
        (
            {"request_id": "q", "title": "leaf", "problem_statement": "Why red?", "background": "A teacher."},
            Query("q", "leaf", "Why red?\n\nA teacher."), 0,
        ),
        ({"topic_id": "q", "topic_title": "a", "topic_description": "b"}, Query("q", "a", "b"), 0),
        ({"qid": "q", "query": "a", "title": "b"}, Query("q", "a"), 1),
        ({"narrative_id": "q", "title": "a", "narrative": ""}, Query("q", "a"), 0),
    ],
)  # fmt: skip
def test_queries_of_other_collections(row: dict[str, Any], query: Query, notes: int) -> None:
    report = Report()
    assert read_queries(source(row), report) == [query]
    assert noted(report) == notes
    assert detect_kind(source(row, row, name="topics.jsonl")) == "queries"


def test_tables_name_their_columns_in_any_order_and_with_any_separator() -> None:
    for separator in "\t;,":
        text = "text|lang|query-id\nwhy red|en|q1\nhow much|de|q2\n".replace("|", separator)
        report = Report()
        assert read_queries(table(text), report) == [Query("q1", "why red"), Query("q2", "how much")]
        assert len(report.notes) == 2 and not report.problems
        text = text.replace("query-id", "docid").replace("lang", "title").replace("en", "T")
        assert next(iter(read_passages(table(text), Report()))) == Passage("q1", "T why red")
        assert detect_kind(table(text)) == "passages"
    quoted = table('docid,text\nd1,"a, b ""c"""\n', "corpus.csv")
    assert list(read_passages(quoted, Report())) == [Passage("d1", 'a, b "c"')]
    report = Report()
    assert not list(read_passages(table('docid,text\nd1,"a\nd2,b,c\n'), report)) and report.count


@pytest.mark.parametrize(
    ("read", "row", "names"),
    [
        (read_passages, {"key": "d", "text": "t"}, ("key", "docid", "_id")),
        (read_passages, {"docid": "d", "words": "t"}, ("words", "segment")),
        (read_queries, {"number": "q", "text": "t"}, ("number", "request_id")),
        (read_queries, {"qid": "q", "words": "t"}, ("words", "title")),
        (read_bank, {"topic": "q", "nuggets": []}, ("topic", "nuggets", "qid")),
        (read_bank, {"query_id": "q", "facts": {}}, ("facts", "question_text")),
        (read_bank, {"qid": "q", "nuggets": [{"nugget": "t", "label": "vital"}]}, ("label", "text")),
        (read_bank, {"qid": "q", "nugget_bank": [{"fact": "t"}]}, ("fact", "question", "claim")),
        (read_queries, {"number": "q", "utterance": "t"}, ("number", "utterance", "qid")),
    ],
)
def test_a_missing_key_is_named_with_the_keys_that_are_there(read: Any, row: dict[str, Any], names: list[str]) -> None:
    report = Report()
    list(read(source(row), report) or ()) if read is not read_bank else read(source(row), report)
    with pytest.raises(FileError) as refusal:
        report.raise_if_refused()
    assert all(name in refusal.value.problems[0].reason for name in names)


def test_nuggets_of_trec_rag_have_weights_by_importance() -> None:
    nuggets = [
        {"text": "Bees eat nectar", "importance": "vital", "assignment": "support"},
        {"text": "Bees sleep", "importance": "Okay"},
        {"text": "Bees fly", "importance": "failed"},
        {"text": "Bees sing", "importance": 3},
        {"text": "Bees hum"},
    ]
    for row in ({"qid": "q"}, {"query_id": "q", "query_text": "bees"}, {"query": "bees", "topic_id": "q"}):
        file = source(row | {"nuggets": nuggets}, name="some.jsonl")
        report = Report()
        bank = read_bank(file, report)
        assert [(q.kind, q.weight, q.active) for q in bank.questions] == [
            ("nugget", 1.0, True), ("nugget", 0.5, True), ("nugget", 1.0, False), ("nugget", 3.0, True),
            ("nugget", 1.0, True),
        ]  # fmt: skip
        assert bank.queries == [Query("q", "bees" if len(row) > 1 else "")] and detect_kind(file) == "graded"
        # Each importance that is a word, and the assignment.
        assert noted(report) == 4
    report = Report()
    read_bank(source({"qid": "q", "nuggets": [{"text": "x", "importance": "grand"}]}), report)
    assert report.count == 1


def test_one_object_is_no_map_of_queries() -> None:
    assert detect_kind(source({"query_id": "q", "title_query": "t", "facts": {}}, name="x.json")) is None
    assert detect_kind(source({"1": "why", "2": "how"}, name="x.json")) == "queries"


@pytest.mark.parametrize(
    ("read", "row"),
    [
        (lambda source, report: read_responses([source], report), {"run": "a", "text": "Foam."}),
        (read_answers, {"run": "a", "k": 1, "answer": "Foam."}),
        (read_answer_verdicts, {"answer": "Foam.", "acceptable": "yes"}),
    ],
)
def test_keys_that_responses_and_answers_leave_unread_are_noted_once(
    read: Callable[[Source, Report], list[Any]], row: dict[str, Any]
) -> None:
    rows = [{"query_id": name, "remark": "Read by hand.", "seconds": 3, **row} for name in ("q1", "q2")]
    report = Report()
    assert len(read(source(*rows), report)) == 2
    assert [("remark" in note.reason, note.line) for note in report.notes] == [(True, 1)]
