"""Labels of passages, computed from the ratings that count. They depend only on the basis."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..measures import Answers, answers_of
from ..records import Qrels
from ..store import Project, array_of, by_query, cache
from ._basis import Basis
from ._matrices import Layout, Matrices, matrices
from ._rules import MISSING, Ratings, labels_of, weights_that_count

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T")

Columns = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""For each query with questions, in key order: the positions of its passages in the pool, and their columns in the
query's matrix."""


@dataclass(frozen=True)
class PooledLabels:
    """Labels and pair counts of the passages of the pool, by query and in pool order; one array entry per passage.

    Args:
        here: whether the passage's query has questions.
        labels: MISSING without a label.
        usable, needed: number of pairs with a rating, and number of pairs that need a rating.
    """

    here: NDArray[np.bool_]
    labels: Ratings
    usable: NDArray[np.int32]
    needed: NDArray[np.int32]


def labels(project: Project, base: Basis) -> pd.DataFrame:
    """Return the label of every pooled passage (exam-plus-plus, equation 2).

    Returns:
        One row per (query, passage) of the pool, in pool order, with query_id, passage_id and label (NA without a
        usable grade). `needed` is the number of pairs that need a rating; `usable` is the number of these with a
        rating. A label with usable < needed is partial.
    """

    def compute() -> pd.DataFrame:
        import pandas as pd

        found = pooled_labels(project, base)
        here = found.here
        pool = pooled_passages(project).select(["query_id", "passage_id"]).filter(pa.array(here))
        columns = {
            "label": pa.array(found.labels[here], mask=found.labels[here] == MISSING),
            "usable": pa.array(found.usable[here]),
            "needed": pa.array(found.needed[here]),
        }
        for name, column in columns.items():
            pool = pool.append_column(name, column)
        table: pd.DataFrame = pool.to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
        return table

    return project.cached(("labels", base.key), compute, cache.LABELS)


def label_pairs(project: Project, base: Basis) -> tuple[int, int]:
    """Return the number of pairs that all labels need, and the number of these with a rating."""
    found = pooled_labels(project, base)
    return int(found.needed.sum(dtype=np.int64)), int(found.usable.sum(dtype=np.int64))


def pooled_passages(project: Project) -> pa.Table:
    """Return the pool by query and in pool order: query_key, text_key (-1 for none), query_id, passage_id."""
    return project.cached(
        "pool with ids",
        lambda: project.table(
            "SELECT query_key, coalesce(p.text_key, -1) AS text_key, query_id, passage_id FROM pool p"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY query_key, position"
        ),
        cache.COLLECTION,
    )


def pooled_labels(project: Project, base: Basis) -> PooledLabels:
    """Return the labels and pair counts of the pool's passages, in the order of `pooled_passages`."""
    return project.cached(("labelled", base.key), lambda: _make(project, base), cache.LABELS)


def _make(project: Project, base: Basis) -> PooledLabels:
    pool, known, policy = pooled_passages(project), matrices(project, base), base.policy
    columns = _columns(project, base, known.layout)

    def make(numbers: Sequence[int]) -> dict[int, tuple[Ratings, NDArray[np.int32], int]]:
        found = {}
        for number, (ratings, given) in zip(numbers, _ratings(known, columns, numbers), strict=True):
            asked = given > 0
            weights = weights_that_count(given[asked], policy.weighted)
            asked_ratings = ratings[:, asked]
            usable = (asked_ratings != MISSING).sum(axis=1, dtype=np.int32)
            found[number] = labels_of(asked_ratings, weights, policy.rule), usable, int(asked.sum())
        return found

    key = ("labels", *base.rated, base.version, policy.label, policy.weighted)
    parts = by_query(project, key, dict(enumerate(known.marks)), make, (pool, known.layout))
    size = len(pool)
    found = PooledLabels(
        np.zeros(size, bool), np.full(size, MISSING, np.int8), *(np.zeros(size, np.int32) for _ in range(2))
    )
    for (own, _), (values, usable, needed) in zip(columns, parts.values(), strict=True):
        found.here[own] = True
        found.labels[own], found.usable[own], found.needed[own] = values, usable, needed
    return found


def _columns(project: Project, base: Basis, layout: Layout) -> Columns:
    def compute() -> Columns:
        pool = pooled_passages(project)
        number = layout.numbers(array_of(pool["query_key"]))
        rows = np.flatnonzero(number != MISSING)
        column = layout.columns(number[rows], array_of(pool["text_key"])[rows])
        # The pool is in the order of the queries.
        cuts = np.searchsorted(number[rows], np.arange(len(layout.query_keys) + 1))
        return [(rows[start:end], column[start:end]) for start, end in pairwise(cuts.tolist())]

    return project.cached(("columns of the pool", base.grader.key, base.version), compute, cache.ASKED)


def pooled_ratings(project: Project, base: Basis) -> Iterator[tuple[NDArray[np.int64], Ratings, NDArray[np.float64]]]:
    """Yield the ratings of the passages of the pool, query by query, in key order.

    Returns:
        For each query with p passages and r questions: positions of the passages in the pool (p), ratings (p x r,
        questions in key order), and weights in the bank (r). Queries without questions are left out.
    """
    known = matrices(project, base)
    columns = _columns(project, base, known.layout)
    for (own, _), (ratings, weights) in zip(columns, _ratings(known, columns, range(len(columns))), strict=True):
        yield own, ratings, weights


def _ratings(
    known: Matrices, columns: Columns, numbers: Iterable[int]
) -> Iterator[tuple[Ratings, NDArray[np.float64]]]:
    """Yield the ratings of the passages of some queries, p x r, and their r weights."""
    for number in numbers:
        ratings = known.ratings(number)[known.layout.rows[number]]
        yield ratings.T[columns[number][1]], known.layout.weights[number]


def label_qrels(project: Project, base: Basis) -> Qrels:
    """Return EXAM labels by query and passage id; passages without a label are left out."""

    def compute() -> Qrels:
        pool, values = pooled_passages(project), pooled_labels(project, base).labels
        query = array_of(pool["query_key"])
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        cuts = list(pairwise([*starts.tolist(), len(query)]))

        def make(numbers: Sequence[int]) -> dict[int, tuple[str, dict[str, int]]]:
            found = {}
            for number in numbers:
                start, end = cuts[number]
                own = values[start:end] != MISSING
                passages = compress(pool["passage_id"][start:end].to_pylist(), own.tolist())
                query_id = pool["query_id"][start].as_py()
                found[number] = query_id, dict(zip(passages, values[start:end][own].tolist(), strict=True))
            return found

        marks = {number: values[start:end].tobytes() for number, (start, end) in enumerate(cuts)}
        # Most passages have the same label in two bank versions, so the key does not include the version.
        key = ("qrels", *base.rated, base.policy.label, base.policy.weighted)
        parts = by_query(project, key, marks, make, (pool,)).values()
        return {query_id: labelled for query_id, labelled in parts if labelled}

    return project.cached(("qrels", base.key), compute, cache.LABELS)


def from_answers(
    project: Project,
    base: Basis,
    key: Hashable,
    make: Callable[[Mapping[str, Answers]], Mapping[str, T]],
    made_of: Sequence[object] = (),
) -> dict[str, T]:
    """Return values by query, computed from the questions that each passage answers and cached by `project.by_query`.

    Args:
        key: cache key of these values.
        make: computes the values of some queries.
        made_of: further inputs of the values, as for `by_query`.

    Returns:
        Value by query id, in the order of the project; queries without ratings are absent.
    """
    known, pool = matrices(project, base), pooled_passages(project)
    columns = _columns(project, base, known.layout)
    number_of = {pool["query_id"][int(own[0])].as_py(): number for number, (own, _) in enumerate(columns) if len(own)}

    def answers(query_ids: Sequence[str]) -> dict[str, Answers]:
        numbers = [number_of[query_id] for query_id in query_ids]
        found = {}
        for query_id, number, (ratings, given) in zip(
            query_ids, numbers, _ratings(known, columns, numbers), strict=True
        ):
            passages = pool["passage_id"].take(pa.array(columns[number][0])).to_pylist()
            # A question of weight 0 or less is not an intent.
            if (known_here := answers_of(passages, ratings[:, given > 0], base.min_rating)) is not None:
                found[query_id] = known_here
        return found

    def made(query_ids: Sequence[str]) -> dict[str, T | None]:
        return dict.fromkeys(query_ids) | dict(make(answers(query_ids)))

    marks = {query_id: known.marks[number] for query_id, number in number_of.items()}
    named = ("answers", key, *base.rated, base.version, base.min_rating)
    parts = by_query(project, named, marks, made, (pool, known.layout, *made_of))
    return {query_id: part for query_id, part in parts.items() if part is not None}
