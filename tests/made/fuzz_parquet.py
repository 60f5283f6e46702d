"""Exported projects with random faults: made from a seed, imported, and checked.

`exported` writes a small project as a folder, `mutate` changes one thing in such a folder, and
`check` imports it. Either the import is refused with a clear error and nothing is written, or all
derived results are valid numbers.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from exam_workbench import bank, labels
from exam_workbench.bank import list_drafts, project_counts, put_draft, put_grader
from exam_workbench.errors import WorkbenchError
from exam_workbench.exchange import export_project, import_project, publish_qrels, qrels_text
from exam_workbench.exchange._parquet import MANIFEST, file_sha256
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.types import Grade, Question
from tests.made.projects import SPEC, fill, judge, made_project

A = Question("q1/a", "q1", "What is A?", weight=2.5, choices=("a", "b"), answer_key="a")
B = Question("q2/b", "q2", "What is B?", kind="nugget", weight=-1.0)


def fill_most(project: Project) -> None:
    ratings = {("What is A?", "p1"): 5, ("What is A?", "p2"): 3, ("What is B?", "p3"): None}
    runs = {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}, "two": {"q1": ["p2"]}, "three": {"q1": ["p1"], "q2": ["p3"]}}
    fill(project, [A, B], ratings, runs)
    with project.transaction() as cursor:
        (question,), (passage,) = (
            cursor.execute(f"SELECT min(text_key) FROM {table}").fetchall()[0]
            for table in ("question_texts", "passage_texts")
        )
        rated = Grade(2, "defaulted", "an answer", 0.25, "raw", distribution=(0.5, 0.5))
        other = put_grader(cursor, replace(SPEC, name="another", model="another"))
        add_outcomes(cursor, other, [(question, passage, rated)], 0)
        set_pool_depth(cursor, 10, "ann")
    judge(project, {("q1", "p1"): 2, ("q2", "p3"): 0})
    bank.save_version(project, [replace(A, text="Reworded?")], "reword", "ann")
    put_draft(project, "bob", replace(B, weight=0.1))
    labels.add_override(project, "q1/a", "p1", 4, "so", "ann")
    labels.withdraw_by_key(project, labels.add_override(project, "q1/a", "p2", 1, "so", "ann"), "ann")
    publish_qrels(project, labels.Policy(), "ann")


def exported(folder: Path) -> Path:
    """Write a project with rows in most tables as a folder of Parquet files.

    Args:
        folder: must not exist yet.
    """
    with tempfile.TemporaryDirectory() as made:
        project = made_project(Path(made) / "some.duckdb", fill_most)
        export_project(project, folder, "ann")
        project.close()
    return folder


def mutate(folder: Path, random: Random) -> None:
    """Change one thing in an exported project; unless it is the manifest, the manifest is updated to match."""
    random.choice((_values, _values, _values, _rows, _columns, _bytes, _manifest, _manifest))(folder, random)


def check(folder: Path) -> str:
    """Import a project and compute derived results.

    Returns:
        The error if it was refused; else empty.

    Raises:
        AssertionError: a refused import left files, or a result is not a number.
    """
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "again.duckdb"
        try:
            project = import_project(folder, path)
        except WorkbenchError as error:
            assert not list(Path(made).iterdir()), f"left behind: {list(Path(made).iterdir())}"
            assert error.message and error.hint and "Traceback" not in str(error)
            return str(error)
        try:
            _look(project)
        finally:
            project.close()
    return ""


def _look(project: Project) -> None:
    project_counts(project)
    list_drafts(project, "bob")
    for policy in (
        labels.Policy(),
        labels.Policy(label="mean", overrides=False),
        labels.Policy(label="support:2", weighted=False),
    ):
        try:
            found = labels.list_labels(project, labels.basis(project, policy))["label"].dropna().tolist()
            scores = [
                score
                for run in labels.coverage_scores(project, labels.basis(project, policy)).values()
                for score in run.values()
            ]
            boards = [labels.leaderboard(project, measure, policy) for measure in ("nDCG@10", "EXAM-Cover@20")]
            written = qrels_text(project, policy)
        except WorkbenchError:
            # Missing parts, such as a project without any grader, give a clear error.
            continue
        assert all(label in range(6) for label in found), found
        assert all(0 <= score <= 1 for score in scores), scores
        assert all(math.isfinite(system.score) for board in boards for system in board.systems), boards
        assert all(int(line.split()[3]) in range(6) and len(line.split()) == 4 for line in written.splitlines())


_INTEGERS = (-(1 << 31), -1, 0, 1, 6, 99, 1 << 20, (1 << 31) - 1)
_FLOATS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -1.0, 0.0, 2.0)
_TEXTS = ("", " ", "\t", "a b", "a\nb", "a\x1fb", "\x00", "é" * 600, "null", "[]", "{}", '{"a": NaN}', "[1]", "9" * 400)
_TIMES = (datetime(1, 1, 1), datetime(9999, 12, 31), datetime(2026, 1, 1))


def _read(folder: Path, random: Random) -> tuple[str, pa.Table]:
    files = sorted(folder.glob("*.parquet"))
    file = random.choice([file for file in files if pq.read_metadata(file).num_rows] or files)
    return file.stem, pq.read_table(file)


def _write(folder: Path, name: str, table: pa.Table) -> None:
    pq.write_table(table, folder / f"{name}.parquet")
    fit(folder, name, table.num_rows)


def fit(folder: Path, name: str, rows: int | None = None) -> None:
    """Update the manifest's entry of a table's file.

    Args:
        rows: number of rows; None keeps the stated number.
    """
    file = folder / f"{name}.parquet"
    manifest = json.loads((folder / MANIFEST).read_text())
    for table in manifest["tables"]:
        if table["name"] == name:
            table["rows"] = table["rows"] if rows is None else rows
            table |= {"bytes": file.stat().st_size, "sha256": file_sha256(file)}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def _chance_value(type_: pa.DataType, random: Random) -> Any:
    if pa.types.is_list(type_):
        return [_chance_value(type_.value_type, random) for _ in range(random.randrange(9))]
    if pa.types.is_integer(type_):
        bits = type_.bit_width - 1
        return max(-(1 << bits), min((1 << bits) - 1, random.choice(_INTEGERS)))
    if pa.types.is_floating(type_):
        return random.choice(_FLOATS)
    if pa.types.is_boolean(type_):
        return random.random() < 0.5
    return random.choice(_TIMES if pa.types.is_timestamp(type_) else _TEXTS)


def _values(folder: Path, random: Random) -> None:
    """Change some values of a column: replace, remove, shuffle or repeat them."""
    name, table = _read(folder, random)
    at = random.randrange(table.num_columns)
    field = table.schema.field(at)
    values = table.column(at).to_pylist()
    way = random.choice(("one", "one", "all", "nothing", "shuffled", "same"))
    row = random.randrange(len(values)) if values else 0
    if way == "shuffled":
        random.shuffle(values)
    elif way == "same":
        values = values[:1] * len(values)
    else:
        value = None if way == "nothing" else _chance_value(field.type, random)
        values = [value if way == "all" or i == row else old for i, old in enumerate(values)]
    _write(folder, name, table.set_column(at, pa.field(field.name, field.type), pa.array(values, field.type)))


def _rows(folder: Path, random: Random) -> None:
    name, table = _read(folder, random)
    numbers = list(range(table.num_rows))
    way = random.choice(("without", "twice", "empty", "reversed"))
    changed: dict[str, Sequence[int]] = {
        "without": [n for n in numbers if n != random.choice(numbers)] if numbers else [],
        "twice": numbers + numbers[-1:],
        "empty": [],
        "reversed": numbers[::-1],
    }
    _write(folder, name, table.take(pa.array(changed[way], pa.int64())))


def _columns(folder: Path, random: Random) -> None:
    name, table = _read(folder, random)
    at = random.randrange(table.num_columns)
    field, column = table.schema.field(at), table.column(at)
    ways: dict[str, Callable[[], pa.Table]] = {
        "gone": lambda: table.remove_column(at),
        "more": lambda: table.append_column("more", column),
        "renamed": lambda: table.rename_columns([f"{n}x" if i == at else n for i, n in enumerate(table.column_names)]),
        "text": lambda: table.set_column(at, field.name, pa.array([str(v) for v in column.to_pylist()])),
        "number": lambda: table.set_column(at, field.name, pa.array([1.0] * len(column))),
        "bytes": lambda: table.set_column(at, field.name, pa.array([b"\xff\x00"] * len(column))),
        "list": lambda: table.set_column(at, field.name, pa.array([[1]] * len(column))),
    }
    _write(folder, name, random.choice(list(ways.values()))())


def _bytes(folder: Path, random: Random) -> None:
    """Change bytes of a file, or replace the file."""
    name, _ = _read(folder, random)
    file = folder / f"{name}.parquet"
    content = bytearray(file.read_bytes())
    way = random.choice(("flipped", "flipped", "flipped", "cut", "nothing", "link", "another"))
    if way == "flipped":
        for _ in range(random.choice((1, 1, 8))):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    elif way == "cut":
        del content[random.randrange(len(content)) :]
    elif way == "another":
        content = bytearray(random.choice(sorted(folder.glob("*.parquet"))).read_bytes())
    elif way == "nothing":
        content = bytearray()
    if way == "link":
        moved = folder / "moved"
        file.rename(moved)
        file.symlink_to(moved)
    else:
        file.write_bytes(bytes(content))
    fit(folder, name)


_ODD = (None, -1, 0, 1.5, True, "x", "../x", [], {}, [None], {"keys": 10**18}, 10**30, math.nan)


def _manifest(folder: Path, random: Random) -> None:
    file = folder / MANIFEST
    manifest = json.loads(file.read_text())
    tables, steps = manifest["tables"], manifest["migrations"]
    odd = random.choice(_ODD)
    way = random.choice(("field", "table", "twice", "gone", "steps", "keys", "nested", "bytes"))
    if way == "field":
        manifest[random.choice(list(manifest))] = odd
    elif way == "table":
        random.choice(tables)[random.choice(("name", "file", "rows", "bytes", "sha256", "more"))] = odd
    elif way == "twice":
        tables.append(random.choice(tables))
    elif way == "gone":
        del tables[random.randrange(len(tables))]
    elif way == "steps":
        random.choice((random.shuffle, list.reverse, list.pop, lambda known: known.append(known[0])))(steps)
    elif way == "keys":
        manifest["sequences"] = {random.choice(("keys", "other; DROP TABLE runs")): odd if odd != "x" else 1 << 62}
    text = json.dumps(manifest)
    if way == "nested":
        text = "[" * 200_000
    if way == "bytes":
        at = random.randrange(len(text))
        text = text[:at] + chr(random.randrange(128)) + text[at + random.randrange(3) :]
    file.write_text(text)


def copied(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target
