"""Agreement of two measures on single queries: Spearman between per-query vectors, with intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..resampling import SAMPLES, Interval, interval, quotients

Array = NDArray[np.float64]

FEW = 2
"""A correlation needs at least this many queries."""


@dataclass(frozen=True)
class QueryCorrelation:
    """Spearman's rho over queries; for two vectors of 0 and 1 it is phi.

    Args:
        spearman: with its interval over resampled queries; undefined if a vector is constant.
        queries: n, the queries with values of both measures.
        unknown: queries without a value of one or both measures.
        removed: queries that were left out, as failures of Recall.
    """

    spearman: Interval
    queries: int
    unknown: int
    removed: int


def correlate_queries(
    one: Mapping[str, float | None],
    other: Mapping[str, float | None],
    removed: Collection[str] = (),
    samples: int = SAMPLES,
    seed: int = 0,
) -> QueryCorrelation:
    """Return Spearman's rho between two measures over the queries of a run, with average ranks for ties.

    Source: llm-reteval, section 4.2 and table 2. Each resample draws as many queries as there are, with replacement.
    Resamples in which a vector is constant do not count for the interval.

    Args:
        one, other: values by query id, such as Recall@k and LLM-retEval@k; None if the value failed.
        removed: queries to leave out, such as those with a confirmed case A, B or C ("Refined").
        samples, seed: of the bootstrap.
    """
    named = one.keys() | other.keys()
    kept = sorted(named - set(removed))
    pairs = [(x, y) for query in kept if (x := one.get(query)) is not None and (y := other.get(query)) is not None]
    taken = len(named) - len(kept)
    cells, counts = (
        np.unique(np.array(pairs, dtype=np.float64), axis=0, return_counts=True)
        if pairs
        else (np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    )
    why = _undefined(cells, len(pairs))
    if why is not None:
        return QueryCorrelation(Interval(None, undefined=why), len(pairs), len(kept) - len(pairs), taken)
    value = float(_weighted_spearman(cells, counts[None].astype(np.float64))[0])
    dice = np.random.default_rng(seed)
    # Queries with the same pair of values are one cell; drawing cells by their counts is drawing queries.
    drawn = dice.multinomial(len(pairs), counts / counts.sum(), size=samples).astype(np.float64)
    found = interval(value, _weighted_spearman(cells, drawn))
    return QueryCorrelation(found, len(pairs), len(kept) - len(pairs), taken)


def _undefined(cells: Array, queries: int) -> str | None:
    if queries < FEW:
        return f"too few queries ({queries})"
    constant = [side for side, column in zip(("first", "second"), cells.T, strict=True) if np.ptp(column) == 0]
    return f"no variation in the {' and the '.join(constant)} measure" if constant else None


def _weighted_spearman(cells: Array, counts: Array) -> Array:
    """Return Spearman's rho of cells, (cells, 2), in samples that drew each cell so often, (samples, cells)."""
    x, y = (_mid_ranks(cells[:, side], counts) for side in (0, 1))
    n = counts.sum(axis=1, keepdims=True)
    x, y = x - (x * counts).sum(axis=1, keepdims=True) / n, y - (y * counts).sum(axis=1, keepdims=True) / n
    spread = np.sqrt((counts * x**2).sum(axis=1) * (counts * y**2).sum(axis=1))
    clipped: Array = np.clip(quotients((counts * x * y).sum(axis=1), spread, spread > 1e-9), -1, 1)
    return clipped


def _mid_ranks(values: Array, counts: Array) -> Array:
    """Return the average rank of each cell among the drawn things, from 0: (samples, cells)."""
    distinct, place = np.unique(values, return_inverse=True)
    totals = np.zeros((len(counts), len(distinct)))
    for cell, at in enumerate(place):
        totals[:, at] += counts[:, cell]
    ranks: Array = (np.cumsum(totals, axis=1) - totals + (totals - 1) / 2)[:, place]
    return ranks
