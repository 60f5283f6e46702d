"""All data behind an audited leaderboard, collected from a project or read from a file in a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bank import find_grader
from ..labels import Basis, Policy, basis, graded_pairs, labels
from ..measures.audit import Array, Weights, linear_measure
from ..store import Project
from ._audit_plan import Ranked, measure_of, ranks_of, weights_from
from ._audit_records import LAST_SAID, Audit, Goal, batches

Values = NDArray[np.float64]
"""A value for each passage; NaN if missing, which is not 0."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A batch, with arrays over the N passages that could be drawn.

    Args:
        size: expected number of drawn passages.
        chances: chance of each passage; 1 if it was known before.
        sizes: the sizes to which chances are proportional before they are capped.
        drawn, doubled: whether each passage was drawn, and whether a second person is to judge it.
        known: earlier judgments of the source.
        first, second: judgments of the first and the second person.
        looked: number of drawn passages whose label a person asked for.
        done: whether nothing is left to judge.
        design: how the chances were computed.
    """

    number: int
    size: int
    chances: Array
    sizes: Array
    drawn: NDArray[np.bool_]
    doubled: NDArray[np.bool_]
    known: Values
    first: Values
    second: Values
    looked: int
    done: bool
    design: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Facts:
    """An audit as numbers, for N passages and S systems.

    Args:
        ranks: ranks at the time of planning. The `weights` of the systems are derived from them; all arrays over
            passages are in the order of the weights.
        labels: the grader's labels, NaN if missing. `top_rating` is the highest possible label.
        min_rating, min_judgment: the values from which a label and a judgment are relevant, for binary measures.
        top_judgment: the highest possible judgment.
        columns: predictors of judgments, by name.
        batches: the batches, in order.
    """

    name: str
    measure: str
    goal: Goal
    source: str
    batch_size: int
    looks: int
    alpha: float
    seed: int
    ranks: Sequence[Ranked]
    weights: Weights
    labels: Values
    top_rating: int
    min_rating: int
    min_judgment: int
    top_judgment: int
    columns: Mapping[str, Values]
    batches: Sequence[Drawn]

    def gains(self, values: Values) -> Values:
        """Return the gains of judgments: 1 or 0 for a binary measure, else the judgment, or 0 if it is negative."""
        if linear_measure(self.measure).binary:
            return np.where(np.isnan(values), np.nan, values >= self.min_judgment)
        return np.maximum(values, 0.0)

    @property
    def top_gain(self) -> float:
        """The highest gain."""
        return 1.0 if linear_measure(self.measure).binary else float(self.top_judgment)

    @property
    def machine(self) -> Array:
        """The gains of labels. For a binary measure, the gain is 1 from the min rating. For other measures, it is the
        label, rescaled from the grader's scale to the scale of judgments. A missing label has gain 0, as on the
        grader's leaderboard.
        """
        if linear_measure(self.measure).binary:
            return np.asarray(self.labels >= self.min_rating, float)
        share: Array = np.nan_to_num(self.labels) / self.top_rating
        return share * self.top_judgment

    @property
    def judged(self) -> Values:
        """The judgments known before or given in a finished batch; NaN for other passages."""
        found = np.full(len(self.weights.items), np.nan)
        for batch in self.batches:
            for values in (batch.known, batch.first if batch.done else np.full_like(batch.first, np.nan)):
                found = np.where(np.isnan(values), found, values)
        return found


def gather(project: Project, audit: Audit) -> Facts:
    """Return the current facts of an audit."""
    return project.cached(("audit facts", audit.key), lambda: _gather(project, audit))


def _gather(project: Project, audit: Audit) -> Facts:
    ranks = ranks_of(project, audit)
    weights = weights_from(ranks, audit.runs, measure_of(audit), len(audit.queries))
    column = {item: i for i, item in enumerate(weights.items)}
    base = basis(project, audit.policy)
    return Facts(
        name=audit.name,
        measure=audit.measure,
        goal=audit.goal,
        source=audit.source,
        batch_size=audit.batch_size,
        looks=audit.looks,
        alpha=audit.alpha,
        seed=audit.seed,
        ranks=ranks,
        weights=weights,
        labels=labels_of(project, audit, audit.graders[0], column),
        top_rating=base.grader.spec.max_rating,
        min_rating=base.min_rating,
        min_judgment=audit.policy.min_judgment,
        top_judgment=audit.highest,
        columns=columns_of(project, audit, audit.graders, column),
        batches=_drawn(project, audit, column),
    )


def basis_of(project: Project, audit: Audit, grader: str) -> Basis:
    """Return the basis of the labels of a grader. The audit's rating rule counts only for its own grader."""
    rating = audit.policy.rating if grader == audit.policy.grader else Policy.rating
    return basis(project, replace(audit.policy, grader=grader, rating=rating))


def labels_of(project: Project, audit: Audit, grader: str, column: Mapping[tuple[str, str], int]) -> Values:
    """Return the labels of a grader for the passages of an audit; NaN if missing."""
    table = labels(project, basis_of(project, audit, grader)).dropna(subset=["label"])
    found = np.full(len(column), np.nan)
    for query, passage, label in zip(table["query_id"], table["passage_id"], table["label"].astype(int), strict=True):
        if (at := column.get((query, passage))) is not None:
            found[at] = label
    return found


def columns_of(
    project: Project, audit: Audit, graders: Sequence[str], column: Mapping[tuple[str, str], int]
) -> dict[str, Values]:
    """Return, for each grader, its label, mean rating, mean squared rating and number of answered questions."""
    found: dict[str, Values] = {}
    for fingerprint in graders:
        name = find_grader(project, fingerprint).spec.name
        base = basis_of(project, audit, fingerprint)
        mean, square, answered = (np.full(len(column), np.nan) for _ in range(3))
        for query, passage, *numbers in project.rows(
            "SELECT query_id, passage_id, avg(rating), avg(rating * rating),"
            f" count(*) FILTER (rating >= {base.min_rating:d}) FROM ({graded_pairs(base)})"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE rating IS NOT NULL AND weight > 0 GROUP BY ALL",
            base.parameters,
        ):
            if (at := column.get((query, passage))) is not None:
                mean[at], square[at], answered[at] = numbers
        found[f"label by {name}"] = labels_of(project, audit, fingerprint, column)
        found |= {f"mean rating by {name}": mean, f"mean squared rating by {name}": square}
        found[f"answered by {name}"] = answered
    return found


def _drawn(project: Project, audit: Audit, column: Mapping[tuple[str, str], int]) -> list[Drawn]:
    n = len(column)
    found: dict[int, Drawn] = {}
    kept = {batch.key: batch for batch in batches(project, audit)}
    for key, query, passage, chance, size, drawn, doubled, known, first, second in project.rows(
        f"WITH said AS (FROM {LAST_SAID} WHERE said = 'judged')"
        " SELECT c.batch_key, query_id, passage_id, chance, c.size, drawn, doubled, known, a.value, b.value"
        " FROM audit_chances c JOIN audit_batches USING (batch_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 1) a USING (batch_key, query_key, passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 2) b USING (batch_key, query_key, passage_key) WHERE audit_key = ?",
        [audit.key],
    ):
        if key not in found:
            batch = kept[key]
            found[key] = Drawn(
                batch.number,
                batch.size,
                chances=np.zeros(n),
                sizes=np.zeros(n),
                drawn=np.zeros(n, bool),
                doubled=np.zeros(n, bool),
                known=np.full(n, np.nan),
                first=np.full(n, np.nan),
                second=np.full(n, np.nan),
                looked=0,
                done=batch.done,
                design=batch.design,
            )
        one, at = found[key], column[query, passage]
        one.chances[at], one.sizes[at], one.drawn[at], one.doubled[at] = chance, size, drawn, doubled
        for values, value in ((one.known, known), (one.first, first), (one.second, second)):
            values[at] = np.nan if value is None else value
    looked = dict(
        project.rows(
            "SELECT batch_key, count(DISTINCT (query_key, passage_key)) FROM audit_looks JOIN audit_batches USING"
            " (batch_key) WHERE audit_key = ? GROUP BY 1",
            [audit.key],
        )
    )
    return [replace(found[key], looked=looked.get(key, 0)) for key in sorted(found, key=lambda one: kept[one].number)]
