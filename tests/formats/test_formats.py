"""Every file format reads back what it wrote, and the real files read as they should."""

from __future__ import annotations

import csv
import gzip
import io
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.errors import Report
from exam_workbench.formats import (
    KINDS_OF_FILE,
    Source,
    detect_kind,
    name_runs,
    read_bank,
    read_boards,
    read_run_lines,
    write_board_latex,
    write_board_tsv,
)
from exam_workbench.formats.graded_files import read_graded, write_graded
from exam_workbench.formats.passage_files import read_passages, write_passages
from exam_workbench.formats.query_files import read_queries, write_queries
from exam_workbench.formats.question_bank_files import write_bank, write_bank_csv
from exam_workbench.formats.trec_files import read_qrels, write_qrels
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
from tests.made.refusals import mentions

few = settings(max_examples=examples(30))

words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
ids = words.map(lambda word: "i" + word)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
texts = texts.filter(lambda text: not text.isspace())
scores = st.floats(allow_nan=False, allow_infinity=False)


def source_of(text: str, name: str = "file") -> Source:
    return Source(name, data=text.encode())


def clean(report: Report) -> None:
    assert [str(problem) for problem in report.problems] == []


# Round trips


@few
@given(st.dictionaries(st.tuples(ids, ids), st.integers(-5, 5), min_size=1))
def test_qrels_round_trip(values: dict[tuple[str, str], int]) -> None:
    out, report = io.StringIO(), Report()
    write_qrels([(query, passage, value) for (query, passage), value in values.items()], out)
    read = read_qrels(source_of(out.getvalue()), report)
    clean(report)
    assert read == [Judgment(query, passage, value) for (query, passage), value in values.items()]


def test_qrels_have_single_spaces_and_no_comments() -> None:
    out = io.StringIO()
    write_qrels([("q1", "p1", 3), ("q1", "p2", 0)], out)
    assert out.getvalue() == "q1 0 p1 3\nq1 0 p2 0\n"


subtopics = st.lists(st.builds(Subtopic, ids, texts), max_size=2).map(tuple)
queries = st.builds(Query, ids, texts, st.none() | texts, subtopics)


@few
@given(st.lists(queries, min_size=1, unique_by=lambda query: query.query_id))
def test_queries_round_trip(written: list[Query]) -> None:
    out, report = io.StringIO(), Report()
    write_queries(written, out)
    assert read_queries(source_of(out.getvalue()), report) == written
    clean(report)


@few
@given(st.lists(st.builds(Passage, ids, texts), min_size=1))
def test_passages_round_trip(written: list[Passage]) -> None:
    out, report = io.StringIO(), Report()
    write_passages(written, out)
    assert list(read_passages(source_of(out.getvalue()), report)) == written
    clean(report)


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
def test_bank_round_trip_in_jsonl_and_csv(written: list[Question]) -> None:
    for write in (write_bank, write_bank_csv):
        out, report = io.StringIO(newline=""), Report()
        write(written, out)
        read = read_bank(source_of(out.getvalue()), report)
        clean(report)
        assert read.questions == written


@few
@given(banks)
def test_csv_bank_holds_no_formula(written: list[Question]) -> None:
    out = io.StringIO(newline="")
    write_bank_csv(written, out)
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
    """A grader as a file made elsewhere describes it."""
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
    """A graded query in the order that a file can hold: grader by grader along the passages."""
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
    out, again, report = io.BytesIO(), io.BytesIO(), Report()
    write_graded(written, out)
    write_graded(written, again)
    assert list(read_graded(Source("graded.jsonl.gz", data=out.getvalue()), report)) == written
    clean(report)
    assert out.getvalue() == again.getvalue()


def test_failed_grades_stay_apart_from_zeros_and_out_of_foreign_ratings() -> None:
    spec = GraderSpec("mine", "self-rating", "m", "P")
    bank = [Question("q1/a", "q1", None), Question("q1/b", "q1", None)]
    grades = GradeColumns(spec, ["q1/a", "q1/b"], ["p", "p"], [None, 0], [None, "no"])
    written = GradedQuery(Query("q1", "why"), [Passage("p", "text")], questions=bank, grades=[grades])
    out = io.BytesIO()
    write_graded([written], out)
    entry = json.loads(gzip.decompress(out.getvalue()))[1][0]["exam_grades"][0]
    assert entry["self_ratings"] == [{"question_id": "q1/b", "self_rating": 0}]
    assert entry["wrongAnswered"] == ["q1/b"] and entry["answers"] == [["q1/b", "no"]]
    assert list(read_graded(Source("g.gz", data=out.getvalue()), Report())) == [written]


@few
@given(st.dictionaries(ids, st.tuples(st.floats(-1, 1), st.none() | st.floats(0, 1)), min_size=1))
def test_leaderboard_round_trip(rows: dict[str, tuple[float, float | None]]) -> None:
    out, report = io.StringIO(), Report()
    write_board_tsv("nDCG@10", [(None, run, score, error, 25) for run, (score, error) in rows.items()], out)
    (board,) = read_boards(source_of(out.getvalue(), "x/board.tsv"), report)
    clean(report)
    assert (board.name, board.measure) == ("board", "nDCG@10")
    assert {row.run: (row.score, row.std_error) for row in board.rows} == rows


# What one cannot see in a round trip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_line_ends_and_compression_give_the_same(encoding: str) -> None:
    data = "q1\twas ist Köln?\r\nq2\tβ\r\n".encode(encoding)
    expected = [Query("q1", "was ist Köln?"), Query("q2", "β")]
    two_members = gzip.compress(data[:9]) + gzip.compress(data[9:]) + b"\0" * 8
    for source in (Source("q.tsv", data=data), Source("q.tsv", data=two_members)):
        report = Report()
        assert read_queries(source, report) == expected
        clean(report)


def test_queries_in_all_three_forms() -> None:
    expected = [Query("1", "one"), Query("2", "two", "more")]
    tsv = "query_id\ttext\n1\tone\n2\ttwo\tmore\n"
    jsonl = '{"qid": 1, "title": "one"}\n\n{"topic_id": "2", "query": "two", "narrative": "more"}\n'
    assert read_queries(source_of(tsv), Report()) == expected
    assert read_queries(source_of(jsonl), Report()) == expected
    assert read_queries(source_of('{\n"1": "one",\n"2": "two"}'), Report()) == [
        Query("1", "one"),
        Query("2", "two"),
    ]


def test_own_bank_makes_ids_from_the_text() -> None:
    text = '{"query_id": "q", "text": "Why?", "query_text": "reasons"}\n'
    bank = read_bank(source_of(text), Report())
    assert bank.queries == [Query("q", "reasons")]
    assert bank.questions == [Question("q/5d8a995a6fa7", "q", "Why?")]


def test_query_ids_with_questions_are_a_bank_and_no_queries() -> None:
    """Several texts of one id can be no queries; taken for such, every line but the first would be refused."""
    text = "q1\tWhat is it?\nq1\tWhy is it so?\n\nq2\tWho says so?\n"
    for name, data in (("asked.tsv", text), ("asked.txt", "query_id\tquestion\n" + text)):
        assert detect_kind(source_of(data, name)) == "bank"
        report = Report()
        questions = read_bank(source_of(data, name), report).questions
        clean(report)
        assert [(one.query_id, one.text) for one in questions] == [
            ("q1", "What is it?"), ("q1", "Why is it so?"), ("q2", "Who says so?"),
        ]  # fmt: skip
    assert detect_kind(source_of("q1\tWhat is it?\nq2\tWhy is it so?\n", "asked.tsv")) == "queries"
    report = Report()
    read_bank(source_of("q1\tWhat is it?\nq1\tWhy\tnot\nq1\t \n"), report)
    assert [problem.line for problem in report.problems] == [2, 3]


def test_foreign_bank_with_facets_keys_and_choices() -> None:
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
    bank = read_bank(source_of(json.dumps(line) + "\n" + json.dumps(other)), Report())
    assert bank.queries == [Query("q", "Title", None, (Subtopic("f1", "Facet / more"), Subtopic("f2", "Two")))]
    assert bank.questions == [
        Question("q/1", "q", "A?", "choice", subtopic_id="f1", answer_key="x", choices=("x", "y")),
        Question("q/2", "q", "fact", "nugget", subtopic_id="f2"),
    ]


def test_csv_bank_from_a_spreadsheet() -> None:
    text = 'query_id;text;weight;active;choices\r\nq1;"two\r\nlines; and ""quotes""";-1;no;a | b\r\nq1;\'=1+1;;;\r\n'
    report = Report()
    first, second = read_bank(source_of(text, "bank.csv"), report).questions
    clean(report)
    assert first.text == 'two\r\nlines; and "quotes"'
    assert (first.weight, first.active, first.choices) == (-1.0, False, ("a", "b"))
    assert (second.text, second.weight, second.active) == ("=1+1", 1.0, True)


def test_latex_board_escapes_names() -> None:
    out = io.StringIO()
    write_board_latex("P@5", [(1, "a_b&c", 0.5, 0.01, 54), (2, "d", 0.25, None, None)], out)
    assert "1 & a\\_b\\&c & $0.500 \\pm 0.010$ & 54 \\\\\n2 & d & $0.250$ &  \\\\" in out.getvalue()


def test_json_leaderboards() -> None:
    (one,) = read_boards(source_of('{"a": 1, "b": 0.5}', "s.json"), Report())
    assert [(row.run, row.score) for row in one.rows] == [("a", 1.0), ("b", 0.5)]
    boards = read_boards(source_of('{"AP": {"a": 1}, "RR": {"a": 0.5}}', "s.json"), Report())
    assert [(board.name, board.measure) for board in boards] == [("s AP", "AP"), ("s RR", "RR")]


# Real files


def read_all(kind: str, path: Path) -> Any:
    report = Report()
    read = KINDS_OF_FILE[kind].read(Source.of(path), report)
    read = read if isinstance(read, list) or kind == "bank" else list(read)
    clean(report)
    return read


@pytest.mark.parametrize(
    ("kind", "file", "count"),
    [
        ("queries", "dl20/queries.tsv", 200),
        ("queries", "dl20/dl20-queries.json", 54),
        ("queries", "dl23-llmjudge/queries.json", 25),
        ("queries", "rag/rag25-topics-dev.tsv", 22),
        ("passages", "dl20/passages.jsonl.gz", 21_581),
        ("qrels", "dl20/qrels-nist.txt", 11_386),
        ("qrels", "dl20/rubric-qrels/HELM.qrel", 16_101),
        ("qrels", "dl23-llmjudge/reference/eval-rated.qrels", 7_263),
        ("qrels", "cranfield/cranqrel.trec.txt", 1_837),
        ("qrels", "trec-eval/qrels.test", 3_681),
        ("graded", "dl20/direct-grades-umbrela.jsonl.gz", 11_385),
        ("leaderboard", "dl20/published/official-results.tsv", 13),
        ("leaderboard", "car-y3/leaderboard-car-genq-self-rating-4.tsv", 4),
        ("leaderboard", "car-y3/qrel-leaderboard-car-genq-self-rating.tsv", 7),
        ("leaderboard", "dl23-llmjudge/reference/eval-cover-min1.tsv", 1),
        ("leaderboard", "dl23-llmjudge/reference/scores-ndcg10.json", 1),
    ],
)
def test_real_files_are_recognised_and_read(shared_data: Path, kind: str, file: str, count: int) -> None:
    assert detect_kind(Source.of(shared_data / file)) == kind
    assert len(read_all(kind, shared_data / file)) == count


@pytest.mark.parametrize(
    ("file", "kind", "queries", "subtopics", "questions"),
    [
        ("dl20/dl20-questions.jsonl.gz", "question", 54, 0, 540),
        ("dl20/dl20-nuggets.jsonl.gz", "nugget", 54, 0, 540),
        ("car-y3/car-questions.jsonl.gz", "question", 132, 726, 8_551),
        ("car-y3/car-nuggets.jsonl.gz", "nugget", 132, 726, 3_180),
    ],
)
def test_real_banks(shared_data: Path, file: str, kind: str, queries: int, subtopics: int, questions: int) -> None:
    assert detect_kind(Source.of(shared_data / file)) == "bank"
    bank = read_all("bank", shared_data / file)
    assert (len(bank.queries), len(bank.questions)) == (queries, questions)
    assert sum(len(query.subtopics) for query in bank.queries) == subtopics
    assert {question.kind for question in bank.questions} == {kind}
    assert not any(" / " in query.text for query in bank.queries)


def test_real_runs_share_a_tag_and_are_named_by_file(shared_data: Path) -> None:
    files = sorted((shared_data / "dl20" / "runs").iterdir())
    report = Report()
    runs = [(Source.of(file), list(read_run_lines(Source.of(file), report))) for file in files]
    names = name_runs([(source, lines[0].tag) for source, lines in runs], report)
    clean(report)
    assert names == [file.name.removesuffix(".run") for file in files]
    assert {len(lines) for _, lines in runs} == {5_400}


def test_real_graded_file_and_back(shared_data: Path) -> None:
    """That the whole file arrives is said of the project that is made of it."""
    path = shared_data / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz"
    report, out = Report(), io.BytesIO()
    some = list(islice(read_graded(Source.of(path), report), examples(2)))
    clean(report)
    write_graded(some, out)
    assert list(read_graded(Source("again.gz", data=out.getvalue()), Report())) == some
    with gzip.open(path) as original:
        first = json.loads(original.readline())
    written = json.loads(gzip.decompress(out.getvalue()).split(b"\n", 1)[0])
    for record in (first, written):
        for passage in record[1]:
            passage["paragraph_data"]["rankings"].sort(key=lambda ranked: ranked["method"])
    assert written == first


def test_real_leaderboards_with_errors_ranks_and_repeated_runs(shared_data: Path) -> None:
    report = Report()
    folder = shared_data / "dl20" / "published"
    exam, normalised, original = read_boards(
        Source.of(folder / "EXAM-Cover-leaderboard-dl20-subqueries-self-rating-4.tsv"), report
    )
    assert len(exam.rows) == len(normalised.rows) == len(original.rows) == 59
    row = exam.rows[0]
    assert (row.run, row.score, row.std_error) == ("p_d2q_bm25_duo", 0.756, 0.024)
    assert (original.rows[0].score, original.rows[0].rank) == (-6.0, 6.0)
    official = {board.measure: board for board in read_boards(Source.of(folder / "official-results.tsv"), report)}
    ndcg = {row.run: row.score for row in official["ndcg_cut_10"].rows}
    assert (len(ndcg), ndcg["rr-pass-roberta"]) == (123, 0.7169)
    clean(report)
    assert any(note.code == "text-column" and mentions(note.reason, "summary") for note in report.notes)
    assert any(note.code == "duplicate-score" and mentions(note.reason, "59") for note in report.notes)


def test_correlation_tables_and_trec_eval_output_are_not_taken_for_data(shared_data: Path) -> None:
    for file in (
        "dl20/published/rubric-correlation-59-systems.tsv",
        "dl23-llmjudge/reference/pp-qrel-analysis15-te908.tsv",
        "dl23-llmjudge/reference/ia-rated-rel2.tex",
        "trec-eval/out.test",
        "trec-eval/LICENSE.md",
        "README.md",
    ):
        assert detect_kind(Source.of(shared_data / file)) is None
    for file in ("results.test", "results.trunc"):
        assert detect_kind(Source.of(shared_data / "trec-eval" / file)) == "runs"
    for file in ("qrels.123", "qrels.rel_level"):
        assert detect_kind(Source.of(shared_data / "trec-eval" / file)) == "qrels"


def test_an_exported_board_of_original_ranks_says_the_same_when_it_is_read() -> None:
    rubric = b"method\texam\torig_map_rank\nr1\t0.1\t1\nr2\t0.2\t2\n"
    of_ranks = read_boards(Source("rubric.tsv", data=rubric), Report())[1]
    out = io.StringIO()
    write_board_tsv(
        of_ranks.measure, ((place, row.run, row.score, None, 0) for place, row in enumerate(of_ranks.rows, 1)), out
    )
    (again,) = read_boards(Source("again.tsv", data=out.getvalue().encode()), Report())
    assert {row.run: row.score for row in again.rows} == {"r1": -1.0, "r2": -2.0}


def test_a_query_may_have_several_correct_answers(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(
        '{"query_id": "q1", "text": "who?", "answers": ["Ada", "Ada Lovelace", "Ada"]}\n'
        '{"query_id": "q2", "text": "when?", "answer": "1843"}\n'
        '{"query_id": "q3", "text": "where?", "answers": ["London", 3]}\n'
    )
    report = Report()
    read = read_queries(Source.of(file), report)
    assert [query.answers for query in read] == [("Ada", "Ada Lovelace"), ("1843",)]
    assert [problem.line for problem in report.problems] == [3]
    out = io.StringIO()
    write_queries(read, out)
    assert '"answers":["Ada","Ada Lovelace"]' in out.getvalue() and '"answer":"1843"' in out.getvalue()


def test_a_tag_with_blanks_that_separate_no_columns_is_read_as_it_is_written() -> None:
    report = Report()
    source = Source("some.run", data="1 0 6 3 5 o\u3000\n1 0 7 4 4 a\u3000b\n".encode())
    found = list(read_run_lines(source, report))
    assert [line.tag for line in found] == ["o", "a_b"] and not report.count
