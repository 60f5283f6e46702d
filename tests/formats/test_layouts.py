"""File layouts: answers of examinees, and known kinds of file in many layouts."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from exam_workbench.errors import FileError, Report, WorkbenchError
from exam_workbench.exchange import import_files
from exam_workbench.formats import (
    Source,
    describe_unrecognised,
    detect_kind,
    read_bank,
    read_boards,
    read_factors,
    read_matrix,
    read_run_lines,
    read_samples,
    write_matrix,
)
from exam_workbench.formats.passage_files import read_passages
from exam_workbench.formats.query_files import read_queries
from exam_workbench.formats.trec_files import read_qrels
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query
from tests.made.projects import examples, new_project
from tests.made.refusals import refusal


def source(name: str, text: str) -> Source:
    return Source(name, data=text.encode())


def read(reader: Any, text: str, name: str = "f.csv") -> Any:
    report = Report()
    found = reader(source(name, text), report)
    report.raise_if_refused()
    return found


MATRIX = "student,i1,i2,i3\nbig,1,0,\nsmall,0,,1\n"


def test_matrix_round_trips_and_related_files_are_detected() -> None:
    for text in (MATRIX, MATRIX.replace(",", "\t"), MATRIX.replace("1,0", "1.0,0.0")):
        big, small = read(read_matrix, text)
        assert big.student == "big" and big.verdicts == {"i1": True, "i2": False}
        assert small.verdicts == {"i1": False, "i3": True}
    out = io.StringIO()
    write_matrix(["i1", "=i2"], [("a", [True, None]), ("-b", [None, False])], out)
    assert [(one.student, one.verdicts) for one in read(read_matrix, out.getvalue())] == [
        ("a", {"i1": True}), ("-b", {"=i2": False}),
    ]  # fmt: skip
    (wide,) = read(read_matrix, semicolons := "student,a;b;c,d\nbig,1,0\n")
    assert wide.verdicts == {"a;b;c": True, "d": False}
    for text in (MATRIX, semicolons, MATRIX.replace("i3", "i3\u2028")):
        assert detect_kind(source("m.csv", text)) == "responses-matrix"
    assert detect_kind(source("m.tsv", MATRIX.replace(",", "\t"))) == "responses-matrix"
    assert detect_kind(source("c.csv", "student,model\na,llama\nb,mistral\n")) == "students"
    assert detect_kind(source("s.jsonl", lines(sample(1), sample(2)))) == "lm-eval"
    assert detect_kind(source("board.tsv", "run\tMAP\na\t0.5\nb\t1\n")) == "leaderboard"


def sample(number: int, **more: Any) -> dict[str, Any]:
    doc = {"id": f"d{number}", "question": f"Which is number {number}?", "choices": ["a", "b", "c", "d"], "gold": 2}
    return {"doc_id": number, "doc": doc, "resps": [[["-1.0", "False"]]], "acc": 0.0, "acc_norm": 1.0} | more


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_samples_name_examinee_by_file_and_use_acc_norm() -> None:
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


def test_items_without_id_are_identified_by_wording() -> None:
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


def test_first_of_several_filters_counts_and_others_are_noted() -> None:
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
def test_examinee_is_named_after_model_folder(name: str, student: str) -> None:
    text = lines({"doc_id": 0, "doc": {"question": "Q?"}, "acc": 1})
    assert read_samples(source(name, text), Report()).student == student
    assert read_samples(source(name, text), Report(), "mine").student == "mine"


@pytest.mark.parametrize(
    ("reader", "text", "said"),
    [
        (read_matrix, "student,i1\nbig,2\n", ("invalid-answer", "f.csv:2", "i1")),
        (read_matrix, "student,i1\nbig,1\nbig,0\n", ("duplicate-student", "f.csv:3")),
        (read_matrix, "student,i1,i1\nbig,1,1\n", ("duplicate-item",)),
        (read_matrix, "student,i1\nbig\n", ("wrong-number-of-columns", "1", "2")),
        (read_matrix, "student\nbig\n", ("header-missing",)),
        (read_matrix, "student,i1\n", ("nothing-found",)),
        (read_matrix, "", ("nothing-found",)),
        (read_matrix, 'student,i1\n"big,1\n', ("invalid-csv",)),
        (read_samples, lines(sample(1), sample(1)), ("duplicate-item", "d1")),
        (read_samples, lines(sample(1, acc_norm=0.5)), ("invalid-verdict",)),
        (read_samples, lines(sample(1, doc=3)), ("not-an-object",)),
        (read_samples, "{\n", ("invalid-json",)),
        (read_samples, "", ("nothing-found",)),
        (read_factors, "student,x\na,1\na,2\n", ("duplicate-student",)),
        (read_factors, "student\na\n", ("header-missing",)),
        (read_factors, "student,x\na\n", ("wrong-number-of-columns", "1")),
    ],
)
def test_invalid_answers_and_components_are_refused(reader: Any, text: str, said: tuple[str, ...]) -> None:
    with refusal(*said, kind=FileError):
        read(reader, text)


def test_components_are_read_and_retrieval_names_normalized() -> None:
    found = read(read_factors, "student,LLM,Retriever,ICL,size\na,llama,bm25,ICL@0,7\nb,mistral,,ICL@1,\n")
    assert found == {
        "a": {"model": "llama", "retrieval": "bm25", "icl": "ICL@0", "size": "7"},
        "b": {"model": "mistral", "icl": "ICL@1"},
    }
    names = ["closed_book", "Closed Book", "ClosedB", "closed-book", "open_book", "Open-Book", "Oracle", "bm25"]
    text = "student,retrieval\n" + "".join(f"s{at},{name}\n" for at, name in enumerate(names))
    report = Report()
    levels = [one["retrieval"] for one in read_factors(source("c.csv", text), report).values()]
    assert levels == ["closed-book"] * 4 + ["oracle"] * 3 + ["bm25"]
    assert [note.line for note in report.notes] == [2, 3, 4, 6, 7, 8], "every nonstandard spelling is noted"
    # Other components keep their values.
    assert read(read_factors, "student,mode\na,open_book\n") == {"a": {"mode": "open_book"}}


FILES = examples(200)
WORDS = ("what", "do", "bees", "eat", "when", "the", "moon", "pulls", "old", "water")
MEASURES = ("nDCG@10", "map", "P_10", "recip_rank", "ndcg_cut_5", "RR@10", "bpref", "EXAM-Cover@20")
IDS = {"letters": ("q{}", "doc{}"), "numbers": ("10{}", "7{:04}"), "long": ("2020-{}", "msmarco_v2.1_doc_{:02}_1#0_0")}
QUERIES = [form.format(number) for form, _ in IDS.values() for number in range(1, 9)]
PASSAGES = [form.format(number) for _, form in IDS.values() for number in range(1, 30)]


@dataclass(frozen=True)
class Made:
    """A generated file with its expected content.

    Args:
        kind: its name on the command line.
        clear: whether a person who knows the format can identify the columns.
        content: the reader that returns the form of `truth`; by default the one of its kind.
    """

    kind: str
    name: str
    text: str
    clear: bool
    truth: Any
    content: str = ""

    @property
    def source(self) -> Source:
        return source(self.name, self.text)

    def read(self, report: Report) -> Any:
        return CONTENTS[self.content or self.kind](self.source, report)


CONTENTS: dict[str, Callable[[Source, Report], Any]] = {
    "runs": lambda file, report: {
        (line.query_id, line.passage_id, line.rank, line.score, line.tag) for line in read_run_lines(file, report)
    },
    "qrels": lambda file, report: {(one.query_id, one.passage_id, one.value) for one in read_qrels(file, report)},
    "leaderboard": lambda file, report: {
        board.measure: ({row.run: round(row.score, 6) for row in board.rows}, board.per_query)
        for board in read_boards(file, report)
    },
    "responses-matrix": lambda file, report: {one.student: one.verdicts for one in read_matrix(file, report)},
    "students": read_factors,
    "bank": lambda file, report: {
        (q.query_id, q.question_id, q.text, q.weight) for q in read_bank(file, report).questions
    },
    "bank without ids": lambda file, report: {(q.query_id, q.text) for q in read_bank(file, report).questions},
    "queries": lambda file, report: {q.query_id: (q.text, q.narrative) for q in read_queries(file, report)},
    "passages": lambda file, report: {p.passage_id: p.text for p in read_passages(file, report)},
}


def sentence(random: Random, least: int = 3) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(least, 9)))


def table(
    random: Random, rows: list[list[str]], names: Sequence[str] | None, usual: str, spaced: bool = True
) -> tuple[str, bool]:
    """Return a table with random column order and separator, and whether it is clear how to read it.

    Args:
        names: names of the columns; None for a table without a header.
        usual: separators for which the column order is known without a header.
        spaced: whether spaces may separate cells, because no cell contains any.
    """
    separator = random.choice("\t,; " if spaced else "\t,;")
    places = list(range(len(rows[0])))
    if random.random() < 0.5:
        random.shuffle(places)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    for row in [*([names] if names else []), *rows]:
        writer.writerow([row[at] for at in places])
    return out.getvalue(), bool(names) or (places == sorted(places) and separator in usual)


def ids(random: Random) -> tuple[list[str], list[str]]:
    query, passage = random.choice(list(IDS.values()))
    numbers = random.sample(range(1, 9), random.randint(2, 4))
    return [query.format(n) for n in numbers], [passage.format(n) for n in random.sample(range(1, 30), 8)]


def a_run(random: Random) -> Made:
    queries, passages = ids(random)
    tag = random.choice(("bm25", "dense-2", "run_a"))
    rows = []
    for query in queries:
        scores = sorted((round(random.uniform(1, 30), 4) for _ in range(5)), reverse=True)
        for rank, (passage, score) in enumerate(zip(random.sample(passages, 5), scores, strict=True), 1):
            rows.append([query, "Q0", passage, str(rank), f"{score:.4f}", tag])
    truth = {(query, passage, float(rank), float(score), tag) for query, _, passage, rank, score, _ in rows}
    named = (["qid", "Q0", "docno", "rank", "score", "tag"], ["query-id", "iter", "doc_id", "rank", "score", "run"])
    names = random.choice((None, *named))
    text, clear = table(random, rows, names, "\t,; ")
    return Made("runs", random.choice(("some.run", "some.txt", "some.tsv")), text, clear, truth)


def some_qrels(random: Random) -> Made:
    queries, passages = ids(random)
    rows = [[q, "0", p, str(random.randint(0, 3))] for q in queries for p in random.sample(passages, 5)]
    truth = {(q, p, int(value)) for q, _, p, value in rows}
    names = random.choice((None, ["query_id", "iteration", "doc_id", "relevance"], ["topic", "iter", "docid", "rel"]))
    if random.random() < 0.4:
        rows = [[q, p, value] for q, _, p, value in rows]
        names = random.choice((["query-id", "corpus-id", "score"], ["qid", "pid", "label"]))
    text, clear = table(random, rows, names, "\t,; ")
    return Made("qrels", random.choice(("some.qrels", "test.tsv", "some.txt")), text, clear, truth)


def a_wide_board(random: Random) -> Made:
    measures = random.sample(MEASURES, random.randint(1, 4))
    systems = [f"sys-{n}" for n in range(random.randint(2, 6))]
    rows = [[system, *(f"{random.random():.4f}" for _ in measures)] for system in systems]
    names = [random.choice(("run", "system", "run_id", "method")), *measures] if random.random() < 0.8 else None
    text, clear = table(random, rows, names, "")
    truth = {m: ({row[0]: float(row[at]) for row in rows}, {}) for at, m in enumerate(measures, 1)}
    return Made("leaderboard", random.choice(("board.tsv", "board.csv")), text, clear, truth)


def a_matrix(random: Random) -> Made:
    items = [f"item-{n}" for n in range(random.randint(3, 6))]
    rows = [[f"model-{n}", *(random.choice("01") for _ in items)] for n in range(random.randint(2, 5))]
    names = ["student", *items] if random.random() < 0.7 else None
    text, clear = table(random, rows, names, "")
    truth = {row[0]: {item: cell == "1" for item, cell in zip(items, row[1:], strict=True)} for row in rows}
    return Made("responses-matrix", "answers.csv", text, clear, truth)


def factors(random: Random) -> Made:
    rows = [[f"model-{n}", random.choice(("llama", "mistral")), random.choice(("bm25", "oracle"))] for n in range(4)]
    text, clear = table(random, rows, ["student", "model", "retrieval"], "")
    truth = {student: {"model": model, "retrieval": retrieval} for student, model, retrieval in rows}
    return Made("students", "parts.csv", text, clear, truth)


def a_bank(random: Random) -> Made:
    queries, _ = ids(random)
    rows = [[q, f"{q}/{n}", f"{sentence(random)}?", str(random.randint(1, 4))] for q in queries for n in range(2)]
    truth = {(q, question, text, float(weight)) for q, question, text, weight in rows}
    names: list[str] | None = ["query_id", "question_id", "text", "weight"]
    usual = ""
    if random.random() < 0.3:
        rows, names, usual = [[q, text] for q, _, text, _ in rows], None, "\t"
        truth = {(q, text) for q, text in rows}
    text, clear = table(random, rows, names, usual, spaced=False)
    content = "bank" if names else "bank without ids"
    return Made("bank", random.choice(("bank.csv", "questions.tsv")), text, clear, truth, content)


def some_texts(random: Random) -> Made:
    queries, passages = ids(random)
    of_queries = random.random() < 0.5
    rows = [[key, sentence(random), sentence(random)] for key in (queries if of_queries else passages)]
    names: list[str] | None = (
        [random.choice(("query_id", "qid", "topic_id")), random.choice(("text", "query")), "narrative"]
        if of_queries else [random.choice(("docid", "doc_id", "passage_id")), random.choice(("text", "body")), "title"]
    )  # fmt: skip
    if random.random() < 0.6 or (random.random() < 0.4 and not of_queries):
        rows, names = [row[:2] for row in rows], names[:2]
    if of_queries:
        truth: Any = {row[0]: (row[1], row[2] if len(row) > 2 else None) for row in rows}
    else:
        truth = {row[0]: " ".join(row[:0:-1]) for row in rows}
    if random.random() < 0.3:
        keys = ["_id" if random.random() < 0.5 else names[0], *names[1:]]
        text, clear = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows), True
    else:
        if random.random() < 0.4 and len(names) == 2:
            names = None
        text, clear = table(random, rows, names, "\t", spaced=False)
    kind, name = ("queries", "queries") if of_queries else ("passages", "corpus")
    return Made(kind, f"{name}.{random.choice(('tsv', 'csv', 'jsonl'))}", text, clear, truth)


MAKERS = (a_run, some_qrels, a_wide_board, a_matrix, factors, a_bank, some_texts)


def imported(project: Project, kind: str, source: Source) -> bool:
    """Return whether a project with the queries and passages accepts a file."""
    try:
        import_files(project, kind, [source], "ann", preview=True)
    except WorkbenchError:
        return False
    return True


def outcome(project: Project, made: Made) -> str:
    """Return how a file is handled: right, refused, or the mistake."""
    guess, report = detect_kind(made.source), Report()
    if guess is None:
        assert describe_unrecognised(made.source)
    elif guess != made.kind and imported(project, guess, made.source):
        return f"taken for {guess}"
    if made.kind in ("runs", "qrels") and imported(project, "leaderboard", made.source):
        return "let in as leaderboard"
    found = made.read(report)
    if report.count:
        return "refused"
    if found != made.truth:
        return "read wrongly" if imported(project, made.kind, made.source) else "refused"
    return "right" if guess == made.kind else "right, not guessed"


def test_files_are_read_correctly_or_refused(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    with project.transaction() as cursor:
        add_queries(cursor, [Query(query, "words") for query in QUERIES], replace=False)
        add_passages(cursor, [Passage(passage, "words") for passage in PASSAGES])
    wrong: list[tuple[int, str, str, str]] = []
    seen: Counter[str] = Counter()
    for seed in range(FILES):
        random = Random(seed)
        made = MAKERS[seed % len(MAKERS)](random)
        said = outcome(project, made)
        seen[said] += made.clear
        if said not in ("right", "right, not guessed", "refused"):
            wrong.append((seed, made.kind, said, made.text[:300]))
    project.close()
    assert not wrong, wrong[:3]
    assert seen["right"] >= 0.9 * sum(seen.values())
