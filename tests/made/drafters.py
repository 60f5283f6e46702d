"""Drafters that ask scripted endpoints."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from exam_workbench.grading import Drafter, make_drafter
from tests.made.endpoint_server import EndpointServer, Reply, Seen


class Model:
    """Starts scripted endpoints, and returns a drafter for each.

    Attributes:
        seen: the requests to all of them so far.
    """

    def __init__(self, servers: ExitStack) -> None:
        self._servers = servers
        self.seen: list[Seen] = []

    def __call__(self, answers: Callable[[Seen], Reply]) -> Drafter:
        def behave(seen: Seen) -> Reply:
            self.seen.append(seen)
            return answers(seen)

        url = self._servers.enter_context(EndpointServer(behave)).url
        return make_drafter({"model": "writer-1", "base_url": url, "attempts": 1, "timeout_s": 20})


def start_drafters() -> Iterator[Model]:
    """Yield a model, for a fixture."""
    with ExitStack() as servers:
        yield Model(servers)
