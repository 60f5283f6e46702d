"""Running shell commands on a project, one after another."""

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import click
import pytest

from exam_workbench import cli
from exam_workbench.store import Project
from tests.made.projects import file_of
from tests.made.refusals import kept_failures

Said = tuple[int, str, str]


class Run:
    """Runs commands of `exam`, one after another.

    Attributes:
        failures: the errors of the workbench that ended commands so far.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.failures = kept_failures(monkeypatch)

    def __call__(self, *words: str) -> Said:
        """Run a command; return its exit code, output and error output."""
        self._monkeypatch.setattr(sys, "argv", ["exam", *words])
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        else:
            code = 0
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def fails(self, code: str, *words: str) -> str:
        """Run a command that must end with an error of this code; return its error output."""
        before = len(self.failures)
        exit_code, _, told = self(*words)
        assert exit_code and [error.code for error in self.failures[before:]] == [code], told
        return told


def run_words(words: Sequence[str]) -> tuple[int, bytes, str]:
    """Run `exam` with these words in this process; return its exit code, output and error output."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["exam", *words]):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    out.flush()
    err.flush()
    return code, out.detach().getvalue(), err.detach().getvalue().decode()


def every_command(command: click.Command = cli.cli, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command and each group of commands, after its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from every_command(child, f"{words} {name}".strip())


def exam_on(project: Project, *words: str) -> Any:
    """Run `exam` on a project, which is closed then; return its output, or its result with `--json`."""
    project.close()
    code, out, err = run_words([*words, "--project", str(project.path)])
    assert code == 0, err
    return json.loads(out) if "--json" in words else out.decode()


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


ShellOn = Callable[[Callable[[Project], object]], Run]


@pytest.fixture
def shell_on(commands: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellOn:
    """Return a function that fills the project `some.duckdb` and runs `exam` in its folder, as ann."""

    def on(fill: Callable[[Project], object]) -> Run:
        path = tmp_path / "some.duckdb"
        file_of(fill).write(path)
        monkeypatch.setenv("EXAM_PROJECT", str(path))
        monkeypatch.setenv("EXAM_AUTHOR", "ann")
        monkeypatch.chdir(tmp_path)
        return commands

    return on


def printed(said: Said) -> dict[str, Any]:
    """Return the JSON object that a successful command printed."""
    assert said[0] == 0, said[2]
    return json.loads(said[1])
