"""Spending on model calls: permissions of roles, and daily limits of tokens."""

import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from exam_workbench.errors import InputError
from exam_workbench.operations import every_operation, find_operation
from exam_workbench.operations.registry import Operation
from exam_workbench.records import acting_with, find_token, make_token
from exam_workbench.server._api_requests import check_values, request_parameters
from exam_workbench.server._operation_requests import OperationRequest, RunningOperation
from exam_workbench.store import ACTS, Project, open_project
from tests.made.endpoint_server import EndpointServer
from tests.made.requests import requested
from tests.server import hostile

ENDPOINT = ("model", "base_url", "back_end", "grader_name")
"""Parameters that choose the model."""


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EndpointServer]:
    """An endpoint that the owner offers to all people."""
    with EndpointServer() as server:
        offered = tmp_path / "endpoints.json"
        offered.write_text(json.dumps({"endpoints": {"here": {"base_url": server.url}}}), encoding="utf-8")
        monkeypatch.setenv("EXAM_ENDPOINTS", str(offered))
        yield server


@pytest.fixture
def project(planned: Path, tmp_path: Path) -> Project:
    return open_project(Path(shutil.copy(planned, tmp_path / "some.duckdb")))


def token(project: Project, name: str, role: str) -> Project:
    found = find_token(project, make_token(project, name, role, "olga"))  # type: ignore[arg-type]
    assert found is not None
    return acting_with(project, found)


def run(project: Project, words: Sequence[str]) -> tuple[int, bytes]:
    """Run a command for a token and return its exit code and output."""
    return ask(project, *requested(words), as_json="--json" in words)


def ask(
    project: Project, operation: Operation, given: Mapping[str, object], as_json: bool = False
) -> tuple[int, bytes]:
    ended, said, codes = threading.Event(), bytearray(), list[int]()

    def end(code: int, _: object) -> None:
        codes.append(code)
        ended.set()

    member = project.member()
    assert member is not None
    asked = OperationRequest(operation, given, project, member.name, as_json)
    RunningOperation(asked, lambda _, content: said.extend(content), end)
    assert ended.wait(60)
    return codes[0], bytes(said)


def test_models_are_not_called_for_tokens_that_cannot_spend(project: Project, endpoint: EndpointServer) -> None:
    asking = {"model": "m", "base_url": endpoint.url, "back_end": "openai"}
    wanted = {**asking, "grader_name": "self-rating", "question_id": "q1/a", "query_id": "q1", "patience": "0"}
    tried = 0
    for role in ("viewer", "assessor"):
        acting = token(project, role, role)
        for path, operation in hostile.offered():
            known = {one.name for one in request_parameters(operation)}
            if not known & {*ENDPOINT, "every"}:
                continue
            further = {name: value for name, value in {**wanted, "every": True}.items() if name in known}
            given = {**hostile.sound(path, operation), **further}
            given.pop("dry_run", None)
            lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
            pairs = [(name, one) for name, values in lists.items() for one in values]
            with suppress(InputError):
                ask(acting, operation, check_values(operation, pairs))
                tried += 1
    assert tried > 20 and endpoint.seen == []
    code, said = run(token(project, "organizer", "organizer"), [
        "graders", "test", "--grader=self-rating", "--model=m", f"--base-url={endpoint.url}", "--question=q1/a",
    ])  # fmt: skip
    assert code == 0 and len(endpoint.seen) == 1, said
    for command in ("graders test", "proposals answer-key", "generate", "grade", "examinees run", "items generate"):
        rule = ACTS[find_operation(command).act]  # type: ignore[union-attr]
        assert rule.role == "organizer" and rule.writes
    assert {one.act for one in every_operation() if one.name.startswith("tokens ")} == {"manage people"}
    assert ACTS["manage people"].role == "organizer"


def test_token_calls_are_limited(project: Project, endpoint: EndpointServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_CALLS", "3")
    model = ["--grader=self-rating", "--model=m", f"--base-url={endpoint.url}"]
    trial = ["graders", "test", *model, "--question=q1/a"]
    first, second = token(project, "first", "organizer"), token(project, "second", "organizer")
    assert [run(first, trial)[0] for _ in range(2)] == [0, 0]
    # A job of the same token may use the remaining calls of the day and then stops in an orderly way.
    code, said = run(first, ["grade", "--json", "--concurrency=1", *model])
    assert code == 0 and json.loads(said.splitlines()[-1])["state"] == "stopped", said
    assert len(endpoint.seen) == 3
    assert [run(first, words)[0] for words in (trial, [*trial, "--injections"])] == [1, 1]
    drafted = ["generate", "--query=q1", "--model=m", f"--base-url={endpoint.url}", "--patience=0"]
    assert run(first, drafted)[0] == 1
    assert len(endpoint.seen) == 3
    assert run(second, trial)[0] == 0 and len(endpoint.seen) == 4
