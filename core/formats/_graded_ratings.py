"""Grades of a passage in a line of a graded file: ratings of questions, answered questions, and direct grades."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from ..types import GradeBlocks, GraderSpec, Kind, Question
from . import _grade_details as grade_details, _graded_form as graded_form
from ._graded_form import OURS, described
from ._graded_line import Grader, Line
from ._source import Refused, check_limit, check_shape, good_id
from ._usual_graded_line import ExamGrades

RATING_TYPES = {int, type(None)}
ANSWER_TYPES = {str, type(None)}


def _grader(entry: dict[str, Any], rated: bool, direct: bool, state: Line) -> Grader:
    model, options, info = entry["llm"], entry.get("llm_options"), entry.get("prompt_info")
    prompt_type = entry.get("prompt_type")
    kept = orjson.dumps([options, info])
    key = (model, kept, prompt_type, rated, direct)
    known = state.graders.get(key)
    if known is None:
        check_shape(kept)
        check_limit(len(state.graders) + 1, "the file names more graders than", "SYSTEMS")
        if info and OURS in info:
            spec = _restored(info[OURS])
        else:
            spec = described(model, options, info, prompt_type, rated, direct)
        known = Grader(spec, spec.fingerprint, frozenset((*range(spec.max_rating + 1), None)))
        state.graders[key] = known
    return known


def _restored(row: dict[str, Any]) -> GraderSpec:
    spec = GraderSpec(**{**row, "kinds": tuple(row["kinds"])})
    if not spec.in_form:
        raise Refused("invalid-grader", f"the grader in {OURS} is invalid")
    return spec


def take_exam_grades(given: Any, passage_id: str, state: Line) -> None:
    """Read an entry of `exam_grades`: one grader's grades of a passage.

    Args:
        given: the entry as in the file.
        state: receives the grades.

    Raises:
        Exception: one of `FAULTS`, if the entry does not follow the interchange form.
    """
    entry: dict[str, Any] = given.whole() if isinstance(given, ExamGrades) else given
    info = entry.get("prompt_info") or {}
    self_ratings = entry.get("self_ratings")
    rated = info.get("is_self_rated")
    if rated is None:
        rated = self_ratings is not None
    grader = _grader(entry, bool(rated), False, state)
    answered = dict(entry.get("answers") or ())
    ours = entry.get(OURS) or {}
    asked = ours.get("asked")
    if rated:
        if self_ratings is None:
            raise Refused("self-ratings-missing", "an entry is self-rated but has no self_ratings")
        ids, ratings = graded_form.rated(self_ratings, entry)
    else:
        ids, ratings = graded_form.answered(entry["correctAnswered"], entry["wrongAnswered"], answered)
    if asked is not None:
        known = dict(zip(ids, ratings, strict=True))
        ids, ratings = asked, [known.get(question_id) for question_id in asked]
    if not ids:
        return
    if not grader.allowed.issuperset(ratings) or not RATING_TYPES.issuperset(map(type, ratings)):
        _refuse_rating(ids, ratings, grader)
    answers = [answered.get(question_id) for question_id in ids] if answered else None
    if answers and not ANSWER_TYPES.issuperset(map(type, answers)):
        raise Refused("not-a-text", "an answer is not a text")
    ids = _as_asked_before(ids, entry.get("prompt_type"), state)
    grades = _grades_of(grader, state.exam)
    if ours:
        details = grade_details.read_columns(ours, len(ids))
        grades.details.update((grades.size + position, detail) for position, detail in details)
    grades.add(passage_id, ids, ratings, answers)


def _grades_of(grader: Grader, given: dict[str, GradeBlocks]) -> GradeBlocks:
    grades = given.get(grader.fingerprint)
    if grades is None:
        grades = given[grader.fingerprint] = GradeBlocks(grader.spec)
    return grades


def _as_asked_before(ids: list[str], prompt_type: Any, state: Line) -> list[str]:
    """Return a passage's question ids, as the previous passage's list object if they are the same."""
    if ids == state.asked:
        # Most passages have the same questions, and a list is found faster by identity than by equality.
        return state.asked
    _name_questions(ids, prompt_type, state)
    state.asked = ids
    return ids


def _name_questions(ids: list[str], prompt_type: Any, state: Line) -> None:
    kind: Kind = "nugget" if prompt_type == "nugget" else "question"
    for question_id in ids:
        if question_id not in state.questions:
            if not isinstance(question_id, str):
                raise Refused("not-a-text", "a question id is not a text")
            good_id(question_id, "question")
            state.questions[question_id] = Question(question_id, state.query_id, None, kind)


def _refuse_rating(ids: list[str], ratings: Iterable[Any], grader: Grader) -> None:
    top = grader.spec.max_rating
    for question_id, rating in zip(ids, ratings, strict=True):
        if type(rating) not in RATING_TYPES or rating not in grader.allowed:
            raise Refused(
                "rating-out-of-range", f"the rating {rating!r} for {question_id} is not an integer from 0 to {top}"
            )


def take_direct_grade(entry: dict[str, Any], passage_id: str, state: Line) -> None:
    """Read an entry of `grades`: a direct grader's grade of a passage.

    Args:
        entry: as in the file.
        state: receives the grade.

    Raises:
        Exception: one of `FAULTS`, if the entry does not follow the interchange form.
    """
    rating = entry.get("self_ratings")
    rated = bool((entry.get("prompt_info") or {}).get("is_self_rated")) or rating is not None
    ours = entry.get(OURS) or {}
    failed = bool(ours.get("failed"))
    grader = _grader(entry, rated or failed, True, state)
    if not rated and not failed and entry.get("correctAnswered") is not None:
        rating = int(bool(entry["correctAnswered"]))
    if type(rating) not in RATING_TYPES or rating not in grader.allowed:
        _refuse_rating([state.query_id], [rating], grader)
    answer = entry.get("answer")
    if type(answer) not in ANSWER_TYPES:
        raise Refused("not-a-text", "an answer is not a text")
    grades = _grades_of(grader, state.direct)
    if (detail := grade_details.read_one(ours)) != grade_details.NOTHING:
        grades.details[grades.size] = detail
    grades.add(passage_id, state.itself, [rating], None if answer is None else [answer])
