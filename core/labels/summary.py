"""What is known of every passage of the pool under a policy: label, ratings that occur, and pairs that are missing."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pyarrow as pa

from core.bank import bank_for
from core.labels.basis import Basis
from core.labels.ratings import ratings
from core.project import JUDGE, WITHDRAW, Project


def pool_summary(project: Project, base: Basis | None) -> pa.Table:
    """What is known of every passage of the pool under a policy.

    Returns:
        query_key, passage_key, text_key, position, label (NULL for none), given (a bit for each rating that
        some question has), rated, failed, needed (numbers of pairs), overridden.
    """
    if base is None:
        return project.table(
            "SELECT *, NULL::TINYINT AS label, 0 AS given, 0 AS rated, 0 AS failed, 0 AS needed,"
            " false AS overridden FROM pool"
        )

    def compute() -> pa.Table:
        asked = (
            " JOIN bank ON bank.text_key = {0}.question_text_key"
            " JOIN pool p ON p.query_key = bank.query_key AND p.text_key = {0}.passage_text_key"
        )
        # From the grades to the pool, not the other way round: pairs are never written out.
        return project.table(
            f"WITH bank AS MATERIALIZED {bank_for(base.grader.spec)},"
            f" counted AS MATERIALIZED {ratings(base)},"
            " rated AS (SELECT p.query_key, p.passage_key,"
            f"  {base.label_sql} AS label,"
            "  bit_or(1::INTEGER << rating::INTEGER) AS given, count(*)::INTEGER AS rated"
            f"  FROM counted{asked.format('counted')} GROUP BY ALL),"
            " lost AS (SELECT p.query_key, p.passage_key, count(*)::INTEGER AS failed FROM"
            "  (SELECT DISTINCT question_text_key, passage_text_key FROM failures WHERE grader_key = $grader) f"
            "  ANTI JOIN counted USING (question_text_key, passage_text_key)"
            f" {asked.format('f')} GROUP BY ALL),"
            " people AS (SELECT DISTINCT p.query_key, p.passage_key, true AS overridden"
            "  FROM current_overrides o JOIN pool p ON p.text_key = o.passage_text_key"
            "  JOIN questions USING (query_key)"
            f"  JOIN (SELECT question_key, text_key FROM bank_at($version)) r"
            "  ON r.question_key = questions.question_key AND r.text_key = o.question_text_key"
            "  WHERE $overridden),"
            " asked AS (SELECT query_key, count(*)::INTEGER AS needed FROM bank GROUP BY 1)"
            " SELECT p.*, label, coalesce(given, 0) AS given, coalesce(rated, 0) AS rated,"
            " coalesce(failed, 0) AS failed, coalesce(needed, 0) AS needed, coalesce(overridden, false) AS overridden"
            " FROM pool p LEFT JOIN rated USING (query_key, passage_key) LEFT JOIN lost USING (query_key, passage_key)"
            " LEFT JOIN people USING (query_key, passage_key) LEFT JOIN asked USING (query_key)",
            base.parameters | {"overridden": base.overridden},
        )

    state = (base.key, _state_but_judgments(project))
    kept = _SUMMARIES.get(project.opened)
    if kept is None or kept[0] != state:
        kept = (state, compute())
        _SUMMARIES[project.opened] = kept
    return kept[1]


_SUMMARIES: WeakKeyDictionary[object, tuple[object, pa.Table]] = WeakKeyDictionary()
"""The last summary of every project. `Project.remember` would forget it with every judgment, which assessors give by
the hundred and which touches the pool at most."""


def _state_but_judgments(project: Project) -> object:
    """A value that differs whenever anything that the summary derives from may differ."""
    return project.rows(
        "SELECT (SELECT max(activity_key) FROM activity WHERE act NOT IN (?, ?)), (SELECT count(*) FROM grades),"
        " (SELECT count(*) FROM failures), count(*), sum(hash(query_key, passage_key, text_key, position)) FROM pool",
        [JUDGE, WITHDRAW],
    )
