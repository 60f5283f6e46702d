"""Requests of operations, made from the words of a shell command."""

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from exam_workbench.cli import cli
from exam_workbench.operations import find_operation
from exam_workbench.operations.registry import Operation


def requested(words: Sequence[str]) -> tuple[Operation, dict[str, Any]]:
    """Return the operation and the values of its request for the words after `exam`."""
    command: click.Command = cli
    context, names, rest = click.Context(cli), list[str](), list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None and name is not None
        command, names = found, [*names, name]
    operation = find_operation(" ".join(names))
    assert operation is not None, words
    parsed = command.make_context(names[-1], rest)
    known = {one.name for one in operation.parameters}
    given = {
        name: value
        for name, value in parsed.params.items()
        if name in known and parsed.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    return operation, given
