"""The routes of the server in addition to its screens: /healthz, and the API below /api/v1."""

from __future__ import annotations

import functools
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ._api import PREFIX, Api
from ._health import health

Check = Callable[[], None]


def routes(check: Check = lambda: None) -> list[Route]:
    """Return the routes. The program that serves them checks host names, for these and all other routes.

    Args:
        check: a further check of the server's health; raises WorkbenchError if it fails.
    """
    return [
        Route("/healthz", functools.partial(_health, check), methods=["GET"]),
        Route(PREFIX + "/{path:path}", Api()),
    ]


async def _health(check: Check, request: Request) -> Response:
    return await health(check)
