"""The ratings of one query as a matrix, for labels and coverage by any list of its questions.

The definitions are those of `labels.labels`, but in memory for one query. So a change in a query recomputes only this
query. A property test compares both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..bank import StoredGrader
from ..records import ranked_keys
from ..store import Project, array_of, cache
from ..types import SEPARATOR, GraderSpec, Question
from ._basis import Basis
from ._ratings import ratings as ratings_of
from ._rules import MISSING, Ratings, labels_of, weights_of


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
    pooled: NDArray[np.bool_]
    text_keys: NDArray[np.int64]
    column: dict[str, int]
    ratings: Ratings

    def of(self, questions: Sequence[Question]) -> Ratings:
        """Return ratings of questions, p x len(questions); MISSING for texts that were not loaded."""
        columns = [self.column.get(wording(question, self.spec), -1) for question in questions]
        wide = np.concatenate([self.ratings, np.full((len(self.passage_ids), 1), MISSING, np.int8)], axis=1)
        return wide[:, columns]


def wording(question: Question, spec: GraderSpec) -> str:
    """Return the text that a grader gets for a question, which identifies the grade. For a question without a text,
    return an id that differs from every text."""
    return spec.asked_text(question) or SEPARATOR + question.question_id


def scored(questions: Sequence[Question], grader: StoredGrader) -> list[Question]:
    """Return the active questions that a grader can grade."""
    spec = grader.spec
    return [q for q in questions if q.active and q.kind in spec.takes and (not spec.reads or spec.asked_text(q))]


def labels_under(base: Basis, known: QueryRatings, questions: Sequence[Question]) -> Ratings:
    """Return the labels of a query's p passages under these questions; MISSING without a label."""
    active = scored(questions, base.grader)
    return labels_of(known.of(active), weights_of(active, base.policy.weighted), base.policy.rule)


def load_ratings(project: Project, base: Basis, query_id: str, questions: Sequence[Question]) -> QueryRatings:
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
            f"SELECT passage_key, passage_id, text_key FROM passages WHERE passage_key IN ({listed})"
            " ORDER BY passage_key"
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
    project: Project, base: Basis, query_id: str, saved: Sequence[Question], questions: Sequence[Question]
) -> QueryRatings:
    """Return the ratings of a query: for saved texts from the cache, and for other texts from the database.

    While a person edits, each redraw has one new wording and many unchanged wordings.

    Args:
        saved: the query's questions in the bank.
        questions: the edited questions.
    """
    wordings = tuple(dict.fromkeys(wording(question, base.grader.spec) for question in saved))
    known = project.cached(
        ("ratings", *base.rated, base.overridden, query_id, wordings),
        lambda: load_ratings(project, base, query_id, saved),
        cache.LABELS,
    )
    return _more_ratings(project, base, known, questions)


def _more_ratings(project: Project, base: Basis, known: QueryRatings, questions: Sequence[Question]) -> QueryRatings:
    """Return known ratings of a query, extended by the texts of further questions; only new texts are read.

    Args:
        questions: any wordings, saved or not; they may include known wordings.
    """
    wordings = dict.fromkeys(wording(question, known.spec) for question in questions)
    texts = [text for text in wordings if text not in known.column]
    if not texts:
        return known
    column = known.column | {text: len(known.column) + i for i, text in enumerate(texts)}
    ratings = np.concatenate([known.ratings, _ratings_of_texts(project, base, known.text_keys, texts)], axis=1)
    return replace(known, column=column, ratings=ratings)


def _ratings_of_texts(project: Project, base: Basis, text_keys: NDArray[np.int64], texts: Sequence[str]) -> Ratings:
    """Return ratings by wording, p x len(texts).

    Args:
        text_keys: p keys of the passages' texts.
    """
    ratings = np.full((len(text_keys), len(texts)), MISSING, np.int8)
    keys = dict(
        project.rows(
            "SELECT coalesce(text, $unknown || placeholder), text_key FROM question_texts"
            " WHERE coalesce(text, $unknown || placeholder) IN (SELECT unnest($texts))",
            {"texts": list(texts), "unknown": SEPARATOR},
        )
    )
    known = [(keys[text], column) for column, text in enumerate(texts) if text in keys]
    if not known or not len(text_keys):
        return ratings
    wanted = ", ".join(str(key) for key, _ in known)
    graded = project.table(
        f"SELECT question_text_key, passage_text_key, rating FROM {ratings_of(base)}"
        f" WHERE question_text_key IN ({wanted})",
        {"grader": base.grader.key},
    )
    question, passage, rating = (array_of(graded.column(i)) for i in range(3))
    by_key = np.array(sorted(known))
    column = by_key[np.searchsorted(by_key[:, 0], question), 1]
    # Several passages may share a text, so ratings are filled in by text and then copied to the passages.
    unique, row_of = np.unique(text_keys, return_inverse=True)
    place = np.clip(np.searchsorted(unique, passage), 0, len(unique) - 1)
    here = unique[place] == passage
    by_text = np.full((len(unique), len(texts)), MISSING, np.int8)
    by_text[place[here], column[here]] = rating[here]
    return by_text[row_of]
