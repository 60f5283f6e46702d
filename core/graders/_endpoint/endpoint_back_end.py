"""The back end for any OpenAI-compatible endpoint, and the endpoint's files and batches."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import openai
import orjson

from ...choices import Api
from ...errors import GradingError, InputError, check_in_range, check_rules
from ...limits import read_limit
from .._access import (
    VARIABLE,
    OfferedEndpoint,
    check_further_fields,
    checked_host,
    current_access,
    is_loopback,
    key_for,
    offered_at,
    usual_address,
)
from .._grader_interface import Control, Outcome, Pair
from .._reading.calls import Call, Completion, Steps
from .call_session import Session
from .chat import (
    MOST_THINKING,
    Dialect,
    EndpointBatch,
    Request,
    error_explanation,
    prepare_request,
    printable_line,
)
from .http_client import UnreadableAnswerError, UnsentError
from .redaction import redact_keys
from .retry import Pace, PassingError, is_passing_status
from .single_call import FIRST_LIMIT, Endpoint, open_client

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
        """Upload a file of calls, one line of JSON per call, under a name; return its id at the
        endpoint.
        """
        with path.open("rb") as file:
            return _short_text(
                self._ask(
                    lambda client: client.files.with_raw_response.create(
                        file=(name, file), purpose="batch"
                    ),
                    "accept the file of calls",
                    TRANSFER_SECONDS,
                )["id"]
            )

    def create(self, file: str, url: str, mark: str) -> EndpointBatch:
        """Create a batch from an uploaded file. If this fails, `find` tells whether the batch was
        created.

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
            batches = [self._described(row) for row in page["data"] if isinstance(row, dict)]
            match = next(
                (batch for batch in batches if batch.mark == mark or batch.input_file == file), None
            )
            if match or not batches or not page.get("has_more"):
                return match
            after = batches[-1].id
        return None

    def fetch_state(self, batch: str) -> EndpointBatch | None:
        """Return the present state of a batch; None if the endpoint answers that it has none."""

        row = self._ask(
            lambda client: client.batches.with_raw_response.retrieve(batch),
            "report the state of the batch",
            ignored=(openai.NotFoundError,),
        )
        return self._described(row) if row else None

    def cancel(self, batch: str) -> None:
        """Cancel a batch. Its answers so far are kept there; a finished batch stays as it is."""

        # A batch that ended meanwhile cannot be cancelled; `fetch_state` reports its state.
        self._call_service(
            lambda client: client.batches.with_raw_response.cancel(batch),
            "cancel the batch",
            ignored=(openai.BadRequestError, openai.ConflictError),
        )

    def download(self, file: str, path: Path) -> Path | None:
        """Download a file of answers.

        Args:
            file: id of the file.
            path: destination of the file, up to the limit ENDPOINT_BATCH.

        Returns:
            The path; None if the endpoint answers that it has no such file.
        """

        async def download_file(client: openai.AsyncOpenAI) -> Path:
            http: Any = client._client
            with path.open("wb") as out:
                http.spool, http.spool_most = out, read_limit("ENDPOINT_BATCH")
                await client.files.with_raw_response.content(file)
            return path

        return self._call_service(
            download_file,
            "return the file of answers",
            TRANSFER_SECONDS,
            ignored=(openai.NotFoundError,),
        )

    def _ask(
        self,
        act: Callable[[openai.AsyncOpenAI], Awaitable[Any]],
        what: str,
        seconds: float | None = None,
        listed: bool = False,
        ignored: tuple[type[openai.APIStatusError], ...] = (),
    ) -> dict[str, Any]:
        """Do one operation and return the JSON object of the answer: an object with an id, or a
        list. It is empty after an ignored error.
        """
        answer = self._call_service(act, what, seconds, ignored)
        if answer is None:
            return {}
        with suppress(orjson.JSONDecodeError):
            body = orjson.loads(answer.content)
            if isinstance(body, dict) and (
                isinstance(body.get("data"), list) if listed else _short_text(body.get("id"))
            ):
                return body
        raise PassingError(
            "batch-call-failed", f"The endpoint did not {what}: its answer does not fit a batch API"
        )

    def _call_service(
        self,
        act: Callable[[openai.AsyncOpenAI], Awaitable[Result]],
        what: str,
        seconds: float | None = None,
        ignored: tuple[type[openai.APIStatusError], ...] = (),
    ) -> Result | None:
        """Run an operation in time, and convert its errors to clear ones; return None after an
        ignored error.

        Raises:
            PassingError: it failed, but may succeed later.
            GradingError: the endpoint refuses it.
        """
        seconds = self.endpoint.timeout_s if seconds is None else seconds

        async def run_in_time() -> Result:
            # The client's own limits apply to each step of sending and reading, and a file has many
            # steps.
            async with (
                asyncio.timeout(seconds),
                open_client(replace(self.endpoint, timeout_s=TRANSFER_SECONDS), self.key) as client,
            ):
                return await act(client)

        try:
            return asyncio.run(run_in_time())
        except ignored:
            return None
        except (TimeoutError, openai.APITimeoutError):
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what} within {seconds:g} s"
            ) from None
        except (openai.APIConnectionError, UnsentError) as error:
            cause = (
                error if isinstance(error, UnsentError) else type(error.__cause__ or error).__name__
            )
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what}: the connection failed ({cause})"
            ) from None
        except UnreadableAnswerError as error:
            raise PassingError(
                "batch-call-failed", f"The endpoint did not {what}: {error}"
            ) from None
        except openai.APIStatusError as error:
            status, detail = (
                error.status_code,
                error_explanation(error.body, lambda text: redact_keys(text, [self.key])),
            )
            problem = f"The endpoint did not {what}: HTTP {status}" + (
                f": {detail}" if detail else ""
            )
            if is_passing_status(status):
                raise PassingError("batch-call-failed", problem) from None
            hints = {
                401: "Set a key that is valid there, in the environment or the app's secrets.",
                403: "Check the permissions of the key.",
                404: (
                    f"Check that {self.endpoint.base_url} supports files and batches. If not,"
                    " grade without --batch, and end open batches: exam batch cancel"
                ),
            }
            hint = hints.get(
                status, "If this endpoint does not support batches, grade without --batch."
            )
            raise GradingError("batch-call-refused", problem, hint) from None

    def _described(self, row: Mapping[str, Any]) -> EndpointBatch:
        """Return a batch from its JSON. Compatible endpoints leave out unused fields."""

        def clean_text(value: object) -> str:
            return printable_line(redact_keys(value, [self.key])) if isinstance(value, str) else ""

        counts, listed = (
            _object_field(row, "request_counts"),
            _object_field(row, "errors").get("data"),
        )
        first = (
            next((entry for entry in listed if isinstance(entry, dict)), {})
            if isinstance(listed, list)
            else {}
        )
        return EndpointBatch(
            id=_short_text(row.get("id")),
            status=clean_text(row.get("status")),
            input_file=_short_text(row.get("input_file_id")),
            mark=_short_text(_object_field(row, "metadata").get(MARK)),
            files=tuple(
                name
                for of in ("output", "error")
                if (name := _short_text(row.get(f"{of}_file_id")))
            ),
            done=sum(
                n
                for name in ("completed", "failed")
                if isinstance(n := counts.get(name), int) and n > 0
            ),
            code=clean_text(first.get("code")),
            message=clean_text(first.get("message")),
        )


def _object_field(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return row[name] if isinstance(row.get(name), dict) else {}


def _short_text(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""


LONGEST_CALL = 3600
"""Longest time limit of a call in seconds, because a stopped job waits for calls in flight."""
NO_KEY = "no-key"
"""Placeholder for endpoints without a key, because the client requires one."""

OWN_FIELDS = frozenset(
    (
        *("model", "models", "fallbacks", "messages", "prompt", "input", "suffix", "echo"),
        *(
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "min_tokens",
        ),
        *("n_predict", "num_predict", "n", "best_of", "stream", "stream_options"),
        *(
            "temperature",
            "logprobs",
            "top_logprobs",
            "response_format",
            "tools",
            "tool_choice",
            "functions",
        ),
        *("function_call", "api_base", "base_url", "api_key"),
    )
)
"""Request fields, in lower case, that `extra` must not set.

They decide the content of a grade, the model that is asked, or the tokens of a call, which are
reserved in advance.
"""

Structured = Literal["auto", "json", "text"]


class EndpointBackEnd:
    """A model behind an OpenAI-compatible endpoint, for chats or for plain completions.

    Args:
        model: its name there.
        base_url: address of the API, such as http://localhost:8000/v1; None for that in the
            environment variable OPENAI_BASE_URL, or OpenAI's own.
        key_variable: name of the environment variable, or of the app's secret, with the key; None
            for the one that belongs to the address. The name does not assign the key to the
            address: see `key_for`. An endpoint on this computer needs no key.
        structured: `json` requests JSON with a schema if the answer is one of a few options. `text`
            never does. `auto` does until the endpoint objects.
        timeout_s: time limit of a call in seconds, up to `LONGEST_CALL`. None for `FIRST_LIMIT` at
            first, and more once answers take longer.
        attempts: maximum number of attempts of a call before its pair fails; from 1.
        max_tokens_in: maximum tokens of a prompt, estimated as 4 characters each; longer passages
            are shortened. None for the limit of the endpoint.
        temperature: temperature of the sampling; 0 for the likeliest answer.
        extra: further fields of every request, such as {"seed": 1}.
        api: `chat` for chat completions; `completions` for models that only continue a text. Then
            the whole prompt is one text, the answer ends at a blank line, and structured output is
            not requested.
        thinking_tokens: tokens for a reasoning model's thoughts, in addition to the few of the
            answer; without them, it is cut off before it answers. Up to `MOST_THINKING`.
        clock: returns a monotonic time in seconds, for waits.

    Attributes:
        endpoint: the endpoint, and its behaviour as learned during use.

    Raises:
        InputError: the model is missing, the address is invalid or contains a password, or a number
            is out of range.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str | None = None,
        structured: Structured = "auto",
        timeout_s: float | None = None,
        attempts: int = 6,
        max_tokens_in: int | None = None,
        temperature: float = 0.0,
        extra: Mapping[str, Any] | None = None,
        api: Api = "chat",
        thinking_tokens: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_rules(
            (
                not model.strip(),
                InputError(
                    "no-model-named", "No model given.", "Enter the model's name at the endpoint."
                ),
            ),
            *(
                (
                    value not in known,
                    InputError(
                        "unknown-parameter-value",
                        f"Invalid {name}: {value!r}.",
                        f"Use one of {', '.join(known)}.",
                    ),
                )
                for name, value, known in (
                    ("structured", structured, get_args(Structured)),
                    ("api", api, get_args(Api)),
                )
            ),
            (
                api == "completions" and structured == "json",
                InputError(
                    "useless-parameter",
                    "Plain completions have no structured output.",
                    "Set structured to auto or text.",
                ),
            ),
        )
        limit_s = FIRST_LIMIT if timeout_s is None else timeout_s
        sound = (
            attempts >= 1
            and 0 < limit_s <= LONGEST_CALL
            and 0 <= temperature < math.inf
            and 0 <= thinking_tokens <= MOST_THINKING
            and (max_tokens_in is None or max_tokens_in >= 1)
        )
        check_in_range(
            "parameter-out-of-range",
            "A parameter of the endpoint",
            f"Use attempts and max_tokens_in from 1, timeout_s above 0 up to {LONGEST_CALL:,},"
            f" temperature from 0, and thinking_tokens from 0 to {MOST_THINKING:,}.",
            sound,
        )
        own_fields = sorted(name for name in extra or {} if name.strip().lower() in OWN_FIELDS)
        check_rules(
            (
                bool(own_fields),
                InputError(
                    "invalid-further-fields",
                    f"The additional request fields contain {', '.join(own_fields)}, which the"
                    " grader sets itself.",
                    "Remove it there. Use the grader's own parameters for the temperature and"
                    " structured output.",
                ),
            ),
            (
                key_variable is not None and not VARIABLE.fullmatch(key_variable),
                # The message does not repeat the name, because it may be a misplaced key.
                InputError(
                    "invalid-key-variable",
                    "Invalid name of the variable with the key.",
                    "Put the key into an environment variable, and enter the variable's name.",
                ),
            ),
        )
        address = (base_url or usual_address()).strip()
        # Keep the creator's permissions, because a job may call the endpoint in another thread.
        self._access = current_access()
        self._key_variable = key_variable
        self.endpoint = Endpoint(
            model=model,
            base_url=address,
            key_variable=key_variable or "",
            on_this_computer=is_loopback(checked_host(address)),
            timeout_s=limit_s,
            adapts=timeout_s is None,
            attempts=attempts,
            max_tokens_in=max_tokens_in,
            temperature=temperature,
            extra=dict(extra or {}),
            may_adapt_structure=structured == "auto",
            dialect=Dialect(api=api, structured=structured != "text" and api == "chat"),
            clock=clock,
            pace=Pace(clock),
            thinking=thinking_tokens,
        )

    def drive(
        self, work: Iterable[tuple[Pair, Steps]], control: Control
    ) -> Iterator[list[Outcome]]:
        """Run the steps of pairs, with as many calls in flight as `control` presently allows.

        Args:
            work: pairs with their steps; consumed as slots become free, in another thread, but
                never in two at once.

        Yields:
            Outcomes as they arrive, in any order. A batch may be empty: one is yielded at least
                every second. If
            `control` stops the job, calls in flight end and count; a pair that needs another call
                has no outcome.

        Raises:
            GradingError: the key, the access or the model is missing, or the endpoint does not
                answer; raised after the available outcomes.
        """
        yield from Session(self.endpoint, self._key(), iter(work), control).batches()

    def prepared(self, call: Call, keep: int | None = None) -> Request | Completion:
        """Return the request for a call, before anything is known about the fields that the
        endpoint accepts.

        Args:
            keep: characters of the passage to keep; None for all.

        Returns:
            The request with all its fields, or a completion with an error if the call cannot be a
            request.
        """
        end = self.endpoint
        return prepare_request(
            call,
            end.model,
            end.temperature,
            end.dialect,
            keep,
            end.max_tokens_in,
            end.thinking,
            end.extra,
        )

    def batches(self) -> BatchEndpoint:
        """Return access to the files and batches of the endpoint.

        Raises:
            GradingError: the key or the access is missing.
        """
        return BatchEndpoint(self.endpoint, self._key())

    @property
    def dialect(self) -> dict[str, Any]:
        """Accepted fields of the endpoint as far as known, to be stored for `use_dialect`.

        If the endpoint ignored requests for JSON and never followed one, this says plain text.
        Calls in a batch are not repeated one by one, so an answer in words would be unreadable.
        """
        end = self.endpoint
        heeds = end.heeds_schemas or not end.passed_over
        return asdict(end.dialect if heeds else replace(end.dialect, structured=False))

    def use_dialect(self, dialect: Mapping[str, Any]) -> None:
        """Use a stored dialect for further calls."""
        self.endpoint.dialect = Dialect(**dialect)

    def count_tokens(self, text: str) -> int | None:
        """Return None, because the tokenizer of a remote model is not available."""
        return None

    @property
    def offered(self) -> OfferedEndpoint | None:
        """The owner's endpoint at this address, with the limits of its jobs; None for other
        endpoints.
        """
        try:
            return offered_at(self.endpoint.base_url, self.endpoint.model, self._key_variable)
        except GradingError:
            # A model that is not offered is refused at the first call.
            return None

    def _key(self) -> str:
        end = self.endpoint
        host_key = key_for(end.base_url, end.model, self._key_variable, self._access)
        if host_key.offered is not None:
            check_further_fields(end.extra, self._access)
        end.key_variable, end.is_openai = host_key.name, host_key.is_openai
        end.in_flight = host_key.offered.in_flight if host_key.offered else None
        if host_key.key is None:
            if end.on_this_computer or not host_key.name:
                return NO_KEY
            raise GradingError(
                "key-not-set",
                f"No key for the endpoint: {host_key.name} is not set.",
                f"Set {host_key.name} in the environment, or in the app's secrets.",
            )
        if not (host_key.key.isascii() and host_key.key.isprintable()):
            # The client's own message would show the key.
            raise GradingError(
                "key-with-odd-characters",
                f"The key in {host_key.name} contains characters that cannot be sent.",
                "Copy the key again, without line breaks or typographic characters.",
            )
        return host_key.key
