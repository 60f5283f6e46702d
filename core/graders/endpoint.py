"""The back end for any OpenAI-compatible endpoint: many calls in flight, retried, paced, within a budget."""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from core.errors import GradingError, InputError
from core.graders.base import Outcome, Pair
from core.graders.calls import Call, Completion, Steps
from core.graders.control import Control
from core.graders.endpoint_ask import Endpoint
from core.graders.endpoint_chat import Api, Dialect
from core.graders.endpoint_session import Session
from core.secret_keys import find_key
from core.types import Grade

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Stands in for a key where a local endpoint wants none: the client insists on one."""

Structured = Literal["auto", "json", "text"]


class EndpointBackEnd:
    """A model behind an OpenAI-compatible endpoint, for chats or for plain completions.

    Args:
        model: its name there.
        base_url: address of the API, as http://localhost:8000/v1; for None that in the environment variable
            OPENAI_BASE_URL, or OpenAI's own.
        key_variable: name of the environment variable, or of the app's secret, that holds the key. An endpoint
            on this computer needs none.
        structured: `json` asks for JSON of a schema where the answer is one of a few options, `text` never does,
            and `auto` does until the endpoint objects.
        timeout_s: seconds for one call at most.
        attempts: times that a call is made before its pair is given up; from 1.
        max_tokens_in: tokens of a prompt at most, by an estimate of 4 characters each; the passage is shortened
            to that. None where the endpoint's own limit is to be met.
        temperature: of the sampling; 0 for the likeliest answer.
        extra: further fields of every request, as {"seed": 1}.
        api: `chat` for chat completions; `completions` for models that only go on from a text: the whole prompt is
            one text, the answer ends at a blank line, and no structured output is asked for.
        clock: gives a time in seconds that never goes back; waits are measured by it.

    Raises:
        InputError: no model, an address that cannot be used or that holds a password, or a number out of range.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        structured: Structured = "auto",
        timeout_s: float = 60,
        attempts: int = 6,
        max_tokens_in: int | None = None,
        temperature: float = 0.0,
        extra: Mapping[str, Any] | None = None,
        api: Api = "chat",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not model.strip():
            raise InputError("No model is named.", "Give the name that the endpoint knows it by.")
        if structured not in get_args(Structured):
            raise InputError(f"structured is {structured!r}.", f"Use one of {', '.join(get_args(Structured))}.")
        if api not in get_args(Api):
            raise InputError(f"api is {api!r}.", f"Use one of {', '.join(get_args(Api))}.")
        if api == "completions" and structured == "json":
            raise InputError("Plain completions have no structured output.", "Use structured auto or text.")
        if attempts < 1 or timeout_s <= 0 or (max_tokens_in is not None and max_tokens_in < 1) or temperature < 0:
            raise InputError(
                "A number of the endpoint's parameters is out of range.",
                "attempts and max_tokens_in are at least 1, timeout_s is above 0, temperature is not below 0.",
            )
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", key_variable):
            # It may be a key that was put here by mistake: it is not repeated.
            raise InputError(
                "What should name the variable with the key is no name of a variable.",
                "Put the key into a variable of the environment, and give the variable's name.",
            )
        address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
        self._endpoint = Endpoint(
            model=model,
            base_url=address,
            key_variable=key_variable,
            on_this_computer=_is_loopback(_checked_host(address)),
            timeout_s=timeout_s,
            attempts=attempts,
            max_tokens_in=max_tokens_in,
            temperature=temperature,
            extra=dict(extra or {}),
            may_adapt_structure=structured == "auto",
            dialect=Dialect(api=api, structured=structured != "text" and api == "chat"),
            clock=clock,
        )

    def complete(self, calls: Sequence[Call], control: Control) -> list[Completion]:
        """Answer calls, in their order.

        Returns:
            A completion for each; one that `control` did not allow has an error.

        Raises:
            GradingError: it cannot answer at all: no model, no key, no access.
        """
        answers = [Completion(error="not asked, as the job was stopped")] * len(calls)

        def keep_answer(i: int, call: Call) -> Steps:
            answers[i] = yield call
            return Grade(None, "failed")

        for _ in self.drive((((i, 0), keep_answer(i, call)) for i, call in enumerate(calls)), control):
            pass
        return answers

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
        yield from Session(self._endpoint, self._key(), work, control).batches()

    def count_tokens(self, text: str) -> int | None:
        """None: the tokenizer of a model behind an endpoint is not at hand."""
        return None

    def _key(self) -> str:
        variable = self._endpoint.key_variable
        key = find_key(variable)
        if key is None:
            if self._endpoint.on_this_computer:
                return NO_KEY
            raise GradingError(
                f"There is no key for the endpoint: {variable} is not set.",
                f"Set {variable} in the environment, or in the app's secrets.",
            )
        if not (key.isascii() and key.isprintable()):
            # The client's own message would show the key.
            raise GradingError(
                f"The key in {variable} has characters that cannot be sent.",
                "Copy it anew, without line breaks or typographic signs.",
            )
        return key


def _checked_host(address: str) -> str:
    """The host of an address that may be used, stored and shown.

    Raises:
        InputError: it is none, or it has parts that may be secret. The message does not repeat them.
    """
    hint = "Give an address like https://api.example.org/v1, and the key by the name of its variable."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InputError("The address of the endpoint is not a URL.", hint) from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise InputError("The address of the endpoint holds a user name or a password.", hint)
    if parts.query or parts.fragment or "?" in address or "#" in address:
        raise InputError("The address of the endpoint has a query or a fragment, which may hold a key.", hint)
    if parts.scheme not in ("http", "https") or not host:
        raise InputError("The address of the endpoint does not begin with http:// or https:// and a host.", hint)
    return host


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
