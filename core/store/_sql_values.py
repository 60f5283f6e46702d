"""SQL literals in place of parameters. DuckDB would import pandas at its first parameter, and most commands do not need
pandas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Parameters = list[Any] | dict[str, Any] | None

LONGEST_LIST = 5_000
"""Maximum number of elements of a list written as a literal; longer lists stay parameters."""

# A text or a quoted name is one token, so that a parameter sign inside it is ignored.
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\?|\$[A-Za-z_]\w*")

_PATTERN = re.compile(r"([*?\[])")


def quoted_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: Path | str) -> str:
    """Return a path as an SQL literal."""
    return quoted_text(str(path))


def as_pattern(path: Path) -> Path:
    """Escape a path for SQL functions that take patterns, so that it matches only itself."""
    return Path(_PATTERN.sub(r"[\1]", str(path)))


def quoted_name(name: str) -> str:
    """Quote the name of a table or a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def written_in(sql: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Write the values of parameters into a statement.

    Args:
        parameters: values by name, or in the order of the question marks.

    Returns:
        The statement and None; or both unchanged if a value cannot be a literal.
    """
    if not parameters:
        return sql, None
    named = isinstance(parameters, dict)
    literals = {
        (f"${name}" if named else name): literal(value)
        for name, value in (parameters.items() if isinstance(parameters, dict) else enumerate(parameters))
    }
    if None in literals.values():
        return sql, parameters
    marks = 0

    def write(token: re.Match[str]) -> str:
        nonlocal marks
        if named:
            return str(literals.get(token[0], token[0]))
        marks += token[0] == "?"
        return str(literals.get(marks - 1)) if token[0] == "?" else token[0]

    written = _TOKEN.sub(write, sql)
    # Question marks may also be numbered; such statements keep their parameters.
    return (written, None) if named or marks == len(literals) else (sql, parameters)


def literal(value: Any) -> str | None:
    """Return a value as SQL of the type that it has as a parameter; None if it must stay a parameter."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if type(value) is int:
        return f"({value})"
    if type(value) is str:
        return None if "\0" in value else f"({quoted_text(value)}::VARCHAR)"
    if isinstance(value, list | tuple) and 0 < len(value) <= LONGEST_LIST:
        return _list(value)
    return None


def _list(values: Sequence[Any]) -> str | None:
    written = [literal(value) for value in values]
    return None if None in written else f"[{', '.join(map(str, written))}]"
