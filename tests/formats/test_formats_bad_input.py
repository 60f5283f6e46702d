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

from core.errors import FileError, InputError, Report
from core.formats import KINDS_OF_FILE, Source, detect, read_run_lines, source
from core.formats.graded import read_graded
from core.formats.source import Limits, open_lines
from core.formats.trec_qrels import write_qrels


def refusals(kind: str, data: bytes | str, name: str = "file") -> list[str]:
    """Read bad content and give the messages of all that was refused."""
    report = Report()
    source = Source(name, data=data.encode() if isinstance(data, str) else data)
    if kind == "responses":
        KINDS_OF_FILE[kind].read([source], report)
    else:
        read: Any = KINDS_OF_FILE[kind].read(source, report)
        if kind in ("passages", "graded", "runs"):
            list(read)
    assert report.count == len(report.problems)
    return [str(problem) for problem in report.problems]


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
RUN_LINE = "a run line has 6 (query Q0 passage rank score tag)"
QRELS_LINE = "a qrels line has 4 (query 0 passage value)"
OURS = '{"query_id": "q", "question_id": "a", "text": "A?"'


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (
            "runs",
            GOOD_RUN + "q Q0 x 3 0.5",
            f"file:3: the line has 5 columns; {RUN_LINE}; the file seems cut off here",
        ),
        (
            "runs",
            GOOD_RUN + "q Q0 x 3 0.5 tag",
            "file:3: the tag is tag, not tagged; the file seems cut off here",
        ),
        (
            "runs",
            "q Q0\n" + GOOD_RUN,
            "file:1: the line has 2 columns; a run line has 6 (query Q0 passage rank score tag)",
        ),
        ("runs", GOOD_RUN + "q Q0 x 3 nan tagged\n", "file:3: the score 'nan' is not a finite number"),
        ("runs", GOOD_RUN + "q Q0 x 3 1e999 tagged\n", "file:3: the score '1e999' is not a finite number"),
        ("runs", GOOD_RUN + "q Q0 x 3 high tagged\n", "file:3: the score is 'high', not a number"),
        (
            "runs",
            GOOD_RUN + f"q Q0 {'x' * 513} 3 0.1 tagged\n",
            f"file:3: the passage id '{'x' * 60}'… is longer than 512 characters",
        ),
        ("runs", "", "file: the file has no ranking in it"),
        (
            "qrels",
            "q 0 p 1\nq 0 r 1 extra\n",
            "file:2: the line has 5 columns; a qrels line has 4 (query 0 passage value)",
        ),
        ("qrels", "q 0 p 1\nq 0 r high\n", "file:2: the value 'high' is not an integer"),
        (
            "qrels",
            "q 0 p 1\nq 0 r 1\nq 0 p 2\n",
            "file:3: query q, passage p has value 2 here and 1 on line 1",
        ),
        (
            "qrels",
            "q 0 p 1\nq 0 r",
            f"file:2: the line has 3 columns; {QRELS_LINE}; the file seems cut off here",
        ),
        ("qrels", "q 0 p 99999999999999999999\n", "file:1: the value 99999999999999999999 is beyond 32767"),
        ("qrels", "\n\n", "file: the file has no judgments in it"),
        (
            "queries",
            "q1\tone\nq2\n",
            "file:2: the line has 1 tab-separated cells; it needs id, text, maybe narrative",
        ),
        ("queries", "q1\tone\nq1\ttwo\n", "file:2: query q1 is already on line 1 with another content"),
        (
            "queries",
            '{"qid": "1", "text": "a"}\n{"qid": "2"}\n',
            "file:2: the query's text is missing: the line has qid; known are text, query, query_text, title,"
            " topic_title",
        ),
        ("queries", '{"1": 5}', "file:1: the text of query 1 is not a text"),
        (
            "passages",
            '{"docid": "a", "text": "t"}\n{"docid": "\\u0007", "text": "t"}\n',
            "file:2: the passage id '\\x07' has a control character",
        ),
        ("passages", '{"docid": "a", "text": "x\\u0000y"}\n', "file:1: the line has a NUL character"),
        ("passages", "a\tt\n \tt\n", "file:2: the passage id is empty"),
        ("passages", '{"docid": "a", "text": "t"}\n[1]\n', "file:2: the line is not a JSON object"),
        ("bank", OURS + "}\n" + OURS + "}\n", "file:2: question id a is already on line 1"),
        ("bank", OURS + ', "weight": "heavy"}\n', "file:1: the weight 'heavy' is not a number"),
        (
            "bank",
            OURS + ', "kind": "riddle"}\n',
            "file:1: the kind 'riddle' is none of question, nugget, choice",
        ),
        ("bank", OURS + ', "active": 1}\n', "file:1: active is 1, not true or false"),
        (
            "bank",
            '{"query_id": "q", "weight": 1}\n',
            "file:1: the question's text is missing: the line has query_id, weight; known are text, question,"
            " question_text",
        ),
        (
            "bank",
            "query_id,text,weight\nq,A?,inf\n",
            "file:2: the weight inf is not a number from -1,000,000 to 1,000,000",
        ),
        ("bank", 'query_id,text\nq,"two\nlines"\nq\n', "file:4: the row has 1 cells; the header has 2"),
        (
            "bank",
            "some words\n",
            "file:1: the line is not a query id, a tab and a question, and no header names query_id and text",
        ),
        (
            "leaderboard",
            "run\tAP\na\t0.5\nb\t0.4\nc\thigh\n",
            "file:4: the AP of run c is 'high', not a number",
        ),
        (
            "leaderboard",
            '{"a": 1,\n"b": }',
            "file:2: this is not valid JSON: unexpected character, expected a JSON value at character 6",
        ),
        ("leaderboard", "just\n", "file: the file is neither JSON nor a table in tab-separated columns"),
        (
            "leaderboard",
            "num_q\tall\t3\n",
            "file: the file is trec_eval's output for one run, not a leaderboard",
        ),
    ],
)
def test_one_message_with_file_line_and_reason(kind: str, content: str, message: str) -> None:
    assert refusals(kind, content) == [message]


@pytest.mark.parametrize("kind", ["queries", "passages", "bank"])
def test_broken_json_line_is_named_and_the_rest_still_read(kind: str) -> None:
    good = '{"query_id": "%s", "docid": "%s", "question_id": "%s", "text": "t"}\n'
    text = good % ("a", "a", "a") + '{"query_id": "b", "te\n' + good % ("c", "c", "c")
    (message,) = refusals(kind, text)
    assert message.startswith("file:2: this is not valid JSON: ")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": 6}]},
            "the rating 6 for q/a is not an integer from 0 to 5",
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": -1}]},
            "the rating -1 for q/a is not an integer from 0 to 5",
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": 2.0}]},
            "the rating 2.0 for q/a is not an integer from 0 to 5",
        ),
        (
            {"self_ratings": [{"question_id": "q/a", "self_rating": True}]},
            "the rating True for q/a is not an integer from 0 to 5",
        ),
        ({"self_ratings": [{"question_id": "q/a"}]}, "self_rating is missing"),
        ({"self_ratings": None}, "an entry is self-rated but has no self_ratings"),
        ({"answers": [["q/a", 4]]}, "an answer is not a text"),
        ({"llm": None}, "llm or prompt_class is not a text"),
    ],
)
def test_bad_grades_are_refused_with_their_line(changes: dict[str, object], reason: str) -> None:
    content = graded_line() + "\n" + graded_line(**changes) + "\n"
    assert refusals("graded", content) == [f"file:2: passage p: {reason}"]


def test_null_rating_is_kept_as_failed() -> None:
    ratings = [{"question_id": "q/a", "self_rating": None}, {"question_id": "q/b", "self_rating": 0}]
    report = Report()
    source = Source("g", data=graded_line(self_ratings=ratings).encode())
    (query,) = read_graded(source, report)
    assert query.grades[0].ratings == [[None, 0]]
    assert report.count == 0


@pytest.mark.parametrize("content", ["{}", "[]", '["q"]', '["q", {}]', '["q", [1]]', '["", []]', '[["q"], []]'])
def test_graded_lines_of_another_form(content: str) -> None:
    (message,) = refusals("graded", content)
    assert message.startswith("file:1: ")


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
        assert [message.split(": ")[-1] for message in refusals("queries", damaged)] == ["the gzip data is damaged"]


@pytest.mark.parametrize("kind", sorted(KINDS_OF_FILE))
@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("f.gz", lambda good: good, "the file is not a gzip file, though its name ends in .gz"),
        ("f", lambda good: gzip.compress(good)[:-9], "the gzip data ends too early; the file seems cut off"),
        ("f", lambda good: gzip.compress(good)[:-8] + b"\0" * 8, "the gzip data is damaged"),
        ("f", lambda good: good + b"\0\n", "the line has a NUL byte"),
        ("f", lambda good: b"PK\x03\x04" + good, "the file is a zip archive; unpack it first"),
        (
            "f",
            lambda good: b"\xff\xfe\x00\xd8" + good,
            "the file is not valid UTF-16, though it begins like it",
        ),
    ],
)
def test_damaged_files_of_every_kind(kind: str, name: str, spoil: Callable[[bytes], bytes], reason: str) -> None:
    good = {
        "runs": GOOD_RUN,
        "responses": '{"query_id": "q", "run": "a", "text": "t"}\n',
        "qrels": "q 0 p 1\n",
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
    (message,) = refusals(kind, spoil(good.encode()), name)
    place, _, found = message.partition(": ")
    assert found == reason and place.startswith(f"{name}:")


@pytest.mark.parametrize("kind", sorted(KINDS_OF_FILE))
def test_invalid_utf8_names_the_line_and_the_byte(kind: str) -> None:
    good = {
        "runs": GOOD_RUN,
        "responses": '{"query_id": "q", "run": "a", "text": "t"}\n{"query_id": "r", "run": "a", "text": "t"}\n',
        "qrels": "q 0 p 1\nq 0 r 1\n",
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
    assert refusals(kind, data) == ["file:2: byte 0xff at position 3 is not valid UTF-8"]


def test_line_that_is_too_long_is_refused_alone() -> None:
    data = b"short\n" + b"x" * 5_000_000 + b"\nshort again\n"
    for packed in (data, gzip.compress(data)):
        report = Report()
        lines = list(open_lines(Source("f", data=packed), report, Limits(line=1_000)))
        assert lines == [(1, "short"), (3, "short again")]
        assert [str(problem) for problem in report.problems] == [
            "f:2: the line is longer than 1,000 bytes (EXAM_LIMIT_LINE sets this limit)"
        ]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (
            Limits(expanded=1 << 20),
            "f:1: the gzip data expands to more than 1,048,576 bytes (EXAM_LIMIT_EXPANDED sets this limit)",
        ),
        (
            Limits(ratio_after=1 << 20),
            "f:1: the gzip data expands to more than 200 times its size (EXAM_LIMIT_RATIO sets this limit)",
        ),
    ],
)
def test_gzip_bomb_is_stopped(limits: Limits, reason: str) -> None:
    report = Report()
    bomb = gzip.compress(b"0" * (8 << 20))
    assert list(open_lines(Source("f", data=bomb), report, limits)) == []
    assert [str(problem) for problem in report.problems] == [reason]


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.run", tmp_path):
        report = Report()
        list(read_run_lines(Source.of(path), report))
        (problem,) = report.problems
        assert problem.file == str(path) and problem.reason.startswith("the file cannot be read: ")


def test_real_truncated_run(shared_data: Path) -> None:
    path = shared_data / "dl20" / "malformed" / "truncated.run"
    report = Report()
    list(read_run_lines(Source.of(path), report))
    (problem,) = report.problems
    assert (problem.file, problem.line) == (str(path), 6_277)
    assert problem.reason.endswith("the file seems cut off here")


def test_report_keeps_a_hundred_and_counts_all() -> None:
    report = Report()
    for line in range(1, 251):
        report.refuse("f", line, "bad", "bad")
        report.remark("f", line, "odd", "odd")
    with pytest.raises(FileError) as error:
        report.raise_if_refused("Fix the file.")
    assert (len(error.value.problems), error.value.more) == (100, 150)
    assert str(error.value) == "f:1: bad (and 249 more). Fix the file."
    assert [str(note) for note in report.notes] == ["f:1: odd (250 times, first here)"]


def test_report_without_refusals_raises_nothing() -> None:
    report = Report()
    report.remark("f", 1, "odd", "odd")
    report.raise_if_refused()


def test_ids_with_white_space_are_not_written_to_trec_files() -> None:
    with pytest.raises(InputError, match="'a b'"):
        write_qrels([("a b", "p", 1)], io.StringIO())


@pytest.mark.parametrize(
    ("last", "guess"), [("no tab here", None), ("q4\tmoon", "queries")], ids=["without cells", "with cells"]
)
def test_a_table_of_numbers_whose_last_line_is_of_another_form_can_be_guessed(last: str, guess: str | None) -> None:
    data = f"q1\t1\nq2\t2\nq3\t3\n{last}\n".encode()
    assert detect(Source("some.tsv", data=data)) == guess


def test_a_file_that_begins_with_more_blank_lines_than_are_looked_at_is_of_no_kind() -> None:
    assert detect(Source("some.tsv", data=b"\n" * 65_530 + b"q1\tthe first query\n" * 9)) is None
