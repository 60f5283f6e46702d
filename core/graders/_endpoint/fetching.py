"""Many JSON requests to any HTTP endpoint: paced, retried, limited, and without redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import GradingError, InputError, check_in_range
from .._access import checked_host, current_access, is_loopback, key_for
from .retry import Fetched, FetchMethod, RequestSettings


def fetch_all(
    url: str,
    method: FetchMethod,
    bodies: Sequence[Mapping[str, Any]],
    settings: RequestSettings,
    key_variable: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    came: Callable[[int, Fetched], None] = lambda at, one: None,
) -> list[Fetched]:
    """Make requests to one address and read their answers as JSON.

    A request is repeated after a connection error, or after status 408, 409, 425, 429, or 500 and
    above. The pause is the time that the endpoint names (`Retry-After` and similar), else a growing
    one. After a rate limit, all requests wait.

    Args:
        url: the address.
        method: GET sends a body as the query of the address, POST as JSON.
        bodies: n bodies.
        settings: rate, attempts and time limits.
        key_variable: environment variable with the key, which is sent as a bearer token; None to
            send no key.
        watch: called with the numbers of finished requests and of all requests.
        came: called with each answer and the index of its body as it arrives, so an interrupt loses
            only requests in flight.

    Returns:
        n answers, in the order of the bodies.

    Raises:
        InputError: the address or a number is invalid, or this person may not use addresses of
            their own.
        GradingError: the key is missing.
    """
    access = current_access()
    if not access.any_address:
        raise InputError(
            "addresses-not-allowed",
            "Visitors of this server cannot query addresses of their own.",
            "Use the shell: exam snapshots add.",
        )
    host = checked_host(url)
    check_in_range(
        "parameter-out-of-range",
        "A parameter of the target",
        "Use numbers above 0 for concurrency, attempts, rate and timeout.",
        settings.concurrency >= 1
        and settings.attempts >= 1
        and settings.timeout_s > 0
        and (settings.rate is None or settings.rate > 0),
    )
    key = ""
    if key_variable:
        host_key = key_for(url, None, key_variable, access)
        if host_key.key is None:
            raise GradingError(
                "key-not-set",
                f"No key: {key_variable} is not set.",
                f"Set {key_variable} in the environment.",
            )
        key = host_key.key
    # Import late: this loads the library for model endpoints, which other callers do not need.
    from .http_client import Requests

    return asyncio.run(
        Requests(url, method, settings, key, is_loopback(host), watch, came).fetch_all(bodies)
    )
