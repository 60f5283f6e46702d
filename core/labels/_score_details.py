"""Details behind a system's score: its scores by query, and the passages behind the score of a query."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from ..records import readable_texts, visible
from ..store import Project, as_act
from . import Policy, basis, graded_pairs
from ._leaderboard import Leaderboard


@dataclass(frozen=True)
class QueryScore:
    """A system's score on a query; None if the system skipped the query, or the leaderboard does not have it.

    Args:
        mean, official_mean: mean score on the query over all systems that answered it: on the leaderboard under study,
            and on the official leaderboard.
    """

    query_id: str
    text: str
    score: float | None
    mean: float | None
    official: float | None
    official_mean: float | None = None

    @property
    def loss(self) -> float | None:
        """The official score minus the score; negative if the official score is lower."""
        return None if self.score is None or self.official is None else self.official - self.score


@as_act("see boards")
def per_query_scores(project: Project, board: Leaderboard, official: Leaderboard | None, run: str) -> list[QueryScore]:
    """Return the scores of one run by query, with the means over all systems that answered the query.

    Args:
        board: the leaderboard under study.
        official: the official leaderboard, if any.

    Returns:
        Queries with an official score, greatest loss first; then the other queries, in the order of the project.
    """
    mine = board.per_query.get(run, {})
    theirs = official.per_query.get(run, {}) if official else {}
    asked = {query for scores in board.per_query.values() for query in scores}
    found = []
    for query_id, text in project.rows("SELECT query_id, text FROM queries ORDER BY query_key"):
        if query_id in asked:
            found.append(
                QueryScore(
                    query_id,
                    text,
                    mine.get(query_id),
                    _mean(board, query_id),
                    theirs.get(query_id),
                    _mean(official, query_id) if official else None,
                )
            )
    return sorted(found, key=lambda row: (row.loss is None, -(row.loss or 0.0)))


def _mean(board: Leaderboard, query_id: str) -> float | None:
    scores = [by_query[query_id] for by_query in board.per_query.values() if query_id in by_query]
    return fmean(scores) if scores else None


@dataclass(frozen=True)
class RankedPassage:
    """A ranked passage with its label and judgment. `question` is the question that gave the label."""

    rank: int
    passage_id: str
    text: str | None
    label: int | None
    judgment: int | None
    question: str | None


def inspect_query(project: Project, run: str, query_id: str, policy: Policy, source: str | None) -> list[RankedPassage]:
    """Return the top of a run for one query, with labels and judgments.

    Args:
        policy: determines the labels; its cutoff is the number of passages.
        source: source of the judgments to show; None for no judgments.

    Raises:
        InputError: unknown grader or version.
    """
    base = basis(project, policy)
    return [
        RankedPassage(*row)
        for row in project.rows(
            f"WITH pairs AS (SELECT * FROM ({graded_pairs(base)}) JOIN queries USING (query_key)"
            "  WHERE query_id = $query),"
            f" labelled AS (SELECT passage_key, {base.label_sql} AS label,"
            "  arg_max(question_key, rating) FILTER (weight > 0 AND rating > 0) AS question_key"
            "  FROM pairs GROUP BY passage_key),"
            f" wording AS (SELECT question_key, text_key FROM bank_at($version))"
            " SELECT r.rank, passage_id, t.text, label, value,"
            "  coalesce(qt.text, asked.question_id) FROM rankings r"
            " JOIN runs ON runs.run_key = r.run_key AND runs.name = $run"
            " JOIN queries q ON q.query_key = r.query_key AND q.query_id = $query"
            " JOIN passages p ON p.passage_key = r.passage_key"
            " LEFT JOIN passage_texts t ON t.text_key = p.text_key"
            " LEFT JOIN labelled l ON l.passage_key = r.passage_key"
            " LEFT JOIN wording w ON w.question_key = l.question_key"
            f" LEFT JOIN {readable_texts(project)} qt ON qt.text_key = w.text_key"
            " LEFT JOIN questions asked ON asked.question_key = l.question_key"
            f" LEFT JOIN (SELECT query_key, passage_key, value FROM {visible(project, 'judgments')}"
            " JOIN sources USING (source_key)"
            "  WHERE name = $source) j ON j.query_key = r.query_key AND j.passage_key = r.passage_key"
            " WHERE r.rank <= $cutoff ORDER BY r.rank",
            base.parameters | {"query": query_id, "run": run, "source": source, "cutoff": policy.cutoff},
        )
    ]
