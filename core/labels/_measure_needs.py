"""The pairs that a measure needs: their counts, and the queries with ungraded pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bank import bank_for
from ..measures import Measure
from ..store import Project, cache
from . import Basis, pooled_labels, pooled_passages, ungraded_pairs


def pairs_needed(project: Project, base: Basis, measure: Measure) -> dict[str, Any]:
    """Count the pairs that a measure needs: of the whole pool, or of the top ranks if it depends only on them.

    Returns:
        The values of four fields of `Leaderboard`: needed, usable, ungraded and imported.
    """

    def compute() -> dict[str, Any]:
        labels, pool, open_pairs = pooled_labels(project, base), pooled_passages(project), ungraded_pairs(project, base)
        query_ids = pool["query_id"].to_pylist()
        seen = seen_by(project, measure, query_ids, pool["passage_id"].to_pylist())
        left = np.flatnonzero(seen & (open_pairs > 0))
        ungraded: dict[str, int] = {}
        for row, n in zip(left.tolist(), open_pairs[left].tolist(), strict=True):
            ungraded[query_ids[row]] = ungraded.get(query_ids[row], 0) + n
        imported = project.value(
            "SELECT count(*) > 0 AND bool_and(state = 'imported') FROM jobs WHERE subject_key = $grader",
            {"grader": base.grader.key},
        )
        return {
            "needed": int(labels.needed[seen].sum(dtype=np.int64)),
            "usable": int(labels.usable[seen].sum(dtype=np.int64)),
            "ungraded": ungraded,
            "imported": bool(imported),
        }

    depth = measure.depth if measure.only_top else None
    return project.cached(("pairs needed", base.key, depth), compute, cache.LABELS | {"jobs"})


def seen_by(project: Project, measure: Measure, queries: list[str], passages: list[str]) -> NDArray[np.bool_]:
    """Return, for n (query, passage) of the pool, whether a measure needs each: all, or the top ranks of any run."""
    if not measure.only_top:
        return np.ones(len(queries), bool)
    top = project.cached(
        ("top of any run", measure.depth),
        lambda: set(
            project.rows(
                "SELECT DISTINCT query_id, passage_id FROM rankings JOIN queries USING (query_key)"
                " JOIN passages USING (passage_key) WHERE rank <= $cutoff",
                {"cutoff": measure.depth},
            )
        ),
        cache.COLLECTION,
    )
    return np.fromiter((pair in top for pair in zip(queries, passages, strict=True)), bool, len(queries))


def queries_with_questions(project: Project, base: Basis) -> list[str]:
    def compute() -> list[str]:
        rows = project.rows(
            f"SELECT query_id FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key)"
            f" WHERE $grader IS NOT NULL AND query_key NOT IN (FROM answered_by_topic())"
            " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
            base.parameters,
        )
        return [query for (query,) in rows]

    key = ("queries with questions", base.grader.key, base.version)
    return project.cached(key, compute, cache.ASKED)
