"""Batches at an endpoint: upload of calls, and download of answers within a day, for less money."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import openai
import orjson

from ...errors import GradingError
from ...limits import limit
from .chat import brief, explanation
from .http_client import UnreadableAnswerError, UnsentError
from .redaction import redact
from .request_settings import EndpointBatch, PassingError
from .retry import passes
from .single_call import Endpoint, open_client

MARK = "exam_batch"
"""Name of the metadata field with the mark of a project's batch."""
TRANSFER_SECONDS = 1800.0
"""Time limit of an upload or download."""
LONGEST = 256
"""Maximum number of characters of an id, or of any other word of the protocol."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class BatchEndpoint:
    """The files and batches of an endpoint. No operation is retried.

    Args:
        endpoint: the endpoint.
        key: never shown, and removed from every text that the endpoint sends.
    """

    endpoint: Endpoint
    key: str

    def upload(self, path: Path, name: str) -> str:
        """Upload a file of calls, one line of JSON per call, under a name; return its id at the endpoint."""
        with path.open("rb") as file:
            return _text(
                self._ask(
                    lambda client: client.files.with_raw_response.create(file=(name, file), purpose="batch"),
                    "accept the file of calls",
                    TRANSFER_SECONDS,
                )["id"]
            )

    def create(self, file: str, url: str, mark: str) -> EndpointBatch:
        """Create a batch from an uploaded file. If this fails, `find` tells whether the batch was created.

        Args:
            file: id of the file.
            url: path of the calls in it, such as /v1/chat/completions.
            mark: mark for finding the batch again.
        """
        return self._described(
            self._ask(
                lambda client: client.batches.with_raw_response.create(
                    completion_window="24h",
                    endpoint=cast(Any, url),
                    input_file_id=file,
                    metadata={MARK: mark},
                    extra_headers={"Idempotency-Key": mark},
                ),
                "start the batch",
            )
        )

    def find(self, file: str, mark: str) -> EndpointBatch | None:
        """Return the batch with a file or a mark; None if it was not created."""
        after: Any = openai.omit
        # Search at most 10,000 batches.
        for _ in range(100):
            page = self._ask(
                lambda client: client.batches.with_raw_response.list(limit=100, after=after),  # noqa: B023
                "list its batches",
                listed=True,
            )
            found = [self._described(row) for row in page["data"] if isinstance(row, dict)]
            match = next((batch for batch in found if batch.mark == mark or batch.input_file == file), None)
            if match or not found or not page.get("has_more"):
                return match
            after = found[-1].id
        return None

    def look(self, batch: str) -> EndpointBatch:
        """Return the present state of a batch."""
        return self._described(
            self._ask(lambda client: client.batches.with_raw_response.retrieve(batch), "report the state of the batch")
        )

    def cancel(self, batch: str) -> None:
        """Cancel a batch. Its answers so far are kept there; a finished batch stays as it is."""

        async def act(client: openai.AsyncOpenAI) -> None:
            # A batch that ended meanwhile cannot be cancelled; `look` reports its state.
            with suppress(openai.BadRequestError, openai.ConflictError):
                await client.batches.with_raw_response.cancel(batch)

        self._do(act, "cancel the batch")

    def download(self, file: str, path: Path) -> Path:
        """Download a file of answers.

        Args:
            file: id of the file.
            path: destination of the file, up to the limit ENDPOINT_BATCH.

        Returns:
            The path.
        """

        async def act(client: openai.AsyncOpenAI) -> Path:
            http: Any = client._client
            with path.open("wb") as out:
                http.spool, http.spool_most = out, limit("ENDPOINT_BATCH")
                await client.files.with_raw_response.content(file)
            return path

        return self._do(act, "return the file of answers", TRANSFER_SECONDS)

    def _ask(
        self,
        act: Callable[[openai.AsyncOpenAI], Awaitable[Any]],
        what: str,
        seconds: float | None = None,
        listed: bool = False,
    ) -> dict[str, Any]:
        """Do one operation and return the JSON object of the answer: an object with an id, or a list."""
        content = self._do(act, what, seconds).content
        with suppress(orjson.JSONDecodeError):
            body = orjson.loads(content)
            if isinstance(body, dict) and (isinstance(body.get("data"), list) if listed else _text(body.get("id"))):
                return body
        raise PassingError("batch-call-failed", f"The endpoint did not {what}: its answer does not fit a batch API")

    def _do(
        self, act: Callable[[openai.AsyncOpenAI], Awaitable[Result]], what: str, seconds: float | None = None
    ) -> Result:
        """Run an operation in time, and convert its errors to clear ones.

        Raises:
            PassingError: it failed, but may succeed later.
            GradingError: the endpoint refuses it.
        """
        seconds = self.endpoint.timeout_s if seconds is None else seconds

        async def run() -> Result:
            # The client's own limits apply to each step of sending and reading, and a file has many steps.
            async with (
                asyncio.timeout(seconds),
                open_client(replace(self.endpoint, timeout_s=TRANSFER_SECONDS), self.key) as client,
            ):
                return await act(client)

        try:
            return asyncio.run(run())
        except (TimeoutError, openai.APITimeoutError):
            raise PassingError("batch-call-failed", f"The endpoint did not {what} within {seconds:g} s") from None
        except (openai.APIConnectionError, UnsentError) as error:
            cause = error if isinstance(error, UnsentError) else type(error.__cause__ or error).__name__
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what}: the connection failed ({cause})"
            ) from None
        except UnreadableAnswerError as error:
            raise PassingError("batch-call-failed", f"The endpoint did not {what}: {error}") from None
        except openai.APIStatusError as error:
            status, told = error.status_code, explanation(error.body, lambda text: redact(text, [self.key]))
            said = f"The endpoint did not {what}: HTTP {status}" + (f": {told}" if told else "")
            if passes(status):
                raise PassingError("batch-call-failed", said) from None
            hints = {
                401: "Set a key that is valid there, in the environment or the app's secrets.",
                403: "Check the permissions of the key.",
                404: f"Check that {self.endpoint.base_url} supports files and batches. If not, grade without --batch.",
            }
            hint = hints.get(status, "If this endpoint does not support batches, grade without --batch.")
            raise GradingError("batch-call-refused", said, hint) from None

    def _described(self, row: Mapping[str, Any]) -> EndpointBatch:
        """Return a batch from its JSON. Compatible endpoints leave out fields that they do not use."""

        def clean(value: object) -> str:
            return brief(redact(value, [self.key])) if isinstance(value, str) else ""

        counts, listed = _part(row, "request_counts"), _part(row, "errors").get("data")
        first = next((one for one in listed if isinstance(one, dict)), {}) if isinstance(listed, list) else {}
        return EndpointBatch(
            id=_text(row.get("id")),
            status=clean(row.get("status")),
            input_file=_text(row.get("input_file_id")),
            mark=_text(_part(row, "metadata").get(MARK)),
            files=tuple(name for of in ("output", "error") if (name := _text(row.get(f"{of}_file_id")))),
            done=sum(n for name in ("completed", "failed") if isinstance(n := counts.get(name), int) and n > 0),
            code=clean(first.get("code")),
            message=clean(first.get("message")),
        )


def _part(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return row[name] if isinstance(row.get(name), dict) else {}


def _text(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""
