"""Monitoring of a live target: a test whether a measure fell between two snapshots by more than noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...labels import Policy
from ...leaderboard import leaderboard
from ...measures import randomisation_test
from ...project import Project, check_runs

LEVEL = 0.05
"""A fall counts if noise alone gives one as large with a probability below this."""
SAMPLES = 2000


@dataclass(frozen=True)
class Fall:
    """A measure of two snapshots over the queries that both are scored on.

    Args:
        measure: its name.
        source: of the judgments, or `exam` for grades.
        before, after: means.
        queries: how many they rest on.
        low, high: interval of 95 % of the difference after - before, by a bootstrap over queries.
        p: of a two-sided paired randomisation test, which swaps the snapshots at random on every query (Smucker et al.,
            CIKM 2007); None if no query differs.
        fell: whether the mean fell and p is below the level.
        scores: before and after, by query id.
    """

    measure: str
    source: str
    before: float
    after: float
    queries: int
    low: float
    high: float
    p: float | None
    fell: bool
    scores: Mapping[str, tuple[float, float]]

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


def measure_fall(
    project: Project,
    before: str,
    after: str,
    measure: str,
    source: str = "judgments",
    policy: Policy | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Fall:
    """Test whether a measure of a target fell between two snapshots by more than noise.

    Args:
        before, after: the runs.
        measure: as for leaderboards, such as nDCG@10 or EXAM-Cover@5.
        source: of judgments, or `exam` for grades.
        level: the p from which on a fall counts as noise.
        seed: of test and bootstrap.

    Raises:
        InputError: a run, measure or source is unknown, or there are fewer than two queries.
    """
    check_runs(project, [before, after])
    board = leaderboard(project, measure, source, policy or Policy())
    if not board.per_query:
        raise InputError(
            "no-scores-by-query", f"Source {source} has no scores per query.", "Use a source of judgments, or exam."
        )
    old, new = (board.per_query.get(run, {}) for run in (before, after))
    # A query without results in a snapshot scores 0 there, as on the leaderboard.
    names = list(board.query_ids)
    differences = np.array([new.get(name, 0.0) - old.get(name, 0.0) for name in names], dtype=np.float64)
    if len(names) < 2:
        raise InputError(
            "too-few-queries",
            "Fewer than two queries to compare.",
            "Import judgments, or grade the passages.",
        )
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(SAMPLES, len(names)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    p = float(randomisation_test(differences[:, None], seed=seed)[0])
    mean = float(differences.mean())
    known = not np.isnan(p)
    scores = {name: (old.get(name, 0.0), new.get(name, 0.0)) for name in names}
    earlier, later = (float(np.mean([pair[at] for pair in scores.values()])) for at in (0, 1))
    fell = bool(mean < 0 and known and p < level)
    return Fall(board.measure, source, earlier, later, len(names), low, high, p if known else None, fell, scores)
