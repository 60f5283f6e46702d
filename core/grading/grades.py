"""Writing what graders said: a rating is a grade, anything else a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.graders import Outcome
from core.project import Cursor, stage
from core.text import clean_or_none

ROUNDING = 1e-4
"""How far off the ends of its scale a confidence may be by rounding."""
NO_USABLE_RATING = "no usable rating"
"""Why a pair failed where nobody said."""


_GRADE_COLUMNS = {
    "grader_key": "INTEGER",
    "question_text_key": "INTEGER",
    "passage_text_key": "INTEGER",
    "rating": "TINYINT",
    "defaulted": "BOOLEAN",
    "confidence": "FLOAT",
    "answer": "VARCHAR",
    "raw": "VARCHAR",
    "job_key": "INTEGER",
    "note": "VARCHAR",
    "distribution": "FLOAT[]",
    "reason": "VARCHAR",
}


def add_outcomes(cursor: Cursor, grader_key: int, outcomes: Sequence[Outcome], job_key: int) -> None:
    """Write what a grader said. A pair that has a grade keeps it: a grade is a permanent fact."""
    columns: dict[str, list[Any]] = {name: [] for name in _GRADE_COLUMNS}
    for question, passage, grade in outcomes:
        values = (
            grader_key,
            question,
            passage,
            grade.rating,
            grade.status == "defaulted",
            _share(grade.confidence),
            clean_or_none(grade.answer),
            clean_or_none(grade.raw),
            job_key,
            clean_or_none(grade.note),
            _shares(grade.distribution),
            clean_or_none(grade.reason),
        )
        for name, value in zip(_GRADE_COLUMNS, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_grades", columns, _GRADE_COLUMNS)
    write_staged_grades(cursor)


def _share(number: float | None) -> float | None:
    """A confidence as it is stored: a number from 0 to 1; anything else says nothing of how sure a model was."""
    if number is None or not -ROUNDING <= number <= 1 + ROUNDING:
        return None
    return min(max(number, 0.0), 1.0)


def _shares(numbers: Sequence[float] | None) -> Sequence[float] | None:
    """A distribution as it is stored: None where any of it is no share."""
    shares = [_share(number) for number in numbers or ()]
    return None if numbers is None or None in shares else [share for share in shares if share is not None]


def write_staged_grades(cursor: Cursor) -> tuple[int, int]:
    """Write the temporary table `new_grades`: usable ratings as grades, those without as failures.

    Returns:
        The numbers of grades and of failures that are new.
    """
    graded = cursor.execute(
        "INSERT INTO grades SELECT * EXCLUDE (first, reason) FROM ("
        " SELECT DISTINCT ON (grader_key, question_text_key, passage_text_key) *, rowid AS first"
        " FROM new_grades WHERE rating IS NOT NULL"
        " ORDER BY grader_key, question_text_key, passage_text_key, first)"
        " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) ORDER BY first"
    ).fetchall()[0][0]
    failed = cursor.execute(
        "INSERT INTO failures SELECT grader_key, question_text_key, passage_text_key,"
        f" coalesce(reason, '{NO_USABLE_RATING}'), raw, job_key FROM new_grades WHERE rating IS NULL"
    ).fetchall()[0][0]
    return int(graded), int(failed)
