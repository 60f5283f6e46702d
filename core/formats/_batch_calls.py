"""Model calls that run outside the workbench: files for batch endpoints (vLLM reads them too), and
Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from ..atomic_files import replace_file
from ..errors import Report
from ..limits import describe_exceeded, read_limit
from ._source import Refused, Source, as_object, check_shape, open_objects, report_refusals

URLS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
"""The URL path of a call, by its API."""
PARQUET = ".parquet"
ROWS = 4096
"""Rows of a Parquet file that are in memory together."""
LONGEST_NAME = 64
"""Maximum number of characters of a call's name: batch endpoints do not accept longer names."""
GIVEN_UP = frozenset(("batch_expired", "batch_cancelled"))
"""Error codes of batch endpoints for calls that were never made."""


@dataclass(frozen=True)
class WrittenCall:
    """One call, in the form in which it would be sent.

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
    """The outcome of a call; if `content` and `error` are both None, the call was never made.

    Args:
        name: the name of the call.
        content: body of the answer in JSON.
        error: the reason for a missing answer.
        status: the HTTP status of a refusal; None if the file has no such status.
        file, line: the place of the reply.
    """

    name: str
    content: bytes | None = None
    error: str | None = None
    status: int | None = None
    file: str = ""
    line: int = 0


def write_calls(calls: Iterable[WrittenCall], path: Path) -> int:
    """Write calls to run outside the workbench; return their number.

    Args:
        calls: written one by one as they arrive.
        path: Parquet if the name ends in `.parquet`, else JSONL with a call per line. The Parquet
            columns are custom_id, url, body (JSON), answer and error; the last two are empty, to be
            filled in.

    Raises:
        InputError, ProjectError: as `atomic_files.replace_file`; no part of the file is left.
    """
    with replace_file(path) as made:
        return _write_parquet(calls, made) if path.suffix == PARQUET else _write_lines(calls, made)


def call_line(call: WrittenCall) -> bytes:
    """Return a call as a line of a batch file."""
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
    columns = pa.schema(
        [(name, pa.string()) for name in ("custom_id", "url", "body", "answer", "error")]
    )
    with pq.ParquetWriter(path, columns) as out:
        while batch := list(islice(waiting, ROWS)):
            rows = [
                {
                    "custom_id": call.name,
                    "url": URLS[call.api],
                    "body": orjson.dumps(call.body).decode(),
                }
                for call in batch
            ]
            out.write_table(pa.Table.from_pylist(rows, columns))
            number += len(batch)
    return number


def read_replies(sources: Sequence[Source], report: Report) -> Iterator[Reply]:
    """Read the outcomes of calls.

    Args:
        sources: JSONL as batch endpoints write it (`custom_id`, `response` with `status_code` and
            `body`, `error`), or with only the model's text (`custom_id`, `answer`). Parquet has
            columns of these names, with the body in JSON.
        report: receives rows that are not replies.

    Yields:
        A reply for each row, in file order.
    """
    for source in sources:
        in_parquet = source.path is not None and source.path.suffix == PARQUET
        for number, row in (_parquet_rows if in_parquet else open_objects)(source, report):
            with report_refusals(report, source.name, number):
                yield replace(_read_reply(row), file=source.name, line=number)


def _parquet_rows(source: Source, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.path) as file:
            columns_present = [
                name
                for name in ("custom_id", "answer", "error", "response")
                if name in file.schema_arrow.names
            ]
            batches = file.iter_batches(ROWS, columns=columns_present)
            yield from enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1)
    # ValueError and OverflowError: Python cannot hold a value, such as a date out of range or
    # invalid UTF-8.
    except (OSError, pa.ArrowException, ValueError, OverflowError) as error:
        report.refuse(
            source.name, None, "unreadable-file", f"the file cannot be read as Parquet: {error}"
        )


def _read_reply(row: Mapping[str, Any]) -> Reply:
    name = row.get("custom_id")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise Refused("unknown-call", "custom_id is missing, or no planned call has it")
    error = _error_reason(row.get("error"))
    if error is not None:
        return Reply(name, error=error or None)
    answer = row.get("answer")
    if answer is not None:
        if not isinstance(answer, str):
            raise Refused("not-a-text", "the answer is not a text")
        choice = {
            "message": {"content": answer},
            "text": answer,
            "finish_reason": row.get("finish_reason") or "stop",
        }
        return Reply(name, orjson.dumps({"choices": [choice]}))
    return _response_reply(name, row.get("response"))


def _response_reply(name: str, response: Any) -> Reply:
    """Return the reply in a batch endpoint's response: status and body, or only a body if the
    engine wrote no status."""
    if isinstance(response, str):
        check_shape(response.encode())
        try:
            response = orjson.loads(response)
        except orjson.JSONDecodeError as error:
            raise Refused("invalid-json", f"the response is not valid JSON: {error.msg}") from error
    if response is None:
        return Reply(name)
    if "body" not in as_object(response, "the response is not a JSON object"):
        response = {"status_code": 200, "body": response}
    status, body = response.get("status_code", 200), response["body"]
    if not isinstance(status, int):
        raise Refused("invalid-number", "the status code is not a number")
    fault = body.get("error") if isinstance(body, dict) else None
    if status == 200 and isinstance(fault, dict) and fault.get("code") in range(400, 600):
        # Gateways report an error of the server behind them with status 200.
        status = fault["code"]
    if status != 200:
        reason = _error_reason(fault)
        return Reply(
            name, error=f"HTTP {status}: {reason}" if reason else f"HTTP {status}", status=status
        )
    try:
        content = orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise Refused("invalid-json", f"the response is not valid JSON: {error}") from error
    if len(content) > (most := read_limit("ENDPOINT_ANSWER")):
        return Reply(
            name, error=describe_exceeded("the answer is longer than", "ENDPOINT_ANSWER", most)
        )
    return Reply(name, content)


def _error_reason(error: Any) -> str | None:
    """Return the reason why a call has no answer: an empty text if it was never made, None if it
    did not fail.
    """
    if error is None or error == "":
        return None
    if isinstance(error, dict):
        if error.get("code") in GIVEN_UP:
            return ""
        error = error.get("message") or error.get("code") or "an error without a message"
    return str(error)
