"""Reasons to distrust grades: a changed model behind a grader, and flip rates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .. import graders
from ..errors import GradingError
from ..store import Project, as_act
from ..types import ANSWERED, GraderSpec
from ._grader_catalogue import grader_key


@dataclass(frozen=True)
class DriftCheck:
    """A check. `evidence` is the logarithm of the e-value of all checks until then, see
    `drift_evidence`.
    """

    at: datetime
    asked: int
    changed: int
    evidence: float


@dataclass(frozen=True)
class Drift:
    """The drift watch of a grader.

    Args:
        since: when its noise was measured.
        pairs, changed: number of pairs that were asked twice for this, and of them with another
            rating.
        bound: upper bound of the share of ratings that change by noise.
        alarm: time of the check that noticed a change; None without one.
        suspect: number of grades that may come from the changed model: those of jobs that ended
            after the check before the evidence grew; 0 without an alarm.
    """

    grader: str
    since: datetime
    pairs: int
    changed: int
    bound: float
    checks: list[DriftCheck]
    alarm: datetime | None
    suspect: int

    @property
    def description(self) -> str:
        """The state as a sentence."""
        if self.alarm is not None:
            return (
                f"The model behind {self.grader} changed: noticed on {self.alarm:%Y-%m-%d}."
                f" Grades that may come from the changed model: {self.suspect:,}."
            )
        check_count, changed = (
            sum(getattr(one, name) for one in self.checks) for name in ("asked", "changed")
        )
        return (
            f"No change of the model behind {self.grader} noticed: {changed:,} of {check_count:,}"
            f" repeated ratings differ (noise up to {self.bound:.1%})."
        )


@as_act("see boards")
def grader_drift(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader; None if it is not watched."""
    return project.cached(("drift", spec.fingerprint), lambda: _find_drift(project, spec))


def _find_drift(project: Project, spec: GraderSpec) -> Drift | None:
    # `exam status` reads this module and needs no numpy.
    from ..measures import DRIFT_ALARM, drift_evidence, noise_bound

    key = project.read(lambda cursor: grader_key(cursor, spec))
    rows = project.rows(
        "SELECT min(asked_at), count(*), count(*) FILTER (s.rating IS DISTINCT FROM g.rating)"
        " FROM sentinel_answers s"
        " JOIN grades g USING (grader_key, question_text_key, passage_text_key)"
        " WHERE grader_key = ? GROUP BY round ORDER BY round",
        [key],
    )
    if not rows:
        return None
    (since, pairs, noisy), *later = rows
    bound = noise_bound(noisy, pairs)
    found = drift_evidence([(asked, changed) for _, asked, changed in later], bound)
    checks = [
        DriftCheck(at, asked, changed, float(value))
        for (at, asked, changed), value in zip(later, found, strict=True)
    ]
    alarm = next((at for at, one in enumerate(checks) if one.evidence >= DRIFT_ALARM), None)
    suspect = 0
    if alarm is not None:
        low = min(range(alarm), key=lambda at: checks[at].evidence, default=None)
        suspect = project.value(
            "SELECT count(*) FROM grades JOIN jobs USING (job_key) WHERE grader_key = ?"
            " AND ended_at >= ?",
            [key, since if low is None or checks[low].evidence > 0 else checks[low].at],
        )
    return Drift(
        spec.name,
        since,
        pairs,
        noisy,
        bound,
        checks,
        None if alarm is None else checks[alarm].at,
        suspect,
    )


def refuse_drifted(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader, and refuse one whose model changed.

    Raises:
        GradingError: its model changed, so that its next grades would not be comparable.
    """
    watch = grader_drift(project, spec)
    if watch is not None and watch.alarm is not None:
        raise GradingError(
            "grader-drifted",
            watch.description,
            "Grade with its next edition, which has grades of its own: exam graders list",
        )
    return watch


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
    """Return the latest probe's flip rates, in the order of `CHANGES`; empty without a probe."""
    from ..measures import wilson_interval

    key, least = project.read(lambda cursor: grader_key(cursor, spec)), spec.min_rating(ANSWERED)
    counted = {
        row[0]: row[1:]
        for row in project.rows(
            "SELECT change, max(asked_at), count(rating),"
            f" count(*) FILTER ((rating >= {least:d}) <> (before >= {least:d})),"
            f" count(*) FILTER (rating >= {least:d}), count(*) - count(rating) FROM probe_answers"
            " WHERE grader_key = $key AND probe = (SELECT max(probe) FROM probe_answers"
            " WHERE grader_key = $key) GROUP BY change",
            {"key": key},
        )
    }
    # Without a probe, the changes are not needed. They load slowly.
    if not counted:
        return []
    rates = []
    for name, change in graders.CHANGES.items():
        if name in counted:
            at, pairs, differs, answered, failed = counted[name]
            flips = differs if change.keeps else answered
            rates.append(
                FlipRate(
                    name, at, pairs, flips, failed, *(wilson_interval(flips, pairs) or (0.0, 1.0))
                )
            )
    return rates


def robustness_note(rates: list[FlipRate]) -> str:
    """Return the worst change that keeps answers, and the worst that should bring none, as a
    sentence.
    """
    if not rates:
        return ""
    phrases = []
    for keeps, where in ((False, "without the answer"), (True, "with the answer")):
        shares = {
            rate: rate.share
            for rate in rates
            if graders.CHANGES[rate.change].keeps is keeps and rate.share is not None
        }
        if shares:
            worst = max(shares, key=shares.__getitem__)
            phrases.append(
                f"{where}: {worst.change} {worst.share:.0%} [{worst.low:.0%}, {worst.high:.0%}]"
            )
    listed = "; ".join(phrases)
    return (
        f"Robustness probe of {rates[0].at:%Y-%m-%d}. Highest shares of changed answers {listed}."
    )


@as_act("see boards")
def trust_notes(project: Project, spec: GraderSpec) -> list[str]:
    """Return the notes for a leaderboard of a grader: a changed model behind it, and its
    robustness.
    """
    watched = grader_drift(project, spec)
    drifted = watched.description if watched is not None and watched.alarm is not None else ""
    return [note for note in (drifted, robustness_note(flip_rates(project, spec))) if note]
