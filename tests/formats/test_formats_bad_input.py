"""Bad files are refused with one clear message that names file, line and reason."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_workbench.errors import FileError, Problem, Report
from exam_workbench.formats import KINDS_OF_FILE, Source, _source as source, detect_kind, read_run_lines
from exam_workbench.formats._source import open_lines
from exam_workbench.formats.graded_files import read_graded
from exam_workbench.formats.trec_files import write_qrels
from tests.made.refusals import check_error, check_problem, coded, refusal


def refusals(kind: str, data: bytes | str, name: str = "file") -> list[Problem]:
    """Read bad content and give all that was refused."""
    report = Report()
    source = Source(name, data=data.encode() if isinstance(data, str) else data)
    if kind == "responses":
        KINDS_OF_FILE[kind].read([source], report)
    else:
        read: Any = KINDS_OF_FILE[kind].read(source, report)
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
        (
            "runs",
            GOOD_RUN + "q Q0 x 3 0.5",
            ("file:3 cut-off-file", "5", "6", "Q0"),
        ),
        (
            "runs",
            GOOD_RUN + "q Q0 x 3 0.5 tag",
            ("file:3 cut-off-file",),
        ),
        (
            "runs",
            "q Q0\n" + GOOD_RUN,
            ("file:1 wrong-number-of-columns", "2", "6", "Q0"),
        ),
        ("runs", GOOD_RUN + "q Q0 x 3 nan tagged\n", ("file:3 not-a-number", "nan")),
        ("runs", GOOD_RUN + "q Q0 x 3 1e999 tagged\n", ("file:3 not-a-number", "1e999")),
        ("runs", GOOD_RUN + "q Q0 x 3 high tagged\n", ("file:3 not-a-number", "high")),
        (
            "runs",
            GOOD_RUN + f"q Q0 {'x' * 513} 3 0.1 tagged\n",
            ("file:3 invalid-id", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "512"),
        ),
        ("runs", "", ("file nothing-found",)),
        (
            "qrels",
            "q 0 p 1\nq 0 r 1 extra\n",
            ("file:2 wrong-number-of-columns", "5", "4", "0"),
        ),
        ("qrels", "q 0 p 1\nq 0 r high\n", ("file:2 invalid-judgment", "high")),
        (
            "qrels",
            "q 0 p 1\nq 0 r 1\nq 0 p 2\n",
            ("file:3 contradicting-lines", "2", "1"),
        ),
        (
            "qrels",
            "q 0 p 1\nq 0 r",
            ("file:2 cut-off-file", "3", "4", "0"),
        ),
        ("qrels", "q 0 p 99999999999999999999\n", ("file:1 invalid-judgment", "99999999999999999999", "32767")),
        ("qrels", "\n\n", ("file nothing-found",)),
        (
            "queries",
            "q1\tone\nq2\n",
            ("file:2 wrong-number-of-columns", "1"),
        ),
        ("queries", "q1\tone\nq1\ttwo\n", ("file:2 duplicate-query", "q1", "1")),
        (
            "queries",
            '{"qid": "1", "text": "a"}\n{"qid": "2"}\n',
            ("file:2 value-missing", "query_text", "topic_title"),
        ),
        ("queries", '{"1": 5}', ("file:1 not-a-text", "1")),
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
        (
            "bank",
            OURS + ', "kind": "riddle"}\n',
            ("file:1 unknown-kind", "riddle"),
        ),
        ("bank", OURS + ', "active": 1}\n', ("file:1 not-a-flag", "1")),
        (
            "bank",
            '{"query_id": "q", "weight": 1}\n',
            ("file:1 value-missing", "query_id", "question_text"),
        ),
        (
            "bank",
            "query_id,text,weight\nq,A?,inf\n",
            ("file:2 weight-out-of-range", "-1,000,000", "1,000,000"),
        ),
        ("bank", 'query_id,text\nq,"two\nlines"\nq\n', ("file:4 wrong-number-of-columns", "1", "2")),
        (
            "bank",
            "some words\n",
            ("file:1 header-missing",),
        ),
        (
            "leaderboard",
            "run\tAP\na\t0.5\nb\t0.4\nc\thigh\n",
            ("file:4 not-a-number", "high", "AP"),
        ),
        (
            "leaderboard",
            '{"a": 1,\n"b": }',
            ("file:2 invalid-json", "6"),
        ),
        ("leaderboard", "just\n", ("file not-a-table",)),
        (
            "leaderboard",
            "num_q\tall\t3\n",
            ("file file-of-another-kind",),
        ),
    ],
)
def test_one_message_with_file_line_and_reason(kind: str, content: str, message: tuple[str, ...]) -> None:
    (problem,) = refusals(kind, content)
    check_problem(problem, *message)


@pytest.mark.parametrize("kind", ["queries", "passages", "bank"])
def test_broken_json_line_is_named_and_the_rest_still_read(kind: str) -> None:
    good = '{"query_id": "%s", "docid": "%s", "question_id": "%s", "text": "t"}\n'
    text = good % ("a", "a", "a") + '{"query_id": "b", "te\n' + good % ("c", "c", "c")
    assert [coded(problem) for problem in refusals(kind, text)] == ["file:2 invalid-json"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": 6}]},
            ("rating-out-of-range", "6", "q/a"),
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": -1}]},
            ("rating-out-of-range", "-1", "q/a"),
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": 2.0}]},
            ("rating-out-of-range", "2.0", "q/a"),
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": True}]},
            ("rating-out-of-range", "q/a"),
        ),
        ({"self_ratings": [{"question_id": "q/a"}]}, ("value-missing", "self_rating")),
        ({"self_ratings": None}, ("self-ratings-missing",)),
        ({"answers": [["q/a", 4]]}, ("not-a-text",)),
        ({"llm": None}, ("not-a-text",)),
    ],
)
def test_bad_grades_are_refused_with_their_line(changes: dict[str, object], reason: tuple[str, ...]) -> None:
    content = graded_line() + "\n" + graded_line(**changes) + "\n"
    (problem,) = refusals("graded", content)
    code, *values = reason
    check_problem(problem, f"file:2 {code}", "passage p", *values)


def test_null_rating_is_kept_as_failed() -> None:
    ratings = [{"question_id": "q/a", "self_rating": None}, {"question_id": "q/b", "self_rating": 0}]
    report = Report()
    source = Source("g", data=graded_line(self_ratings=ratings).encode())
    (query,) = read_graded(source, report)
    assert query.grades[0].ratings == [[None, 0]]
    assert report.count == 0


@pytest.mark.parametrize("content", ["{}", "[]", '["q"]', '["q", {}]', '["q", [1]]', '["", []]', '[["q"], []]'])
def test_graded_lines_of_another_form(content: str) -> None:
    assert [problem.line for problem in refusals("graded", content)] == [1]


def member(content: bytes, flags: int, more: bytes = b"", checked: bool = True) -> bytes:
    """A member of a gzip file with flags, what these say that follows, and where they say so its header's checksum."""
    plain = gzip.compress(content)
    header = plain[:3] + bytes([flags]) + plain[4:10] + more
    checksum = zlib.crc32(header) & 0xFFFF ^ (not checked)
    return header + (checksum.to_bytes(2, "little") if flags & 2 else b"") + plain[10:]


@pytest.mark.parametrize("chunk", [1, 3, 16, 1 << 14])
def test_every_header_that_gzip_allows_is_read_wherever_a_chunk_ends(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "PACKED_CHUNK", chunk)
    extra, name = b"\x04\x00abcd", b"a name\0"
    members = [member(b"q\ttext\n", 0), member(b"r\ttext\n", 2), member(b"", 8, name), member(b"s\ttext\n", 6, extra)]
    good = [b"".join(members), b"".join(members[::-1]) + b"\0" * 5, member(b"q\ttext\n", 9, name)]
    for data in (*good, *(member(b"q\ttext\n", flags, extra + name) for flags in (12, 14))):
        assert refusals("queries", data) == []
    for damaged in (member(b"q\ttext\n", 0x20), member(b"q\ttext\n", 2, checked=False), members[0] + b"garbage"):
        assert [problem.code for problem in refusals("queries", damaged)] == ["damaged-gzip"]


@pytest.mark.parametrize("kind", sorted(KINDS_OF_FILE))
@pytest.mark.parametrize(
    ("name", "spoil", "code"),
    [
        ("f.gz", lambda good: good, "not-gzip"),
        ("f", lambda good: gzip.compress(good)[:-9], "cut-off-gzip"),
        ("f", lambda good: gzip.compress(good)[:-8] + b"\0" * 8, "damaged-gzip"),
        ("f", lambda good: good + b"\0\n", "nul-byte"),
        ("f", lambda good: b"PK\x03\x04" + good, "file-of-another-kind"),
        (
            "f",
            lambda good: b"\xff\xfe\x00\xd8" + good,
            "not-utf16",
        ),
    ],
)
def test_damaged_files_of_every_kind(kind: str, name: str, spoil: Callable[[bytes], bytes], code: str) -> None:
    good = {
        "runs": GOOD_RUN,
        "responses": '{"query_id": "q", "run": "a", "text": "t"}\n',
        "qrels": "q 0 p 1\n",
        "labels": "q 0 p 1\n",
        "queries": "q\ttext\n",
        "passages": "p\ttext\n",
        "bank": OURS + "}\n",
        "graded": graded_line() + "\n",
        "leaderboard": "run\tAP\na\t0.5\n",
        "responses-matrix": "student,i1\na,1\n",
        "answers": '{"query_id": "q", "run": "r", "k": 1, "draw": 1, "answer": "A"}\n',
        "answer-verdicts": '{"query_id": "q", "answer": "A", "acceptable": true}\n',
        "students": "student,size\na,7\n",
        "lm-eval": '{"doc_id": 1, "doc": {}, "resps": [], "acc_norm": 1}\n',
        "exam": f"[{exam_item('Which is it?')}]\n",
    }[kind]
    (problem,) = refusals(kind, spoil(good.encode()), name)
    assert (problem.file, problem.code) == (name, code) and problem.line is not None


@pytest.mark.parametrize("kind", sorted(KINDS_OF_FILE))
def test_invalid_utf8_names_the_line_and_the_byte(kind: str) -> None:
    good = {
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
    }[kind]
    first, second = good.encode().splitlines()
    data = first + b"\n" + second[:2] + b"\xff" + second[2:] + b"\n" + second + b"\n"
    (problem,) = refusals(kind, data)
    check_problem(problem, "file:2 not-utf8", "0xff", "3")


def test_line_that_is_too_long_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_LINE", "1000")
    data = b"short\n" + b"x" * 5_000_000 + b"\nshort again\n"
    for packed in (data, gzip.compress(data)):
        report = Report()
        lines = list(open_lines(Source("f", data=packed), report))
        assert lines == [(1, "short"), (3, "short again")]
        (problem,) = report.problems
        check_problem(problem, "f:2 limit-exceeded", "1,000", "EXAM_LIMIT_LINE")


@pytest.mark.parametrize("limit", ["EXPANDED", "RATIO"])
def test_gzip_bomb_is_stopped(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.formats._source.RATIO_AFTER", 1 << 20)
    monkeypatch.setenv(f"EXAM_LIMIT_{limit}", "100")
    report = Report()
    bomb = gzip.compress(b"0" * (8 << 20))
    assert list(open_lines(Source("f", data=bomb), report)) == []
    (problem,) = report.problems
    check_problem(problem, "f:1 limit-exceeded", "100", f"EXAM_LIMIT_{limit}")


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.run", tmp_path):
        report = Report()
        list(read_run_lines(Source.of(path), report))
        (problem,) = report.problems
        assert coded(problem) == f"{path} unreadable-file"


def test_real_truncated_run(shared_data: Path) -> None:
    path = shared_data / "dl20" / "malformed" / "truncated.run"
    report = Report()
    list(read_run_lines(Source.of(path), report))
    (problem,) = report.problems
    assert coded(problem) == f"{path}:6277 cut-off-file"


def test_report_keeps_a_hundred_and_counts_all() -> None:
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


def test_report_without_refusals_raises_nothing() -> None:
    report = Report()
    report.remark("f", 1, "odd", "odd")
    report.raise_if_refused()


def test_ids_with_white_space_are_not_written_to_trec_files() -> None:
    with refusal("id-with-white-space", "a b"):
        write_qrels([("a b", "p", 1)], io.StringIO())


@pytest.mark.parametrize(
    ("last", "guess"), [("no tab here", None), ("q4\tmoon", "queries")], ids=["without cells", "with cells"]
)
def test_a_table_of_numbers_whose_last_line_is_of_another_form_can_be_guessed(last: str, guess: str | None) -> None:
    data = f"q1\t1\nq2\t2\nq3\t3\n{last}\n".encode()
    assert detect_kind(Source("some.tsv", data=data)) == guess


def test_a_file_that_begins_with_more_blank_lines_than_are_looked_at_is_of_no_kind() -> None:
    assert detect_kind(Source("some.tsv", data=b"\n" * 65_530 + b"q1\tthe first query\n" * 9)) is None
