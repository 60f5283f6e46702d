"""The list of operations: functions that are registered with a name, a role and a request.

The request of an operation consists of the parameters of its function. Each is annotated with an
`Option` or an `Argument`, which holds its help. The shell and the API are made from this list.

Modules of operations import from here everything with which an operation is declared.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter as Declared, getdoc, signature, unwrap
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from ..errors import InputError, check_not_empty
from ..store import ActName, Project as Project, as_name, current_author as current_author
from .console import Output as Output, TextOutput as TextOutput
from .describing import (
    LARGEST as LARGEST,
    MOST_DRAWS as MOST_DRAWS,
    Argument as Argument,
    GatheredOptions as GatheredOptions,
    Given,
    Option as Option,
    Parameter,
)
from .opening import Opening as Opening


@dataclass(frozen=True)
class Request:
    """The arguments of a function.

    Args:
        parts: in their order: parameters, and gathered arguments with the function that makes them.
        special: names of arguments that are not in any request, such as the project.
    """

    parts: Mapping[str, Parameter | tuple[Callable[..., Any], Request]]
    special: frozenset[str]

    @property
    def flat(self) -> tuple[Parameter, ...]:
        """All parameters, including those of gathered arguments."""
        within = (
            (part,) if isinstance(part, Parameter) else part[1].flat for part in self.parts.values()
        )
        return tuple(one for parameters in within for one in parameters)

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function, without the special ones."""
        return {
            name: values[name]
            if isinstance(part, Parameter)
            else part[0](**part[1].arguments(values))
            for name, part in self.parts.items()
        }


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of the product.

    Args:
        name: its words after `exam`.
        run: the function.
        act: its act in the table of roles.
        reads: whether it leaves the project unchanged; a function of the values if that depends on
            them.
        at_shell: whether it works on files of a computer, so that only a shell of this computer can
            run it.
        not_json: parameters that select another form than JSON.
    """

    name: str
    run: Callable[..., Any]
    act: ActName
    reads: bool | Callable[[Given], bool]
    at_shell: bool
    not_json: tuple[str, ...]
    request: Request

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All values of its request, in the order of the help."""
        return self.request.flat

    @property
    def help(self) -> str:
        """Its description; the first sentence is the summary."""
        return getdoc(self.run) or ""

    @property
    def may_read(self) -> bool:
        """Whether it leaves the project unchanged with some values."""
        return self.reads is not False

    def only_reads(self, values: Given) -> bool:
        """Whether it leaves the project unchanged with these values."""
        return self.reads(values) if callable(self.reads) else self.reads

    @property
    def has_json(self) -> bool:
        """Whether its result is also printed as JSON."""
        returned = _evaluate_annotation(self.run, signature(self.run).return_annotation)
        return Output in (returned, *get_args(returned))

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return " ".join(self.help.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."

    def call(self, given: Given, opening: Opening) -> Any:
        """Run it.

        Args:
            given: values of the right types by the names of parameters; a missing value gets its
                default.
            opening: opens the project.

        Raises:
            WorkbenchError: a value is missing or not allowed, or the operation failed.
        """
        values = {parameter.name: parameter.value_of(given) for parameter in self.parameters}
        opening.act, opening.only_reads = self.act, self.only_reads(values)
        further = {"opening": opening, "given": frozenset(given)}
        special = {name: further[name] for name in further.keys() & self.request.special}
        if "project" not in self.request.special:
            return self.run(**self.request.arguments(values), **special)
        with opening() as project:
            for parameter in self.parameters:
                if parameter.option.kept and values[parameter.name] is None:
                    values[parameter.name] = parameter.option.kept(project)
            return self.run(project=project, **self.request.arguments(values), **special)


OPERATIONS: dict[str, Operation] = {}
"""By name; each is added when its module is loaded."""


def operation(
    name: str,
    *,
    act: ActName,
    reads: bool | Callable[[Given], bool] = False,
    at_shell: bool = False,
    not_json: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as an operation.

    Args:
        name: its words after `exam`.
        act: its act in the table of roles.
        reads: whether it leaves the project unchanged; a function of the values if that depends on
            them.
        at_shell: whether only a shell of this computer may run it.
        not_json: parameters that select another form than JSON.
    """

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        OPERATIONS[name] = Operation(
            name, run, act, reads, at_shell, tuple(not_json), _read_request(run)
        )
        return run

    return register


def _read_request(run: Callable[..., Any]) -> Request:
    parts: dict[str, Parameter | tuple[Callable[..., Any], Request]] = {}
    special = set()
    for declared in signature(run).parameters.values():
        hint = _evaluate_annotation(run, declared.annotation)
        mark = next(
            (
                one
                for one in getattr(hint, "__metadata__", ())
                if isinstance(one, Option | GatheredOptions)
            ),
            None,
        )
        if mark is None:
            special.add(declared.name)
        elif isinstance(mark, GatheredOptions):
            parts[declared.name] = (mark.make, _read_request(mark.make))
        else:
            parts[declared.name] = _read_parameter(declared, hint.__origin__, mark)
    return Request(parts, frozenset(special))


def _evaluate_annotation(run: Callable[..., Any], annotation: Any) -> Any:
    """Return the value of an annotation of a function. Types that it quotes stay texts, so that
    their modules load only when the operation runs.
    """
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, unwrap(run).__globals__)


def _read_parameter(declared: Declared, hint: Any, option: Option) -> Parameter:
    kinds = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [one for one in get_args(hint) if one is not type(None)]
    many = get_origin(kinds[0]) in (tuple, Sequence)
    # The text of a value with several types is parsed later.
    kind = str if len(kinds) > 1 else get_args(kinds[0])[0] if many else kinds[0]
    if get_origin(kind) is Literal:
        option.choices = option.choices or get_args(kind)
        kind = type(get_args(kind)[0])
    if kind is Path and option.file is None:
        raise TypeError(
            f"{declared.name} names a file, but does not say for what: a server"
            " would use its own files"
        )
    missing = declared.default is Declared.empty
    required = missing and option.default is None
    return Parameter(
        declared.name, option, kind, many, None if missing else declared.default, required
    )


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def at_most_one(**options: str) -> Decorator:
    """Refuse a combination of parameters that exclude each other.

    Args:
        options: names of options as people write them, by names of parameters.
    """
    *first, last = options.values()
    said = f"{', '.join(first)} and {last} cannot be combined."
    return _limit_options(range(2), options, "options-exclude-each-other", said, "Use one of them.")


def exactly_one(code: str, hint: str, **options: str) -> Decorator:
    """Refuse a request that has several or none of some parameters.

    Args:
        code, hint: of the error.
        options: as in `at_most_one`.
    """
    return _limit_options(
        (1,), options, code, f"Exactly one of {' and '.join(options.values())} is needed.", hint
    )


def _limit_options(numbers: Collection[int], options: Collection[str], *error: str) -> Decorator:
    def with_check(operation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(operation)
        def check_first(*args: Any, **given: Any) -> Any:
            values = [given[name] for name in options]
            if (
                sum(value is not None and value is not False and value != () for value in values)
                not in numbers
            ):
                raise InputError(*error)
            return operation(*args, **given)

        return check_first

    return with_check


def _check_author(author: str) -> str:
    return check_not_empty(
        "empty-name",
        "The author's name is empty.",
        "Use --author NAME, or remove --author.",
        as_name(author),
    )


Author = Annotated[
    str,
    Option(
        "--author",
        help="Author of the change (default: EXAM_AUTHOR, else your account name).",
        metavar="NAME",
        variable="EXAM_AUTHOR",
        default=current_author,
        parse=_check_author,
    ),
]
"""The recorded author, for scripts that import the work of several people."""


def only_given(**values: Any) -> dict[str, Any]:
    """Return the values of a request that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}


def checked_note(note: str) -> str:
    """Return a note about a new bank version.

    Raises:
        InputError: it is empty.
    """
    check_not_empty("empty-note", "The note is empty.", "Write what changed and why.", note.strip())
    return note
