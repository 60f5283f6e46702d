"""Which grader became the usual one by itself, whose grades counted before, and since when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ..project import Project, as_act
from .graders import graders, place_among


@dataclass(frozen=True)
class Succession:
    """A change of the usual grader that nobody asked for.

    Args:
        usual: the grader that is the usual one now, by its name.
        former: the one in whose place it came.
        since: when the job began by which it did.
    """

    usual: str
    former: str
    since: datetime


@as_act("see boards")
def succession(project: Project) -> Succession | None:
    """How the usual grader came to be that; None where it is the first that graded, or no job is on record."""
    return project.remember("succession", lambda: _succession(project))


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
