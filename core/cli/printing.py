"""The one printer: a command returns an `Output`, which is printed as JSON or as lines and tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import click

from ..errors import InputError
from .options import Command, opened, print_json, table_lines, tell

Part = Literal["text", "table", "note"]


class Output:
    """What a command prints: one JSON object with `--json`, else its parts in the order in which they were added.

    Args:
        value: the JSON object.
    """

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self._parts: list[tuple[Part, Iterable[str]]] = []

    def text(self, text: str) -> Self:
        """Add a text that has its own line ends, such as a CSV file."""
        self._parts.append(("text", [text]))
        return self

    def line(self, text: str = "") -> Self:
        """Add a line."""
        return self.text(f"{text}\n")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Self:
        """Add rows in columns. An empty line separates a table from a table directly before it."""
        if self._parts and self._parts[-1][0] == "table":
            self.line()
        self._parts.append(("table", table_lines(header, rows)))
        return self

    def note(self, *texts: str | None) -> Self:
        """Add lines on stderr, so that stdout has the results alone. Empty texts are left out."""
        self._parts.append(("note", [f"{text}\n" for text in texts if text]))
        return self

    def print(self, as_json: bool) -> None:
        """Print the JSON object, or all parts."""
        if as_json:
            print_json(self.value)
            return
        for part, texts in self._parts:
            for text in texts:
                click.echo(text, nl=False, err=part == "note")


def printed(command: Command) -> Command:
    """Print the `Output` that a command returns, as JSON with `--json`. A text that it returns is printed on stderr."""

    @functools.wraps(command)
    def with_printing(*args: Any, as_json: bool = False, **others: Any) -> None:
        result = command(*args, **others)
        if isinstance(result, Output):
            result.print(as_json)
        elif result is not None:
            tell(result)

    return with_printing


def on_project(command: Command) -> Command:
    """Open the project of `--project` for a command, which gets it as `project`.

    The result of the command is printed, as `printed` does, when the project is closed again.
    """

    @functools.wraps(command)
    def with_project(*args: Any, project_path: Path | None, **others: Any) -> Any:
        with opened(project_path) as project:
            return command(*args, project=project, **others)

    return printed(with_project)


def at_most_one(**options: str) -> Callable[[Command], Command]:
    """Refuse several of some options at once.

    Args:
        options: names of options as people write them, by names of parameters.
    """

    def with_check(command: Command) -> Command:
        @functools.wraps(command)
        def checked(*args: Any, **given: Any) -> Any:
            if sum(given[name] is not None and given[name] is not False for name in options) > 1:
                *first, last = options.values()
                names = f"{', '.join(first)} and {last}"
                raise InputError("options-exclude-each-other", f"{names} cannot be combined.", "Use one of them.")
            return command(*args, **given)

        return checked

    return with_check
