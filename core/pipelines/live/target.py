"""Live targets: the address of a search or RAG endpoint, its request, and the paths to the parts of its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from ...errors import InputError, unknown_name
from ...graders import FetchMethod, Manners, checked_host
from ...plain_yaml import read_yaml
from ...text import quoted

QUERY, QUERY_ID, K = "{query}", "{query_id}", "{k}"
PLACES = (QUERY, QUERY_ID, K)
_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<at>\d+|\*)\]")


@dataclass(frozen=True)
class Target:
    """How to ask an endpoint for a query, and how to read its answer.

    Args:
        url: its address, without a query.
        request: the JSON to send, with {query}, {query_id} and {k} within texts; a text of only {k} becomes the number.
        passages: path to the list of passages, such as hits.hits; empty if it gives no passages.
        id, text, score: paths within a passage; an empty id is made of the text, an empty score of the place.
        answer: path to the answer's text; empty if it gives no answer.
        method: POST sends the request as JSON, GET as the query of the address.
        k: passages to request and keep.
        concurrency, rate, attempts, timeout_s: see `graders.Manners`.
        key_variable: variable with the key, which goes as a bearer token; empty to send none.
    """

    url: str
    request: Mapping[str, Any]
    passages: str = ""
    id: str = "id"
    text: str = "text"
    score: str = ""
    answer: str = ""
    method: FetchMethod = "POST"
    k: int = 10
    concurrency: int = 4
    rate: float | None = None
    attempts: int = 5
    timeout_s: float = 30.0
    key_variable: str = ""

    @property
    def manners(self) -> Manners:
        """The settings of its requests."""
        return Manners(self.concurrency, self.rate, self.attempts, self.timeout_s)

    def body(self, query_id: str, text: str) -> dict[str, Any]:
        """Return the request for a query. Text of a query is inserted as it is and never read as a place again."""
        filled = _filled(self.request, {QUERY: text, QUERY_ID: query_id, K: str(self.k)}, self.k)
        assert isinstance(filled, dict)
        return filled


DECIDING = ("url", "method", "request", "k", "passages", "id", "text", "score", "answer")
"""Fields of a target that determine its request and the reading of its results; speed and patience do not."""


@dataclass(frozen=True)
class Given:
    """The result of a target for a query.

    Args:
        passages: id, text (None if it gives no text) and score of each, the best first.
        answer: its text; None if it gives no answer.
    """

    passages: tuple[tuple[str, str | None, float], ...] = ()
    answer: str | None = field(default=None)


def read_target(text: str, file: str) -> Target:
    """Return a target from its file.

    Args:
        text: YAML or JSON with the fields of `Target`.
        file: its name, for messages.

    Raises:
        InputError: it is not a target file, or a field is invalid.
    """
    hint = "Set url, request (with {query}), and passages or answer."
    told = read_yaml(text, file, hint)
    if not isinstance(told, dict):
        raise InputError("invalid-target", f"{file} is not a target file.", hint)
    known = {one.name: one for one in fields(Target)}
    if strange := sorted(str(name) for name in told if name not in known):
        raise unknown_name("invalid-target", f"field of {file}:", strange[0], known)
    numbers = {"k": int, "concurrency": int, "attempts": int, "rate": (int, float), "timeout_s": (int, float)}
    for name, value in told.items():
        kind: Any = dict if name == "request" else numbers.get(name, str)
        if value is None or isinstance(value, bool) or not isinstance(value, kind):
            raise InputError("invalid-target", f"Field {name} of {file} has the wrong type.", hint)
    if "url" not in told or "request" not in told or not (told.get("passages") or told.get("answer")):
        raise InputError("invalid-target", f"Required fields are missing in {file}.", hint)
    target = Target(**told)
    checked_host(target.url)
    if target.method not in get_args(FetchMethod):
        raise InputError("invalid-target", f"Invalid method {quoted(target.method)} in {file}.", "Use POST or GET.")
    if target.k < 1 or not any(QUERY in one for one in _texts(target.request)):
        raise InputError("invalid-target", f"In {file}, the request has no {QUERY}, or k is below 1.", hint)
    for name in ("passages", "id", "text", "score", "answer"):
        path_of(getattr(target, name))
    return target


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _filled(value: Any, texts: Mapping[str, str], k: int) -> Any:
    if isinstance(value, str):
        if value == K:
            return k
        return re.sub("|".join(map(re.escape, PLACES)), lambda place: texts[place[0]], value)
    if isinstance(value, Mapping):
        return {name: _filled(one, texts, k) for name, one in value.items()}
    return [_filled(one, texts, k) for one in value] if isinstance(value, list) else value


def path_of(path: str) -> list[str | int]:
    """Return the steps of a path such as hits.hits[0].text; [*] takes every element.

    Raises:
        InputError: the path is invalid.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        at += path[at] == "." and at > 0
        step = _STEP.match(path, at)
        if step is None:
            raise InputError(
                "invalid-path", f"Invalid path {quoted(path)}.", "Use names separated by dots, with [0] or [*]."
            )
        steps.append(step["name"] if step["name"] else "*" if step["at"] == "*" else int(step["at"]))
        at = step.end()
    return steps


def at_path(value: Any, path: str) -> Any:
    """Return the value at a path of a JSON value; None if it is absent. A path with [*] gives a list."""
    return _at(value, path_of(path))


def _at(value: Any, steps: list[str | int]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            rest = steps[number + 1 :]
            return [_at(one, rest) for one in value] if isinstance(value, list) else None
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
