"""Students of exams and what they answered: writing them, and reading them back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError, unknown_name
from ..text import clean_or_none
from .project import Cursor, Project, as_name, log
from .queries import check_new
from .staging import stage

CLOSED_BOOK, ORACLE = "closed-book", "oracle"
NOT_RETRIEVED = (CLOSED_BOOK, ORACLE)
"""What a student may have in place of a retrieval: no context, or the passage that the item was made from."""
ELSEWHERE = ""
"""Stands for the context of answers that a file brings: what those students were given is not known."""


@dataclass(frozen=True)
class Student:
    """Who sits an exam.

    Args:
        name: what people call it; not part of the fingerprint.
        fingerprint: of all that changes its answers.
        model: name of the model, or of the rule that takes its place; None where a file does not say.
        retrieval: closed-book, oracle, or the name of a retrieval; likewise.
        k: passages of the retrieval that it is given; likewise, and without one.
        icl: worked items before the question; likewise.
        parameters: how it is made again; empty for a student that sat elsewhere.
        factors: the components by which students are compared, by name: those above, and further ones.
        key: its key in the project; 0 before it has one.
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
        """Whether its answers came with a file, so that it cannot be asked here."""
        return not self.parameters


@dataclass(frozen=True)
class Answer:
    """What a student said of an item.

    Args:
        item_text_key: of what was asked, with its key and choices.
        context: digest of all other texts that the student was given.
        correct: whether it chose the key; None where it failed.
        reason: why it failed; None where it did not.
        chosen: position of its choice, from 0; None where that is not known.
        scores: what was compared, for each choice: log-likelihoods divided as the student says, or similarities.
        raw: what the model wrote.
        note: what else should be known.
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
    """SHA-256 (16 hex digits) of a JSON value, as the fingerprint of a student."""
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def put_student(cursor: Cursor, student: Student, author: str) -> int:
    """The key of a student, which is added where its fingerprint is new; its further factors are stated anew.

    Raises:
        InputError: another student has the name, or the name has control characters.
    """
    known = cursor.execute(
        "SELECT student_key, fingerprint FROM students WHERE fingerprint = ? OR name = ?",
        [student.fingerprint, student.name],
    ).fetchall()
    key = next((key for key, fingerprint in known if fingerprint == student.fingerprint), None)
    if key is None:
        if known:
            raise InputError(
                "name-taken",
                f"Another examinee is named '{student.name}'.",
                "Use another name. See exam examinees list.",
            )
        check_new(cursor, "examinee", [student.name])
        row = [student.fingerprint, student.name, student.model, student.retrieval, student.k, student.icl]
        key = cursor.execute(
            "INSERT INTO students VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING student_key",
            [*row, json.dumps(dict(student.parameters), ensure_ascii=False, sort_keys=True), as_name(author)],
        ).fetchall()[0][0]
        log(cursor, author, "add student", name=student.name)
    state_factors(cursor, {int(key): student.factors}, author)
    return int(key)


def elsewhere(name: str) -> Student:
    """The student that a file names and says nothing else of."""
    return Student(name, fingerprint_of(["elsewhere", name]))


def state_factors(cursor: Cursor, stated: Mapping[int, Mapping[str, str]], author: str) -> int:
    """Say of which components students are made; what was said before stays on record.

    Args:
        stated: level by factor, by student key.

    Returns:
        How many of them are news.
    """
    known = _factors(cursor)
    rows = [
        (key, factor, level)
        for key, levels in stated.items()
        for factor, level in levels.items()
        if known.get(key, {}).get(factor) != level
    ]
    for row in rows:
        cursor.execute("INSERT INTO student_factors VALUES (?, ?, ?, ?, now()::TIMESTAMP)", [*row, as_name(author)])
    return len(rows)


def _factors(cursor: Cursor) -> dict[int, dict[str, str]]:
    """What was said last, by student key and factor, factors in the order in which they were named first."""
    found: dict[int, dict[str, str]] = {}
    for key, factor, level in cursor.execute(
        "SELECT student_key, factor, level FROM student_factors ORDER BY rowid"
    ).fetchall():
        found.setdefault(key, {})[factor] = level
    return found


def students(project: Project) -> list[Student]:
    """Every student, in the order in which they were added."""
    return project.read(students_of)


def students_of(cursor: Cursor) -> list[Student]:
    """The same, within a transaction."""
    stated = _factors(cursor)
    return [
        Student(
            name, fingerprint, model, retrieval, k, icl, json.loads(parameters),
            _own_factors(model, retrieval, k, icl) | stated.get(key, {}), key,
        )
        for key, fingerprint, name, model, retrieval, k, icl, parameters in cursor.execute(
            "SELECT student_key, fingerprint, name, model, retrieval, k, icl, parameters FROM students"
            " ORDER BY student_key"
        ).fetchall()
    ]  # fmt: skip


def _own_factors(model: str | None, retrieval: str | None, k: int | None, icl: int | None) -> dict[str, str]:
    """The components that every pipeline has (Guinet et al., section 3.3), as far as they are known."""
    levels = {
        "model": model,
        "retrieval": retrieval if k in (None, 1) else f"{retrieval}@{k}",
        "icl": None if icl is None else f"ICL@{icl}",
    }
    return {factor: level for factor, level in levels.items() if level is not None}


def find_students(project: Project, names: Sequence[str] | None) -> list[Student]:
    """The students of some names or fingerprints, in the order given; all for None.

    Raises:
        InputError: there is none of a name.
    """
    every = students(project)
    if names is None:
        return every
    known = {student.fingerprint: student for student in every} | {student.name: student for student in every}
    for name in names:
        if name not in known:
            hint = "" if every else "Add an examinee: exam examinees add."
            raise unknown_name("unknown-student", "examinee", name, [one.name for one in every], hint)
    return list({known[name].name: known[name] for name in names}.values())


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


def add_answers(cursor: Cursor, student_key: int, answers: Sequence[Answer], sitting_key: int | None) -> int:
    """Write what a student said. What it answered before stays, and is not answered again.

    Args:
        sitting_key: of the sitting in which it did; None where a file says so.

    Returns:
        The number of rows that were written: answers that are new, and every failure.
    """
    columns: dict[str, list[Any]] = {name: [] for name in _ANSWER_COLUMNS}
    for one in answers:
        texts = [clean_or_none(text) for text in (one.reason, one.raw, one.note)]
        values = (
            *(student_key, one.item_text_key, one.context, one.correct, texts[0], one.chosen),
            *(None if one.scores is None else list(one.scores), texts[1], texts[2], sitting_key),
        )
        for name, value in zip(_ANSWER_COLUMNS, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_answers", columns, _ANSWER_COLUMNS)
    return int(
        cursor.execute(
            "INSERT INTO answers FROM new_answers n WHERE NOT EXISTS (SELECT * FROM answers a"
            " WHERE a.student_key = n.student_key AND a.item_text_key = n.item_text_key AND a.context = n.context"
            " AND a.correct IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


Asked = tuple[int, str]
"""What an answer of a student is about: the text key of the item, and the digest of what else it was given."""


def answers_of(cursor: Cursor, student_key: int) -> dict[Asked, Answer]:
    """What counts of a student's answers: the first that is right or wrong, else the last failure."""
    found: dict[Asked, Answer] = {}
    for row in cursor.execute(
        "SELECT item_text_key, context, correct, reason, chosen, scores, raw, note FROM answers WHERE student_key = ?"
        " ORDER BY rowid",
        [student_key],
    ).fetchall():
        item, context, correct, reason, chosen, scores, raw, note = row
        answer = Answer(item, context, correct, reason, chosen, None if scores is None else tuple(scores), raw, note)
        known = found.get((item, context))
        if known is None or known.correct is None:
            found[item, context] = answer
    return found


def verdicts(project: Project) -> dict[tuple[int, int, str], bool | None]:
    """Whether what counts of each answer is right, None where it failed; by student, item text and context."""
    return {
        (student, item, context): correct
        for student, item, context, correct in project.rows(
            "SELECT student_key, item_text_key, context, arg_min(correct, rowid) FILTER (correct IS NOT NULL)"
            " FROM answers GROUP BY ALL"
        )
    }
