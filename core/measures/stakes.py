"""Effect of correcting single scores on the choice of a system: which cases to check first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .choosing import TIED, Table
from .correlation import Array


@dataclass(frozen=True)
class NewScore:
    """A score that would change if a case were confirmed.

    Args:
        evaluation, run, query: identify the score.
        score: its corrected value.
    """

    evaluation: str
    run: str
    query: str
    score: float


@dataclass(frozen=True)
class Stake:
    """The effect of confirming one case on the choice of a system.

    Args:
        at: position of the case in the given list.
        chooses_another: whether some evaluation would choose other runs.
        closing: the share of the gap between the chosen run and the next that it closes, at most 1; below 0 if it
            widens the gap. The greatest of the evaluations that it changes.
        swaps: pairs of runs that would change their order.
    """

    at: int
    chooses_another: bool
    closing: float
    swaps: int


def stakes(tables: Mapping[str, Table], cases: Sequence[Sequence[NewScore]]) -> list[Stake]:
    """Order cases by how much their confirmation, each alone, would change the choice of a system.

    Cases that change the chosen system are first, then those that close most of the gap to the next. Then follow
    those that swap most pairs; otherwise the order stays. Source: llm-reteval specification, section 8, last
    sentence.

    Args:
        tables: the evaluations that choose, such as Recall@5 and LLM-retEval@5.
        cases: the corrections of each case, such as a judgment that raises every run's Recall.

    Raises:
        InputError: a correction names an unknown evaluation or run.
    """
    boards = {name: _Board.of(table) for name, table in tables.items()}
    found = []
    for at, corrections in enumerate(cases):
        by_board: dict[str, list[NewScore]] = {}
        for one in corrections:
            if one.evaluation not in boards or one.run not in boards[one.evaluation].runs:
                raise InputError(
                    "unknown-run",
                    f"Unknown run {one.run} of evaluation {one.evaluation}.",
                    "Correct only scores of the given leaderboards.",
                )
            by_board.setdefault(one.evaluation, []).append(one)
        moved = [boards[name].corrected(changes) for name, changes in by_board.items()]
        closing = max((one[1] for one in moved), default=0.0)
        found.append(Stake(at, any(one[0] for one in moved), closing, sum(one[2] for one in moved)))
    return sorted(found, key=lambda one: (not one.chooses_another, -one.closing, -one.swaps, one.at))


@dataclass(frozen=True)
class _Board:
    """Sums and numbers of scores by run, so that a correction concerns only one run."""

    runs: dict[str, int]
    table: Table
    queries: frozenset[str]
    totals: Array
    counted: Array

    @classmethod
    def of(cls, table: Table) -> _Board:
        queries = frozenset(query for row in table.values() for query in row)
        rows = [[row.get(query, 0.0) for query in queries] for row in table.values()]
        totals = np.array([sum(value for value in row if value is not None) for row in rows], dtype=np.float64)
        counted = np.array([sum(value is not None for value in row) for row in rows], dtype=np.float64)
        return cls({run: at for at, run in enumerate(table)}, table, queries, totals, counted)

    def corrected(self, corrections: Sequence[NewScore]) -> tuple[bool, float, int]:
        """Return whether other runs are chosen, the share of the gap that closes, and the number of swapped pairs."""
        totals, counted = self.totals.copy(), self.counted.copy()
        for one in corrections:
            at = self.runs[one.run]
            before = self.table[one.run].get(one.query, 0.0 if one.query in self.queries else None)
            totals[at] += one.score - (before or 0.0)
            counted[at] += before is None
        old, new = (sums / np.maximum(n, 1) for sums, n in ((self.totals, self.counted), (totals, counted)))
        leads, leads_now = (means >= means.max() - TIED for means in (old, new))
        if leads.all():
            return not leads_now.all(), 0.0 if leads_now.all() else 1.0, 0
        gap, gap_now = (means[leads].mean() - means[~leads].max() for means in (old, new))
        swapped = (_order(old) * _order(new) < 0).sum() // 2
        another = bool((leads != leads_now).any())
        return another, min(float((gap - gap_now) / gap), 1.0), int(swapped)


def _order(means: Array) -> Array:
    apart = means[:, None] - means[None, :]
    return np.where(np.abs(apart) <= TIED, 0.0, np.sign(apart))
