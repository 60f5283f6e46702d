"""Values that an open double assignment hides from people do not change what they read."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from exam_workbench.errors import WorkbenchError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import citation_grader, list_citations, response_support, set_support
from exam_workbench.operations import every_operation
from exam_workbench.operations.console import print_result
from exam_workbench.operations.opening import Opening
from exam_workbench.records import assign_double
from exam_workbench.review import end_double
from exam_workbench.store import Project, open_project
from tests.cli.test_reading_together import ARGUMENTS
from tests.made.projects import made_project
from tests.made.requests import requested
from tests.review.test_adjudication import SECRET, as_, make

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
UPDATE support_values SET value = 0, reason = 'other' WHERE author = 'bob';
UPDATE activity SET detail = replace(detail, '"value":2', '"value":0') WHERE act = 'set support';
UPDATE activity SET detail = replace(replace(detail, '{SECRET}', 'other'), ':3', ':0') WHERE author = 'bob';
"""


def make_cited(project: Project) -> None:
    """Fill the double assignment of `make`, and another with a response whose citation bob rated."""
    make(project)
    assign_double(project, "q2", "olga", ["ann", "bob"])
    answer = [{"text": "B is so.", "citations": ["p3"]}]
    row = json.dumps({"run_id": "gen", "topic_id": "q2", "references": [], "answer": answer})
    import_files(project, "responses", [Source("responses.jsonl", data=row.encode())], "olga")
    run_job(project, make_grader("support-embedding", {}), Request(), "olga")
    set_support(as_(project, "bob"), "gen/q2/1", 1, "p3", 2, "bob", SECRET)


class As(Opening):
    """Opens a project for a person."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.project = project

    @contextmanager
    def __call__(self) -> Iterator[Project]:
        with self.project.permit(self.act):
            yield self.project


def outputs(path: Path, name: str, commands: Sequence[str] = READING) -> dict[str, str]:
    """Return everything that reading operations print for a person."""
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
    made_project(paths[0], make_cited).close()
    paths[1].write_bytes(paths[0].read_bytes())
    with duckdb.connect(str(paths[1])) as connection:
        connection.execute(HIDDEN)
    return paths[0], paths[1]


SHOWN = (
    "judgments list",
    "overrides list",
    "disagreements history",
    "activity",
    "assignments agreement",
    "support show",
)
"""Commands that print the hidden values to an organizer."""


@pytest.mark.parametrize(("name", "commands"), [("ann", READING), ("cat", SHOWN)], ids=["ann", "cat"])
def test_hidden_values_do_not_change_output_for_assessors(
    twins: tuple[Path, Path], name: str, commands: Sequence[str]
) -> None:
    one, other = (outputs(path, name, commands) for path in twins)
    assert [command for command in commands if one[command] != other[command]] == []
    assert not [command for command in commands if SECRET in one[command]]


def test_organizer_output_contains_hidden_values(twins: tuple[Path, Path]) -> None:
    one, other = (outputs(path, "olga", SHOWN) for path in twins)
    assert [command for command in SHOWN if one[command] == other[command]] == []


def test_support_values_count_once_double_assignment_ends(twins: tuple[Path, Path]) -> None:
    project = open_project(twins[0])
    grader = citation_grader(project)
    (one,) = list_citations(project, grader, author="bob")
    assert (one.value, one.author, one.own) == (None, None, 2)
    rated = response_support(project, grader)[0].recall
    end_double(project, "q2", "olga")
    (one,) = list_citations(project, grader, author="ann")
    assert (one.value, one.author, one.own) == (2, "bob", None)
    assert response_support(project, grader)[0].recall == 1 != rated
    project.close()
