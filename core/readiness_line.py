"""The readiness of a leaderboard in one line, and the checklist before a publication that is built on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .audit import audited_by, under_way
from .labels import FEWEST_GRADED, Policy, basis, graded_share, label_readiness, pairs_needed
from .measures import parse_measure
from .records import sealed_questions
from .review import agreement_status
from .store import Project, as_act
from .text import how_many

Audited = Literal["audited", "audit in progress", "not audited"]


@dataclass(frozen=True)
class ReadinessLine:
    """How far the leaderboard of a measure can be trusted.

    Args:
        measure: standard name.
        needed, usable: number of pairs that the measure needs, and of these with a rating; 0 if it needs no grades.
        disagreements: open disagreements of the labels with the first judgments; None if they cannot be compared,
            or if the person may not see them.
        bank_version: the version that the labels are derived from.
    """

    measure: str
    needed: int
    usable: int
    disagreements: int | None
    audited: Audited
    bank_version: int

    @property
    def graded(self) -> str:
        """The graded share in percent, see `labels.graded_share`."""
        return graded_share(self.usable, self.needed)

    @property
    def too_few(self) -> bool:
        """Whether fewer than `FEWEST_GRADED` of the pairs have a rating."""
        return self.usable < FEWEST_GRADED * self.needed


@as_act("see boards", at_face=False)
def readiness_line(project: Project, policy: Policy, measure: str) -> ReadinessLine:
    """Return the readiness of the leaderboard of a measure.

    Raises:
        InputError: the measure, grader or version is unknown.
    """
    base, wanted = basis(project, policy), parse_measure(measure, policy.cutoff)
    pairs = pairs_needed(project, base, wanted) if wanted.takes_grades else {"needed": 0, "usable": 0}
    compared = agreement_status(project, policy) if project.allows("read the bank") else None
    audited: Audited = "not audited"
    if audited_by(project, policy) is not None:
        audited = "audited"
    elif under_way(project, policy) is not None:
        audited = "audit in progress"
    return ReadinessLine(
        measure=wanted.name,
        needed=pairs["needed"],
        usable=pairs["usable"],
        disagreements=None if compared is None else compared.open,
        audited=audited,
        bank_version=base.version,
    )


@dataclass(frozen=True)
class Check:
    """A line of the checklist before a publication: its state, and the screen that shows or fixes it."""

    name: str
    done: bool
    says: str
    screen: str
    place: dict[str, str] = field(default_factory=dict)


def publication_checks(project: Project, policy: Policy, line: ReadinessLine) -> list[Check]:
    """Return the checklist before a publication. An open line does not prevent the publication.

    Raises:
        InputError: the grader or version is unknown.
    """
    state, sealed = label_readiness(project, basis(project, policy)), len(sealed_questions(project))
    cases = "No judgments" if line.disagreements is None else how_many(line.disagreements, "open disagreements")
    return [
        Check(
            "graded",
            line.usable == line.needed,
            f"{line.graded} of the pairs that {line.measure} needs are graded",
            "grading",
        ),
        Check("failed", not state.failed, how_many(state.failed, "failed pairs"), "grading"),
        Check("disagreements", line.disagreements == 0, cases, "disagreements"),
        Check("audit", line.audited == "audited", line.audited.capitalize(), "audit"),
        Check(
            "stale",
            not state.stale_overrides,
            how_many(state.stale_overrides, "stale overrides"),
            "passages",
            {"overridden": "true"},
        ),
        Check(
            "sealed",
            not sealed,
            how_many(sealed, "sealed questions") + ", left out of bundles" * bool(sealed),
            "leaderboard",
            {"view": "Sealed questions"},
        ),
    ]
