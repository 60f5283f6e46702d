"""The shell commands, made from the table of operations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import InputError
from ..operations import ABOUT_GROUPS, SECTIONS, find_operation, replace_old_name
from ..operations.console import print_result
from ..operations.describing import DATE, LARGEST, Parameter
from ..text import one_line
from .table import Description, read_descriptions

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


class WholeNumber(click.IntRange):
    """A whole number; help shows only its lower bound."""

    def __init__(self, parameter: Parameter) -> None:
        self.least, self.most = (int(bound) for bound in parameter.bounds)
        super().__init__(self.least, self.most)
        self.name = "integer" if parameter.option.least is None else self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number.

        Raises:
            click.BadParameter: the value is not a whole number, or is out of range.
        """
        number = click.INT.convert(value, param, ctx)
        if self.least <= number <= self.most:
            return number
        self.fail(
            f"{one_line(str(value), 40)} is not between {self.least} and {self.most}.", param, ctx
        )

    def _describe_range(self) -> str:
        return "" if self.least == -LARGEST else f"x>={self.least}"


class Number(click.FloatRange):
    """A number; NaN is out of any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number.

        Raises:
            click.BadParameter: the value is not a number, or is out of range.
        """
        number = super().convert(value, param, ctx)
        if math.isnan(number) and (self.min, self.max) != (None, None):
            self.fail(f"{number} is not a number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        return "" if (self.min, self.max) == (None, None) else super()._describe_range()


class Commands(click.Group):
    """All commands, from the table of operations."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the first words of all commands, and the names after a command with arguments, as
        "export figure".
        """
        return sorted(set(map(_top_name, read_descriptions())))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words begin with, also by its earlier name."""
        words = list(replace_old_name(args))
        name = " ".join(words[:2])
        if name in read_descriptions() and _top_name(name) == name:
            words = [name, *words[2:]]
        return super().resolve_command(ctx, words)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or the group with a first word."""
        matches = [
            description
            for name, description in read_descriptions().items()
            if _top_name(name) == cmd_name
        ]
        if not matches:
            return None
        own = next((description for description in matches if description.name == cmd_name), None)
        if own is not None and len(matches) == 1:
            return command_of(own, cmd_name)
        return _group_of(cmd_name, own, matches)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help."""
        width = max(map(len, self.list_commands(ctx)))
        for section, summaries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [(name.ljust(width), summary) for name, summary in summaries.items()]
                )


def _top_name(name: str) -> str:
    """Return the first word of a command's name; the whole name if that word is a command with
    arguments.
    """
    word = name.partition(" ")[0]
    own = read_descriptions().get(word)
    return name if own is not None and own.takes_words else word


def _group_of(word: str, own: Description | None, descriptions: list[Description]) -> click.Group:
    commands = {
        name: command_of(one, name) for one in descriptions if (name := one.name.partition(" ")[2])
    }
    if own is not None:
        alone = command_of(own, word)
        return click.Group(
            word,
            commands,
            params=alone.params,
            callback=alone.callback,
            help=alone.help,
            invoke_without_command=True,
        )
    summary = next(section[word] for section in SECTIONS.values() if word in section)
    about = ABOUT_GROUPS.get(word)
    return click.Group(word, commands, help=f"{summary}\n\n{about}" if about else summary)


def command_of(operation: Description, name: str) -> click.Command:
    """Return the command of an operation."""
    parameters = [_parameter_of(one) for one in operation.parameters]
    parameters.append(
        click.Option(
            ["--project", "project_path"],
            type=click.Path(path_type=Path),
            envvar="EXAM_PROJECT",
            metavar="FILE.duckdb",
            help="Project file (default: the environment variable EXAM_PROJECT).",
        )
    )
    if operation.has_json:
        parameters.append(
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
        )
    return click.Command(
        name,
        params=parameters,
        callback=lambda **values: _run_operation(operation, values),
        help=operation.help,
    )


def _parameter_of(parameter: Parameter) -> click.Parameter:
    option, kind = parameter.option, _type_of(parameter)
    default = parameter.default
    # A default, even None, would make a required value optional.
    further = {} if parameter.required or parameter.many else {"default": default}
    if option.positional:
        return click.Argument(
            [parameter.name],
            type=kind,
            nargs=-1 if parameter.many else 1,
            required=parameter.required,
            metavar=option.metavar,
            **further,
        )
    return click.Option(
        [*parameter.flags, parameter.name],
        type=None if parameter.kind is bool else kind,
        is_flag=True if parameter.kind is bool else None,
        multiple=parameter.many,
        required=parameter.required,
        show_default=default not in (None, False, "", ()),
        help=option.help or None,
        metavar=option.metavar,
        envvar=option.variable,
        **further,
    )


def _type_of(parameter: Parameter) -> click.ParamType[Any]:
    option = parameter.option
    if option.choices:
        return click.Choice(list(option.choices))
    if option.file is not None:
        path = Path if parameter.kind is Path else None
        return click.Path(
            exists=option.exists,
            dir_okay=not option.exists,
            allow_dash=option.stdin,
            path_type=path,
        )
    if parameter.kind is int:
        return WholeNumber(parameter)
    if parameter.kind is float:
        return Number(option.least, option.most)
    return click.STRING if parameter.kind is str else click.DateTime([DATE])


def _run_operation(operation: Description, values: dict[str, Any]) -> int | None:
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return None
    # Imported here, because the help does not need it.
    from ..operations.opening import OpenElsewhere, Opening, find_answering_door

    given_values = {
        parameter.name: values[parameter.name]
        for parameter in operation.parameters
        if context.get_parameter_source(parameter.name) in GIVEN
    }
    as_json = bool(values.get("as_json"))
    if as_json and (
        other := next((name for name in operation.not_json if given_values.get(name)), None)
    ):
        flag = next(
            parameter.shown for parameter in operation.parameters if parameter.name == other
        )
        raise InputError(
            "options-exclude-each-other",
            f"{flag} and --json cannot be combined.",
            "Use one of them.",
        )
    file: Path | None = values["project_path"]
    door = find_answering_door(file) if operation.opens and file is not None else None
    project = str(file)
    if door is None:
        registered = find_operation(operation.name)
        if registered is None:
            raise RuntimeError(
                f"the table of operations is out of date: it has {operation.name}; run make docs"
            )
        try:
            result = registered.call(given_values, Opening(file))
        except OpenElsewhere as elsewhere:
            door, project = elsewhere.door, elsewhere.project
        else:
            print_result(result, as_json)
            return 0
    # Imported here, because only a project that is open in the app needs it.
    from .through import ask_server

    return ask_server(door, operation, given_values, as_json, project)
