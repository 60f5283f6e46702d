"""Gaps between the bank and judgments: questions that non-relevant passages answer, and uncovered relevant passages."""

from __future__ import annotations

from dataclasses import dataclass

from ...labels import Basis, Policy, basis, graded_pairs
from ...records import find_source, readable_texts, visible
from ...store import Project


@dataclass(frozen=True)
class Stray:
    """A question that judged non-relevant passages answer.

    Args:
        weight: weight in the bank; below 0 for content that a response should not have.
        non_relevant, relevant: numbers of judged passages that answer the question.
        passages: some of the non-relevant passages, lowest judgment first, then highest rating.
    """

    query_id: str
    query_text: str
    question_id: str
    text: str
    weight: float
    non_relevant: int
    relevant: int
    passages: list[str]


@dataclass(frozen=True)
class Uncovered:
    """A graded passage with a relevant judgment that answers no question of positive weight.

    Args:
        best: the highest rating of the passage.
    """

    query_id: str
    query_text: str
    passage_id: str
    text: str | None
    judgment: int
    best: int


PASSAGES_NAMED = 5


def strays(project: Project, policy: Policy, source: str, limit: int = 10, offset: int = 0) -> tuple[int, list[Stray]]:
    """Return a page of the questions that judged non-relevant passages answer, most such passages first.

    The result is that of `study.diagnose`, for all queries at once.

    Args:
        source: source of the judgments. Passages are relevant from `policy.min_judgment` on.

    Returns:
        The number of all such questions, and the questions of the page.

    Raises:
        InputError: the grader, version or source is unknown.
    """
    base = basis(project, policy)
    rows = project.rows(
        f"{_judged(project, base)}, found AS (SELECT query_key, question_key, weight,"
        " count(*) FILTER (NOT relevant) AS stray,"
        " count(*) FILTER (relevant) AS fitting, array_agg(passage_id ORDER BY value, rating DESC, passage_key)"
        " FILTER (NOT relevant) AS passages FROM rated JOIN passages USING (passage_key)"
        " WHERE rating >= $tau AND weight <> 0 GROUP BY ALL HAVING stray > 0)"
        " SELECT count(*) OVER (), query_id, q.text, coalesce(question_id, query_id), coalesce(t.text, question_id,"
        " q.text), found.weight, stray, fitting, passages[:$named] FROM found JOIN queries q USING (query_key)"
        f" LEFT JOIN questions USING (question_key) LEFT JOIN bank_at($version) r USING (question_key)"
        f" LEFT JOIN {readable_texts(project)} t ON t.text_key = r.text_key"
        " ORDER BY stray DESC, q.query_key, r.position, question_key LIMIT $limit OFFSET $offset",
        _parameters(project, base, source, limit, offset) | {"tau": base.min_rating, "named": PASSAGES_NAMED},
    )
    return (rows[0][0] if rows else 0), [Stray(*row[1:]) for row in rows]


def uncovered(
    project: Project, policy: Policy, source: str, limit: int = 10, offset: int = 0
) -> tuple[int, list[Uncovered]]:
    """Return a page of the judged relevant passages that answer no question, highest judgment first.

    Args, returns, raises: as for `strays`.
    """
    base = basis(project, policy)
    rows = project.rows(
        f"{_judged(project, base)}, found AS (SELECT query_key, passage_key, value, max(rating) AS best FROM rated"
        " WHERE relevant AND weight > 0 GROUP BY ALL HAVING best < $tau)"
        " SELECT count(*) OVER (), query_id, q.text, passage_id, t.text, value, best FROM found"
        " JOIN queries q USING (query_key) JOIN passages USING (passage_key)"
        " LEFT JOIN passage_texts t USING (text_key)"
        " ORDER BY value DESC, best, query_key, passage_key LIMIT $limit OFFSET $offset",
        _parameters(project, base, source, limit, offset) | {"tau": base.min_rating},
    )
    return (rows[0][0] if rows else 0), [Uncovered(*row[1:]) for row in rows]


def _judged(project: Project, base: Basis) -> str:
    """Return the beginning of a query: a WITH clause that defines `rated`, every rating of a judged passage."""
    return (
        "WITH judged AS (SELECT query_key, passage_key, value, value >= $enough AS relevant"
        f" FROM {visible(project, 'judgments')}"
        " JOIN sources USING (source_key) WHERE name = $source),"
        f" rated AS (SELECT p.*, value, relevant FROM ({graded_pairs(base)}) p JOIN judged"
        " USING (query_key, passage_key) WHERE rating IS NOT NULL)"
    )


def _parameters(project: Project, base: Basis, source: str, limit: int, offset: int) -> dict[str, object]:
    source = find_source(project, source)
    return base.parameters | {
        "source": source,
        "enough": base.policy.min_judgment,
        "limit": limit,
        "offset": offset,
    }
