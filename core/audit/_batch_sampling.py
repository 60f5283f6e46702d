"""Drawing of batches: a passage's chance depends on its influence on the leaderboard and on its expected error. Chances
and seed are recorded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..errors import InputError
from ..measures.audit import FLOOR, Array, chances, draw as drawn_of, expected_spread, importance
from ..records import judgments
from ..store import Project, as_name, log, stage
from ._audit_data import Facts, gather
from ._audit_plan import measure_of
from ._audit_records import Audit, Batch, Goal, batches
from ._passage_gains import estimation

DRAW = "draw audit batch"


def weighed(facts: Facts) -> Array:
    """Return the importance of each passage for the goal: for the difference of a pair, for all differences, or for all
    scores.

    Returns:
        Shape (N,), at least 0.
    """
    goal: Goal = facts.goal
    rows = facts.weights.w
    if goal.aim == "pair":
        rows = rows[[facts.weights.systems.index(str(goal.first)), facts.weights.systems.index(str(goal.second))]]
    return importance(rows, "differences" if goal.aim in ("best", "pair") else "scores")


def draw(project: Project, audit: Audit, author: str, size: int | None = None, doubled: float = 0.0) -> Batch:
    """Draw the next batch. Each passage is drawn independently, so the number of drawn passages varies around the size.

    Existing judgments of the source count unchanged, and their passages are not drawn.

    Args:
        size: expected number of drawn passages; None for the planned number.
        doubled: share of the drawn passages that a second person also judges, to measure agreement.

    Raises:
        InputError: the audit has ended, the previous batch is open, no passages are left to draw, or a number is out
            of range.
    """
    before = batches(project, audit)
    if audit.ended:
        raise InputError("audit-ended", f"The audit '{audit.name}' has ended.", "Plan another audit.")
    if before and not before[-1].done:
        raise InputError(
            "batch-still-open",
            f"Batch {before[-1].number} has unjudged passages: {before[-1].open:,}.",
            "Judge them, or end the batch with exam audit end-batch.",
        )
    size = size or audit.batch_size
    if size < 1 or not 0 <= doubled <= 1:
        raise InputError(
            "batch-size-out-of-range",
            f"Size {size} or share of second judgments {doubled} is out of range.",
            "Use a size from 1 and a share from 0 to 1.",
        )
    facts = gather(project, audit)
    known = _known(project, audit, facts)
    if not np.isnan(known).any():
        raise InputError(
            "everything-judged",
            "No passages left to draw: every passage that affects a score is judged.",
            "End the audit. The official leaderboard of these judgments needs no correction.",
        )
    number = len(before) + 1
    sizes, how = _sizes(facts)
    eligible = np.isnan(known)
    chance = np.where(eligible, chances(sizes, float(size), FLOOR, eligible), 1.0)
    items = facts.weights.items
    drawn = drawn_of(chance, str(audit.seed), number, items) & eligible
    twice = drawn_of(np.full(len(items), doubled), f"{audit.seed} second", number, items) & drawn
    told = {
        **how,
        "measure": measure_of(audit).title,
        "floor": FLOOR,
        "expected": round(float(chance[eligible].sum()), 6),
    }
    with project.transaction(act="plan audits", author=author) as cursor:
        if cursor.execute("SELECT count(*) FROM audit_batches WHERE audit_key = ?", [audit.key]).fetchall() != [
            (len(before),)
        ]:
            raise InputError(
                "batch-drawn-meanwhile",
                "Another person has just drawn a batch.",
                "See the new batch before you draw another one.",
            )
        key = cursor.execute(
            "INSERT INTO audit_batches VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING batch_key",
            [audit.key, number, size, audit.seed, json.dumps(told), as_name(author)],
        ).fetchall()[0][0]
        columns: dict[str, Any] = {
            "query_id": [query for query, _ in items],
            "passage_id": [passage for _, passage in items],
            "chance": chance,
            "size": np.where(eligible, sizes, 0.0),
            "drawn": drawn,
            "doubled": twice,
            "known": [None if np.isnan(value) else int(value) for value in known],
        }
        types = {"query_id": "VARCHAR", "passage_id": "VARCHAR", "chance": "DOUBLE", "size": "DOUBLE",
                 "drawn": "BOOLEAN", "doubled": "BOOLEAN", "known": "INTEGER"}  # fmt: skip
        stage(cursor, "new_chances", columns, types)
        cursor.execute(
            "INSERT INTO audit_chances SELECT ?, query_key, passage_key, chance, size, drawn, doubled, known"
            " FROM new_chances JOIN queries USING (query_id) JOIN passages USING (passage_id)"
            " ORDER BY query_id, passage_id",
            [key],
        )
        log(
            cursor,
            author,
            DRAW,
            audit=audit.name,
            batch=number,
            passages=int(drawn.sum()),
            known=int((~eligible).sum()),
        )
    return batches(project, audit)[-1]


def _known(project: Project, audit: Audit, facts: Facts) -> Array:
    """Return the source's judgments; NaN for unjudged passages."""
    given = judgments(project, audit.source)
    return np.array([float(given.get(query, {}).get(passage, np.nan)) for query, passage in facts.weights.items])


def _sizes(facts: Facts) -> tuple[Array, dict[str, str]]:
    """Return the sizes to which chances are proportional, and a record of how they were computed.

    The first batch has no residuals, so its sizes depend on importance only.
    """
    found = estimation(facts)
    if found is None:
        return weighed(facts), {"spread": "alike"}
    spread = expected_spread(found.pool, found.batches, found.planned, found.gains, found.predicted)
    return weighed(facts) * spread, {"spread": "learnt from the batches before"}
