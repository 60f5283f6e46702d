"""All that a cascade's labels are computed from, gathered from a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.bank import bank_for
from core.cascade.records import Cascade
from core.catalogue import find_grader
from core.grading import Scope, make_plan
from core.labels import Basis, basis, ratings
from core.project import Project

Array = NDArray[np.float64]
Keys = NDArray[np.int64]

CODE = "((p.query_key::BIGINT << 32) + p.passage_key)"
"""Names a pooled passage of a query by one number."""


@dataclass(frozen=True)
class Facts:
    """What is known of each of the N passages of the pool, in its order.

    Args:
        codes: shape (N,), see `CODE`.
        query_ids, passage_ids: N each.
        x: shape (N, 4), features of the cheap grader: label, mean rating, mean square, how many questions are answered;
            NaN where it gave nothing.
        expensive: shape (N,), labels of the expensive grader; NaN where there is none.
        weight, depth: shape (N,), as the plan froze them; 0 for what no system had within the cutoff.
        learned, tested: shape (N,), how often the sample drew it.
        top, min_rating: of the expensive grader's scale.
        sample_open: pairs of the sample that were never asked.
    """

    codes: Keys
    query_ids: Sequence[str]
    passage_ids: Sequence[str]
    x: Array
    expensive: Array
    weight: Array
    depth: Keys
    learned: Keys
    tested: Keys
    top: int
    min_rating: int
    sample_open: int

    def pairs(self, chosen: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
        """(query key, passage key) of passages, as `Scope` takes them.

        Args:
            chosen: shape (N,).
        """
        return tuple((code >> 32, code & 0xFFFFFFFF) for code in self.codes[chosen].tolist())


def gather(project: Project, cascade: Cascade) -> Facts:
    """The facts of a cascade as they are now."""
    return project.remember(("cascade facts", cascade.key), lambda: _gather(project, cascade))


def _gather(project: Project, cascade: Cascade) -> Facts:
    pool = project.table(
        f"SELECT {CODE} AS code, query_id, passage_id, coalesce(weight, 0) AS weight, coalesce(depth, 0) AS depth,"
        " coalesce(learned, 0) AS learned, coalesce(tested, 0) AS tested FROM pool p"
        " LEFT JOIN (FROM cascade_passages WHERE cascade_key = $cascade) USING (query_key, passage_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY p.query_key, p.position",
        {"cascade": cascade.key},
    )
    codes = pool["code"].to_numpy().astype(np.int64)
    place = np.argsort(codes)
    cheap = basis(project, replace(cascade.policy, grader=cascade.cheap))
    expensive = basis(project, cascade.policy)
    features = f"avg(rating), avg(rating * rating), count(*) FILTER (rating >= {cheap.min_rating:d})"
    learned, tested = (pool[name].to_numpy().astype(np.int64) for name in ("learned", "tested"))
    facts = Facts(
        codes=codes,
        query_ids=pool["query_id"].to_pylist(),
        passage_ids=pool["passage_id"].to_pylist(),
        x=_columns(project, cheap, f"{cheap.label_sql}, {features}", 4, codes, place),
        expensive=_columns(project, expensive, expensive.label_sql, 1, codes, place)[:, 0],
        weight=pool["weight"].to_numpy().astype(float),
        depth=pool["depth"].to_numpy().astype(np.int64),
        learned=learned,
        tested=tested,
        top=expensive.grader.spec.max_rating,
        min_rating=expensive.min_rating,
        sample_open=0,
    )
    sample = Scope(passages=facts.pairs(learned + tested > 0))
    spec = find_grader(project, cascade.expensive).spec
    return replace(facts, sample_open=make_plan(project, spec, expensive.version, sample).to_grade)


def _columns(project: Project, base: Basis, what: str, width: int, codes: Keys, place: Keys) -> Array:
    """Numbers of each pooled passage over its pairs of positive weight, N x width; NaN where it has none."""
    found = np.full((len(codes), width), np.nan)
    rated = project.table(
        f"SELECT {CODE} AS code, {what} FROM {ratings(base)} g JOIN {bank_for(base.grader.spec)} b"
        " ON b.text_key = g.question_text_key JOIN pool p ON p.query_key = b.query_key AND p.text_key ="
        " g.passage_text_key WHERE weight > 0 GROUP BY code",
        base.parameters,
    )
    if rated.num_rows:
        rows = place[np.searchsorted(codes, rated.column(0).to_numpy(), sorter=place)]
        for column in range(width):
            found[rows, column] = rated.column(column + 1).to_numpy().astype(float)
    return found
