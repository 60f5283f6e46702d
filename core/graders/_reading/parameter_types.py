"""Types of grader parameters, because files and commands may contain any value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError

_TEXTS = (
    *("back_end", "verify_back_end", "base_url", "key_variable", "api", "structured", "prompt", "verify_prompt"),
    *("check", "by", "normalise", "revision", "device", "dtype"),
)
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_TEXTS, ((str,), 'text (in a command, write digits as NAME="1234")')),
    # Commands read --set model=123 as a number.
    **dict.fromkeys(("model", "verify_model"), ((str, int), "the name of a model")),
    **dict.fromkeys(
        ("attempts", "max_tokens_in", "num_beams", "thinking_tokens", "edition"), ((int,), "a whole number")
    ),
    **dict.fromkeys(("timeout_s", "temperature"), ((int, float), "a number")),
    "extra": ((dict,), 'a JSON object such as {"seed": 1}'),
}
"""Types of each parameter's value, and a description. True does not count as a whole number here."""


def check_types(parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter whose value has the wrong type; None and an empty text mean its default.

    Raises:
        InputError: a value has the wrong type. The message does not repeat it, because it may be a misplaced key.
    """
    for name, (types, what) in _TYPES.items():
        value = parameters.get(name)
        odd_names = isinstance(value, dict) and not all(isinstance(field, str) for field in value)
        if value is not None and value != "" and (type(value) not in types or odd_names):
            raise InputError("parameter-of-wrong-type", f"The value of {name} has the wrong type.", f"Use {what}.")
