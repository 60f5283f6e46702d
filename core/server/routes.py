"""The routes of the server beside its screens: /healthz, and the API below /api/v1."""

from __future__ import annotations

import functools
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .api import PREFIX, Api
from .health import health

Check = Callable[[], None]


def routes(check: Check = lambda: None) -> list[Route]:
    """The routes, for the program that serves them: it refuses requests under another name, for these and all others.

    Args:
        check: what has to hold beside the projects for the server to be well; raises WorkbenchError where it does not.
    """
    return [
        Route("/healthz", functools.partial(_health, check), methods=["GET"]),
        Route(PREFIX + "/{path:path}", Api()),
    ]


async def _health(check: Check, request: Request) -> Response:
    """How the server is, for everybody who asks."""
    return await health(check)
