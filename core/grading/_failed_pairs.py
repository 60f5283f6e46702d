"""Pairs that failed or were graded by default: counts by reason, and lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..bank import StoredGrader, asked_bank, asked_pool
from ..store import Project
from ..types import Asked

Which = Literal["failed", "defaulted"]
"""Failed: the pair was asked without a usable reply. Defaulted: it has a rating although the reply names none."""

DEFAULTS = {0: "the answer is ill-formed, or says that the question is unanswerable", 1: "the answer has no rating"}
"""Descriptions of replies that get a default rating, by rating (EXAM++, section 4.2.2)."""


@dataclass(frozen=True)
class Doubtful:
    """A pair that failed or was graded by default.

    Args:
        query_id: a query that needs the pair.
        query: text of the query.
        asked: the texts that the grader got.
        passage_id: a passage with this text in the query's pool.
        passage: text of the passage.
        rating: None for a failed pair.
        reason: reason of the last failure, or of the default rating.
        raw: the model's last reply; None without a reply.
        attempts: number of failures.
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
    """Return the numbers of failed or defaulted pairs that a bank version needs, by reason, the commonest first."""
    return [
        (str(reason), int(count))
        for reason, count in project.rows(
            f"SELECT reason, count(*) AS n FROM ({_pairs(grader, which)}) GROUP BY reason ORDER BY n DESC, reason",
            {"grader": grader.key, "version": version},
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
    """Return a page of the failed or defaulted pairs, in the order of queries and questions.

    Args:
        version: bank version whose questions count.
        reason: restricts the result to pairs with this reason; None for all.
        offset: number of pairs to skip.
        limit: maximum number of pairs.
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
            {"grader": grader.key, "version": version, "reason": reason, "limit": limit, "offset": offset},
        )
    ]


def _pairs(grader: StoredGrader, which: Which) -> str:
    """Return SQL with one row per pair: query_key, question_text_key, passage_text_key, asked, rating, reason, raw,
    attempts.

    It joins the bank and the pool to the few failed or defaulted pairs, which is faster than the reverse.
    """
    if which == "failed":
        doubtful = (
            "SELECT question_text_key, passage_text_key, NULL::TINYINT AS rating, last.reason AS reason,"
            " last.raw AS raw, attempts FROM (SELECT question_text_key, passage_text_key, count(*) AS attempts,"
            "  max_by({'reason': reason, 'raw': raw}, rowid) AS last FROM failures WHERE grader_key = $grader"
            "  GROUP BY ALL)"
            # Restrict the grades to failed pairs first, so that the engine need not load all others.
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
        # A difference, not an equation: with an equation the engine would load the whole bank before it filters.
        f" JOIN {asked_pool(grader.spec)} p ON p.text_key = d.passage_text_key WHERE p.query_key - b.query_key = 0"
        " GROUP BY d.question_text_key, d.passage_text_key"
    )
