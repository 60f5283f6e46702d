"""Values that an open double assignment hides from a person change nothing of what that person reads."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from exam_workbench.errors import WorkbenchError
from exam_workbench.operations import every_operation
from exam_workbench.operations.opening import Opening
from exam_workbench.operations.output import print_result
from exam_workbench.project import Project, open_project
from tests.cli.test_reading_together import ARGUMENTS
from tests.made.projects import made_project
from tests.made.requests import requested
from tests.review.test_adjudication import SECRET, make

FURTHER = {
    **ARGUMENTS,
    "judgments list": ("--query", "q1"),
    "correlate": ("--against", "assessor: bob"),
    "meta-evaluation": ("--against", "assessor: bob"),
    "agreement": ("--source", "assessor: bob"),
}
READING = [one.name for one in every_operation() if one.may_read and not one.at_shell]
HIDDEN = f"""
UPDATE judgments SET value = 0 FROM sources s WHERE s.source_key = judgments.source_key AND s.name = 'assessor: bob';
UPDATE overrides SET rating = 0, reason = 'other' WHERE author = 'bob';
UPDATE settlings SET right_value = 0, rating = 0, reason = 'other' WHERE author = 'bob';
UPDATE activity SET detail = replace(replace(detail, '{SECRET}', 'other'), ':3', ':0') WHERE author = 'bob';
"""


class As(Opening):
    """Opens a project for a person."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.project = project

    @contextmanager
    def __call__(self) -> Iterator[Project]:
        with self.project.doing(self._act):
            yield self.project


def outputs(path: Path, name: str, commands: Sequence[str] = READING) -> dict[str, str]:
    """Everything that reading operations print for a person."""
    project, printed = open_project(path), dict[str, str]()
    handle = project.acting_as(f"{name}@x.org")
    for command in commands:
        operation, given = requested([*command.split(), *FURTHER.get(command, ())])
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                print_result(operation.call(given, As(handle)), operation.has_json)
            except WorkbenchError as error:
                out.write(f"{error.code} {error}")
        printed[command] = out.getvalue()
    project.close()
    return printed


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "other")]
    paths = [folder / "made.duckdb" for folder in folders]
    made_project(paths[0], make).close()
    paths[1].write_bytes(paths[0].read_bytes())
    with duckdb.connect(str(paths[1])) as connection:
        connection.execute(HIDDEN)
    return paths[0], paths[1]


@pytest.mark.parametrize("name", ["ann", "cat"])
def test_a_hidden_value_changes_no_output_for_an_assessor(twins: tuple[Path, Path], name: str) -> None:
    one, other = (outputs(path, name) for path in twins)
    assert [command for command in READING if one[command] != other[command]] == []
    assert not [command for command in READING if SECRET in one[command]]


def test_the_values_are_in_the_outputs_for_an_organizer(twins: tuple[Path, Path]) -> None:
    shown = ("judgments list", "overrides list", "disagreements history", "activity", "assignments agreement")
    one, other = (outputs(path, "olga", shown) for path in twins)
    assert [command for command in shown if one[command] == other[command]] == []
