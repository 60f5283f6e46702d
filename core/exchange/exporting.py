"""Exports of a project: qrels, the bank, a graded file, a leaderboard, runs, and downloads for screens."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from .. import bank
from ..catalogue import how_to_grade
from ..errors import InputError
from ..formats import (
    Source,
    TableRow,
    graded,
    queries,
    question_bank,
    trec_qrels,
    trec_run,
    write_board_form,
    write_board_latex,
    write_board_tsv,
    write_nugget_banks,
)
from ..labels import Policy, basis, label_qrels, progress
from ..leaderboard import Leaderboard
from ..locations import is_reserved
from ..project import Project, find_source, judgments, queries_of, record, sources
from ..text import written_text
from ..types import Ranked
from .graded_export import graded_queries
from .zipping import zipped


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
    return written_text(write_nugget_banks, form, queries_of(project), bank.questions(project, version), version)


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
        if Source(run).stem != run or not re.fullmatch(r"[\w+-][\w.+-]*", run) or is_reserved(run):
            raise InputError(
                "run-not-a-file-name", f"The run {run!r} cannot be the name of a file.", "Use another --form."
            )
        own = [row for row in rows if row[0] == run]
        files[run] = written_text(write_board_form, form, board.measure, own).encode()
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


def recorded(project: Project, author: str, what: str, file: str, make: Callable[[], str | bytes]) -> bytes:
    """Return the content of a file after recording the export in the activity log, if the log can be written.

    Args:
        what: as the log names it, such as "bank".
        file: the file's name.
        make: makes the content.
    """
    content = make()
    record(project, author, f"export {what}", file=file)
    return content.encode() if isinstance(content, str) else content


def qrels_counts(project: Project, policy: Policy, binary: bool) -> dict[int, int]:
    """Return the number of lines of a policy's qrels by value, greatest value first; empty without labels."""
    base = basis(project, policy)
    found: Counter[int] = Counter()
    for label, passages in progress(project, base).labels.items():
        if label is not None:
            found[int(label >= base.min_rating) if binary else label] += passages
    return dict(sorted(found.items(), reverse=True))


def qrels_head(project: Project, policy: Policy, binary: bool, lines: int = 8) -> list[str]:
    """Return the first lines of the qrels of a policy.

    Raises:
        InputError: nothing is labelled.
    """
    return qrels(project, policy, binary=binary, lines=lines).splitlines()


def runs_zip(project: Project) -> bytes:
    """Return all runs as TREC runs, in one zip; the same project gives the same bytes.

    Raises:
        InputError: the project has no runs, or an id is not valid in a run file.
    """
    files: dict[str, bytes | Path] = {}
    for key, name in project.rows("SELECT run_key, name FROM runs ORDER BY run_key"):
        rows = project.rows(
            "SELECT query_id, passage_id, rank, score FROM rankings JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE run_key = ? ORDER BY query_key, rank",
            [key],
        )
        files[_file_name(name, files)] = written_text(trec_run.write_run, name, (Ranked(*row) for row in rows)).encode()
    if not files:
        raise InputError("no-runs", "No runs to export.", "Import runs first: exam import runs FILE...")
    return zipped(files)


def _file_name(run: str, taken: dict[str, bytes | Path]) -> str:
    """Return a file name for a run that every operating system can unpack and that no other run has."""
    stem = "".join(c if c.isalnum() or c in "._-+" else "_" for c in run).lstrip(".") or "run"
    if is_reserved(stem):
        stem = f"_{stem}"
    lower = {name.lower() for name in taken}
    name, number = f"{stem}.run", 2
    while name.lower() in lower:
        name, number = f"{stem}-{number}.run", number + 1
    return name
