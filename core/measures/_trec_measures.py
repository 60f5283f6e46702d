"""Measures of one run against qrels: trec_eval's through ir_measures; Judged@k, F1@k and RR@k are computed here."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from ir_measures.providers import registry as _providers

from ..errors import InputError
from ._means import harmonic
from ._measure import parse_measure, trec_measure

Qrels = Mapping[str, Mapping[str, int]]
"""query id -> passage id -> relevance value"""

RunScores = Mapping[str, Mapping[str, float]]
"""query id -> passage id -> retrieval score (Python floats)"""

MeasureScores = dict[str, dict[str, float]]
"""measure name -> query id -> score"""


def trec_order(scores: Mapping[str, float], depth: int) -> list[str]:
    """Return the top of a ranking as trec_eval orders it, regardless of the ranks in the run's file.

    Args:
        scores: retrieval score by passage id.
        depth: maximum number of passages to return.

    Returns:
        Passage ids by falling score, equal scores by falling passage id. Scores are compared in single precision, as in
        trec_eval (9.0).
    """
    single = np.fromiter(scores.values(), dtype=np.float32, count=len(scores)).tolist()
    return [passage for _, passage in heapq.nlargest(depth, zip(single, scores, strict=True))]


def make_evaluator(measures: Sequence[str], qrels: Qrels, min_rating: int = 1) -> Callable[[RunScores], MeasureScores]:
    """Read the qrels once, to evaluate many runs on them.

    Args:
        measures: measure names, as `parse_measure` accepts them.
        qrels: relevance values. As in trec_eval, a negative value counts as not judged.
        min_rating: the lowest value that is relevant for binary measures, at least 1. A measure with a level in its
            name, as in P(rel=2)@5, uses that level.

    Returns:
        A function from a run to {standard name: {query id: score}}, for the queries in the qrels with at least one
        passage in the run.

    Raises:
        InputError: a measure is unknown or needs intents, or the min rating is below 1.
    """
    if min_rating < 1:
        raise InputError(
            "min-rating-out-of-range",
            f"Min rating {min_rating} would make every passage relevant.",
            "Use 1 or more.",
        )
    trec: dict[str, Any] = {}
    judged: dict[str, int] = {}
    harmonics: dict[str, tuple[str, str]] = {}
    cut: dict[str, int] = {}
    names: list[str] = []
    for name in measures:
        known = parse_measure(name)
        if known.basis != "labels":
            raise InputError(
                "measure-not-from-qrels",
                f"Measure {known} is not computed from qrels.",
                "Use a measure such as nDCG@10 or AP.",
            )
        names.append(known.name)
        if known.family.name == "F1":
            parts = f"P@{known.depth}", f"R@{known.depth}"
            harmonics[known.name] = parts
            trec |= {part: trec_measure(part)(rel=min_rating) for part in parts}
            continue
        measure = trec_measure(known.name)
        if known.family.name == "RR" and known.cutoff is not None:
            # RR@k is RR if the first relevant passage is among the top k, else 0.
            measure = trec_measure(known.name.partition("@")[0])
            cut[known.name] = known.cutoff
        if known.family.name == "Judged" and known.cutoff is not None:
            judged[known.name] = known.cutoff
        elif known.family.binary and "rel" not in measure.params:
            trec[known.name] = measure(rel=min_rating)
        else:
            trec[known.name] = measure
    usable = {query: _harmless(values) for query, values in qrels.items() if values}
    program: Any = _providers["pytrec_eval"].evaluator(list(dict.fromkeys(trec.values())), usable)

    def evaluate_run(run: RunScores) -> MeasureScores:
        # trec_eval accepts only dictionaries.
        answered = {
            query: scores if type(scores) is dict else dict(scores)
            for query, scores in run.items()
            if scores and query in usable
        }
        by_measure: dict[Any, dict[str, float]] = {}
        # Each part of `program` calls trec_eval once. `program` itself is slower, because it builds a measure's name
        # three times per number. It would also add queries that the run skipped.
        for part in program.invokers:
            numbers = part.evaluator.evaluate(answered)
            for name, (measure, _) in part.measure_map.items():
                by_measure[measure] = {query: scores[name] for query, scores in numbers.items()}
        ours = _judged_shares(judged, qrels, answered)
        for name, (precision, recall) in harmonics.items():
            shares, recalls = by_measure[trec[precision]], by_measure[trec[recall]]
            ours[name] = {query: harmonic(share, recalls[query]) for query, share in shares.items()}
        for name, cutoff in cut.items():
            whole = by_measure[trec[name]]
            ours[name] = {query: score if score >= 1 / cutoff else 0.0 for query, score in whole.items()}
        return {name: ours[name] if name in ours else by_measure[trec[name]] for name in names}

    return evaluate_run


def _harmless(values: Mapping[str, int]) -> dict[str, int]:
    """Return values without a case that crashes trec_eval: a query with only negative values gets zeros instead.

    This does not change scores. Such a query has no relevant passages, so every score is 0 in both cases.
    """
    lift = max(values.values()) < 0
    return {passage: 0 if lift else int(value) for passage, value in values.items()}


def _judged_shares(cutoffs: Mapping[str, int], qrels: Qrels, run: RunScores) -> MeasureScores:
    """Return Judged@k, with trec_eval's order and its definition of judged.

    ir_measures' own version breaks ties in the opposite direction and counts negative values. For a ranking shorter
    than k, the divisor is its length.
    """
    shares: MeasureScores = {name: {} for name in cutoffs}
    if not cutoffs:
        return shares
    deepest = max(cutoffs.values())
    for query, scores in run.items():
        known = [qrels[query].get(passage, -1) >= 0 for passage in trec_order(scores, deepest)]
        for name, cutoff in cutoffs.items():
            top = known[:cutoff]
            shares[name][query] = sum(top) / len(top)
    return shares
