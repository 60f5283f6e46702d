"""The board of a cascade, always beside the plain baseline: only what some system has near its top, graded again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.cascade.calibrating import calibrate
from core.cascade.facts import Facts
from core.cascade.labels import CascadeLabels, labels_of
from core.cascade.records import Cascade
from core.leaderboard import Leaderboard, label_board, leaderboard
from core.measures import Correlation, correlate, parse_measure
from core.project import Project, Qrels


@dataclass(frozen=True)
class Boards:
    """Boards of the same systems, measure and queries.

    Args:
        cascade: by the labels of the cascade.
        labels: these labels.
        baseline: by the expensive grader's labels of the union of every system's top `depth` alone, the deepest that is
            graded whole; None where not even the first ranks are.
        baseline_passages: how many passages that union has.
        cutoff, cutoff_passages: of the measure, and how many passages the union down to it has.
        cheap: by what the cheap grader's ratings stand for, nothing asked again.
        everything: by all labels of the expensive grader, where it has graded the whole pool; None elsewhere.
        official: the board that they are compared with; None where none was named.
    """

    cascade: Leaderboard
    labels: CascadeLabels
    depth: int
    baseline: Leaderboard | None
    baseline_passages: int
    cutoff: int
    cutoff_passages: int
    cheap: Leaderboard
    everything: Leaderboard | None
    official: Leaderboard | None

    @property
    def others(self) -> dict[str, Leaderboard]:
        """The boards beside the cascade's, by what they are called."""
        named = {
            f"top {self.depth}": self.baseline,
            "cheap": self.cheap,
            "everything": self.everything,
            "official": self.official,
        }
        return {name: board for name, board in named.items() if board is not None}

    def correlations(self) -> dict[str, dict[str, Correlation]]:
        """Correlations of each board with the official one and with everything graded, as far as those are there."""
        boards = {"cascade": self.cascade, **self.others}
        return {
            name: {
                other: correlate(board.scores, boards[other].scores)
                for other in ("official", "everything")
                if other in boards and other != name
            }
            for name, board in boards.items()
            if name != "official"
        }

    def as_dict(self) -> dict[str, Any]:
        """The boards as plain values, as `--json` prints them."""
        return {
            "measure": self.cascade.measure,
            "labels": {"all": len(self.labels.labels), "from_expensive": self.labels.from_expensive},
            "waiting": self.labels.waiting,
            "baseline": {"depth": self.depth, "passages": self.baseline_passages, "cutoff": self.cutoff,
                         "cutoff_passages": self.cutoff_passages},
            "boards": {
                name: [vars(system) for system in board.systems]
                for name, board in {"cascade": self.cascade, **self.others}.items()
            },
            "correlations": {
                name: {other: vars(one) for other, one in found.items()}
                for name, found in self.correlations().items()
            },
        }  # fmt: skip


def boards(project: Project, cascade: Cascade, measure: str | None = None, against: str | None = None) -> Boards:
    """The board of a cascade and what it stands beside.

    Args:
        measure: any measure of labels; nDCG@k for a cascade that weighs by DCG@k, else that by which it weighs.
        against: the official board: judgments, or the name of a source.

    Raises:
        InputError: the sample is not graded yet, the measure is not of labels, or there is no such source.
    """
    told = calibrate(project, cascade)
    facts, decision = told.facts, told.decision
    name = parse_measure(measure or ("n" * cascade.measure.startswith("DCG") + cascade.measure)).name
    given = labels_of(project, told)
    queries = list(dict.fromkeys(facts.query_ids))

    def board(qrels: Qrels) -> Leaderboard:
        # Every board is a mean over the same queries, those without a label among them.
        return label_board(project, name, cascade.policy, {query: qrels.get(query, {}) for query in queries})

    known = ~np.isnan(facts.expensive)
    depth = _depth(facts, known)
    top = (facts.depth > 0) & (facts.depth <= depth)
    cutoff = int(facts.depth.max(initial=0))
    return Boards(
        cascade=board(given.qrels),
        labels=given,
        depth=depth,
        baseline=board(_qrels(facts, facts.expensive, top & known)) if depth else None,
        baseline_passages=int(top.sum()),
        cutoff=cutoff,
        cutoff_passages=int((facts.depth > 0).sum()),
        cheap=board(_qrels(facts, decision.stands_for.astype(float), decision.stands_for >= 0)),
        everything=board(_qrels(facts, facts.expensive, known)) if known.all() else None,
        official=None if against is None else leaderboard(project, name, against, cascade.policy),
    )


def _depth(facts: Facts, known: NDArray[np.bool_]) -> int:
    """The deepest rank down to which everything that some system has is graded by the expensive grader."""
    missing = facts.depth[~known & (facts.depth > 0)]
    return int(missing.min() - 1 if len(missing) else facts.depth.max(initial=0))


def _qrels(facts: Facts, values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> Qrels:
    found: Qrels = {}
    for at in np.flatnonzero(chosen).tolist():
        found.setdefault(facts.query_ids[at], {})[facts.passage_ids[at]] = int(values[at])
    return found
