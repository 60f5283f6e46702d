"""Asking any HTTP endpoint for JSON, many times: paced, retried, bounded, and never led elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import GradingError, InputError
from ..access.access import current, key_for
from ..access.addresses import checked_host, is_loopback
from .manners import Fetched, FetchMethod, Manners


def fetch_all(
    url: str,
    method: FetchMethod,
    bodies: Sequence[Mapping[str, Any]],
    manners: Manners,
    key_variable: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
    stopped: Callable[[], bool] = lambda: False,
    came: Callable[[int, Fetched], None] = lambda at, one: None,
) -> list[Fetched]:
    """Make requests to one address and read their answers as JSON.

    A request is made again after a fault of the connection, status 408, 409, 425, 429 or from 500, after the time that
    the endpoint names (`Retry-After` and its kin), else after a growing one; a refusal for the rate lets all wait.

    Args:
        url: the address.
        method: what goes to it: GET sends a body as the query of the address, POST as JSON.
        bodies: n bodies.
        manners: how fast, how often, how long.
        key_variable: variable of the environment with the key, which goes as a bearer token; None to send none.
        watch: is told how many came back, out of how many.
        stopped: whether no further request is to be made; what was not asked has failed.
        came: is given each answer as it comes, with the place of its body; an interrupt loses those in flight alone.

    Returns:
        n answers, in the order of the bodies.

    Raises:
        InputError: the address or a number cannot be used, or this person may not ask addresses of their own.
        GradingError: there is no key.
    """
    access = current()
    if not access.any_address:
        raise InputError(
            "addresses-not-allowed",
            "Visitors of this server cannot query addresses of their own.",
            "Use the shell: exam snapshots add.",
        )
    host = checked_host(url)
    sound = manners.concurrency >= 1 and manners.attempts >= 1 and manners.timeout_s > 0
    if not sound or (manners.rate is not None and manners.rate <= 0):
        raise InputError(
            "parameter-out-of-range",
            "A parameter of the target is out of range.",
            "Use numbers above 0 for concurrency, attempts, rate and timeout.",
        )
    key = ""
    if key_variable:
        found = key_for(url, None, key_variable, access)
        if found.key is None:
            raise GradingError(
                "key-not-set", f"No key: {key_variable} is not set.", f"Set {key_variable} in the environment."
            )
        key = found.key
    # With it comes the library of the model endpoints, which whoever asks nothing need not load.
    from .requests import Requests

    fetching = Requests(url, method, manners, key, is_loopback(host), watch, stopped, came)
    return asyncio.run(fetching.all(bodies))
