"""Coverage by budget: EXAM-Cover@k of every run for k = 1, 2, ... in one pass over the grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..measures import COVER, system_score
from ..records import check_runs, pool_depth, rankings
from ..store import Project, as_act
from . import Policy, basis, coverage_by_rank
from ._leaderboard_making import leaderboard

DEFAULT_MAX_K = 50
MAX_K = 1000
"""Maximum depth of a curve. People do not read deeper, and pools are not deeper."""


@dataclass(frozen=True)
class Curve:
    """Coverage of one run by number of passages read; `scores[k - 1]` is its EXAM-Cover@k."""

    run: str
    scores: list[float]
    std_errors: list[float | None]
    queries: int


@dataclass(frozen=True)
class CoverCurves:
    """Coverage of runs by budget.

    Args:
        curves: by run, in the order of their import or of the request.
        pool_depth: number of passages of each run in the pool. A deeper passage is graded only if it is in the pool for
            another reason, such as another run. So a flat curve there may rise with more grades.
    """

    curves: list[Curve]
    max_k: int
    pool_depth: int
    policy: Policy

    def order(self, k: int) -> list[str]:
        """Return the runs by falling coverage at a rank depth, or at the greatest one if that is smaller."""
        at = min(k, self.max_k) - 1
        return [curve.run for curve in sorted(self.curves, key=lambda curve: -curve.scores[at])]

    def as_dict(self) -> dict[str, Any]:
        """Return the curves as plain values, as `--json` prints them."""
        return {
            "measure": COVER,
            "max_k": self.max_k,
            "pool_depth": self.pool_depth,
            "policy": self.policy.as_dict(),
            "curves": [vars(curve) for curve in self.curves],
        }


@as_act("see boards")
def cover_curves(
    project: Project,
    policy: Policy | None = None,
    max_k: int = DEFAULT_MAX_K,
    runs: Sequence[str] | None = None,
) -> CoverCurves:
    """Return EXAM-Cover@k of runs for every k up to a depth, with standard errors over queries.

    At each k the value equals the leaderboard's EXAM-Cover@k (exam-plus-plus, equation 1), over the queries without
    ungraded pairs down to `max_k`. Each question is looked up once, at the first rank that answers it.

    Args:
        policy: its cutoff is ignored; None means the default policy.
        max_k: greatest rank depth, from 1.
        runs: names; None means all.

    Raises:
        InputError: a depth out of range, an unknown run, grader or version, or nothing to score.
    """
    if not 1 <= max_k <= MAX_K:
        raise InputError("depth-out-of-range", f"Depth {max_k} is out of range.", f"Use a number from 1 to {MAX_K}.")
    policy = policy or Policy()
    names = list(rankings(project)) if runs is None else check_runs(project, runs)
    queries = leaderboard(project, f"{COVER}@{max_k}", policy=policy).query_ids
    base = basis(project, policy)
    by_run = coverage_by_rank(project, base, max_k)
    curves = []
    for run in names:
        known = {query: values.tolist() for query, values in by_run.get(run, {}).items()}
        points = [
            system_score({query: values[k] for query, values in known.items()}, queries, policy.skipped)
            for k in range(max_k)
        ]
        scores = [score for score, _, _ in points if score is not None]
        # A run that answered none of the queries has no score if skipped queries are ignored.
        if len(scores) == max_k:
            curves.append(Curve(run, scores, [error for _, error, _ in points], points[0][2]))
    return CoverCurves(curves, max_k, project.read(pool_depth), base.policy)
