"""The data behind an audited leaderboard, estimated gains, and the drawing of batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..bank import find_grader
from ..errors import InputError, check_in_range
from ..labels import Basis, Policy, basis, graded_pairs, label_qrels
from ..measures.audit import (
    FLOOR,
    Array,
    Batch as JudgedBatch,
    CorrectedGains,
    Flags,
    Pool,
    Weights,
    correct_gains,
    draw_sample as drawn_of,
    expected_spread,
    inclusion_chances,
    linear_measure,
    passage_importance,
    planned_chances,
    pool_of,
    predict_batches,
)
from ..records import Qrels, source_judgments
from ..store import Project, as_name, cached, lend_table, log_action, table_of
from ._audit_plan import Ranked, ranks_of, weights_from
from ._audit_records import LAST_SAID, Audit, Batch, Goal, list_batches

Values = Array
"""A value for each passage; NaN if missing, which is not 0."""


@dataclass(frozen=True, eq=False)
class DrawnBatch:
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
    drawn: Flags
    doubled: Flags
    known: Values
    first: Values
    second: Values
    looked: int
    done: bool
    design: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class AuditNumbers:
    """An audit as numbers, for N passages and S systems.

    Args:
        ranks: ranks at the time of planning. The `weights` of the systems are derived from them;
            all arrays over passages are in the order of the weights.
        labels: the grader's labels, NaN if missing. `top_rating` is the highest possible label.
        min_rating, min_judgment: the values from which a label and a judgment are relevant, for
            binary measures.
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
    batches: Sequence[DrawnBatch]

    def gains(self, values: Values) -> Values:
        """Return the gains of judgments: 1 or 0 for a binary measure, else the judgment, or 0 if it
        is negative.
        """
        if linear_measure(self.measure).binary:
            return np.where(np.isnan(values), np.nan, values >= self.min_judgment)
        return np.maximum(values, 0.0)

    @property
    def top_gain(self) -> float:
        """The highest gain."""
        return 1.0 if linear_measure(self.measure).binary else float(self.top_judgment)

    @property
    def machine(self) -> Array:
        """The gains of labels. For a binary measure, the gain is 1 from the min rating. For other
        measures, it is the label, rescaled from the grader's scale to the scale of judgments. A
        missing label has gain 0, as on the grader's leaderboard.
        """
        if linear_measure(self.measure).binary:
            return np.asarray(self.labels >= self.min_rating, float)
        share: Array = np.nan_to_num(self.labels) / self.top_rating
        return share * self.top_judgment

    @property
    def judged(self) -> Values:
        """The judgments known before or given in a finished batch; NaN for other passages."""
        combined = np.full(len(self.weights.items), np.nan)
        for batch in self.batches:
            for values in (
                batch.known,
                batch.first if batch.done else np.full_like(batch.first, np.nan),
            ):
                combined = np.where(np.isnan(values), combined, values)
        return combined


@cached()
def gather_facts(project: Project, audit: Audit) -> AuditNumbers:
    """Return the current facts of an audit."""
    ranks = ranks_of(project, audit)
    weights = weights_from(ranks, audit.runs, linear_measure(audit.measure), len(audit.queries))
    column = {item: i for i, item in enumerate(weights.items)}
    base = basis(project, audit.policy)
    return AuditNumbers(
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
        labels=labels_of(project, audit, audit.graders[0], weights.items),
        top_rating=base.grader.spec.max_rating,
        min_rating=base.min_rating,
        min_judgment=audit.policy.min_judgment,
        top_judgment=audit.highest,
        columns=columns_of(project, audit, audit.graders, weights.items),
        batches=_drawn_batches(project, audit, column),
    )


def basis_of(project: Project, audit: Audit, grader: str) -> Basis:
    """Return the basis of the labels of a grader. The audit's rating rule counts only for its own
    grader.
    """
    rating = audit.policy.rating if grader == audit.policy.grader else Policy.rating
    return basis(project, replace(audit.policy, grader=grader, rating=rating))


def values_of(qrels: Qrels, items: Iterable[tuple[str, str]]) -> Values:
    """Return the values of passages; NaN if missing."""
    return np.array([float(qrels.get(query, {}).get(passage, np.nan)) for query, passage in items])


def labels_of(
    project: Project, audit: Audit, grader: str, items: Iterable[tuple[str, str]]
) -> Values:
    """Return the labels of a grader for the passages of an audit; NaN if missing."""
    return values_of(label_qrels(project, basis_of(project, audit, grader)), items)


def columns_of(
    project: Project, audit: Audit, graders: Sequence[str], items: Sequence[tuple[str, str]]
) -> dict[str, Values]:
    """Return, for each grader, its label, mean rating, mean squared rating and number of answered
    questions.
    """
    values_by_name: dict[str, Values] = {}
    for fingerprint in graders:
        name = find_grader(project, fingerprint).spec.name
        base = basis_of(project, audit, fingerprint)
        rows = project.rows(
            "SELECT query_id, passage_id, avg(rating), avg(rating * rating),"
            f" count(*) FILTER (rating >= {base.min_rating:d}) FROM ({graded_pairs(base)})"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE rating IS NOT NULL AND weight > 0 GROUP BY ALL",
            base.parameters,
        )
        numbers = {(query, passage): values for query, passage, *values in rows}
        mean, square, answered = (
            np.array([numbers.get(item, [None] * 3) for item in items], float).reshape(-1, 3).T
        )
        values_by_name |= {
            f"label by {name}": labels_of(project, audit, fingerprint, items),
            f"mean rating by {name}": mean,
            f"mean squared rating by {name}": square,
            f"answered by {name}": answered,
        }
    return values_by_name


def _drawn_batches(
    project: Project, audit: Audit, column: Mapping[tuple[str, str], int]
) -> list[DrawnBatch]:
    n = len(column)
    looked = dict(
        project.rows(
            "SELECT batch_key, count(DISTINCT (query_key, passage_key)) FROM audit_looks"
            " JOIN audit_batches USING (batch_key) WHERE audit_key = ? GROUP BY 1",
            [audit.key],
        )
    )
    by_key = {
        batch.key: DrawnBatch(
            batch.number,
            batch.size,
            chances=np.zeros(n),
            sizes=np.zeros(n),
            drawn=np.zeros(n, bool),
            doubled=np.zeros(n, bool),
            known=np.full(n, np.nan),
            first=np.full(n, np.nan),
            second=np.full(n, np.nan),
            looked=looked.get(batch.key, 0),
            done=batch.done,
            design=batch.design,
        )
        for batch in list_batches(project, audit)
    }
    for (
        key,
        query,
        passage,
        chance,
        size,
        drawn,
        doubled,
        known_value,
        first,
        second,
    ) in project.rows(
        f"WITH said AS (FROM {LAST_SAID} WHERE said = 'judged')"
        " SELECT c.batch_key, query_id, passage_id, chance, c.size, drawn, doubled, known,"
        " a.value, b.value"
        " FROM audit_chances c JOIN audit_batches USING (batch_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 1) a USING (batch_key, query_key, passage_key)"
        " LEFT JOIN (FROM said WHERE turn = 2) b USING (batch_key, query_key, passage_key)"
        " WHERE audit_key = ?",
        [audit.key],
    ):
        entry, at = by_key[key], column[query, passage]
        entry.chances[at], entry.sizes[at], entry.drawn[at], entry.doubled[at] = (
            chance,
            size,
            drawn,
            doubled,
        )
        for values, value in (
            (entry.known, known_value),
            (entry.first, first),
            (entry.second, second),
        ):
            values[at] = np.nan if value is None else value
    return list(by_key.values())


PLANNED = 50
"""Minimum number of batches for which shares are planned, independently of the number of looks."""


@dataclass(frozen=True, eq=False)
class Estimation:
    """The audited gains of passages, with their inputs.

    Args:
        batches: the finished batches.
        planned: chances of the batches as planned before the first batch; they determine the shares
            of batches.
        gains: gains of the judged passages; NaN for other passages.
        predicted: predictions from graders or ranks.
        corrected: estimates from gains and predictions.
    """

    facts: AuditNumbers
    pool: Pool
    batches: Sequence[JudgedBatch]
    planned: Array
    gains: Array
    predicted: Array
    corrected: CorrectedGains


def estimate_gains(facts: AuditNumbers, machine: bool = True) -> Estimation | None:
    """Estimate the gain of every passage from finished batches; None without finished batches.

    Args:
        machine: whether to predict judgments also from graders; otherwise only from ranks and other
            judgments. The estimates are unbiased in both cases.
    """
    finished = [batch for batch in facts.batches if batch.done]
    if not finished:
        return None
    first = facts.batches[0]
    pool = pool_of(facts.weights, facts.columns if machine else {})
    # Shares are fixed before anything is drawn, so that they do not depend on the outcome.
    size = float(first.size)
    planned = planned_chances(
        first.sizes, [size] * max(facts.looks, len(finished), PLANNED), known=~np.isnan(first.known)
    )
    judged = [
        JudgedBatch(
            batch.chances, batch.drawn, batch.drawn & ~np.isnan(batch.first), ~np.isnan(batch.known)
        )
        for batch in finished
    ]
    gains = facts.gains(facts.judged)
    predicted = predict_batches(pool, judged, planned, gains)
    return Estimation(
        facts,
        pool,
        judged,
        planned,
        gains,
        predicted,
        correct_gains(judged, planned, gains, predicted),
    )


DRAW = "draw audit batch"


def weigh_passages(facts: AuditNumbers) -> Array:
    """Return the importance of each passage for the goal: for the difference of a pair, for all
    differences, or for all scores.

    Returns:
        Shape (N,), at least 0.
    """
    goal: Goal = facts.goal
    rows = facts.weights.w
    if goal.aim == "pair":
        rows = rows[
            [
                facts.weights.systems.index(str(goal.first)),
                facts.weights.systems.index(str(goal.second)),
            ]
        ]
    return passage_importance(rows, "differences" if goal.aim in ("best", "pair") else "scores")


def draw_batch(
    project: Project, audit: Audit, author: str, size: int | None = None, doubled: float = 0.0
) -> Batch:
    """Draw the next batch. Each passage is drawn independently, so the number of drawn passages
    varies around the size.

    Existing judgments of the source count unchanged, and their passages are not drawn.

    Args:
        size: expected number of drawn passages; None for the planned number.
        doubled: share of the drawn passages that a second person also judges, to measure agreement.

    Raises:
        InputError: the audit has ended, the previous batch is open, no passages are left to draw,
            or a number is out of range.
    """
    before = list_batches(project, audit)
    if audit.ended:
        raise InputError("audit-ended", f"The audit '{audit.name}' has ended.", audit.next_step)
    if before and not before[-1].done:
        raise InputError(
            "batch-still-open",
            f"Batch {before[-1].number} has unjudged passages: {before[-1].open:,}.",
            f"Judge them, or end the batch with exam audit end-batch {audit.option}.",
        )
    size = size or audit.batch_size
    check_in_range(
        "batch-size-out-of-range",
        f"Size {size} or share of second judgments {doubled}",
        "Use a size from 1 and a share from 0 to 1.",
        size >= 1 and 0 <= doubled <= 1,
    )
    facts = gather_facts(project, audit)
    items = facts.weights.items
    known_values = values_of(source_judgments(project, audit.source), items)
    if not np.isnan(known_values).any():
        raise InputError(
            "everything-judged",
            "No passages left to draw: every passage that affects a score is judged.",
            "End the audit. The official leaderboard of these judgments needs no correction.",
        )
    number = len(before) + 1
    sizes, how = _draw_sizes(facts)
    eligible = np.isnan(known_values)
    chance = np.where(eligible, inclusion_chances(sizes, float(size), FLOOR, eligible), 1.0)
    drawn = drawn_of(chance, str(audit.seed), number, items) & eligible
    twice = drawn_of(np.full(len(items), doubled), f"{audit.seed} second", number, items) & drawn
    design = {
        **how,
        "measure": audit.measure_title,
        "floor": FLOOR,
        "expected": round(float(chance[eligible].sum()), 6),
    }
    with project.transaction(act="plan audits", author=author) as cursor:
        if cursor.execute(
            "SELECT count(*) FROM audit_batches WHERE audit_key = ?", [audit.key]
        ).fetchall() != [(len(before),)]:
            raise InputError(
                "batch-drawn-meanwhile",
                "Another person has just drawn a batch.",
                "See the new batch before you draw another one.",
            )
        key = cursor.execute(
            "INSERT INTO audit_batches VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING batch_key",
            [audit.key, number, size, audit.seed, json.dumps(design), as_name(author)],
        ).fetchall()[0][0]
        columns: dict[str, Any] = {
            "query_id": [query for query, _ in items],
            "passage_id": [passage for _, passage in items],
            "chance": chance,
            "size": np.where(eligible, sizes, 0.0),
            "drawn": drawn,
            "doubled": twice,
            "known": [None if np.isnan(value) else int(value) for value in known_values],
        }
        types = {
            "query_id": "VARCHAR",
            "passage_id": "VARCHAR",
            "chance": "DOUBLE",
            "size": "DOUBLE",
            "drawn": "BOOLEAN",
            "doubled": "BOOLEAN",
            "known": "INTEGER",
        }
        with lend_table(cursor, "new_chances", table_of(columns, types)):
            cursor.execute(
                "INSERT INTO audit_chances"
                " SELECT ?, query_key, passage_key, chance, size, drawn, doubled, known"
                " FROM new_chances JOIN queries USING (query_id) JOIN passages USING (passage_id)"
                " ORDER BY query_id, passage_id",
                [key],
            )
        log_action(
            cursor,
            author,
            DRAW,
            audit=audit.name,
            batch=number,
            passages=int(drawn.sum()),
            known=int((~eligible).sum()),
        )
    return list_batches(project, audit)[-1]


def _draw_sizes(facts: AuditNumbers) -> tuple[Array, dict[str, str]]:
    """Return the sizes to which chances are proportional, and a record of how they were computed.

    The first batch has no residuals, so its sizes depend on importance only.
    """
    estimated = estimate_gains(facts)
    if estimated is None:
        return weigh_passages(facts), {"spread": "alike"}
    spread = expected_spread(
        estimated.pool, estimated.batches, estimated.planned, estimated.gains, estimated.predicted
    )
    return weigh_passages(facts) * spread, {"spread": "learnt from the batches before"}
