"""The request of an operation: its parameters, as the shell and the API show them.

`requests.json` has the requests of all operations, so that a command is parsed and its help is shown before the
operation is loaded. `make docs` writes it from the list of operations.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ..errors import InputError
from .console import guest

TABLE = Path(__file__).with_name("requests.json")
KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, datetime)} | {"Path": Path}
"""Types of values by their names in the table."""
MOST_DRAWS = 10_000
"""Draws or repeats of a computation that one request may ask for."""
LARGEST = 2**31 - 1
"""The largest whole number that every column of a project can hold."""
DATE = "%Y-%m-%d"

FileUse = Literal["read", "write", "read if sent"]
Given = Mapping[str, Any]


class Option:
    """How people give a parameter of an operation, as an annotation: `Annotated[int, Option("--k", help="…")]`.

    Args:
        names: at a shell; without names, `--` and the name of the parameter.
        help: one sentence for people.
        metavar: stands for the value in the help.
        choices: all values that are allowed.
        least, most: bounds of a number.
        parse: makes the value from a checked one; raises InputError.
        default: makes the default when the operation is run, if it depends on who runs it.
        variable: environment variable with the default.
        file: whether the value names a file, and what the operation does with it.
        exists: whether it has to be an existing file, and no folder.
        stdin: whether `-` means standard input.
    """

    positional = False

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str | None = None,
        choices: Sequence[str] = (),
        least: float | None = None,
        most: float | None = None,
        parse: Callable[[Any], Any] | None = None,
        default: Callable[[], Any] | None = None,
        variable: str | None = None,
        file: FileUse | None = None,
        exists: bool = False,
        stdin: bool = False,
    ) -> None:
        self.names, self.help, self.metavar, self.choices = names, help, metavar, choices
        self.least, self.most, self.parse, self.default = least, most, parse, default
        self.variable, self.file, self.exists, self.stdin = variable, file, exists, stdin


class Argument(Option):
    """A parameter that people give by its place."""

    positional = True


class Gathered:
    """Several options that become one argument of an operation.

    Args:
        make: gets the values of the options, which are its parameters; returns the argument.
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make


@dataclass(frozen=True)
class Parameter:
    """A value of a request.

    Args:
        kind: of one value: str, int, float, bool, Path or datetime.
        many: whether there may be several values.
    """

    name: str
    option: Option
    kind: type
    many: bool
    default: Any
    required: bool

    @property
    def flags(self) -> tuple[str, ...]:
        """How the option is written at a shell."""
        return self.option.names or ("--" + self.name.replace("_", "-"),)

    @property
    def shown(self) -> str:
        """The parameter as error messages name it."""
        return (self.option.metavar or self.name.upper()) if self.option.positional else max(self.flags, key=len)

    def value_of(self, given: Given) -> Any:
        """The value of a request, else the default.

        Raises:
            InputError: there is none and there has to be one, or it is not allowed.
        """
        value = given.get(self.name)
        if value is None or (self.many and not value):
            if self.required:
                raise InputError("parameter-missing", f"Missing value: {self.shown}.", "Add it to the request.")
            value = self.option.default() if self.option.default else self.default
        elif self.many:
            value = tuple(value)
        if self.option.file is not None and value is not None:
            value = tuple(map(self._placed, value)) if self.many else self._placed(value)
        return value if self.option.parse is None or value is None else self.option.parse(value)

    def _placed(self, name: Any) -> Any:
        """The name of a file; in a server that of the file that was sent, or where it is to be written."""
        host, use = guest(), self.option.file
        if host is None or (use == "write" and str(name) == "-"):
            return name
        if use == "read if sent" and str(name) not in host.files:
            return name
        path = host.place(str(name), use == "write")
        if self.option.exists and not path.is_file():
            raise InputError("file-not-sent", f"The request has no file named '{name}'.", "Send the file in a form.")
        return self.kind(path)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest number that are allowed."""
        widest = LARGEST if self.kind is int else math.inf
        least, most = self.option.least, self.option.most
        return -widest if least is None else least, widest if most is None else most


@dataclass(frozen=True)
class Description:
    """An operation without its function.

    Args:
        name: its words after `exam`.
        help: what it does, in sentences; the first is the summary.
        at_shell: whether it works on files of a computer, and so at a shell of this computer alone.
        opens: whether it opens the project whatever the values of its request are.
        may_read: whether it leaves the project as it is with some values at least.
        has_json: whether its result is also printed as JSON.
        not_json: parameters that ask for another form than JSON.
        parameters: all values of its request, in the order of the help.
    """

    name: str
    help: str
    at_shell: bool
    opens: bool
    may_read: bool
    has_json: bool
    not_json: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return " ".join(self.help.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."


@functools.cache
def descriptions() -> dict[str, Description]:
    """All operations by name, from the table."""
    return {one["name"]: _described(one) for one in json.loads(TABLE.read_bytes())}


def _described(record: dict[str, Any]) -> Description:
    parameters = tuple(map(_parameter_of, record.pop("parameters")))
    return Description(**{**record, "not_json": tuple(record["not_json"])}, parameters=parameters)


def _parameter_of(record: dict[str, Any]) -> Parameter:
    make = Argument if record.pop("positional", False) else Option
    parts = {name: record.pop(name) for name in ("name", "many", "default", "required")}
    kind = KINDS[record.pop("kind")]
    return Parameter(option=make(*record.pop("names", ()), **record), kind=kind, **parts)


def table_of(known: Sequence[Description]) -> str:
    """The table of operations as JSON, a line for each."""
    records = (vars(one) | {"parameters": list(map(_record_of, one.parameters))} for one in known)
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{lines}\n]\n"


def _record_of(one: Parameter) -> dict[str, Any]:
    option = {name: value for name, value in vars(one.option).items() if value and name not in ("parse", "default")}
    # The shell only shows it. Who runs the operation decides on some defaults.
    default = one.option.default() if one.option.default and not one.option.variable else one.default
    positional = {"positional": True} if one.option.positional else {}
    return {
        "name": one.name, "kind": one.kind.__name__.replace("PosixPath", "Path"), "many": one.many, "default": default,
        "required": one.required, **positional, **option,
    }  # fmt: skip
