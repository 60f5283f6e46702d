"""What the commands share: naming the project and the author, printing."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import InputError
from ..project import Project, as_name, current_author, open_project
from ..text import one_line, with_escapes
from .guests import NAMED, act_of, guest
from .reading import only_reads
from .through import Elsewhere, answering

Command = Callable[..., Any]

MOST_DRAWS = 10_000
"""Draws or repeats of a computation that one command may ask for."""
LARGEST = 2**31 - 1
"""The largest whole number that every column of a project can hold."""


class Whole(click.IntRange):
    """A whole number that a project can hold; help shows its least value alone.

    Args:
        least: for None any such number, a negative one too.
        most: for draws and repeats, each of which takes time and memory.
    """

    def __init__(self, least: int | None = None, most: int = LARGEST) -> None:
        self.least, self.most = -LARGEST if least is None else least, most
        super().__init__(self.least, most)
        self.name = "integer" if least is None else self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises:
            click.BadParameter: it is none, or out of range.
        """
        number = click.INT.convert(value, param, ctx)
        if self.least <= number <= self.most:
            return number
        self.fail(f"{one_line(str(value), 40)} is not between {self.least} and {self.most}.", param, ctx)

    def _describe_range(self) -> str:
        return "" if self.least == -LARGEST else f"x>={self.least}"


def project_option(command: Command) -> Command:
    """Add `--project`, which every command takes, to a command; it gets the path, or None."""
    return click.option(
        "--project",
        "project_path",
        type=click.Path(path_type=Path),
        envvar="EXAM_PROJECT",
        metavar="FILE.duckdb",
        callback=_of_this_project,
        help="Project file (default: the environment variable EXAM_PROJECT).",
    )(command)


def _of_this_project(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    host, source = guest(), context.get_parameter_source(str(option.name))
    if host is not None and source is ParameterSource.COMMANDLINE and str(path) != host.named:
        raise InputError(
            "project-in-request",
            f"A request cannot name the project {path}.",
            "Remove --project. The token selects the project.",
        )
    return path


def with_options(command: Command, *options: Command) -> Command:
    """Add options to a command; its help lists them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def gathered_options(name: str, make: Callable[..., Any], *options: Command) -> Command:
    """Options whose values a command gets as one argument.

    Args:
        name: of the argument.
        make: makes it from the values; its parameters have the names of the options.
    """
    parts = signature(make).parameters

    def with_gathered_options(command: Command) -> Command:
        @functools.wraps(command)
        def with_argument(*args: Any, **given: Any) -> Any:
            value = make(**{part: given.pop(part) for part in parts})
            return command(*args, **{name: value}, **given)

        return with_options(with_argument, *options)

    return with_gathered_options


def json_option(command: Command) -> Command:
    """Add `--json` to a reading command."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def queries_option(command: Command) -> Command:
    """Add `--queries` to a command that compares two leaderboards; it gets a `leaderboard.QueryChoice`."""
    return click.option(
        "--queries",
        type=click.Choice(["common", "all", "own"]),
        default="common",
        show_default=True,
        help="Queries of the comparison. common: fully graded queries of both leaderboards; all: all queries of both;"
        " own: each leaderboard's own queries.",
    )(command)


def author_option(command: Command) -> Command:
    """Add `--author`, for scripts that bring in what several people said; a command gets it as `author`."""
    return click.option(
        "--author",
        default=current_author,
        envvar="EXAM_AUTHOR",
        metavar="NAME",
        callback=_named,
        help="Author of the change (default: EXAM_AUTHOR, else your account name).",
    )(command)


def _named(context: click.Context, option: click.Parameter, author: str) -> str:
    host = guest()
    if host is not None and context.get_parameter_source(str(option.name)) is not ParameterSource.COMMANDLINE:
        # The environment is that of the server.
        author = host.author
    name = as_name(author)
    if not name:
        raise InputError("empty-name", "The author's name is empty.", "Use --author NAME, or remove --author.")
    return name


def required(project_path: Path | None) -> Path:
    """The path of the project, for a command that makes it or opens it itself.

    Raises:
        InputError: none was named, or a server runs the command for somebody.
    """
    at_a_shell()
    if project_path is None:
        raise InputError("no-project-named", "No project was named.", "Use --project FILE.duckdb, or set EXAM_PROJECT.")
    return project_path


def at_a_shell() -> None:
    """Refuse a command that a server does for nobody.

    Raises:
        InputError: a server runs it for somebody.
    """
    if guest() is not None:
        raise InputError(
            "needs-a-shell", "This command needs local files.", "Run it in a shell on the computer that has the files."
        )


@contextmanager
def opened(project_path: Path | None) -> Iterator[Project]:
    """The named project, open until the block ends; beside others that read it where the command only reads.

    Raises:
        Elsewhere: a server has it open, which can do what the command does.
    """
    if (host := guest()) is not None:
        # What the command comes to is looked up for whoever shows a token; the owner may do everything.
        with host.project.doing(act_of(_words(click.get_current_context()))):
            yield from _open_already(host.project)
        return
    path = required(project_path)
    context = click.get_current_context()
    if (door := answering(path)) is not None:
        raise Elsewhere(door, context.find_root().meta.get(NAMED, {}), str(path))
    project = open_project(path, only_reads(_words(context), context.params))
    try:
        yield from _open_already(project)
    finally:
        project.close()


def _open_already(project: Project) -> Iterator[Project]:
    before = len(project.reopenings)
    yield project
    if len(project.reopenings) > before:
        tell("The database failed and was reopened. All saved data is intact.")


def _words(context: click.Context) -> str:
    """The words of a command after the program's name, such as "bank list"."""
    if context.parent is None:
        return ""
    return f"{_words(context.parent)} {context.info_name}".strip()


def print_json(value: Any) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows in columns, as `table_lines` has them."""
    for line in table_lines(header, rows):
        click.echo(line, nl=False)


def table_lines(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of a table: numbers to the right, text to the left, `-` for missing values."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [bool(rows) and isinstance(rows[0][i], int | float) for i in range(len(header))]
    for line in (list(header), *cells):
        texts = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(texts).rstrip() + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:z.4f}" if isinstance(value, float) else with_escapes(str(value))


def tell(message: str) -> None:
    """Say something to the person on stderr, so that stdout stays clean for what was asked."""
    click.echo(message, err=True)


def counted(number: int, thing: str) -> str:
    """A number with its noun, as "1 pair" or "1,204 pairs"."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def is_terminal() -> bool:
    """Whether a person watches stderr."""
    return sys.stderr.isatty()
