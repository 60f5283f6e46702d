"""The back end for any OpenAI-compatible endpoint: many calls in flight, retried, paced, within a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

from ...errors import GradingError, InputError
from ..access.access import check_further_fields, current, key_for, offered_at, usual_address
from ..access.addresses import checked_host, is_loopback
from ..access.endpoints import OfferedEndpoint
from ..access.keys import VARIABLE
from ..base import Outcome, Pair
from ..control import Control
from ..reading.calls import Call, Completion, Steps
from .ask import FIRST_LIMIT, Endpoint
from .batches import BatchEndpoint
from .chat import MOST_THINKING, Api, Dialect, Request, prepare
from .session import Session

LONGEST_CALL = 3600
"""Seconds for one call at most: a job that is stopped waits for the calls that are under way."""
NO_KEY = "no-key"
"""Stands in for a key where a local endpoint wants none: the client insists on one."""

OWN_FIELDS = frozenset(
    (
        *("model", "models", "fallbacks", "messages", "prompt", "input", "suffix", "echo"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "min_tokens"),
        *("n_predict", "num_predict", "n", "best_of", "stream", "stream_options"),
        *("temperature", "logprobs", "top_logprobs", "response_format", "tools", "tool_choice", "functions"),
        *("function_call", "api_base", "base_url", "api_key"),
    )
)
"""Fields of a request that nobody may add or put others in the place of, in lower case: what a grade is about, who is
asked, and what a call may take, which is set aside before it is made."""

Structured = Literal["auto", "json", "text"]


class EndpointBackEnd:
    """A model behind an OpenAI-compatible endpoint, for chats or for plain completions.

    Args:
        model: its name there.
        base_url: address of the API, as http://localhost:8000/v1; for None that in the environment variable
            OPENAI_BASE_URL, or OpenAI's own.
        key_variable: name of the environment variable, or of the app's secret, that holds the key; for None the one
            that belongs to the address. It binds no key to the address: see `key_for`. An endpoint on this
            computer needs none.
        structured: `json` asks for JSON of a schema where the answer is one of a few options, `text` never does,
            and `auto` does until the endpoint objects.
        timeout_s: seconds for one call at most; up to `LONGEST_CALL`. For None `FIRST_LIMIT` at first, and more once
            answers take longer.
        attempts: times that a call is made before its pair is given up; from 1.
        max_tokens_in: tokens of a prompt at most, by an estimate of 4 characters each; the passage is shortened
            to that. None where the endpoint's own limit is to be met.
        temperature: of the sampling; 0 for the likeliest answer.
        extra: further fields of every request, as {"seed": 1}.
        api: `chat` for chat completions; `completions` for models that only go on from a text: the whole prompt is
            one text, the answer ends at a blank line, and no structured output is asked for.
        thinking_tokens: room for what a reasoning model writes for itself before its answer, beyond the few tokens of
            the answer; without it, it is cut off before it answers. Up to `MOST_THINKING`.
        clock: gives a time in seconds that never goes back; waits are measured by it.

    Attributes:
        endpoint: what is asked, and what is learnt of it.

    Raises:
        InputError: no model, an address that cannot be used or that holds a password, or a number out of range.
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
            # It may be a key that was put here by mistake: it is not repeated.
            raise InputError(
                "invalid-key-variable",
                "Invalid name of the variable with the key.",
                "Put the key into an environment variable, and enter the variable's name.",
            )
        address = (base_url or usual_address()).strip()
        # Whoever sets it up lets it be asked, also where a job does that in another thread.
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
        """Take pairs through their steps, with as many calls in flight as `control` says at any time.

        Args:
            work: pairs with the steps that grade them; taken as slots come free, on another thread, never
                on two at once.

        Yields:
            Outcomes as they come, in any order. A batch may be empty: one comes at least every second. Where
            `control` stops it, calls in flight end and count; a pair that would need another has no outcome.

        Raises:
            GradingError: no key, no access, no such model, or the endpoint does not answer; after the outcomes
                that there are.
        """
        yield from Session(self.endpoint, self._key(), iter(work), control).batches()

    @property
    def thinking_tokens(self) -> int:
        """Tokens of room for what a reasoning model writes before its answer."""
        return self.endpoint.thinking

    def prepared(self, call: Call, keep: int | None = None) -> Request | Completion:
        """What would be sent for a call, before anything is known of what the endpoint takes.

        Args:
            keep: characters of the passage to keep; all for None.

        Returns:
            The request with all its fields, or a completion with an error where none can be made of the call.
        """
        end = self.endpoint
        made = prepare(call, end.model, end.temperature, end.dialect, keep, end.max_tokens_in, end.thinking)
        return made if isinstance(made, Completion) else replace(made, body={**made.body, **end.extra})

    def batches(self) -> BatchEndpoint:
        """The files and batches of the endpoint.

        Raises:
            GradingError: there is no key, or no access.
        """
        return BatchEndpoint(self.endpoint, self._key())

    @property
    def dialect(self) -> dict[str, Any]:
        """What the endpoint takes as far as known, to be kept: `speak` takes it.

        Where it passed over what was asked for in JSON, and never heeded it, plain text: what is sent by this is not
        asked anew one by one, and no answer in words could be read.
        """
        end = self.endpoint
        heeds = end.heeds_schemas or not end.passed_over
        return asdict(end.dialect if heeds else replace(end.dialect, structured=False))

    def speak(self, dialect: Mapping[str, Any]) -> None:
        """Ask as a dialect says that was kept."""
        self.endpoint.dialect = Dialect(**dialect)

    def count_tokens(self, text: str) -> int | None:
        """None: the tokenizer of a model behind an endpoint is not at hand."""
        return None

    @property
    def offered(self) -> OfferedEndpoint | None:
        """The endpoint of the owner's that it is, with the limits of its jobs; None where it is none."""
        try:
            return offered_at(self.endpoint.base_url, self.endpoint.model, self._key_variable)
        except GradingError:
            # A model that is not offered is refused when it is asked.
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
