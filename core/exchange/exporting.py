"""Exports of a project: qrels, the bank, a graded file, a leaderboard."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import islice

from .. import bank
from ..catalogue import how_to_grade
from ..errors import InputError
from ..formats import (
    TableRow,
    graded,
    queries,
    question_bank,
    trec_qrels,
    write_board_form,
    write_board_latex,
    write_board_tsv,
    write_nugget_banks,
)
from ..labels import Policy, basis, label_qrels
from ..leaderboard import Leaderboard
from ..project import Project, find_source, judgments, kept_objects, queries_of, sources
from ..text import written_text
from .graded_export import graded_queries
from .zipping import check_file_name, zipped


def qrels(
    project: Project, policy: Policy, source: str = "exam", binary: bool = False, lines: int | None = None
) -> str:
    """Return labels, or the judgments of a source, in trec_eval's four columns.

    Args:
        source: `exam` for labels from grades, or the name of a source of judgments.
        binary: write 1 for passages that are relevant under the policy and 0 for the rest.
        lines: the most lines to write; None for all.

    Returns:
        One line per labelled (query, passage), in the pool's order; passages without a label are left out.

    Raises:
        InputError: there is nothing to export.
    """
    if source == "exam":
        base = basis(project, policy)
        found, threshold = label_qrels(project, base), base.min_rating
    else:
        found, threshold = judgments(project, find_source(project, source)), policy.min_judgment
    if not found:
        # Only labels can be empty: a source of judgments has at least one.
        raise InputError("no-labels", "No labels to export.", how_to_grade(project, basis(project, policy).grader.spec))
    rows = (
        (query, passage, int(value >= threshold) if binary else value)
        for query, values in found.items()
        for passage, value in values.items()
    )
    return written_text(trec_qrels.write_qrels, islice(rows, lines))


def bank_jsonl(project: Project, version: int | None = None) -> str:
    """Return the question bank as JSON lines, one per question.

    Raises:
        InputError: the version is unknown.
    """
    return written_text(question_bank.write_bank, bank.questions(project, version))


def bank_csv(project: Project, version: int | None = None) -> str:
    """Return the question bank as CSV for a spreadsheet; cells that could be formulas are neutralised.

    Raises:
        InputError: the version is unknown.
    """
    return written_text(question_bank.write_bank_csv, bank.questions(project, version))


def bank_in_form(project: Project, form: str, version: int | None = None) -> str:
    """Return the question bank as JSON lines in a form of AutoJudge, one per query.

    Args:
        form: v3, ragtime26 or nuggetizer.

    Raises:
        InputError: the version is unknown, or the form has no place for some questions.
    """
    version = bank.check_version(project, version)
    found, kept = bank.questions(project, version), kept_objects(project, form)
    return written_text(write_nugget_banks, form, queries_of(project), found, version, kept)


def queries_jsonl(project: Project, as_topics: bool = False) -> str:
    """Return the queries as JSON lines, one each.

    Args:
        as_topics: with the keys of AutoJudge's topics, which have no place for answers and subtopics.
    """
    return written_text(queries.write_topics if as_topics else queries.write_queries, queries_of(project))


def board_tsv(board: Leaderboard) -> str:
    """Return a leaderboard as TSV: rank, run, score, standard error, number of queries."""
    return written_text(write_board_tsv, board.measure, _board_rows(board))


def board_json(board: Leaderboard) -> str:
    """Return a leaderboard as a JSON map from the measure to the score of each run."""
    return json.dumps({board.measure: board.scores}, ensure_ascii=False, indent=2) + "\n"


def board_latex(board: Leaderboard) -> str:
    """Return a leaderboard as a LaTeX tabular: rank, run, score with its standard error, number of queries."""
    return written_text(write_board_latex, board.measure, _board_rows(board))


def board_in_form(board: Leaderboard, form: str) -> tuple[bytes, bytes]:
    """Return a leaderboard in a form of AutoJudge, and its measures as YAML.

    Args:
        form: an item of `BOARD_FORMS`; for trec_eval the content is a zip with a file for each run.

    Raises:
        InputError: a name cannot be written in the form.
    """
    measures = f"measures:\n- name: {json.dumps(board.measure, ensure_ascii=False)}\n  dtype: float\n".encode()
    rows = list(_rows_by_query(board))
    if form != "trec_eval":
        return written_text(write_board_form, form, board.measure, rows).encode(), measures
    files: dict[str, bytes] = {}
    for run in board.scores:
        own = [row for row in rows if row[0] == run]
        files[check_file_name(run)] = written_text(write_board_form, form, board.measure, own).encode()
    return zipped(files), measures


def _rows_by_query(board: Leaderboard) -> Iterator[tuple[str, str, float, int]]:
    """Yield run, query, score and rank for every score by query, and each run's mean last, under `all`."""
    own: dict[str, dict[str, float]] = {}
    for system in board.systems:
        # A skipped query that counts in the mean has score 0.
        skipped = dict.fromkeys(board.query_ids if system.queries == len(board.query_ids) else (), 0.0)
        own[system.run] = skipped | dict(board.per_query.get(system.run, {}))
    for system in board.systems:
        for query, score in own[system.run].items():
            yield system.run, query, score, 1 + sum(scores.get(query, score) > score for scores in own.values())
        yield system.run, "all", system.score, system.rank


def _board_rows(board: Leaderboard) -> list[TableRow]:
    return [(s.rank, s.run, s.score, s.std_error, s.queries) for s in board.systems]


def graded_file(project: Project, source: str | None = None) -> bytes:
    """Return the pool with texts, grades, judgments and rankings in the Autograder/RUBRIC interchange format.

    Ranks are those of the whole ranking, though the file has only the pool; readers take them as stated.

    Args:
        source: the judgments to include; None for the first source. The format has room for one.

    Returns:
        A gzip file; the same project gives the same bytes.

    Raises:
        InputError: the source is unknown.
    """
    named = find_source(project, source) if source else next(iter(sources(project)), None)
    out = io.BytesIO()
    graded.write_graded(graded_queries(project, named), out)
    return out.getvalue()
