"""The interface of a recording to the product: its shell and its server. Adapt this module if they change."""

import functools
import importlib
import io
import os
import pkgutil
import shlex
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import click
from starlette.applications import Starlette
from starlette.testclient import TestClient

import exam_workbench
from exam_workbench import cli, server
from exam_workbench.operations import every_operation, opening
from exam_workbench.store import find_door, open_project
from exam_workbench.store._engine import CONFIG
from tests.made.shell import every_command

# Sums of floating-point numbers depend on how the threads divide the rows.
CONFIG["threads"] = 1

VERSION = exam_workbench.__version__
ROLES = ("owner", "assessor", "viewer")
ROUTES = ("openapi.json", "door", "jobs/current")
"""Routes that do not belong to a command."""


def load() -> list[Any]:
    """Import every module of the product, and return them."""
    modules = []
    for found in pkgutil.walk_packages(exam_workbench.__path__, "exam_workbench."):
        # No command uses the judge for AutoJudge, and its package asks the network for data when it is loaded.
        if found.name == "exam_workbench.autojudge":
            continue
        try:
            modules.append(importlib.import_module(found.name))
        except ImportError:
            # The module needs an optional package that is not installed.
            continue
    return modules


@functools.cache
def commands() -> dict[str, click.Command]:
    """Return the commands that can be run, by their words."""
    every = every_command()
    return {words: one for words, one in every if not isinstance(one, click.Group) or one.invoke_without_command}


def reading() -> set[str]:
    """Return the words of the commands that only read, at least with some options."""
    return {one.name for one in every_operation() if one.may_read}


def run(words: Sequence[str], project: Path) -> tuple[int, str, str]:
    """Run a command on a project; return its exit code, stdout and stderr."""
    os.environ["EXAM_PROJECT"] = str(project)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            code = cli.run_command(words)
        except Exception as error:
            code = -1
            streams[1].write("".join(traceback.format_exception_only(error)))
    output, errors = (cast(io.BytesIO, stream.buffer).getvalue().decode(errors="replace") for stream in streams)
    return code, output, errors


@contextmanager
def kept_open(path: Path) -> Iterator[None]:
    """Give all commands one open project until the block ends: opening takes ten times as long as most commands."""
    project = open_project(path)
    close, before = project.close, opening.open_project
    project.close = lambda: None  # type: ignore[method-assign]
    opening.open_project = lambda *_, **__: project
    try:
        yield
    finally:
        opening.open_project = before
        close()


@contextmanager
def served(project: Path) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """Yield a client of a server that has a project open, and a token for each role."""
    os.environ["EXAM_LIMIT_REQUESTS"] = "1000000"
    server.open_doors("http://127.0.0.1:1")
    server.hold_project(project)
    door = find_door(project)
    assert door is not None
    client = TestClient(Starlette(routes=server.routes()), raise_server_exceptions=False)
    tokens = {"owner": door.token}
    try:
        for role in ROLES[1:]:
            answer = client.post(
                "/api/v1/tokens/add", json={"name": f"a {role}", "role": role}, headers=bearer(door.token)
            )
            tokens[role] = answer.text.strip()
        yield client, tokens
    finally:
        server.close_all_projects()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def route(words: str, line: str) -> str:
    """Return the route of a reading command, with the options of a line as parameters."""
    command = commands()[words]
    given, _, _ = command.make_parser(click.Context(command)).parse_args(shlex.split(line))
    pairs = [
        (name, part)
        for name, value in given.items()
        for part in (value if isinstance(value, list | tuple) else [value])
        if isinstance(part, str | bool)
    ]
    query = urlencode([(name, str(part).lower() if isinstance(part, bool) else part) for name, part in pairs])
    return words.replace(" ", "/") + (f"?{query}" if query else "")
