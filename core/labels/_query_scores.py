"""Scores of every run on one query, computed only from the query's own questions and ratings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..bank import answered_by_topic
from ..errors import InputError
from ..measures import answers_of, make_intent_evaluator, parse_measure, trec_order
from ..records import rankings
from ..store import Project, cache
from ..types import Question
from . import MISSING, Basis, QueryRatings, Ratings, coverage_of, labels_of, scored, weights_of
from ._run_scores import score_runs


def query_scores(
    project: Project, base: Basis, measure: str, known: QueryRatings, questions: Sequence[Question], ratings: Ratings
) -> dict[str, float] | None:
    """Return the score on a query of every run that answers it, as `leaderboard` defines it.

    Args:
        questions: all questions of the query, active or not, saved or not.
        ratings: p x r, for the p passages of `known` and the r questions that `labels.scored` returns.

    Returns:
        Score by run; None if the query has nothing to score.

    Raises:
        InputError: the measure also depends on gold texts or on the coverage of the pool.
    """
    query_id = known.query_id
    answered = {run: by_query[query_id] for run, by_query in rankings(project).items() if query_id in by_query}
    active = scored(questions, base.grader)
    weights = weights_of(active, base.policy.weighted)
    wanted = parse_measure(measure, base.policy.cutoff)
    if answered_by_topic(project, query_id, questions):
        return None
    if not wanted.by_query_alone:
        raise InputError(
            "measure-not-predictable",
            f"Cannot predict the effect of a change on {wanted}.",
            "Choose EXAM-Cover or a measure of labels, or save the change and see the leaderboard.",
        )
    if wanted.basis == "coverage":
        cutoff = wanted.depth
        row_of = {passage_id: row for row, passage_id in enumerate(known.passage_ids)}
        tops = project.cached(
            ("tops", query_id, cutoff, len(row_of)),
            lambda: {
                run: [row_of[passage] for passage in trec_order(scores, cutoff) if passage in row_of]
                for run, scores in answered.items()
            },
            cache.LABELS,
        )
        found = {run: coverage_of(ratings, weights, top, base.min_rating) for run, top in tops.items()}
        scores = {run: score for run, score in found.items() if score is not None}
        return scores if (weights > 0).any() else None
    pooled = np.flatnonzero(known.pooled)
    if wanted.basis == "intents":
        passages = [known.passage_ids[row] for row in pooled.tolist()]
        asked = np.array([q.weight > 0 for q in active], bool)
        answers = answers_of(passages, ratings[pooled][:, asked], base.min_rating)
        if answers is None:
            return None
        evaluate = make_intent_evaluator(wanted, {query_id: answers})
        ranked = [trec_order(scores, wanted.depth) for scores in answered.values()]
        return dict(zip(answered, evaluate.of(query_id, ranked), strict=True))
    values = labels_of(ratings, weights, base.policy.rule)
    labels = {known.passage_ids[row]: int(values[row]) for row in pooled if values[row] != MISSING}
    if not labels:
        return None
    runs = {run: {query_id: scores} for run, scores in answered.items()}
    scored_runs = score_runs(runs, [wanted.name], {query_id: labels}, base.min_rating)
    by_run = {run: by_measure[wanted.name] for run, by_measure in scored_runs.items()}
    return {run: scores[query_id] for run, scores in by_run.items() if query_id in scores}
