"""Labels of passages, from the ratings of a whole project as matrices, one per query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..bank import bank_for
from ..measures import Answers, answers_of
from ..records import DEFAULT_POOL_DEPTH, Qrels
from ..store import Project, array_of, by_query, cache, cached
from ._basis import (
    MISSING,
    Basis,
    Ratings,
    graded_sql,
    labels_of,
    overriding_sql,
    weights_that_count,
)

if TYPE_CHECKING:
    import pandas as pd


Numbers = NDArray[np.int64]

KEPT = 50_000_000
"""Maximum number of pairs for which matrices are cached; larger matrices are rebuilt for each use.
"""

_KEY = 32
"""Bits of a key. One number combines a query's number (high bits) and a text's key (low bits)."""
_PLACE = np.uint64(40)
"""Bits of a position in the matrices. The number of the query is in the bits above. So a sum of two
numbers with different queries is not a valid position."""
_NO_QUESTION, _NO_PASSAGE = np.uint64(1 << 62), np.uint64(1 << 61)
"""Numbers for texts that no query has as a question or passage. A sum with such a number is not a
valid position.
"""
SPREAD = 64
"""Maximum number of table entries per text for which texts are looked up by position."""


@dataclass(frozen=True)
class Layout:
    """The positions of each query's ratings: a row for each text of a question, a column for each
    text of a passage.

    The last row and the last column of each query are for questions and passages without a text.

    Args:
        query_keys: keys of the n queries with questions, ascending.
        weights, rows: for each query, arrays over its questions: their weights in the bank, and
            their rows.
        questions, passages: the texts of questions and of passages, ascending. Each is one number:
            the number of the query in the high bits, the key of the text in the low bits.
    """

    query_keys: Numbers
    weights: Sequence[NDArray[np.float64]]
    rows: Sequence[Numbers]
    questions: Numbers
    passages: Numbers

    @cached_property
    def first_question(self) -> Numbers:
        """n + 1 positions: where the texts of each query begin in `questions`, and the end."""
        return _query_begins(self.questions, len(self.query_keys))

    @cached_property
    def first_passage(self) -> Numbers:
        """n + 1 positions: where the texts of each query begin in `passages`, and the end."""
        return _query_begins(self.passages, len(self.query_keys))

    @cached_property
    def starts(self) -> Numbers:
        """n + 1 positions: where the ratings of each query begin, and the end."""
        sizes = (np.diff(self.first_question) + 1) * (np.diff(self.first_passage) + 1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @cached_property
    def mark(self) -> bytes:
        """A hash that changes if the position of any pair changes."""
        return sha256(
            b"".join(part.tobytes() for part in (self.query_keys, self.questions, self.passages))
        ).digest()

    def numbers(self, query_keys: Numbers) -> Numbers:
        """Return the number of each query; MISSING for a query without questions."""
        return find_positions(self.query_keys, query_keys)

    def columns(self, numbers: Numbers, text_keys: Numbers) -> Numbers:
        """Return the column of each passage in the matrix of its query.

        Args:
            numbers: numbers of the queries, without MISSING.
            text_keys: keys of the passages' texts, MISSING without a text.
        """
        at = find_positions(self.passages, (numbers << _KEY) + text_keys)
        known = (at != MISSING) & (text_keys != MISSING)
        return np.where(
            known, at - self.first_passage[numbers], np.diff(self.first_passage)[numbers]
        )

    def places(self) -> tuple[list[_Places], list[_Places]]:
        """Return tables of numbers for the texts of questions, and for the texts of passages.

        The position of a pair is the sum of the two numbers of its texts. A text of n queries has a
        number in each of the first n tables.
        """
        query, text = self.questions >> _KEY, self.questions & (2**_KEY - 1)
        row = np.arange(len(query)) - self.first_question[query]
        width = np.diff(self.first_passage) + 1
        question_places = (self.starts[query] + row * width[query]).astype(np.uint64) - (
            query.astype(np.uint64) << _PLACE
        )
        of = self.passages >> _KEY
        column = np.arange(len(of)) - self.first_passage[of]
        had = column.astype(np.uint64) + (of.astype(np.uint64) << _PLACE)
        return _place_tables(text, question_places, _NO_QUESTION), _place_tables(
            self.passages & (2**_KEY - 1), had, _NO_PASSAGE
        )


@dataclass(frozen=True)
class Matrices:
    """The ratings of every query with questions."""

    layout: Layout
    flat: Ratings

    def ratings(self, number: int) -> Ratings:
        """Return the ratings of a query: (question texts + 1) x (passage texts + 1), MISSING
        without a rating.
        """
        start, end = self.layout.starts[number : number + 2]
        width = self.layout.first_passage[number + 1] - self.layout.first_passage[number] + 1
        return self.flat[start:end].reshape(-1, width)

    @cached_property
    def marks(self) -> list[bytes]:
        """A hash for each of the n queries, which changes if a rating of the query changes."""
        return [
            sha256(self.flat[start:end].data).digest()
            for start, end in pairwise(self.layout.starts.tolist())
        ]


def rating_matrices(project: Project, base: Basis, depth: int = 0) -> Matrices:
    """Return the ratings of the pool, and of the top passages of every run.

    Args:
        depth: minimum number of passages of each run to include.
    """
    # At least the pool depth, so that labels and most coverage share the same matrices.
    depth = max(depth, DEFAULT_POOL_DEPTH)
    key = (*base.rated, base.version, depth)
    layout = project.cached(
        ("layout", *key), partial(_make_layout, project, base, depth), cache.ASKED
    )
    fill = partial(_with_overrides if base.overridden else _read_grades, project, base, layout)
    if layout.starts[-1] > KEPT:
        return fill()
    return project.cached(("matrices", base.overridden, *key), fill, cache.LABELS)


def _make_layout(project: Project, base: Basis, depth: int) -> Layout:
    query, text, weight = _as_arrays(
        project.table(
            "SELECT query_key, coalesce(text_key, -1), weight"
            f" FROM {bank_for(base.grader.spec)} ORDER BY query_key, question_key",
            base.parameters,
        )
    )
    query_keys = _sorted_unique(query)
    number = np.searchsorted(query_keys, query)
    questions = _sorted_unique(((number << _KEY) + text)[text != MISSING])
    of, had = _as_arrays(
        project.table(
            "SELECT query_key, text_key FROM pool WHERE text_key IS NOT NULL UNION ALL"
            " SELECT query_key, text_key FROM rankings JOIN passages USING (passage_key)"
            f" WHERE rank <= {depth:d} AND text_key IS NOT NULL"
        )
    )
    by = find_positions(query_keys, of)
    layout = Layout(
        query_keys, [], [], questions, _sorted_unique(((by << _KEY) + had)[by != MISSING])
    )
    at = find_positions(questions, (number << _KEY) + text)
    sizes = np.diff(layout.first_question)
    rows = np.where(text != MISSING, at - layout.first_question[number], sizes[number])
    cuts = np.searchsorted(number, np.arange(1, len(query_keys)))
    return Layout(
        query_keys, np.split(weight, cuts), np.split(rows, cuts), questions, layout.passages
    )


def _read_grades(project: Project, base: Basis, layout: Layout) -> Matrices:
    """Return the grader's ratings. They have their own cache, because frequent overrides do not
    change them.
    """
    # A saved bank version leaves most layouts unchanged, and so does the depth if the pool has all
    # top passages. Only the ratings of the two latest layouts are kept.
    key = ("grades", *base.rated, base.version)
    small = layout.starts[-1] <= KEPT
    kept_ratings = project.cached(key, dict[bytes, Ratings], frozenset({"grades"})) if small else {}
    flat = kept_ratings.get(layout.mark)
    if flat is None:
        empty = np.full(int(layout.starts[-1]), MISSING, np.int8)
        flat = _fill_matrices(project, base, layout, graded_sql(base), empty)
        for mark in list(kept_ratings)[:-1]:
            kept_ratings.pop(mark, None)
        kept_ratings[layout.mark] = flat
    return Matrices(layout, flat)


def _with_overrides(project: Project, base: Basis, layout: Layout) -> Matrices:
    flat = _read_grades(project, base, layout).flat.copy()
    return Matrices(layout, _fill_matrices(project, base, layout, overriding_sql(base), flat))


def _fill_matrices(
    project: Project, base: Basis, layout: Layout, ratings: str, flat: Ratings
) -> Ratings:
    """Write ratings, a subquery of pairs of texts, into matrices."""
    questions, passages = layout.places()

    def read_batches(batches: Iterable[pa.RecordBatch]) -> Ratings:
        for batch in batches:
            question, passage, rating = map(array_of, batch.columns)
            for rows in questions:
                at = rows.find_numbers(question)
                is_asked = at != _NO_QUESTION
                # Usually all questions were asked. Then the copies of the columns, which are slow,
                # can be skipped.
                every = bool(is_asked.all())
                row, had, rated = (
                    (at, passage, rating)
                    if every
                    else (at[is_asked], passage[is_asked], rating[is_asked])
                )
                for columns in passages:
                    place = row + columns.find_numbers(had)
                    here = place < len(flat)
                    flat[place[here].view(np.int64)] = rated[here]
        return flat

    return project.batches(
        f"SELECT question_text_key, passage_text_key, rating FROM {ratings}",
        base.parameters,
        read_batches,
    )


class _Places:
    """A table from texts to numbers.

    Args:
        keys: keys of the texts, ascending, each once.
        none: the number of texts that are not in `keys`.
    """

    def __init__(self, keys: Numbers, numbers: NDArray[np.uint64], none: np.uint64) -> None:
        self._keys, self._numbers, self._none = keys, numbers, none
        self._table: NDArray[np.uint64] | None = None
        if len(keys) and keys[-1] - keys[0] < SPREAD * len(keys):
            # With one entry on either side for keys out of range.
            self._table = np.full(int(keys[-1] - keys[0]) + 3, none)
            self._table[keys - keys[0] + 1] = numbers

    def find_numbers(self, keys: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the number of each text."""
        if self._table is not None:
            found: NDArray[np.uint64] = self._table.take(keys - (self._keys[0] - 1), mode="clip")
            return found
        at = find_positions(self._keys, keys)
        return np.where(at == MISSING, self._none, np.append(self._numbers, self._none)[at])


def _place_tables(texts: Numbers, numbers: NDArray[np.uint64], none: np.uint64) -> list[_Places]:
    """Return tables in which each text occurs at most once: as many tables as the most frequent
    text has queries.
    """
    order = np.argsort(texts, kind="stable")
    texts, numbers = texts[order], numbers[order]
    turn = np.arange(len(texts)) - np.searchsorted(texts, texts)
    return [
        _Places(texts[turn == i], numbers[turn == i], none)
        for i in range(int(turn.max(initial=-1)) + 1)
    ]


def find_positions(sorted_numbers: Numbers, wanted_numbers: NDArray[Any]) -> Numbers:
    """Return the positions of `wanted_numbers` in the ascending `sorted_numbers`; MISSING for
    absent numbers.
    """
    if not len(sorted_numbers):
        return np.full(len(wanted_numbers), MISSING, np.int64)
    at = np.minimum(np.searchsorted(sorted_numbers, wanted_numbers), len(sorted_numbers) - 1)
    return np.where(sorted_numbers[at] == wanted_numbers, at, MISSING)


def _sorted_unique(numbers: Numbers) -> Numbers:
    """Return sorted unique numbers; unlike `np.unique`, this is fast for the nearly sorted numbers
    of a table.
    """
    ascending: Numbers = np.sort(numbers)
    once: Numbers = ascending[np.diff(ascending, prepend=-1) != 0]
    return once


def _query_begins(numbers: Numbers, queries: int) -> Numbers:
    """Return queries + 1 positions: where the numbers of each query begin, and the end."""
    return np.searchsorted(numbers, np.arange(queries + 1) << _KEY)


def _as_arrays(table: pa.Table) -> list[NDArray[Any]]:
    """Return the columns of a table without missing values. Keys become integers with room for a
    shift.
    """
    found = [array_of(column) for column in table.columns]
    return [column.astype(np.int64) if column.dtype.kind == "i" else column for column in found]


T = TypeVar("T")

Columns = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""For each query with questions, in key order: the positions of its passages in the pool, and their
columns in the query's matrix."""


@dataclass(frozen=True)
class PooledLabels:
    """Labels and pair counts of the passages of the pool, by query and in pool order; one array
    entry per passage.

    Args:
        here: whether the passage's query has questions.
        labels: MISSING without a label.
        usable, needed: number of pairs with a rating, and number of pairs that need a rating.
        usable_avoided, needed_avoided: the same for "avoid" questions, which coverage needs too.
    """

    here: NDArray[np.bool_]
    labels: Ratings
    usable: NDArray[np.int32]
    needed: NDArray[np.int32]
    usable_avoided: NDArray[np.int32]
    needed_avoided: NDArray[np.int32]


@cached(cache.LABELS)
def list_labels(project: Project, base: Basis) -> pd.DataFrame:
    """Return the label of every pooled passage (exam-plus-plus, equation 2).

    Returns:
        One row per (query, passage) of the pool, in pool order, with query_id, passage_id and label
        (NA without a usable grade). `needed` is the number of pairs that need a rating; `usable` is
        the number of these with a rating. A label with usable < needed is partial.
    """
    import pandas as pd

    pooled = pooled_labels(project, base)
    in_bank = pooled.here
    pool = pooled_passages(project).select(["query_id", "passage_id"]).filter(pa.array(in_bank))
    columns = {
        "label": pa.array(pooled.labels[in_bank], mask=pooled.labels[in_bank] == MISSING),
        "usable": pa.array(pooled.usable[in_bank]),
        "needed": pa.array(pooled.needed[in_bank]),
    }
    pool = pa.table(dict(zip(pool.column_names, pool.columns, strict=True)) | columns)
    table: pd.DataFrame = pool.to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
    return table


def label_pairs(project: Project, base: Basis) -> tuple[int, int]:
    """Return the number of pairs that all labels need, and the number of these with a rating."""
    found = pooled_labels(project, base)
    return int(found.needed.sum(dtype=np.int64)), int(found.usable.sum(dtype=np.int64))


def pooled_passages(project: Project) -> pa.Table:
    """Return the pool by query and in pool order: query_key, text_key (-1 for none), query_id,
    passage_id.
    """
    return project.cached(
        "pool with ids",
        lambda: project.table(
            "SELECT query_key, coalesce(p.text_key, -1) AS text_key, query_id, passage_id"
            " FROM pool p JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " ORDER BY query_key, position"
        ),
        cache.COLLECTION,
    )


@cached(cache.LABELS)
def pooled_labels(project: Project, base: Basis) -> PooledLabels:
    """Return labels and pair counts of the pool's passages, in the order of `pooled_passages`."""
    pool, matrices, policy = pooled_passages(project), rating_matrices(project, base), base.policy
    columns = _pool_columns(project, base, matrices.layout)

    def label_query(number: int) -> list[NDArray[Any] | int]:
        ratings, given_weights = _query_ratings(matrices, columns, number)
        counts: list[NDArray[Any] | int] = []
        for asked in (given_weights > 0, given_weights < 0):
            usable = (ratings[:, asked] != MISSING).sum(axis=1, dtype=np.int32)
            counts += [usable, int(asked.sum())]
        weights = weights_that_count(given_weights, policy.weighted)
        return [labels_of(ratings, weights, policy.rule), *counts]

    parts = by_query(
        project,
        ("labels", *base.rated, base.version, policy.label, policy.weighted),
        dict(enumerate(matrices.marks)),
        lambda numbers: {number: label_query(number) for number in numbers},
        (pool, matrices.layout),
    )
    size = len(pool)
    labels, counts = np.full(size, MISSING, np.int8), np.zeros((4, size), np.int32)
    arrays = [np.zeros(size, bool), labels, *counts]
    for (own, _), values in zip(columns, parts.values(), strict=True):
        for array, value in zip(arrays, [True, *values], strict=True):
            array[own] = value
    return PooledLabels(*arrays)


def _pool_columns(project: Project, base: Basis, layout: Layout) -> Columns:
    def compute() -> Columns:
        pool = pooled_passages(project)
        number = layout.numbers(array_of(pool["query_key"]))
        rows = np.flatnonzero(number != MISSING)
        column = layout.columns(number[rows], array_of(pool["text_key"])[rows])
        # The pool is in the order of the queries.
        cuts = np.searchsorted(number[rows], np.arange(len(layout.query_keys) + 1))
        return [(rows[start:end], column[start:end]) for start, end in pairwise(cuts.tolist())]

    return project.cached(
        ("columns of the pool", base.grader.key, base.version), compute, cache.ASKED
    )


def pooled_ratings(
    project: Project, base: Basis
) -> Iterator[tuple[NDArray[np.int64], Ratings, NDArray[np.float64]]]:
    """Yield the ratings of the passages of the pool, query by query, in key order.

    Returns:
        For each query with p passages and r questions: positions of the passages in the pool (p),
        ratings (p x r, questions in key order), and weights in the bank (r). Queries without
        questions are left out.
    """
    known = rating_matrices(project, base)
    columns = _pool_columns(project, base, known.layout)
    for number, (own, _) in enumerate(columns):
        yield own, *_query_ratings(known, columns, number)


def _query_ratings(
    matrices: Matrices, columns: Columns, number: int
) -> tuple[Ratings, NDArray[np.float64]]:
    """Return the ratings of the passages of a query, p x r, and their r weights."""
    ratings = matrices.ratings(number)[matrices.layout.rows[number]]
    return ratings.T[columns[number][1]], matrices.layout.weights[number]


@cached(cache.LABELS)
def label_qrels(project: Project, base: Basis) -> Qrels:
    """Return EXAM labels by query and passage id; passages without a label are left out."""
    pool, values = pooled_passages(project), pooled_labels(project, base).labels
    query = array_of(pool["query_key"])
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    cuts = list(pairwise([*starts.tolist(), len(query)]))

    def read_labels(number: int) -> tuple[str, dict[str, int]]:
        start, end = cuts[number]
        own = values[start:end] != MISSING
        passages = compress(pool["passage_id"][start:end].to_pylist(), own.tolist())
        labels = dict(zip(passages, values[start:end][own].tolist(), strict=True))
        return pool["query_id"][start].as_py(), labels

    marks = {number: values[start:end].tobytes() for number, (start, end) in enumerate(cuts)}
    # Most passages have the same label in two bank versions, so the key does not include the
    # version.
    key = ("qrels", *base.rated, base.policy.label, base.policy.weighted)
    parts = by_query(
        project,
        key,
        marks,
        lambda numbers: {number: read_labels(number) for number in numbers},
        (pool,),
    )
    return {query_id: labelled for query_id, labelled in parts.values() if labelled}


def from_answers(
    project: Project,
    base: Basis,
    key: Hashable,
    make: Callable[[Mapping[str, Answers]], Mapping[str, T]],
    made_of: Sequence[object] = (),
) -> dict[str, T]:
    """Return values by query, computed from the questions that each passage answers and cached by
    `project.by_query`.

    Args:
        key: cache key of these values.
        make: computes the values of some queries.
        made_of: further inputs of the values, as for `by_query`.

    Returns:
        Value by query id, in the order of the project; queries without ratings are absent.
    """
    matrices, pool = rating_matrices(project, base), pooled_passages(project)
    columns = _pool_columns(project, base, matrices.layout)
    number_of = {
        pool["query_id"][int(own[0])].as_py(): number
        for number, (own, _) in enumerate(columns)
        if len(own)
    }

    def find_answers(query_id: str) -> Answers | None:
        number = number_of[query_id]
        ratings, given = _query_ratings(matrices, columns, number)
        passages = pool["passage_id"].take(pa.array(columns[number][0])).to_pylist()
        # A question of weight 0 or less is not an intent.
        return answers_of(passages, ratings[:, given > 0], base.min_rating)

    def make_parts(query_ids: Sequence[str]) -> dict[str, T | None]:
        found = {query_id: find_answers(query_id) for query_id in query_ids}
        answers = {query_id: one for query_id, one in found.items() if one is not None}
        return dict.fromkeys(query_ids) | dict(make(answers))

    marks = {query_id: matrices.marks[number] for query_id, number in number_of.items()}
    named = ("answers", key, *base.rated, base.version, base.min_rating)
    parts = by_query(project, named, marks, make_parts, (pool, matrices.layout, *made_of))
    return {query_id: part for query_id, part in parts.items() if part is not None}
