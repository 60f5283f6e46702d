"""Scores of all runs by query, from labels, judgments and answered questions; cached by query while people rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..measures import Answers, Measure, make_evaluator, make_intent_evaluator, trec_order
from ..records import Qrels, Runs, judgments, rankings
from ..store import Project, by_query, cache
from . import Basis, Scores, from_answers, label_qrels


def score_runs(
    runs: Runs, measures: Sequence[str], qrels: Qrels, threshold: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of runs by several measures on qrels.

    Args:
        runs: as `rankings` returns them.
        threshold: the value from which a passage is relevant in binary measures.

    Returns:
        Score by query by measure by run; queries that a run skipped are absent.

    Raises:
        InputError: a measure is unknown.
    """
    evaluator = make_evaluator(measures, qrels, threshold)
    return {run: evaluator(ranking) for run, ranking in runs.items()}


def label_scores(project: Project, base: Basis, measures: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of all runs on the labels. After a change, only queries with changed labels are scored again.

    Args:
        measures: standard names of measures of labels.

    Returns:
        As `score_runs`.

    Raises:
        InputError: a measure is unknown.
    """
    runs, qrels, names = rankings(project), label_qrels(project, base), tuple(measures)
    answering: dict[str, list[str]] = {}
    for run, by in runs.items():
        for query in by:
            answering.setdefault(query, []).append(run)

    def make(queries: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        some = {run: {query: by[query] for query in queries if query in by} for run, by in runs.items()}
        scored = score_runs(some, names, {query: qrels[query] for query in queries}, base.min_rating)
        return {
            query: np.array([[scored[run][name][query] for name in names] for run in answering.get(query, ())])
            for query in queries
        }

    # Labels are not changed once they are made; unchanged labels are the same object.
    marks = {query: _Same(labels) for query, labels in qrels.items()}
    key = ("scores", names, *base.rated, base.policy.label, base.policy.weighted, base.min_rating)
    found: dict[str, dict[str, dict[str, float]]] = {run: {name: {} for name in names} for run in runs}
    for query, scores in by_query(project, key, marks, make, (runs,)).items():
        for run, of_run in zip(answering.get(query, ()), scores.tolist(), strict=True):
            for name, score in zip(names, of_run, strict=True):
                found[run][name][query] = score
    return found


def judged_scores(
    project: Project, source: str, measures: Sequence[str], min_judgment: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of all runs on judgments. They stay cached while people rate questions.

    Args:
        source: name of the source of judgments, as `project.find_source` returns it.
        measures: standard names of measures of labels.
        min_judgment: the judgment from which a passage is relevant.

    Returns, raises: as `score_runs`.
    """
    return project.cached(
        ("judged", source, tuple(measures), min_judgment),
        lambda: score_runs(rankings(project), measures, judgments(project, source), min_judgment),
        cache.COLLECTION | cache.JUDGMENTS,
    )


class _Same:
    """A cache key for an object; two keys are equal if they contain the same object."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


def intent_scores(project: Project, measure: Measure, base: Basis) -> tuple[Scores, list[str]]:
    """Return the scores of all runs by an intent measure, cached by query like `label_scores`.

    Returns:
        Score by query by run, and the queries with ratings, in the order of the project.
    """
    runs, ranked = rankings(project), _tops(project, measure.depth)

    def make(answers: Mapping[str, Answers]) -> dict[str, NDArray[np.float64]]:
        evaluator = make_intent_evaluator(measure, answers)
        return {query: np.array(evaluator.of(query, list(ranked.get(query, {}).values()))) for query in answers}

    parts = from_answers(project, base, measure.name, make, (runs,))
    scores: Scores = {run: {} for run in runs}
    for query, of_query in parts.items():
        for run, score in zip(ranked.get(query, ()), of_query.tolist(), strict=True):
            scores[run][query] = score
    return scores, list(parts)


def _tops(project: Project, depth: int) -> dict[str, dict[str, list[str]]]:
    """Return the top passages by query and run. They are cached by depth alone, so all min ratings share them."""

    def compute() -> dict[str, dict[str, list[str]]]:
        found: dict[str, dict[str, list[str]]] = {}
        for run, by in rankings(project).items():
            for query, scores in by.items():
                found.setdefault(query, {})[run] = trec_order(scores, depth)
        return found

    return project.cached(("tops", depth), compute, cache.COLLECTION)
