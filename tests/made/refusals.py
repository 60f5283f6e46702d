"""Checks of errors by code: tests compare the code and the values in a message, never its sentences."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import Result

from exam_workbench import cli
from exam_workbench.errors import InputError, Problem, WorkbenchError


def mentions(text: str, value: str) -> bool:
    """Return whether a text contains a value as a whole word or number."""
    before, after = (r"(?<!\w)" if value[0].isalnum() else "", r"(?!\w)" if value[-1].isalnum() else "")
    return re.search(before + re.escape(value) + after, text) is not None


def coded(problem: Problem) -> str:
    """Return place and code of a problem, as "some.run:3 not-a-number"; without the line for a whole file."""
    place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    return f"{place} {problem.code}"


def check_problem(problem: Problem, said: str, *values: str) -> None:
    """Check the place and the code of a problem, as `coded` gives them, and that its reason has each value."""
    assert coded(problem) == said, str(problem)
    lacking = [value for value in values if not mentions(problem.reason, value)]
    assert not lacking, f"{problem} lacks {lacking}"


def check_error(error: BaseException | None, code: str, *values: str) -> None:
    """Check that an error has a code, and that its message with the hint has each value."""
    assert isinstance(error, WorkbenchError), repr(error)
    assert error.code == code, f"{error.code}: {error}"
    lacking = [value for value in values if not mentions(str(error), value)]
    assert not lacking, f"{error} lacks {lacking}"


@contextmanager
def refusal(
    code: str, *values: str, kind: type[WorkbenchError] = InputError
) -> Iterator[pytest.ExceptionInfo[WorkbenchError]]:
    """Expect that the block raises an error of the workbench.

    Args:
        code: code of the error.
        values: each occurs in its message or hint.
        kind: class of the error.

    Yields:
        The raised error, available after the block.
    """
    with pytest.raises(kind) as caught:
        yield caught
    check_error(caught.value, code, *values)


def failed(result: Result) -> str:
    """Return the code of the error that ended a command of click's runner."""
    assert isinstance(result.exception, WorkbenchError), repr(result.exception)
    return result.exception.code


def kept_failures(monkeypatch: pytest.MonkeyPatch) -> list[WorkbenchError]:
    """Return a list that collects the errors of later commands; they are still printed."""
    kept: list[WorkbenchError] = []
    command = cli.cli.main

    def run(*words: Any, **options: Any) -> object:
        try:
            return command(*words, **options)
        except WorkbenchError as error:
            kept.append(error)
            raise

    monkeypatch.setattr(cli.cli, "main", run)
    return kept
