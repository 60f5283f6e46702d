"""Measures beyond labels: of questions, nuggets and gold texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from ..text import meaningful_words
from ._measure_families import Measure, RunScores, trec_order


@dataclass(frozen=True)
class Answers:
    """The questions that the passages of a query answer.

    Args:
        passages: ids of the p passages that answer any question, each once.
        answered: p x r, for the r questions with ratings.
    """

    passages: Sequence[str]
    answered: NDArray[np.bool_]


Intents = Mapping[str, Answers]
"""By query id: which passages answer which questions."""


def answers_of(
    passages: Sequence[str], ratings: NDArray[np.int8], min_rating: int
) -> Answers | None:
    """Return the questions that passages answer, from their ratings.

    Args:
        passages: p ids.
        ratings: p x r; negative if missing.
        min_rating: the rating from which a question is answered.

    Returns:
        None without ratings.
    """
    known = (ratings >= 0).any(axis=0)
    if not known.any():
        return None
    answered = ratings[:, known] >= min_rating
    rows = np.flatnonzero(answered.any(axis=1))
    return Answers([passages[row] for row in rows.tolist()], answered[rows])


Scorer = Callable[[Sequence[Sequence[str]]], list[float]]
"""A function from the tops of several rankings (passage ids, best first) to their scores."""


@dataclass(frozen=True)
class IntentEvaluator:
    """Scores the tops of rankings. Scoring many runs at once is faster than one by one.

    Args:
        cutoff: number of passages that count.
        scorers: by query id.
    """

    cutoff: int
    scorers: Mapping[str, Scorer]

    def __call__(self, run: RunScores) -> dict[str, float]:
        """Return the score of a run by query id, over the queries that have intents and passages in
        the run.
        """
        return {
            query: self.scorers[query]([trec_order(scores, self.cutoff)])[0]
            for query, scores in run.items()
            if scores and query in self.scorers
        }

    def score_tops(self, query_id: str, tops: Sequence[Sequence[str]]) -> list[float]:
        """Return the scores of tops of rankings, from `trec_order`, for a query with intents."""
        return self.scorers[query_id](tops) if tops else []


STOP = 0.5
"""Probability that an answer ends the search: (2^g - 1) / 2^max, with g = max = 1 for an answered
question.
"""


def make_intent_evaluator(measure: Measure, intents: Intents) -> IntentEvaluator:
    """Prepare a measure that needs intents, to evaluate many runs.

    Args:
        measure: a measure with basis "intents".
        intents: which passages answer which questions of a query.

    Returns:
        An evaluator that returns a run's scores by query id, for the queries in both `intents` and
        the run. The score is 0 if no passage answers a question.
    """
    return _MAKERS[measure.family.name](intents, measure.depth)


def make_err_ia(intents: Intents, cutoff: int) -> IntentEvaluator:
    """Return an evaluator of expected reciprocal rank, averaged over the questions.

    For one question, the reader stops with probability 1/2 at each passage that answers it. ERR is
    the sum of 1/r * (1/2)^(c+1) over the ranks r of answering passages; c is the number of
    answering passages above r.

    The intents are the questions that at least one graded passage answers, with equal probability.
    In the same way, ndeval uses subtopics with a relevant document. The mean is divided by the ERR
    of a ranking in which every passage answers every question. So the maximum is 1 in any
    collection.

    Source: Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance,
    CIKM 2009, with binary grades. The divisor is the collection-independent normalisation that
    TREC's Web track reported.

    Args, returns: as `make_intent_evaluator`, with a cutoff from 1.
    """
    best = _err_of_ranks(range(1, cutoff + 1))

    def score_ranking(answering: Sequence[set[str]], top: Sequence[str]) -> float:
        answerable = [relevant for relevant in answering if relevant]
        total = math.fsum(
            _err_of_ranks(r for r, passage in enumerate(top, 1) if passage in relevant)
            for relevant in answerable
        )
        return total / (best * len(answerable)) if answerable else 0.0

    return _make_evaluator(intents, cutoff, _one_by_one(score_ranking))


def _err_of_ranks(ranks: Iterable[int]) -> float:
    """Return the ERR of a ranking with answers at these ranks."""
    return math.fsum(STOP * (1 - STOP) ** above / rank for above, rank in enumerate(ranks))


def make_ndcg_ia(intents: Intents, cutoff: int) -> IntentEvaluator:
    """Return an evaluator of binary nDCG of each question, averaged over the questions.

    All questions are equally likely intents. A question that no graded passage answers gives 0.
    Source: Agrawal, Gollapudi, Halverson and Ieong, Diversifying Search Results, WSDM 2009, section
    5.1, with the discount 1 / log2(1 + rank).

    Args, returns: as `make_intent_evaluator`, with a cutoff from 1.
    """

    def score_ranking(answering: Sequence[set[str]], top: Sequence[str]) -> float:
        # The ideal ranking puts all answering passages first, up to the cutoff; it does not depend
        # on the run's length.
        shares = (
            _dcg_of_ranks(rank for rank, passage in enumerate(top, 1) if passage in relevant)
            / _dcg_of_ranks(range(1, min(len(relevant), cutoff) + 1))
            for relevant in answering
            if relevant
        )
        return math.fsum(shares) / len(answering)

    return _make_evaluator(intents, cutoff, _one_by_one(score_ranking))


def _dcg_of_ranks(ranks: Iterable[int]) -> float:
    """Return the binary DCG of a ranking with answers at these ranks."""
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)


def make_alpha_ndcg(intents: Intents, cutoff: int, alpha: float = 0.5) -> IntentEvaluator:
    """Return an evaluator of alpha_nDCG. The ideal rankings are computed once for many runs.

    A passage at rank i gains (1 - alpha)^c for each question that it answers; c is the number of
    passages above it that answer the same question. Gains are divided by log2(1 + i), summed over
    the top ranks, and divided by the same sum for the ideal ranking. Finding the ideal ranking is
    NP-complete. As in the paper, it is built greedily, from the passages in `intents`. Among
    passages of equal gain, the greatest id is first, as in NIST's ndeval, so that the results are
    equal.
    Source: Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008,
    section 3.

    Args:
        intents: which passages answer which questions of a query.
        cutoff: rank depth, from 1.
        alpha: penalty on repeated answers, from 0 to 1.

    Returns:
        As `make_intent_evaluator`.
    """
    discounts = np.array([math.log2(rank + 1) for rank in range(1, cutoff + 1)])
    worths = np.multiply.accumulate([1.0, *[1 - alpha] * len(discounts)])

    def prepare(answers: Answers) -> Scorer:
        ids = answers.passages
        row_of = {passage: row for row, passage in enumerate(ids)}
        order = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
        ideal = _ideal_gain(answers.answered[order], discounts, alpha)
        # The last row is for passages that answer no question.
        answered = np.concatenate(
            [answers.answered, np.zeros((1, answers.answered.shape[1]), bool)]
        )

        def score_rankings(tops: Sequence[Sequence[str]]) -> list[float]:
            if not ideal:
                return [0.0] * len(tops)
            rows = np.full((len(tops), max(map(len, tops))), -1)
            for at, top in enumerate(tops):
                rows[at, : len(top)] = [row_of.get(passage, -1) for passage in top]
            gained = answered[rows]
            run, rank, question = np.nonzero(gained)
            earlier = np.cumsum(gained, axis=1, dtype=np.int32)[run, rank, question] - 1
            # This adds from the top down. Another order would round differently.
            totals = np.bincount(run, worths[earlier] / discounts[rank], minlength=len(tops))
            return [total / ideal for total in totals.tolist()]

        return score_rankings

    return _make_evaluator(intents, cutoff, prepare)


def _ideal_gain(answered: NDArray[np.bool_], discounts: NDArray[np.float64], alpha: float) -> float:
    """Return the discounted gain of the greedy ideal ranking. Among passages of equal gain, the
    first row precedes.
    """
    matrix = answered.astype(float)
    worth = np.ones(matrix.shape[1])
    total = 0.0
    for discount in discounts[: len(matrix)].tolist():
        gains = matrix @ worth
        best = int(gains.argmax())
        total += float(gains[best] / discount)
        worth[matrix[best] > 0] *= 1 - alpha
        matrix[best] = 0
    return total


_MAKERS: Mapping[str, Callable[[Intents, int], IntentEvaluator]] = {
    "alpha_nDCG": make_alpha_ndcg,
    "ERR_IA": make_err_ia,
    "nDCG_IA": make_ndcg_ia,
}


def _make_evaluator(
    intents: Intents, cutoff: int, prepare: Callable[[Answers], Scorer]
) -> IntentEvaluator:
    """Return an evaluator that prepares a scorer for each query."""
    return IntentEvaluator(cutoff, {query: prepare(answers) for query, answers in intents.items()})


def _one_by_one(
    score: Callable[[Sequence[set[str]], Sequence[str]], float],
) -> Callable[[Answers], Scorer]:
    """Convert a function that scores one ranking into an argument of `_make_evaluator`.

    Args:
        score: takes the passages that answer each question, and a ranking.
    """

    def prepare(answers: Answers) -> Scorer:
        answering = [
            {answers.passages[row] for row in np.flatnonzero(column).tolist()}
            for column in answers.answered.T
        ]
        return lambda tops: [score(answering, top) for top in tops]

    return prepare


NOT_SUPPORTED, PARTIAL, NUGGETS_SUPPORTED = range(3)
"""Ratings of assignments, Nuggetizer's not_support, partial_support and support."""


@dataclass(frozen=True)
class NuggetScores:
    """Scores from 0 to 1, as castorini/nuggetizer defines them in `metrics.py`.

    Args:
        strict_vital, strict_all: share of the vital nuggets, and of all nuggets, that are fully
            supported.
        vital, all: the same, but a partly supported nugget counts half. In `all`, okay and vital
            nuggets count equally.
    """

    strict_vital: float
    strict_all: float
    vital: float
    all: float


def nugget_scores(assigned: Sequence[tuple[bool, int]]) -> NuggetScores:
    """Return the scores of one response.

    Args:
        assigned: for each nugget whether it is vital, and the rating of its assignment.

    Returns:
        The scores. A share is 0 without nuggets, or without vital nuggets.
    """
    every = [rating for _, rating in assigned]
    vital = [rating for is_vital, rating in assigned if is_vital]
    return NuggetScores(
        _nugget_share(vital, 0),
        _nugget_share(every, 0),
        _nugget_share(vital, 0.5),
        _nugget_share(every, 0.5),
    )


def _nugget_share(ratings: Sequence[int], partial: float) -> float:
    earned = ratings.count(NUGGETS_SUPPORTED) + partial * ratings.count(PARTIAL)
    return earned / len(ratings) if ratings else 0.0


def mean_nugget_scores(scores: Sequence[NuggetScores]) -> NuggetScores:
    """Return the mean of each score over the responses of a run."""
    columns = zip(
        *((one.strict_vital, one.strict_all, one.vital, one.all) for one in scores), strict=True
    )
    return NuggetScores(*map(mean, columns))


@dataclass(frozen=True)
class Similarity:
    """A method of comparing texts.

    Args:
        prepare: a function that is applied once to every passage and every gold text.
        scorer: returns a function from two prepared texts, the system's and the gold text, to a
            number from 0 to 1.
    """

    prepare: Callable[[str], str]
    scorer: Callable[[], Callable[[str, str], float]]


def lemmatise(text: str) -> str:
    """Return the lemmas of a text in lower case, without punctuation and stop words, separated by
    spaces.
    """
    import simplemma

    return " ".join(simplemma.lemmatize(word, lang="en").lower() for word in meaningful_words(text))


def _rouge_1() -> Callable[[str, str], float]:
    # The package's scorer would import nltk, which takes seconds, only to count words.
    from rouge_score.scoring import fmeasure

    def score_texts(text: str, gold: str) -> float:
        words, wanted = Counter(text.split()), Counter(gold.split())
        both = (words & wanted).total()
        return float(fmeasure(both / max(words.total(), 1), both / max(wanted.total(), 1)))

    return score_texts


def _chrf_scorer() -> Callable[[str, str], float]:
    from sacrebleu.metrics.chrf import CHRF

    program = CHRF()
    return lambda text, gold: (
        float(program.sentence_score(text, [gold]).score) / 100 if text and gold else 0.0
    )


SIMILARITIES = {"ROUGE-1": Similarity(lemmatise, _rouge_1), "chrF": Similarity(str, _chrf_scorer)}
"""Similarity by the family of the measure. ROUGE-1 is the harmonic mean of precision and recall of
lower-case lemmas, without punctuation and stop words. A lemma counts as often as both texts have it
(original-exam, section 4.1.2; Lin, 2004). chrF is the F-score of character n-grams, n = 1 to 6,
with twice the weight on recall (Popović, 2015)."""
