"""Passages, and generated responses split into passages."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from exam_workbench import records
from exam_workbench.errors import FileError, Report
from exam_workbench.exchange import Group, Imported, Options, import_files, import_groups
from exam_workbench.formats import Source, detect_kind, read_responses
from exam_workbench.labels import leaderboard
from exam_workbench.records import (
    _collection as collection,
    _writing_passages as writing_passages,
)
from exam_workbench.records._responses import PASSAGE_WORDS, split_response
from exam_workbench.store import Project, open_project
from exam_workbench.text import all_clean, clean_text
from exam_workbench.types import Passage, Query, Question, Response, Sentence
from tests.made.projects import citations, commit, fill, new_project, rankings
from tests.made.refusals import check_problem, coded, mentions, refusal
from tests.made.shell import exam_on

TEXTS = {"a": "one", "b": "two", "c": "one", "d": "six", "e": "two", "f": "three"}


def stored(project: Project) -> dict[str, str]:
    return dict(project.rows("SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"))


@pytest.mark.parametrize("number", [writing_passages.HASH, "length({}.text)"])
def test_each_text_is_stored_once(project: Project, monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setattr(writing_passages, "HASH", number)
    monkeypatch.setattr(writing_passages, "COMPARED", 2)
    files = records.PassageFiles(project.working_folder)
    files.add(Passage(*one) for one in TEXTS.items())
    files.add([Passage("g", ""), Passage("a", "one"), Passage("b", "")])
    files.close()
    with project.transaction() as cursor:
        assert records.add_passages(cursor, [Passage("z", "two"), Passage("y", "ten")]) == 2
        written = records.add_kept_passages(cursor, files)
        assert records.add_passages(cursor, [Passage("g", "ten"), Passage("x", "six")]) == 2
    assert stored(project) == TEXTS | {"z": "two", "y": "ten", "g": "ten", "x": "six"}
    assert sorted(project.rows("SELECT text FROM passage_texts")) == [(t,) for t in sorted({*TEXTS.values(), "ten"})]
    assert written.new == len(TEXTS)
    key_of = dict(project.rows("SELECT passage_id, passage_key FROM passages"))
    assert written.keys.tolist() == [key_of[one] for one in [*TEXTS, "g", "a", "b"]]
    # Passages keep the order of first occurrence; those without text follow those with text.
    assert sorted(key_of, key=key_of.__getitem__) == ["z", "y", *TEXTS, "g", "x"]
    text_of = dict(project.rows("SELECT passage_id, text_key FROM passages"))
    assert written.text_keys.tolist() == [*(text_of[one] for one in TEXTS), 0, text_of["a"], text_of["b"]]


def test_texts_are_clean_together_if_each_is_clean() -> None:
    for sign in [*map(chr, range(160)), "\ud83d", "\u200f", "\U0001f600"]:
        assert all_clean(["first", f"a{sign}b"]) == (clean_text(f"a{sign}b") == f"a{sign}b")


def test_passage_with_two_texts_is_refused_by_name(project: Project) -> None:
    with refusal("passage-with-two-texts", "b"), project.transaction() as cursor:
        records.add_passages(cursor, [Passage("a", "x"), Passage("b", "x"), Passage("a", "x"), Passage("b", "y")])
    assert stored(project) == {}


SENTENCE = "This is a sentence of exactly ten words, no more. "

RAG = {
    "run_id": "sys",
    "topic_id": "q1",
    "topic": "why is the sky blue",
    "references": ["doc-a", "doc-b"],
    "answer": [
        {"text": "Air scatters blue light.", "citations": [0, 1]},
        {"text": " It does so more than red. ", "citations": []},
        {"text": "Hence the sky.", "citations": ["doc-c"]},
    ],
}


def jsonl(*rows: object, name: str = "answers.jsonl") -> Source:
    return Source(name, data="".join(json.dumps(row) + "\n" for row in rows).encode())


def read(*sources: Source) -> tuple[list[Response], Report]:
    report = Report()
    return read_responses(sources, report), report


def add_queries(project: Project, *query_ids: str) -> None:
    commit(project, collection.add_queries, [Query(q, f"query {q}") for q in query_ids], replace=True)


def plain(query_id: str, run: str, text: str) -> dict[str, str]:
    return {"query_id": query_id, "run": run, "text": text}


def import_responses(project: Project, *sources: Source, **options: Any) -> Imported:
    return import_files(project, "responses", sources, "tester", Options(**options))


def ranked(project: Project, run: str, query_id: str) -> list[str]:
    return [one.passage_id for one in rankings(project)[run] if one.query_id == query_id]


# Reading


def test_trec_rag_jsonl_and_json_maps_keep_texts_and_citations() -> None:
    ((response,), report) = read(jsonl(RAG))
    assert (response.run, response.query_id, response.query_text) == ("sys", "q1", "why is the sky blue")
    assert response.text == "Air scatters blue light. It does so more than red. Hence the sky."
    assert [response.text[s.begin : s.end] for s in response.sentences] == [
        "Air scatters blue light.",
        "It does so more than red.",
        "Hence the sky.",
    ]
    assert [s.citations for s in response.sentences] == [("doc-a", "doc-b"), (), ("doc-c",)]
    assert not report.notes
    row = {"metadata": {"run_id": "sys", "narrative_id": 14, "narrative": "I wonder"}, **RAG}
    for key in ("run_id", "topic_id", "topic"):
        del row[key]
    ((response,), _) = read(jsonl(row))
    assert (response.run, response.query_id, response.query_text) == ("sys", "14", "I wonder")
    wanted = [("a", "q1", "One."), ("b", "q1", "Two."), ("a", "q2", "Three.")]
    rows = [plain(query, run, text) for run, query, text in wanted]
    of_map = Source("m.json", data=json.dumps({"q1": {"a": "One.", "b": "Two."}, "q2": {"a": "Three."}}).encode())
    over_lines = Source("m.json", data=b'{\n "q1": {"a": "One.", "b": "Two."},\n"q2": {"a": "Three."}}')
    for source in (jsonl(*rows), of_map, over_lines):
        assert [(r.run, r.query_id, r.text) for r in read(source)[0]] == wanted
    assert [r.run for r in read(jsonl({"query_id": "q", "text": "t"}, name="mine.jsonl"))[0]] == ["mine"]
    assert [r.run for r in read(Source("mine.json", data=b'{"q": "t"}'))[0]] == ["mine"]


def test_response_files_are_recognized_and_odd_entries_reported() -> None:
    _, report = read(Source("m.json", data=b'{"q": {"a": "One."}, "q": {"a": "Two."}}'))
    (problem,) = report.problems
    check_problem(problem, "m.json duplicate-response", "a", "q", "m.json")
    row = {**RAG, "topic_id": "q2", "answer": [{"text": "Only this.", "citations": [1, 2]}]}
    responses, report = read(jsonl(plain("q1", "sys", "  "), row))
    assert [(r.query_id, r.sentences[0].citations) for r in responses] == [("q2", ("doc-b",))]
    assert [coded(note) for note in report.notes] == [
        f"answers.jsonl:{fault}" for fault in ("1 empty-response", "2 citation-out-of-range")
    ]
    lines = b'{\n  "q": {\n    "a": "t",\n    "b": "u"}}'
    for source in (jsonl(RAG), jsonl(plain("q", "a", "t")), Source("m.json", data=lines)):
        assert detect_kind(source) == "responses"
    assert detect_kind(jsonl({"query_id": "q", "text": "t"}, name="queries.jsonl")) == "queries"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", ("invalid-json",)),
        ("[]", ("not-an-object",)),
        ('{"query_id": "q", "run": "b"}', ("value-missing", "query_id", "run", "answer")),
        ('{"run": "b", "text": "t"}', ("value-missing", "run", "text", "topic_id")),
        ('{"query_id": "q", "run": "b", "text": 7}', ("not-a-text",)),
        ('{"query_id": "q", "run": "b", "answer": ["t"]}', ("not-an-object", "1")),
        ('{"query_id": "q", "run": "b", "answer": [{"citations": []}]}', ("empty-value", "1")),
        ('{"query_id": "q", "run": "b", "answer": [{"text": "t", "citations": 3}]}', ("not-a-list", "1")),
        ('{"query_id": "q", "run": "a", "text": "again"}', ("duplicate-response", "a", "q", "f.jsonl:1")),
    ],
)
def test_bad_lines_are_refused_by_number(line: str, said: tuple[str, ...]) -> None:
    good = '{"query_id": "q", "run": "a", "text": "t"}'
    _, report = read(Source("f.jsonl", data=f"{good}\n{line}\n".encode()))
    (problem,) = report.problems
    code, *values = said
    check_problem(problem, f"f.jsonl:2 {code}", *values)


# Splitting


def test_responses_are_split_at_sentences_that_keep_citations() -> None:
    text = "First line.\n- an item\n- another item"
    (part,) = split_response(text)
    assert part.text == text
    parts = split_response(SENTENCE * 30)
    assert [records.count_words(part.text) for part in parts] == [100, 100, 100]
    assert all(part.text.endswith("more.") for part in parts)
    paragraphs = [SENTENCE * 5, SENTENCE * 5, SENTENCE * 3, SENTENCE * 8]
    parts = split_response("\n\n".join(paragraphs))
    assert [len(part.sentences) for part in parts] == [10, 11]
    assert all(records.count_words(part.text) <= PASSAGE_WORDS + 10 for part in parts)
    text, sentences = "", []
    for number in range(40):
        words = f"Sentence {number} " + "word " * (number % 17) + "ends."
        begin = len(text) + 1 if text else 0
        text = f"{text} {words}" if text else words
        sentences.append(Sentence(begin, len(text), (f"doc{number}",)))
    parts = split_response(text, sentences)
    found = [(part.text[s.begin : s.end], s.citations) for part in parts for s in part.sentences]
    assert found == [(text[s.begin : s.end], s.citations) for s in sentences]
    assert " ".join(part.text for part in parts) == text
    assert split_response("") == []


# Importing


def test_unknown_query_refuses_import_unless_skipped(project: Project) -> None:
    add_queries(project, "q1")
    source = jsonl(plain("q1", "sys", "Known."), plain("q9", "sys", "Unknown."))
    with refusal("unknown-query", "answers.jsonl:2", "q9", kind=FileError):
        import_responses(project, source)
    assert project.value("SELECT count(*) FROM runs") == project.value("SELECT count(*) FROM passages") == 0
    done = import_responses(project, source, skip_unknown=True)
    assert done.counts["responses"] == 1
    assert [coded(note) for note in done.notes] == ["answers.jsonl:2 unknown-query"]


def test_reimported_responses_replace_old_ones_and_texts_stay(project: Project) -> None:
    queries = Source("queries.json", data=b'{"q1": "why", "q2": "how"}')
    first = jsonl(plain("q1", "sys", "First version."), plain("q2", "sys", "Stays."))
    groups = [Group("responses", [first]), Group("queries", [queries])]
    assert [done.kind for done in import_groups(project, groups, "tester")] == ["queries", "responses"]
    import_responses(project, jsonl(plain("q1", "sys", "Second version.")), replace=True)
    assert ranked(project, "sys", "q1") == ["sys/q1/1~2"]
    assert ranked(project, "sys", "q2") == []
    assert project.rows(
        "SELECT passage_id, text FROM pool JOIN passages USING (passage_key) JOIN passage_texts t"
        " ON t.text_key = passages.text_key"
    ) == [("sys/q1/1~2", "Second version.")]
    import_responses(project, jsonl(plain("q1", "sys", "First version.")), replace=True)
    assert ranked(project, "sys", "q1") == ["sys/q1/1"]
    assert [run.words for run in records.response_runs(project)] == [2]
    done = import_responses(project, jsonl(plain("q1", "long", SENTENCE * 30)))
    assert done.counts == {"runs": 1, "responses": 1, "passages of responses": 3}
    assert ranked(project, "long", "q1") == ["long/q1/1", "long/q1/2", "long/q1/3"]
    assert project.value("SELECT count(*) FROM pool WHERE text_key IS NOT NULL") == 4


def test_retrieval_run_of_same_name_stays(project: Project) -> None:
    fill(project, [], {}, {"sys": {"q1": ["p"]}})
    done = import_responses(project, jsonl(plain("q1", "sys", "Words.")))
    assert done.notes[0].code == "responses-renamed" and mentions(done.notes[0].reason, "sys-responses")
    assert (ranked(project, "sys", "q1"), ranked(project, "sys-responses", "q1")) == (["p"], ["sys-responses/q1/1"])
    import_responses(project, jsonl(plain("q1", "sys", "Other words.")), replace=True)
    assert list(records.ranking_scores(project)) == ["sys", "sys-responses"]
    for system in ("sys-responses", "sys"):
        import_responses(project, jsonl(plain("q1", system, f"By {system}.")), replace=system == "sys")
    assert [(one.run, one.responses) for one in records.response_runs(project)] == [
        ("sys-responses", 1),
        ("sys-responses-responses", 1),
    ]


def test_cli_imports_responses_with_queries_and_lists_them(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    (tmp_path / "answers.jsonl").write_text(json.dumps(RAG) + "\n")
    run = partial(exam_on, project)
    imported = run("import", "responses", str(tmp_path / "answers.jsonl"), "--json")
    assert imported["counts"] == {"runs": 1, "responses": 1, "passages of responses": 1}
    assert run("responses", "--json")["runs"] == [
        {"run": "sys", "responses": 1, "words": 13, "passages": 1, "sentences": 3, "cited": 2}
    ]
    assert run("responses").splitlines()[-1].split() == ["sys", "1", "13", "1", "3", "2"]
    project = open_project(project.path, read_only=True)
    assert project.rows("SELECT query_id, text FROM queries") == [("q1", "why is the sky blue")]
    assert citations(project, "sys/q1/1") == [("doc-a", "doc-b"), (), ("doc-c",)]


def test_leaderboard_shows_lengths_of_responses(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "d1"): 4, ("A?", "d2"): 5}, {"r": {"q1": ["d1"]}})
    assert leaderboard(project, "nDCG@10").lengths == {}
    import_responses(project, jsonl(plain("q1", "long", "text of d1 and more"), plain("q1", "short", "text of d2")))
    board = leaderboard(project, "nDCG@10")
    assert {run: length.words for run, length in board.lengths.items()} == {"r": 3.0, "long": 5.0, "short": 3.0}
    assert board.scores["short"] > board.scores["r"] > board.scores["long"] == 0.0
    assert board.length_correlation() == pytest.approx(spearmanr([1.0, 0.5, 0.0], [3, 3, 5]).statistic)
