"""The form of Autograder/RUBRIC files: keys, questions asked, graders, details of grades, and lines
as typed records.

Most of a line is rankings and question lists. If the keys are known beforehand, parsing takes half
of the time and a quarter of the memory. Fields that the reader does not need are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar

import msgspec
import orjson

from ..types import KINDS, MAX_RATING, GradeDetail, GraderSpec, Kind
from ._source import Refused, check_nul

OURS = "exam_workbench"
"""The key for data that the interchange form cannot hold."""
DIRECT = "direct_grading"
DIRECT_SCALE = 3


def describe_grader(
    model: str,
    options: object,
    info: dict[str, Any] | None,
    prompt_type: object,
    is_rated: bool,
    direct: bool,
) -> GraderSpec:
    """Return the grader that an entry of a foreign file describes. `is_rated`: the entry has
    ratings.

    Raises:
        Refused: its model or prompt is not a text.
    """
    prompt = (info or {}).get("prompt_class") or ""
    if not isinstance(model, str) or not isinstance(prompt, str):
        raise Refused("not-a-text", "llm or prompt_class is not a text")
    parameters: dict[str, Any] = {"llm_options": options, "prompt_info": info}
    if prompt_type not in ((DIRECT,) if direct else ("question", "nugget")):
        parameters["prompt_type"] = prompt_type
    kinds: tuple[Kind, ...] = ("nugget",) if prompt_type == "nugget" else ("question",)
    method, top = ("self-rating", MAX_RATING) if is_rated else ("answer", 1)
    if direct:
        method, kinds, top = "direct", KINDS, DIRECT_SCALE if is_rated else 1
    name = " · ".join(part for part in (model.rsplit("/", 1)[-1], prompt) if part)
    return GraderSpec(name or method, method, model, prompt, "", parameters, kinds, top)


def read_ratings(entries: Sequence[Any], prompt_type: object) -> tuple[list[str], list[int | None]]:
    """Return the ids and ratings of an entry's `self_ratings`.

    Args:
        entries: instances of `Rating`, or dictionaries.

    Raises:
        KeyError: an id or a rating is missing.
    """
    if not (entries and isinstance(entries[0], Rating)):
        entries = [
            Rating(row["self_rating"], row.get("question_id"), row.get("nugget_id"))
            for row in entries
        ]
    ids = [row.nugget_id if prompt_type == "nugget" else row.question_id for row in entries]
    if None in ids:
        ids = [row.question_id or row.nugget_id for row in entries]
    if None in ids:
        raise KeyError("question_id")
    return ids, [row.self_rating for row in entries]


def read_answered(
    right: Sequence[str], wrong: Sequence[str], answers: dict[str, Any]
) -> tuple[list[str], list[int | None]]:
    """Return the ids and ratings of an entry: 1 answered, 0 not answered, None if there is only an
    answer.

    Args:
        right, wrong: ids of questions.
        answers: texts by id of the question, in the order of the file.
    """
    known = {**dict.fromkeys(wrong, 0), **dict.fromkeys(right, 1)}
    # The answers are in the order of the questions. An id in neither list has no rating.
    ids = list(answers) if known.keys() <= answers.keys() else list({**known, **answers})
    return ids, list(map(known.get, ids))


NOTHING = GradeDetail()
_NAMES = tuple(field.name for field in fields(GradeDetail))


def write_details(details: Sequence[GradeDetail | None]) -> dict[str, list[Any]]:
    """Return details of one entry's grades as columns, in the order of its questions; empty columns
    are left out.
    """
    # Grades from elsewhere have no details.
    if not any(details):
        return {}
    given = [detail or NOTHING for detail in details]
    columns = {name: [getattr(detail, name) for detail in given] for name in _NAMES}
    return {
        name: values for name, values in columns.items() if set(values) != {getattr(NOTHING, name)}
    }


def read_details(ours: dict[str, Any], length: int) -> Iterator[tuple[int, GradeDetail]]:
    """Yield the details that `write_details` wrote, with their positions in the entry.

    Args:
        ours: the entry's value under this program's key.
        length: number of its grades.

    Raises:
        Refused: a column has another length, or a value has another type.
    """
    columns = {name: ours[name] for name in _NAMES if name in ours}
    if any(not isinstance(values, list) or len(values) != length for values in columns.values()):
        raise Refused("details-do-not-match", "the details do not have one value per grade")
    for position, values in enumerate(zip(*columns.values(), strict=True)):
        detail = _checked_detail(dict(zip(columns, values, strict=True)))
        if detail != NOTHING:
            yield position, detail


def write_detail(detail: GradeDetail | None) -> dict[str, Any]:
    """Return the details of a direct grader's single grade, without empty ones."""
    return {name: values[0] for name, values in write_details([detail]).items()}


def read_detail(ours: dict[str, Any]) -> GradeDetail:
    """Return the details that `write_detail` wrote.

    Raises:
        Refused: a value has another type.
    """
    return _checked_detail({name: ours[name] for name in _NAMES if name in ours})


def _checked_detail(values: dict[str, Any]) -> GradeDetail:
    detail = GradeDetail(**values)
    if type(detail.defaulted) is not bool:
        raise Refused("invalid-detail", "defaulted is neither true nor false")
    confidence = detail.confidence
    if confidence is not None and not (type(confidence) in (int, float) and 0 <= confidence <= 1):
        raise Refused(
            "invalid-detail", f"the confidence {confidence!r} is not a number from 0 to 1"
        )
    if not all(isinstance(text, str | None) for text in (detail.raw, detail.reason, detail.note)):
        raise Refused("invalid-detail", "the raw output, reason or note of a grade is not a text")
    return detail


_NOTHING = msgspec.Raw(b"null")
# Beyond these bounds the other parser turns whole numbers into fractions.
_Id = str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None


def parse_raw(value: Any) -> Any:
    """Parse a value that was left as raw JSON; any other value is returned unchanged.

    Raises:
        ValueError: a number in it is out of range.
    """
    return orjson.loads(memoryview(value)) if isinstance(value, msgspec.Raw) else value


def raw_json(value: Any) -> bytes:
    """Return a value that was left as raw JSON, or any other value, as JSON."""
    return bytes(value) if isinstance(value, msgspec.Raw) else orjson.dumps(value)


class Entry(msgspec.Struct, gc=False):
    """A run's ranking of a passage, as in the file. Other fields are skipped."""

    method: str
    rank: int
    score: float
    query: str | None = msgspec.field(default=None, name="queryId")


class ParagraphData(msgspec.Struct):
    """The data of a passage except its text and grades; if the line is in another form, as parsed.

    Args:
        judgments: see `parse_raw`.
        rankings: entries, in the usual form.
        ours: data that the interchange form cannot hold; see `parse_raw`.
    """

    judgments: msgspec.Raw = _NOTHING
    rankings: list[Entry] | None = None
    ours: msgspec.Raw = msgspec.field(default=_NOTHING, name=OURS)


class Rating(msgspec.Struct, gc=False):
    """A rating of an entry's `self_ratings`, with its values as in the file."""

    self_rating: Any
    question_id: Any = None
    nugget_id: Any = None


class ExamGrades(msgspec.Struct):
    """One grader's grades of a passage, as in the file.

    Values that thousands of entries share, or that repeat other values, stay raw until they are
    needed.
    """

    llm: str
    self_ratings: list[Rating] | None = None
    prompt_type: str | None = None
    answers: msgspec.Raw = _NOTHING
    ours: msgspec.Raw = msgspec.field(default=_NOTHING, name=OURS)
    llm_options: msgspec.Raw = _NOTHING
    prompt_info: msgspec.Raw = _NOTHING
    right: msgspec.Raw = msgspec.field(default=_NOTHING, name="correctAnswered")
    wrong: msgspec.Raw = msgspec.field(default=_NOTHING, name="wrongAnswered")


class PassageOfLine(msgspec.Struct, forbid_unknown_fields=True):
    """A passage of a line, as in the file; if the line is in another form, as parsed."""

    paragraph_id: _Id = None
    text: str | None = None
    paragraph: Any = None
    paragraph_data: ParagraphData | None = None
    exam_grades: list[ExamGrades] | None = None
    grades: msgspec.Raw = _NOTHING


_LINE = msgspec.json.Decoder(tuple[_Id, list[PassageOfLine]])


def parse_usual(line: bytes) -> tuple[object, list[PassageOfLine]]:
    """Parse a line of a graded file in the usual form: the query's id, and passages.

    Skipped fields may hold numbers that the other parser would refuse.

    Raises:
        Refused: it is in another form, or invalid JSON; the message does not give details.
    """
    try:
        if not line.isascii():
            # The parser does not check the encoding of fields that it skips.
            line.decode()
        record = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused("not-the-usual-form", "the line is not in the usual form") from error
    check_nul(line)
    return record


Record = TypeVar("Record", PassageOfLine, ParagraphData, ExamGrades)


def typed_record(content: Any, kind: type[Record]) -> Record:
    """Return a part of a line in any form as a record, with its values as in the file.

    Raises:
        AttributeError: it is not an object.
    """
    return (
        content
        if isinstance(content, kind)
        else kind(*map(content.get, kind.__struct_encode_fields__))
    )
