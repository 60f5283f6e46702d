"""State of the drift watch: whether the model behind a grader changed, by the pairs that were asked again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ..errors import GradingError
from ..measures import DRIFT_ALARM, drift_evidence, noise_bound
from ..store import Project, as_act
from ..types import GraderSpec
from ._grader_catalogue import grader_key


@dataclass(frozen=True)
class DriftCheck:
    """A check. `evidence` is the logarithm of the e-value of all checks until then, see `drift_evidence`."""

    at: datetime
    asked: int
    changed: int
    evidence: float


@dataclass(frozen=True)
class Drift:
    """The drift watch of a grader.

    Args:
        since: when its noise was measured.
        pairs, changed: number of pairs that were asked twice for this, and of them with another rating.
        bound: upper bound of the share of ratings that change by noise.
        alarm: time of the check that noticed a change; None without one.
        suspect: number of grades that may come from the changed model: those of jobs that ended after the check before
            the evidence grew; 0 without an alarm.
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
    def says(self) -> str:
        """The state as a sentence."""
        if self.alarm is not None:
            return (
                f"The model behind {self.grader} changed: noticed on {self.alarm:%Y-%m-%d}."
                f" Grades that may come from the changed model: {self.suspect:,}."
            )
        asked, changed = (sum(getattr(one, name) for one in self.checks) for name in ("asked", "changed"))
        return (
            f"No change of the model behind {self.grader} noticed: {changed:,} of {asked:,} repeated ratings differ"
            f" (noise up to {self.bound:.1%})."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the state as plain values, as `--json` prints it."""
        return asdict(self)


@as_act("see boards")
def drift(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader; None if it is not watched."""
    return project.cached(("drift", spec.fingerprint), lambda: _drift(project, spec))


def _drift(project: Project, spec: GraderSpec) -> Drift | None:
    key = project.read(lambda cursor: grader_key(cursor, spec))
    rows = project.rows(
        "SELECT min(asked_at), count(*), count(*) FILTER (s.rating IS DISTINCT FROM g.rating) FROM sentinel_answers s"
        " JOIN grades g USING (grader_key, question_text_key, passage_text_key) WHERE grader_key = ?"
        " GROUP BY round ORDER BY round",
        [key],
    )
    if not rows:
        return None
    (since, pairs, noisy), *later = rows
    bound = noise_bound(noisy, pairs)
    found = drift_evidence([(asked, changed) for _, asked, changed in later], bound)
    checks = [
        DriftCheck(at, asked, changed, float(value)) for (at, asked, changed), value in zip(later, found, strict=True)
    ]
    alarm = next((at for at, one in enumerate(checks) if one.evidence >= DRIFT_ALARM), None)
    suspect = 0
    if alarm is not None:
        low = min(range(alarm), key=lambda at: checks[at].evidence, default=None)
        suspect = project.value(
            "SELECT count(*) FROM grades JOIN jobs USING (job_key) WHERE grader_key = ? AND ended_at >= ?",
            [key, since if low is None or checks[low].evidence > 0 else checks[low].at],
        )
    return Drift(spec.name, since, pairs, noisy, bound, checks, None if alarm is None else checks[alarm].at, suspect)


def refuse_drifted(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader, and refuse one whose model changed.

    Raises:
        GradingError: its model changed, so that its next grades would not be comparable.
    """
    found = drift(project, spec)
    if found is not None and found.alarm is not None:
        raise GradingError(
            "grader-drifted", found.says, "Grade with its next edition, which has grades of its own: exam graders list"
        )
    return found
