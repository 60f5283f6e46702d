"""Recall, Precision and F1 at k of one query, by the ids of its gold passages or by near-identical texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...errors import InputError
from ..means import mean_and_standard_error


@dataclass(frozen=True)
class Retrieved:
    """The gold passages in the top k of one query; each number from 0 to 1.

    Args:
        recall: share of the gold passages that were retrieved.
        precision: share of the k ranks with a gold passage, even if fewer than k passages were retrieved.
        f1: harmonic mean of the two; 0 if both are 0.
        places: positions of gold passages, from 0.
    """

    recall: float
    precision: float
    f1: float
    places: tuple[int, ...] = ()

    @property
    def any(self) -> bool:
        """Whether a gold passage was retrieved: Recall's verdict r on the query."""
        return self.recall > 0


def retrieved(
    ranking: Sequence[str], gold: Collection[str], k: int, same: Mapping[str, Collection[str]] | None = None
) -> Retrieved:
    """Return Recall@k, Precision@k and F1@k of one query.

    Recall@k = |top k ∩ R| / |R|, Precision@k = |top k ∩ R| / k as in trec_eval, F1@k = 2 P R / (P + R).
    Source: llm-reteval specification, section 7.

    Args:
        ranking: passage ids, best first; empty if the run skipped the query.
        gold: ids of the gold passages, R.
        k: rank depth, from 1.
        same: for near-identical passages (case B), the ids of the gold passages with the same text. They count as
            retrieved: each gold passage once for Recall, each passage for Precision.

    Raises:
        InputError: no gold passage, or a depth below 1.
    """
    if k < 1 or not gold:
        raise InputError(
            "recall-undefined",
            f"Recall@{k} is undefined for {len(gold)} gold passages.",
            "Use a depth from 1 and queries with gold passages.",
        )
    stands_for = [{one for one in (passage, *(same or {}).get(passage, ())) if one in gold} for passage in ranking[:k]]
    places = tuple(at for at, found in enumerate(stands_for) if found)
    recall, precision = len(set().union(*stands_for)) / len(set(gold)), len(places) / k
    return Retrieved(recall, precision, harmonic(precision, recall), places)


def harmonic(precision: float, recall: float) -> float:
    """Return F1 = 2 P R / (P + R), 0 if both are 0. Source: van Rijsbergen, Information Retrieval, 1979."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


@dataclass(frozen=True)
class Conventional:
    """Means of one run at one depth over queries, each with its standard error; None without queries.

    Args:
        queries: n.
        recall, precision, f1: (mean, standard error).
        f1_of_means: F1 of the mean Precision and the mean Recall, as in the paper.
    """

    queries: int
    recall: tuple[float | None, float | None]
    precision: tuple[float | None, float | None]
    f1: tuple[float | None, float | None]
    f1_of_means: float | None


def conventional(queries: Collection[Retrieved]) -> Conventional:
    """Return the means over queries of the results of `retrieved`."""
    recall = mean_and_standard_error(one.recall for one in queries)
    precision = mean_and_standard_error(one.precision for one in queries)
    of_means = None if recall[0] is None or precision[0] is None else harmonic(precision[0], recall[0])
    return Conventional(len(queries), recall, precision, mean_and_standard_error(one.f1 for one in queries), of_means)
