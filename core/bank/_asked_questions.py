"""The questions and passages that a grader is asked about, of queries and of topics.

A topic `query/subtopic` is a query that represents one subtopic of another query, as in TREC CAR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..grouping import group_pairs
from ..records import ReplacedDataKeeper, add_queries
from ..store import Cursor, Project, stage_columns
from ..types import SEPARATOR, GraderSpec, Query, Question
from ._questions import list_questions as bank_questions

ASKS = "(t.asking_key = t.query_key OR r.subtopic_id IS NULL OR r.subtopic_id = t.subtopic_id)"
"""SQL condition that a row t of places() asks the question of a row r of the same query.

A question without a subtopic is asked for every section, because TREC CAR's manual questions have
no subtopic. The papers ask these questions for every section of their query (exam-plus-plus,
section 5.1).
"""


def take_queries(
    cursor: Cursor,
    queries: Sequence[Query],
    replace: bool,
    keeper: ReplacedDataKeeper | None = None,
) -> int:
    """Add queries and their subtopics, and update the texts of topics that were named after them.

    Arguments and return value are those of `project.add_queries`.
    """
    if not cursor.execute("SELECT EXISTS (FROM all_subtopics())").fetchall()[0][0]:
        # Without subtopics, as in most projects, no query is named after one.
        return add_queries(cursor, queries, replace, keeper)
    named = (
        f"SELECT topic_key, any_value({_NAME}) AS text FROM topics()"
        " JOIN all_subtopics() s USING (query_key, subtopic_id) JOIN queries q USING (query_key)"
        " GROUP BY topic_key"
    )
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE named_topics AS SELECT topic_key FROM ({named}) n"
        " JOIN queries k ON k.query_key = n.topic_key WHERE k.text IN (n.text, k.query_id)"
    )
    new_count = add_queries(cursor, queries, replace, keeper)
    given = [query.query_id for query in queries if query.text not in ("", query.query_id)]
    stage_columns(cursor, "given_queries", {"query_id": given}, {"query_id": "VARCHAR"})
    following = (
        f"({named}) n SEMI JOIN named_topics USING (topic_key)"
        " WHERE queries.query_key = n.topic_key"
        " AND queries.text <> n.text AND query_id NOT IN (SELECT query_id FROM given_queries)"
    )
    if keeper is not None:
        keeper.keep_queries(f"SELECT queries.query_key FROM queries, {following}", follows=True)
    cursor.execute(f"UPDATE queries SET text = n.text FROM {following}")
    return new_count


_NAME = "q.text || ' / ' || s.text"
"""Text of a topic for query q and subtopic s, as in TREC CAR's outlines."""


def add_topics(cursor: Cursor, topic_ids: Sequence[str]) -> int:
    """Add a topic for every id `query/subtopic` whose query and subtopic the project knows; ignore
    other ids.

    The text of a topic consists of the texts of the query and the subtopic, as in TREC CAR's
    outlines. The questions of the subtopic are asked for the topic, too.

    Returns:
        The number of added topics.
    """
    if not topic_ids:
        return 0
    stage_columns(
        cursor, "new_topics", {"query_id": list(dict.fromkeys(topic_ids))}, {"query_id": "VARCHAR"}
    )
    new_count = cursor.execute(
        "INSERT INTO queries SELECT nextval('keys'), query_id, text, NULL, NULL, NULL FROM ("
        f" SELECT n.query_id, any_value({_NAME}) AS text, min(n.rowid) AS first"
        f" FROM all_subtopics() s JOIN queries q USING (query_key)"
        " JOIN new_topics n ON n.query_id = q.query_id || '/' || s.subtopic_id"
        " ANTI JOIN queries k ON k.query_id = n.query_id GROUP BY n.query_id ORDER BY first)"
    ).fetchall()[0][0]
    return int(new_count)


EXAMS = (
    "(SELECT query_key FROM (SELECT query_key, question_key, arg_max(kind, version) AS kind,"
    " arg_max(active, version) AS active FROM queries ANTI JOIN pool USING (query_key)"
    " JOIN questions USING (query_key)"
    " JOIN question_revisions USING (question_key) WHERE version <= $version GROUP BY ALL)"
    " LEFT JOIN (SELECT question_key, true AS item FROM items) USING (question_key)"
    " GROUP BY query_key HAVING bool_or(item) OR (bool_or(active) AND bool_and(kind = 'choice'"
    " OR NOT active) AND query_key NOT IN (SELECT query_key FROM all_subtopics())))"
)
"""SQL for the exams of the bank at `$version`: their questions are for examinees, not for grading
passages.

An exam is a query without passages that has items, or whose active questions are all multiple
choice. The second kind is written by hand. It has no subtopics, because the topics of a query with
subtopics may have passages.
"""


def exam_queries(project: Project, version: int) -> list[str]:
    """Return the ids of the exams (see `EXAMS`), in the order of the project.

    Args:
        version: bank version.
    """
    rows = project.rows(
        f"SELECT query_id FROM {EXAMS} JOIN queries USING (query_key) ORDER BY query_key",
        {"version": version},
    )
    return [query_id for (query_id,) in rows]


Place = tuple[str, str | None]
"""Query id and subtopic id under which the bank keeps a question."""


def asking_queries(project: Project, places: Iterable[Place]) -> list[str]:
    """Return the ids of the queries that ask the questions of some places: the queries, then their
    topics.

    `asking_queries` and `asked_questions` handle single queries and unsaved questions. The results
    agree with the SQL of `bank.bank_for` for the whole bank.
    """
    places = list(dict.fromkeys(places))
    topics = _topics_of(project, places)
    asked_topics = [
        f"{query}/{topic}"
        for query, subtopic in places
        for topic in topics.get(query, ())
        if subtopic is None or subtopic == topic
    ]
    return list(dict.fromkeys([*(query for query, _ in places), *asked_topics]))


def asked_questions(
    project: Project,
    version: int,
    query_id: str,
    instead: Mapping[str, Sequence[Question]] | None = None,
) -> list[Question]:
    """Return the questions that a query asks, active or not: its own questions, then questions of
    its parent query.

    A topic asks the questions of its parent query that have its subtopic or no subtopic. For an
    exam, the result is empty.

    Args:
        version: bank version.
        instead: by query id, all questions of that query. They replace the questions of the bank.
    """
    instead = instead or {}

    def own_questions(query: str) -> Sequence[Question]:
        return instead[query] if query in instead else bank_questions(project, version, query)

    questions = list(own_questions(query_id))
    if _is_exam(project, query_id, questions):
        return []
    # An id can have several meanings: a/b/c may be subtopic c of a/b, or subtopic b/c of a.
    parents = [query_id[:at] for at, letter in enumerate(query_id) if letter == "/"]
    for parent in sorted(_queries_among(project, parents), key=len):
        questions += questions_by_query(project, own_questions(parent)).get(query_id, [])
    return questions


def _is_exam(project: Project, query_id: str, own: Sequence[Question]) -> bool:
    """Return whether a query with these questions instead of its saved questions is an exam (see
    `EXAMS`).
    """
    rows = project.rows(
        "SELECT EXISTS (FROM questions o JOIN items USING (question_key)"
        " WHERE o.query_key = q.query_key),"
        " EXISTS (FROM all_subtopics() s WHERE s.query_key = q.query_key)"
        " FROM queries q ANTI JOIN pool USING (query_key) WHERE query_id = ?",
        [query_id],
    )
    if not rows:
        return False
    has_items, has_subtopics = rows[0]
    active = [question for question in own if question.active]
    by_hand = bool(active) and all(
        question.kind == "choice" and question.subtopic_id is None for question in active
    )
    return has_items or (by_hand and not has_subtopics)


def questions_by_query(
    project: Project, questions: Iterable[Question]
) -> dict[str, list[Question]]:
    """Group questions by the id of every query that asks them. A query's own questions precede its
    parent's.
    """
    questions = list(questions)
    topics = _topics_of(project, _question_places(questions))
    by_topic = [
        (f"{question.query_id}/{topic}", question)
        for question in questions
        for topic in topics.get(question.query_id, ())
        if question.subtopic_id in (None, topic)
    ]
    return group_pairs([*((question.query_id, question) for question in questions), *by_topic])


def _question_places(questions: Iterable[Question]) -> list[Place]:
    return [(question.query_id, question.subtopic_id) for question in questions]


def _topics_of(project: Project, places: Iterable[Place]) -> dict[str, list[str]]:
    """Return the subtopics of queries that have a topic, by query id.

    Subtopics that are named only in `places`, and not in a saved question, are included.
    """
    places = list(dict.fromkeys(places))
    saved = project.rows(
        "SELECT query_id, subtopic_id FROM topics() JOIN queries USING (query_key)"
        " WHERE list_contains(?, query_id) ORDER BY topic_key",
        [list(dict.fromkeys(query for query, _ in places))],
    )
    named = [(query, subtopic) for query, subtopic in places if subtopic is not None]
    known = _queries_among(project, [f"{query}/{subtopic}" for query, subtopic in named])
    named = [(query, subtopic) for query, subtopic in named if f"{query}/{subtopic}" in known]
    return group_pairs(dict.fromkeys([*saved, *named]))


def answered_by_topic(project: Project, query_id: str, questions: Iterable[Question] = ()) -> bool:
    """Return whether runs answer a query topic by topic, or would do so with some further
    questions.
    """
    places = [(query_id, None), *_question_places(q for q in questions if q.query_id == query_id)]
    # Most queries have no topics, and searching the runs is slow if they rank many passages.
    if query_id not in _topics_of(project, places):
        return False
    ranked = "SELECT EXISTS (FROM rankings JOIN queries USING (query_key) WHERE query_id = ?)"
    return not project.value(ranked, [query_id])


def without_answered_by_topic(project: Project, query_ids: Iterable[str]) -> list[str]:
    """Return the queries that count in a mean over queries: all but the queries that runs answer
    topic by topic.
    """
    rows = project.rows(
        "SELECT query_id FROM queries WHERE query_key IN (FROM answered_by_topic())"
    )
    left_out = {query_id for (query_id,) in rows}
    return [query_id for query_id in query_ids if query_id not in left_out]


def query_as_question(project: Project, query_id: str) -> Question:
    """Return the query as the only question of a direct grader: its title, with its answer as the
    key.
    """
    ((text, answer),) = project.rows(
        "SELECT t.text, t.answer FROM titles() t JOIN queries USING (query_key) WHERE query_id = ?",
        [query_id],
    )
    return Question(query_id, query_id, text, answer_key=answer)


def _queries_among(project: Project, ids: Sequence[str]) -> set[str]:
    """Return the ids that are queries of the project."""
    if not ids:
        return set()
    return {
        found
        for (found,) in project.rows(
            "SELECT query_id FROM queries WHERE list_contains(?, query_id)", [ids]
        )
    }


CITING = (
    "(SELECT query_key, passage_key, position, sentence, s.text_key AS whole_key,"
    " coalesce(t.text_key, -dense_rank() OVER (ORDER BY sentence)) AS text_key"
    " FROM sentences s LEFT JOIN passage_texts t ON t.text = sentence WHERE len(citations) > 0)"
)
"""SQL for the sentences with citations, as passages. text_key is negative if no grader was asked
about the sentence.

whole_key is the text key of the response's passage with the sentence.
"""


def asked_pool(spec: GraderSpec) -> str:
    """Return SQL for the passages that a grader may grade: query_key, passage_key, text_key,
    position.
    """
    if spec.rates_citations:
        return (
            "(SELECT query_key, cited_passage AS passage_key, cited_key AS text_key, position"
            " FROM cited)"
        )
    columns = "SELECT query_key, passage_key, text_key, position FROM"
    return f"({columns} pool UNION ALL {columns} {CITING})"


_PLACED = (
    "(SELECT r.*, t.asking_key AS query_key FROM bank_at($version) r JOIN questions o"
    " USING (question_key)"
    f" JOIN places() t ON t.query_key = o.query_key AND {ASKS}"
    f" ANTI JOIN {EXAMS} x ON x.query_key = asking_key)"
)
"""SQL for the revisions of the bank: one row per question and per query or topic that asks it."""


def bank_for(spec: GraderSpec) -> str:
    """Return SQL for the active questions that a grader can grade: a subquery over `$version`.

    Its columns are query_key, question_key, text_key and weight. text_key is the key of the text
    that the grader gets, and NULL if that text was never asked. For a direct grader, the query
    itself is the only question. A question is asked for its query, and for the topic
    `query/subtopic` if the project has it. A question without a subtopic is asked for every topic
    of its query. A grader of citations gets sentences instead: see `asked_bank`.
    """
    if spec.method == "direct" or spec.reads:
        return f"(SELECT * EXCLUDE (asked) FROM {asked_bank(spec)})"
    kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
    return (
        f"(SELECT query_key, question_key, text_key, weight FROM {_PLACED} WHERE active"
        f" AND kind IN ({kinds}))"
    )


def asked_bank(spec: GraderSpec) -> str:
    """Return the SQL of `bank_for` with a further column `asked`, the text that the grader gets.

    For a grader of citations, the rows are sentences with citations, with the columns of the view
    `cited`.
    """
    if spec.rates_citations:
        return (
            "(SELECT *, passage_key AS question_key, sentence_key AS text_key, 1e0 AS weight,"
            " sentence AS asked"
            " FROM (SELECT * EXCLUDE (text_key) FROM cited) WHERE cited_key IS NOT NULL"
            " AND $version >= 0)"
        )
    if spec.method == "direct":
        source = (
            "SELECT query_key, query_key AS question_key, 1e0 AS weight, text, answer AS"
            " answer_key, '[]' AS choices"
            f" FROM titles() ANTI JOIN {EXAMS} USING (query_key) WHERE $version >= 0"
        )
    else:
        kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
        source = (
            "SELECT query_key, question_key, weight, text, answer_key, choices"
            f" FROM {_PLACED} JOIN question_texts USING (text_key)"
            f" WHERE active AND kind IN ({kinds})"
        )
    return (
        "(SELECT query_key, question_key, a.text_key, weight, asked"
        f" FROM (SELECT *, {_asked_sql(spec)} AS asked FROM ({source}))"
        " LEFT JOIN question_texts a ON a.text = asked WHERE asked IS NOT NULL)"
    )


def _asked_sql(spec: GraderSpec) -> str:
    """Return `GraderSpec.asked_text` as SQL over the columns text, answer_key and choices."""
    if not spec.reads:
        return "text"
    separator = f"chr({ord(SEPARATOR)})"
    if "choices" in spec.reads:
        parts, condition = (
            f"text || {separator} || answer_key || {separator} || choices",
            "answer_key <> '' AND choices <> '[]'",
        )
    else:
        parts, condition = f"text || {separator} || answer_key", "answer_key <> ''"
    return f"CASE WHEN {condition} THEN {parts} END"


def name_asked_texts(project: Project, spec: GraderSpec, version: int) -> None:
    """Store a key for every text without a key that a grader gets at a bank version.

    If all texts have keys, nothing is written, so that a forecast of a job keeps caches valid.
    """
    unnamed = f"FROM {asked_bank(spec)} WHERE text_key IS NULL"
    _name_texts(project, "question_texts", "asked", "question_key", unnamed, {"version": version})


def name_sentences(project: Project) -> None:
    """Give every citing sentence without a key one, so that graders can be asked about it."""
    unnamed = f"FROM {CITING} WHERE text_key < 0"
    _name_texts(project, "passage_texts", "sentence", "passage_key", unnamed, {})


def _name_texts(
    project: Project, table: str, text: str, key: str, unnamed: str, parameters: dict[str, Any]
) -> None:
    if not project.value(f"SELECT count(*) {unnamed}", parameters):
        return
    # A forecast of a job may be the first to need these keys, so the right to read suffices.
    with project.transaction(act="read the bank") as cursor:
        cursor.execute(
            f"INSERT INTO {table} (text_key, text) SELECT nextval('keys'), {text}"
            f" FROM (SELECT {text}, min({key}) AS first {unnamed} GROUP BY {text}"
            f" ORDER BY first, {text})",
            parameters,
        )


def question_text_key(cursor: Cursor, text: str) -> int:
    """Return the key of a question text; add the text if it is new."""
    rows = cursor.execute("SELECT text_key FROM question_texts WHERE text = ?", [text]).fetchall()
    if not rows:
        rows = cursor.execute(
            "INSERT INTO question_texts VALUES (nextval('keys'), ?, NULL) RETURNING text_key",
            [text],
        ).fetchall()
    return int(rows[0][0])
