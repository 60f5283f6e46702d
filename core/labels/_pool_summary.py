"""A summary of every passage of the pool under a policy: its label, its ratings, and its counts of pairs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..store import Project, array_of, cache
from ._basis import Basis
from ._grading_progress import failed_pairs
from ._labels import pooled_ratings
from ._rules import MISSING, labels_of, weights_that_count


def pool_summary(project: Project, base: Basis | None) -> pa.Table:
    """Return a summary of every passage of the pool under a policy.

    Returns:
        query_key, passage_key, text_key, position, label (NULL without a label), given (a bit for each rating that
        occurs), rated, failed, needed and overridden (numbers of pairs).
    """
    if base is None:
        return project.table(
            "SELECT *, NULL::TINYINT AS label, 0 AS given, 0 AS rated, 0 AS failed, 0 AS needed,"
            " false AS overridden FROM pool"
        )

    return project.cached(("pool summary", base.key), lambda: _summary(project, base), cache.LABELS)


def _summary(project: Project, base: Basis) -> pa.Table:
    pool = project.table("SELECT query_key, passage_key, text_key, position FROM pool ORDER BY query_key, position")
    label = np.full(len(pool), MISSING, np.int8)
    given, rated, needed = (np.zeros(len(pool), np.int32) for _ in range(3))
    for own, ratings, weights in pooled_ratings(project, base):
        label[own] = labels_of(ratings, weights_that_count(weights, base.policy.weighted), base.policy.rule)
        here = ratings != MISSING
        given[own] = np.bitwise_or.reduce(np.where(here, 1 << ratings.clip(0).astype(np.int32), 0), axis=1)
        rated[own] = here.sum(axis=1)
        needed[own] = len(weights)
    columns = {
        "label": pa.array(label, mask=label == MISSING),
        "given": pa.array(given),
        "rated": pa.array(rated),
        "failed": pa.array(_at(pool, project.table(_counted(failed_pairs(base, weightless=True)), base.parameters))),
        "needed": pa.array(needed),
        "overridden": pa.array(_at(pool, project.table(_counted(_OVERRIDDEN), base.parameters)) > 0)
        if base.overridden
        else pa.array(np.zeros(len(pool), bool)),
    }
    for name, column in columns.items():
        pool = pool.append_column(name, column)
    return pool


_OVERRIDDEN = (
    "SELECT DISTINCT p.query_key, p.passage_key FROM current_overrides o JOIN pool p ON p.text_key = o.passage_text_key"
    " JOIN questions USING (query_key) JOIN (SELECT question_key, text_key FROM bank_at($version)) r"
    " ON r.question_key = questions.question_key AND r.text_key = o.question_text_key"
)


def _counted(pairs: str) -> str:
    return f"SELECT query_key, passage_key, count(*)::INTEGER AS n FROM ({pairs}) GROUP BY ALL"


def _at(pool: pa.Table, counted: pa.Table) -> NDArray[np.int32]:
    """Return counts of passages in the order of the pool; 0 for passages without a count."""
    known, wanted = (
        (array_of(table["query_key"]).astype(np.int64) << 32) + array_of(table["passage_key"])
        for table in (pool, counted)
    )
    order = np.argsort(known)
    found = np.zeros(len(pool), np.int32)
    found[order[np.searchsorted(known, wanted, sorter=order)]] = array_of(counted["n"])
    return found
