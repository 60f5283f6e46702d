"""Changes of the default grader that happened automatically."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ..store import Project, as_act
from ._grader_catalogue import graders, place_among


@dataclass(frozen=True)
class Succession:
    """An automatic change of the default grader.

    Args:
        usual: name of the present default grader.
        former: name of the grader that it replaced.
        since: start time of the job that caused the change.
    """

    usual: str
    former: str
    since: datetime


@as_act("see boards")
def succession(project: Project) -> Succession | None:
    """Return the change to the present default grader. None if it graded first, or if no job is recorded."""
    return project.cached("succession", lambda: _succession(project))


def _succession(project: Project) -> Succession | None:
    known = graders(project)
    former = next((one for one in known if one.grades and one.key < known[0].key), None)
    if former is None:
        return None
    usual, others = known[0], known[1:]
    most, grades = max((one.grades for one in others if not one.spec.imported), default=0), 0
    for began, graded in project.rows(
        "SELECT started_at, done FROM jobs WHERE subject_key = ? ORDER BY job_key", [usual.key]
    ):
        grades += graded
        then = replace(usual, grades=grades)
        if place_among(then, max(most, grades)) < place_among(former, max(most, grades)):
            return Succession(usual.spec.name, former.spec.name, began)
    return None
