"""A single call of an endpoint: the request, and the verdict on its answer or failure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import openai

from ...errors import GradingError
from ...limits import read_limit
from .._grader_interface import NO_TOKENS, Tokens
from .._reading.calls import Completion, is_answer
from .chat import (
    UNEXPLAINED,
    Answer,
    Dialect,
    ReportedError,
    Request,
    UnusableBodyError,
    asks_too_much,
    error_explanation,
    estimated_usage,
    find_objection,
    printable_line,
    read_answer,
)
from .http_client import CONNECT_SECONDS, BoundedClient, UnreadableAnswerError, UnsentError
from .redaction import SECRET_LENGTH, redact_keys, without_keys
from .retry import Pace, is_passing_status, requested_wait

FIRST_LIMIT = 60.0
"""Initial time limit of a call in seconds, if no limit is set."""
LONGEST_ADAPTED = 600.0
"""Upper bound of the adapted time limit in seconds, even for a slow endpoint."""
LENIENCE = 4
"""Time limit of a call, in multiples of the slowest answer."""
PASSED_OVER = 3
"""Number of ignored schemas after which an endpoint that never followed a schema gets no more of
them.
"""
UNSENT = (
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "ProxyError",
    "UnsupportedProtocol",
    "LocalProtocolError",
)
"""Types of connection errors that occur before anything is sent that could be charged."""
SLOW = (408, 504, 524)
"""Statuses with which a gateway reports that the server behind it took too long."""
GONE = (429, 502, 503, 504)
"""Statuses that concern the endpoint or the account, not a call: the endpoint is unavailable at
present.
"""
REDIRECTED = "the endpoint redirects calls, and redirects are not followed"


@dataclass
class Endpoint:
    """An endpoint, and its behaviour as learned during use.

    Args:
        model: name of the model.
        base_url: address of the API, with its version.
        key_variable: variable that holds the key, empty if no key is sent; the key itself is not
            part of this.
        on_this_computer: whether the address is a loopback one.
        timeout_s: time limit of a call in seconds, from the first byte sent to the last one read;
            the initial limit if `adapts`.
        adapts: whether the limit grows with the time of answers.
        attempts: failed attempts after which a pair fails.
        max_tokens_in: maximum number of tokens of a prompt; None if only the endpoint knows.
        temperature: temperature of the sampling.
        extra: further fields of every request.
        may_adapt_structure: whether plain text may be requested if structured output is missing.
        dialect: accepted fields, as far as known.
        pace: permitted rate of calls.
        heeds_schemas: whether it has ever given an answer with the requested schema.
        passed_over: number of pairs with an answer in words despite a requested schema.
        longest: characters of the longest prompt with an answer.
        slowest: seconds of the slowest answer.
        stretched: time limit after the only call in flight took too long; 0 after an answer.
        clock: returns a monotonic time in seconds, for waits.
        thinking: tokens for a reasoning model's thoughts before its answer.
        in_flight: maximum number of calls in flight, by the owner's setting; None for no limit.
        is_openai: whether OpenAI's environment variables, such as the organization, apply to it.
    """

    model: str
    base_url: str
    key_variable: str
    on_this_computer: bool
    timeout_s: float
    attempts: int
    max_tokens_in: int | None
    temperature: float
    extra: Mapping[str, Any]
    may_adapt_structure: bool
    dialect: Dialect
    clock: Callable[[], float]
    pace: Pace
    adapts: bool = False
    thinking: int = 0
    in_flight: int | None = None
    is_openai: bool = False
    heeds_schemas: bool = field(default=False, init=False)
    passed_over: int = field(default=0, init=False)
    longest: int = field(default=0, init=False)
    slowest: float = field(default=0.0, init=False)
    stretched: float = field(default=0.0, init=False)

    @property
    def limit_s(self) -> float:
        """Present time limit of a call in seconds."""
        if not self.adapts:
            return self.timeout_s
        return min(max(self.timeout_s, LENIENCE * self.slowest, self.stretched), LONGEST_ADAPTED)

    @property
    def is_hanging(self) -> bool:
        """Whether calls now have the longest time limit, and no call was ever answered."""
        return self.adapts and self.slowest == 0 and self.limit_s >= LONGEST_ADAPTED


@dataclass(frozen=True)
class AttemptFailed:
    """The attempt failed, and another may succeed.

    Args:
        reason: the problem in a few words, equal for failures of the same kind.
        detail: the endpoint's own words; empty without any.
        wait: seconds that the endpoint asks to wait; None if it gives no time.
        for_all: whether all calls have to wait, not only this one.
        gone: whether the endpoint is unavailable at present, regardless of the call.
        said: whether the endpoint is reachable, but its answer is unusable.
        used: tokens, if the endpoint processed the call, or may have.
        slow: whether the answer took too long.
    """

    reason: str
    detail: str = ""
    wait: float | None = None
    for_all: bool = False
    gone: bool = False
    said: bool = False
    used: Tokens = NO_TOKENS
    slow: bool = False


@dataclass(frozen=True)
class RequestRefused:
    """The endpoint does not accept this request, or answers it unreadably, now and later.

    Args:
        reason: why.
        used: tokens, if the endpoint processed the call.
    """

    reason: str
    used: Tokens = NO_TOKENS


@dataclass(frozen=True)
class FormRefused:
    """The endpoint refused the form of the request, which is to be sent again in another form.

    Args:
        reason: the change.
        keep: characters of the passage to keep, if it was too long; None for another change.
        plain: whether only this call requests plain text.
        used: tokens, if the endpoint processed the call.
    """

    reason: str
    keep: int | None = None
    plain: bool = False
    used: Tokens = NO_TOKENS


@dataclass(frozen=True)
class NoCallPossible:
    """No call can succeed.

    Args:
        error: why.
        reason: why only this call fails, if other calls with the same key are answered; empty if it
            concerns all calls.
        used: tokens.
    """

    error: GradingError
    reason: str = ""
    used: Tokens = NO_TOKENS


Verdict = Answer | AttemptFailed | RequestRefused | FormRefused | NoCallPossible


def open_client(endpoint: Endpoint, key: str) -> openai.AsyncOpenAI:
    """Return a client for an endpoint. Its own retries are off, because ours are counted, paced,
    and can be stopped.

    Raises:
        GradingError: the client cannot be made, for example because of an invalid proxy in the
            environment.
    """
    longest = LONGEST_ADAPTED if endpoint.adapts else endpoint.timeout_s
    timeout = openai.Timeout(longest, connect=min(CONNECT_SECONDS, endpoint.timeout_s))
    most = read_limit("ENDPOINT_ANSWER")
    try:
        client = openai.AsyncOpenAI(
            api_key=key,
            # The client would otherwise use an administrator's key from the environment.
            admin_api_key="",
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            http_client=BoundedClient(
                endpoint.base_url, most, key, bool(endpoint.key_variable), timeout
            ),
        )
    except Exception as error:
        # Values in the environment, such as a proxy's name and password, can cause any error and
        # appear in its text.
        raise GradingError(
            "endpoint-gone",
            f"The connection to the endpoint cannot be set up ({type(error).__name__}).",
            "Check the address. Correct or unset the proxy in the environment (HTTPS_PROXY,"
            " HTTP_PROXY, ALL_PROXY).",
        ) from None
    if not endpoint.is_openai:
        # The client reads these from the environment for any address: organization, project, and
        # headers with secrets.
        client.organization = client.project = None
        client._custom_headers = {}
    return client


async def make_call(
    client: openai.AsyncOpenAI, endpoint: Endpoint, request: Request, key: str
) -> Verdict:
    """Make one call.

    Args:
        client: result of `open_client`.
        endpoint: the endpoint; its dialect is changed if it objects to it.
        request: the request.
        key: removed from every text of the verdict.
    """
    begun, limit_s = asyncio.get_running_loop().time(), endpoint.limit_s
    try:
        # The client's own limits apply to each step of a call, so a server that trickles never
        # exceeds them.
        async with asyncio.timeout(limit_s):
            # Raw fields skip the client's conversion of typed ones, which takes a quarter of a
            # call's processing time.
            if endpoint.dialect.api == "completions":
                content = (
                    await client.completions.with_raw_response.create(
                        model=endpoint.model, prompt="", extra_body=request.body
                    )
                ).content
            else:
                content = (
                    await client.chat.completions.with_raw_response.create(
                        model=endpoint.model, messages=[], extra_body=request.body
                    )
                ).content
        answer = read_answer(content, request, lambda text: redact_keys(text, [key]))
    except (TimeoutError, openai.APITimeoutError) as error:
        return AttemptFailed(
            f"no answer within {limit_s:g} s", used=_charged_tokens(error, request), slow=True
        )
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        detail = printable_line(redact_keys(f"{type(cause).__name__}: {cause}", [key]))
        # If nothing was sent, the call itself did not cause the failure.
        unsent = type(cause).__name__ in UNSENT
        return AttemptFailed(
            "the connection failed", detail, gone=unsent, used=_charged_tokens(error, request)
        )
    except UnsentError as error:
        return AttemptFailed("the connection failed", str(error))
    except UnreadableAnswerError as error:
        return RequestRefused(str(error), Tokens(*request.reserved))
    except ReportedError as error:
        return _judge_error(error.status, error.error, {}, endpoint, request, key)
    except UnusableBodyError as error:
        return AttemptFailed(
            "the answer cannot be used", str(error), said=True, used=estimated_usage(request)
        )
    except openai.APIStatusError as error:
        return _judge_error(
            error.status_code, error.body, error.response.headers, endpoint, request, key
        )
    endpoint.slowest, endpoint.stretched = (
        max(endpoint.slowest, asyncio.get_running_loop().time() - begun),
        0.0,
    )
    endpoint.longest = max(endpoint.longest, request.length)
    completion = answer.completion
    if len(key) >= SECRET_LENGTH:
        completion = replace(completion, text=without_keys(completion.text, [key]))
    if request.structured and completion.error is None:
        if is_answer(request.call, completion.text, structured=True):
            endpoint.heeds_schemas = True
        elif (
            endpoint.may_adapt_structure
            and not endpoint.heeds_schemas
            and completion.complete
            and is_answer(request.call, completion.text, structured=False)
        ):
            # The answer ignores the request for JSON, so ask again instead of guessing. A single
            # passage can make a model answer in words, and must not change how all others are
            # asked.
            endpoint.passed_over += 1
            if endpoint.passed_over >= PASSED_OVER:
                endpoint.dialect = replace(endpoint.dialect, structured=False)
            return FormRefused(
                "the endpoint ignores the request for JSON, so plain text is requested",
                None,
                True,
                answer.used,
            )
    return replace(answer, completion=completion)


def _charged_tokens(error: Exception, request: Request) -> Tokens:
    """Return the tokens that a call without an answer may have used: its whole reservation, unless
    it was never sent."""
    return NO_TOKENS if type(error.__cause__).__name__ in UNSENT else Tokens(*request.reserved)


def _judge_error(
    status: int | None,
    error: object,
    headers: Mapping[str, str],
    endpoint: Endpoint,
    request: Request,
    key: str,
) -> Verdict:
    """Return the meaning of an error: an answer with an error status, or a successful one that
    contains an error.

    Args:
        status: status of the answer, or of the error in it; None without any.
    """
    detail = error_explanation(error, lambda text: redact_keys(text, [key]))
    head = "the answer is an error" if status is None else f"HTTP {status}"
    problem = head + (f": {detail}" if detail else "")
    if status is not None and 300 <= status < 400:
        return RequestRefused(f"HTTP {status}: {REDIRECTED}")
    against = find_objection(error, request.body, request.tokens)
    if against == "no credit" or status == 402:
        return NoCallPossible(
            GradingError(
                "account-spent",
                f"The account of the key has no credit left ({problem}).",
                "Check the plan and the limits of the account"
                + (f" of the key in {endpoint.key_variable}." if endpoint.key_variable else "."),
            )
        )
    if status in (401, 404):
        return NoCallPossible(_access_error(status, problem, endpoint))
    if status == 413 or (status == 429 and asks_too_much(error)):
        against = "too long"
    elif (
        status is not None
        and is_passing_status(status)
        and (status < 500 or against in (None, "filtered", "no key"))
    ):
        wait = requested_wait(headers, time.time(), error)
        # A 503 with a time concerns the service, as a 429 concerns the account; neither concerns
        # only this call.
        for_all = status == 429 or (status == 503 and wait is not None)
        return AttemptFailed(
            f"HTTP {status}", detail, wait, for_all, status in GONE, slow=status in SLOW
        )
    if against == "too long":
        if request.half_length:
            return FormRefused(
                "the prompt is too long, so the passage is shortened", request.half_length
            )
        return RequestRefused(f"{problem} (the passage cannot be shortened further)")
    if against == "filtered":
        return Answer(
            Completion(error=f"stopped by the endpoint's content filter: {detail}"), NO_TOKENS
        )
    if (status == 403 and against != "no logprobs") or against == "no key":
        return NoCallPossible(
            _access_error(403 if status == 403 else 401, problem, endpoint), problem
        )
    if against in _CHANGES and (against != "no structure" or endpoint.may_adapt_structure):
        change, reason = _CHANGES[against]
        endpoint.dialect = replace(endpoint.dialect, **change)
        return FormRefused(reason)
    if status is None:
        return AttemptFailed(
            "the answer cannot be used",
            detail or "it has no choice",
            said=True,
            used=estimated_usage(request),
        )
    if status in UNEXPLAINED and request.length > endpoint.longest and request.half_on_a_guess:
        return FormRefused(
            f"{problem}; the prompt may be too long, so the passage is shortened once",
            request.half_on_a_guess,
        )
    return RequestRefused(problem)


_CHANGES: dict[str | None, tuple[dict[str, Any], str]] = {
    "other limit": (
        {"limit": "max_completion_tokens"},
        "the endpoint requires max_completion_tokens",
    ),
    "no structure": (
        {"structured": False},
        "the endpoint has no structured output, so plain text is requested",
    ),
    "no logprobs": ({"logprobs": False}, "the model gives no probabilities of tokens"),
    "no temperature": ({"temperature": False}, "the model does not accept a temperature"),
    "no system role": (
        {"system": False},
        "the model has no system role, so the system text is put before the user text",
    ),
}
"""Change of the dialect for each objection, and its message."""


def _access_error(status: int, problem: str, endpoint: Endpoint) -> GradingError:
    if status == 404:
        return GradingError(
            "unknown-model",
            f"The endpoint does not know the model {endpoint.model!r}, or its address"
            f" is wrong ({problem}).",
            f"Check the model's name, the address {endpoint.base_url}, and whether it offers "
            f"{'plain' if endpoint.dialect.api == 'completions' else 'chat'} completions.",
        )
    if not endpoint.key_variable:
        return GradingError(
            "key-required",
            f"The endpoint requires a key, and no key is assigned to it ({problem}).",
            "Enter its key on the screen, use --base-url URL --set key_variable=NAME in the shell,"
            " or add the endpoint to the file named in EXAM_ENDPOINTS.",
        )
    if status == 403:
        return GradingError(
            "model-not-allowed",
            f"The key has no permission for the model {endpoint.model!r} at this"
            f" endpoint ({problem}).",
            f"Check the permissions of the key in {endpoint.key_variable}.",
        )
    return GradingError(
        "key-refused",
        f"The endpoint does not accept the key ({problem}).",
        f"Set {endpoint.key_variable} to a key that is valid at {endpoint.base_url}, in the"
        " environment or the app's secrets.",
    )
