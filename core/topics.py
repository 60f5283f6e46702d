"""Topics `query/subtopic`: queries of a project that stand for one subtopic of another, as in TREC CAR."""

from __future__ import annotations

from collections.abc import Sequence

from core.project import Cursor, stage

SUBTOPICS = (
    "(SELECT query_key, subtopic_id, text FROM subtopics UNION ALL SELECT DISTINCT query_key, subtopic_id, subtopic_id"
    " FROM question_revisions JOIN questions USING (question_key) ANTI JOIN subtopics USING (query_key, subtopic_id)"
    " WHERE subtopic_id IS NOT NULL)"
)
"""Every subtopic that a query declares or a question names: query_key, subtopic_id, text."""

TOPICS = (
    "(SELECT DISTINCT t.query_key AS topic_key, s.query_key, s.subtopic_id"
    f" FROM {SUBTOPICS} s JOIN queries q ON q.query_key = s.query_key"
    " JOIN queries t ON t.query_id = q.query_id || '/' || s.subtopic_id)"
)
"""The topics among the queries: topic_key (their own query_key), and the query_key and subtopic_id they stand for."""

ANSWERED_BY_TOPIC = f"(SELECT query_key FROM {TOPICS} ANTI JOIN pool USING (query_key))"
"""The queries that have topics and no passage of their own: runs answer them topic by topic, or not at all."""


def add_topics(cursor: Cursor, topic_ids: Sequence[str]) -> int:
    """Make a query of every id `query/subtopic` whose query and subtopic the project knows.

    Its text is that of the query and of the subtopic, as in TREC CAR's outlines. The questions of the subtopic are
    asked for it as they are for the query. Other ids are passed over.

    Returns:
        The number of queries that were made.
    """
    stage(cursor, "new_topics", {"query_id": list(dict.fromkeys(topic_ids))}, {"query_id": "VARCHAR"})
    made = cursor.execute(
        "INSERT INTO queries SELECT nextval('keys'), query_id, text, NULL, NULL FROM ("
        " SELECT n.query_id, any_value(q.text || ' / ' || s.text) AS text, min(n.rowid) AS first"
        f" FROM {SUBTOPICS} s JOIN queries q USING (query_key)"
        " JOIN new_topics n ON n.query_id = q.query_id || '/' || s.subtopic_id"
        " ANTI JOIN queries k ON k.query_id = n.query_id GROUP BY n.query_id ORDER BY first)"
    ).fetchall()[0][0]
    return int(made)
