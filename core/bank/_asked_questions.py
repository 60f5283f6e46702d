"""The questions that a grader can grade: active questions of all queries and topics, with their texts."""

from __future__ import annotations

from ..store import Cursor, Project
from ..types import SEPARATOR, GraderSpec
from ._cited_passages import CITING
from ._topics import EXAMS, asks

_PLACED = (
    f"(SELECT r.*, t.asking_key AS query_key FROM bank_at($version) r JOIN questions o USING (question_key)"
    f" JOIN places() t ON t.query_key = o.query_key AND {asks('t', 'r')}"
    f" ANTI JOIN {EXAMS} x ON x.query_key = asking_key)"
)
"""SQL for the revisions of the bank: one row per question and per query or topic that asks it."""


def bank_for(spec: GraderSpec) -> str:
    """Return SQL for the active questions that a grader can grade: a subquery over `$version`.

    Its columns are query_key, question_key, text_key and weight. text_key is the key of the text that the grader gets,
    and NULL if that text was never asked. For a direct grader, the query itself is the only question. A question is
    asked for its query, and for the topic `query/subtopic` if the project has it. A question without a subtopic is
    asked for every topic of its query. A grader of citations gets sentences instead: see `asked_bank`.
    """
    if spec.method == "direct" or spec.reads:
        return f"(SELECT * EXCLUDE (asked) FROM {asked_bank(spec)})"
    kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
    return f"(SELECT query_key, question_key, text_key, weight FROM {_PLACED} WHERE active AND kind IN ({kinds}))"


def asked_bank(spec: GraderSpec) -> str:
    """Return the SQL of `bank_for` with a further column `asked`, the text that the grader gets.

    For a grader of citations, the rows are sentences with citations, with the columns of the view `cited`.
    """
    if spec.rates_citations:
        return (
            "(SELECT *, passage_key AS question_key, sentence_key AS text_key, 1e0 AS weight, sentence AS asked"
            " FROM (SELECT * EXCLUDE (text_key) FROM cited) WHERE cited_key IS NOT NULL AND $version >= 0)"
        )
    if spec.method == "direct":
        source = (
            "SELECT query_key, query_key AS question_key, 1e0 AS weight, text, answer AS answer_key, '[]' AS choices"
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
        parts, given = (
            f"text || {separator} || answer_key || {separator} || choices",
            "answer_key <> '' AND choices <> '[]'",
        )
    else:
        parts, given = f"text || {separator} || answer_key", "answer_key <> ''"
    return f"CASE WHEN {given} THEN {parts} END"


def name_asked_texts(project: Project, spec: GraderSpec, version: int) -> None:
    """Store a key for every text without a key that a grader gets at a bank version.

    If all texts have keys, nothing is written, so that a forecast of a job keeps caches valid.
    """
    unnamed = f"FROM {asked_bank(spec)} WHERE text_key IS NULL"
    if not project.value(f"SELECT count(*) {unnamed}", {"version": version}):
        return
    # A forecast of a job may be the first to need these keys, so the right to read suffices.
    with project.transaction(act="read the bank") as cursor:
        cursor.execute(
            "INSERT INTO question_texts SELECT nextval('keys'), asked, NULL"
            f" FROM (SELECT asked, min(question_key) AS first {unnamed} GROUP BY asked ORDER BY first, asked)",
            {"version": version},
        )


def name_sentences(project: Project) -> None:
    """Give a key to every sentence that cites and has none, so that graders can be asked about it."""
    unnamed = f"FROM {CITING} WHERE text_key < 0"
    if not project.value(f"SELECT count(*) {unnamed}"):
        return
    with project.transaction(act="read the bank") as cursor:
        cursor.execute(
            "INSERT INTO passage_texts SELECT nextval('keys'), sentence"
            f" FROM (SELECT sentence, min(passage_key) AS first {unnamed} GROUP BY sentence ORDER BY first, sentence)"
        )


def question_text_key(cursor: Cursor, text: str) -> int:
    """Return the key of a question text; add the text if it is new."""
    known = cursor.execute("SELECT text_key FROM question_texts WHERE text = ?", [text]).fetchall()
    if not known:
        known = cursor.execute(
            "INSERT INTO question_texts VALUES (nextval('keys'), ?, NULL) RETURNING text_key", [text]
        ).fetchall()
    return int(known[0][0])
