"""Calls of a model that are answered elsewhere: files for batch endpoints, as vLLM takes them too, and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from ..atomic_files import written
from ..errors import Report
from ..limits import exceeded, limit
from .source import Refused, Source, check_shape, open_objects, refusing

URLS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
"""Where a call would go, by what the endpoint is asked for."""
PARQUET = ".parquet"
ROWS = 4096
"""Rows of a Parquet file that are in memory together."""
LONGEST_NAME = 64
"""Characters of a call's name: batch endpoints take no longer ones."""
GIVEN_UP = frozenset(("batch_expired", "batch_cancelled"))
"""What a batch endpoint says of a call that it never made."""


@dataclass(frozen=True)
class WrittenCall:
    """One call, as it would be sent.

    Args:
        name: identifies it, at most `LONGEST_NAME` characters.
        api: chat or completions.
        body: fields of the request by name.
    """

    name: str
    api: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came of a call; where `content` and `error` are both None it was never made.

    Args:
        name: the call's.
        content: body of the answer in JSON.
        error: why there is none.
        status: the HTTP status with which it was turned away; None where no such status is told.
        file, line: where it stands.
    """

    name: str
    content: bytes | None = None
    error: str | None = None
    status: int | None = None
    file: str = ""
    line: int = 0


def write_calls(calls: Iterable[WrittenCall], path: Path) -> int:
    """Write calls to be answered elsewhere.

    Args:
        calls: are written as they come.
        path: JSONL, a call a line, or Parquet where the name ends so: columns custom_id, url, body (JSON), and answer
            and error, which are empty and to be filled.

    Returns:
        Their number.

    Raises:
        InputError, ProjectError: as `atomic_files.written`; nothing is left of the file.
    """
    with written(path) as made:
        return _write_parquet(calls, made) if path.suffix == PARQUET else _write_lines(calls, made)


def call_line(call: WrittenCall) -> bytes:
    """A call as a line of a batch file."""
    row = {"custom_id": call.name, "method": "POST", "url": URLS[call.api], "body": call.body}
    return orjson.dumps(row) + b"\n"


def _write_lines(calls: Iterable[WrittenCall], path: Path) -> int:
    number = 0
    with path.open("wb") as out:
        for call in calls:
            out.write(call_line(call))
            number += 1
    return number


def _write_parquet(calls: Iterable[WrittenCall], path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number, waiting = 0, iter(calls)
    columns = pa.schema([(name, pa.string()) for name in ("custom_id", "url", "body", "answer", "error")])
    with pq.ParquetWriter(path, columns) as out:
        while batch := list(islice(waiting, ROWS)):
            rows = [
                {"custom_id": call.name, "url": URLS[call.api], "body": orjson.dumps(call.body).decode()}
                for call in batch
            ]
            out.write_table(pa.Table.from_pylist(rows, columns))
            number += len(batch)
    return number


def read_replies(sources: Sequence[Source], report: Report) -> Iterator[Reply]:
    """Read what came of calls.

    Args:
        sources: JSONL as batch endpoints give it (`custom_id`, `response` with `status_code` and `body`, `error`), or
            with the model's words alone (`custom_id`, `answer`); Parquet with columns of these names, the body in JSON.
        report: takes rows that are no such thing.

    Yields:
        A reply for each row, in file order.
    """
    for source in sources:
        rows = _parquet_rows(source, report) if _is_parquet(source) else open_objects(source, report)
        for number, row in rows:
            with refusing(report, source.name, number):
                yield replace(_reply(row), file=source.name, line=number)


def _is_parquet(source: Source) -> bool:
    return source.path is not None and source.path.suffix == PARQUET


def _parquet_rows(source: Source, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(source.path) as file:
            wanted = [name for name in ("custom_id", "answer", "error", "response") if name in file.schema_arrow.names]
            for batch in file.iter_batches(ROWS, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    # Also values that Python cannot hold: a time beyond all years, a text that is no UTF-8.
    except (OSError, pa.ArrowException, ValueError, OverflowError) as error:
        report.refuse(source.name, None, "unreadable-file", f"the file cannot be read as Parquet: {error}")


def _reply(row: Mapping[str, Any]) -> Reply:
    name = row.get("custom_id")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise Refused("unknown-call", "custom_id is missing, or no planned call has it")
    error = _error(row.get("error"))
    if error is not None:
        return Reply(name, error=error or None)
    answer = row.get("answer")
    if answer is not None:
        if not isinstance(answer, str):
            raise Refused("not-a-text", "the answer is not a text")
        choice = {"message": {"content": answer}, "text": answer, "finish_reason": row.get("finish_reason") or "stop"}
        return Reply(name, orjson.dumps({"choices": [choice]}))
    return _response(name, row.get("response"))


def _response(name: str, response: Any) -> Reply:
    """The reply in what a batch endpoint gives: a status and a body; a body alone where an engine wrote no status."""
    if isinstance(response, str):
        check_shape(response.encode())
        try:
            response = orjson.loads(response)
        except orjson.JSONDecodeError as error:
            raise Refused("invalid-json", f"the response is not valid JSON: {error.msg}") from error
    if response is None:
        return Reply(name)
    if not isinstance(response, dict):
        raise Refused("not-an-object", "the response is not a JSON object")
    if "body" not in response:
        response = {"status_code": 200, "body": response}
    status, body = response.get("status_code", 200), response["body"]
    if not isinstance(status, int):
        raise Refused("invalid-number", "the status code is not a number")
    fault = body.get("error") if isinstance(body, dict) else None
    if status == 200 and isinstance(fault, dict) and fault.get("code") in range(400, 600):
        # Gateways report an error behind them with a status of success.
        status = fault["code"]
    if status != 200:
        told = _error(fault)
        return Reply(name, error=f"HTTP {status}: {told}" if told else f"HTTP {status}", status=status)
    try:
        content = orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise Refused("invalid-json", f"the response is not valid JSON: {error}") from error
    if len(content) > (most := limit("ENDPOINT_ANSWER")):
        return Reply(name, error=exceeded("the answer is longer than", "ENDPOINT_ANSWER", most))
    return Reply(name, content)


def _error(error: Any) -> str | None:
    """Why a call will have no answer; empty where it was never made, None where there is no error."""
    if error is None or error == "":
        return None
    if isinstance(error, dict):
        if error.get("code") in GIVEN_UP:
            return ""
        error = error.get("message") or error.get("code") or "an error without a message"
    return str(error)
