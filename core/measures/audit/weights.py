"""Rank weights: a system's score under a linear measure is the sum over passages of weight times gain."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, unknown_name

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Item: TypeAlias = tuple[str, str]
"""A passage of a pool: (query_id, passage_id)."""

_DEEPEST = 1_000
_NAME = re.compile(
    r"(?P<family>P|DCG)@(?P<k>\d+)|(?P<mean>mean judgment)@(?P<at>\d+) \(DCG weights\)"
    r"|(?P<rbp>RBP)\(p=(?P<p>0?\.\d+)\)@(?P<depth>\d+)"
)


@dataclass(frozen=True)
class LinearMeasure:
    """A measure that is a weighted sum of the gains of a ranking's passages, with weights that depend only on the
    rank.

    Args:
        name: of its weights: `P@10`, `DCG@10`, `RBP(p=0.8)@20`.
        family: P, DCG or RBP.
        cutoff: the deepest rank that counts.
        persistence: p of RBP, the chance that a reader goes on to the next rank; None for the others.
    """

    name: str
    family: str
    cutoff: int
    persistence: float | None = None

    @property
    def title(self) -> str:
        """The name of the score. DCG's discounts divided by their sum give a mean of judgments, not a DCG."""
        return f"mean judgment@{self.cutoff} (DCG weights)" if self.family == "DCG" else self.name

    @property
    def binary(self) -> bool:
        """Whether its gain is 1 for a relevant passage and 0 otherwise; the gain of DCG is the judgment itself."""
        return self.family != "DCG"

    def discounts(self) -> Array:
        """Return the weight of each rank within a query, shape (cutoff,).

        P@k: 1 / k. DCG@k: 1 / log2(r + 1) over the sum of these to rank k, so that a score has the unit of a
        judgment (Järvelin and Kekäläinen, TOIS 20, 2002, with trec_eval's discount). The division by the sum is ours
        and changes no order. RBP: (1 - p) p^(r - 1) (Moffat and Zobel, TOIS 27, 2008), cut off at the depth; deeper
        ranks add at most p^depth to a score.
        """
        ranks = np.arange(1, self.cutoff + 1, dtype=np.float64)
        return _DISCOUNTS[self.family](ranks, self.persistence or 0.0)


def _dcg(ranks: Array, _: float) -> Array:
    found = 1 / np.log2(ranks + 1)
    return np.asarray(found / found.sum())


_DISCOUNTS: dict[str, Callable[[Array, float], Array]] = {
    "P": lambda ranks, _: np.full(len(ranks), 1 / len(ranks)),
    "DCG": _dcg,
    "RBP": lambda ranks, p: (1 - p) * p ** (ranks - 1),
}


def linear_measure(name: str) -> LinearMeasure:
    """Return the linear measure with a name: that of its weights, or its title.

    Raises:
        InputError: the measure is not linear. nDCG, AP, RR and recall are ratios or depend on other passages, so the
            chances of single passages do not apply to them.
    """
    found = _NAME.fullmatch(name.strip())
    if found is None:
        raise InputError(
            "measure-not-linear",
            f"Measure {name} cannot be audited: its score is not a weighted sum over the ranks.",
            "Use P@k, mean judgment@k (DCG weights), its short form DCG@k, or RBP(p=0.8)@k.",
        )
    cutoff = int(found["k"] or found["at"] or found["depth"])
    persistence = float(found["p"]) if found["rbp"] else None
    if not 1 <= cutoff <= _DEEPEST:
        raise InputError(
            "cutoff-out-of-range", f"Cutoff {cutoff} of {name} is out of range.", f"Use 1 to {_DEEPEST:,}."
        )
    if persistence is not None and not 0 < persistence < 1:
        raise InputError(
            "persistence-out-of-range",
            f"Persistence {persistence:g} of {name} is out of range.",
            "Use p above 0 and below 1.",
        )
    family = found["family"] or ("DCG" if found["mean"] else "RBP")
    standard = f"RBP(p={persistence:g})@{cutoff}" if persistence is not None else f"{family}@{cutoff}"
    return LinearMeasure(standard, family, cutoff, persistence)


@dataclass(frozen=True)
class Weights:
    """The contribution of each passage to each system's score per unit of its gain.

    Args:
        systems: S names.
        items: the N passages that any system ranks within the cutoff, sorted by query, then passage.
        w: shape (S, N), at least 0; a system's score is `w @ gains`.
        queries: number of queries that the scores average.
    """

    systems: tuple[str, ...]
    items: tuple[Item, ...]
    w: Array
    queries: int

    def of(self, system: str) -> Array:
        """Return the weights of one system, shape (N,).

        Raises:
            InputError: unknown system.
        """
        if system not in self.systems:
            raise unknown_name("unknown-system", "system", system, self.systems)
        return np.asarray(self.w[self.systems.index(system)])
