"""The table of operations, from which commands are parsed and help is shown without loading the operations.

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
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, datetime)} | {"Path": Path}
"""Types of values by their names in the table."""


@dataclass(frozen=True)
class Description:
    """An operation without its function.

    Args:
        name: its words after `exam`.
        help: its description; the first sentence is the summary.
        at_shell: whether it works on files of a computer, so that only a shell of this computer can run it.
        opens: whether it opens the project for all values of its request.
        reads: whether it never changes the project, for all values of its request.
        has_json: whether its result is also printed as JSON.
        not_json: parameters that select another form than JSON.
        parameters: all values of its request, in the order of the help.
    """

    name: str
    help: str
    at_shell: bool
    opens: bool
    reads: bool
    has_json: bool
    not_json: tuple[str, ...]
    parameters: tuple[Parameter, ...]


@functools.cache
def read_descriptions() -> dict[str, Description]:
    """Return all operations by name, from the table."""
    return {record["name"]: _make_description(record) for record in json.loads(TABLE.read_bytes())}


def _make_description(record: dict[str, Any]) -> Description:
    parameters = tuple(map(_parameter_of, record.pop("parameters")))
    return Description(**{**record, "not_json": tuple(record["not_json"])}, parameters=parameters)


def _parameter_of(record: dict[str, Any]) -> Parameter:
    make = Argument if record.pop("positional", False) else Option
    parts = {name: record.pop(name) for name in ("name", "many", "default", "required")}
    kind = KINDS[record.pop("kind")]
    return Parameter(option=make(*record.pop("names", ()), **record), kind=kind, **parts)


def table_of(operations: Sequence[Operation]) -> str:
    """Return the table of operations as JSON, one line each."""
    records = (
        {
            "name": operation.name,
            "help": operation.help,
            "at_shell": operation.at_shell,
            "opens": "project" in operation.request.special,
            "reads": operation.always_reads,
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
    # The shell only shows this default. The process that runs the operation decides on some defaults.
    default = (
        parameter.option.default() if parameter.option.default and not parameter.option.variable else parameter.default
    )
    positional = {"positional": True} if parameter.option.positional else {}
    parts = {"name": parameter.name, "many": parameter.many, "default": default, "required": parameter.required}
    kind = next(name for name, kind in KINDS.items() if kind is parameter.kind)
    return parts | {"kind": kind} | positional | option
