"""Lines of a graded file in the usual form, parsed into typed records.

Most of a line is rankings and question lists. If the keys are known beforehand, parsing takes half of the time and a
quarter of the memory. Fields that the reader does not need are skipped.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import orjson

from ._graded_form import OURS
from ._source import Refused, check_nul

_NOTHING = msgspec.Raw(b"null")
# Beyond these bounds the other parser turns whole numbers into fractions.
_Id = str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None


def plain(value: Any) -> Any:
    """Parse a value that was left as raw JSON; any other value is returned unchanged.

    Raises:
        ValueError: a number in it is out of range.
    """
    return orjson.loads(memoryview(value)) if isinstance(value, msgspec.Raw) else value


class Entry(msgspec.Struct, gc=False):
    """A run's ranking of a passage, as in the file. Other fields are skipped."""

    method: str
    rank: int
    score: float
    query: str | None = msgspec.field(default=None, name="queryId")


class ParagraphData(msgspec.Struct):
    """The data of a passage except its text and grades; if the line is in another form, as parsed.

    Args:
        judgments: see `plain`.
        rankings: entries, in the usual form.
        ours: data that the interchange form cannot hold; see `plain`.
    """

    judgments: msgspec.Raw = _NOTHING
    rankings: list[Entry] | None = None
    ours: msgspec.Raw = msgspec.field(default=_NOTHING, name=OURS)


class ExamGrades(msgspec.Struct):
    """One grader's grades of a passage, as in the file.

    Values that thousands of entries share, or that repeat other values, stay raw until they are needed.
    """

    llm: str
    self_ratings: Any = None
    prompt_type: str | None = None
    answers: msgspec.Raw = _NOTHING
    ours: msgspec.Raw = msgspec.field(default=_NOTHING, name=OURS)
    llm_options: msgspec.Raw = _NOTHING
    prompt_info: msgspec.Raw = _NOTHING
    right: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="correctAnswered")
    wrong: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="wrongAnswered")

    def whole(self) -> dict[str, Any]:
        """Return the same as a dictionary."""
        named = zip(self.__struct_encode_fields__, msgspec.structs.astuple(self), strict=True)
        return {name: plain(value) for name, value in named if value is not msgspec.UNSET}


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


def passage_of(given: Any) -> PassageOfLine:
    """Return a passage of a line in any form, with its values as in the file.

    Raises:
        AttributeError: it is not an object.
    """
    if isinstance(given, PassageOfLine):
        return given
    return PassageOfLine(*map(given.get, PassageOfLine.__struct_fields__))


def paragraph_data(data: Any) -> ParagraphData:
    """Return a passage's data in any form, with its values as in the file.

    Raises:
        AttributeError: it is not an object.
    """
    if isinstance(data, ParagraphData):
        return data
    return ParagraphData(data.get("judgments"), data.get("rankings"), data.get(OURS))
