"""Labels of passages, from the ratings that count: a pure function of the basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.bank import bank_for
from core.labels.basis import Basis
from core.labels.matrices import matrices
from core.labels.rules import MISSING, Ratings, labels_of, weights_that_count
from core.project import Project, Qrels

if TYPE_CHECKING:
    import pandas as pd


def labels(project: Project, base: Basis) -> pd.DataFrame:
    """The label of every pooled passage (exam-plus-plus, equation 2).

    Returns:
        One row a (query, passage) of the pool, in the pool's order, with query_id, passage_id,
        label (NA where no pair has a usable grade), usable and needed (numbers of pairs that
        have a rating, and that should). A label with usable < needed is partial.
    """

    def compute() -> pd.DataFrame:
        import pandas as pd

        found = _labelled(project, base)
        here = found.here
        pool = _pool(project).select(["query_id", "passage_id"]).filter(pa.array(here))
        columns = {
            "label": pa.array(found.labels[here], mask=found.labels[here] == MISSING),
            "usable": pa.array(found.usable[here]),
            "needed": pa.array(found.needed[here]),
        }
        for name, column in columns.items():
            pool = pool.append_column(name, column)
        table: pd.DataFrame = pool.to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
        return table

    return project.remember(("labels", base.key), compute)


@dataclass(frozen=True)
class _Labelled:
    """What is known of the passages of the pool, in its order; they are as many as the arrays are long.

    Args:
        here: whether the query asks anything.
        labels: MISSING for none.
        usable, needed: numbers of pairs.
    """

    here: NDArray[np.bool_]
    labels: Ratings
    usable: NDArray[np.int32]
    needed: NDArray[np.int32]


def _pool(project: Project) -> pa.Table:
    """The pool in its order, with keys and ids."""
    return project.remember(
        "pool with ids",
        lambda: project.table(
            "SELECT query_key, coalesce(p.text_key, -1) AS text_key, query_id, passage_id FROM pool p"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY query_key, position"
        ),
    )


def _labelled(project: Project, base: Basis) -> _Labelled:
    return project.remember(("labelled", base.key), lambda: _make(project, base))


def _make(project: Project, base: Basis) -> _Labelled:
    size = len(_pool(project))
    found = _Labelled(
        np.zeros(size, bool), np.full(size, MISSING, np.int8), *(np.zeros(size, np.int32) for _ in range(2))
    )
    for own, ratings, given in pooled_ratings(project, base):
        asked = given > 0
        weights = weights_that_count(given[asked], base.policy.weighted)
        found.here[own] = True
        found.labels[own] = labels_of(ratings[:, asked], weights, base.policy.rule)
        found.usable[own] = (ratings[:, asked] != MISSING).sum(axis=1)
        found.needed[own] = asked.sum()
    return found


def pooled_ratings(project: Project, base: Basis) -> Iterator[tuple[NDArray[np.int64], Ratings, NDArray[np.float64]]]:
    """The ratings of the passages of the pool, query by query, in the order of their keys.

    Returns:
        For each query that asks anything: where its p passages stand in the pool, by query and position; p x r ratings
        by its r questions, in the order of their keys; r weights as the bank has them.
    """
    pool, known = _pool(project), matrices(project, base)
    layout = known.layout
    number = layout.numbers(pool["query_key"].to_numpy())
    rows = np.flatnonzero(number != MISSING)
    column = layout.columns(number[rows], pool["text_key"].to_numpy()[rows])
    # The pool is in the order of the queries.
    cuts = np.searchsorted(number[rows], np.arange(len(layout.query_keys) + 1))
    for query, (start, end) in enumerate(pairwise(cuts.tolist())):
        ratings = known.ratings(query)[layout.rows[query]].T[column[start:end]]
        yield rows[start:end], ratings, layout.weights[query]


def label_qrels(project: Project, base: Basis) -> Qrels:
    """EXAM labels by query and passage id; passages without a label are left out."""

    def compute() -> Qrels:
        pool, values = _pool(project), _labelled(project, base).labels
        query, labelled = pool["query_key"].to_numpy(), values != MISSING
        starts = np.flatnonzero(np.diff(query, prepend=-1)).tolist()
        found: Qrels = {}
        for start, end in pairwise([*starts, len(query)]):
            own = labelled[start:end]
            if own.any():
                passages = pool["passage_id"][start:end].filter(pa.array(own)).to_pylist()
                query_id = pool["query_id"][start].as_py()
                found[query_id] = dict(zip(passages, values[start:end][own].tolist(), strict=True))
        return found

    return project.remember(("qrels", base.key), compute)


def answered_questions(project: Project, base: Basis) -> dict[str, dict[str, dict[str, int]]]:
    """Which questions of positive weight each graded passage answers: 1 or 0 by query, passage, question."""
    pool = _pool(project)
    ids = project.table(
        f"SELECT id FROM {bank_for(base.grader.spec)} JOIN (SELECT question_key, question_id AS id FROM questions"
        " UNION ALL SELECT query_key, query_id FROM queries) USING (question_key) ORDER BY query_key, question_key",
        base.parameters,
    )["id"].to_numpy()
    found: dict[str, dict[str, dict[str, int]]] = {}
    first = 0
    for own, ratings, given in pooled_ratings(project, base):
        asked, first = ids[first : first + len(given)][given > 0], first + len(given)
        ratings = ratings[:, given > 0]
        rated = ratings != MISSING
        graded = rated.any(axis=1)
        if not graded.any():
            continue
        answers = (ratings >= base.min_rating).astype(int)
        passages = pool["passage_id"].take(pa.array(own[graded])).to_pylist()
        found[pool["query_id"][int(own[0])].as_py()] = {
            passage: dict(zip(asked[here], yes[here].tolist(), strict=True))
            for passage, here, yes in zip(passages, rated[graded], answers[graded], strict=True)
        }
    return found
