"""The design of an audit: rank weights of systems under a linear measure, and inclusion
probabilities of passages.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError, check_in_range
from .._means_and_tests import Array as Array, Flags as Flags, Indices as Indices

Item: TypeAlias = tuple[str, str]
"""A passage of a pool: (query_id, passage_id)."""

_DEEPEST = 1_000
_NAME = re.compile(
    r"(?P<family>P|DCG)@(?P<k>\d+)|(?P<mean>mean judgment)@(?P<at>\d+) \(DCG weights\)"
    r"|(?P<rbp>RBP)\(p=(?P<p>0?\.\d+)\)@(?P<depth>\d+)"
)


@dataclass(frozen=True)
class LinearMeasure:
    """A measure that is a weighted sum of the gains of a ranking's passages, with weights that
    depend only on the rank.

    Args:
        name: name of the weights: `P@10`, `DCG@10`, `RBP(p=0.8)@20`.
        family: P, DCG or RBP.
        cutoff: the deepest rank that counts.
        persistence: p of RBP, the probability that a reader continues to the next rank; None for
            other families.
    """

    name: str
    family: str
    cutoff: int
    persistence: float | None = None

    @property
    def title(self) -> str:
        """The name of the score. With DCG's discounts divided by their sum, the score is a mean
        judgment, not a DCG.
        """
        return f"mean judgment@{self.cutoff} (DCG weights)" if self.family == "DCG" else self.name

    @property
    def binary(self) -> bool:
        """Whether the gain is 1 for a relevant passage and 0 otherwise. For DCG, the gain is the
        judgment instead.
        """
        return self.family != "DCG"

    def discounts(self) -> Array:
        """Return the weight of each rank within a query, shape (cutoff,).

        P@k: 1 / k.
        DCG@k: 1 / log2(r + 1), divided by the sum of these discounts down to rank k (Järvelin and
        Kekäläinen, TOIS 20, 2002, with trec_eval's discount). The division is ours: it gives a
        score the unit of a judgment and does not change the order.
        RBP: (1 - p) p^(r - 1) (Moffat and Zobel, TOIS 27, 2008) down to the cutoff. Deeper ranks
        would add at most p^cutoff to a score.
        """
        ranks = np.arange(1, self.cutoff + 1, dtype=np.float64)
        return _DISCOUNTS[self.family](ranks, self.persistence or 0.0)


def _dcg_weights(ranks: Array, _: float) -> Array:
    discounts = 1 / np.log2(ranks + 1)
    return np.asarray(discounts / discounts.sum())


_DISCOUNTS: dict[str, Callable[[Array, float], Array]] = {
    "P": lambda ranks, _: np.full(len(ranks), 1 / len(ranks)),
    "DCG": _dcg_weights,
    "RBP": lambda ranks, p: (1 - p) * p ** (ranks - 1),
}


def linear_measure(name: str) -> LinearMeasure:
    """Return the linear measure with a name: the name of its weights, or its title.

    Raises:
        InputError: the measure is not linear. nDCG, AP, RR and recall are ratios, or a passage's
            contribution depends on other passages. So they are not weighted sums of gains.
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise InputError(
            "measure-not-linear",
            f"Measure {name} cannot be audited: its score is not a weighted sum over the ranks.",
            "Use P@k, mean judgment@k (DCG weights), its short form DCG@k, or RBP(p=0.8)@k.",
        )
    cutoff = int(match["k"] or match["at"] or match["depth"])
    persistence = float(match["p"]) if match["rbp"] else None
    check_in_range(
        "cutoff-out-of-range",
        f"Cutoff {cutoff} of {name}",
        f"Use 1 to {_DEEPEST:,}.",
        1 <= cutoff <= _DEEPEST,
    )
    if persistence is not None:
        check_in_range(
            "persistence-out-of-range",
            f"Persistence {persistence:g} of {name}",
            "Use p above 0 and below 1.",
            0 < persistence < 1,
        )
    family = match["family"] or ("DCG" if match["mean"] else "RBP")
    standard = (
        f"RBP(p={persistence:g})@{cutoff}" if persistence is not None else f"{family}@{cutoff}"
    )
    return LinearMeasure(standard, family, cutoff, persistence)


@dataclass(frozen=True)
class Weights:
    """The weight of each passage in each system's score: its contribution per unit of gain.

    Args:
        systems: S names.
        items: the N passages that any system ranks down to the cutoff, sorted by query, then
            passage.
        w: shape (S, N), at least 0; the scores are `w @ gains`.
        queries: number of queries in the mean of a score.
    """

    systems: tuple[str, ...]
    items: tuple[Item, ...]
    w: Array
    queries: int


Aim: TypeAlias = Literal["scores", "differences"]
"""The quantities whose intervals should be narrow: the scores of systems, or the differences
between systems.
"""

FLOOR = 0.1
"""Minimum inclusion probability of a passage with weight, as a share of its probability under the
uniform design.
"""
# Most bisection steps.
_STEPS = 200


def passage_importance(w: Array, aim: Aim = "scores") -> Array:
    """Return the importance of each passage: the effect of an error in its gain on all systems
    together.

    Args:
        w: shape (S, N), the weights of the systems. For "is A better than B", pass only the weights
            of A and B.
        aim: `scores` uses sqrt(mean_s w_s^2). `differences` uses sqrt(mean over pairs of (w_s -
            w_s')^2), which is sqrt(2 S / (S - 1)) times the standard deviation over systems. Then a
            passage that all systems rank alike has importance 0, because it does not affect
            differences.

    Returns:
        Shape (N,), at least 0.
    """
    if aim == "differences" and len(w) > 1:
        return np.asarray(np.sqrt(2 * len(w) / (len(w) - 1)) * w.std(axis=0))
    return np.asarray(np.sqrt((w**2).mean(axis=0)))


def inclusion_chances(
    size: Array, budget: float, floor: float = FLOOR, eligible: Array | Flags | None = None
) -> Array:
    """Return inclusion probabilities ("chances") proportional to a size, with a floor and at most
    1.

    pi_i = min(1, max(floor budget / n, c size_i)) over the n eligible passages, with c such that
    the probabilities add up to the budget. The sum rises with c, so c is found by bisection. If the
    budget covers all passages, each probability is 1. A passage that is eligible with a probability
    counts with it in n and in the sum.

    Args:
        size: shape (N,), at least 0 and finite, in any unit: importance times expected spread.
        budget: expected number of draws, above 0.
        floor: minimum probability of an eligible passage, as a share of the uniform probability. It
            is above 0 and at most 1; 1 is the uniform design.
        eligible: shape (N,), whether a passage can be drawn, or how probably; None means all. Every
            passage with weight that is not known yet must be eligible.

    Returns:
        Shape (N,); 0 if not eligible.
    """
    still = np.ones(len(size)) if eligible is None else np.asarray(eligible, float)
    solution = np.zeros(len(size))
    open_ = still > 0
    sizes, count = size[open_], still[open_]
    n = count.sum()
    if budget >= n:
        solution[open_] = 1.0
        return solution
    least = floor * budget / n
    if not sizes.max() > 0:
        solution[open_] = budget / n
        return solution
    # At the upper end, every passage with a positive size has the chance 1.
    low, high = 0.0, 1 / sizes[sizes > 0].min()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (count * np.clip(middle * sizes, least, 1.0)).sum() < budget:
            low = middle
        else:
            high = middle
    chances = np.clip(high * sizes, least, 1.0)
    short = budget - (count * chances).sum()
    if short > 0 and np.any(sizes == 0):
        # All passages with a positive size have the chance 1. The rest of the budget is spread
        # evenly over the others.
        chances[sizes == 0] += short / count[sizes == 0].sum()
    solution[open_] = chances
    return solution


def hash_items(prefix: str, items: Sequence[Item]) -> Iterator[int]:
    """Yield the 64-bit BLAKE2b hash (RFC 7693) of a prefix and the ids of each passage: the same on
    any machine and for any order of rows.
    """
    start = hashlib.blake2b(prefix.encode(), digest_size=8)
    for query, passage in items:
        hashed = start.copy()
        hashed.update(f"{query}\x1f{passage}".encode())
        yield int.from_bytes(hashed.digest(), "big")


def draw_sample(chance: Array, seed: str | int, batch: int, items: Sequence[Item]) -> Flags:
    """Return which passages are drawn: those whose number is below their chance (Poisson sampling).

    The number of a passage, in [0, 1), is the first 53 bits of the hash of seed, batch, query id
    and passage id. It depends on nothing else.

    Args:
        chance: shape (N,), from `inclusion_chances`; passages with 1 are always drawn, and with 0
            never.
        seed: the seed stored with the design.
        batch: number of the batch, from 1.
        items: N passages.

    Returns:
        Shape (N,).
    """
    hashes = hash_items(f"{seed}\x1f{batch}\x1f", items)
    return np.array([(number >> 11) * 2.0**-53 for number in hashes], np.float64) < chance


def planned_chances(
    size: Array, budgets: Sequence[float], floor: float = FLOOR, known: Flags | None = None
) -> Array:
    """Return the planned chances of several batches, computed before the first draw.

    For each batch, `inclusion_chances` is computed from the same sizes over the passages that are
    not judged yet. It is not known beforehand which these are. So a passage counts with the
    probability that it has not been drawn by then.

    Args:
        size, floor: see `inclusion_chances`.
        budgets: expected draws of each of T batches.
        known: passages that are known before the first batch.

    Returns:
        Shape (T, N): the chance in batch t, given that the passage has not been judged before; 1
        for known passages.
    """
    is_known = np.zeros(len(size), bool) if known is None else np.asarray(known, bool)
    still = np.where(is_known, 0.0, 1.0)
    rows = []
    for budget in budgets:
        row = np.where(is_known, 1.0, inclusion_chances(size, budget, floor, still))
        rows.append(row)
        still = still * (1 - row)
    return np.array(rows)


def batch_shares(planned: Array) -> Array:
    """Return the share of each batch in the combined estimate of each passage, from the planned
    chances.

    A share is proportional to p_t / prod_{s <= t} (1 - p_s), see the top of this module. If a
    planned chance is 1, the first such batch has the whole share. Compute the shares for T = 1, 2,
    ... batches only from the planned chances, which are fixed before the first draw. So they do not
    depend on later results.

    Args:
        planned: shape (T, N), from `planned_chances`, for the T batches to combine.

    Returns:
        Shape (T, N); each column adds up to 1.
    """
    # The odds are multiplied by the product of (1 - p) over all batches. So they are finite even
    # for a chance of 1.
    after = np.cumprod(np.vstack([np.ones_like(planned[:1]), 1 - planned[:0:-1]]), axis=0)[::-1]
    odds = planned * after
    total = odds.sum(axis=0)
    # If a batch has the chance 1, later batches add nothing and earlier ones are not needed.
    for i in np.flatnonzero((planned >= 1).any(axis=0)):
        first = int(np.argmax(planned[:, i] >= 1))
        odds[:, i] = 0.0
        odds[first, i] = total[i] = 1.0
    return np.asarray(
        np.divide(odds, total, out=np.full_like(odds, 1 / len(planned)), where=total > 0)
    )
