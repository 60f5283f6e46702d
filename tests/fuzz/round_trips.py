"""Round trips: accepted content is written, read again, and equal."""

import io
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from exam_workbench import formats
from exam_workbench.errors import Report
from exam_workbench.formats.graded_files import read_graded, write_graded
from exam_workbench.formats.passage_files import read_passages, write_passages
from exam_workbench.formats.query_files import read_queries, write_queries
from exam_workbench.formats.question_bank_files import write_bank, write_bank_csv
from exam_workbench.formats.trec_files import read_labels, read_qrels, write_qrels, write_run
from exam_workbench.types import GradeColumns, Ranked

Reader = Callable[[Sequence[formats.Source], Report], list[Any]]
Write = Callable[[list[Any], Any], None]


def _each(reader: Callable[[formats.Source, Report], Any]) -> Reader:
    return lambda sources, report: [one for source in sources for one in reader(source, report)]


def _questions(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    return [question for source in sources for question in formats.read_bank(source, report).questions]


def _responses(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    # An empty response cannot be written.
    return [replace(one, file="", line=None) for one in formats.read_responses(sources, report) if one.text.strip()]


def _labels(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    return [(j.query_id, j.passage_id, j.value) for source in sources for j, _ in read_labels(source, report)]


def _judgments(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    return [(j.query_id, j.passage_id, j.value) for source in sources for j in read_qrels(source, report)]


def _lines(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    found = (line for source in sources for line in formats.read_run_lines(source, report))
    return [(line.tag, line.query_id, line.passage_id, line.score) for line in found]


def _write_lines(lines: list[Any], out: Any) -> None:
    for tag, run in groupby(lines, lambda line: line[0]):
        write_run(tag, (Ranked(query, passage, 1, score) for _, query, passage, score in run), out)


def _grades(found: list[Any]) -> list[Any]:
    """Return graded queries with their grades by pair, in any order; pairs that a file repeats are left out."""
    return [
        (replace(query, grades=[]), {given.grader.fingerprint: _by_pair(given.columns()) for given in query.grades})
        for query in found
    ]


def _by_pair(columns: GradeColumns) -> dict[tuple[str, str], tuple[Any, ...]]:
    pairs = list(zip(columns.question_ids, columns.passage_ids, strict=True))
    times = Counter(pairs)
    grades = zip(pairs, columns.ratings, columns.answers, strict=True)
    return {pair: (*grade, columns.details.get(at)) for at, (pair, *grade) in enumerate(grades) if times[pair] == 1}


def _rows(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    """Return the systems of the first leaderboard, with the spaces in their names as in a table."""
    found = [board for source in sources for board in formats.read_boards(source, report)]
    return [(" ".join(row.run.split()), row.score, row.std_error) for row in found[0].rows] if found else []


def _write_rows(rows: list[Any], out: Any) -> None:
    formats.write_board_tsv("score", ((None, run, score, error, None) for run, score, error in rows), out)


def _students(sources: Sequence[formats.Source], report: Report) -> list[Any]:
    return [(one.student, one.verdicts) for source in sources for one in formats.read_matrix(source, report)]


def _write_students(found: list[Any], out: Any) -> None:
    # A table has at least one column.
    items = list(dict.fromkeys(item for _, verdicts in found for item in verdicts)) or ["none"]
    formats.write_matrix(items, [(student, [verdicts.get(item) for item in items]) for student, verdicts in found], out)


def _write_responses(found: list[Any], out: Any) -> None:
    for one in found:
        said = [{"text": one.text[s.begin : s.end], "citations": list(s.citations)} for s in one.sentences]
        row = {"query_id": one.query_id, "run": one.run, "topic": one.query_text}
        formats.write_objects([row | ({"answer": said} if said else {"text": one.text})], out)


def _write_answers(found: list[Any], out: Any) -> None:
    rows = map(asdict, found)
    formats.write_objects(({name: value for name, value in row.items() if value is not None} for row in rows), out)


ROUND_TRIPS: dict[str, tuple[Reader, tuple[tuple[str, Write], ...]]] = {
    "queries": (_each(read_queries), (("q.jsonl", write_queries),)),
    "passages": (_each(read_passages), (("p.jsonl", write_passages),)),
    "runs": (_lines, (("r.run", _write_lines),)),
    "qrels": (_judgments, (("j.qrels", write_qrels),)),
    "labels": (_labels, (("j.qrels", write_qrels),)),
    "bank": (_questions, (("b.jsonl", write_bank), ("b.csv", write_bank_csv))),
    "graded": (_each(read_graded), (("g.jsonl.gz", write_graded),)),
    "responses": (_responses, (("w.jsonl", _write_responses),)),
    "leaderboard": (_rows, (("l.tsv", _write_rows),)),
    "responses-matrix": (_students, (("m.csv", _write_students),)),
    "lm-eval": (_each(lambda source, report: [formats.read_samples(source, report)]), ()),
    "exam": (_each(formats.exam_files.read_exam), (("e.json", formats.exam_files.write_exam),)),
    "students": (_each(lambda source, report: [formats.read_factors(source, report)]), ()),
    "answers": (_each(formats.read_answers), (("a.jsonl", _write_answers),)),
    "answer-verdicts": (_each(formats.read_answer_verdicts), (("v.jsonl", _write_answers),)),
}
"""By kind of file: its reader, and the names and writers of its formats."""


def one_line(text: str) -> None:
    """Check that a message is one line of readable length without control characters."""
    assert len(text) <= 2_000, f"a message has {len(text)} characters: {text[:200]}"
    assert not any(unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs") for sign in text), repr(text)


def read(kind: str, name: str, data: bytes) -> list[Any]:
    """Return the content of a file, which must be read without errors."""
    report = Report()
    found = ROUND_TRIPS[kind][0]([formats.Source(name, data=data)], report)
    assert not report.count, f"our own {name} is refused: {report.problems[:1]}"
    return found


def goes_round(kind: str, source: formats.Source) -> bool:
    """Read a file; if no part of it is refused, write it and read it again.

    Returns:
        Whether no part was refused.
    """
    reader, ways = ROUND_TRIPS[kind]
    report = Report()
    found = reader([source], report)
    for problem in report.problems:
        one_line(str(problem))
    if report.count:
        return False
    for name, write in ways if found else ():
        again = read(kind, name, _written(write, found, name))
        if kind == "graded":
            assert _grades(again) == _grades(found)
        else:
            assert again == found, f"{name} differs when it is read again"
    return True


def _written(write: Write, found: list[Any], name: str) -> bytes:
    if name.endswith(".gz"):
        packed = io.BytesIO()
        write(found, packed)
        return packed.getvalue()
    out = io.StringIO(newline="")
    write(found, out)
    return out.getvalue().encode()
