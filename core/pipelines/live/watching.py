"""Watching a live target: what differs between two freezes, and whether a measure fell by more than noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.labels import Policy
from core.leaderboard import leaderboard
from core.measures import randomisation_test
from core.pipelines.answers.contexts import passage_id_of, tops
from core.project import Project, check_runs

LEVEL = 0.05
"""Chance of a fall at least as large by noise alone below which it counts."""
SAMPLES = 2000


@dataclass(frozen=True)
class QueryChange:
    """What differs for one query between two freezes.

    Args:
        gone, new: passages that are in the top of one alone, in its order.
        moved: passages that both have at other ranks: id, rank before, rank after.
        overlap: share of the passages of both tops that both have; 1 where nothing came or went.
    """

    query_id: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
    moved: tuple[tuple[str, int, int], ...]
    overlap: float


def diff_of_runs(project: Project, before: str, after: str, k: int = 10) -> list[QueryChange]:
    """The queries whose top differs between two runs, those that differ most first.

    A passage whose text changed under its id came with an id of its own (ID~DIGEST): it is gone and new.

    Args:
        k: how deep one looks.

    Raises:
        InputError: there is no such run.
    """
    check_runs(project, [before, after])
    found = tops(project, [before, after], k)
    changes = []
    for query_id in dict.fromkeys([*found[before], *found[after]]):
        old, new = ([passage_id_of(one) for one in found[run].get(query_id, [])] for run in (before, after))
        if old == new:
            continue
        both = [one for one in old if one in new]
        moved = tuple((one, old.index(one) + 1, new.index(one) + 1) for one in both if old.index(one) != new.index(one))
        changes.append(
            QueryChange(
                query_id,
                tuple(one for one in old if one not in new),
                tuple(one for one in new if one not in old),
                moved,
                len(both) / len({*old, *new}),
            )
        )
    return sorted(changes, key=lambda one: one.overlap)


@dataclass(frozen=True)
class Fall:
    """A measure of two freezes over the queries that both are scored on.

    Args:
        measure: its name.
        source: of the judgments, or `exam` for grades.
        before, after: means.
        queries: how many they rest on.
        low, high: interval of 95 % of the difference after - before, by a bootstrap over queries.
        p: chance of a difference at least as large if freezes could change names on every query (two-sided paired
            randomisation test, Smucker et al., CIKM 2007); None where no query differs.
        fell: whether the mean fell and p is below the level.
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
    """Whether a measure of a target fell between two freezes by more than noise.

    Args:
        before, after: the runs.
        measure: as for leaderboards, such as nDCG@10 or EXAM-Cover@5.
        source: of judgments, or `exam` for grades.
        level: from which chance on a fall counts as noise.
        seed: of test and bootstrap.

    Raises:
        InputError: no such run, measure or source, or fewer than two queries.
    """
    check_runs(project, [before, after])
    board = leaderboard(project, measure, source, policy or Policy())
    if not board.per_query:
        raise InputError(f"{source} has no scores by query.", "Name a source of judgments, or exam.")
    old, new = (board.per_query.get(run, {}) for run in (before, after))
    # A query that a freeze has nothing for scores 0 there, as on the leaderboard.
    names = list(board.query_ids)
    differences = np.array([new.get(name, 0.0) - old.get(name, 0.0) for name in names], dtype=np.float64)
    if len(names) < 2:
        raise InputError("There are fewer than two queries to compare.", "Import judgments, or grade the passages.")
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(SAMPLES, len(names)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    p = float(randomisation_test(differences[:, None], seed=seed)[0])
    mean = float(differences.mean())
    known = not np.isnan(p)
    return Fall(
        board.measure, source,
        float(np.mean([old.get(name, 0.0) for name in names])), float(np.mean([new.get(name, 0.0) for name in names])),
        len(names), low, high, p if known else None, bool(mean < 0 and known and p < level),
    )  # fmt: skip
