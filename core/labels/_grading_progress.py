"""Progress of grading: the pairs that labels and measures need, and their states."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..bank import bank_for, speaking_passages
from ..measures import Measure
from ..records import visible_rows
from ..store import Project, array_of, as_act, cache, cached
from ._basis import MISSING, Basis, graded_pairs, graded_sql, overriding_sql
from ._labels import label_pairs, pooled_labels, pooled_passages, pooled_ratings

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PairCounts:
    """Numbers of needed pairs: a pooled passage with an active question of positive weight.

    Each pair is graded, failed, ungraded, without text or overridden.

    Args:
        needed: all these pairs.
        graded: pairs whose rating is a usable grade of the grader.
        failed: pairs that were graded without a usable result.
        ungraded: pairs that were never graded, but can be graded.
        without_text: pairs that cannot be graded, because the text of the passage is missing.
        overridden: pairs whose rating is an override.
        stale_overrides: number of overrides that do not count, because their active question was
            reworded later.
        partial_labels: number of labels with pairs without a rating.
    """

    needed: int
    graded: int
    failed: int
    ungraded: int
    without_text: int
    overridden: int
    stale_overrides: int
    partial_labels: int

    @property
    def rated(self) -> int:
        """Number of pairs with a rating, from the grader or from people."""
        return self.graded + self.overridden


@dataclass(frozen=True)
class Progress(PairCounts):
    """The counts of a policy's pairs, with ungraded pairs by query and passages by label.

    Args:
        ungraded_of: number of ungraded pairs by query id, for queries with any, in pool order.
        labels: number of pooled passages by label, highest first; the key None is for passages
            without a label.
    """

    ungraded_of: dict[str, int] = field(default_factory=dict)
    labels: dict[int | None, int] = field(default_factory=dict)


@cached(cache.LABELS | cache.JUDGMENTS | {"overrides"})
def grading_progress(project: Project, base: Basis) -> Progress:
    """Return the progress of grading the pairs behind the labels of a policy; cached until any of
    it changes.
    """
    pooled = pooled_labels(project, base)
    textless = array_of(pooled_passages(project)["text_key"]) == MISSING
    overridden = stale = 0
    if base.overridden:
        overridden = project.value(
            f"SELECT count(*) FROM {overriding_sql(base)} o"
            f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = o.question_text_key"
            " JOIN pool p ON p.query_key = b.query_key AND p.text_key = o.passage_text_key"
            " WHERE weight > 0",
            base.parameters,
        )
        stale = project.value(
            f"SELECT count(*) FROM {visible_rows(project, 'overrides')} o JOIN bank_at($version) r"
            " USING (question_key)"
            " WHERE withdrawn_at IS NULL AND active AND o.question_text_key <> r.text_key",
            {"version": base.version},
        )
    open_pairs = ungraded_pairs(project, base)
    labelled = pooled.labels != MISSING
    values, counts = np.unique(pooled.labels[labelled], return_counts=True)
    needed, usable = label_pairs(project, base)
    ungraded = int(open_pairs.sum(dtype=np.int64))
    without_text = int(pooled.needed[textless].sum(dtype=np.int64))
    return Progress(
        needed=needed,
        graded=usable - overridden,
        failed=needed - usable - ungraded - without_text,
        ungraded=ungraded,
        without_text=without_text,
        overridden=overridden,
        stale_overrides=stale,
        partial_labels=int((labelled & (pooled.usable < pooled.needed)).sum()),
        ungraded_of=_sum_by_query(project, open_pairs),
        labels=dict(zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True))
        | {None: int((pooled.here & ~labelled).sum())},
    )


def _sum_by_query(project: Project, counts: NDArray[np.int32]) -> dict[str, int]:
    """Return sums of counts of the pooled passages by query id, for sums above 0, in pool order."""
    pool = pooled_passages(project)
    starts = np.flatnonzero(np.diff(array_of(pool["query_key"]), prepend=-1))
    sums = np.add.reduceat(counts, starts, dtype=np.int64) if len(starts) else starts
    query_ids = [pool["query_id"][row].as_py() for row in starts.tolist()]
    return {query_id: n for query_id, n in zip(query_ids, sums.tolist(), strict=True) if n > 0}


@cached(cache.LABELS)
def ungraded_pairs(project: Project, base: Basis, with_avoided: bool = False) -> NDArray[np.int32]:
    """Return the number of ungraded pairs of each pooled passage, in the order of
    `pooled_passages`. Pairs that cannot be graded are not counted.

    Args:
        with_avoided: whether to count the pairs of "avoid" questions too.
    """
    pooled = pooled_labels(project, base)
    open_pairs, questions = pooled.needed - pooled.usable, "weight > 0"
    if with_avoided:
        open_pairs, questions = (
            open_pairs + pooled.needed_avoided - pooled.usable_avoided,
            "weight <> 0",
        )
    open_pairs[array_of(pooled_passages(project)["text_key"]) == MISSING] = 0
    return open_pairs - _count_in_pool(project, base, failed_pairs(base, questions))


def _count_in_pool(project: Project, base: Basis, pairs: str) -> NDArray[np.int32]:
    """Return the number of pairs of each pooled passage, in the order of `pooled_passages`.

    Args:
        pairs: SQL for the pairs over the parameters of `base`, with query_key and passage_key.
    """
    counted = project.table(
        "SELECT coalesce(n, 0)::INTEGER AS n FROM pool LEFT JOIN (SELECT query_key, passage_key,"
        f" count(*) AS n FROM ({pairs}) GROUP BY ALL) USING (query_key, passage_key)"
        " ORDER BY query_key, position",
        base.parameters,
    )
    return array_of(counted["n"])


def failed_pairs(base: Basis, questions: str = "weight > 0") -> str:
    """Return SQL for the pairs that were graded without a usable rating: query_key, question_key,
    passage_key.

    Args:
        questions: SQL condition on the columns of `bank_for`; by default, labels need the pairs.
    """
    failed = (
        "(SELECT DISTINCT question_text_key, passage_text_key FROM failures"
        " WHERE grader_key = $grader)"
    )
    return (
        f"SELECT p.query_key, b.question_key, p.passage_key FROM {failed} f"
        # Few pairs fail, so only their grades are read.
        f" ANTI JOIN (FROM {graded_sql(base)}"
        f" SEMI JOIN {failed} USING (question_text_key, passage_text_key)) g"
        " USING (question_text_key, passage_text_key)"
        + (
            f" ANTI JOIN {overriding_sql(base)} o USING (question_text_key, passage_text_key)"
            if base.overridden
            else ""
        )
        + f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = f.question_text_key"
        " JOIN pool p ON p.query_key = b.query_key AND p.text_key = f.passage_text_key"
        + f" WHERE {questions}"
    )


def grades_table(project: Project, base: Basis) -> pd.DataFrame:
    """Return every pair of an active question and a pooled passage, with the rating that counts.

    Returns:
        query_id, question_id, doc_id, rating (NA unless graded) and state: graded, failed or
        ungraded; by query and in pool order.
    """
    import pandas as pd

    # The question of a direct grader is the query itself.
    ids = (
        "(SELECT question_key, question_id FROM questions UNION ALL"
        " SELECT query_key, query_id FROM queries)"
    )
    grades = project.table(
        "SELECT query_id, question_id, passage_id AS doc_id, rating, CASE WHEN rating IS NOT NULL"
        " THEN 'graded' WHEN f.question_key IS NULL THEN 'ungraded' ELSE 'failed' END AS state"
        f" FROM ({graded_pairs(base)}) g LEFT JOIN ({failed_pairs(base, 'true')}) f"
        " USING (query_key, question_key, passage_key) JOIN queries USING (query_key)"
        f" JOIN passages USING (passage_key) JOIN {ids} USING (question_key)"
        " ORDER BY query_key, position, question_key",
        base.parameters,
    )
    table: pd.DataFrame = grades.to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
    return table


@dataclass(frozen=True)
class Readiness(PairCounts):
    """The counts behind the labels of a policy.

    Args:
        unlabelled_passages: number of pooled (query, passage) without a label.
        speaking_passages: number of pooled (query, passage) whose text addresses the grader; see
            `injection_signs`.
    """

    unlabelled_passages: int
    speaking_passages: int

    @property
    def complete(self) -> bool:
        """Whether every pair is graded or overridden and no override is stale."""
        return not (self.failed or self.ungraded or self.without_text or self.stale_overrides)


@as_act("see boards")
@cached()
def label_readiness(project: Project, base: Basis) -> Readiness:
    """Return the completeness of the labels of a policy."""
    counted = grading_progress(project, base)
    return Readiness(
        **{one.name: getattr(counted, one.name) for one in fields(PairCounts)},
        unlabelled_passages=counted.labels[None],
        speaking_passages=len(speaking_passages(project, base.version)),
    )


IMPORTED_SQL = (
    "(SELECT count(*) > 0 AND bool_and(state = 'imported') FROM jobs WHERE subject_key = $grader)"
)
"""Whether all grades of $grader were imported, so that no job will ever grade other pairs."""


def pairs_needed(project: Project, base: Basis, measure: Measure) -> dict[str, Any]:
    """Count the pairs that a measure needs: of the whole pool, or of the top ranks if it depends
    only on them.

    Coverage also needs the pairs of "avoid" questions, in queries with questions of positive
    weight.

    Returns:
        The values of four fields of `Leaderboard`: needed, usable, ungraded and imported.
    """

    def compute() -> dict[str, Any]:
        labels, open_pairs = pooled_labels(project, base), ungraded_pairs(project, base, avoided)
        in_depth = seen_by(project, depth) & (labels.needed > 0)
        needed, usable = labels.needed[in_depth], labels.usable[in_depth]
        if avoided:
            needed, usable = (
                needed + labels.needed_avoided[in_depth],
                usable + labels.usable_avoided[in_depth],
            )
        return {
            "needed": int(needed.sum(dtype=np.int64)),
            "usable": int(usable.sum(dtype=np.int64)),
            "ungraded": _sum_by_query(project, np.where(in_depth, open_pairs, 0)),
            "imported": bool(project.value(f"SELECT {IMPORTED_SQL}", {"grader": base.grader.key})),
        }

    depth, avoided = measure.needed_depth, not measure.ranks_passages
    key = ("pairs needed", base.key, depth, avoided)
    return project.cached(key, compute, cache.LABELS | {"jobs"})


@cached(cache.COLLECTION)
def seen_by(project: Project, depth: int | None) -> NDArray[np.bool_]:
    """Return for each passage of the pool, in the order of `pooled_passages`, whether a measure
    needs it.

    Args:
        depth: the measure needs this many passages at the top of every run; None for all.
    """
    flags = project.table(
        "SELECT ($depth IS NULL OR top.query_key IS NOT NULL)::TINYINT AS seen FROM pool"
        " LEFT JOIN (SELECT DISTINCT query_key, passage_key FROM rankings WHERE rank <= $depth) top"
        " USING (query_key, passage_key) ORDER BY pool.query_key, position",
        {"depth": depth},
    )
    return array_of(flags["seen"]).astype(bool)


def seen_in_query(project: Project, depth: int | None, query_id: str) -> NDArray[np.bool_]:
    """Return the part of `seen_by` that is about one query."""
    # Imported here, because it loads slowly and leaderboards do not need it.
    import pyarrow.compute as pc

    return np.compress(
        pc.equal(pooled_passages(project)["query_id"], query_id), seen_by(project, depth)
    )


def without_waiting(waiting: Collection[str], query_ids: Sequence[str]) -> list[str]:
    """Return the queries that do not wait for grades, or all queries if all wait."""
    return [query for query in query_ids if query not in waiting] or list(query_ids)


@cached(cache.ASKED)
def queries_with_questions(project: Project, base: Basis) -> list[str]:
    """Return the queries with questions of positive weight, in the order of the project."""
    rows = project.rows(
        f"SELECT query_id FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key)"
        f" WHERE $grader IS NOT NULL AND query_key NOT IN (FROM answered_by_topic())"
        " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
        base.parameters,
    )
    return [query for (query,) in rows]


@cached(cache.LABELS)
def pool_summary(project: Project, base: Basis | None) -> pa.Table:
    """Return a summary of every passage of the pool under a policy.

    Returns:
        query_key, passage_key, text_key, position, label (NULL without a label), given (a bit for
        each rating that occurs), rated, failed, needed and overridden (numbers of pairs).
    """
    if base is None:
        return project.table(
            "SELECT *, NULL::TINYINT AS label, 0 AS given, 0 AS rated, 0 AS failed, 0 AS needed,"
            " false AS overridden FROM pool"
        )
    pool = project.table(
        "SELECT query_key, passage_key, text_key, position FROM pool ORDER BY query_key, position"
    )
    label = pooled_labels(project, base).labels
    given_bits, rated, needed = (np.zeros(len(pool), np.int32) for _ in range(3))
    for own, ratings, weights in pooled_ratings(project, base):
        has_rating = ratings != MISSING
        given_bits[own] = np.bitwise_or.reduce(
            np.where(has_rating, 1 << ratings.clip(0).astype(np.int32), 0), axis=1
        )
        rated[own] = has_rating.sum(axis=1)
        needed[own] = len(weights)
    columns = {
        "label": pa.array(label, mask=label == MISSING),
        "given": pa.array(given_bits),
        "rated": pa.array(rated),
        "failed": pa.array(_count_in_pool(project, base, failed_pairs(base, "true"))),
        "needed": pa.array(needed),
        "overridden": pa.array(
            _count_in_pool(project, base, _OVERRIDDEN) > 0
            if base.overridden
            else np.zeros(len(pool), bool)
        ),
    }
    return pa.table(dict(zip(pool.column_names, pool.columns, strict=True)) | columns)


_OVERRIDDEN = (
    "SELECT DISTINCT p.query_key, p.passage_key FROM current_overrides o"
    " JOIN pool p ON p.text_key = o.passage_text_key JOIN questions USING (query_key)"
    " JOIN (SELECT question_key, text_key FROM bank_at($version)) r"
    " ON r.question_key = questions.question_key AND r.text_key = o.question_text_key"
)
