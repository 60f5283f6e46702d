"""Asking an endpoint once: the request goes out, and what comes back, or fails to, becomes a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import openai

from ...errors import GradingError
from ...limits import limit
from ..control import Tokens
from ..reading.answers import is_in_words, is_of_schema
from ..reading.calls import Completion
from .chat import (
    UNEXPLAINED,
    Answer,
    Dialect,
    ReportedError,
    Request,
    UnusableBodyError,
    asks_too_much,
    brief,
    estimated_usage,
    explanation,
    objection,
    read_answer,
)
from .http import BoundedClient, UnreadableAnswerError, UnsentError
from .redaction import SECRET_LENGTH, redact, without_keys
from .retry import Pace, passes, told_wait

CONNECT_SECONDS = 10.0
FIRST_LIMIT = 60.0
"""Seconds for a call at first, if no time limit is set."""
LONGEST_ADAPTED = 600.0
"""Seconds for a call at most then, however slow the endpoint shows itself to be."""
LENIENCE = 4
"""A call may take so many times as long as the slowest one that was answered."""
PASSED_OVER = 3
"""Pairs for which an endpoint that never kept a schema passes it over until none is asked for any more."""
NOTHING = Tokens()
UNSENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol", "LocalProtocolError")
"""Faults of a connection, by type, before which nothing was sent that could be charged."""
SLOW = (408, 504, 524)
"""Statuses that say of a gateway that what is behind it took too long."""
GONE = (429, 502, 503, 504)
"""Statuses that say of the endpoint, or of the account, and of no call, that it cannot be had now."""
REDIRECTED = "the endpoint redirects calls, and redirects are not followed"


@dataclass
class Endpoint:
    """An endpoint, and what is learnt of it while it is used.

    Args:
        model: name of the model.
        base_url: address of the API, with its version.
        key_variable: where the key is found, empty where none is sent; the key itself is no part of this.
        on_this_computer: whether the address is a loopback one.
        timeout_s: seconds for one call, from the first byte sent to the last one read; the first limit if `adapts`.
        adapts: whether the limit grows with the time that answers take.
        attempts: failed attempts after which a pair is given up.
        max_tokens_in: tokens of a prompt at most; None where only the endpoint knows.
        temperature: of the sampling.
        extra: further fields of every request.
        may_adapt_structure: whether to go on in plain text where it has no structured output.
        dialect: what it takes, as far as known.
        pace: how fast it may be asked.
        heeds_schemas: whether it has given an answer of a schema that was asked for.
        passed_over: pairs for which it answered in words where a schema was asked for.
        longest: characters of the longest prompt that was answered.
        slowest: seconds that the slowest answer took.
        stretched: the limit since a call that was alone took too long; 0 once there is an answer.
        clock: gives a time in seconds that never goes back; waits are measured by it.
        thinking: tokens of room for what a reasoning model writes before its answer.
        in_flight: calls in flight at most, by the owner's setting; None for no limit.
        is_openai: whether OpenAI's variables of the environment, such as that of the organization, are for it.
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
    adapts: bool = False
    thinking: int = 0
    in_flight: int | None = None
    is_openai: bool = False
    pace: Pace = field(init=False)
    heeds_schemas: bool = field(default=False, init=False)
    passed_over: int = field(default=0, init=False)
    longest: int = field(default=0, init=False)
    slowest: float = field(default=0.0, init=False)
    stretched: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.pace = Pace(self.clock)

    @property
    def limit_s(self) -> float:
        """Seconds for a call now."""
        if not self.adapts:
            return self.timeout_s
        return min(max(self.timeout_s, LENIENCE * self.slowest, self.stretched), LONGEST_ADAPTED)

    @property
    def hangs(self) -> bool:
        """Whether a call that takes too long now had all the time that there is, and no other was ever answered."""
        return self.adapts and self.slowest == 0 and self.limit_s >= LONGEST_ADAPTED

    def answered_in(self, seconds: float, request: Request) -> None:
        """Learn from an answer."""
        self.slowest, self.stretched = max(self.slowest, seconds), 0.0
        self.longest = max(self.longest, request.length)


@dataclass(frozen=True)
class Faulted:
    """The attempt failed, and another may succeed.

    Args:
        reason: what went wrong, in a few words that other failures of the kind share.
        detail: the endpoint's own words; empty where there are none.
        wait: seconds that the endpoint asks to wait; None where it says nothing.
        for_all: whether every call has to wait, not this one alone.
        gone: whether it says of the endpoint, and of no call, that it cannot be had now.
        said: whether the endpoint is there, and said something that cannot be used.
        used: tokens, where the endpoint did its work, or may have.
        slow: whether the answer took too long.
    """

    reason: str
    detail: str = ""
    wait: float | None = None
    for_all: bool = False
    gone: bool = False
    said: bool = False
    used: Tokens = NOTHING
    slow: bool = False


@dataclass(frozen=True)
class Refused:
    """The endpoint does not take this request, or answers it with what cannot be read, now and later.

    Args:
        reason: why.
        used: tokens, where the endpoint did its work.
    """

    reason: str
    used: Tokens = NOTHING


@dataclass(frozen=True)
class Adapted:
    """The request was not to the endpoint's liking, and is to be made anew.

    Args:
        reason: what is done differently.
        keep: characters of the passage to keep, where it was too long; None where something else changed.
        plain: whether this call alone is made in plain text.
        used: tokens, where the endpoint did its work.
    """

    reason: str
    keep: int | None = None
    plain: bool = False
    used: Tokens = NOTHING


@dataclass(frozen=True)
class Hopeless:
    """No call can succeed.

    Args:
        error: why.
        reason: what else it may be: why this call alone fails, once others with the same key are answered; empty where
            it is about all calls.
        used: tokens.
    """

    error: GradingError
    reason: str = ""
    used: Tokens = NOTHING


Verdict = Answer | Faulted | Refused | Adapted | Hopeless


def open_client(endpoint: Endpoint, key: str) -> openai.AsyncOpenAI:
    """A client for an endpoint. Retries are ours, so that they are counted, paced, and can be stopped.

    Raises:
        GradingError: none can be made, as for a proxy of the environment that makes no sense.
    """
    longest = LONGEST_ADAPTED if endpoint.adapts else endpoint.timeout_s
    timeout = openai.Timeout(longest, connect=min(CONNECT_SECONDS, endpoint.timeout_s))
    # A proxy of the environment leads out of this computer, where it would not find a local endpoint; and what goes to
    # an http address through a proxy is read by it, the key too.
    proxied = not endpoint.on_this_computer and (
        not endpoint.key_variable or endpoint.base_url.lower().startswith("https:")
    )
    most = limit("ENDPOINT_ANSWER")
    try:
        client = openai.AsyncOpenAI(
            api_key=key,
            # The client would take an administrator's key from the environment, which has no business here.
            admin_api_key="",
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=0,
            # To read all certificates of the system takes a tenth of a second, and http asks for none.
            http_client=BoundedClient(
                most, key, timeout=timeout, trust_env=proxied, verify=not endpoint.base_url.lower().startswith("http:")
            ),
        )
    except Exception as error:
        # Any may come of what the environment says, as the name and password of a proxy, and repeat it.
        raise GradingError(
            "endpoint-gone",
            f"The connection to the endpoint cannot be set up ({type(error).__name__}).",
            "Check the address. Correct or unset the proxy in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY).",
        ) from None
    if not endpoint.is_openai:
        # It takes these from the environment whatever the address: organization, project, and headers with any secret.
        client.organization = client.project = None
        client._custom_headers = {}
    return client


async def ask(client: openai.AsyncOpenAI, endpoint: Endpoint, request: Request, key: str) -> Verdict:
    """Make one call.

    Args:
        client: as `open_client` gives it.
        endpoint: where it goes; its dialect is changed where it objects to it.
        request: what is sent.
        key: is kept out of every text of the verdict.
    """
    begun, limit_s = asyncio.get_running_loop().time(), endpoint.limit_s
    try:
        # The client's own limits are for each step of a call, which a server that trickles never exceeds.
        async with asyncio.timeout(limit_s):
            # The fields go as they are: the client's conversion of typed ones takes a quarter of all that a call costs.
            fields = {**request.body, **endpoint.extra}
            if endpoint.dialect.api == "completions":
                content = (
                    await client.completions.with_raw_response.create(
                        model=endpoint.model, prompt="", extra_body=fields
                    )
                ).content
            else:
                content = (
                    await client.chat.completions.with_raw_response.create(
                        model=endpoint.model, messages=[], extra_body=fields
                    )
                ).content
        answer = read_answer(content, request, lambda text: redact(text, [key]))
    except (TimeoutError, openai.APITimeoutError) as error:
        return Faulted(f"no answer within {limit_s:g} s", used=_charged(error, request), slow=True)
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        detail = brief(redact(f"{type(cause).__name__}: {cause}", [key]))
        # Where nothing was sent, the call has no part in it.
        unsent = type(cause).__name__ in UNSENT
        return Faulted("the connection failed", detail, gone=unsent, used=_charged(error, request))
    except UnsentError as error:
        return Faulted("the connection failed", str(error))
    except UnreadableAnswerError as error:
        return Refused(str(error), Tokens(*request.reserved))
    except ReportedError as error:
        return _of_error(error.status, error.error, {}, endpoint, request, key)
    except UnusableBodyError as error:
        return Faulted("the answer cannot be used", str(error), said=True, used=estimated_usage(request))
    except openai.APIStatusError as error:
        return _of_error(error.status_code, error.body, error.response.headers, endpoint, request, key)
    endpoint.answered_in(asyncio.get_running_loop().time() - begun, request)
    completion = answer.completion
    if len(key) >= SECRET_LENGTH:
        completion = replace(completion, text=without_keys(completion.text, [key]))
    if request.structured and completion.error is None:
        if is_of_schema(request.call, completion.text):
            endpoint.heeds_schemas = True
        elif (
            endpoint.may_adapt_structure
            and not endpoint.heeds_schemas
            and completion.complete
            and is_in_words(request.call, completion.text)
        ):
            # What it wrote is the answer to a request for JSON that it passed over; it is asked anew, not guessed from.
            # One passage can talk a model into words, and must not change how all others are asked.
            endpoint.passed_over += 1
            if endpoint.passed_over >= PASSED_OVER:
                endpoint.dialect = replace(endpoint.dialect, structured=False)
            return Adapted(
                "the endpoint ignores the request for JSON, so plain text is requested", None, True, answer.used
            )
    if answer.model and answer.model != endpoint.model:
        completion = replace(completion, model=answer.model)
    return replace(answer, completion=completion)


def _charged(error: Exception, request: Request) -> Tokens:
    """Tokens that a call may have used whose answer never came: all that was set aside, unless it was never sent."""
    return NOTHING if type(error.__cause__).__name__ in UNSENT else Tokens(*request.reserved)


def _of_error(
    status: int | None, error: object, headers: Mapping[str, str], endpoint: Endpoint, request: Request, key: str
) -> Verdict:
    """What an error means: an answer with a status other than success, or one of success with an error in it.

    Args:
        status: of the answer, or the one that the error within it names; None where that names none.
    """
    told = explanation(error, lambda text: redact(text, [key]))
    head = "the answer is an error" if status is None else f"HTTP {status}"
    said = head + (f": {told}" if told else "")
    if status is not None and 300 <= status < 400:
        return Refused(f"HTTP {status}: {REDIRECTED}")
    against = objection(error, {**request.body, **endpoint.extra}, request.tokens)
    if against == "no credit" or status == 402:
        return Hopeless(
            GradingError(
                "account-spent",
                f"The account of the key has no credit left ({said}).",
                "Check the plan and the limits of the account"
                + (f" of the key in {endpoint.key_variable}." if endpoint.key_variable else "."),
            )
        )
    if status in (401, 404):
        return Hopeless(_no_access(status, said, endpoint))
    if status == 413 or (status == 429 and asks_too_much(error)):
        against = "too long"
    elif status is not None and passes(status) and (status < 500 or against in (None, "filtered", "no key")):
        wait = told_wait(headers, time.time(), error)
        # 503 with a time is said of the service, as 429 is of the account; neither is about one call.
        for_all = status == 429 or (status == 503 and wait is not None)
        return Faulted(f"HTTP {status}", told, wait, for_all, status in GONE, slow=status in SLOW)
    if against == "too long":
        if request.half:
            return Adapted("the prompt is too long, so the passage is shortened", request.half)
        return Refused(f"{said} (the passage cannot be shortened further)")
    if against == "filtered":
        return Answer(Completion(error=f"stopped by the endpoint's content filter: {told}"), NOTHING)
    if status == 403 or against == "no key":
        return Hopeless(_no_access(403 if status == 403 else 401, said, endpoint), said)
    if (adapted := _adapted(endpoint, against)) is not None:
        return adapted
    if status is None:
        return Faulted(
            "the answer cannot be used", told or "it has no choice", said=True, used=estimated_usage(request)
        )
    if status in UNEXPLAINED and request.length > endpoint.longest and request.half_on_a_guess:
        return Adapted(f"{said}; the prompt may be too long, so the passage is shortened once", request.half_on_a_guess)
    return Refused(said)


_CHANGES: dict[str | None, tuple[dict[str, Any], str]] = {
    "other limit": ({"limit": "max_completion_tokens"}, "the endpoint requires max_completion_tokens"),
    "no structure": ({"structured": False}, "the endpoint has no structured output, so plain text is requested"),
    "no temperature": ({"temperature": False}, "the model does not accept a temperature"),
    "no system role": (
        {"system": False},
        "the model has no system role, so the system text is put before the user text",
    ),
}
"""By objection, what of the dialect is changed, and what is said of it."""


def _adapted(endpoint: Endpoint, against: str | None) -> Adapted | None:
    """Change the endpoint's dialect to what it does not object to; None where nothing can be changed."""
    if against not in _CHANGES or (against == "no structure" and not endpoint.may_adapt_structure):
        return None
    change, reason = _CHANGES[against]
    endpoint.dialect = replace(endpoint.dialect, **change)
    return Adapted(reason)


def _no_access(status: int, said: str, endpoint: Endpoint) -> GradingError:
    if status == 404:
        return GradingError(
            "unknown-model",
            f"The endpoint does not know the model {endpoint.model!r}, or its address is wrong ({said}).",
            f"Check the model's name, the address {endpoint.base_url}, and whether it offers "
            f"{'plain' if endpoint.dialect.api == 'completions' else 'chat'} completions.",
        )
    if not endpoint.key_variable:
        return GradingError(
            "key-required",
            f"The endpoint requires a key, and no key is assigned to it ({said}).",
            "Enter its key on the screen, use --base-url URL --set key_variable=NAME in the shell, or add the endpoint "
            "to the file named in EXAM_ENDPOINTS.",
        )
    if status == 403:
        return GradingError(
            "model-not-allowed",
            f"The key may not use the model {endpoint.model!r} at this endpoint ({said}).",
            f"Check the permissions of the key in {endpoint.key_variable}.",
        )
    return GradingError(
        "key-refused",
        f"The endpoint does not accept the key ({said}).",
        f"Set {endpoint.key_variable} to a key that is valid at {endpoint.base_url}, in the environment or the app's "
        "secrets.",
    )
