"""Grading elsewhere: the calls that are missing as a file, and the answers of any engine taken in as grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import Report
from core.formats import Source, WrittenCall, read_replies, write_calls
from core.graders import Grader, asked_by, in_order
from core.grading.pairs import pairs_to_grade, with_texts
from core.grading.replies import CHUNK, TakenIn, Taking, by_pair, in_chunks, name_of, play_with, refuse_unknown
from core.grading.scope import EVERYTHING, Scope
from core.project import Project


@dataclass(frozen=True)
class Written:
    """What a file of calls holds.

    Args:
        calls: calls in it.
        settled: pairs that need no answer any more: a passage without words, a prompt too long for the model, or
            all answers are known. Taking the answers in, or grading here, gives them their grades.
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
) -> Written:
    """Write the calls that missing pairs need to a file, for any engine to answer.

    A pair whose method asks twice stands there with its first call; with the answers to the first ones it is written
    with its second.

    Args:
        grader: one whose model is behind an endpoint; the endpoint is not asked.
        path: JSONL in the form of a batch endpoint, or Parquet, by its name.
        version: bank version whose active questions are asked.
        scope: which of the missing pairs.
        answers: files of answers that are known already.

    Raises:
        GradingError: the grader asks no endpoint.
        FileError: a file of answers cannot be used.
        InputError: the file cannot be written.
    """
    api = asked_by(grader)
    report = Report()
    told = by_pair(read_replies(answers, report), grader, report)
    report.raise_if_refused("Give the files as the engine wrote them.")
    groups = pairs_to_grade(project, grader.spec, version, scope)
    settled = 0

    def calls() -> Iterator[WrittenCall]:
        nonlocal settled
        for pairs in in_chunks((pair for group in groups for pair in in_order(grader, group)), CHUNK):
            texts = with_texts(project, grader.spec, pairs)
            for pair in pairs:
                played = play_with(grader, pair, texts, told.get(pair, {}))
                if played.body is None:
                    settled += 1
                else:
                    yield WrittenCall(name_of(grader, pair, played.body), api, played.body)

    return Written(write_calls(calls(), path), settled)


def take_in(project: Project, grader: Grader, sources: Sequence[Source], author: str) -> TakenIn:
    """Make grades of what an engine answered; any number of times, in any order of files, with the same result.

    Args:
        grader: the one whose calls were written.
        sources: files of answers; where a method asks twice, those to the first and to the second calls together.
        author: who takes them in.

    Raises:
        GradingError: the grader asks no endpoint.
        FileError: a row is no answer to a call of this grader about texts of this project. Nothing was changed.
    """
    asked_by(grader)
    report = Report()
    # Read twice: whether all of it can be used is known before any of it is.
    for replies in in_chunks(read_replies(sources, report), CHUNK):
        refuse_unknown(project, replies, grader, report)
    report.raise_if_refused("Nothing was taken in. Give the files as the engine wrote them, with the same grader.")
    taking = Taking(project, grader, author)
    for replies in in_chunks(read_replies(sources, Report()), CHUNK):
        taking.take(replies)
    return taking.end()
