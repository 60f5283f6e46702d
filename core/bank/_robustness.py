"""Flip rates of a grader in its latest robustness probe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..graders import CHANGES
from ..measures import wilson
from ..store import Project, as_act
from ..types import ANSWERED, GraderSpec
from ._drift_watch import drift
from ._grader_catalogue import grader_key


@dataclass(frozen=True)
class FlipRate:
    """The answers to one change of passages.

    Args:
        pairs, flips, failed: numbers of usable answers, of flips among them, and of failures.
        low, high: 95 % interval of the share of flips; 0 and 1 without usable answers.
    """

    change: str
    at: datetime
    pairs: int
    flips: int
    failed: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """Share of flips; None without usable answers."""
        return self.flips / self.pairs if self.pairs else None


@as_act("see boards")
def flip_rates(project: Project, spec: GraderSpec) -> list[FlipRate]:
    """Return the flip rates of the latest probe, in the order of `CHANGES`; empty without a probe."""
    key, least = project.read(lambda cursor: grader_key(cursor, spec)), spec.min_rating(ANSWERED)
    counted = {
        row[0]: row[1:]
        for row in project.rows(
            "SELECT change, max(asked_at), count(rating),"
            f" count(*) FILTER ((rating >= {least:d}) <> (before >= {least:d})),"
            f" count(*) FILTER (rating >= {least:d}), count(*) - count(rating) FROM probe_answers"
            " WHERE grader_key = $key AND probe = (SELECT max(probe) FROM probe_answers WHERE grader_key = $key)"
            " GROUP BY change",
            {"key": key},
        )
    }
    found = []
    for name, change in CHANGES.items():
        if name in counted:
            at, pairs, differs, answered, failed = counted[name]
            flips = differs if change.keeps else answered
            found.append(FlipRate(name, at, pairs, flips, failed, *(wilson(flips, pairs) or (0.0, 1.0))))
    return found


def robustness_note(rates: list[FlipRate]) -> str:
    """Return the worst change that keeps answers, and the worst that should bring none, as a sentence."""
    if not rates:
        return ""
    worst = [
        max((one for one in rates if CHANGES[one.change].keeps is keeps), key=lambda one: one.share or 0, default=None)
        for keeps in (False, True)
    ]
    said = [
        f"{one.change} {one.share:.0%} [{one.low:.0%}, {one.high:.0%}]"
        for one in worst
        if one is not None and one.share is not None
    ]
    return f"Robustness probe of {rates[0].at:%Y-%m-%d}, highest flip rates: {', '.join(said)}."


@as_act("see boards")
def trust_notes(project: Project, spec: GraderSpec) -> list[str]:
    """Return the notes for a leaderboard of a grader: a changed model behind it, and its robustness."""
    watched = drift(project, spec)
    drifted = watched.says if watched is not None and watched.alarm is not None else ""
    return [note for note in (drifted, robustness_note(flip_rates(project, spec))) if note]
