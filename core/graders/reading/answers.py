"""Reading the answer to a call in the form in which it was asked for: as JSON of a schema, or in words."""

from __future__ import annotations

from .calls import Call, Completion
from .parsing import (
    UNDECIDED,
    Parsed,
    parse_json_answer,
    parse_json_rating,
    parse_letter,
    parse_object,
    parse_rating,
    parse_yes_no,
)


def read(call: Call, completion: Completion) -> Parsed:
    """Read a rating, yes and no, or the position of a letter; `call` has one of these forms."""
    return _read(call, completion.text, completion.complete, completion.structured)


def is_of_schema(call: Call, text: str) -> bool:
    """Whether a text is an answer of the schema that is asked for."""
    if call.form == "json":
        return parse_object(text) is not None
    return _is_answer(_read(call, text, True, True))


def is_in_words(call: Call, text: str) -> bool:
    """Whether a text names, outside of any schema, what was asked for."""
    if call.form == "json":
        # Whoever asked reads it, in whatever form it came.
        return False
    return _is_answer(_read(call, text, True, False))


def _is_answer(parsed: Parsed) -> bool:
    """Whether a text is one of the answers asked for: a judge that says it cannot tell has kept to the form."""
    return parsed.status == "graded" or parsed.reason == UNDECIDED


def _read(call: Call, text: str, complete: bool, structured: bool) -> Parsed:
    if call.form == "rating":
        top = call.prompt.top
        return parse_json_rating(text, top, complete) if structured else parse_rating(text, complete, top)
    if call.form == "letter":
        if structured:
            return parse_json_answer(text, letters=call.options, complete=complete)
        return parse_letter(text, call.options, complete)
    return parse_json_answer(text, complete=complete) if structured else parse_yes_no(text, complete)
