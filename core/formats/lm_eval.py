"""Samples that lm-evaluation-harness logs of a multiple-choice task: JSONL, one file a student."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from core.errors import Report
from core.formats.file_kind import Beginning, FileKind
from core.formats.responses_matrix import SatElsewhere
from core.formats.source import WHOLE, Limits, Refused, Source, first_of, good_id, open_lines, parse_object
from core.text import clean_text
from core.types import Question

EXAM = "exam"
"""The query of items that come with answers."""
_TIME = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")


def read_samples(source: Source, report: Report) -> SatElsewhere:
    """Read what one student answered.

    A line is right where its `acc_norm` is 1, the score by the likelihood of a choice for each of its characters;
    where it has none, where its `acc` is.

    Args:
        source: JSONL with `doc`, `acc` or `acc_norm`, and `resps`; the student is named by the file.
        report: takes refused lines.
    """
    refused_before = report.count
    verdicts: dict[str, bool] = {}
    questions: list[Question] = []
    for number, line in open_lines(source, report, Limits(WHOLE)):
        if not line or line.isspace():
            continue
        try:
            row = parse_object(line)
            question = _question(row)
            if question.question_id in verdicts:
                raise Refused(f"the item {question.question_id} is there twice")
            if "acc_norm" not in row:
                report.remark(source.name, number, "there is no acc_norm: acc is taken, whatever the choices' lengths")
            verdicts[question.question_id] = _verdict(row)
            questions.append(question)
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
    if not verdicts and report.count == refused_before:
        report.refuse(source.name, None, "the file has no samples in it")
    return SatElsewhere(_student(source), verdicts, questions)


def _student(source: Source) -> str:
    """The file's name without what the harness puts around it."""
    return _TIME.sub("", source.stem.removeprefix("samples_")) or source.stem


def _verdict(row: Mapping[str, Any]) -> bool:
    score = row.get("acc_norm", row.get("acc"))
    if type(score) not in (int, float, bool) or score not in (0, 1):
        raise Refused("acc_norm or acc is neither 0 nor 1")
    return bool(score)


def _question(row: Mapping[str, Any]) -> Question:
    """The item of a line: its id in `doc`, else the number of the document; with its words where they are there."""
    doc = row.get("doc")
    if not isinstance(doc, dict):
        raise Refused("doc is no object")
    name = first_of(doc, ("question_id", "id"))
    question_id = good_id(str(row.get("doc_id")) if name is None else name, "item")
    text = first_of(doc, ("question", "query"))
    choices = doc.get("choices")
    labels: Sequence[Any] = ascii_uppercase
    if isinstance(choices, dict):
        labels, choices = choices.get("label") or labels, choices.get("text")
    whole = isinstance(choices, list) and len(choices) > 1 and all(isinstance(one, str) for one in choices)
    if not isinstance(text, str) or not clean_text(text).strip() or not whole:
        return Question(question_id, EXAM, None, "choice")
    key = _key(first_of(doc, ("gold", "answerKey", "answer", "correct_answer")), choices or [], labels)
    return Question(question_id, EXAM, clean_text(text), "choice", answer_key=key, choices=tuple(choices or []))


def _key(key: Any, choices: Sequence[str], labels: Sequence[Any]) -> str | None:
    """The text of the right choice, from its position, its label or itself."""
    if type(key) is int and 0 <= key < len(choices):
        return choices[key]
    if isinstance(key, str):
        if key in choices:
            return key
        named = dict(zip(map(str, labels), choices, strict=False))
        return named.get(key.strip())
    return None


def _is_record(beginning: Beginning) -> bool:
    keys = beginning.keys
    return "doc" in keys and bool(keys & {"resps", "filtered_resps"})


KIND = FileKind(
    name="lm-eval",
    title="Samples of lm-evaluation-harness",
    what="answers of one student: samples_*.jsonl of lm-evaluation-harness, with doc and acc or acc_norm",
    extensions=("jsonl",),
    read=read_samples,
    write=None,
    looks_like={"record": _is_record},
)
