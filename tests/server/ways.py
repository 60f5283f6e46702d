"""Every route of the API with the act that a person has to be allowed to ask it."""

from __future__ import annotations

from dataclasses import dataclass

from exam_workbench.operations import every_operation
from exam_workbench.store import ACTS, ActName

FOR_EVERY_TOKEN = ("GET openapi.json", "GET door", "POST run/{number}", "DELETE run/{number}")
"""What says nothing of a project but its name, or is about what the same token asked for."""


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
    for one in every_operation():
        if one.at_shell:
            continue
        path = one.name.replace(" ", "/")
        methods = ("GET", "POST") if one.may_read else ("POST",)
        # To list the jobs is to GET them: to POST one is to begin one.
        taken = {(way.method, way.path) for way in found}
        found += [Way(method, path, one.act, one.name) for method in methods if (method, path) not in taken]
    return found
