"""The checklist before a publication."""

from __future__ import annotations

from dataclasses import dataclass, field

from .board_summary import Readiness
from .labels import Policy, basis, label_readiness
from .records import sealed_questions
from .store import Project
from .text import how_many


@dataclass(frozen=True)
class Check:
    """A line of the checklist before a publication: its state, and the screen that shows or fixes
    it.
    """

    name: str
    done: bool
    says: str
    screen: str
    place: dict[str, str] = field(default_factory=dict)


def publication_checks(project: Project, policy: Policy, ready: Readiness) -> list[Check]:
    """Return the checklist before a publication. An open line does not prevent the publication.

    Raises:
        InputError: the grader or version is unknown.
    """
    state, sealed = label_readiness(project, basis(project, policy)), len(sealed_questions(project))
    cases = (
        "No judgments"
        if ready.disagreements is None
        else how_many(ready.disagreements, "open disagreements")
    )
    audited = ready.audited[:1].upper() + ready.audited[1:]
    if ready.audited == "not audited":
        audited = "Not audited: no random sample was judged to measure the error of these scores"
    left_out = ", left out of bundles" if sealed else ""
    return [
        Check("graded", ready.usable == ready.needed, ready.grading, "grading"),
        Check("failed", not state.failed, how_many(state.failed, "failed pairs"), "grading"),
        Check("disagreements", ready.disagreements == 0, cases, "disagreements"),
        Check("audit", ready.audited == "audited", audited, "audit"),
        Check(
            "stale",
            not state.stale_overrides,
            how_many(state.stale_overrides, "stale overrides") + " (question reworded since)",
            "passages",
            {"overridden": "true"},
        ),
        Check(
            "speaking",
            not state.speaking_passages,
            how_many(state.speaking_passages, "passages") + " with text that addresses the grader",
            "passages",
            {"speaking": "true"},
        ),
        Check(
            "sealed",
            not sealed,
            how_many(sealed, "sealed questions") + " (hidden until opened)" + left_out,
            "leaderboard",
            {"view": "Sealed questions"},
        ),
    ]
