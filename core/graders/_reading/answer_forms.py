"""Parsing of the answer to a call in its requested form: JSON with a schema, or words."""

from __future__ import annotations

from collections.abc import Callable

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
    settled_letter,
    settled_rating,
    settled_yes_no,
)
from .reasoning import opened_reasoning


def read(call: Call, completion: Completion) -> Parsed:
    """Read a rating, yes or no, or the position of a letter; `call` has one of these forms."""
    return _read(call, completion.text, completion.complete, completion.structured)


def is_of_schema(call: Call, text: str) -> bool:
    """Return whether a text is an answer with the requested schema."""
    if call.form == "json":
        return parse_object(text) is not None
    return _is_answer(_read(call, text, True, True))


def is_in_words(call: Call, text: str) -> bool:
    """Return whether a text contains the requested answer outside of any schema."""
    if call.form == "json":
        # The caller parses the text, in any form.
        return False
    return _is_answer(_read(call, text, True, False))


def _is_answer(parsed: Parsed) -> bool:
    """Return whether a text is one of the requested answers. A model that says that it cannot tell counts as well."""
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


def settled(call: Call, prompt: str = "") -> Callable[[str], bool] | None:
    """Return a test whether the answer to a call needs no more text; None if the whole answer is needed.

    Args:
        call: the call.
        prompt: the prompt's text. If it ends in an opening mark of reasoning, the model's text begins as reasoning.
    """
    opened = opened_reasoning(prompt)
    by_form: dict[str, Callable[[str], bool]] = {
        "rating": lambda text: settled_rating(opened + text, call.prompt.top),
        "yes-no": lambda text: settled_yes_no(opened + text),
        "letter": lambda text: settled_letter(opened + text, call.options),
    }
    return by_form.get(call.form)
