"""Topics `query/subtopic`: queries of a project that stand for one subtopic of another, as in TREC CAR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core import bank
from core.project import Cursor, Project, stage
from core.types import Question

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


Place = tuple[str, str | None]
"""Where the bank keeps a question: its query id and subtopic id."""


def asking(project: Project, places: Iterable[Place]) -> list[str]:
    """The ids of the queries that ask the questions of some places: the queries themselves, then topics of theirs.

    With `asked_questions` this says for single queries, and for questions that are not saved, what
    `core.grades.bank_for` says in SQL for the whole bank.
    """
    places = list(dict.fromkeys(places))
    topics = [f"{query}/{subtopic}" for query, subtopic in places if subtopic is not None]
    known = _queries_among(project, topics)
    return list(dict.fromkeys([*(query for query, _ in places), *(topic for topic in topics if topic in known)]))


def asked_questions(
    project: Project, version: int, query_id: str, instead: Mapping[str, Sequence[Question]] | None = None
) -> list[Question]:
    """The questions that a query asks, active or not: its own, then those of the subtopic that it stands for.

    Args:
        version: bank version.
        instead: by query id, all questions of that query, in place of those that the bank has.
    """
    instead = instead or {}
    ends = [at for at, letter in enumerate(query_id) if letter == "/"]
    known = _queries_among(project, [query_id[:at] for at in ends])
    # An id may be read in several ways: a/b/c is the subtopic c of a/b, and the subtopic b/c of a.
    places = [(query_id[:at], query_id[at + 1 :]) for at in ends if query_id[:at] in known]

    def own(query: str) -> Sequence[Question]:
        return instead[query] if query in instead else bank.questions(project, version, query)

    return [*own(query_id), *(q for query, subtopic in places for q in own(query) if q.subtopic_id == subtopic)]


def questions_by_query(project: Project, questions: Iterable[Question]) -> dict[str, list[Question]]:
    """By the id of every query that asks any of some questions, those that it asks: its own, then its subtopic's."""
    questions = list(questions)
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(question.query_id, []).append(question)
    of_topic = [(f"{q.query_id}/{q.subtopic_id}", q) for q in questions if q.subtopic_id is not None]
    known = _queries_among(project, list(dict.fromkeys(topic for topic, _ in of_topic)))
    for topic, question in of_topic:
        if topic in known:
            found.setdefault(topic, []).append(question)
    return found


def answered_by_topic(project: Project, query_id: str, questions: Iterable[Question] = ()) -> bool:
    """Whether a query is one of `ANSWERED_BY_TOPIC`, or would be if it had some questions too."""
    if project.value("SELECT count(*) FROM pool JOIN queries USING (query_key) WHERE query_id = ?", [query_id]):
        return False
    named = [f"{query_id}/{q.subtopic_id}" for q in questions if q.query_id == query_id and q.subtopic_id is not None]
    saved = f"SELECT count(*) FROM {TOPICS} JOIN queries USING (query_key) WHERE query_id = ?"
    return bool(_queries_among(project, named)) or bool(project.value(saved, [query_id]))


def _queries_among(project: Project, ids: Sequence[str]) -> set[str]:
    """Those ids that queries bear."""
    if not ids:
        return set()
    return {found for (found,) in project.rows("SELECT query_id FROM queries WHERE list_contains(?, query_id)", [ids])}
