"""The request of an operation: its parameters, as the shell and the API show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError
from .console import current_request

if TYPE_CHECKING:
    from ..store import Project

MOST_DRAWS = 10_000
"""Largest number of draws or repeats that one request may ask for."""
LARGEST = 2**31 - 1
"""The largest whole number that every column of a project can hold."""
DATE = "%Y-%m-%d"

FileUse = Literal["read", "write", "read if sent"]
Given = Mapping[str, Any]


@dataclass(eq=False)
class Option:
    """The description of an operation's parameter, as an annotation: `Annotated[int, Option("--k",
    help="…")]`.

    Args:
        names: at a shell, separated by blanks; empty for `--` and the name of the parameter.
        help: one sentence for people.
        metavar: the placeholder of the value in the help.
        choices: all allowed values.
        least, most: bounds of a number.
        parse: makes the value from a checked one; raises InputError.
        default: makes the default when the operation is run, if it depends on who runs it.
        kept: returns the default that a project stores, if the registry opens one for the
            operation.
        variable: environment variable with the default.
        file: whether the value names a file, and how the operation uses it.
        exists: whether it has to be an existing file, not a folder.
        stdin: whether `-` means standard input.
    """

    positional = False

    names: str = ""
    _: KW_ONLY
    help: str = ""
    metavar: str | None = None
    choices: Sequence[str] = ()
    least: float | None = None
    most: float | None = None
    parse: Callable[[Any], Any] | None = None
    default: Callable[[], Any] | None = None
    kept: Callable[[Project], Any] | None = None
    variable: str | None = None
    file: FileUse | None = None
    exists: bool = False
    stdin: bool = False


class Argument(Option):
    """A parameter that is given by its position."""

    positional = True


@dataclass(frozen=True)
class GatheredOptions:
    """Several options that become one argument of an operation.

    Args:
        make: takes the values of the options as its parameters; returns the argument.
    """

    make: Callable[..., Any]


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
        """The option's names at a shell."""
        return tuple(self.option.names.split()) or ("--" + self.name.replace("_", "-"),)

    @property
    def shown(self) -> str:
        """The parameter's name in error messages."""
        return (
            (self.option.metavar or self.name.upper())
            if self.option.positional
            else max(self.flags, key=len)
        )

    def value_of(self, given: Given) -> Any:
        """Return the value of a request, else the default.

        Raises:
            InputError: a required value is missing, or the value is not allowed.
        """
        value = given.get(self.name)
        if value is None or (self.many and not value):
            if self.required:
                raise InputError(
                    "parameter-missing", f"Missing value: {self.shown}.", "Add it to the request."
                )
            value = self.option.default() if self.option.default else self.default
        elif self.many:
            value = tuple(value)
        if self.option.file is not None and value is not None:
            value = tuple(map(self._placed, value)) if self.many else self._placed(value)
        return value if self.option.parse is None or value is None else self.option.parse(value)

    def _placed(self, name: Any) -> Any:
        """Return the name of a file; in a server, the path of the sent file or of the file to
        write.
        """
        host, use = current_request(), self.option.file
        if host is None or (use == "write" and str(name) == "-"):
            return name
        if use == "read if sent" and str(name) not in host.files:
            return name
        path = host.place(str(name), use == "write")
        if self.option.exists and not path.is_file():
            raise InputError(
                "file-not-sent",
                f"The request has no file named '{name}'.",
                "Send the file in a form.",
            )
        return self.kind(path)

    @property
    def bounds(self) -> tuple[float, float]:
        widest = LARGEST if self.kind is int else math.inf
        least, most = self.option.least, self.option.most
        return -widest if least is None else least, widest if most is None else most
