"""The back end for any OpenAI-compatible endpoint: many calls in flight, retried, paced, within a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

from ...errors import GradingError, InputError
from .._access.endpoints import VARIABLE, OfferedEndpoint, checked_host, is_loopback
from .._access.permissions import check_further_fields, current, key_for, offered_at, usual_address
from .._grader_interface import Control, Outcome, Pair
from .._reading.calls import Call, Completion, Steps
from .batch_service import BatchEndpoint
from .call_session import Session
from .chat import MOST_THINKING, Api, Dialect, Request, prepare
from .single_call import FIRST_LIMIT, Endpoint

LONGEST_CALL = 3600
"""Longest time limit of a call in seconds, because a stopped job waits for calls in flight."""
NO_KEY = "no-key"
"""Placeholder for endpoints without a key, because the client requires one."""

OWN_FIELDS = frozenset(
    (
        *("model", "models", "fallbacks", "messages", "prompt", "input", "suffix", "echo"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "min_tokens"),
        *("n_predict", "num_predict", "n", "best_of", "stream", "stream_options"),
        *("temperature", "logprobs", "top_logprobs", "response_format", "tools", "tool_choice", "functions"),
        *("function_call", "api_base", "base_url", "api_key"),
    )
)
"""Request fields, in lower case, that `extra` must not set.

They decide the content of a grade, the model that is asked, or the tokens of a call, which are reserved in advance.
"""

Structured = Literal["auto", "json", "text"]


class EndpointBackEnd:
    """A model behind an OpenAI-compatible endpoint, for chats or for plain completions.

    Args:
        model: its name there.
        base_url: address of the API, such as http://localhost:8000/v1; None for that in the environment variable
            OPENAI_BASE_URL, or OpenAI's own.
        key_variable: name of the environment variable, or of the app's secret, with the key; None for the one that
            belongs to the address. The name does not assign the key to the address: see `key_for`. An endpoint on this
            computer needs no key.
        structured: `json` requests JSON with a schema if the answer is one of a few options. `text` never does.
            `auto` does until the endpoint objects.
        timeout_s: time limit of a call in seconds, up to `LONGEST_CALL`. None for `FIRST_LIMIT` at first, and more once
            answers take longer.
        attempts: maximum number of attempts of a call before its pair fails; from 1.
        max_tokens_in: maximum tokens of a prompt, estimated as 4 characters each; longer passages are shortened. None
            for the limit of the endpoint.
        temperature: temperature of the sampling; 0 for the likeliest answer.
        extra: further fields of every request, such as {"seed": 1}.
        api: `chat` for chat completions; `completions` for models that only continue a text. Then the whole prompt is
            one text, the answer ends at a blank line, and structured output is not requested.
        thinking_tokens: tokens for a reasoning model's thoughts, in addition to the few of the answer; without them, it
            is cut off before it answers. Up to `MOST_THINKING`.
        clock: returns a monotonic time in seconds, for waits.

    Attributes:
        endpoint: the endpoint, and its behaviour as learned during use.

    Raises:
        InputError: the model is missing, the address is invalid or contains a password, or a number is out of range.
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
        if not model.strip():
            raise InputError("no-model-named", "No model given.", "Enter the model's name at the endpoint.")
        for name, value, known in (("structured", structured, get_args(Structured)), ("api", api, get_args(Api))):
            if value not in known:
                raise InputError(
                    "unknown-parameter-value", f"Invalid {name}: {value!r}.", f"Use one of {', '.join(known)}."
                )
        if api == "completions" and structured == "json":
            raise InputError(
                "useless-parameter", "Plain completions have no structured output.", "Set structured to auto or text."
            )
        limit_s = FIRST_LIMIT if timeout_s is None else timeout_s
        sound = attempts >= 1 and 0 < limit_s <= LONGEST_CALL and 0 <= temperature < math.inf
        sound = sound and 0 <= thinking_tokens <= MOST_THINKING
        if not sound or (max_tokens_in is not None and max_tokens_in < 1):
            raise InputError(
                "parameter-out-of-range",
                "A parameter of the endpoint is out of range.",
                f"Use attempts and max_tokens_in from 1, timeout_s above 0 up to {LONGEST_CALL:,}, temperature from 0, "
                f"and thinking_tokens from 0 to {MOST_THINKING:,}.",
            )
        if taken := sorted(name for name in extra or {} if name.strip().lower() in OWN_FIELDS):
            raise InputError(
                "invalid-further-fields",
                f"The additional request fields contain {', '.join(taken)}, which the grader sets itself.",
                "Remove it there. Use the grader's own parameters for the temperature and structured output.",
            )
        if key_variable is not None and not VARIABLE.fullmatch(key_variable):
            # The message does not repeat the name, because it may be a misplaced key.
            raise InputError(
                "invalid-key-variable",
                "Invalid name of the variable with the key.",
                "Put the key into an environment variable, and enter the variable's name.",
            )
        address = (base_url or usual_address()).strip()
        # Keep the creator's permissions, because a job may call the endpoint in another thread.
        self._access = current()
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
            thinking=thinking_tokens,
        )

    def drive(self, work: Iterable[tuple[Pair, Steps]], control: Control) -> Iterator[list[Outcome]]:
        """Run the steps of pairs, with as many calls in flight as `control` presently allows.

        Args:
            work: pairs with their steps; consumed as slots become free, in another thread, but never in two at once.

        Yields:
            Outcomes as they arrive, in any order. A batch may be empty: one is yielded at least every second. If
            `control` stops the job, calls in flight end and count; a pair that needs another call has no outcome.

        Raises:
            GradingError: the key, the access or the model is missing, or the endpoint does not answer; raised after the
                available outcomes.
        """
        yield from Session(self.endpoint, self._key(), iter(work), control).batches()

    @property
    def thinking_tokens(self) -> int:
        """Tokens for a reasoning model's thoughts before its answer."""
        return self.endpoint.thinking

    def prepared(self, call: Call, keep: int | None = None) -> Request | Completion:
        """Return the request for a call, before anything is known about the fields that the endpoint accepts.

        Args:
            keep: characters of the passage to keep; None for all.

        Returns:
            The request with all its fields, or a completion with an error if the call cannot be a request.
        """
        end = self.endpoint
        made = prepare(call, end.model, end.temperature, end.dialect, keep, end.max_tokens_in, end.thinking)
        return made if isinstance(made, Completion) else replace(made, body={**made.body, **end.extra})

    def batches(self) -> BatchEndpoint:
        """Return access to the files and batches of the endpoint.

        Raises:
            GradingError: the key or the access is missing.
        """
        return BatchEndpoint(self.endpoint, self._key())

    @property
    def dialect(self) -> dict[str, Any]:
        """Accepted fields of the endpoint as far as known, to be stored for `speak`.

        If the endpoint ignored requests for JSON and never followed one, this says plain text. Calls in a batch are not
        repeated one by one, so an answer in words would be unreadable.
        """
        end = self.endpoint
        heeds = end.heeds_schemas or not end.passed_over
        return asdict(end.dialect if heeds else replace(end.dialect, structured=False))

    def speak(self, dialect: Mapping[str, Any]) -> None:
        """Use a stored dialect for further calls."""
        self.endpoint.dialect = Dialect(**dialect)

    def count_tokens(self, text: str) -> int | None:
        """Return None, because the tokenizer of a remote model is not available."""
        return None

    @property
    def offered(self) -> OfferedEndpoint | None:
        """The owner's endpoint at this address, with the limits of its jobs; None for other endpoints."""
        try:
            return offered_at(self.endpoint.base_url, self.endpoint.model, self._key_variable)
        except GradingError:
            # A model that is not offered is refused at the first call.
            return None

    def _key(self) -> str:
        end = self.endpoint
        found = key_for(end.base_url, end.model, self._key_variable, self._access)
        if found.offered is not None:
            check_further_fields(end.extra, self._access)
        end.key_variable, end.is_openai = found.name, found.is_openai
        end.in_flight = found.offered.in_flight if found.offered else None
        if found.key is None:
            if end.on_this_computer or not found.name:
                return NO_KEY
            raise GradingError(
                "key-not-set",
                f"No key for the endpoint: {found.name} is not set.",
                f"Set {found.name} in the environment, or in the app's secrets.",
            )
        if not (found.key.isascii() and found.key.isprintable()):
            # The client's own message would show the key.
            raise GradingError(
                "key-with-odd-characters",
                f"The key in {found.name} contains characters that cannot be sent.",
                "Copy the key again, without line breaks or typographic characters.",
            )
        return found.key
