"""Parquet files with columns of unusual types: read correctly or refused with a message."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exam_workbench.cli import run_command
from exam_workbench.errors import FileError, InputError, Report
from exam_workbench.exchange import _parquet as parquet
from exam_workbench.exchange._parquet import Table
from exam_workbench.formats import Source, detect_kind, read_replies
from exam_workbench.graders import NOTHING_USED, read_grades
from exam_workbench.graders._plan_files import grade_columns
from exam_workbench.labels import GradeFiles, leaderboard_of_files
from exam_workbench.store import migrations
from exam_workbench.types import Grade
from tests.made.fuzz_parquet import check, copied, fit
from tests.made.odd_parquet import ODD


def put(file: Path, table: pa.Table, column: str, odd: str, to: Path | None = None) -> None:
    """Write a table with one column replaced by a column of an unusual type."""
    at = table.column_names.index(column)
    changed = table.set_column(at, column, ODD[odd](table.num_rows))
    pq.write_table(changed, to or file)


def test_table_with_unusual_column_type_is_read_or_refused(shared_export: Path, tmp_path: Path) -> None:
    changed = copied(shared_export, tmp_path / "out")
    with duckdb.connect() as engine:
        migrations.apply_migrations(engine)
        columns = parquet._table_columns(engine)
        for name, odd in product(("question_texts", "grades", "activity"), ODD):
            file = changed / f"{name}.parquet"
            usual = pq.read_table(shared_export / file.name)
            for column, type_ in columns[name]:
                put(file, usual, column, odd)
                table = Table(name, file.name, usual.num_rows, 0, "")
                engine.execute("BEGIN")
                try:
                    parquet._load_table(engine, table, columns[name], changed, changed)
                    described = f"DESCRIBE SELECT {column} FROM read_parquet('{file}')"
                    assert engine.execute(described).fetchall()[0][1] == type_
                except FileError as error:
                    assert file.name in error.message
                engine.execute("ROLLBACK")


@pytest.mark.parametrize("odd", ["dictionary", "invalid text", "map", "zoned"])
def test_project_with_unusual_text_column_is_refused(shared_export: Path, tmp_path: Path, odd: str) -> None:
    changed = copied(shared_export, tmp_path / "out")
    file = changed / "passage_texts.parquet"
    put(file, pq.read_table(file), "text", odd)
    fit(changed, "passage_texts")
    assert file.name in check(changed)


def test_replies_of_unusual_types_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "replies.parquet"
    usual = pa.table({"custom_id": ["a"] * 3, "answer": ["4"] * 3, "response": [None] * 3, "error": [None] * 3})
    for odd in ODD:
        for column in usual.column_names:
            table = usual.drop_columns(["answer"]) if column == "response" else usual
            put(file, table, column, odd)
            report = Report()
            found = list(read_replies([Source(file.name, path=file)], report))
            assert len(found) == 3 or report.problems, (odd, column)
        value = ODD[odd](1)
        value = value.storage if isinstance(value, pa.ExtensionArray) else value
        for names in (["status_code", "body"], ["body", "error"], ["body"]):
            response = pa.StructArray.from_arrays(
                [value.storage if hasattr(value, "storage") else value] * len(names), names
            )
            pq.write_table(pa.table({"custom_id": ["a"], "response": response}), file)
            report = Report()
            assert len(list(read_replies([Source(file.name, path=file)], report))) == 1 or report.problems, odd


def test_grades_of_unusual_types_are_refused_or_cast(tmp_path: Path) -> None:
    file = tmp_path / "grades.parquet"
    usual = grade_columns(["a", "b"], [Grade(4), Grade(5)], NOTHING_USED)
    for odd in ODD:
        for column in usual.column_names:
            put(file, usual, column, odd)
            try:
                assert sum(map(len, read_grades(file))) == 2
            except ValueError as error:
                assert str(error)


def test_leaderboards_from_unusual_types_are_valid_or_refused(tmp_path: Path) -> None:
    usual = {
        "grades": pa.table(
            {"query_id": ["q"] * 2, "passage_id": ["p", "r"], "question_id": ["a"] * 2, "rating": [4, 0]}
        ),
        "runs": pa.table(
            {"run": ["x"] * 2, "query_id": ["q"] * 2, "passage_id": ["p", "r"], "rank": [1, 2], "score": [2.0, 1.0]}
        ),
        "questions": pa.table({"query_id": ["q"], "question_id": ["a"], "weight": [1.0], "top": [5]}),
    }
    files = {name: tmp_path / f"{name}.parquet" for name in usual}
    for name, table in usual.items():
        pq.write_table(table, files[name])
    given = GradeFiles(*map(str, files.values()))
    assert leaderboard_of_files(given, "nDCG@10").board.systems
    columns = [(name, column) for name, table in usual.items() for column in table.column_names]
    cases = [(*columns[number % len(columns)], odd) for number, odd in enumerate(ODD)]
    cases += [
        ("grades", column, odd) for column in ("passage_id", "rating") for odd in ("invalid text", "null", "struct")
    ]
    for name, column, odd in cases:
        put(files[name], usual[name], column, odd)
        try:
            board = leaderboard_of_files(given, "nDCG@10").board
            assert all(0 <= system.score <= 1 for system in board.systems)
        except InputError as error:
            assert error.message
        pq.write_table(usual[name], files[name])


def test_commands_refuse_unexpected_parquet(
    shared_export: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = str(tmp_path / "new.duckdb")
    assert run_command(["init", "--project", new]) == 0
    shutil.copy(shared_export / "queries.parquet", file := tmp_path / "queries.parquet")
    assert detect_kind(Source(file.name, path=file)) is None
    for kind in ("auto", "queries", "passages", "run", "qrels", "bank"):
        words = ["import", str(file)] if kind == "auto" else ["import", kind, str(file)]
        assert run_command([*words, "--project", new]) == 2
    for odd in ("invalid text", "beyond all years", "map"):
        put(file, pa.table({"custom_id": ["a"], "answer": ["4"]}), "answer", odd)
        assert run_command(["ingest", str(file), "--project", new]) in (0, 1, 2)
        assert "Traceback" not in capfd.readouterr().err
