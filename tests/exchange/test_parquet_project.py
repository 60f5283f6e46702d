"""A project goes out as a folder of Parquet files and comes back equal, table by table, ready to go on with."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank, cli
from exam_workbench.bank import put_draft, put_grader
from exam_workbench.errors import FileError
from exam_workbench.exchange import (
    _parquet,
    export_project,
    graded_file,
    import_project,
    publish_qrels,
    qrels_text,
    reproduce_qrels,
)
from exam_workbench.exchange._parquet import CACHES, MANIFEST, SECRETS
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.labels import Policy, add_override, find_overrides, leaderboard, withdraw_by_key
from exam_workbench.records import add_passages, add_queries, set_pool_depth
from exam_workbench.store import MARK, Project, create_project, migrations, open_project
from exam_workbench.types import Grade, Passage, Query, Question, Subtopic
from tests.made.projects import SPEC, fill, grade, judge, made_project
from tests.made.refusals import mentions, refusal

A = Question("q1/a", "q1", "What is 'A'?\nReally – 真?", weight=2.5, note="n", answer_key="a", choices=("a", "b"))
B = Question("q1/b", "q1", None)
RUNS = {"one": {"q1": ["p1", "p2"]}, "two": {"q1": ["p2"]}}


def fill_nearly_all(project: Project) -> None:
    """Something in nearly every table; rows were also removed and replaced."""
    fill(project, [A, B], {(A.text or "", "p1"): 5, (A.text or "", "p2"): None}, RUNS)
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "one", "all", (Subtopic("s", "sub"),))], replace=True)
        texts = dict(cursor.execute("SELECT coalesce(text, placeholder), text_key FROM question_texts").fetchall())
        passages = dict(cursor.execute("SELECT passage_id, text_key FROM passages").fetchall())
        rated = Grade(2, "defaulted", "an answer", 0.25, "raw", note="shortened", distribution=(0.0, 0.25, 0.75))
        add_outcomes(cursor, put_grader(cursor, SPEC), [(texts["q1/b"], passages["p1"], rated)], job_key=0)
        set_pool_depth(cursor, 7, "ann")
    judge(project, {("q1", "p1"): 2, ("q1", "p3"): 0})
    judge(project, {("q1", "p1"): 1})
    bank.save_version(project, [replace(A, text="Reworded?")], "reword", "ann")
    put_draft(project, "bob", replace(A, weight=0.1))
    add_override(project, "q1/a", "p1", 4, "so", "ann")
    withdraw_by_key(project, add_override(project, "q1/a", "p2", 4, "so", "ann"), "bob")
    publish_qrels(project, Policy(bank_version=1), "ann")


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Project]:
    """A project with something in nearly every table."""
    project = made_project(tmp_path / "test.duckdb", fill_nearly_all)
    yield project
    project.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That project as an exported folder; to be copied where something is done to it."""
    folder = tmp_path_factory.mktemp("exported")
    project = made_project(folder / "test.duckdb", fill_nearly_all)
    export_project(project, folder / "out", "ann")
    project.close()
    return folder / "out"


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Callable[[Path], Project]]:
    """Imports an exported project, and closes it in the end."""
    opened: list[Project] = []

    def run(source: Path) -> Project:
        opened.append(import_project(source, tmp_path / f"again{len(opened)}.duckdb"))
        return opened[-1]

    yield run
    for project in opened:
        project.close()


def content(project: Project) -> dict[str, tuple[list[tuple], list[tuple]]]:
    """Columns with their types, and rows in their order, by table; a publication names grades by row number too."""
    names = project.rows("SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY 1")
    return {
        name: (
            project.rows(f"DESCRIBE {name}"),
            project.rows(
                f"SELECT {'rowid, ' if name in ('grades', 'failures') else ''}* FROM {name}"
                # Whether a file is closed is nothing of the project's.
                f"{' WHERE name <> $mark' if name == 'settings' else ''} ORDER BY rowid",
                {"mark": MARK} if name == "settings" else None,
            ),
        )
        for (name,) in names
        if name not in CACHES | SECRETS
    }


@pytest.mark.parametrize("name", ["out.zip", "new folder/it's out"])
def test_a_project_comes_back_equal_table_by_table_and_in_all_that_is_derived(
    filled: Project, imported: Callable[[Path], Project], tmp_path: Path, name: str
) -> None:
    rows = export_project(filled, tmp_path / name, "ann")
    again = imported(tmp_path / name)
    before, after = content(filled), content(again)
    assert before.keys() == after.keys()
    for table in before:
        assert after[table] == before[table], table
    assert {table: len(found) for table, (_, found) in after.items()} == rows
    assert bank.list_questions(again) == bank.list_questions(filled)
    assert find_overrides(again) == find_overrides(filled)
    assert graded_file(again) == graded_file(filled)
    for measure in ("nDCG@10", "EXAM-Cover@20"):
        assert leaderboard(again, measure).systems == leaderboard(filled, measure).systems


def test_work_goes_on_after_coming_back(filled: Project, imported: Callable[[Path], Project], tmp_path: Path) -> None:
    published = publish_qrels(filled, Policy(bank_version=1, label="mean"), "ann")
    export_project(filled, tmp_path / "out", "ann")
    again = imported(tmp_path / "out")
    assert bank.save_version(again, [Question("q1/new", "q1", "New?"), replace(A, weight=1.0)], "go on", "ann") == 3
    grade(again, {("New?", "p1"): 1, ("Reworded?", "p2"): 5})
    with again.transaction() as cursor:
        add_passages(cursor, [Passage("p99", "another text")])
    key = add_override(again, "q1/new", "p2", 3, "so", "ann")
    assert key > filled.value("SELECT last_value FROM duckdb_sequences()")
    assert reproduce_qrels(again, published.manifest, "ann") == published.qrels_bytes
    assert qrels_text(again, Policy(label="mean")).encode() != published.qrels_bytes
    second = publish_qrels(again, Policy(), "ann")
    assert reproduce_qrels(again, second.manifest, "ann") == second.qrels_bytes


def test_keys_go_on_above_every_key_in_use_even_if_the_manifest_knows_of_fewer(
    whole: Path, imported: Callable[[Path], Project], tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "out")
    changed(tmp_path / "out", sequences={"keys": 1})
    again = imported(tmp_path / "out")
    highest = again.value("SELECT max(activity_key) FROM activity")
    assert highest > 1 and again.value("SELECT nextval('keys')") > highest


def test_the_export_itself_is_in_the_activity_log(filled: Project, tmp_path: Path) -> None:
    export_project(filled, tmp_path / "out", "ann")
    assert filled.rows("SELECT author, act FROM activity ORDER BY activity_key DESC LIMIT 1") == [
        ("ann", "export project")
    ]


def test_nothing_but_the_folder_is_left_behind(filled: Project, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    export_project(filled, tmp_path / "out", "ann")
    export_project(filled, tmp_path / "out.zip", "ann")
    import_project(tmp_path / "out", tmp_path / "again.duckdb").close()
    filled.close()
    assert {file.name for file in tmp_path.iterdir()} == {"out", "out.zip", "test.duckdb", "again.duckdb"}
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert sorted(archive.namelist()) == sorted(file.name for file in (tmp_path / "out").iterdir())


def test_an_export_replaces_nothing(filled: Project, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    (tmp_path / "out.zip").write_text("mine")
    for name in ("out", "out.zip", "test.duckdb"):
        with refusal("file-exists"):
            export_project(filled, tmp_path / name, "ann")
    assert (tmp_path / "out.zip").read_text() == "mine"


def changed(folder: Path, **fields: object) -> None:
    file = folder / MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def of_a_newer_schema(folder: Path) -> None:
    known = [name for name, _ in migrations.MIGRATIONS]
    changed(folder, migrations=[*known, "0099_of_the_future"])


def without_a_table(folder: Path) -> None:
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    changed(folder, tables=[table for table in tables if table["name"] != "grades"])


def with_a_file_elsewhere(folder: Path) -> None:
    shutil.copy(folder / "grades.parquet", folder.parent / "grades.parquet")
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    changed(folder, tables=[table | {"file": "../grades.parquet"} for table in tables])


def with_other_columns(folder: Path) -> None:
    file = folder / "settings.parquet"
    duckdb.sql("SELECT 'a' AS name, 'b' AS worth").write_parquet(str(file))
    rewritten(folder, "settings", 1)


def with_other_rows(folder: Path) -> None:
    rewritten(folder, "settings", 99)


def rewritten(folder: Path, name: str, rows: int) -> None:
    """Let the manifest say of a table's file what is true, but for the number of rows."""
    from exam_workbench.exchange._parquet import file_sha256

    file = folder / f"{name}.parquet"
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    said = {"rows": rows, "bytes": file.stat().st_size, "sha256": file_sha256(file)}
    changed(folder, tables=[table | said if table["name"] == name else table for table in tables])


def with_a_byte_changed(folder: Path) -> None:
    file = folder / "grades.parquet"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(bytes(whole))


DAMAGES: list[tuple[Callable[[Path], object], tuple[str, ...]]] = [
    (lambda folder: (folder / "grades.parquet").unlink(), ("missing-file", "grades.parquet")),
    (lambda folder: (folder / "grades.parquet").write_bytes(b""), ("changed-file", "grades.parquet")),
    (with_a_byte_changed, ("changed-file", "grades.parquet")),
    (lambda folder: (folder / MANIFEST).unlink(), ("missing-file", MANIFEST)),
    (lambda folder: (folder / MANIFEST).write_text("{"), ("invalid-json", MANIFEST)),
    (lambda folder: (folder / MANIFEST).write_text("[]"), ("invalid-manifest",)),
    (lambda folder: changed(folder, format="another"), ("invalid-manifest",)),
    (lambda folder: changed(folder, format_version=2), ("newer-version", "2")),
    (of_a_newer_schema, ("newer-version", "0099_of_the_future")),
    (lambda folder: changed(folder, tables="none"), ("invalid-manifest",)),
    (lambda folder: changed(folder, migrations=[]), ("schema-differs",)),
    (without_a_table, ("schema-differs", "grades")),
    (with_a_file_elsewhere, ("invalid-manifest",)),
    (with_other_columns, ("schema-differs", "settings.parquet")),
    (with_other_rows, ("row-count-differs", "settings.parquet", "99")),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
@pytest.mark.parametrize("zipped", [False, True], ids=["folder", "zip"])
def test_a_damaged_or_foreign_folder_is_refused_and_nothing_is_made(
    whole: Path, tmp_path: Path, damage: Callable[[Path], object], said: tuple[str, ...], zipped: bool
) -> None:
    source = shutil.copytree(whole, tmp_path / "out")
    damage(source)
    if zipped:
        with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
            for file in source.iterdir():
                archive.write(file, file.name)
        source = tmp_path / "out.zip"
    before = {file.name for file in tmp_path.iterdir()}
    with refusal(*said):
        import_project(source, tmp_path / "again.duckdb")
    assert {file.name for file in tmp_path.iterdir()} == before


def test_a_zip_that_unpacks_to_more_than_it_announces_is_refused(whole: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(whole / MANIFEST, MANIFEST)
        for file in whole.glob("*.parquet"):
            archive.writestr(file.name, bytes(1_000_000))
    with refusal("limit-exceeded", kind=FileError):
        import_project(tmp_path / "bomb.zip", tmp_path / "again.duckdb")


@pytest.mark.parametrize(("name", "code"), [("absent", "cannot-read-file"), ("text.txt", "unreadable-zip")])
def test_what_is_no_folder_and_no_zip_is_refused(tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / "text.txt").write_text("hello")
    with refusal(code, name):
        import_project(tmp_path / name, tmp_path / "again.duckdb")


def test_a_project_that_is_there_is_not_replaced(whole: Path) -> None:
    there = whole.parent / "test.duckdb"
    before = there.read_bytes()
    with refusal("file-exists", "test.duckdb"):
        import_project(whole, there)
    assert there.read_bytes() == before


def test_an_export_of_an_older_schema_is_brought_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imported: Callable[[Path], Project]
) -> None:
    current = migrations.MIGRATIONS
    older = tuple(step for step in current if step[0] < "0004")
    monkeypatch.setattr(migrations, "MIGRATIONS", older)
    old = create_project(tmp_path / "old.duckdb")
    with old.transaction() as cursor:
        cursor.execute("INSERT INTO queries VALUES (nextval('keys'), 'q1', 'a query', NULL)")
    # Such a project has no table of seals. The program upgrades it before it exports it.
    monkeypatch.setattr(_parquet, "refuse_sealed", lambda project: None)
    export_project(old, tmp_path / "out", "ann")
    old.close()
    monkeypatch.setattr(migrations, "MIGRATIONS", current)
    again = imported(tmp_path / "out")
    assert again.rows("SELECT query_id, text, answer FROM queries") == [("q1", "a query", None)]
    with again.cursor() as cursor:
        assert migrations.applied_migrations(cursor) == [name for name, _ in current]


def test_the_command_line_takes_a_project_out_and_in(
    filled: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bank.list_questions(filled)
    filled.close()

    def exam(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["exam", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    assert exam("export", "project", "-o", "out", "--project", "test.duckdb")[0] == 0
    assert exam("export", "project", "-o", "out", "--project", "test.duckdb")[0] == 2
    assert exam("export", "project", "-o", "-", "--project", "test.duckdb")[0] == 2
    assert exam("import", "project", "out", "--project", "new.duckdb")[0] == 0
    code, out, _ = exam("import", "project", "out", "--project", "newer.duckdb", "--json")
    assert (code, json.loads(out)["kind"]) == (0, "project")
    code, _, err = exam("import", "project", "out", "--project", "new.duckdb")
    assert code == 2 and mentions(err, "new.duckdb")
    assert exam("import", "project", "out", "--project", "third.duckdb", "--preview")[0] == 2
    again = open_project(tmp_path / "new.duckdb")
    assert bank.list_questions(again) == before
    again.close()
