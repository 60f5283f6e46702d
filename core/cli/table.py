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
def descriptions() -> dict[str, Description]:
    """Return all operations by name, from the table."""
    return {one["name"]: _described(one) for one in json.loads(TABLE.read_bytes())}


def _described(record: dict[str, Any]) -> Description:
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
            "name": one.name, "help": one.help, "at_shell": one.at_shell, "opens": "project" in one.request.special,
            "reads": one.always_reads, "has_json": one.has_json, "not_json": one.not_json,
            "parameters": list(map(_record_of, one.parameters)),
        }
        for one in operations
    )  # fmt: skip
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{lines}\n]\n"


def _record_of(one: Parameter) -> dict[str, Any]:
    functions = ("parse", "default", "kept")
    usual = vars(Option()) | {name: getattr(one.option, name) for name in functions}
    option = {name: value for name, value in vars(one.option).items() if value != usual[name]}
    # The shell only shows this default. The process that runs the operation decides on some defaults.
    default = one.option.default() if one.option.default and not one.option.variable else one.default
    positional = {"positional": True} if one.option.positional else {}
    parts = {"name": one.name, "many": one.many, "default": default, "required": one.required}
    kind = next(name for name, kind in KINDS.items() if kind is one.kind)
    return parts | {"kind": kind} | positional | option
