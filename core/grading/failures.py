"""Pairs that a grader could not grade, or graded by default: how many for which reason, and one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..bank import asked_bank, asked_pool
from ..catalogue import StoredGrader
from ..project import Project
from ..types import Asked

Which = Literal["failed", "defaulted"]
"""Failed: asked, and nothing usable came back. Defaulted: rated, although the answer names no rating."""

DEFAULTS = {0: "the answer says that the question is unanswerable, or is ill-formed", 1: "the answer has no rating"}
"""What an answer is whose rating is a default, by rating (EXAM++, section 4.2.2)."""


@dataclass(frozen=True)
class Doubtful:
    """A pair that failed or was graded by default.

    Args:
        query_id: a query that needs the pair.
        query: its text.
        asked: what the grader was asked.
        passage_id: a passage of this text in the query's pool.
        passage: its text.
        rating: None for a failed pair.
        reason: why it failed the last time, or why its rating is a default.
        raw: what the model wrote the last time; None where nothing came.
        attempts: times that it failed.
    """

    query_id: str
    query: str
    asked: Asked
    passage_id: str
    passage: str
    rating: int | None
    reason: str
    raw: str | None
    attempts: int


def reasons(project: Project, grader: StoredGrader, which: Which, version: int) -> list[tuple[str, int]]:
    """How many of the pairs that a bank version needs are failed or defaulted, by reason, the commonest first."""
    return [
        (str(reason), int(count))
        for reason, count in project.rows(
            f"SELECT reason, count(*) AS n FROM ({_pairs(grader, which)}) GROUP BY reason ORDER BY n DESC, reason",
            _parameters(grader, version),
        )
    ]


def doubtful_pairs(
    project: Project,
    grader: StoredGrader,
    which: Which,
    version: int,
    reason: str | None = None,
    offset: int = 0,
    limit: int = 20,
) -> list[Doubtful]:
    """The pairs themselves, a page of them, in the order of queries and questions.

    Args:
        version: bank version that needs them.
        reason: only those of this reason; all for None.
        offset: pairs to pass over.
        limit: pairs to give at most.
    """
    return [
        Doubtful(row[0], row[1], Asked.read(row[2], grader.spec.reads), *row[3:])
        for row in project.rows(
            "SELECT query_id, q.text, asked, passage_id, t.text, rating, reason, raw, attempts FROM"
            f" (FROM ({_pairs(grader, which)}) WHERE $reason IS NULL OR reason = $reason"
            "  ORDER BY query_key, question_text_key, passage_text_key LIMIT $limit OFFSET $offset) d"
            " JOIN queries q USING (query_key)"
            " JOIN passage_texts t ON t.text_key = d.passage_text_key"
            " JOIN (SELECT query_key, p.text_key AS passage_text_key, min_by(passage_id, position) AS passage_id"
            f"  FROM {asked_pool(grader.spec)} p JOIN passages USING (passage_key) GROUP BY ALL)"
            " USING (query_key, passage_text_key)"
            " ORDER BY query_key, question_text_key, passage_text_key",
            _parameters(grader, version) | {"reason": reason, "limit": limit, "offset": offset},
        )
    ]


def _parameters(grader: StoredGrader, version: int) -> dict[str, Any]:
    return {"grader": grader.key, "version": version}


def _pairs(grader: StoredGrader, which: Which) -> str:
    """One row a pair of texts: query_key, question_text_key, passage_text_key, asked, rating, reason, raw, attempts.

    It begins with the few pairs in question and looks the bank and the pool up for them, not the other way round.
    """
    if which == "failed":
        doubtful = (
            "SELECT question_text_key, passage_text_key, NULL::TINYINT AS rating, last.reason AS reason,"
            " last.raw AS raw, attempts FROM (SELECT question_text_key, passage_text_key, count(*) AS attempts,"
            "  max_by({'reason': reason, 'raw': raw}, rowid) AS last FROM failures WHERE grader_key = $grader"
            "  GROUP BY ALL)"
            # The grades of all other pairs need not be put up to be looked through.
            " ANTI JOIN (SELECT question_text_key, passage_text_key FROM grades SEMI JOIN"
            "  (FROM failures WHERE grader_key = $grader) USING (question_text_key, passage_text_key)"
            "  WHERE grader_key = $grader) USING (question_text_key, passage_text_key)"
        )
    else:
        reason = " ".join(f"WHEN {rating} THEN '{reason}'" for rating, reason in DEFAULTS.items())
        doubtful = (
            "SELECT question_text_key, passage_text_key, rating, 0 AS attempts, raw,"
            f" CASE rating {reason} ELSE '{DEFAULTS[1]}' END AS reason"
            " FROM grades WHERE grader_key = $grader AND defaulted"
        )
    return (
        "SELECT min(p.query_key) AS query_key, d.question_text_key, d.passage_text_key, any_value(b.asked) AS asked,"
        " any_value(d.rating) AS rating, any_value(d.reason) AS reason, any_value(d.raw) AS raw,"
        " any_value(d.attempts) AS attempts"
        f" FROM ({doubtful}) d JOIN {asked_bank(grader.spec)} b ON b.text_key = d.question_text_key"
        # A difference and no equation, by which the engine would put up all that is asked before it looks for these.
        f" JOIN {asked_pool(grader.spec)} p ON p.text_key = d.passage_text_key WHERE p.query_key - b.query_key = 0"
        " GROUP BY d.question_text_key, d.passage_text_key"
    )
