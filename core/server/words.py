"""Requests as commands: the words of a command from the parameters of a request, and what commands there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..cli import cli
from ..cli.guests import File
from ..cli.reading import READING
from ..errors import InputError, unknown_name

NOT_HERE = frozenset({"init", "demo", "serve", "restore", "grade-plan", "file-leaderboard"})
"""Commands and groups of them that work on files of a computer, and so at a shell of it alone."""
NOT_ASKED = frozenset({"project_path", "as_json", "author"})
"""Parameters that a request does not have: its token says which project and who, and its answer is JSON."""


def served(command: click.Command) -> click.Command:
    """The same command, which a request may give: none of its parameters opens a path of this computer.

    Raises:
        InputError: one does, because its type is not `cli.guests.File`.
    """
    kinds = (one.type for one in command.params if one.name not in NOT_ASKED)
    if any(isinstance(kind, click.File | click.Path | click.Tuple) and not isinstance(kind, File) for kind in kinds):
        raise InputError(
            "needs-a-shell",
            f"The command {command.name} uses files of the server, so it cannot be sent.",
            "Run it in a shell on the server.",
        )
    return command


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that can be asked for: its words with a slash between them, as in a path, and the command."""
    yield from _below(cli, "")


def _below(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield words, served(command)
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        path = f"{words}/{name}".strip("/")
        if child is not None and not child.hidden and path not in NOT_HERE:
            yield from _below(child, path)


def find(words: str) -> click.Command:
    """The command of a path.

    Raises:
        InputError: there is none.
    """
    parts = words.split("/")
    names, found = _walk(() if parts[0] in NOT_HERE else parts)
    if names != parts or (isinstance(found, click.Group) and not found.invoke_without_command):
        raise unknown_name("unknown-command", "command", words, (), "See /api/v1/openapi.json.")
    return found


def named(said: Sequence[str]) -> str:
    """The command that words of a shell give, without what follows it; empty where they give none.

    Raises:
        InputError: it cannot be served.
    """
    return " ".join(_walk(said)[0])


def _walk(words: Sequence[str]) -> tuple[list[str], click.Command]:
    """The first words that name a group or a command of it, and the last of these."""
    found: click.Command = cli
    names: list[str] = []
    for word in words:
        below = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if below is None:
            break
        found = served(below)
        names.append(word)
    return names, found


def may_read(words: str) -> bool:
    """Whether the command of a path only reads with some parameters at least."""
    return words.replace("/", " ") in READING


def asked_for(command: click.Command) -> list[click.Parameter]:
    """The parameters that a request may have."""
    return [one for one in command.params if one.name not in NOT_ASKED and one.expose_value]


def written(command: click.Command) -> list[click.Parameter]:
    """The parameters that name files which the command writes."""
    return [one for one in asked_for(command) if isinstance(one.type, File) and one.type.written]


def words_of(path: str, command: click.Command, given: Sequence[tuple[str, str]]) -> list[str]:
    """The words of a command.

    Args:
        given: names of parameters with their values; several of one name where it may be repeated.

    Raises:
        InputError: a name that the command does not have.
    """
    known: Mapping[str, click.Parameter] = {str(one.name): one for one in asked_for(command)}
    options: list[str] = []
    places: dict[str, list[str]] = {}
    for name, value in given:
        parameter = known.get(name.replace("-", "_"))
        if parameter is None:
            raise unknown_name("unknown-parameter", "parameter", name, known)
        if isinstance(parameter, click.Option):
            options += _option(parameter, value)
        else:
            places.setdefault(str(parameter.name), []).append(value)
    ordered = [value for one in command.params for value in places.get(str(one.name), [])]
    as_json = ["--json"] if any(one.name == "as_json" for one in command.params) else []
    # Nothing that is given can be taken for another option: it stands behind = or --.
    return [*path.split("/"), *as_json, *options, *(["--", *ordered] if ordered else [])]


def _option(option: click.Option, value: str) -> list[str]:
    name = max(option.opts, key=len)
    if not option.is_flag:
        return [f"{name}={value}"]
    if value.lower() in ("true", "1", "yes", ""):
        return [name]
    if value.lower() in ("false", "0", "no"):
        return [max(option.secondary_opts, key=len)] if option.secondary_opts else []
    raise InputError("invalid-flag", f"Invalid value '{value}' for {option.name}.", "Use true or false.")


def described(parameter: click.Parameter) -> dict[str, Any]:
    """What a parameter takes, as JSON Schema (OpenAPI 3.1)."""
    kinds: list[tuple[type, dict[str, Any]]] = [
        (File, {"type": "string", "format": "binary"}),
        (click.types.IntParamType, {"type": "integer"}),
        (click.types.FloatParamType, {"type": "number"}),
        (click.types.BoolParamType, {"type": "boolean"}),
    ]
    found = next((said for kind, said in kinds if isinstance(parameter.type, kind)), {"type": "string"})
    if isinstance(parameter.type, click.Choice):
        found = {"type": "string", "enum": [str(one) for one in parameter.type.choices]}
    if isinstance(parameter.type, File) and parameter.type.written:
        found = {"type": "string"}
    several = parameter.multiple or parameter.nargs != 1
    return {"type": "array", "items": found} if several else dict(found)
