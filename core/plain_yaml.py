"""YAML from outside, read with limits, and YAML output with long texts as blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from .errors import FileError, Problem
from .limits import read_limit

MAX_BYTES = 100_000
"""Largest size of a YAML file, in bytes."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """Refuses references and tags before building anything, and leaves dates as texts."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise yaml.MarkedYAMLError(
                problem="aliases and tags are not allowed",
                problem_mark=event.start_mark,  # type: ignore[arg-type]
            )
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    sign: [(tag, form) for tag, form in known if tag != "tag:yaml.org,2002:timestamp"]
    for sign, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str, file: str, hint: str) -> Any:
    """Return the content of a YAML file, or of a JSON file if its name says so: mappings, lists,
    texts and numbers.

    The limits are checked before the content is built, because a short file of references can
    expand to gigabytes.

    Args:
        file: its name as the user knows it.
        hint: the fix that a refusal names.

    Raises:
        FileError: the file is larger than `MAX_BYTES`, nests deeper than the limit DEPTH, or cannot
            be read. References, tags, control characters and numbers beyond 64 bits are refused
            too.
    """
    try:
        if len(text.encode(errors="replace")) > MAX_BYTES:
            raise ValueError(f"the file is larger than {MAX_BYTES // 1000} kB")
        content = (
            json.loads(text) if file.lower().endswith(".json") else yaml.load(text, Loader=_Loader)
        )
        _check_values(content, read_limit("DEPTH"))
        return content
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FileError(
            [Problem(file, line, "invalid-yaml", f"invalid YAML: {error.problem}")], hint
        ) from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise FileError(
            [Problem(file, None, "invalid-yaml", f"cannot be read: {error}")], hint
        ) from error


def write_yaml(content: Mapping[str, Any]) -> str:
    """Return a mapping as YAML, in its order; texts of several lines become blocks."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=MAX_BYTES)


def _check_values(value: Any, depth: int) -> None:
    if depth < 0:
        raise ValueError("the nesting is too deep")
    if isinstance(value, str) and _CONTROL.search(value):
        raise ValueError("control characters are not allowed")
    # The negated comparison also refuses NaN. Infinity is refused because it cannot be printed.
    if isinstance(value, int | float) and not abs(value) < 1 << 63:
        raise ValueError("a number is out of range")
    if isinstance(value, dict | list):
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_values(inner, depth - 1)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that people can read a prompt in its file."""


def _as_block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _as_block)
