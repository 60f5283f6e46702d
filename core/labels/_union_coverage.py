"""Coverage of a query by the union of its topics' rankings: exam-plus-plus, equation 1, as used by TREC CAR."""

from __future__ import annotations

from dataclasses import dataclass

from ..bank import bank_for
from ..store import Project
from ._basis import Basis
from ._coverage import RANKED, Scores, covered, first_answers
from ._ratings import ratings

_WHOLE = (
    "(SELECT q.query_key AS part_key, coalesce(min(t.query_key), q.query_key) AS query_key"
    " FROM queries q LEFT JOIN topics() t ON t.topic_key = q.query_key GROUP BY q.query_key)"
)
"""SQL for the query that each query belongs to: the parent query of a topic, or else the query itself."""


@dataclass(frozen=True)
class UnionCoverage:
    """Coverage of queries by the unions of their topics' rankings.

    Args:
        scores: by run and query id; queries for which a run ranked no passages are absent.
        query_ids: the queries with questions of positive weight.
        needed, usable: number of pairs of the runs' top passages with the questions, and of these with a rating. In a
            pair without a rating, the passage counts as not answering the question.
    """

    scores: Scores
    query_ids: list[str]
    needed: int
    usable: int


def coverage_of_union(project: Project, base: Basis, cutoff: int) -> UnionCoverage:
    """Return EXAM-Cover of the union of a query's topics: exam-plus-plus, equation 1, as used by TREC CAR.

    In this equation, P is the top k of the run's rankings for the query and for each of its topics. R is all questions
    of the query, in all sections. A passage from one section's ranking may answer a question of another section.

    Args:
        cutoff: k, for each ranking; the cutoff of the policy is ignored.
    """
    asked = (
        "(SELECT w.query_key,"
        # A direct grader asks its only question, the query's title, for every topic.
        " if(b.question_key = b.query_key, w.query_key, b.question_key) AS question_key,"
        " any_value(text_key) AS text_key, any_value(weight) AS weight"
        f" FROM {bank_for(base.grader.spec)} b JOIN {_WHOLE} w ON w.part_key = b.query_key GROUP BY 1, 2)"
    )
    ranked = (
        f"SELECT run_key, w.query_key, text_key, min(rank) AS rank FROM ({RANKED}) r"
        f" JOIN {_WHOLE} w ON w.part_key = r.query_key GROUP BY ALL"
    )
    parameters = base.parameters | {"cutoff": cutoff}
    queries = project.rows(
        f"SELECT query_id FROM {asked} JOIN queries USING (query_key) WHERE $grader IS NOT NULL"
        " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
        base.parameters,
    )
    pairs = f"{asked} b JOIN ({ranked}) t USING (query_key) WHERE t.text_key IS NOT NULL"
    ((needed, usable),) = project.rows(
        f"SELECT count(*), count(g.rating) FROM (SELECT DISTINCT b.text_key, t.text_key AS passage FROM {pairs}) p"
        f" LEFT JOIN {ratings(base)} g"
        " ON g.question_text_key = p.text_key AND g.passage_text_key = p.passage",
        parameters,
    )
    scores: Scores = {}
    for run, query, value in project.rows(
        f"SELECT name, query_id, {covered(base)} FROM {first_answers(base, ranked, ('run_key', 'query_key'), asked)}"
        " JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " GROUP BY name, query_id, query_key ORDER BY name, query_key",
        parameters,
    ):
        scores.setdefault(run, {})[query] = value
    return UnionCoverage(scores, [query for (query,) in queries], int(needed), int(usable))
