"""The ratings of a whole project as matrices, one per query, for labels and for coverage.

The matrices contain the result of `labels.ratings`, joined with the questions and the passages of their
queries. `labels.one_query` has the same form for one query. A pair takes one byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bank import bank_for
from ..records import DEFAULT_POOL_DEPTH
from ..store import Project, array_of, cache
from ._basis import Basis
from ._ratings import graded, overriding
from ._rules import MISSING, Ratings

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.int64]

KEPT = 50_000_000
"""Maximum number of pairs for which matrices are cached; larger matrices are rebuilt for each use."""

_KEY = 32
"""Bits of a key. One number combines a query's number (high bits) and a text's key (low bits)."""
_PLACE = np.uint64(40)
"""Bits of a position in the matrices. The number of the query is in the bits above. So a sum of two numbers with
different queries is not a valid position."""
_NO_QUESTION, _NO_PASSAGE = np.uint64(1 << 62), np.uint64(1 << 61)
"""Numbers for texts that no query has as a question or passage. A sum with such a number is not a valid position."""
SPREAD = 64
"""Maximum number of table entries per text for which texts are looked up by position."""


@dataclass(frozen=True)
class Layout:
    """The positions of each query's ratings: a row for each text of a question, a column for each text of a passage.

    The last row and the last column of each query are for questions and passages without a text.

    Args:
        query_keys: keys of the n queries with questions, ascending.
        weights, rows: for each query, arrays over its questions: their weights in the bank, and their rows.
        questions, passages: the texts of questions and of passages, ascending. Each is one number: the number of the
            query in the high bits, the key of the text in the low bits.
    """

    query_keys: Numbers
    weights: Sequence[NDArray[np.float64]]
    rows: Sequence[Numbers]
    questions: Numbers
    passages: Numbers

    @cached_property
    def first_question(self) -> Numbers:
        """n + 1 positions: where the texts of each query begin in `questions`, and the end."""
        return _begins(self.questions, len(self.query_keys))

    @cached_property
    def first_passage(self) -> Numbers:
        """n + 1 positions: where the texts of each query begin in `passages`, and the end."""
        return _begins(self.passages, len(self.query_keys))

    @cached_property
    def starts(self) -> Numbers:
        """n + 1 positions: where the ratings of each query begin, and the end."""
        sizes = (np.diff(self.first_question) + 1) * (np.diff(self.first_passage) + 1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])

    @cached_property
    def mark(self) -> bytes:
        """A hash that changes if the position of any pair changes."""
        return sha256(b"".join(part.tobytes() for part in (self.query_keys, self.questions, self.passages))).digest()

    def numbers(self, query_keys: Numbers) -> Numbers:
        """Return the number of each query; MISSING for a query without questions."""
        return _found(self.query_keys, query_keys)

    def columns(self, numbers: Numbers, text_keys: Numbers) -> Numbers:
        """Return the column of each passage in the matrix of its query.

        Args:
            numbers: numbers of the queries, without MISSING.
            text_keys: keys of the passages' texts, MISSING without a text.
        """
        at = _found(self.passages, (numbers << _KEY) + text_keys)
        known = (at != MISSING) & (text_keys != MISSING)
        return np.where(known, at - self.first_passage[numbers], np.diff(self.first_passage)[numbers])

    def places(self) -> tuple[list[_Places], list[_Places]]:
        """Return tables of numbers for the texts of questions, and for the texts of passages.

        The position of a pair is the sum of the two numbers of its texts. A text of n queries has a number in each of
        the first n tables.
        """
        query, text = self.questions >> _KEY, self.questions & (2**_KEY - 1)
        row = np.arange(len(query)) - self.first_question[query]
        width = np.diff(self.first_passage) + 1
        asked = (self.starts[query] + row * width[query]).astype(np.uint64) - (query.astype(np.uint64) << _PLACE)
        of = self.passages >> _KEY
        column = np.arange(len(of)) - self.first_passage[of]
        had = column.astype(np.uint64) + (of.astype(np.uint64) << _PLACE)
        return _places(text, asked, _NO_QUESTION), _places(self.passages & (2**_KEY - 1), had, _NO_PASSAGE)


@dataclass(frozen=True)
class Matrices:
    """The ratings of every query with questions."""

    layout: Layout
    flat: Ratings

    def ratings(self, number: int) -> Ratings:
        """Return the ratings of a query: (question texts + 1) x (passage texts + 1), MISSING without a rating."""
        start, end = self.layout.starts[number : number + 2]
        width = self.layout.first_passage[number + 1] - self.layout.first_passage[number] + 1
        return self.flat[start:end].reshape(-1, width)

    @cached_property
    def marks(self) -> list[bytes]:
        """A hash for each of the n queries, which changes if a rating of the query changes."""
        return [sha256(self.flat[start:end].data).digest() for start, end in pairwise(self.layout.starts.tolist())]


def matrices(project: Project, base: Basis, depth: int = 0) -> Matrices:
    """Return the ratings of the pool, and of the top passages of every run.

    Args:
        depth: minimum number of passages of each run to include.
    """
    # At least the pool depth, so that labels and most coverage share the same matrices.
    depth = max(depth, DEFAULT_POOL_DEPTH)
    key = (*base.rated, base.version, depth)
    layout = project.cached(("layout", *key), partial(_layout, project, base, depth), cache.ASKED)
    fill = partial(_with_overrides if base.overridden else _graded, project, base, layout, depth)
    if layout.starts[-1] > KEPT:
        return fill()
    return project.cached(("matrices", base.overridden, *key), fill, cache.LABELS)


def _layout(project: Project, base: Basis, depth: int) -> Layout:
    query, text, weight = _columns(
        project.table(
            "SELECT query_key, coalesce(text_key, -1), weight"
            f" FROM {bank_for(base.grader.spec)} ORDER BY query_key, question_key",
            base.parameters,
        )
    )
    query_keys = _once(query)
    number = np.searchsorted(query_keys, query)
    questions = _once(((number << _KEY) + text)[text != MISSING])
    of, had = _columns(
        project.table(
            "SELECT query_key, text_key FROM pool WHERE text_key IS NOT NULL UNION ALL"
            " SELECT query_key, text_key FROM rankings JOIN passages USING (passage_key)"
            f" WHERE rank <= {depth:d} AND text_key IS NOT NULL"
        )
    )
    by = _found(query_keys, of)
    layout = Layout(query_keys, [], [], questions, _once(((by << _KEY) + had)[by != MISSING]))
    at = _found(questions, (number << _KEY) + text)
    sizes = np.diff(layout.first_question)
    rows = np.where(text != MISSING, at - layout.first_question[number], sizes[number])
    cuts = np.searchsorted(number, np.arange(1, len(query_keys)))
    return Layout(query_keys, np.split(weight, cuts), np.split(rows, cuts), questions, layout.passages)


def _graded(project: Project, base: Basis, layout: Layout, depth: int) -> Matrices:
    """Return the grader's ratings. They have their own cache, because frequent overrides do not change them."""

    def fill() -> Ratings:
        return _put(project, base, layout, graded(base), np.full(int(layout.starts[-1]), MISSING, np.int8))

    if layout.starts[-1] > KEPT:
        return Matrices(layout, fill())
    # A saved bank version leaves most layouts unchanged. Only the ratings of the latest layout are kept.
    key = ("grades", *base.rated, base.version, depth)
    kept = project.cached(key, dict[bytes, Ratings], frozenset({"grades"}))
    flat = kept.get(layout.mark)
    if flat is None:
        flat = fill()
        kept.clear()
        kept[layout.mark] = flat
    return Matrices(layout, flat)


def _with_overrides(project: Project, base: Basis, layout: Layout, depth: int) -> Matrices:
    flat = _graded(project, base, layout, depth).flat.copy()
    return Matrices(layout, _put(project, base, layout, overriding(base), flat))


def _put(project: Project, base: Basis, layout: Layout, ratings: str, flat: Ratings) -> Ratings:
    """Write ratings, a subquery of pairs of texts, into matrices."""
    questions, passages = layout.places()

    def take(batches: Iterable[pa.RecordBatch]) -> Ratings:
        for batch in batches:
            question, passage, rating = (array_of(batch.column(i)) for i in range(3))
            for rows in questions:
                at = rows.of(question)
                asked = at != _NO_QUESTION
                # Usually all questions were asked. Then the copies of the columns, which are slow, can be skipped.
                every = bool(asked.all())
                row, had, given = (at, passage, rating) if every else (at[asked], passage[asked], rating[asked])
                for columns in passages:
                    place = row + columns.of(had)
                    here = place < len(flat)
                    flat[place[here].view(np.int64)] = given[here]
        return flat

    return project.batches(f"SELECT question_text_key, passage_text_key, rating FROM {ratings}", base.parameters, take)


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

    def of(self, keys: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the number of each text."""
        if self._table is not None:
            found: NDArray[np.uint64] = self._table.take(keys - (self._keys[0] - 1), mode="clip")
            return found
        at = _found(self._keys, keys)
        return np.where(at == MISSING, self._none, np.append(self._numbers, self._none)[at])


def _places(texts: Numbers, numbers: NDArray[np.uint64], none: np.uint64) -> list[_Places]:
    """Return tables in which each text occurs at most once: as many tables as the most frequent text has queries."""
    order = np.argsort(texts, kind="stable")
    texts, numbers = texts[order], numbers[order]
    turn = np.arange(len(texts)) - np.searchsorted(texts, texts)
    return [_Places(texts[turn == i], numbers[turn == i], none) for i in range(int(turn.max(initial=-1)) + 1)]


def _found(known: Numbers, wanted: NDArray[Any]) -> Numbers:
    """Return the positions of `wanted` in `known`, which is ascending; MISSING for absent numbers."""
    if not len(known):
        return np.full(len(wanted), MISSING, np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, MISSING)


def _once(numbers: Numbers) -> Numbers:
    """Return sorted unique numbers; unlike `np.unique`, this is fast for the nearly sorted numbers of a table."""
    ascending: Numbers = np.sort(numbers)
    once: Numbers = ascending[np.diff(ascending, prepend=-1) != 0]
    return once


def _begins(numbers: Numbers, queries: int) -> Numbers:
    """Return queries + 1 positions: where the numbers of each query begin, and the end."""
    return np.searchsorted(numbers, np.arange(queries + 1) << _KEY)


def _columns(table: pa.Table) -> list[NDArray[Any]]:
    """Return the columns of a table without missing values. Keys become integers with room for a shift."""
    found = [array_of(column) for column in table.columns]
    return [column.astype(np.int64) if column.dtype.kind == "i" else column for column in found]
