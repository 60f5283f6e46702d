"""Every file format: round trips, real files, and refusal of invalid files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench import formats
from exam_workbench.errors import FileError, Problem, Report
from exam_workbench.formats import _source as source
from exam_workbench.formats._source import open_lines
from exam_workbench.formats.graded_files import read_graded, write_graded
from exam_workbench.formats.passage_files import read_passages
from exam_workbench.formats.query_files import read_queries, write_queries
from exam_workbench.formats.question_bank_files import write_bank, write_bank_csv
from exam_workbench.formats.trec_files import write_qrels
from exam_workbench.types import (
    KINDS,
    GradeColumns,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Query,
    Question,
    Ranked,
    Subtopic,
)
from tests.made.projects import examples
from tests.made.refusals import check_error, check_problem, coded, mentions, refusal

few = settings(max_examples=examples(30))

words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
ids = words.map(lambda word: "i" + word)
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters, min_size=1, max_size=30).filter(lambda text: not text.isspace())
scores = st.floats(allow_nan=False, allow_infinity=False)


def source_of(text: str, name: str = "file") -> formats.Source:
    return formats.Source(name, data=text.encode())


def read_whole(read: Callable[[formats.Source, Report], Any], file: formats.Source) -> Any:
    """Return the content of a file, of which nothing may be refused."""
    report = Report()
    found = read(file, report)
    found = list(found) if isinstance(found, Iterator) else found
    assert [str(problem) for problem in report.problems] == []
    return found


# Round trips


def test_qrels_are_written_and_queries_and_banks_read_in_all_formats() -> None:
    out = io.StringIO()
    write_qrels([("q1", "p1", 3), ("q1", "p2", 0)], out)
    assert out.getvalue() == "q1 0 p1 3\nq1 0 p2 0\n"
    expected = [Query("1", "one"), Query("2", "two", "more")]
    tsv = "query_id\ttext\n1\tone\n2\ttwo\tmore\n"
    jsonl = '{"qid": 1, "title": "one"}\n\n{"topic_id": "2", "query": "two", "narrative": "more"}\n'
    assert read_queries(source_of(tsv), Report()) == expected
    assert read_queries(source_of(jsonl), Report()) == expected
    assert read_queries(source_of('{\n"1": "one",\n"2": "two"}'), Report()) == [Query("1", "one"), Query("2", "two")]
    assert read_queries(source_of('{\n"qid": 1,\n"text": "one"\n}'), Report()) == expected[:1]
    (response,) = formats.read_responses([source_of('{\n"qid": "q",\n"run": "r",\n"text": "t"}')], Report())
    assert (response.run, response.query_id, response.text) == ("r", "q", "t")
    for blank in (" ", "\n"):
        text = '{ "query_id": "q", "text": "Why?", "query_text": "reasons"}\n'.replace(" ", blank)
        bank = formats.read_bank(source_of(text), Report())
        assert bank.queries == [Query("q", "reasons")]
        assert bank.questions == [Question("q/5d8a995a6fa7", "q", "Why?")]
    for text in ('q\t"A?"\r\n', 'query_id\ttext\tkind\r\nq\t"A?"\tnugget\r\n'):
        report = Report()
        assert [question.text for question in formats.read_bank(source_of(text), report).questions] == ['"A?"']
        assert "quotation-marks-kept" in [note.code for note in report.notes]
    text = 'query_id;text;weight;active;choices\r\nq1;"two\r\nlines; and ""quotes""";-1;no;a | b\r\nq1;\'=1+1;;;\r\n'
    first, second = read_whole(formats.read_bank, source_of(text, "bank.csv")).questions
    assert first.text == 'two\r\nlines; and "quotes"'
    assert (first.weight, first.active, first.choices) == (-1.0, False, ("a", "b"))
    assert (second.text, second.weight, second.active) == ("=1+1", 1.0, True)


subtopics = st.lists(st.builds(Subtopic, ids, texts), max_size=2).map(tuple)
queries = st.builds(Query, ids, texts, st.none() | texts, subtopics)


@few
@given(st.lists(queries, min_size=1, unique_by=lambda query: query.query_id))
def test_queries_round_trip(written: list[Query]) -> None:
    out = io.StringIO()
    write_queries(written, out)
    assert read_whole(read_queries, source_of(out.getvalue())) == written


optional = st.none() | texts
questions = st.builds(
    Question,
    ids,
    ids,
    texts | texts.map(lambda text: "=" + text) | texts.map(lambda text: "'-" + text),
    st.sampled_from(KINDS),
    st.floats(-10, 10),
    st.booleans(),
    st.none() | ids,
    optional,
    st.lists(texts, max_size=3).map(tuple),
    optional,
)
banks = st.lists(questions, min_size=1, max_size=5, unique_by=lambda question: question.question_id)


@few
@given(banks)
def test_bank_round_trips_in_jsonl_and_csv_without_formulas(written: list[Question]) -> None:
    for write in (write_bank, write_bank_csv):
        out = io.StringIO(newline="")
        write(written, out)
        assert read_whole(formats.read_bank, source_of(out.getvalue())).questions == written
    for row in csv.DictReader(io.StringIO(out.getvalue(), newline="")):
        weight = row.pop("weight")
        float(weight)
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in row.values())


ours = st.builds(
    GraderSpec,
    texts,
    st.sampled_from(["self-rating", "answer", "embedding", "human"]),
    texts,
    st.text(max_size=3).filter(str.isprintable),
    st.just("a1"),
    st.dictionaries(words, st.integers(0, 9) | texts | st.booleans(), max_size=2),
    st.sampled_from([KINDS, ("question",), ("nugget",)]),
    st.sampled_from([5, 1]),
)
direct = st.builds(
    GraderSpec, texts, st.just("direct"), texts, st.just("Thomas"), max_rating=st.sampled_from([1, 2, 3])
)


def foreign(kind: str, rated: bool) -> GraderSpec:
    """Return the grader that a graded file of another tool describes."""
    info = {"prompt_class": "Prompt", "is_self_rated": rated}
    return GraderSpec(
        "flan · Prompt",
        "self-rating" if rated else "answer",
        "google/flan",
        "Prompt",
        "",
        {"llm_options": {}, "prompt_info": info},
        ("nugget",) if kind == "nugget" else ("question",),
        5 if rated else 1,
    )


@st.composite
def graded_queries(draw: st.DrawFn) -> GradedQuery:
    """Return a graded query in file order: by grader, then by passage."""
    query = draw(queries)
    passages = draw(st.lists(st.builds(Passage, ids, texts), min_size=1, max_size=3, unique_by=lambda p: p.passage_id))
    named = [passage.passage_id for passage in passages]
    bank = draw(st.lists(questions, min_size=1, max_size=4, unique_by=lambda q: q.question_id))
    specs = draw(st.lists(ours, max_size=2, unique_by=lambda spec: spec.fingerprint))
    specs += draw(st.lists(st.sampled_from([foreign("question", True), foreign("question", False)]), unique_by=str))
    grades = [
        GradeColumns(
            spec,
            [question.question_id for _ in named for question in bank],
            [passage for passage in named for _ in bank],
            [draw(st.none() | st.integers(0, spec.max_rating)) for _ in named for _ in bank],
            [draw(optional) for _ in named for _ in bank],
        )
        for spec in specs
    ]
    for spec in draw(st.lists(direct, max_size=2, unique_by=lambda spec: spec.fingerprint)):
        ratings = [draw(st.none() | st.integers(0, spec.max_rating)) for _ in named]
        answers = [draw(optional) for _ in named]
        grades.append(GradeColumns(spec, [query.query_id] * len(named), named, ratings, answers))
    judgments = [
        Judgment(query.query_id, passage, draw(st.integers(-1, 3))) for passage in named if draw(st.booleans())
    ]
    rankings = {
        run: [Ranked(query.query_id, passage, rank, draw(scores)) for rank, passage in enumerate(named, 1)]
        for run in draw(st.lists(ids, max_size=2))
    }
    return GradedQuery(query, passages, judgments, rankings, bank, grades)


@few
@given(st.lists(graded_queries(), min_size=1, max_size=2))
def test_graded_round_trip(written: list[GradedQuery]) -> None:
    out, again = io.BytesIO(), io.BytesIO()
    write_graded(written, out)
    write_graded(written, again)
    assert read_whole(read_graded, formats.Source("graded.jsonl.gz", data=out.getvalue())) == written
    assert out.getvalue() == again.getvalue()


def test_null_ratings_count_as_failed_and_not_as_zero() -> None:
    spec = GraderSpec("mine", "self-rating", "m", "P")
    bank = [Question("q1/a", "q1", None), Question("q1/b", "q1", None)]
    grades = GradeColumns(spec, ["q1/a", "q1/b"], ["p", "p"], [None, 0], [None, "no"])
    written = GradedQuery(Query("q1", "why"), [Passage("p", "text")], questions=bank, grades=[grades])
    out = io.BytesIO()
    write_graded([written], out)
    entry = json.loads(gzip.decompress(out.getvalue()))[1][0]["exam_grades"][0]
    assert entry["self_ratings"] == [{"question_id": "q1/b", "self_rating": 0}]
    assert entry["wrongAnswered"] == ["q1/b"] and entry["answers"] == [["q1/b", "no"]]
    assert list(read_graded(formats.Source("g.gz", data=out.getvalue()), Report())) == [written]
    ratings = [{"question_id": "q/a", "self_rating": None}, {"question_id": "q/b", "self_rating": 0}]
    (query,) = read_whole(read_graded, source_of(graded_line(self_ratings=ratings)))
    assert query.grades[0].ratings == [[None, 0]]


@few
@given(st.dictionaries(ids, st.tuples(st.floats(-1, 1), st.none() | st.floats(0, 1)), min_size=1))
def test_leaderboard_round_trip(rows: dict[str, tuple[float, float | None]]) -> None:
    out = io.StringIO()
    formats.write_board_tsv("nDCG@10", [(None, run, score, error, 25) for run, (score, error) in rows.items()], out)
    (board,) = read_whole(formats.read_boards, source_of(out.getvalue(), "x/board.tsv"))
    assert (board.name, board.measure) == ("board", "nDCG@10")
    assert {row.run: (row.score, row.std_error) for row in board.rows} == rows


# Cases that round trips do not cover


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_line_endings_and_compression_do_not_matter(encoding: str) -> None:
    data = "q1\twas ist Köln?\r\nq2\tβ\r\n".encode(encoding)
    expected = [Query("q1", "was ist Köln?"), Query("q2", "β")]
    two_members = gzip.compress(data[:9]) + gzip.compress(data[9:]) + b"\0" * 8
    for file in (formats.Source("q.tsv", data=data), formats.Source("q.tsv", data=two_members)):
        assert read_whole(read_queries, file) == expected


@pytest.mark.parametrize("read", [read_queries, formats.read_run_lines, read_passages])
def test_lines_that_end_in_carriage_returns_alone_are_refused(read: Callable[..., Any]) -> None:
    report = Report()
    list(read(formats.Source("old", data=b"q1\tQ0 d1 1 9 t\rq2\tQ0 d2 2 8 t\r"), report))
    assert [problem.code for problem in report.problems] == ["old-line-ends"]


def test_repeated_query_ids_with_texts_are_a_bank() -> None:
    """Read as queries, all but the first line of an id would be refused as duplicates."""
    text = "q1\tWhat is it?\nq1\tWhy is it so?\n\nq2\tWho says so?\n"
    for name, data in (("asked.tsv", text), ("asked.txt", "query_id\tquestion\n" + text)):
        assert formats.detect_kind(source_of(data, name)) == "bank"
        questions = read_whole(formats.read_bank, source_of(data, name)).questions
        assert [(one.query_id, one.text) for one in questions] == [
            ("q1", "What is it?"), ("q1", "Why is it so?"), ("q2", "Who says so?"),
        ]  # fmt: skip
    assert formats.detect_kind(source_of("q1\tWhat is it?\nq2\tWhy is it so?\n", "asked.tsv")) == "queries"
    report = Report()
    formats.read_bank(source_of("q1\tWhat is it?\nq1\tWhy\tnot\nq1\t \n"), report)
    assert [problem.line for problem in report.problems] == [2, 3]
    items: list[dict[str, Any]] = [
        {
            "query_id": "q",
            "question_id": "q/1",
            "question_text": "A?",
            "gold_answer": "b",
            "choices": {"b": "x", "c": "y"},
        },
        {"query_id": "q", "nugget_id": "q/2", "nugget_text": "fact", "facet_id": "f2"},
    ]
    line = {"query_id": "q", "facet_id": "f1", "query_text": "Title / Facet / more", "items": items}
    other = {"query_id": "q", "facet_id": "f2", "query_text": "Title / Two", "items": []}
    bank = formats.read_bank(source_of(json.dumps(line) + "\n" + json.dumps(other)), Report())
    assert bank.queries == [Query("q", "Title", None, (Subtopic("f1", "Facet / more"), Subtopic("f2", "Two")))]
    assert bank.questions == [
        Question("q/1", "q", "A?", "choice", subtopic_id="f1", answer_key="x", choices=("x", "y")),
        Question("q/2", "q", "fact", "nugget", subtopic_id="f2"),
    ]


def test_leaderboards_are_read_from_json_and_written_as_latex() -> None:
    out = io.StringIO()
    formats.write_board_latex("P@5", [(1, "a_b&c", 0.5, 0.01, 54), (2, "d", 0.25, None, None)], out)
    assert "1 & a\\_b\\&c & $0.500 \\pm 0.010$ & 54 \\\\\n2 & d & $0.250$ &  \\\\" in out.getvalue()
    file = source_of('{"a": 1, "b": 0.5}', "s.json")
    assert formats.detect_kind(file) == "leaderboard"
    (one,) = formats.read_boards(file, Report())
    assert [(row.run, row.score) for row in one.rows] == [("a", 1.0), ("b", 0.5)]
    boards = formats.read_boards(source_of('{"AP": {"a": 1}, "RR": {"a": 0.5}}', "s.json"), Report())
    assert [(board.name, board.measure) for board in boards] == [("s AP", "AP"), ("s RR", "RR")]


# Real files


@pytest.mark.parametrize(
    ("kind", "file", "count"),
    [
        ("queries", "dl20/queries.tsv", 200), ("queries", "dl20/dl20-queries.json", 54),
        ("queries", "dl23-llmjudge/queries.json", 25), ("queries", "rag/rag25-topics-dev.tsv", 22),
        ("passages", "dl20/passages.jsonl.gz", 21_581), ("qrels", "dl20/qrels-nist.txt", 11_386),
        ("qrels", "dl20/rubric-qrels/HELM.qrel", 16_101),
        ("qrels", "dl23-llmjudge/reference/eval-rated.qrels", 7_263), ("qrels", "cranfield/cranqrel.trec.txt", 1_837),
        ("qrels", "trec-eval/qrels.test", 3_681), ("graded", "dl20/direct-grades-umbrela.jsonl.gz", 11_385),
        ("leaderboard", "dl20/published/official-results.tsv", 13),
        ("leaderboard", "car-y3/leaderboard-car-genq-self-rating-4.tsv", 4),
        ("leaderboard", "car-y3/qrel-leaderboard-car-genq-self-rating.tsv", 7),
        ("leaderboard", "dl23-llmjudge/reference/eval-cover-min1.tsv", 1),
        ("leaderboard", "dl23-llmjudge/reference/scores-ndcg10.json", 1),
    ],
)  # fmt: skip
def test_real_files_are_detected_and_read(shared_data: Path, kind: str, file: str, count: int) -> None:
    source = formats.Source.from_path(shared_data / file)
    assert formats.detect_kind(source) == kind
    assert len(read_whole(formats.KINDS_OF_FILE[kind].read, source)) == count


@pytest.mark.parametrize(
    ("file", "kind", "queries", "subtopics", "questions"),
    [
        ("dl20/dl20-questions.jsonl.gz", "question", 54, 0, 540),
        ("dl20/dl20-nuggets.jsonl.gz", "nugget", 54, 0, 540),
        ("car-y3/car-questions.jsonl.gz", "question", 132, 726, 8_551),
        ("car-y3/car-nuggets.jsonl.gz", "nugget", 132, 726, 3_180),
    ],
)
def test_real_banks_load(shared_data: Path, file: str, kind: str, queries: int, subtopics: int, questions: int) -> None:
    source = formats.Source.from_path(shared_data / file)
    assert formats.detect_kind(source) == "bank"
    bank = read_whole(formats.read_bank, source)
    assert (len(bank.queries), len(bank.questions)) == (queries, questions)
    assert sum(len(query.subtopics) for query in bank.queries) == subtopics
    assert {question.kind for question in bank.questions} == {kind}
    assert not any(" / " in query.text for query in bank.queries)


def test_real_graded_file_round_trips(shared_data: Path) -> None:
    """A few queries suffice here; another test imports the whole file."""
    path = shared_data / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz"
    report, out = Report(), io.BytesIO()
    some = list(islice(read_graded(formats.Source.from_path(path), report), examples(2)))
    assert not report.problems
    write_graded(some, out)
    assert list(read_graded(formats.Source("again.gz", data=out.getvalue()), Report())) == some
    with gzip.open(path) as original:
        first = json.loads(original.readline())
    written = json.loads(gzip.decompress(out.getvalue()).split(b"\n", 1)[0])
    for record in (first, written):
        for passage in record[1]:
            passage["paragraph_data"]["rankings"].sort(key=lambda ranked: ranked["method"])
    assert written == first


def test_real_leaderboards_are_read_with_errors_ranks_and_duplicates(shared_data: Path) -> None:
    report = Report()
    folder = shared_data / "dl20" / "published"
    exam, normalised, original = formats.read_boards(
        formats.Source.from_path(folder / "EXAM-Cover-leaderboard-dl20-subqueries-self-rating-4.tsv"), report
    )
    assert len(exam.rows) == len(normalised.rows) == len(original.rows) == 59
    row = exam.rows[0]
    assert (row.run, row.score, row.std_error) == ("p_d2q_bm25_duo", 0.756, 0.024)
    assert (original.rows[0].score, original.rows[0].rank) == (-6.0, 6.0)
    official = {
        board.measure: board
        for board in formats.read_boards(formats.Source.from_path(folder / "official-results.tsv"), report)
    }
    ndcg = {row.run: row.score for row in official["ndcg_cut_10"].rows}
    assert (len(ndcg), ndcg["rr-pass-roberta"]) == (123, 0.7169)
    assert not report.problems
    assert any(note.code == "text-column" and mentions(note.reason, "summary") for note in report.notes)
    assert any(note.code == "duplicate-score" and mentions(note.reason, "59") for note in report.notes)


def test_correlation_tables_and_other_files_are_not_detected_as_data(shared_data: Path) -> None:
    for file in (
        "dl20/published/rubric-correlation-59-systems.tsv",
        "dl23-llmjudge/reference/pp-qrel-analysis15-te908.tsv",
        "dl23-llmjudge/reference/ia-rated-rel2.tex",
        "trec-eval/out.test",
        "trec-eval/LICENSE.md",
        "README.md",
    ):
        assert formats.detect_kind(formats.Source.from_path(shared_data / file)) is None
    for file in ("results.test", "results.trunc"):
        assert formats.detect_kind(formats.Source.from_path(shared_data / "trec-eval" / file)) == "runs"
    for file in ("qrels.123", "qrels.rel_level"):
        assert formats.detect_kind(formats.Source.from_path(shared_data / "trec-eval" / file)) == "qrels"


def test_leaderboard_of_original_ranks_round_trips() -> None:
    rubric = b"method\texam\torig_map_rank\nr1\t0.1\t1\nr2\t0.2\t2\n"
    of_ranks = formats.read_boards(formats.Source("rubric.tsv", data=rubric), Report())[1]
    out = io.StringIO()
    formats.write_board_tsv(
        of_ranks.measure, ((place, row.run, row.score, None, 0) for place, row in enumerate(of_ranks.rows, 1)), out
    )
    (again,) = formats.read_boards(formats.Source("again.tsv", data=out.getvalue().encode()), Report())
    assert {row.run: row.score for row in again.rows} == {"r1": -1.0, "r2": -2.0}


def test_query_may_have_several_correct_answers(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(
        '{"query_id": "q1", "text": "who?", "answers": ["Ada", "Ada Lovelace", "Ada"]}\n'
        '{"query_id": "q2", "text": "when?", "answer": "1843"}\n'
        '{"query_id": "q3", "text": "where?", "answers": ["London", 3]}\n'
    )
    report = Report()
    read = read_queries(formats.Source.from_path(file), report)
    assert [query.answers for query in read] == [("Ada", "Ada Lovelace"), ("1843",)]
    assert [problem.line for problem in report.problems] == [3]
    out = io.StringIO()
    write_queries(read, out)
    assert '"answers":["Ada","Ada Lovelace"]' in out.getvalue() and '"answer":"1843"' in out.getvalue()


def test_unicode_spaces_in_run_tags_are_normalized() -> None:
    report = Report()
    source = formats.Source("some.run", data="1 0 6 3 5 o\u3000\n1 0 7 4 4 a\u3000b\n".encode())
    found = list(formats.read_run_lines(source, report))
    assert [line.tag for line in found] == ["o", "a_b"] and not report.count


def refusals(kind: str, data: bytes | str, name: str = "file") -> list[Problem]:
    """Read invalid content and return all problems."""
    report = Report()
    source = formats.Source(name, data=data.encode() if isinstance(data, str) else data)
    if kind == "responses":
        formats.KINDS_OF_FILE[kind].read([source], report)
    else:
        read: Any = formats.KINDS_OF_FILE[kind].read(source, report)
        if kind in ("passages", "graded", "runs"):
            list(read)
    assert report.count == len(report.problems)
    return report.problems


def exam_item(question: str) -> str:
    return json.dumps({"question": question, "choices": ["A) this", "B) that"], "correct_answer": "A"})


def graded_line(**changes: object) -> str:
    entry = {
        "correctAnswered": ["q/a"],
        "wrongAnswered": [],
        "answers": [["q/a", "4"]],
        "llm": "m",
        "llm_options": {},
        "prompt_info": {"prompt_class": "P", "is_self_rated": True},
        "self_ratings": [{"question_id": "q/a", "self_rating": 4}],
        "prompt_type": "question",
    }
    entry.update(changes)
    passage = {"paragraph_id": "p", "text": "t", "paragraph_data": {}, "exam_grades": [entry]}
    return json.dumps(["q", [passage]])


GOOD_RUN = "q Q0 p 1 2.0 tagged\nq Q0 r 2 1.0 tagged\n"
OURS = '{"query_id": "q", "question_id": "a", "text": "A?"'


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("runs", GOOD_RUN + "q Q0 x 3 0.5", ("file:3 cut-off-file", "5", "6", "Q0")),
        ("runs", GOOD_RUN + "q Q0 x 3 0.5 tag", ("file:3 cut-off-file",)),
        ("runs", "q Q0\n" + GOOD_RUN, ("file:1 wrong-number-of-columns", "2", "6", "Q0")),
        ("runs", GOOD_RUN + "q Q0 x 3 nan tagged\n", ("file:3 not-a-number", "nan")),
        ("runs", GOOD_RUN + "q Q0 x 3 1e999 tagged\n", ("file:3 not-a-number", "1e999")),
        ("runs", GOOD_RUN + "q Q0 x 3 high tagged\n", ("file:3 not-a-number", "high")),
        ("runs", GOOD_RUN + "q Q0 x 3 １ tagged\n", ("file:3 not-a-number", "１")),
        ("leaderboard", "run\tAP\na\t1_000\n", ("file:2 not-a-number", "1_000", "AP")),
        ("bank", "query_id,text,weight\nq,A?,1_0\n", ("file:2 not-a-number", "1_0")),
        ("bank", '{"q": {"a": {"text": "A?", "relevance": "1_0"}}}', ("file weight-out-of-range", "1_0")),
        (
            "runs",
            GOOD_RUN + f"q Q0 {'x' * 513} 3 0.1 tagged\n",
            ("file:3 invalid-id", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "512"),
        ),
        ("runs", "", ("file nothing-found",)),
        ("qrels", "q 0 p 1\nq 0 r 1 extra\n", ("file:2 wrong-number-of-columns", "5", "4", "0")),
        ("qrels", "q 0 p 1\nq 0 r high\n", ("file:2 invalid-judgment", "high")),
        ("qrels", "q 0 p 1\nq 0 r 1\nq 0 p 2\n", ("file:3 contradicting-lines", "2", "1")),
        ("qrels", "q 0 p 1\nq 0 r", ("file:2 cut-off-file", "3", "4", "0")),
        ("qrels", f"q 0 p {'9' * 5000}\n", ("file:1 invalid-judgment",)),
        ("qrels", "q 0 p 99999999999999999999\n", ("file:1 invalid-judgment", "99999999999999999999", "32767")),
        ("qrels", "\n\n", ("file nothing-found",)),
        ("queries", "q1\tone\nq2\n", ("file:2 wrong-number-of-columns", "1")),
        ("queries", "q1\tone\nq1\ttwo\n", ("file:2 duplicate-query", "q1", "1")),
        ("queries", '{"qid": "1", "text": "a"}\n{"qid": "2"}\n', ("file:2 value-missing", "query_text", "topic_title")),
        ("queries", '{"1": 5}', ("file:1 not-a-text", "1")),
        ("queries", '[{"qid": "1", "text": "a"}]', ("file:1 not-a-list",)),
        ("queries", "qid\ttext\ttext\n1\ta\tb\n", ("file:1 duplicate-name", "text")),
        ("passages", '[\n{"docid": "1", "text": "a"}\n]\n', ("file:1 not-a-table",)),
        ("leaderboard", '[\n{"run": "a", "AP": 1}\n]\n', ("file:1 not-a-table",)),
        ("exam", f"[{exam_item('Which?')},\n {{}}]\n", ("file:2 value-missing",)),
        (
            "passages",
            '{"docid": "a", "text": "t"}\n{"docid": "\\u0007", "text": "t"}\n',
            ("file:2 invalid-id", "\\x07"),
        ),
        ("passages", '{"docid": "a", "text": "x\\u0000y"}\n', ("file:1 nul-byte",)),
        ("passages", "a\tt\n \tt\n", ("file:2 empty-id",)),
        ("passages", '{"docid": "a", "text": "t"}\n[1]\n', ("file:2 not-an-object",)),
        ("bank", OURS + "}\n" + OURS + "}\n", ("file:2 duplicate-question", "1")),
        ("bank", OURS + ', "weight": "heavy"}\n', ("file:1 not-a-number", "heavy")),
        ("bank", OURS + ', "kind": "riddle"}\n', ("file:1 unknown-kind", "riddle")),
        ("bank", OURS + ', "active": 1}\n', ("file:1 not-a-flag", "1")),
        ("bank", '{"query_id": "q", "weight": 1}\n', ("file:1 value-missing", "query_id", "question_text")),
        ("bank", "query_id,text,weight\nq,A?,inf\n", ("file:2 weight-out-of-range", "-1,000,000", "1,000,000")),
        ("bank", 'query_id,text\nq,"two\nlines"\nq\n', ("file:4 wrong-number-of-columns", "1", "2")),
        ("bank", "some words\n", ("file:1 header-missing",)),
        ("leaderboard", "run\tAP\na\t0.5\nb\t0.4\nc\thigh\n", ("file:4 not-a-number", "high", "AP")),
        ("leaderboard", '{"a": 1,\n"b": }', ("file:2 invalid-json", "6")),
        ("leaderboard", '{"AP": {"a": 1, "a": 0}}', ("file:1 duplicate-name", "a")),
        ("leaderboard", "run\tAP\tAP\na\t1\t0\n", ("file:1 duplicate-name", "AP")),
        ("leaderboard", "\nsystem\trun\tAP\na\tb\t0\n", ("file:2 ambiguous-columns", "system", "run")),
        ("qrels", "qid,docid,grade,label\nq,d,1,2\n", ("file:1 ambiguous-columns", "grade", "label")),
        ("runs", "qid,docid,rank,score,run,tag\nq,d,1,.5,a,b\n", ("file:1 ambiguous-columns", "run", "tag")),
        ("leaderboard", "just\n", ("file:1 not-a-table",)),
        ("leaderboard", "num_q\tall\t3\n", ("file:1 file-of-another-kind",)),
    ],
)
def test_invalid_file_gives_one_problem_with_line_and_values(kind: str, content: str, message: tuple[str, ...]) -> None:
    (problem,) = refusals(kind, content)
    check_problem(problem, *message)


@pytest.mark.parametrize("kind", ["queries", "passages", "bank"])
def test_reading_continues_after_broken_json_line(kind: str) -> None:
    good, broken = '{"query_id": "%s", "docid": "%s", "question_id": "%s", "text": "t"}\n', '{"query_id": "b", "te\n'
    text = good % ("a", "a", "a") + broken + good % ("c", "c", "c") + broken
    assert [coded(problem) for problem in refusals(kind, text)] == ["file:2 invalid-json", "file:4 invalid-json"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"self_ratings": [{"question_id": "q/a", "self_rating": 6}]}, ("rating-out-of-range", "6", "q/a")),
        ({"self_ratings": [{"question_id": "q/a", "self_rating": -1}]}, ("rating-out-of-range", "-1", "q/a")),
        ({"self_ratings": [{"question_id": "q/a", "self_rating": 2.0}]}, ("rating-out-of-range", "2.0", "q/a")),
        ({"self_ratings": [{"question_id": "q/a", "self_rating": True}]}, ("rating-out-of-range", "q/a")),
        ({"self_ratings": [{"question_id": "q/a"}]}, ("value-missing", "self_rating")),
        ({"self_ratings": None}, ("self-ratings-missing",)),
        ({"answers": [["q/a", 4]]}, ("not-a-text",)),
        ({"llm": None}, ("not-a-text",)),
    ],
)
def test_invalid_grades_are_refused_with_line_number(changes: dict[str, object], reason: tuple[str, ...]) -> None:
    content = graded_line() + "\n" + graded_line(**changes) + "\n"
    (problem,) = refusals("graded", content)
    code, *values = reason
    check_problem(problem, f"file:2 {code}", "passage p", *values)


@pytest.mark.parametrize("content", ["{}", "[]", '["q"]', '["q", {}]', '["q", [1]]', '["", []]', '[["q"], []]'])
def test_graded_lines_in_wrong_format_are_refused(content: str) -> None:
    assert [problem.line for problem in refusals("graded", content)] == [1]


def member(content: bytes, flags: int, more: bytes = b"", checked: bool = True) -> bytes:
    """Return a gzip member with the given flags and extra header fields, and a checksum if flagged."""
    plain = gzip.compress(content)
    header = plain[:3] + bytes([flags]) + plain[4:10] + more
    checksum = zlib.crc32(header) & 0xFFFF ^ (not checked)
    return header + (checksum.to_bytes(2, "little") if flags & 2 else b"") + plain[10:]


@pytest.mark.parametrize("chunk", [1, 3, 16, 1 << 14])
def test_gzip_headers_are_read_across_chunk_boundaries(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PACKED_CHUNK", chunk)
    extra, name = b"\x04\x00abcd", b"a name\0"
    members = [member(b"q\ttext\n", 0), member(b"r\ttext\n", 2), member(b"", 8, name), member(b"s\ttext\n", 6, extra)]
    good = [b"".join(members), b"".join(members[::-1]) + b"\0" * 5, member(b"q\ttext\n", 9, name)]
    for data in (*good, *(member(b"q\ttext\n", flags, extra + name) for flags in (12, 14))):
        assert refusals("queries", data) == []
    for damaged in (member(b"q\ttext\n", 0x20), member(b"q\ttext\n", 2, checked=False), members[0] + b"garbage"):
        assert [problem.code for problem in refusals("queries", damaged)] == ["damaged-gzip"]


TWO_LINES = {
    "runs": GOOD_RUN,
    "responses": '{"query_id": "q", "run": "a", "text": "t"}\n{"query_id": "r", "run": "a", "text": "t"}\n',
    "qrels": "q 0 p 1\nq 0 r 1\n",
    "labels": "q 0 p 1\nq 0 r 1\n",
    "queries": "q\ttext\nr\ttext\n",
    "passages": "p\ttext\nr\ttext\n",
    "bank": OURS + "}\n" + OURS.replace('"a"', '"b"') + "}\n",
    "graded": graded_line() + "\n" + graded_line() + "\n",
    "leaderboard": "run\tAP\na\t0.5\n",
    "answers": "".join(f'{{"query_id": "q{n}", "run": "r", "k": 1, "draw": 1, "answer": "A"}}\n' for n in (1, 2)),
    "answer-verdicts": "".join(f'{{"query_id": "q{n}", "answer": "A", "acceptable": true}}\n' for n in (1, 2)),
    "responses-matrix": "student,i1\na,1\n",
    "students": "student,size\na,7\n",
    "exam": f"[{exam_item('Which is it?')},\n {exam_item('Which is next?')}]\n",
    "lm-eval": "".join(f'{{"doc_id": {n}, "doc": {{}}, "resps": [], "acc_norm": 1}}\n' for n in (1, 2)),
}
"""A valid file of each kind."""


@pytest.mark.parametrize("kind", sorted(formats.KINDS_OF_FILE))
@pytest.mark.parametrize(
    ("name", "spoil", "code"),
    [
        ("f.gz", lambda good: good, "not-gzip"),
        ("f", lambda good: gzip.compress(good)[:-9], "cut-off-gzip"),
        ("f", lambda good: gzip.compress(good)[:-8] + b"\0" * 8, "damaged-gzip"),
        ("f", lambda good: good + b"\0\n", "nul-byte"),
        ("f", lambda good: b"PK\x03\x04" + good, "file-of-another-kind"),
        ("f", lambda good: b"\xff\xfe\x00\xd8" + good, "not-utf16"),
    ],
)
def test_damaged_files_are_refused(kind: str, name: str, spoil: Callable[[bytes], bytes], code: str) -> None:
    (problem,) = refusals(kind, spoil(TWO_LINES[kind].encode()), name)
    assert (problem.file, problem.code) == (name, code) and problem.line is not None


@pytest.mark.parametrize("kind", sorted(formats.KINDS_OF_FILE))
def test_invalid_utf8_is_reported_with_line_and_byte(kind: str) -> None:
    first, second = TWO_LINES[kind].encode().splitlines()
    data = first + b"\n" + second[:2] + b"\xff" + second[2:] + b"\n" + second + b"\n"
    (problem,) = refusals(kind, data)
    check_problem(problem, "file:2 not-utf8", "0xff", "3")


def test_only_overlong_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_LINE", "1000")
    data = b"short\n" + b"x" * 5_000_000 + b"\nshort again\n"
    for packed in (data, gzip.compress(data)):
        report = Report()
        lines = list(open_lines(formats.Source("f", data=packed), report))
        assert lines == [(1, "short"), (3, "short again")]
        (problem,) = report.problems
        check_problem(problem, "f:2 limit-exceeded", "1,000", "EXAM_LIMIT_LINE")


def test_gzip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.formats._source.RATIO_AFTER", 1 << 20)
    monkeypatch.setenv("EXAM_LIMIT_RATIO", "100")
    report = Report()
    bomb = gzip.compress(b"0" * (8 << 20))
    assert list(open_lines(formats.Source("f", data=bomb), report)) == []
    (problem,) = report.problems
    check_problem(problem, "f:1 limit-exceeded", "100", "EXAM_LIMIT_RATIO")


def test_report_counts_all_problems_and_keeps_100() -> None:
    report = Report()
    for line in range(1, 251):
        report.refuse("f", line, "bad", "bad")
        report.remark("f", line, "odd", "odd")
    with pytest.raises(FileError) as error:
        report.raise_if_refused("Fix the file.")
    assert (len(error.value.problems), error.value.more) == (100, 150)
    check_error(error.value, "bad", "f:1", "249", "Fix the file.")
    (note,) = report.notes
    check_problem(note, "f:1 odd", "250")
    report = Report()
    report.remark("f", 1, "odd", "odd")
    report.raise_if_refused()


def test_ids_with_whitespace_and_mostly_blank_files_are_refused() -> None:
    with refusal("id-with-white-space", "a b"):
        write_qrels([("a b", "p", 1)], io.StringIO())
    assert formats.detect_kind(formats.Source("some.tsv", data=b"\n" * 65_530 + b"q1\tthe first query\n" * 9)) is None


@pytest.mark.parametrize(
    ("last", "guess"), [("no tab here", None), ("q4\tmoon", "queries")], ids=["without cells", "with cells"]
)
def test_table_kind_depends_on_last_line(last: str, guess: str | None) -> None:
    data = f"q1\t1\nq2\t2\nq3\t3\n{last}\n".encode()
    assert formats.detect_kind(formats.Source("some.tsv", data=data)) == guess
