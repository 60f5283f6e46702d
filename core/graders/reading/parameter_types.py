"""What kind of value each parameter of a grader takes: files and commands may hold anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from core.errors import InputError

Is = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    # A command reads --set model=123 as a number.
    return isinstance(value, str) or type(value) is int


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


_TEXTS = (
    *("back_end", "verify_back_end", "base_url", "key_variable", "api", "structured", "prompt", "verify_prompt"),
    *("check", "by", "normalise", "revision", "device", "dtype"),
)
_KINDS: Mapping[str, tuple[Is, str]] = {
    **dict.fromkeys(_TEXTS, (_is_text, 'a text; a command takes one of digits alone as NAME="1234"')),
    **dict.fromkeys(("model", "verify_model"), (_is_name, "the name of a model")),
    **dict.fromkeys(("attempts", "max_tokens_in", "num_beams", "thinking_tokens"), (_is_whole, "a whole number")),
    **dict.fromkeys(("timeout_s", "temperature"), (_is_number, "a number")),
    "extra": (_is_mapping, 'a JSON object as {"seed": 1}'),
}


def check_types(parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter whose value is of another kind than it takes; None and an empty text stand for its default.

    Raises:
        InputError: a value is of another kind. It is not repeated: it may be a key in a wrong place.
    """
    for name, (is_one, what) in _KINDS.items():
        value = parameters.get(name)
        if value is not None and value != "" and not is_one(value):
            raise InputError(
                "parameter-of-wrong-type", f"The value of {name} is of another kind than it takes.", f"It takes {what}."
            )
