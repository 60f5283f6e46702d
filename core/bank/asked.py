"""What a grader is asked: the active questions that it can grade, of every query and topic, and their texts."""

from __future__ import annotations

from ..project import Cursor, Project
from ..types import SEPARATOR, GraderSpec
from .citations import CITED
from .topics import EXAMS, asks

_PLACED = (
    f"(SELECT r.*, t.asking_key AS query_key FROM bank_at($version) r JOIN questions o USING (question_key)"
    f" JOIN places() t ON t.query_key = o.query_key AND {asks('t', 'r')}"
    f" ANTI JOIN {EXAMS} x ON x.query_key = asking_key)"
)
"""The revisions of the bank, one row a query or topic that asks the question."""


def bank_for(spec: GraderSpec) -> str:
    """The active questions that a grader can grade, as a subquery over `$version`.

    Its columns are query_key, question_key, text_key (of what the grader is asked; NULL where it never was),
    weight. For a direct grader the query itself is the one question. A question is asked for its query, and
    for the topic `query/subtopic` where the project has one; without a subtopic for every topic of its query.
    A grader of citations is asked none of them: see `asked_bank`.
    """
    if spec.method == "direct" or spec.reads:
        return f"(SELECT * EXCLUDE (asked) FROM {asked_bank(spec)})"
    kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
    return f"(SELECT query_key, question_key, text_key, weight FROM {_PLACED} WHERE active AND kind IN ({kinds}))"


def asked_bank(spec: GraderSpec) -> str:
    """The same as `bank_for`, with the text that is asked in a column `asked`.

    A grader of citations is asked the sentences that cite: the columns of `CITED` come with them.
    """
    if spec.rates_citations:
        return (
            f"(SELECT *, passage_key AS question_key, sentence_key AS text_key, 1e0 AS weight, sentence AS asked"
            f" FROM (SELECT * EXCLUDE (text_key) FROM {CITED}) WHERE cited_key IS NOT NULL AND $version >= 0)"
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
    """`GraderSpec.asked_text` over the columns text, answer_key and choices."""
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
    """Give a key to everything that a grader is asked at a bank version and was never asked before.

    Where all has one, as mostly, nothing is written: whoever only looks what a job would take leaves known what is.
    """
    unnamed = f"FROM {asked_bank(spec)} WHERE text_key IS NULL"
    if not project.value(f"SELECT count(*) {unnamed}", {"version": version}):
        return
    # Who may look what a job would take may do so first, too.
    with project.transaction(act="read the bank") as cursor:
        cursor.execute(
            "INSERT INTO question_texts SELECT nextval('keys'), asked, NULL"
            f" FROM (SELECT asked, min(question_key) AS first {unnamed} GROUP BY asked ORDER BY first, asked)",
            {"version": version},
        )


def question_text_key(cursor: Cursor, text: str) -> int:
    """The key of a question text, which is added where it is new."""
    known = cursor.execute("SELECT text_key FROM question_texts WHERE text = ?", [text]).fetchall()
    if not known:
        known = cursor.execute(
            "INSERT INTO question_texts VALUES (nextval('keys'), ?, NULL) RETURNING text_key", [text]
        ).fetchall()
    return int(known[0][0])
