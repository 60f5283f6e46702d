"""Every route of the API with the act that a person has to be allowed to ask it."""

from __future__ import annotations

from dataclasses import dataclass

from exam_workbench.cli.guests import act_of
from exam_workbench.project import ACTS, ActName
from exam_workbench.server.words import commands, may_read

FOR_EVERY_TOKEN = ("GET openapi.json", "GET door", "POST run", "POST run/{number}", "DELETE run/{number}")
"""What says nothing of a project but its name; a command that is sent to `run` is refused as one asked by its path."""


@dataclass(frozen=True)
class Way:
    """A route that can be asked.

    Args:
        path: after /api/v1/.
        act: what it comes to; None where every token will do.
        command: the words after `exam` of the command that it gives; empty where it gives none.
    """

    method: str
    path: str
    act: ActName | None
    command: str = ""


def ways() -> list[Way]:
    """Every route of the API."""
    stated: list[tuple[str, ActName | None]] = [(route, None) for route in FOR_EVERY_TOKEN]
    stated += [(route, act) for act, rule in ACTS.items() for route in rule.routes]
    found: list[Way] = []
    for route, act in stated:
        method, _, path = route.partition(" ")
        found.append(Way(method, path, act))
    for path, _ in commands():
        command = path.replace("/", " ")
        methods = ("GET", "POST") if may_read(path) else ("POST",)
        # To list the jobs is to GET them: to POST one is to begin one.
        taken = {(one.method, one.path) for one in found}
        found += [Way(method, path, act_of(command), command) for method in methods if (method, path) not in taken]
    return found
