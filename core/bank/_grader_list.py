"""List of all graders of a project: their names, their results, and whether they can grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import GradingError, InputError
from ..graders import make_grader
from ..store import Project
from ._grader_catalogue import stored_graders
from ._prompt_versions import prompts
from ._saved_graders import named_graders, settings_again


@dataclass(frozen=True)
class ListedGrader:
    """A grader of a project.

    Args:
        name: printed name, as on leaderboards.
        fingerprint: empty if the grader is saved but cannot be made, because its model or prompt is missing.
        also: other names under which it is saved.
        grades, failures: numbers of its grades and of its failed pairs.
        can_grade: whether its settings are known, so that it can grade again.
        shown: whether it is the default grader of leaderboards and labels.
        kind, parameters: its settings; None if they are unknown.
    """

    name: str
    fingerprint: str
    method: str
    model: str
    grades: int = 0
    failures: int = 0
    can_grade: bool = True
    shown: bool = False
    also: tuple[str, ...] = ()
    kind: str | None = None
    parameters: dict[str, Any] | None = None


def list_of_graders(project: Project) -> list[ListedGrader]:
    """Return the graders with results, the default grader first; then saved graders without results."""
    library = prompts(project)
    called: dict[str, list[str]] = {}
    waiting: list[ListedGrader] = []
    stored = stored_graders(project)
    known = {mark: one.spec.fingerprint for one in stored for mark in one.spec.fingerprints}
    known |= {one.spec.fingerprint: one.spec.fingerprint for one in stored}
    for named in named_graders(project):
        how: dict[str, Any] = {"kind": named.kind, "parameters": named.parameters}
        try:
            spec = make_grader(named.kind, named.parameters, library).spec
        except (GradingError, InputError):
            # Its folder or prompt is missing. List it nevertheless, so that people can see and remove it.
            model = str(named.parameters.get("model") or "")
            waiting.append(ListedGrader(named.name, "", named.kind, model, can_grade=False, **how))
            continue
        if spec.fingerprint in known:
            called.setdefault(known[spec.fingerprint], []).append(named.name)
        else:
            waiting.append(ListedGrader(named.name, spec.fingerprint, spec.method, spec.model, **how))
    found = []
    for place, one in enumerate(stored):
        again = settings_again(project, one.spec)
        found.append(
            ListedGrader(
                one.spec.name,
                one.spec.fingerprint,
                one.spec.method,
                one.spec.model,
                one.grades,
                one.failures,
                can_grade=again is not None,
                shown=place == 0 and not one.spec.rates_citations,
                also=tuple(name for name in called.get(one.spec.fingerprint, ()) if name != one.spec.name),
                kind=again.kind if again else None,
                parameters=again.parameters if again else None,
            )
        )
    return found + waiting
