"""Grading elsewhere: export of missing calls or pairs to a file, and import of answers or grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..catalogue import prompts
from ..errors import InputError, Report
from ..formats import PARQUET, Source, WrittenCall, read_replies, write_calls
from ..graders import (
    NOTHING_USED,
    Grader,
    NamedGrade,
    Pair,
    PlannedGrader,
    asked_by,
    in_order,
    is_remote,
    read_grades,
    write_pairs,
)
from ..project import Project
from ..types import Asked, Grade
from .pairs import pairs_to_grade, with_texts
from .replies import (
    CHUNK,
    TakenIn,
    Taking,
    by_pair,
    calls_of,
    fault_of,
    in_chunks,
    name_of,
    pair_of,
    refuse_unknown,
)
from .scope import EVERYTHING, Scope


@dataclass(frozen=True)
class Written:
    """Counts of an exported plan.

    Args:
        calls: number of its rows: calls of an endpoint, or pairs for any other grader.
        settled: number of pairs that need no further answer: an empty passage, a prompt that is too long, or all
            answers are known. They get their grades with the import of answers, or by grading here.
    """

    calls: int
    settled: int


def write_missing(
    project: Project,
    grader: Grader,
    path: Path,
    version: int,
    scope: Scope = EVERYTHING,
    answers: Sequence[Source] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Written:
    """Write the missing pairs to a file, to be graded elsewhere.

    For a model behind an endpoint, the file has the calls, which any engine can answer. If a method asks twice, the
    file has the first calls; with the answers to these, the second ones. For any other grader the file has the pairs
    with their texts, for `graders.grade_plan`.

    Args:
        grader: the grader; its model is not called.
        path: a Parquet file; for calls also a JSONL file in the form of a batch endpoint. The extension decides.
        version: bank version whose active questions are asked.
        scope: selection of the missing pairs.
        answers: files of answers that are known already.
        parameters: parameters of the grader for `make_grader`; None for no parameters. A plan of pairs stores them.

    Raises:
        FileError: a file of answers is unusable.
        InputError: the file cannot be written, or this grader has no calls and the file is not Parquet.
    """
    if not is_remote(grader):
        if path.suffix != PARQUET or answers:
            raise InputError(
                "grader-without-requests",
                f"{grader.spec.name} does not use an endpoint.",
                "Write its pairs with -o FILE.parquet and without --after, or choose a grader with --back-end openai.",
            )
        planned = PlannedGrader(grader.spec.method, parameters or {}, prompts(project), grader.spec.fingerprint)
        return Written(write_pairs(_named_pairs(project, grader, version, scope), planned, path), 0)
    report = Report()
    told = by_pair(read_replies(answers, report), grader, report)
    report.raise_if_refused("Use the answer files exactly as they were written.")
    groups = pairs_to_grade(project, grader.spec, version, scope)
    settled = 0

    def calls() -> Iterator[WrittenCall]:
        nonlocal settled
        pairs = (pair for group in groups for pair in in_order(grader, group))
        for _, _, call in calls_of(project, grader, pairs, told):
            if call is None:
                settled += 1
            else:
                yield call

    return Written(write_calls(calls(), path), settled)


def _named_pairs(project: Project, grader: Grader, version: int, scope: Scope) -> Iterator[tuple[str, Asked, str]]:
    groups = pairs_to_grade(project, grader.spec, version, scope)
    for pairs in in_chunks((pair for group in groups for pair in in_order(grader, group)), CHUNK):
        texts = with_texts(project, grader.spec, pairs)
        for pair in pairs:
            asked, passage = texts.questions[pair[0]], texts.passages[pair[1]]
            yield _name_of_pair(grader, pair, asked, passage), asked, passage


def _name_of_pair(grader: Grader, pair: Pair, asked: Asked, passage: str) -> str:
    return name_of(grader, pair, {"question": asked.written, "passage": passage})


def take_in(project: Project, grader: Grader, sources: Sequence[Source], author: str) -> TakenIn:
    """Import an engine's answers as grades. Repetition and the order of files do not change the result.

    Args:
        grader: the grader whose calls were exported.
        sources: files of answers; if a method asks twice, include those to the first and the second calls.
        author: the person who imports them.

    Raises:
        GradingError: the grader uses no endpoint.
        FileError: a row does not answer a call of this grader about texts of this project. Nothing was changed.
    """
    asked_by(grader)
    report = Report()
    # Files are read twice, so that nothing is imported if any row is unusable.
    for replies in in_chunks(read_replies(sources, report), CHUNK):
        refuse_unknown(project, replies, grader, report)
    report.raise_if_refused(
        "Nothing was imported. Use the answer files exactly as they were written, with the same grader."
    )
    taking = Taking(project, grader, author)
    for replies in in_chunks(read_replies(sources, Report()), CHUNK):
        taking.take(replies)
    return taking.end()


def take_in_grades(project: Project, grader: Grader, paths: Sequence[Path], author: str) -> TakenIn:
    """Import files of grades from `graders.grade_plan`.

    Repetition and the order of files do not change the result.

    Args:
        grader: the grader of the plan.
        author: the person who imports them.

    Raises:
        FileError: a row is not a grade of this grader for texts of this project. Nothing was changed.
    """
    report = Report()
    # All files are checked before anything is written.
    for path in paths:
        try:
            for rows in read_grades(path):
                _refuse_unknown_grades(project, grader, rows, path.name, report)
        except ValueError as error:
            report.refuse(path.name, None, "unreadable-file", str(error))
    report.raise_if_refused("Nothing was imported. Use the files of exam grade-plan with the grader of the plan.")
    taking = Taking(project, grader, author)
    for path in paths:
        for rows in read_grades(path):
            grades: dict[Pair, Grade] = {}
            used = NOTHING_USED
            for row in rows:
                grades.setdefault(pair_of(row.name), row.grade)
                used = used.plus(row.usage)
            taking.take_outcomes([(*pair, grade) for pair, grade in grades.items()], used)
    return taking.end()


def _refuse_unknown_grades(
    project: Project, grader: Grader, rows: Sequence[NamedGrade], file: str, report: Report
) -> None:
    faults = {row.line: ("unknown-call", fault) for row in rows if (fault := fault_of(row.name, grader))}
    ours = [row for row in rows if row.line not in faults]
    texts = with_texts(project, grader.spec, [pair_of(row.name) for row in ours])
    for row in ours:
        question, passage = pair = pair_of(row.name)
        asked, text = texts.questions.get(question), texts.passages.get(passage)
        if asked is None or text is None or row.name != _name_of_pair(grader, pair, asked, text):
            faults[row.line] = ("unknown-texts", "the texts of this pair are not in this project")
        elif (row.grade.rating or 0) > grader.spec.max_rating:
            faults[row.line] = (
                "rating-out-of-range",
                f"rating {row.grade.rating} is above the maximum {grader.spec.max_rating}",
            )
    for line, (code, fault) in faults.items():
        report.refuse(file, line, code, fault)
