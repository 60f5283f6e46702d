"""Coverage of a query by all that is ranked for its topics: equation 1 of exam-plus-plus as TREC CAR uses it."""

from __future__ import annotations

from dataclasses import dataclass

from core.bank import TOPICS, bank_for
from core.labels.basis import basis, ratings
from core.labels.coverage import Scores
from core.labels.policy import Policy
from core.labels.rules import weight_sql
from core.project import Project


@dataclass(frozen=True)
class UnionCoverage:
    """Coverage of queries by what is ranked for all their topics.

    Args:
        scores: by run and query id; queries of which a run ranked nothing are not there.
        query_ids: the queries with questions of positive weight.
        needed, usable: pairs of texts that the runs' top passages make with the questions, and those of them that
            have a rating. Without a rating a question counts as not answered by the passage.
    """

    scores: Scores
    query_ids: list[str]
    needed: int
    usable: int


def coverage_of_union(project: Project, policy: Policy, cutoff: int) -> UnionCoverage:
    """EXAM-Cover of the union of a query's topics: exam-plus-plus, equation 1, as TREC CAR uses it.

    P is the top k of the run's ranking for the query and for each of its topics, R all questions of the query, whatever
    section they are of: a passage that was found for one section may answer what another asks.

    Args:
        cutoff: k, of each ranking; the policy's own is not looked at.

    Raises:
        InputError: there is no such grader or version.
    """
    base = basis(project, policy)
    shared = (
        "whole AS MATERIALIZED (SELECT q.query_key AS part_key, coalesce(min(t.query_key), q.query_key) AS query_key"
        f"  FROM queries q LEFT JOIN {TOPICS} t ON t.topic_key = q.query_key GROUP BY q.query_key),"
        " bank AS MATERIALIZED (SELECT w.query_key,"
        # A direct judge asks its one question, the query's title, of every topic.
        "  if(b.question_key = b.query_key, w.query_key, b.question_key) AS question_key,"
        f"  any_value(text_key) AS text_key, any_value({weight_sql(policy.weighted)}) AS w"
        f"  FROM {bank_for(base.grader.spec)} b JOIN whole w ON w.part_key = b.query_key GROUP BY 1, 2),"
        " top AS (SELECT DISTINCT run_key, w.query_key, text_key FROM rankings r"
        "  JOIN whole w ON w.part_key = r.query_key JOIN passages USING (passage_key) WHERE rank <= $cutoff),"
        f" rated AS (FROM {ratings(base)})"
    )
    parameters = base.parameters | {"cutoff": cutoff}
    queries = project.rows(
        f"WITH {shared} SELECT query_id FROM bank JOIN queries USING (query_key) WHERE $cutoff > 0 AND $grader > 0"
        " GROUP BY query_id, query_key HAVING max(w) > 0 ORDER BY query_key",
        parameters,
    )
    ((needed, usable),) = project.rows(
        f"WITH {shared} SELECT count(*), count(g.rating) FROM (SELECT DISTINCT bank.text_key, top.text_key AS passage"
        "  FROM top JOIN bank USING (query_key) WHERE top.text_key IS NOT NULL) p LEFT JOIN rated g"
        " ON g.question_text_key = p.text_key AND g.passage_text_key = p.passage",
        parameters,
    )
    scores: Scores = {}
    for run, query, value in project.rows(
        f"WITH {shared}, totals AS (SELECT query_key, sum(w) FILTER (w > 0) AS total FROM bank GROUP BY 1),"
        " best AS (SELECT run_key, query_key, question_key, any_value(w) AS w, max(g.rating) AS best"
        "  FROM top JOIN bank USING (query_key) LEFT JOIN rated g"
        "  ON g.question_text_key = bank.text_key AND g.passage_text_key = top.text_key GROUP BY 1, 2, 3)"
        " SELECT name, query_id, greatest(0, coalesce(sum(w) FILTER (best >= $tau), 0) / total) FROM best"
        " JOIN totals USING (query_key) JOIN runs USING (run_key) JOIN queries USING (query_key) WHERE total > 0"
        " GROUP BY name, query_id, query_key, total ORDER BY name, query_key",
        parameters | {"tau": base.min_rating},
    ):
        scores.setdefault(run, {})[query] = value
    return UnionCoverage(scores, [query for (query,) in queries], int(needed), int(usable))
