"""Measures that take the questions of a query as its intents: alpha_nDCG, ERR-IA and nDCG-IA."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from core.errors import InputError
from core.measures.measure import MAX_CUTOFF, Measure
from core.measures.trec import RunScores, trec_order

Intents = Mapping[str, Mapping[str, Mapping[str, int]]]
"""query id -> passage id -> question id -> 1 where the passage answers the question, else 0"""

Evaluator = Callable[[RunScores], dict[str, float]]
"""From a run to its score by query id."""

STOP = 0.5
"""Chance that an answer ends the search: (2^g - 1) / 2^max for the binary grades of a question that is answered."""


def make_intent_evaluator(measure: Measure, intents: Intents) -> Evaluator:
    """Prepare a measure that needs intents, to evaluate many runs.

    Args:
        measure: one of these.
        intents: which passages answer which questions of a query.

    Returns:
        A function from a run to {query id: score} over the queries that are both in `intents` and answered by the
        run; 0 where no passage answers any question.

    Raises:
        InputError: the measure is not computed from answered questions.
    """
    if measure.basis != "intents":
        raise InputError(f"{measure} is not computed from answered questions.", "Name one such as ERR_IA@20.")
    return _MAKERS[measure.family.name](intents, measure.depth)


def make_err_ia(intents: Intents, cutoff: int) -> Evaluator:
    """Expected reciprocal rank, averaged over the questions.

    For one question, the reader stops at each passage that answers it with probability 1/2:
    ERR = sum over ranks r of 1/r * (1/2)^(c+1) where the passage at r answers it, c being how many above r do.
    Equally likely intents are the questions that any graded passage answers, as ndeval takes the subtopics that have a
    relevant document. The mean is divided by what a ranking gets whose every passage answers every one of them, so that
    1 is the best, whatever the collection holds.
    Source: Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009, with
    binary grades; the divisor is the collection-independent normalisation that TREC's Web track reported.

    Args, returns, raises: as `make_intent_evaluator`, with a cutoff from 1.
    """
    best = _err(range(1, cutoff + 1))

    def score(answering: Sequence[set[str]], top: Sequence[str]) -> float:
        known = [found for found in answering if found]
        total = math.fsum(_err(r for r, passage in enumerate(top, 1) if passage in found) for found in known)
        return total / (best * len(known)) if known else 0.0

    return _evaluator(intents, cutoff, score)


def _err(ranks: Iterable[int]) -> float:
    """ERR of a ranking with answers at these ranks."""
    return math.fsum(STOP * (1 - STOP) ** above / rank for above, rank in enumerate(ranks))


def make_ndcg_ia(intents: Intents, cutoff: int) -> Evaluator:
    """Binary nDCG of each question, averaged over the questions.

    All questions are equally likely intents. A question that no graded passage answers gives 0.
    Source: Agrawal, Gollapudi, Halverson and Ieong, Diversifying Search Results, WSDM 2009, section 5.1, with the
    discount 1 / log2(1 + rank).

    Args, returns, raises: as `make_intent_evaluator`, with a cutoff from 1.
    """

    def score(answering: Sequence[set[str]], top: Sequence[str]) -> float:
        # The ideal has as many answering passages as there are, down to the cutoff, not to the end of this run.
        shares = (
            _dcg(rank for rank, passage in enumerate(top, 1) if passage in found)
            / _dcg(range(1, min(len(found), cutoff) + 1))
            for found in answering
            if found
        )
        return math.fsum(shares) / len(answering)

    return _evaluator(intents, cutoff, score)


def _dcg(ranks: Iterable[int]) -> float:
    """Binary DCG of a ranking with answers at these ranks."""
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)


def make_alpha_ndcg(intents: Intents, cutoff: int, alpha: float = 0.5) -> Callable[[RunScores], dict[str, float]]:
    """Find the ideal rankings once, to evaluate many runs with alpha_nDCG at a cutoff.

    A passage at rank i gains (1 - alpha)^c for each question that it answers, c being how many
    passages above it answer that question too; gains are divided by log2(1 + i), summed over the
    top ranks, and divided by the same sum for the ideal ranking. Finding the ideal is NP-complete;
    like the paper we build it greedily from the passages in `intents`. Among passages of equal gain the greatest id
    comes first, as in NIST's ndeval, so that both give the same number.
    Source: Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008, section 3.

    Args:
        intents: which passages answer which questions of a query.
        cutoff: rank depth, from 1.
        alpha: how much a repeated answer loses, from 0 to 1.

    Returns:
        A function from a run to {query id: score} over the queries that are both in `intents` and
        answered by the run; 0 where no passage answers any question.

    Raises:
        InputError: cutoff or alpha out of range.
    """
    if not 1 <= cutoff <= MAX_CUTOFF:
        raise InputError(f"A cutoff of {cutoff} is out of range.", f"Use 1 to {MAX_CUTOFF}.")
    if not 0 <= alpha <= 1:
        raise InputError(f"An alpha of {alpha} is out of range.", "Use a number from 0 to 1.")
    discounts = [math.log2(rank + 1) for rank in range(1, cutoff + 1)]
    answered: dict[str, dict[str, list[int]]] = {}
    ideal: dict[str, float] = {}
    for query, passages in intents.items():
        numbers: dict[str, int] = {}
        answered[query] = {
            passage: [numbers.setdefault(question, len(numbers)) for question, yes in row.items() if yes > 0]
            for passage, row in sorted(passages.items(), reverse=True)
        }
        ideal[query] = _ideal_gain(list(answered[query].values()), len(numbers), discounts, alpha)

    def evaluate_run(run: RunScores) -> dict[str, float]:
        scores: dict[str, float] = {}
        for query, passages in run.items():
            if not passages or query not in answered:
                continue
            worth: dict[int, float] = {}
            total = 0.0
            for passage, discount in zip(trec_order(passages, cutoff), discounts, strict=False):
                for question in answered[query].get(passage, ()):
                    gain = worth.get(question, 1.0)
                    total += gain / discount
                    worth[question] = gain * (1 - alpha)
            scores[query] = total / ideal[query] if ideal[query] else 0.0
        return scores

    return evaluate_run


def _ideal_gain(rows: list[list[int]], questions: int, discounts: list[float], alpha: float) -> float:
    """Discounted gain of the greedy ideal ranking of passages, each a list of answered questions.

    Among passages of equal gain the first of the rows is taken.
    """
    matrix = np.zeros((len(rows), questions))
    for position, row in enumerate(rows):
        matrix[position, row] = 1
    worth = np.ones(questions)
    total = 0.0
    for discount in discounts[: len(rows)]:
        gains = matrix @ worth
        best = int(gains.argmax())
        total += float(gains[best] / discount)
        worth[matrix[best] > 0] *= 1 - alpha
        matrix[best] = 0
    return total


_MAKERS: Mapping[str, Callable[[Intents, int], Evaluator]] = {
    "alpha_nDCG": make_alpha_ndcg,
    "ERR_IA": make_err_ia,
    "nDCG_IA": make_ndcg_ia,
}


def _evaluator(intents: Intents, cutoff: int, score: Callable[[Sequence[set[str]], Sequence[str]], float]) -> Evaluator:
    if not 1 <= cutoff <= MAX_CUTOFF:
        raise InputError(f"A cutoff of {cutoff} is out of range.", f"Use 1 to {MAX_CUTOFF}.")
    answering: dict[str, list[set[str]]] = {}
    for query, passages in intents.items():
        by_question: dict[str, set[str]] = {}
        for passage, row in passages.items():
            for question, yes in row.items():
                found = by_question.setdefault(question, set())
                if yes > 0:
                    found.add(passage)
        if by_question:
            answering[query] = list(by_question.values())

    def evaluate_run(run: RunScores) -> dict[str, float]:
        return {
            query: score(answering[query], trec_order(scores, cutoff))
            for query, scores in run.items()
            if scores and query in answering
        }

    return evaluate_run
