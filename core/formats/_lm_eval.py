"""Samples that lm-evaluation-harness logs for a multiple-choice task: JSONL, one file per examinee."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import orjson

from ..errors import Report
from ..text import clean_text, first_few, without_marks
from ..types import Question
from ._answer_matrix import SatElsewhere
from ._file_kind import Beginning, FileKind
from ._source import WHOLE, Limits, Refused, Source, first_of, good_id, open_objects, refusing
from .exam_files import item_id

ID_KEYS = ("question_id", "id")
VERDICTS = ("acc_norm", "acc", "exact_match")
"""The verdicts that a line may have; the first of them counts."""

EXAM = "exam"
"""The query of items that arrive together with answers."""
_TIME = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")


def read_samples(source: Source, report: Report, student: str | None = None) -> SatElsewhere:
    """Read the answers of one examinee.

    A line is right if its `acc_norm` is 1; without `acc_norm` if its `acc` is 1; without both if its `exact_match`
    is 1. (`acc_norm` uses the likelihood of a choice per character.) If several filters give verdicts, that of the
    first line counts.

    Args:
        source: JSONL with `doc`, a verdict, and `resps`.
        report: receives refused lines, and notes on verdicts and filters that are left out.
        student: name of the examinee; None means the folder if the harness named the file, else the file's name.
    """
    verdicts: dict[str, bool] = {}
    questions: list[Question] = []
    counted: Any = None
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with refusing(report, source.name, number):
            question = _question(row)
            used = row.get("filter")
            counted = counted if verdicts else used
            if used != counted:
                report.remark(
                    source.name, number, "further-filter", f"the result of filter {used} is left out; {counted} counts"
                )
                continue
            if question.question_id in verdicts:
                if first_of(row["doc"], ID_KEYS) is None:
                    report.remark(source.name, number, "duplicate-item", "duplicate item; the first one counts")
                    continue
                raise Refused("duplicate-item", f"duplicate item {question.question_id}")
            if "acc_norm" not in row and "acc" in row:
                report.remark(
                    source.name,
                    number,
                    "no-acc-norm",
                    "acc is used because acc_norm is missing; the length of the choices is not considered",
                )
            verdicts[question.question_id] = _verdict(row)
            questions.append(question)
    report.require(verdicts, source.name, "samples")
    return SatElsewhere(student or _student(source), verdicts, questions)


def _student(source: Source) -> str:
    """Return the folder, which is named after the model, if the harness named the file; else the file's name."""
    *folders, _ = re.split(r"[/\\]", source.name)
    named = source.stem.removeprefix("samples_")
    bare = _TIME.sub("", named)
    if bare != named and folders and folders[-1] not in ("", ".", ".."):
        return folders[-1]
    return bare or source.stem


def _verdict(row: Mapping[str, Any]) -> bool:
    name = next((name for name in VERDICTS if name in row), None)
    if name is None:
        raise Refused(
            "verdict-missing",
            f"the result is missing: use one of {', '.join(VERDICTS)}; the line has {first_few(list(row))}",
        )
    if type(row[name]) not in (int, float, bool) or row[name] not in (0, 1):
        raise Refused("invalid-verdict", f"{name} is neither 0 nor 1")
    return bool(row[name])


def _question(row: Mapping[str, Any]) -> Question:
    """Return the item of a line, with its words if they are known. Its id is the one in `doc`, else derived from its
    words.

    The number of a document cannot be the id, since numbering restarts at 0 in every task.
    """
    doc = row.get("doc")
    if not isinstance(doc, dict):
        raise Refused("not-an-object", "doc is not an object")
    name = first_of(doc, ID_KEYS)
    text = first_of(doc, ("question", "query"))
    choices = doc.get("choices")
    labels: Sequence[Any] = ascii_uppercase
    if isinstance(choices, dict):
        labels, choices = choices.get("label") or labels, choices.get("text")
    whole = isinstance(choices, list) and len(choices) > 1 and all(isinstance(one, str) for one in choices)
    asked = clean_text(text).strip() if isinstance(text, str) else ""
    given = [" ".join(clean_text(choice).split()) for choice in choices or []] if whole else []
    content = asked or orjson.dumps(doc, option=orjson.OPT_SORT_KEYS).decode()
    question_id = item_id(EXAM, content, without_marks(given)) if name is None else good_id(name, "item")
    if not asked or not whole:
        return Question(question_id, EXAM, asked or None, "choice")
    key = _key(first_of(doc, ("gold", "answerKey", "answer", "correct_answer")), choices or [], labels)
    return Question(question_id, EXAM, asked, "choice", answer_key=key, choices=tuple(choices or []))


def _key(key: Any, choices: Sequence[str], labels: Sequence[Any]) -> str | None:
    """Return the text of the right choice, given its position, its label or its text."""
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
    what="answers of one examinee: samples_*.jsonl of lm-evaluation-harness, with doc and acc_norm, acc or exact_match",
    extensions=("jsonl",),
    read=read_samples,
    write=None,
    looks_like={"record": _is_record},
)
