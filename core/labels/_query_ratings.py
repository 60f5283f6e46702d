"""The ratings of one query as a matrix, and scores of runs from it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import ir_measures
import numpy as np

from ..bank import StoredGrader, answered_by_topic, list_questions, without_answered_by_topic
from ..errors import InputError
from ..measures import (
    COVER,
    Array,
    Flags,
    Indices,
    answers_of,
    make_intent_evaluator,
    parse_measure,
    trec_order,
)
from ..records import ranked_keys, ranking_scores
from ..store import Project, array_of, cache
from ..text import first_few
from ..types import SEPARATOR, GraderSpec, Question
from ._basis import (
    MISSING,
    Basis,
    Ratings,
    basis,
    coverage_of,
    labels_of,
    ratings as ratings_of,
    weights_of,
)
from ._grading_progress import grades_table
from ._labels import find_positions
from ._leaderboard_making import score_runs
from ._policy import Policy


@dataclass(frozen=True)
class QueryRatings:
    """The ratings of one query by one grader.

    Args:
        spec: the grader.
        query_id: the query.
        passage_ids: ids of p passages: the pool in its order, then further passages of the runs.
        pooled: p flags: whether the passage is in the pool.
        text_keys: p keys of the passages' texts, MISSING if unknown.
        column: column of `ratings` by the text that the grader gets for a question.
        ratings: p x t for t such texts, MISSING without a usable grade.
    """

    spec: GraderSpec
    query_id: str
    passage_ids: list[str]
    pooled: Flags
    text_keys: Indices
    column: dict[str, int]
    ratings: Ratings

    def select_questions(self, questions: Sequence[Question]) -> Ratings:
        """Return ratings of questions, p x len(questions); MISSING for texts not loaded."""
        columns = [
            self.column.get(graded_wording(question, self.spec), -1) for question in questions
        ]
        wide = np.concatenate(
            [self.ratings, np.full((len(self.passage_ids), 1), MISSING, np.int8)], axis=1
        )
        return wide[:, columns]


def graded_wording(question: Question, spec: GraderSpec) -> str:
    """Return the text that a grader gets for a question, which identifies the grade. For a question
    without a text, return an id that differs from every text."""
    return spec.asked_text(question) or SEPARATOR + question.question_id


def gradable_questions(questions: Sequence[Question], grader: StoredGrader) -> list[Question]:
    """Return the active questions that a grader can grade."""
    spec = grader.spec
    return [
        q
        for q in questions
        if q.active and q.kind in spec.takes and (not spec.reads or spec.asked_text(q))
    ]


def labels_under(
    base: Basis, known_ratings: QueryRatings, questions: Sequence[Question]
) -> Ratings:
    """Return the labels of a query's p passages under these questions; MISSING without a label."""
    active = gradable_questions(questions, base.grader)
    return labels_of(
        known_ratings.select_questions(active),
        weights_of(active, base.policy.weighted),
        base.policy.rule,
    )


def load_ratings(
    project: Project, base: Basis, query_id: str, questions: Sequence[Question]
) -> QueryRatings:
    """Read all ratings of a query for the texts of some questions.

    Args:
        questions: any wordings, saved or not.
    """
    query_key = project.value("SELECT query_key FROM queries WHERE query_id = ?", [query_id])
    pooled = project.rows(
        "SELECT passage_key, passage_id, s.text_key FROM pool JOIN passages s USING (passage_key)"
        " WHERE query_key = ? ORDER BY position",
        [query_key],
    )
    in_pool = {key for key, _, _ in pooled}
    beyond = [key for key in ranked_keys(project, query_key) if key not in in_pool]
    passages = pooled
    if beyond:
        listed = ", ".join(map(str, beyond))
        passages = pooled + project.rows(
            "SELECT passage_key, passage_id, text_key FROM passages"
            f" WHERE passage_key IN ({listed}) ORDER BY passage_key"
        )
    nothing = QueryRatings(
        base.grader.spec,
        query_id,
        [passage_id for _, passage_id, _ in passages],
        np.arange(len(passages)) < len(pooled),
        np.array([MISSING if key is None else key for _, _, key in passages], np.int64),
        {},
        np.empty((len(passages), 0), np.int8),
    )
    return _more_ratings(project, base, nothing, questions)


def ratings_beside(
    project: Project,
    base: Basis,
    query_id: str,
    saved: Sequence[Question],
    questions: Sequence[Question],
) -> QueryRatings:
    """Return the ratings of a query: for saved texts from the cache, and for other texts from the
    database.

    While a person edits, each redraw has one new wording and many unchanged wordings.

    Args:
        saved: the query's questions in the bank.
        questions: the edited questions.
    """
    wordings = tuple(
        dict.fromkeys(graded_wording(question, base.grader.spec) for question in saved)
    )
    saved_ratings = project.cached(
        ("ratings", *base.rated, base.overridden, query_id, wordings),
        lambda: load_ratings(project, base, query_id, saved),
        cache.LABELS,
    )
    return _more_ratings(project, base, saved_ratings, questions)


def _more_ratings(
    project: Project, base: Basis, known_ratings: QueryRatings, questions: Sequence[Question]
) -> QueryRatings:
    """Return known ratings of a query, extended by the texts of further questions; only new texts
    are read.

    Args:
        questions: any wordings, saved or not; they may include known wordings.
    """
    wordings = dict.fromkeys(graded_wording(question, known_ratings.spec) for question in questions)
    texts = [text for text in wordings if text not in known_ratings.column]
    if not texts:
        return known_ratings
    column = known_ratings.column | {
        text: len(known_ratings.column) + i for i, text in enumerate(texts)
    }
    ratings = np.concatenate(
        [known_ratings.ratings, _ratings_of_texts(project, base, known_ratings.text_keys, texts)],
        axis=1,
    )
    return replace(known_ratings, column=column, ratings=ratings)


def _ratings_of_texts(
    project: Project, base: Basis, text_keys: Indices, texts: Sequence[str]
) -> Ratings:
    """Return ratings by wording, p x len(texts).

    Args:
        text_keys: p keys of the passages' texts.
    """
    keys = dict(
        project.rows(
            "SELECT coalesce(text, $unknown || placeholder), text_key FROM question_texts"
            " WHERE coalesce(text, $unknown || placeholder) IN (SELECT unnest($texts))",
            {"texts": list(texts), "unknown": SEPARATOR},
        )
    )
    key_array = np.array([keys.get(text, MISSING) for text in texts])
    graded = project.table(
        f"SELECT question_text_key, passage_text_key, rating FROM {ratings_of(base)}"
        f" WHERE question_text_key IN ({', '.join(map(str, key_array))})",
        {"grader": base.grader.key},
    )
    question, passage, rating = map(array_of, graded.columns)
    order = np.argsort(key_array)
    column = order[find_positions(key_array[order], question)]
    # Several passages may share a text, so ratings are filled in by text and then copied to the
    # passages.
    unique, row_of = np.unique(text_keys, return_inverse=True)
    row = find_positions(unique, passage)
    here = row != MISSING
    by_text = np.full((len(unique), len(texts)), MISSING, np.int8)
    by_text[row[here], column[here]] = rating[here]
    return by_text[row_of]


def query_scores(
    project: Project,
    base: Basis,
    measure: str,
    known_ratings: QueryRatings,
    questions: Sequence[Question],
    ratings: Ratings,
) -> dict[str, float] | None:
    """Return the score on a query of every run that answers it, as `leaderboard` defines it.

    Args:
        questions: all questions of the query, active or not, saved or not.
        ratings: p x r, for the p passages of `known_ratings` and the r questions that
            `labels.gradable_questions` returns.

    Returns:
        Score by run; None if the query has nothing to score.

    Raises:
        InputError: the measure also depends on gold texts or on the coverage of the pool.
    """
    query_id = known_ratings.query_id
    answered = {
        run: by_query[query_id]
        for run, by_query in ranking_scores(project).items()
        if query_id in by_query
    }
    active = gradable_questions(questions, base.grader)
    weights = weights_of(active, base.policy.weighted)
    parsed = parse_measure(measure, base.policy.cutoff)
    if answered_by_topic(project, query_id, questions):
        return None
    if not parsed.by_query_alone:
        raise InputError(
            "measure-not-predictable",
            f"Cannot predict the effect of a change on {parsed}.",
            "Choose EXAM-Cover or a measure of labels, or save the change and see the leaderboard.",
        )
    if not (weights > 0).any():
        return None
    if parsed.basis == "coverage":
        cutoff = parsed.depth
        row_of = {passage_id: row for row, passage_id in enumerate(known_ratings.passage_ids)}
        tops = project.cached(
            ("tops", query_id, cutoff, len(row_of)),
            lambda: {
                run: [
                    row_of[passage] for passage in trec_order(scores, cutoff) if passage in row_of
                ]
                for run, scores in answered.items()
            },
            cache.LABELS,
        )
        return {
            run: coverage_of(ratings, weights, top, base.min_rating) for run, top in tops.items()
        }
    pooled = np.flatnonzero(known_ratings.pooled)
    if parsed.basis == "intents":
        passages = [known_ratings.passage_ids[row] for row in pooled.tolist()]
        asked = np.array([q.weight > 0 for q in active], bool)
        answers = answers_of(passages, ratings[pooled][:, asked], base.min_rating)
        if answers is None:
            return None
        evaluate = make_intent_evaluator(parsed, {query_id: answers})
        ranked = [trec_order(scores, parsed.depth) for scores in answered.values()]
        return dict(zip(answered, evaluate.score_tops(query_id, ranked), strict=True))
    values = labels_of(ratings, weights, base.policy.rule)
    labels = {
        known_ratings.passage_ids[row]: int(values[row]) for row in pooled if values[row] != MISSING
    }
    if not labels:
        return None
    runs = {run: {query_id: scores} for run, scores in answered.items()}
    by_run = score_runs(runs, [parsed.name], {query_id: labels}, base.min_rating)[parsed.name]
    return {run: scores[query_id] for run, scores in by_run.items() if query_id in scores}


class _MeanOfKnown(ir_measures.MeanAgg):
    """The mean over the queries that have a value."""

    def add(self, value: float) -> None:
        if not math.isnan(value):
            super().add(value)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class _Graded:
    """The ratings of a query with p passages and r questions.

    Args:
        rows: row by passage id.
        ratings: p x r ratings.
        ungraded: p x r flags of the pairs that were never graded.
        weights: r weights.
    """

    rows: dict[str, int]
    ratings: Ratings
    ungraded: Flags
    weights: Array


def coverage_measure(project: Project, name: str, settings: Mapping[str, Any]) -> Any:
    """Return EXAM-Cover as a measure of ir_measures for any run, from the questions and grades of a
    project.

    Its value is NaN for a query without questions or with ungraded pairs; means leave such queries
    out.

    Args:
        settings: fields of `Policy`. They are part of the measure's name.

    Raises:
        InputError: the name is not EXAM-Cover, or the settings are invalid.
    """
    policy = Policy(**settings)
    parsed = parse_measure(name, policy.cutoff)
    if parsed.basis != "coverage":
        raise InputError(
            "not-a-coverage-measure",
            f"{parsed} is not a measure of coverage.",
            "Use EXAM-Cover@20. For a measure of labels, use the labels of the project as qrels.",
        )
    usual = {
        field.name: ir_measures.measures.ParamInfo(default=field.default)  # type: ignore[no-untyped-call]
        for field in fields(Policy)
    }

    class _Coverage(ir_measures.Measure):
        __name__ = NAME = COVER
        SUPPORTED_PARAMS = usual
        DEFAULT = math.nan
        RUN_INPUTS = ("query_id", "doc_id", "score")
        QREL_INPUTS = ("query_id",)

        def runtime_impl(self, qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
            ranked = {
                query: dict(zip(part["doc_id"], part["score"], strict=True))
                for query, part in run.groupby("query_id")
            }
            for query, value in _yield_coverage(
                project, basis(project, Policy(**self.params)), qrels["query_id"], ranked
            ):
                yield ir_measures.Metric(query, self, value)

        def aggregator(self) -> _MeanOfKnown:
            return _MeanOfKnown()  # type: ignore[no-untyped-call]

    return _Coverage(**{**settings, "cutoff": parsed.depth})  # type: ignore[no-untyped-call]


def _yield_coverage(
    project: Project, base: Basis, judged: Iterable[str], ranked: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, float]]:
    """Yield the coverage of each query that has one; a warning names the queries with ungraded
    pairs.
    """
    graded = project.cached(
        ("graded by query", base.key), lambda: _grades_by_query(project, base), cache.LABELS
    )
    waiting = []
    # The run may skip a query that runs answer by topic.
    for query in dict.fromkeys([*without_answered_by_topic(project, judged), *ranked]):
        of_query = graded.get(query)
        if of_query is None or not (of_query.weights > 0).any():
            continue
        if query not in ranked:
            if base.policy.skipped == "zero":
                yield query, 0.0
            continue
        top = trec_order(ranked[query], base.policy.cutoff)
        rows = [of_query.rows[passage] for passage in top if passage in of_query.rows]
        if len(rows) < len(top) or of_query.ungraded[rows][:, of_query.weights != 0].any():
            waiting.append(query)
        else:
            yield query, coverage_of(of_query.ratings, of_query.weights, rows, base.min_rating)
    if waiting:
        warnings.warn(
            f"Queries with ungraded pairs are left out ({len(waiting):,}): {first_few(waiting)}."
            " Add the run to the project, and grade it.",
            stacklevel=2,
        )


def _grades_by_query(project: Project, base: Basis) -> dict[str, _Graded]:
    questions_by_id = {
        question.question_id: question for question in list_questions(project, base.version)
    }
    grades = {}
    for query, part in grades_table(project, base).groupby("query_id"):
        ratings, states = (
            part.pivot(index="doc_id", columns="question_id", values=name)
            for name in ("rating", "state")
        )
        grades[str(query)] = _Graded(
            {passage: row for row, passage in enumerate(ratings.index)},
            ratings.to_numpy(np.int8, na_value=MISSING),
            (states == "ungraded").to_numpy(),
            # The question of a direct grader is the query itself.
            weights_of(
                [questions_by_id.get(name) or Question(name, name, "") for name in ratings.columns],
                base.policy.weighted,
            ),
        )
    return grades
