"""Saving the question bank. Every save appends a version that contains only its changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..errors import InputError, check_in_range
from ..records import check_new, kept_as_they_are, refuse_hidden
from ..store import Cursor, Project, as_name, lend_table, log_action, table_of
from ..text import all_clean, clean_or_none, clean_text
from ..types import KINDS, MAX_WEIGHT, Question
from ._questions import list_questions

if TYPE_CHECKING:
    import pyarrow as pa

QUESTIONS_A_PART = 10_000
"""Maximum number of questions that one SQL statement writes, which limits the memory of its joins
and sorts.
"""


def restore_questions(
    project: Project,
    version: int,
    note: str,
    author: str,
    question_ids: Sequence[str] | None = None,
) -> int | None:
    """Restore questions from an earlier version, as a new version. Versions in between stay.

    Args:
        question_ids: the questions to restore; None for the whole bank. Questions that the earlier
            version did not have are retired.

    Returns:
        The new version, or None if nothing differs.

    Raises:
        InputError: the version does not exist.
    """
    in_version = {question.question_id: question for question in list_questions(project, version)}
    now = list_questions(project)
    chosen = {q.question_id for q in now} if question_ids is None else set(question_ids)
    restored = [
        in_version.get(question.question_id, replace(question, active=False))
        for question in now
        if question.question_id in chosen
    ]
    return save_version(project, restored, note, author)


def is_wordless(question: Question) -> bool:
    """Return whether a question has an empty text. A question whose text is unknown (None) is not
    wordless.
    """
    return question.text is not None and not clean_text(question.text).strip()


def check_question(question: Question) -> None:
    """Refuse a question that cannot be scored.

    Raises:
        InputError: the text is empty, the kind is unknown, or the weight is not a number or exceeds
            `MAX_WEIGHT`.
    """
    where = f"Question {question.question_id}"
    if is_wordless(question):
        raise InputError(
            "empty-question", f"{where} has no text.", "Write the text, or retire the question."
        )
    if question.kind not in KINDS:
        raise InputError(
            "unknown-kind",
            f"{where} has the unknown kind '{question.kind}'.",
            f"Available: {', '.join(KINDS)}.",
        )
    check_weight(question)


def check_weight(question: Question) -> None:
    """Refuse a weight that cannot be used in computations.

    Raises:
        InputError: the weight is not a number, or its absolute value exceeds `MAX_WEIGHT`.
    """
    check_in_range(
        "weight-out-of-range",
        f"Weight {question.weight:g} of question {question.question_id}",
        f"Use a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}.",
        abs(question.weight) <= MAX_WEIGHT,
    )


def save_version(
    project: Project, changed: Sequence[Question], note: str, author: str
) -> int | None:
    """Save questions as a new bank version; all other questions stay unchanged.

    If a question was known by id only, its text is a new wording without grades. Only an import can
    supply the wording of the existing grades (`bank.words`). If such a question is saved without a
    text, its wording stays unknown.

    Returns:
        The new version, or None if nothing differs from the newest.

    Raises:
        InputError: a question cannot be scored, or its query is unknown.
    """
    refuse_hidden(project, [one.question_id for one in changed])
    with project.transaction(
        act="save the bank", queries=[one.query_id for one in changed], author=author
    ) as cursor:
        version = save_questions(cursor, changed, note, author)
        if version is not None:
            log_action(cursor, author, "save bank", version=version, note=note)
    return version


def save_questions(
    cursor: Cursor, changed: Sequence[Question], note: str, author: str
) -> int | None:
    """Save questions as `save_version` does, in the transaction of a larger action and without an
    entry in the activity log.
    """
    ids: set[str] = set()
    for question in changed:
        check_question(question)
        if question.question_id in ids:
            raise InputError(
                "duplicate-question",
                f"Duplicate question {question.question_id}.",
                "List each question once.",
            )
        ids.add(question.question_id)
    check_ids(cursor, changed)
    table = question_table(cursor, changed)
    # An empty table has one empty part.
    starts = range(0, max(len(table), 1), QUESTIONS_A_PART)
    return save_parts(
        cursor, lambda: (table.slice(start, QUESTIONS_A_PART) for start in starts), note, author
    )


def save_parts(
    cursor: Cursor, parts: Callable[[], Iterator[pa.Table]], note: str, author: str
) -> int | None:
    """Save any number of checked questions as `save_questions` does.

    Args:
        parts: at each call, yields all questions in tables of `columns_of` with at most
            `QUESTIONS_A_PART` rows.
    """
    # All questions need keys before texts get theirs.
    for step in (_check_queries, _name_questions, _name_unknown_texts, _add_texts):
        for part in parts():
            if step is _name_unknown_texts and not _has_wordless(part):
                continue
            with lend_table(cursor, "incoming_bank", part):
                step(cursor)
    return _append_revisions(cursor, parts(), note, author)


def _has_wordless(part: pa.Table) -> bool:
    """Return whether a question has no text. This slow search is rarely needed."""
    return bool(part["text"].null_count)


def _check_queries(cursor: Cursor) -> None:
    stray = cursor.execute(
        "SELECT query_id FROM incoming_bank ANTI JOIN queries USING (query_id)"
    ).fetchall()
    if stray:
        raise InputError(
            "unknown-query",
            f"Unknown query '{stray[0][0]}' in the question bank.",
            "Import the queries first.",
        )
    foreign = cursor.execute(
        "SELECT question_id, i.query_id FROM incoming_bank i JOIN questions USING (question_id)"
        " JOIN queries q ON q.query_key = questions.query_key"
        " WHERE q.query_id <> i.query_id LIMIT 1"
    ).fetchall()
    if foreign:
        raise InputError(
            "question-of-two-queries",
            f"Question {foreign[0][0]} does not belong to query {foreign[0][1]}.",
            "Use another question id.",
        )


def check_ids(cursor: Cursor, changed: Sequence[Question]) -> None:
    """Refuse new ids of questions and subtopics that files cannot contain. Ids that the bank
    already has are accepted.

    Raises:
        InputError: a new id has control characters.
    """
    check_new(cursor, "question", (question.question_id for question in changed))
    check_new(
        cursor, "subtopic", (question.subtopic_id for question in changed if question.subtopic_id)
    )


def clean_questions(cursor: Cursor, changed: Sequence[Question]) -> list[Question]:
    """Return questions with clean texts.

    An unclean wording that an earlier version stored stays unchanged, so that a new weight loses no
    grades.
    """
    clean = all_cleaned(changed)
    unclean = [a.text for a, b in zip(changed, clean, strict=True) if a.text and a.text != b.text]
    if not unclean:
        return clean
    kept = kept_as_they_are(cursor, [text.strip() for text in unclean])
    return [
        replace(after, text=before.text) if before.text and before.text.strip() in kept else after
        for before, after in zip(changed, clean, strict=True)
    ]


def all_cleaned(changed: Sequence[Question]) -> list[Question]:
    """Return questions as `clean_question` does."""
    # Most questions have only a text, and checking all texts together is much faster.
    further = any(question.answer_key or question.choices or question.note for question in changed)
    if not further and all_clean(question.text for question in changed if question.text):
        return list(changed)
    return [clean_question(question) for question in changed]


def clean_question(question: Question) -> Question:
    """Return a question with all texts cleaned by `clean_text`. Blank texts, except its wording,
    become None.
    """
    text, note = clean_or_none(question.text), _words_or_none(question.note)
    key = _words_or_none(question.answer_key)
    choices = tuple(choice for choice in map(clean_text, question.choices) if choice.strip())
    if (text, key, choices, note) == (
        question.text,
        question.answer_key,
        question.choices,
        question.note,
    ):
        # Nearly all are clean, and a new object costs more than this comparison.
        return question
    return replace(question, text=text, answer_key=key, choices=choices, note=note)


def _words_or_none(text: str | None) -> str | None:
    clean = clean_or_none(text)
    return None if clean is not None and clean.isspace() else clean


def _name_questions(cursor: Cursor) -> None:
    # Questions at one position, such as the parts of a split, are ordered by their keys.
    cursor.execute(
        "INSERT INTO questions SELECT nextval('keys'), question_id, query_key FROM"
        " (FROM incoming_bank ANTI JOIN questions USING (question_id) JOIN queries USING (query_id)"
        "  ORDER BY position)"
    )


def _name_unknown_texts(cursor: Cursor) -> None:
    cursor.execute(
        "INSERT INTO question_texts SELECT nextval('keys'), NULL, question_id FROM"
        " (FROM incoming_bank i WHERE text IS NULL"
        "  AND NOT EXISTS (SELECT * FROM question_texts t WHERE t.placeholder = i.question_id)"
        "  AND NOT EXISTS (SELECT * FROM question_revisions"
        "  JOIN questions USING (question_key) WHERE questions.question_id = i.question_id)"
        " ORDER BY position)"
    )


def question_table(cursor: Cursor, changed: Sequence[Question]) -> pa.Table:
    """Return questions with clean texts as a table with the columns of `columns_of`."""
    import pyarrow as pa

    rows = clean_questions(cursor, changed)
    # An import may have tens of thousands: lists need several times the memory of a table.
    starts = range(0, max(len(rows), 1), QUESTIONS_A_PART)
    return pa.concat_tables(
        columns_of(rows[start : start + QUESTIONS_A_PART], start) for start in starts
    )


def columns_of(rows: Sequence[Question], start: int) -> pa.Table:
    """Return questions as a table; `position` counts from `start`."""
    types = {
        "question_id": "VARCHAR",
        "query_id": "VARCHAR",
        "text": "VARCHAR",
        "kind": "VARCHAR",
        "weight": "DOUBLE",
        "active": "BOOLEAN",
        "subtopic_id": "VARCHAR",
        "answer_key": "VARCHAR",
        "choices": "VARCHAR",
        "note": "VARCHAR",
        "position": "INTEGER",
        "place": "INTEGER",
    }
    own = (
        "question_id",
        "query_id",
        "kind",
        "weight",
        "active",
        "subtopic_id",
        "answer_key",
        "note",
    )
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), rows)) for name in own}
    columns["text"] = [row.text.strip() if row.text else None for row in rows]
    columns["choices"] = [
        json.dumps(row.choices, ensure_ascii=False) if row.choices else "[]" for row in rows
    ]
    columns["position"] = list(range(start, start + len(rows)))
    columns["place"] = [row.position for row in rows]
    return table_of(columns, types)


def _add_texts(cursor: Cursor) -> None:
    cursor.execute(
        "INSERT INTO question_texts SELECT nextval('keys'), text, NULL"
        " FROM (SELECT text, min(position) AS first"
        " FROM incoming_bank WHERE text IS NOT NULL AND text NOT IN"
        " (SELECT text FROM question_texts WHERE text IS NOT NULL) GROUP BY text ORDER BY first)"
    )


def _append_revisions(
    cursor: Cursor, parts: Iterator[pa.Table], note: str, author: str
) -> int | None:
    newest, last = cursor.execute(
        "SELECT (SELECT coalesce(max(version), 0) FROM bank_versions),"
        " (SELECT coalesce(max(position), 0) FROM question_revisions)"
    ).fetchall()[0]
    version, appended = int(newest) + 1, False
    for part in parts:
        with lend_table(cursor, "incoming_bank", part):
            revisions = cursor.execute(
                _differing_sql(_has_wordless(part)), {"version": newest}
            ).to_arrow_table()
        if not len(revisions):
            continue
        if not appended:
            cursor.execute(
                "INSERT INTO bank_versions VALUES (?, ?, ?, now()::TIMESTAMP)",
                [version, clean_text(note).strip(), as_name(author)],
            )
            appended = True
        with lend_table(cursor, "new_revisions", revisions):
            cursor.execute(
                "INSERT INTO question_revisions"
                " SELECT nextval('keys'), question_key, ?, text_key, kind, weight,"
                " active, subtopic_id, answer_key, choices, note,"
                " coalesce(place, old_position, ?::INTEGER + position + 1),"
                " parent FROM (FROM new_revisions ORDER BY position)",
                [version, last],
            )
    return version if appended else None


def _differing_sql(wordless: bool) -> str:
    """Return SQL for the incoming questions that differ from the bank at `$version`, with their
    preceding revision.

    Args:
        wordless: whether some incoming questions have no text.
    """
    text_key_sql = (
        "coalesce(t.text_key, f.text_key, {}r.text_key)"
        if wordless
        else "coalesce(t.text_key, r.text_key)"
    )
    return (
        f"SELECT questions.question_key, {text_key_sql.format('p.text_key, ')} AS text_key, i.*,"
        " r.revision_key AS parent, r.position AS old_position"
        " FROM incoming_bank i JOIN questions USING (question_id)"
        " LEFT JOIN bank_at($version) r ON r.question_key = questions.question_key"
        " LEFT JOIN question_texts t ON t.text = i.text"
        f"{_OF_WORDLESS if wordless else ''}"
        " WHERE r.revision_key IS NULL OR i.place <> r.position OR"
        f"  ({text_key_sql.format('')}, i.kind, i.weight, i.active, i.subtopic_id, i.answer_key,"
        "   i.choices, i.note) IS DISTINCT FROM"
        "  (r.text_key, r.kind, r.weight, r.active, r.subtopic_id, r.answer_key, r.choices, r.note)"
    )


_OF_WORDLESS = (
    # Join on equality alone: with further conditions DuckDB compares every pair of rows.
    " LEFT JOIN question_texts p ON p.placeholder ="
    "  CASE WHEN r.revision_key IS NULL AND i.text IS NULL THEN i.question_id END"
    # A question without text keeps the text that it began with: unknown, or known by now.
    " LEFT JOIN (SELECT question_key, arg_min(o.text_key, version) AS text_key"
    " FROM question_revisions o"
    "  JOIN questions USING (question_key)"
    " JOIN question_texts a ON a.placeholder = question_id GROUP BY 1) f"
    "  ON f.question_key = CASE WHEN i.text IS NULL THEN questions.question_key END"
)
"""Joins that find the stored texts of incoming questions without a text."""
