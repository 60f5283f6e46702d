"""Drafters that ask scripted endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from exam_workbench.grading import Drafter, make_drafter
from tests.made.endpoint_server import EndpointServer, Reply, Seen

Model = Callable[[Callable[[Seen], Reply]], Drafter]


def start_drafters() -> Iterator[Model]:
    """Yield a function that starts a scripted endpoint and returns its drafter, for a fixture."""
    with ExitStack() as servers:

        def started(answers: Callable[[Seen], Reply]) -> Drafter:
            url = servers.enter_context(EndpointServer(answers)).url
            return make_drafter({"model": "writer-1", "base_url": url, "attempts": 1, "timeout_s": 20})

        yield started
