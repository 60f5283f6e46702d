"""Recall, Precision and F1 at k of one query, by the ids of its gold passages or by texts that are nearly the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...errors import InputError
from ..means import mean_and_standard_error


@dataclass(frozen=True)
class Retrieved:
    """How much of what is gold stands in the top k of one query; each number from 0 to 1.

    Args:
        recall: share of the gold passages that were retrieved.
        precision: share of the k ranks that hold a gold passage, also where fewer than k were retrieved.
        f1: harmonic mean of the two, 0 where both are.
        places: where gold passages stand, from 0.
    """

    recall: float
    precision: float
    f1: float
    places: tuple[int, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything gold was retrieved: Recall's verdict r on the query."""
        return self.recall > 0


def retrieved(
    ranking: Sequence[str], gold: Collection[str], k: int, same: Mapping[str, Collection[str]] | None = None
) -> Retrieved:
    """Recall@k, Precision@k and F1@k of one query.

    Recall@k = |top k ∩ R| / |R|, Precision@k = |top k ∩ R| / k as in trec_eval, F1@k = 2 P R / (P + R).
    Source: llm-reteval specification, section 7.

    Args:
        ranking: passage ids, best first; empty where the run skipped the query.
        gold: ids of the gold passages, R.
        k: rank depth, from 1.
        same: for passages whose text is nearly that of a gold passage, the ids of those (case B); they count as
            retrieved, a gold passage once for Recall, each passage for Precision.

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
    """F1 = 2 P R / (P + R), 0 where both are 0. Source: van Rijsbergen, Information Retrieval, 1979."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


@dataclass(frozen=True)
class Conventional:
    """Means of one run at one depth over queries, each with its standard error; None without queries.

    Args:
        queries: n.
        recall, precision, f1: (mean, standard error).
        f1_of_means: F1 of the mean Precision and the mean Recall, as the paper prints it.
    """

    queries: int
    recall: tuple[float | None, float | None]
    precision: tuple[float | None, float | None]
    f1: tuple[float | None, float | None]
    f1_of_means: float | None


def conventional(queries: Collection[Retrieved]) -> Conventional:
    """Means over queries of what `retrieved` gives."""
    recall = mean_and_standard_error(one.recall for one in queries)
    precision = mean_and_standard_error(one.precision for one in queries)
    of_means = None if recall[0] is None or precision[0] is None else harmonic(precision[0], recall[0])
    return Conventional(len(queries), recall, precision, mean_and_standard_error(one.f1 for one in queries), of_means)
