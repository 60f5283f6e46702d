"""The facts of the sentence above a leaderboard: separation, correlation, and the basis of the labels."""

from __future__ import annotations

from dataclasses import dataclass

from ..labels import Comparison, Leaderboard, graded_share
from ..store import Project
from ._system_groups import Alike, alike
from ._system_significance import Test, remembered_pairs


@dataclass(frozen=True)
class Summary:
    """A leaderboard in a sentence of four parts.

    Args:
        measure: the measure of the leaderboard.
        systems: number of systems.
        groups: the systems that are not separated.
        against: name of the official leaderboard; None without one.
        kendall: Kendall's tau-b with the official leaderboard; None without one, or if it is undefined.
        graded: share of the needed pairs that have a rating, see `labels.graded_share`; None
            if the leaderboard needs no grades.
        audited: name of the measure whose scores an audit of these labels corrects; None without an audit.
    """

    measure: str
    systems: int
    groups: Alike
    against: str | None
    kendall: float | None
    graded: str | None
    audited: str | None

    @property
    def unseparated(self) -> int | None:
        """Number of the best systems no two of which are separated, from 1; None if this is not tested."""
        if self.groups.untested or not self.systems:
            return None
        return 1 + next((last for first, last in self.groups.groups if first == 0), 0)

    @property
    def separation(self) -> str:
        """The part on the best systems; empty for a single system."""
        if self.systems < 2:
            return ""
        if self.unseparated is None:
            return "The systems are not tested for differences"
        if self.unseparated == self.systems:
            return "No two systems are separated"
        if self.unseparated == 1:
            return "The best system is separated from the second"
        return f"The top {self.unseparated:,} are not separated"

    @property
    def agreement(self) -> str:
        """The part on the official leaderboard; empty without one."""
        if self.against is None:
            return ""
        if self.kendall is None:
            return f"Correlation with {self.against} is undefined"
        return f"Kendall {self.kendall:z.2f} with {self.against}"

    @property
    def grading(self) -> str:
        """The part on the grades behind the labels; empty if the leaderboard needs no grades."""
        return "" if self.graded is None else f"{self.graded} graded".capitalize()

    @property
    def auditing(self) -> str:
        """The part on the audit; empty if the leaderboard needs no grades."""
        if self.graded is None:
            return ""
        if self.audited is None:
            return "Not audited"
        return "Audited" if self.audited == self.measure else f"Only {self.audited} is audited"

    @property
    def says(self) -> str:
        """All parts as sentences."""
        parts = (self.separation, self.agreement, self.grading, self.auditing)
        return " ".join(f"{part}." for part in parts if part)


def summarize(
    project: Project,
    board: Leaderboard,
    compared: Comparison | None = None,
    audited: str | None = None,
    test: Test = "t",
) -> Summary:
    """Return the facts of the sentence above a leaderboard.

    Args:
        compared: its comparison with the official leaderboard, if any.
        audited: name of the measure whose scores an audit of these labels corrects, if any.
        test: the paired test that separates systems.
    """
    return Summary(
        measure=board.measure,
        systems=len(board.systems),
        groups=alike(board, remembered_pairs(project, board, test)),
        against=compared.official.source if compared else None,
        kendall=compared.correlation.kendall if compared else None,
        graded=graded_share(board.usable, board.needed) if board.needed else None,
        audited=audited,
    )
