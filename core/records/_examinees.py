"""Examinees of exams, their answers, and retrievals: rankings of passages for exam items."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError, check_known
from ..grouping import group_pairs, nest_triples
from ..store import Cursor, Project, as_name, stage_rows
from ..text import clean_or_none
from ._collection import check_new
from ._generated_answers import counting_row_sql, put_by_fingerprint

CLOSED_BOOK, ORACLE = "closed-book", "oracle"
NOT_RETRIEVED = (CLOSED_BOOK, ORACLE)
"""Alternatives to a retrieval: no context, or the passage from which the item was made."""
ELSEWHERE = ""
"""Context of imported answers, because the texts that the examinees received are unknown."""


@dataclass(frozen=True)
class Student:
    """An examinee: a pipeline that sits an exam.

    Args:
        name: shown to people; not part of the fingerprint.
        fingerprint: hash of all settings that change its answers.
        model: name of the model, or of the rule used instead; None if a file does not state it.
        retrieval: closed-book, oracle, or the name of a retrieval; None if not stated.
        k: number of passages from the retrieval; None without a retrieval, or if not stated.
        icl: number of worked items before the question; None if not stated.
        parameters: the settings from which it can be built again; empty for an imported examinee.
        factors: level by factor, the components by which examinees are compared: the fields above,
            and others.
        key: its key in the project; 0 before it is stored.
    """

    name: str
    fingerprint: str
    model: str | None = None
    retrieval: str | None = None
    k: int | None = None
    icl: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, str] = field(default_factory=dict)
    key: int = 0

    @property
    def sat_elsewhere(self) -> bool:
        """Whether its answers came from a file, so that it cannot be run here."""
        return not self.parameters


@dataclass(frozen=True)
class Answer:
    """An answer of an examinee to an item.

    Args:
        item_text_key: of the item's text, with its answer key and choices.
        context: digest of all other texts that the examinee received.
        correct: whether its choice is right; None for a failure.
        reason: why it failed; None for a success.
        chosen: position of its choice, from 0; None if unknown.
        scores: for each choice the value by which choices are compared: normalized log-likelihood,
            or similarity.
        raw: the text that the model wrote.
        note: other remarks.
    """

    item_text_key: int
    context: str
    correct: bool | None
    reason: str | None = None
    chosen: int | None = None
    scores: tuple[float, ...] | None = None
    raw: str | None = None
    note: str | None = None


def fingerprint_of(identity: Any) -> str:
    """Return the fingerprint of an examinee: SHA-256 (16 hex digits) of a JSON value."""
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def put_student(cursor: Cursor, student: Student, author: str) -> int:
    """Return the key of an examinee; add it if its fingerprint is new. Its factors are updated.

    Raises:
        InputError: another examinee has this name, or the name has control characters.
    """
    key = put_by_fingerprint(
        cursor,
        ("students", "student_key", "examinee"),
        "add student",
        (
            student.fingerprint,
            student.name,
            student.model,
            student.retrieval,
            student.k,
            student.icl,
        ),
        student.parameters,
        author,
        " See exam examinees list.",
    )
    state_factors(cursor, {key: student.factors}, author)
    return key


def external_examinee(name: str) -> Student:
    """Return an examinee from a file that states only its name."""
    return Student(name, fingerprint_of(["elsewhere", name]))


def state_factors(cursor: Cursor, stated: Mapping[int, Mapping[str, str]], author: str) -> int:
    """State the factors of examinees; earlier statements stay on record.

    Args:
        stated: level by factor, by examinee key.

    Returns:
        The number of changed levels.
    """
    factors_before = _latest_factors(cursor)
    rows = [
        (key, factor, level)
        for key, levels in stated.items()
        for factor, level in levels.items()
        if factors_before.get(key, {}).get(factor) != level
    ]
    for row in rows:
        cursor.execute(
            "INSERT INTO student_factors VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
            [*row, as_name(author)],
        )
    return len(rows)


def _latest_factors(cursor: Cursor) -> dict[int, dict[str, str]]:
    """Return the latest level by examinee key and factor, factors in the order of their first
    statement.
    """
    return nest_triples(
        cursor.execute(
            "SELECT student_key, factor, level FROM student_factors ORDER BY rowid"
        ).fetchall()
    )


def list_examinees(project: Project) -> list[Student]:
    """Return every examinee, in the order in which they were added."""
    return project.read(students_of)


def students_of(cursor: Cursor) -> list[Student]:
    """Return the same as `list_examinees` within a transaction."""
    stated = _latest_factors(cursor)
    return [
        Student(
            name,
            fingerprint,
            model,
            retrieval,
            k,
            icl,
            json.loads(parameters),
            _own_factors(model, retrieval, k, icl) | stated.get(key, {}),
            key,
        )
        for key, fingerprint, name, model, retrieval, k, icl, parameters in cursor.execute(
            "SELECT student_key, fingerprint, name, model, retrieval, k, icl, parameters"
            " FROM students ORDER BY student_key"
        ).fetchall()
    ]


def _own_factors(
    model: str | None, retrieval: str | None, k: int | None, icl: int | None
) -> dict[str, str]:
    """Return the known components that every pipeline has (Guinet et al., section 3.3)."""
    levels = {
        "model": model,
        "retrieval": retrieval if k in (None, 1) else f"{retrieval}@{k}",
        "icl": None if icl is None else f"ICL@{icl}",
    }
    return {factor: level for factor, level in levels.items() if level is not None}


def find_students(project: Project, names: Sequence[str] | None) -> list[Student]:
    """Return the examinees with some names or fingerprints, in the given order; None returns all.

    Raises:
        InputError: unknown examinee.
    """
    every = list_examinees(project)
    if names is None:
        return every
    by_name = {student.fingerprint: student for student in every} | {
        student.name: student for student in every
    }
    check_known(
        "unknown-student",
        "examinee",
        [one.name for one in every],
        *(name for name in names if name not in by_name),
        hint="" if every else "Add an examinee: exam examinees add.",
    )
    return list({by_name[name].name: by_name[name] for name in names}.values())


_ANSWER_COLUMNS = {
    "student_key": "INTEGER",
    "item_text_key": "INTEGER",
    "context": "VARCHAR",
    "correct": "BOOLEAN",
    "reason": "VARCHAR",
    "chosen": "TINYINT",
    "scores": "DOUBLE[]",
    "raw": "VARCHAR",
    "note": "VARCHAR",
    "sitting_key": "INTEGER",
}


def add_answers(
    cursor: Cursor, student_key: int, answers: Sequence[Answer], sitting_key: int | None
) -> int:
    """Store answers of an examinee. Earlier answers stay and count.

    Args:
        sitting_key: the job that made them; None for a file.

    Returns:
        The number of rows written: new answers, and every failure.
    """
    rows = [
        (
            student_key,
            answer.item_text_key,
            answer.context,
            answer.correct,
            clean_or_none(answer.reason),
            answer.chosen,
            answer.scores,
            clean_or_none(answer.raw),
            clean_or_none(answer.note),
            sitting_key,
        )
        for answer in answers
    ]
    stage_rows(cursor, "new_answers", rows, _ANSWER_COLUMNS)
    return int(
        cursor.execute(
            "INSERT INTO answers FROM new_answers n WHERE NOT EXISTS (SELECT * FROM answers a"
            " WHERE a.student_key = n.student_key AND a.item_text_key = n.item_text_key"
            " AND a.context = n.context AND a.correct IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


Asked = tuple[int, str]
"""The place of an answer: text key of the item, and digest of the context."""


def answers_of(cursor: Cursor, student_key: int) -> dict[Asked, Answer]:
    """Return, by place, an examinee's answer that counts: the first right or wrong answer, or else
    the last failure.
    """
    rows = cursor.execute(
        "SELECT item_text_key, context, correct, reason, chosen, scores, raw, note FROM answers"
        " WHERE student_key = ?"
        f" {counting_row_sql('item_text_key, context', 'correct')} ORDER BY rowid",
        [student_key],
    ).fetchall()
    return {
        (item, context): Answer(
            item, context, correct, reason, chosen, scores and tuple(scores), raw, note
        )
        for item, context, correct, reason, chosen, scores, raw, note in rows
    }


def answer_outcomes(project: Project) -> dict[tuple[int, int, str], bool | None]:
    """Return, by (examinee key, item text key, context), whether the answer that counts is right;
    None if it failed.
    """
    return {
        (student, item, context): correct
        for student, item, context, correct in project.rows(
            "SELECT student_key, item_text_key, context, arg_min(correct, rowid) FILTER"
            " (correct IS NOT NULL) FROM answers GROUP BY ALL"
        )
    }


Ranking = Sequence[tuple[str, float]]
"""Passage ids with their scores, best first."""


def read_retrieval(cursor: Cursor, name: str) -> dict[str, list[tuple[str, float]]]:
    """Return the rankings of a retrieval by question id; empty for an unknown retrieval."""
    rows = cursor.execute(
        "SELECT question_id, passage_id, score FROM retrieved JOIN retrievals r"
        " USING (retrieval_key)"
        " JOIN questions USING (question_key) JOIN passages USING (passage_key) WHERE r.name = ?"
        " ORDER BY question_key, rank",
        [name],
    ).fetchall()
    return group_pairs(
        (question_id, (passage_id, score)) for question_id, passage_id, score in rows
    )


def put_retrieval(
    cursor: Cursor, name: str, made_by: str, rankings: Mapping[str, Ranking], author: str
) -> int:
    """Store a retrieval; ranks are the positions in the rankings.

    Args:
        made_by: name of the file or of the retriever.
        rankings: by id of a known question; all passages must be known.

    Returns:
        The number of items with a ranking.

    Raises:
        InputError: the name is taken or invalid, or an item or a passage is unknown.
    """
    check_new(cursor, "retrieval", [name])
    if cursor.execute("SELECT 1 FROM retrievals WHERE name = ?", [name]).fetchall():
        raise InputError(
            "name-taken", f"A retrieval named '{name}' already exists.", "Use another name."
        )
    lines = [
        (item, passage, rank, score)
        for item, ranking in rankings.items()
        for rank, (passage, score) in enumerate(ranking, 1)
    ]
    types = {
        "question_id": "VARCHAR",
        "passage_id": "VARCHAR",
        "rank": "INTEGER",
        "score": "DOUBLE",
    }
    stage_rows(cursor, "new_retrieved", lines, types)
    for what, column, hint in (
        (
            "item",
            "question",
            "In a run for an exam, use item ids as query ids. See exam items list.",
        ),
        ("passage", "passage", "Import the passages first."),
    ):
        lost = cursor.execute(
            f"SELECT {column}_id FROM new_retrieved ANTI JOIN {column}s USING ({column}_id)"
        ).fetchall()
        if lost:
            raise InputError(
                f"unknown-{what}", f"Unknown {what} '{lost[0][0]}' in {made_by}.", hint
            )
    ((key,),) = cursor.execute(
        "INSERT INTO retrievals VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)"
        " RETURNING retrieval_key",
        [name, made_by, as_name(author)],
    ).fetchall()
    cursor.execute(
        "INSERT INTO retrieved SELECT ?, question_key, passage_key, rank, score FROM new_retrieved"
        " JOIN questions USING (question_id) JOIN passages USING (passage_id)"
        " ORDER BY question_key, rank",
        [key],
    )
    return sum(bool(ranking) for ranking in rankings.values())
