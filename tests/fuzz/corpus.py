"""Files that once failed a property or a reader, named by their fault. Add every new one."""

import gzip
import json
from typing import Any

from tests.fuzz.strategies import DIRECT, OURS, PLACED, QUESTION, RATED, File


def _graded(
    entry: dict[str, Any], data: dict[str, Any] | None = None, name: object = "p3", query: object = "q1"
) -> File:
    passage = {"paragraph_id": name, "text": "t", "paragraph_data": data or {}, "exam_grades": [entry]}
    return File("graded", "g.jsonl", json.dumps([query, [passage]]).encode() + b"\n")


def _rows(kind: str, *rows: object) -> File:
    return File(kind, f"{kind}.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())


CORPUS = {
    "tag ends with a wide space": File("runs", "r.run", "q0 Q0 p0 1 5 o\u3000\nq1 Q0 p1 1 4 a\u3000b\n".encode()),
    "score beyond a number": File("runs", "r.run", b"q0 Q0 p0 1 1e999 r\n"),
    "id of 513 characters": File("runs", "r.run", b"q0 Q0 " + b"x" * 513 + b" 1 1 r\n"),
    "separator inside an id": File("runs", "r.run", "q0 Q0 p\u00a00 1 1 r\n".encode()),
    "next line inside an id": File("qrels", "j.qrels", "q0 0 p\x850 1\n".encode()),
    "judgment beyond its type": File("qrels", "j.qrels", b"q0 0 p0 99999999999999999999\n"),
    "same pair twice": File("qrels", "j.qrels", b"q0 0 p0 1\nq0 0 p0 2\n"),
    "only blank lines": File("qrels", "j.qrels", b"\n \n"),
    "half a character": File("queries", "q.jsonl", b'{"query_id": "q0", "text": "\\ud800"}\n'),
    "map instead of a row": File("queries", "q.jsonl", b'{"q7": "some words"}\n'),
    "map of a number": File("queries", "q.jsonl", b'{"q7": 5}\n'),
    "row without a cell": File("queries", "q.tsv", b"q7\n"),
    "NUL in a text": _rows("passages", {"docid": "p7", "text": "x\0y"}),
    "bell as an id": _rows("passages", {"docid": "\x07", "text": "t"}),
    "deep value": File("passages", "p.jsonl", b'{"docid": "p7", "text": "t", "x": ' + b"[" * 999 + b"]" * 999 + b"}\n"),
    "number of 5,000 digits": File("passages", "p.jsonl", b'{"docid": ' + b"9" * 5000 + b', "text": "t"}\n'),
    "gzip of gzip": File("passages", "p.tsv.gz", gzip.compress(gzip.compress(b"p7\tt\n"))),
    "cut gzip": File("passages", "p.tsv.gz", gzip.compress(b"p7\tt\n" * 99)[:-9]),
    "weight beyond its bound": _rows("bank", {**QUESTION, "weight": 1e16}),
    "weight beyond the machine": _rows("bank", {**QUESTION, "weight": 2**70}),
    "separator of choices in a key": _rows("bank", {**QUESTION, "answer_key": "key\x1fanswer"}),
    "choices with marks": _rows("bank", {**QUESTION, "choices": ["a|b", "\\&", "'=1", ""]}),
    "formula": _rows("bank", {**QUESTION, "text": "=cmd|' /C calc'!A0", "answer_key": "'=1", "note": "@x"}),
    "cell with line ends": File("bank", "b.csv", b'query_id,text\nq0,"two\r\nlines"\nq0\n'),
    "type beyond the machine": _graded({**RATED, "prompt_type": 2**70}),
    "model beyond the machine": _graded({**RATED, "llm": 2**70}),
    "answer beyond the machine": _graded({**RATED, "answers": [["q1/x1", 2**70]]}),
    "rating beyond the scale": _graded({**RATED, "self_ratings": [{"question_id": "q1/x1", "self_rating": 99}]}),
    "passage id beyond the machine": _graded(RATED, name=2**70),
    "fraction as an id": _graded(RATED, name=7.5),
    "numbers as ids": _graded(RATED, name=7, query=12),
    "relevance beyond the machine": _graded(RATED, {"judgments": [{"relevance": 2**70}]}),
    "relevance beyond a number": File(
        "graded", "g.jsonl", _graded(RATED, {"judgments": [{"relevance": 1, "x": 7.5}]}).data.replace(b"7.5", b"1e999")
    ),
    "our question beyond the machine": _graded(
        RATED, {**PLACED, "exam_workbench": {"questions": [{**QUESTION, "weight": 2**70}]}}
    ),
    "our entry without its list": _graded({**OURS, "exam_workbench": {"asked": None}}),
    "direct entry among questions": _graded(DIRECT),
    "tied ratings of one pair": _graded({**RATED, "self_ratings": RATED["self_ratings"] * 2}),
    "no right answer among the choices": File(
        "exam", "e.json", b'[{"question": "t", "choices": ["k", "Dt"], "correct_answer": "d", "documentation": "w"}]'
    ),
    "empty map": File("leaderboard", "l.json", b'{"AP": {}}'),
    "NaN as a score": File("leaderboard", "l.tsv", b"run\tAP\nr1\tnan\n"),
    "empty matrix": File("responses-matrix", "m.csv", b"student,i1\n"),
    "empty response": _rows("responses", {"query_id": "q0", "run": "w", "text": " \n"}),
}  # fmt: skip
