"""Grades, rankings and questions of a project as Parquet files, for leaderboards without a project."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..atomic_files import WorkingFolder, make_folder, put, writing
from ..bank import bank_for, without_answered_by_topic
from ..errors import InputError
from ..labels import Policy, basis, failed_pairs, graded_pairs, label_qrels
from ..project import Cursor, Project, record

_FILE_SIZE = "256MB"
"""Approximate size of each file of grades."""


def export_grades(project: Project, folder: Path, author: str, policy: Policy | None = None) -> dict[str, int]:
    """Write grades/*.parquet, runs.parquet and questions.parquet, which `leaderboard.leaderboard_of_files` reads.

    Args:
        folder: new or empty.
        policy: its grader, bank version and treatment of overrides count; the default for None.

    Returns:
        Number of rows by kind.

    Raises:
        InputError: the folder is not empty or cannot be written, or nothing is graded.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("file-exists", f"{folder} is not empty.", "Use a new folder.")
    base = basis(project, policy or Policy())
    queries = without_answered_by_topic(project, label_qrels(project, base))
    if not queries:
        raise InputError("no-labels", "No labels yet.", "Grade first: exam grade")
    ids = (
        "(SELECT question_key, question_id FROM questions UNION ALL"
        " SELECT query_key, query_id FROM queries) USING (question_key)"
    )
    counts = "list_contains($queries, query_id)"
    tables = {
        "grades": f"SELECT query_id, passage_id, question_id, rating FROM ({graded_pairs(base)})"
        f" LEFT JOIN (SELECT *, true AS failed FROM ({failed_pairs(base, weightless=True)}))"
        " USING (query_key, question_key, passage_key)"
        f" JOIN queries USING (query_key) JOIN passages USING (passage_key) JOIN {ids}"
        f" WHERE (rating IS NOT NULL OR failed) AND {counts} ORDER BY query_id",
        "questions": f"SELECT query_id, question_id, weight, {base.grader.spec.max_rating:d} AS top"
        f" FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key) JOIN {ids}"
        f" WHERE {counts} AND $grader IS NOT NULL ORDER BY query_id",
        # A run without passages for these queries gets a row with only its name, so that it is on the leaderboard too.
        "runs": "WITH ranked AS (SELECT name AS run, query_id, passage_id, rank,"
        " if(run_key IN (FROM ranked_runs), NULL, score) AS score FROM rankings JOIN runs USING (run_key)"
        f" JOIN queries USING (query_key) JOIN passages USING (passage_key) WHERE {counts})"
        " FROM ranked UNION ALL SELECT name, NULL, NULL, NULL, NULL FROM runs"
        " WHERE name NOT IN (SELECT run FROM ranked) ORDER BY query_id, run, rank",
    }

    def write(cursor: Cursor) -> dict[str, int]:
        written = {}
        for name, sql in tables.items():
            asked = {} if name == "runs" else base.parameters
            rows = cursor.sql(sql, params={**asked, "queries": queries})
            target = made / "files" / (name if name == "grades" else f"{name}.parquet")
            size = _FILE_SIZE if name == "grades" else None
            rows.write_parquet(str(target), compression="zstd", file_size_bytes=size)
            found = str(target / "*.parquet" if name == "grades" else target).replace("'", "''")
            written[name] = int(cursor.execute(f"SELECT count(*) FROM read_parquet('{found}')").fetchall()[0][0])
        return written

    with writing(folder):
        make_folder(folder.parent)
        with WorkingFolder(project.working_folder) as made, WorkingFolder(folder.parent) as beside:
            (made / "files").mkdir()
            rows = project.read(write)
            shutil.move(made / "files", beside)
            put(beside / "files", folder)
    record(project, author, "export grades", file=folder.name, grades=rows["grades"])
    return rows
