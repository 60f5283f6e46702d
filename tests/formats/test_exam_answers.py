"""Files with answers of students: a matrix, samples of lm-evaluation-harness, components; read, recognised, refused."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from exam_workbench.errors import FileError, Report
from exam_workbench.formats import Source, detect_kind, read_factors, read_matrix, read_samples, write_matrix
from tests.made.refusals import refusal


def source(name: str, text: str) -> Source:
    return Source(name, data=text.encode())


def read(reader: Any, text: str, name: str = "f.csv") -> Any:
    report = Report()
    found = reader(source(name, text), report)
    report.raise_if_refused()
    return found


MATRIX = "student,i1,i2,i3\nbig,1,0,\nsmall,0,,1\n"


def test_a_matrix_says_right_wrong_or_nothing() -> None:
    for text in (MATRIX, MATRIX.replace(",", "\t"), MATRIX.replace("1,0", "1.0,0.0")):
        big, small = read(read_matrix, text)
        assert big.student == "big" and big.verdicts == {"i1": True, "i2": False}
        assert small.verdicts == {"i1": False, "i3": True}


def test_a_matrix_is_written_as_it_is_read() -> None:
    out = io.StringIO()
    write_matrix(["i1", "=i2"], [("a", [True, None]), ("-b", [None, False])], out)
    assert [(one.student, one.verdicts) for one in read(read_matrix, out.getvalue())] == [
        ("a", {"i1": True}), ("-b", {"=i2": False}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student,i1\nbig,2\n", ("invalid-answer", "f.csv:2", "i1")),
        ("student,i1\nbig,1\nbig,0\n", ("duplicate-student", "f.csv:3")),
        ("student,i1,i1\nbig,1,1\n", ("duplicate-item",)),
        ("student,i1\nbig\n", ("wrong-number-of-columns", "1", "2")),
        ("student\nbig\n", ("header-missing",)),
        ("student,i1\n", ("nothing-found",)),
        ("", ("nothing-found",)),
        ('student,i1\n"big,1\n', ("invalid-csv",)),
    ],
)
def test_a_matrix_that_is_none_is_refused(text: str, said: tuple[str, ...]) -> None:
    with refusal(*said, kind=FileError):
        read(read_matrix, text)


def sample(number: int, **more: Any) -> dict[str, Any]:
    doc = {"id": f"d{number}", "question": f"Which is number {number}?", "choices": ["a", "b", "c", "d"], "gold": 2}
    return {"doc_id": number, "doc": doc, "resps": [[["-1.0", "False"]]], "acc": 0.0, "acc_norm": 1.0} | more


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_samples_name_the_student_by_the_file_and_take_acc_norm() -> None:
    arc = {"id": "x", "question": "Why?", "choices": {"text": ["p", "q"], "label": ["A", "B"]}, "answerKey": "B"}
    bare = {"doc_id": 7, "doc": {"text": "no item"}, "resps": [], "acc": 1}
    report = Report()
    text = lines(sample(1), sample(2, acc_norm=0.0), sample(3, doc=arc), bare)
    found = read_samples(source("samples_llama-7b_2024-05-01T10-00-00.123.jsonl", text), report)
    assert not report.problems and [note.line for note in report.notes] == [4]
    assert found.student == "llama-7b"
    assert found.verdicts == {"d1": True, "d2": False, "x": True, found.questions[-1].question_id: True}
    first, _, third, last = found.questions
    assert (first.text, first.choices, first.answer_key) == ("Which is number 1?", ("a", "b", "c", "d"), "c")
    assert (third.answer_key, last.text) == ("q", None)


def test_items_without_an_id_are_identified_by_their_words() -> None:
    def items(*docs: dict[str, Any]) -> list[str]:
        rows = [{"doc_id": at, "doc": doc, "resps": [], "acc_norm": 1} for at, doc in enumerate(docs)]
        return list(read(read_samples, lines(*rows), "s.jsonl").verdicts)

    metal, colour = ({"question": f"Which {what}?", "choices": ["x", "y"], "answer": 0} for what in ("metal", "colour"))
    lettered = metal | {"choices": ["A) y", "B)  x"], "answer": 1}
    open_ended, bare, other = {"question": "How many?"}, {"ctx": "So"}, {"ctx": "But"}
    assert items(metal, colour, open_ended, bare, other)[::-1] == items(other, bare, open_ended, colour, metal)
    assert items(metal) == items(lettered) and len(set(items(metal, colour, open_ended, bare, other))) == 5
    report = Report()
    text = lines(*({"doc_id": at, "doc": metal, "resps": [], "acc_norm": at} for at in (0, 1)))
    assert list(read_samples(source("s.jsonl", text), report).verdicts.values()) == [False] and len(report.notes) == 1


def test_of_several_filters_the_first_counts_and_the_others_are_noted() -> None:
    rows = [
        {
            "doc_id": at,
            "doc": {"question": f"Q{at}?"},
            "filter": name,
            "exact_match": float(at > 0) if name == "strict" else 1.0,
        }
        for name in ("strict", "flexible")
        for at in range(3)
    ]
    for at, text in enumerate((lines(*rows), lines(*rows[::-1]))):
        report = Report()
        found = read_samples(source("samples_g_2025-01-02T03-04-05.1.jsonl", text), report)
        assert list(found.verdicts.values()) == ([False, True, True] if at == 0 else [True] * 3)
        assert not report.problems and len(report.notes) == 1 and found.student == "g"
    with pytest.raises(FileError) as refusal:
        read(read_samples, lines({"doc_id": 0, "doc": {"question": "Q?"}, "f1": 0.5}), "s.jsonl")
    assert all(name in refusal.value.message for name in ("acc_norm", "acc", "exact_match", "f1"))


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("out/meta__Llama/samples_arc_2024-07-01T10-11-12.123456.jsonl", "meta__Llama"),
        ("C:\\out\\m1\\samples_arc_2024-07-01T10-11-12.123456.jsonl.gz", "m1"),
        ("./samples_arc_2024-07-01T10-11-12.123456.jsonl", "arc"),
        ("out/samples_m2.jsonl", "m2"),
    ],
)
def test_an_examinee_is_named_after_the_folder_of_the_harness(name: str, student: str) -> None:
    text = lines({"doc_id": 0, "doc": {"question": "Q?"}, "acc": 1})
    assert read_samples(source(name, text), Report()).student == student
    assert read_samples(source(name, text), Report(), "mine").student == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lines(sample(1), sample(1)), ("duplicate-item", "d1")),
        (lines(sample(1, acc_norm=0.5)), ("invalid-verdict",)),
        (lines(sample(1, doc=3)), ("not-an-object",)),
        ("{\n", ("invalid-json",)),
        ("", ("nothing-found",)),
    ],
)
def test_samples_that_are_none_are_refused(text: str, said: tuple[str, ...]) -> None:
    with refusal(*said, kind=FileError):
        read(read_samples, text, "s.jsonl")


def test_components_have_the_names_that_every_student_has() -> None:
    found = read(read_factors, "student,LLM,Retriever,ICL,size\na,llama,bm25,ICL@0,7\nb,mistral,,ICL@1,\n")
    assert found == {
        "a": {"model": "llama", "retrieval": "bm25", "icl": "ICL@0", "size": "7"},
        "b": {"model": "mistral", "icl": "ICL@1"},
    }
    for text, said in (
        ("student,x\na,1\na,2\n", ("duplicate-student",)),
        ("student\na\n", ("header-missing",)),
        ("student,x\na\n", ("wrong-number-of-columns", "1")),
    ):  # fmt: skip
        with refusal(*said, kind=FileError):
            read(read_factors, text)


def test_closed_book_and_oracle_are_known_under_their_other_names() -> None:
    names = ["closed_book", "Closed Book", "ClosedB", "closed-book", "open_book", "Open-Book", "Oracle", "bm25"]
    text = "student,retrieval\n" + "".join(f"s{at},{name}\n" for at, name in enumerate(names))
    report = Report()
    levels = [one["retrieval"] for one in read_factors(source("c.csv", text), report).values()]
    assert levels == ["closed-book"] * 4 + ["oracle"] * 3 + ["bm25"]
    assert [note.line for note in report.notes] == [2, 3, 4, 6, 7, 8], "every other spelling is named"
    # Another factor keeps its levels.
    assert read(read_factors, "student,mode\na,open_book\n") == {"a": {"mode": "open_book"}}


def test_each_is_recognised() -> None:
    assert detect_kind(source("m.csv", MATRIX)) == "responses-matrix"
    assert detect_kind(source("m.tsv", MATRIX.replace(",", "\t"))) == "responses-matrix"
    assert detect_kind(source("c.csv", "student,model\na,llama\nb,mistral\n")) == "students"
    assert detect_kind(source("s.jsonl", lines(sample(1), sample(2)))) == "lm-eval"
    assert detect_kind(source("board.tsv", "run\tMAP\na\t0.5\nb\t1\n")) == "leaderboard"
