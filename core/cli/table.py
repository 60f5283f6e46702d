"""The table of operations, from which commands are parsed and help is shown without loading the
operations.

`make docs` writes `requests.json` from the list of operations.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..operations.describing import Argument, Option, Parameter

if TYPE_CHECKING:
    from ..operations.registry import Operation

TABLE = Path(__file__).with_name("requests.json")
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, datetime)} | {
    "Path": Path
}
"""Types of values by their names in the table."""


@dataclass(frozen=True)
class Description:
    """An operation without its function.

    Args:
        name: its words after `exam`.
        help: its description; the first sentence is the summary.
        at_shell: whether it works on files of a computer, so that only a shell of this computer can
            run it.
        opens: whether it opens the project for all values of its request.
        reads: whether it never changes the project, for all values of its request.
        has_json: whether its result is also printed as JSON.
        not_json: parameters that select another form than JSON.
        records: all values of its request, in the order of the help, as in the table.
    """

    name: str
    help: str
    at_shell: bool
    opens: bool
    reads: bool
    has_json: bool
    not_json: Sequence[str]
    records: Sequence[Mapping[str, Any]]

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All values of its request. They are made when they are needed, because the table has more
        than a thousand.
        """
        return tuple(map(_parameter_of, self.records))

    @property
    def takes_words(self) -> bool:
        """Whether it has arguments, so that a further word is not the name of a subcommand."""
        return any("positional" in record for record in self.records)


@functools.cache
def read_descriptions() -> dict[str, Description]:
    """Return all operations by name, from the table."""
    return {
        record["name"]: Description(records=record.pop("parameters"), **record)
        for record in json.loads(TABLE.read_bytes())
    }


def _parameter_of(record: Mapping[str, Any]) -> Parameter:
    option = dict(record)
    make = Argument if option.pop("positional", False) else Option
    parts = {name: option.pop(name) for name in ("name", "many", "default", "required")}
    kind = KINDS[option.pop("kind")]
    return Parameter(option=make(**option), kind=kind, **parts)


def table_of(operations: Sequence[Operation]) -> str:
    """Return the table of operations as JSON, one line each."""
    records = (
        {
            "name": operation.name,
            "help": operation.help,
            "at_shell": operation.at_shell,
            "opens": "project" in operation.request.special,
            "reads": operation.reads is True,
            "has_json": operation.has_json,
            "not_json": operation.not_json,
            "parameters": list(map(_record_of, operation.parameters)),
        }
        for operation in operations
    )
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{lines}\n]\n"


def _record_of(parameter: Parameter) -> dict[str, Any]:
    functions = ("parse", "default", "kept")
    usual = vars(Option()) | {name: getattr(parameter.option, name) for name in functions}
    option = {name: value for name, value in vars(parameter.option).items() if value != usual[name]}
    # The shell only shows this default. The process that runs the operation decides on some
    # defaults.
    default = (
        parameter.option.default()
        if parameter.option.default and not parameter.option.variable
        else parameter.default
    )
    positional = {"positional": True} if parameter.option.positional else {}
    parts = {
        "name": parameter.name,
        "many": parameter.many,
        "default": default,
        "required": parameter.required,
    }
    kind = next(name for name, kind in KINDS.items() if kind is parameter.kind)
    return parts | {"kind": kind} | positional | option
