"""Batches at an endpoint: files of calls go up, and within a day files of answers come down, for less money."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import openai
import orjson

from core.errors import GradingError
from core.graders.endpoint.ask import Endpoint, open_client
from core.graders.endpoint.batch_types import EndpointBatch, PassingError
from core.graders.endpoint.chat import brief, explanation
from core.graders.endpoint.http import UnreadableAnswerError, UnsentError
from core.graders.endpoint.redaction import redact
from core.graders.endpoint.retry import passes, told_wait
from core.limits import limit

MARK = "exam_batch"
"""Name of the field of a batch's metadata that says which of a project's batches it is."""
WINDOW = "24h"
"""Within which all is answered: the one that the protocol has."""
TRANSFER_SECONDS = 1800.0
"""For a file to go up or to come down."""
LISTED = 100
PAGES = 100
"""Batches that are looked through at most for one whose id could not be noted: so many pages of so many."""

LONGEST = 256
"""Characters of an id, or of any other word of the protocol."""

Result = TypeVar("Result")


class BatchEndpoint:
    """The files and batches of an endpoint, within a `with`. Nothing is tried twice: whoever asks knows what may be.

    Args:
        endpoint: where they are.
        key: with what; never shown.
    """

    def __init__(self, endpoint: Endpoint, key: str) -> None:
        self._endpoint = endpoint
        self._key = key
        self._runner = asyncio.Runner()
        self._client: openai.AsyncOpenAI | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._runner.run(self._client.close())
        self._runner.close()

    @property
    def address(self) -> str:
        """Where it is."""
        return self._endpoint.base_url

    @property
    def key(self) -> str:
        """What has to be kept out of everything that comes from there."""
        return self._key

    def upload(self, path: Path, name: str) -> str:
        """Upload a file of calls.

        Args:
            path: JSONL, a call a line.
            name: that the file gets there.

        Returns:
            Its id there.
        """

        async def act(client: openai.AsyncOpenAI) -> str:
            with path.open("rb") as file:
                answer = await client.files.with_raw_response.create(file=(name, file), purpose="batch")
            return _id(answer.content, "file")

        return self._do(act, "take the file of calls", TRANSFER_SECONDS)

    def create(self, file: str, url: str, mark: str) -> EndpointBatch:
        """Let a batch be made of an uploaded file; where it cannot be told whether it was, `find` tells.

        Args:
            file: its id there.
            url: path of the calls in it, as /v1/chat/completions.
            mark: by which it is found again.
        """

        async def act(client: openai.AsyncOpenAI) -> EndpointBatch:
            answer = await client.batches.with_raw_response.create(
                completion_window="24h",
                endpoint=cast(Any, url),
                input_file_id=file,
                metadata={MARK: mark},
                extra_headers={"Idempotency-Key": mark},
            )
            return self._read(answer.content)

        return self._do(act, "begin the batch")

    def find(self, file: str | None, mark: str) -> EndpointBatch | None:
        """The batch that was made of a file, or with a mark; None where none was."""

        async def act(client: openai.AsyncOpenAI) -> EndpointBatch | None:
            after: str | None = None
            for _ in range(PAGES):
                answer: Any = await client.batches.with_raw_response.list(limit=LISTED, after=after or openai.omit)
                page = _object(answer.content)
                rows = page.get("data")
                described = rows if isinstance(rows, list) else []
                found = [self._described(row) for row in described if isinstance(row, dict)]
                for batch in found:
                    if batch.mark == mark or (file is not None and batch.input_file == file):
                        return batch
                if not found or not page.get("has_more"):
                    return None
                after = found[-1].id
            return None

        return self._do(act, "list its batches")

    def look(self, batch: str) -> EndpointBatch:
        """How far a batch is."""

        async def act(client: openai.AsyncOpenAI) -> EndpointBatch:
            return self._read((await client.batches.with_raw_response.retrieve(batch)).content)

        return self._do(act, "say how far the batch is")

    def cancel(self, batch: str) -> None:
        """Let no more calls of a batch be made. What was made is kept there; one that is over stays as it is."""

        async def act(client: openai.AsyncOpenAI) -> None:
            # One that ended meanwhile cannot be cancelled; what became of it is told by `look`.
            with suppress(openai.BadRequestError, openai.ConflictError):
                await client.batches.with_raw_response.cancel(batch)

        self._do(act, "cancel the batch")

    def download(self, file: str, path: Path) -> None:
        """Fetch a file of answers.

        Args:
            file: its id there.
            path: gets the file, up to the limit ENDPOINT_BATCH.
        """

        async def act(client: openai.AsyncOpenAI) -> None:
            http: Any = client._client
            with path.open("wb") as out:
                http.spool, http.spool_most = out, limit("ENDPOINT_BATCH")
                try:
                    await client.files.with_raw_response.content(file)
                finally:
                    http.spool = None

        self._do(act, "give the file of answers", TRANSFER_SECONDS)

    def _do(
        self, act: Callable[[openai.AsyncOpenAI], Awaitable[Result]], what: str, seconds: float | None = None
    ) -> Result:
        """Do one thing there, and say in words of one's own what came in between."""
        seconds = self._endpoint.timeout_s if seconds is None else seconds

        async def run() -> Result:
            if self._client is None:
                # Its own limits are for each step of what is sent and read, and a file has many of them.
                self._client = open_client(replace(self._endpoint, timeout_s=TRANSFER_SECONDS), self._key)
            async with asyncio.timeout(seconds):
                return await act(self._client)

        try:
            return self._runner.run(run())
        except (TimeoutError, openai.APITimeoutError):
            raise PassingError("batch-call-failed", f"The endpoint did not {what} within {seconds:g} s") from None
        except openai.APIConnectionError as error:
            cause = type(error.__cause__ or error).__name__
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what}: the connection failed ({cause})"
            ) from None
        except UnsentError as error:
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what}: the connection failed ({error})"
            ) from None
        except (UnreadableAnswerError, _UnusableError) as error:
            raise PassingError("batch-call-failed", f"The endpoint did not {what}: {error}") from None
        except openai.APIStatusError as error:
            raise self._of_status(error, what) from None

    def _of_status(self, error: openai.APIStatusError, what: str) -> GradingError:
        status = error.status_code
        told = explanation(error.body, lambda text: redact(text, [self._key]))
        said = f"The endpoint did not {what}: HTTP {status}" + (f": {told}" if told else "")
        if passes(status):
            return PassingError("batch-call-failed", said, told_wait(error.response.headers, time.time()))
        hints = {
            401: "Put a key that is valid there into the environment, or the app's secrets.",
            403: "Check what the key may be used for.",
            404: f"See that {self.address} has files and batches; if it has none, grade without --batch.",
        }
        return GradingError(
            "batch-call-refused", said, hints.get(status, "Grade without --batch where this endpoint has no batches.")
        )

    def _read(self, content: bytes) -> EndpointBatch:
        return self._described(_object(content))

    def _described(self, row: Mapping[str, Any]) -> EndpointBatch:
        """A batch out of what compatible endpoints send, which leave out what they have no use for."""

        def clean(value: object) -> str:
            return brief(redact(value, [self._key])) if isinstance(value, str) else ""

        marks, counts, errors = row.get("metadata"), row.get("request_counts"), row.get("errors")
        listed = errors.get("data") if isinstance(errors, dict) else None
        first = next((one for one in listed or () if isinstance(one, dict)), {})
        done = 0
        if isinstance(counts, dict):
            done = sum(n for name in ("completed", "failed") if isinstance(n := counts.get(name), int) and n > 0)
        mark = marks.get(MARK) if isinstance(marks, dict) else None
        return EndpointBatch(
            id=_text(row.get("id")),
            status=clean(row.get("status")),
            input_file=_text(row.get("input_file_id")),
            mark=_text(mark),
            files=tuple(name for of in ("output", "error") if (name := _text(row.get(f"{of}_file_id")))),
            done=done,
            code=clean(first.get("code")),
            message=clean(first.get("message")),
        )


class _UnusableError(Exception):
    """An answer that is not what the protocol says; its text says why."""


def _object(content: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise _UnusableError("its answer is no JSON, or cut off") from None
    if not isinstance(body, dict):
        raise _UnusableError("its answer is no JSON object")
    return body


def _id(content: bytes, what: str) -> str:
    if not (found := _text(_object(content).get("id"))):
        raise _UnusableError(f"its answer names no {what}")
    return found


def _text(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""
