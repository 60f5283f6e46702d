"""Lines of a graded file in the usual form, parsed into what they have to be.

Most of a line is where the runs rank its passages, and what graders were asked of each. An object whose keys are known
beforehand is parsed in half the time of one that may have any, in a quarter of the memory, and what nobody asks for is
only passed over.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import orjson

from .graded_form import OURS
from .source import Refused, check_nul

_NOTHING = msgspec.Raw(b"null")
_NONE = (_NOTHING, msgspec.Raw(b"[]"), msgspec.Raw(b"{}"))
# Beyond these bounds the other parser makes fractions of whole numbers.
_Id = str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None


def plain(value: Any) -> Any:
    """What stays as it was written in the file, parsed as all other JSON is: as objects of any keys.

    Raises:
        ValueError: a number in it is beyond belief.
    """
    return orjson.loads(memoryview(value)) if isinstance(value, msgspec.Raw) else value


class Entry(msgspec.Struct, gc=False):
    """Where a run ranks a passage, as the file states it. What else the file says of it is passed over."""

    method: str
    rank: int
    score: float
    query: str | None = msgspec.field(default=None, name="queryId")


class ParagraphData(msgspec.Struct):
    """What a line says of a passage beside its text and grades; of a line in another form, as it was parsed.

    Args:
        judgments: see `plain`.
        rankings: in the usual form entries.
        ours: what the interchange form has no place for; see `plain`.
    """

    judgments: msgspec.Raw = _NOTHING
    rankings: list[Entry] | None = None
    ours: msgspec.Raw = msgspec.field(default=_NOTHING, name=OURS)


class ExamGrades(msgspec.Struct):
    """What a grader said of a passage to some questions, as the file has it.

    What is the same in thousands of entries, or is said once more in another way, stays as it was written until
    somebody asks for it.
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

    @property
    def only_rated(self) -> bool:
        """Whether nothing but ratings need be looked at."""
        return self.answers in _NONE and self.ours in _NONE

    def whole(self) -> dict[str, Any]:
        """The same as an object of any keys."""
        named = zip(self.__struct_encode_fields__, msgspec.structs.astuple(self), strict=True)
        return {name: plain(value) for name, value in named if value is not msgspec.UNSET}


class PassageOfLine(msgspec.Struct, forbid_unknown_fields=True):
    """A passage of a line, as the file has it; of a line in another form, as it was parsed."""

    paragraph_id: _Id = None
    text: str | None = None
    paragraph: Any = None
    paragraph_data: ParagraphData | None = None
    exam_grades: list[ExamGrades] | None = None
    grades: msgspec.Raw = _NOTHING


_LINE = msgspec.json.Decoder(tuple[_Id, list[PassageOfLine]])


def parse_usual(line: bytes) -> tuple[object, list[PassageOfLine]]:
    """Parse a line of a graded file in the usual form: the query's id, and passages.

    In what nobody asks for a number may be greater than any that the other parser knows.

    Raises:
        Refused: it is in another form, or is no valid JSON; what is wrong with it is not said.
    """
    try:
        if not line.isascii():
            # In what it passes over the parser does not look at this.
            line.decode()
        record = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused("not-the-usual-form", "the line is not in the usual form") from error
    check_nul(line)
    return record


def passage_of(given: Any) -> PassageOfLine:
    """A passage of a line of whatever form, with what it has as the file has it.

    Raises:
        AttributeError: it is no object.
    """
    if isinstance(given, PassageOfLine):
        return given
    return PassageOfLine(*map(given.get, PassageOfLine.__struct_fields__))


def paragraph_data(data: Any) -> ParagraphData:
    """The same of what a line says of a passage.

    Raises:
        AttributeError: it is no object.
    """
    if isinstance(data, ParagraphData):
        return data
    return ParagraphData(data.get("judgments"), data.get("rankings"), data.get(OURS))
