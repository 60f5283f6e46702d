"""Progress of grading: numbers of graded and ungraded pairs that labels need, in total and by query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..bank import bank_for
from ..records import visible
from ..store import Project, array_of, cache
from ._basis import Basis
from ._labels import label_pairs, pooled_labels, pooled_passages
from ._ratings import graded, graded_pairs, overriding
from ._rules import MISSING

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
        stale_overrides: number of overrides that do not count, because their active question was reworded later.
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

    @property
    def share(self) -> float | None:
        """The share of the needed pairs with a rating; None if `needed` is 0."""
        return self.rated / self.needed if self.needed else None


@dataclass(frozen=True)
class Progress(PairCounts):
    """The counts of a policy's pairs, with ungraded pairs by query and passages by label.

    Args:
        ungraded_of: number of ungraded pairs by query id, for queries with any, in pool order.
        labels: number of pooled passages by label, highest first; the key None is for passages without a label.
    """

    ungraded_of: dict[str, int] = field(default_factory=dict)
    labels: dict[int | None, int] = field(default_factory=dict)


def progress(project: Project, base: Basis) -> Progress:
    """Return the progress of grading the pairs behind the labels of a policy; cached until any of it changes."""
    reads = cache.LABELS | cache.JUDGMENTS | {"overrides"}
    return project.cached(("progress", base.key), lambda: _progress(project, base), reads)


def _progress(project: Project, base: Basis) -> Progress:
    found, pool = pooled_labels(project, base), pooled_passages(project)
    query, textless = array_of(pool["query_key"]), array_of(pool["text_key"]) == MISSING
    overridden = stale = 0
    if base.overridden:
        overridden = project.value(
            f"SELECT count(*) FROM {overriding(base)} o"
            f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = o.question_text_key"
            " JOIN pool p ON p.query_key = b.query_key AND p.text_key = o.passage_text_key WHERE weight > 0",
            base.parameters,
        )
        stale = project.value(
            f"SELECT count(*) FROM {visible(project, 'overrides')} o JOIN bank_at($version) r USING (question_key)"
            " WHERE withdrawn_at IS NULL AND active AND o.question_text_key <> r.text_key",
            {"version": base.version},
        )
    open_pairs = ungraded_pairs(project, base)
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    query_ids = [pool["query_id"][row].as_py() for row in starts.tolist()]
    open_of = np.add.reduceat(open_pairs, starts, dtype=np.int64) if len(starts) else starts
    labelled = found.labels != MISSING
    values, counts = np.unique(found.labels[labelled], return_counts=True)
    needed, usable = label_pairs(project, base)
    ungraded = int(open_pairs.sum(dtype=np.int64))
    without_text = int(found.needed[textless].sum(dtype=np.int64))
    return Progress(
        needed=needed,
        graded=usable - overridden,
        failed=needed - usable - ungraded - without_text,
        ungraded=ungraded,
        without_text=without_text,
        overridden=overridden,
        stale_overrides=stale,
        partial_labels=int((labelled & (found.usable < found.needed)).sum()),
        ungraded_of={query_id: n for query_id, n in zip(query_ids, open_of.tolist(), strict=True) if n > 0},
        labels=dict(zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True))
        | {None: int((found.here & ~labelled).sum())},
    )


def ungraded_pairs(project: Project, base: Basis) -> NDArray[np.int32]:
    """Return the number of ungraded pairs of each pooled passage, in the order of `pooled_passages`. Pairs that cannot
    be graded are not counted."""

    def compute() -> NDArray[np.int32]:
        found, pool = pooled_labels(project, base), pooled_passages(project)
        open_pairs = found.needed - found.usable
        open_pairs[array_of(pool["text_key"]) == MISSING] = 0
        failed = project.rows(
            f"SELECT query_id, passage_id FROM ({failed_pairs(base)}) JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key)",
            base.parameters,
        )
        if failed:
            counts = Counter(failed)
            pairs = zip(pool["query_id"].to_pylist(), pool["passage_id"].to_pylist(), strict=True)
            open_pairs -= np.fromiter((counts[pair] for pair in pairs), np.int32, len(pool))
        return open_pairs

    return project.cached(("ungraded pairs", base.key), compute, cache.LABELS)


def failed_pairs(base: Basis, weightless: bool = False) -> str:
    """Return SQL for the needed pairs that were graded without a usable rating: query_key, question_key, passage_key.

    Args:
        weightless: include pairs that no label needs, because their questions weigh 0 or less.
    """
    failed = "(SELECT DISTINCT question_text_key, passage_text_key FROM failures WHERE grader_key = $grader)"
    return (
        f"SELECT p.query_key, b.question_key, p.passage_key FROM {failed} f"
        # Few pairs fail, so only their grades are read.
        f" ANTI JOIN (FROM {graded(base)} SEMI JOIN {failed} USING (question_text_key, passage_text_key)) g"
        " USING (question_text_key, passage_text_key)"
        + (f" ANTI JOIN {overriding(base)} o USING (question_text_key, passage_text_key)" if base.overridden else "")
        + f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = f.question_text_key"
        " JOIN pool p ON p.query_key = b.query_key AND p.text_key = f.passage_text_key"
        + ("" if weightless else " WHERE b.weight > 0")
    )


def grades_table(project: Project, base: Basis) -> pd.DataFrame:
    """Return every pair of an active question and a pooled passage, with the rating that counts.

    Returns:
        query_id, question_id, doc_id, rating (NA unless graded) and state: graded, failed or ungraded; by query and
        in pool order.
    """
    import pandas as pd

    # The question of a direct grader is the query itself.
    ids = "(SELECT question_key, question_id FROM questions UNION ALL SELECT query_key, query_id FROM queries)"
    found = project.table(
        "SELECT query_id, question_id, passage_id AS doc_id, rating,"
        " CASE WHEN rating IS NOT NULL THEN 'graded' WHEN f.question_key IS NULL THEN 'ungraded' ELSE 'failed' END"
        f" AS state FROM ({graded_pairs(base)}) g LEFT JOIN ({failed_pairs(base, weightless=True)}) f"
        " USING (query_key, question_key, passage_key) JOIN queries USING (query_key)"
        f" JOIN passages USING (passage_key) JOIN {ids} USING (question_key)"
        " ORDER BY query_key, position, question_key",
        base.parameters,
    )
    table: pd.DataFrame = found.to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
    return table
