"""Hostile requests: server paths and absurd values for every parameter of every command."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from exam_workbench.audit import Goal, design_audit, draw_batch
from exam_workbench.operations import every_operation
from exam_workbench.operations.registry import Operation
from exam_workbench.server._api_requests import request_parameters
from exam_workbench.store import Project
from tests.made.cascades import fill_planned
from tests.made.projects import judge

SECRET = "the-word-of-the-canary"

SOUND: Mapping[str, object] = {
    "query": "q1", "query_id": "q1", "question_id": "q1/a", "passage_id": "q1p1", "question": "q1/a", "passage": "q1p1",
    "queries": "q1", "question_ids": "q1/a", "item_ids": "q1/a", "keys": 1, "key": 1, "value": 1, "rating": 1,
    "reason": "why", "note": "why", "text": "What of q1?", "texts": ["A?", "B?"], "name": "some", "names": "good",
    "before": "good", "after": "fair", "since": "good", "identity": "eve@x.org", "role": "viewer", "kind": "queries",
    "what": "qrels", "model": "m", "input_price": 1, "output_price": 1, "version": 1, "against": "assessors",
    "measure": "P@2", "aim": "best", "runs": "good", "grader_name": "embedding", "people": "ann", "person": "ann",
    "wanted": 2, "retriever": "bm25", "by": "letter", "judge": "em",
    "judges": "em", "case": "A", "words": "word", "limit": 1, "patience": 0, "max_calls": 1, "seed": 1, "number": 1,
    "families": "good", "dry_run": True, "act": 1, "k": 1, "ks": 1,
}  # fmt: skip
"""Valid values by parameter name, for the required parameters of commands."""
INSTEAD: Mapping[tuple[str, str], object] = {
    ("examinees/add", "by"): "random", ("disagreements/resolve", "by"): "comment", ("bank/diff", "before"): 1,
    ("changes", "before"): 1, ("changes", "after"): 1, ("irt/items", "by"): "d", ("irt/improve", "by"): "d",
    ("examinees/leaderboard", "by"): "topic", ("irt/fit", "model"): "2pl", ("bank/diff", "after"): 1,
}  # fmt: skip
FURTHER: Mapping[str, Mapping[str, object]] = {
    "generate": {"queries": "q1"}, "answers/rag": {"retriever": "bm25"}, "answers/generate": {"rule": "extractive"},
    "agreement": {"against_person": "assessors"},
}  # fmt: skip
"""Parameters that a command needs before it checks the others."""

ABSURD: Sequence[object] = (
    "x" * 70_000, "9" * 5000, -1, 0, 2**31 - 1, 2**63, 10**400, 1e308, float("nan"), float("inf"), "", " ", "\0", "-",
    "--help", "\ud800", "\u202e\u2066", "\u0663", "1e400", True, {"a": [1]}, [[1]], [], ["a", "b", "c"], "q1\n\r\tq2",
    "'; DROP TABLE queries; --", "%s%n{0}$(id)", "none", "a=b", "=", "2026-01-01", "2026-01-01T00:00:00+99:99",
    "0001-01-01", "9999-12-31", "*", "\\", "(" * 3000,
)  # fmt: skip
"""Values that are huge, of a wrong type, or invalid text."""


@dataclass(frozen=True)
class Attack:
    """A request.

    Args:
        about: the command, the parameter, its value, and how it is sent.
        command: the words of the command, joined by slashes.
    """

    about: str
    command: str
    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


def fill_attacked(project: Project) -> None:
    """Add grades of two graders, judgments, a cascade and an audit, so that every command finds content."""
    fill_planned(project)
    judge(project, {("q1", "q1p1"): 1, ("q1", "q1p2"): 0, ("q2", "q2p1"): 1})
    draw_batch(project, design_audit(project, "an audit", "P@2", Goal("best"), seed=1, author="org"), "org")


def sound(path: str, operation: Operation) -> dict[str, object]:
    """Return valid parameters, so that an operation gets as far as possible."""
    given: dict[str, object] = {}
    for one in request_parameters(operation):
        if one.option.file is not None:
            continue
        if one.required or one.name in ("limit", "patience", "max_calls", "dry_run"):
            given[one.name] = INSTEAD.get((path, one.name), SOUND.get(one.name, "some"))
            if one.option.choices and given[one.name] not in one.option.choices:
                given[one.name] = one.option.choices[0]
    return given | FURTHER.get(path, {})


def offered() -> Iterator[tuple[str, Operation]]:
    """Return the operations that the API offers, with their paths."""
    return ((one.name.replace(" ", "/"), one) for one in every_operation() if not one.at_shell)


def attacks(paths: Sequence[str], new: str) -> Iterator[Attack]:
    """Yield attacks on each parameter of each command: a path if it accepts text, and an absurd value.

    Args:
        paths: paths of existing files.
        new: a path without a file.
    """
    turn = 0
    for path, operation in offered():
        base = sound(path, operation)
        for one in request_parameters(operation):
            turn += 1
            name, value = one.name, ABSURD[turn % len(ABSURD)]
            if one.option.file is not None:
                yield from _as_file(path, operation, base, name, paths[turn % len(paths)])
                for named in (*paths, new):
                    yield from _as_json(path, base, name, named)
            elif one.kind is str and not one.option.choices:
                yield from _as_json(path, base, name, paths[turn % len(paths)])
            # Without a dry run the command would take long.
            if name != "dry_run":
                yield from _as_json(path, base, name, value)


def _as_json(path: str, base: Mapping[str, object], name: str, value: object) -> Iterator[Attack]:
    for where in ("grade", "jobs") if path == "grade" else (path,):
        yield Attack(f"{where} {name}={str(value)[:40]!r}", path, "POST", f"/api/v1/{where}", {**base, name: value})


def _as_file(path: str, operation: Operation, base: Mapping[str, object], name: str, value: str) -> Iterator[Attack]:
    """Yield attacks that send a path as a form, a query or a multipart field."""
    about = f"{path} {name}={value!r}"
    plain = [(key, str(one)) for key, whole in base.items() for one in (whole if isinstance(whole, list) else [whole])]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    yield Attack(f"{about} form", path, "POST", f"/api/v1/{path}", urlencode([*plain, (name, value)]).encode(), form)
    if operation.may_read:
        yield Attack(f"{about} query", path, "GET", f"/api/v1/{path}?{urlencode([*plain, (name, value)])}")
    parts = [f'name="{key}"\r\n\r\n{part}' for key, part in plain]
    for file in (f'name="{name}"\r\n\r\n{value}', f'name="{name}"; filename="{value}"\r\n\r\nsent'):
        said = "".join(f"--b\r\nContent-Disposition: form-data; {part}\r\n" for part in [*parts, file])
        multipart = {"Content-Type": "multipart/form-data; boundary=b"}
        yield Attack(f"{about} multipart", path, "POST", f"/api/v1/{path}", f"{said}--b--\r\n".encode(), multipart)


def sent_by_a_shell(paths: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each operation with a file parameter, with a server path instead of a sent file."""
    for path, operation in offered():
        for at, one in enumerate(request_parameters(operation)):
            if one.option.file is not None:
                yield operation.name, {**sound(path, operation), one.name: paths[at % len(paths)]}
