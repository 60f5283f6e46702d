"""Projects as folders of Parquet files: lossless round trips and refusal of invalid folders."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank, exchange
from exam_workbench.bank import put_draft
from exam_workbench.errors import FileError, InputError
from exam_workbench.exchange import _integrity as rules, _parquet
from exam_workbench.exchange._integrity import LARGEST_KEY
from exam_workbench.exchange._parquet import CACHES, MANIFEST, SECRETS
from exam_workbench.graders import Price
from exam_workbench.labels import Policy, add_override, find_overrides, leaderboard, withdraw_by_key
from exam_workbench.records import add_passages, add_queries, set_pool_depth, write_board
from exam_workbench.store import MARK, Project, create_project, migrations, open_project
from exam_workbench.types import Board, BoardRow, Grade, Passage, Query, Question, Subtopic
from tests.made.fuzz_parquet import copied, fit
from tests.made.projects import commit, fill, filled_project, grade, judge
from tests.made.refusals import mentions, refusal
from tests.made.shell import ShellOn, printed

A = Question("q1/a", "q1", "What is 'A'?\nReally – 真?", weight=2.5, note="n", answer_key="a", choices=("a", "b"))
B = Question("q1/b", "q1", None)
RUNS = {"one": {"q1": ["p1", "p2"]}, "two": {"q1": ["p2"]}}


def fill_nearly_all(project: Project) -> None:
    """Fill nearly every table, and also remove and replace rows."""
    fill(project, [A, B], {(A.text or "", "p1"): 5, (A.text or "", "p2"): None}, RUNS)
    commit(project, add_queries, [Query("q1", "one", "all", (Subtopic("s", "sub"),))], replace=True)
    rated = Grade(2, "defaulted", "an answer", 0.25, "raw", note="shortened", distribution=(0.0, 0.25, 0.75))
    grade(project, {("q1/b", "p1"): rated})
    commit(project, set_pool_depth, 7, "ann")
    bank.set_price(project, "m", Price(1.0, 2.0, cached=0.5), "ann")
    bank.set_price(project, "n", Price(1.0, 2.0, batch=0.25), "ann")
    judge(project, {("q1", "p1"): 2, ("q1", "p3"): 0})
    judge(project, {("q1", "p1"): 1})
    bank.save_version(project, [replace(A, text="Reworded?")], "reword", "ann")
    put_draft(project, "bob", replace(A, weight=0.1))
    add_override(project, "q1/a", "p1", 4, "so", "ann")
    withdraw_by_key(project, add_override(project, "q1/a", "p2", 4, "so", "ann"), "bob")
    exchange.publish_qrels(project, Policy(bank_version=1), "ann")


filled = filled_project(fill_nearly_all)
"""A project with rows in nearly every table."""


@pytest.fixture
def folder(shared_export: Path, tmp_path: Path) -> Path:
    """Return an exported project that the test may change."""
    return copied(shared_export, tmp_path / "out")


@pytest.fixture
def imported(tmp_path: Path) -> Callable[[Path], Project]:
    """A function that imports an exported project."""
    return lambda source: exchange.import_project(source, tmp_path / "again.duckdb")


def content(project: Project) -> dict[str, tuple[list[tuple], list[tuple]]]:
    """Return columns and ordered rows by table, with row numbers if publications refer to them."""
    names = project.rows("SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY 1")
    return {
        name: (
            project.rows(f"DESCRIBE {name}"),
            project.rows(
                f"SELECT {'rowid, ' if name in ('grades', 'failures') else ''}* FROM {name}"
                # This setting marks an open file and is not part of the project.
                f"{' WHERE name <> $mark' if name == 'settings' else ''} ORDER BY rowid",
                {"mark": MARK} if name == "settings" else None,
            ),
        )
        for (name,) in names
        if name not in CACHES | SECRETS
    }


@pytest.mark.parametrize("name", ["out.zip", "a=1/it's [an] *out?"])
def test_import_equals_export(filled: Project, imported: Callable[[Path], Project], tmp_path: Path, name: str) -> None:
    rows = exchange.export_project(filled, tmp_path / name, "ann")
    again = imported(tmp_path / name)
    before, after = content(filled), content(again)
    assert before.keys() == after.keys()
    for table in before:
        assert after[table] == before[table], table
    assert {table: len(found) for table, (_, found) in after.items()} == rows
    assert bank.list_questions(again) == bank.list_questions(filled)
    assert find_overrides(again) == find_overrides(filled)
    assert exchange.graded_file(again) == exchange.graded_file(filled)
    for measure in ("nDCG@10", "EXAM-Cover@20"):
        assert leaderboard(again, measure).systems == leaderboard(filled, measure).systems


def test_imported_project_is_editable(filled: Project, imported: Callable[[Path], Project], tmp_path: Path) -> None:
    published = exchange.publish_qrels(filled, Policy(bank_version=1, label="mean"), "ann")
    exchange.export_project(filled, tmp_path / "out", "ann")
    again = imported(tmp_path / "out")
    assert bank.save_version(again, [Question("q1/new", "q1", "New?"), replace(A, weight=1.0)], "go on", "ann") == 3
    grade(again, {("New?", "p1"): 1, ("Reworded?", "p2"): 5})
    commit(again, add_passages, [Passage("p99", "another text")])
    key = add_override(again, "q1/new", "p2", 3, "so", "ann")
    assert key > filled.value("SELECT last_value FROM duckdb_sequences()")
    assert exchange.reproduce_qrels(again, published.manifest, "ann") == published.qrels_bytes
    assert exchange.qrels_text(again, Policy(label="mean")).encode() != published.qrels_bytes
    second = exchange.publish_qrels(again, Policy(), "ann")
    assert exchange.reproduce_qrels(again, second.manifest, "ann") == second.qrels_bytes


def test_new_keys_exceed_all_keys_in_use(folder: Path, imported: Callable[[Path], Project]) -> None:
    changed(folder, sequences={"keys": 1})
    again = imported(folder)
    highest = again.value("SELECT max(activity_key) FROM activity")
    assert highest > 1 and again.value("SELECT nextval('keys')") > highest


def test_export_is_logged_replaces_no_file_and_leaves_no_other(filled: Project, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").write_text("mine")
    (tmp_path / "mine.zip").write_text("mine")
    for name in ("mine", "mine.zip", "test.duckdb"):
        with refusal("file-exists"):
            exchange.export_project(filled, tmp_path / name, "ann")
    assert (tmp_path / "mine.zip").read_text() == "mine"
    (tmp_path / "out").mkdir()
    exchange.export_project(filled, tmp_path / "out", "ann")
    exchange.export_project(filled, tmp_path / "out.zip", "ann")
    assert filled.rows("SELECT author, act FROM activity ORDER BY activity_key DESC LIMIT 1") == [
        ("ann", "export project")
    ]
    exchange.import_project(tmp_path / "out", tmp_path / "again.duckdb").close()
    filled.close()
    names = {"mine", "mine.zip", "out", "out.zip", "test.duckdb", "again.duckdb"}
    assert {file.name for file in tmp_path.iterdir()} == names
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert sorted(archive.namelist()) == sorted(file.name for file in (tmp_path / "out").iterdir())


def test_older_export_is_upgraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imported: Callable[[Path], Project]
) -> None:
    current = migrations.MIGRATIONS
    older = tuple(step for step in current if step[0] < "0004")
    monkeypatch.setattr(migrations, "MIGRATIONS", older)
    old = create_project(tmp_path / "old.duckdb")
    commit(old, "INSERT INTO queries VALUES (nextval('keys'), 'q1', 'a query', NULL)")
    # Such a project has no table of seals, because commands upgrade projects before an export.
    monkeypatch.setattr(_parquet, "refuse_sealed", lambda project: None)
    exchange.export_project(old, tmp_path / "out", "ann")
    old.close()
    monkeypatch.setattr(migrations, "MIGRATIONS", current)
    again = imported(tmp_path / "out")
    assert again.rows("SELECT query_id, text, answer FROM queries") == [("q1", "a query", None)]
    with again.cursor() as cursor:
        assert migrations.applied_migrations(cursor) == [name for name, _ in current]


def test_commands_export_and_import_whole_projects(tmp_path: Path, shell_on: ShellOn) -> None:
    exam = shell_on(fill_nearly_all)
    assert exam("export", "project", "-o", "out")[0] == 0
    assert exam("export", "project", "-o", "out")[0] == 2
    assert exam("export", "project", "-o", "-")[0] == 2
    assert exam("import", "project", "out", "--project", "new.duckdb")[0] == 0
    assert printed(exam("import", "project", "out", "--project", "newer.duckdb", "--json"))["kind"] == "project"
    code, _, err = exam("import", "project", "out", "--project", "new.duckdb")
    assert code == 2 and mentions(err, "new.duckdb")
    assert exam("import", "project", "out", "--project", "third.duckdb", "--preview")[0] == 2
    before, again = (open_project(tmp_path / f"{name}.duckdb") for name in ("some", "new"))
    assert bank.list_questions(again) == bank.list_questions(before)


AUDIT = (
    "INSERT INTO audits VALUES (999, 'x', '{measure}', '{{}}', [], '{goal}', 's', 3, 10, 1, 0.05, {seed}, 'ann',"
    " now()::TIMESTAMP)"
)
BROKEN = [
    ("UPDATE grades SET rating = 99", "grades rating-off-scale"),
    ("UPDATE grades SET rating = -1", "grades rating-off-scale"),
    ("UPDATE grades SET confidence = 'nan'", "grades not-finite"),
    ("UPDATE grades SET confidence = 1.5", "grades confidence-out-of-range"),
    ("UPDATE grades SET distribution = ['nan'::FLOAT]", "grades invalid-distribution"),
    ("UPDATE grades SET distribution = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]", "grades invalid-distribution"),
    ("INSERT INTO grades FROM grades", "grades repeated-grader-key-question-text-key-passage-text-key"),
    ("UPDATE grades SET grader_key = 7777", "grades unknown-grader-key"),
    ("UPDATE grades SET passage_text_key = 7777", "grades unknown-passage-text-key"),
    ("UPDATE grades SET job_key = 7777", "grades unknown-job-key"),
    ("UPDATE failures SET question_text_key = 7777", "failures unknown-question-text-key"),
    ("UPDATE graders SET max_rating = 9", "graders scale-out-of-range"),
    ("UPDATE graders SET model = 'other'", "graders fingerprint-differs"),
    ("UPDATE graders SET kinds = '[1'", "graders invalid-grader"),
    ("UPDATE question_revisions SET weight = 'inf'", "question_revisions not-finite"),
    ("UPDATE question_revisions SET weight = 'nan'", "question_revisions not-finite"),
    ("UPDATE question_revisions SET weight = 1e308", "question_revisions weight-out-of-range"),
    ("UPDATE question_revisions SET kind = 'essay'", "question_revisions unknown-kind"),
    ("UPDATE question_revisions SET choices = '[1]'", "question_revisions invalid-choices"),
    ("UPDATE question_revisions SET choices = '{}'", "question_revisions invalid-choices"),
    ("UPDATE question_revisions SET choices = 'nothing'", "question_revisions invalid-choices"),
    ("UPDATE question_texts SET text = text || chr(31)", "question_revisions control-character"),
    ("UPDATE question_revisions SET version = 1", "question_revisions repeated-question-key-version"),
    ("UPDATE bank_versions SET version = 7 WHERE version = 1", "bank_versions missing-bank-version"),
    ("DELETE FROM bank_versions WHERE version = 1", "question_revisions unknown-version"),
    ("UPDATE rankings SET rank = 0", "rankings rank-below-1"),
    ("UPDATE rankings SET score = '-inf'", "rankings not-finite"),
    ("INSERT INTO rankings FROM rankings", "rankings repeated-run-key-query-key-passage-key"),
    ("UPDATE judgments SET value = -32768", "judgments judgment-out-of-range"),
    ("UPDATE overrides SET rating = 6", "overrides rating-out-of-range"),
    ("UPDATE overrides SET withdrawn_by = NULL", "overrides half-withdrawn"),
    ("UPDATE drafts SET content = replace(content, '0.1', '1e300')", "drafts invalid-draft"),
    ("UPDATE drafts SET content = '[]'", "drafts invalid-draft"),
    ("UPDATE draft_steps SET after = '{}'", "draft_steps invalid-draft"),
    ("UPDATE publications SET grades = 1000", "publications unknown-grades"),
    ("UPDATE publications SET override_keys = [4242]", "publications unknown-override-keys"),
    ("UPDATE publications SET manifest = 'x'", "publications not-a-json-object"),
    ("UPDATE passages SET passage_id = 'p ' || passage_id", "passages invalid-id"),
    ("UPDATE queries SET query_id = query_id || chr(9)", "queries invalid-id"),
    (f"UPDATE boards SET board_key = {LARGEST_KEY + 1}", "boards key-out-of-range"),
    ("UPDATE board_scores SET std_error = 'nan'", "board_scores not-finite"),
    ("UPDATE activity SET happened_at = 'infinity'", "activity time-out-of-range"),
    ("UPDATE settings SET value = 'x' WHERE name = 'pool_depth'", "settings invalid-pool-depth"),
    ("INSERT INTO settings VALUES ('hold_out', '{\"share\": 2}')", "settings invalid-hold-out"),
    ("INSERT INTO settings VALUES ('prices', '{\"m\": [-1, 0]}')", "settings invalid-prices"),
    ("INSERT INTO settings VALUES ('prices', '{\"m\": [1, 1, -1]}')", "settings invalid-prices"),
    (
        'INSERT INTO settings VALUES (\'item filters\', \'{"q": {"thresholds": {"near": "high"}, "fell": [1]}}\')',
        "settings invalid-item-filters",
    ),
    ("UPDATE pool SET text_key = NULL", "pool pool-text-differs"),
    ("UPDATE passage_texts SET text = 'same'", "passage_texts repeated-text"),
    ("INSERT INTO passages FROM passages", "passages repeated-passage-key"),
    ("UPDATE passages SET passage_id = 'same'", "passages repeated-passage-id"),
    ("INSERT INTO passage_texts FROM passage_texts", "passage_texts repeated-text-key"),
    ("INSERT INTO questions FROM questions", "questions repeated-question-key"),
    ("UPDATE questions SET question_id = 'same'", "questions repeated-question-id"),
    ("INSERT INTO question_texts SELECT text_key, text || 'x', NULL FROM question_texts",
     "question_texts repeated-text-key"),
    ("UPDATE question_revisions SET revision_key = 1", "question_revisions repeated-revision-key"),
    (AUDIT.format(measure="nDCG@10", goal='{"aim": "best"}', seed=1), "audits invalid-measure"),
    (AUDIT.format(measure="P@5", goal='{"aim": "pair", "first": "one"}', seed=1), "audits invalid-goal"),
    (AUDIT.format(measure="P@5", goal='{"aim": "best"}', seed=-1), "audits settings-out-of-range"),
    ("INSERT INTO audit_chances VALUES (999, 1, 1, 0.0, 1.0, false, false, NULL)", "audit_chances chance-out-of-range"),
    ("INSERT INTO audit_chances VALUES (999, 1, 1, 1.0, 1.0, true, false, 2)", "audit_chances known-and-drawn"),
    ("INSERT INTO audit_verdicts VALUES (999, 999, 1, 1, 3, 'ann', 'judged', 1, '', false, now()::TIMESTAMP)",
     "audit_verdicts invalid-turn"),
    ("INSERT INTO audit_verdicts VALUES (999, 999, 1, 1, 1, 'ann', 'judged', NULL, '', false, now()::TIMESTAMP)",
     "audit_verdicts invalid-verdict"),
    ("INSERT INTO members VALUES (999, 'ann@x.org', 'ann', 'king', NULL, 'ann', now()::TIMESTAMP)",
     "members unknown-role"),
    ("INSERT INTO guidelines VALUES (999, 4242, 'x', 'ann', now()::TIMESTAMP)", "guidelines unknown-query-key"),
    ("INSERT INTO guidelines VALUES (999, NULL, repeat('x', 20001), 'ann', now()::TIMESTAMP)", "guidelines too-long"),
    ("INSERT INTO doubles VALUES (999, 1, [4242], 2, NULL, 'o', now()::TIMESTAMP, NULL, NULL)",
     "doubles unknown-passage-keys"),
    ("INSERT INTO doubles SELECT unnest([998, 999]), (SELECT min(query_key) FROM queries),"
     " [(SELECT min(passage_key) FROM passages)], 2, NULL, 'o', now()::TIMESTAMP, NULL, NULL",
     "doubles overlapping-doubles"),
    ("INSERT INTO double_turns VALUES (999, 1, 'ann', 'maybe', '', 'o', now()::TIMESTAMP)", "double_turns unknown-act"),
    ("INSERT INTO adjudications VALUES (999, 1, 1, NULL, 5, NULL, 'so', 'o', now()::TIMESTAMP)",
     "adjudications value-out-of-range"),
    ("INSERT INTO dues VALUES (999, 1, NULL, DATE '9999-01-01', 'o', now()::TIMESTAMP)", "dues time-out-of-range"),
    ("INSERT INTO query_marks VALUES (999, 1, '', true, now()::TIMESTAMP)", "query_marks no-name"),
    ("INSERT INTO members VALUES (999, '', 'ann', NULL, NULL, 'ann', now()::TIMESTAMP)", "members no-name"),
    ("INSERT INTO model_families VALUES (999, 'people', '', ['gpt'], 'ann', now()::TIMESTAMP)",
     "model_families unknown-part"),
]  # fmt: skip


CHECKED = {"values", "uniqueness", "references", "contents", "orphans", "hashes", "revisions", "keys"}
"""The checks that are made up of rules."""


@pytest.fixture(scope="module")
def shared_import(shared_export: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = exchange.import_project(shared_export, tmp_path_factory.mktemp("imported") / "again.duckdb")
    board = Board("official", "nDCG", [BoardRow("one", 0.5, 0.1, 1.0)])
    commit(project, write_board, board)
    yield project
    project.close()


@pytest.mark.parametrize(("statement", "fault"), BROKEN)
def test_broken_rules_are_found(
    shared_import: Project, monkeypatch: pytest.MonkeyPatch, statement: str, fault: str
) -> None:
    # Rules of other tables cannot report this fault, and skipping them saves time.
    table, with_rows = fault.split()[0], rules.filled_tables
    monkeypatch.setattr(rules, "filled_tables", lambda cursor: with_rows(cursor) & {table})
    with shared_import.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            cursor.execute(statement)
            assert fault in {f"{found.table} {found.code}" for found in rules.find_faults(cursor)}
        finally:
            cursor.execute("ROLLBACK")


def test_valid_exports_break_no_rule_and_all_rules_run(shared_import: Project) -> None:
    with shared_import.cursor() as cursor:
        assert not list(rules.find_faults(cursor, CHECKED))
    # Imports skip the rules of empty tables, so an invalid rule would go unnoticed for long.
    with shared_import.cursor() as cursor:
        every = {table for (table,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        found = list(rules.find_rules(cursor, every))
        assert len({rule.table for rule in found}) > 90 and {rule.check for rule in found} == CHECKED
        for rule in found:
            assert not list(rules.find_broken_rows(cursor, rule))
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", rule.code)


def changed(folder: Path, **fields: object) -> None:
    """Change the manifest."""
    file = folder / MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def tables_of(folder: Path) -> list[dict[str, object]]:
    tables: list[dict[str, object]] = json.loads((folder / MANIFEST).read_text())["tables"]
    return tables


def grades_entry(folder: Path, **fields: object) -> None:
    """Change the manifest's entry of the table of grades."""
    changed(folder, tables=[table | fields if table["name"] == "grades" else table for table in tables_of(folder)])


def rewrite(folder: Path, table: str, sql: str) -> None:
    """Replace a table's file by a query over its rows `t`, and update the manifest."""
    file = folder / f"{table}.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_parquet('{file}')")
        connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        rows = connection.execute(f"SELECT count(*) FROM read_parquet('{file}')").fetchall()[0][0]
    fit(folder, table, rows)


def of_a_newer_schema(folder: Path) -> None:
    known = [name for name, _ in migrations.MIGRATIONS]
    changed(folder, migrations=[*known, "0099_of_the_future"])


def without_a_table(folder: Path) -> None:
    changed(folder, tables=[table for table in tables_of(folder) if table["name"] != "grades"])


def with_a_table_twice(folder: Path) -> None:
    tables = tables_of(folder)
    changed(folder, tables=[*tables, *(table for table in tables if table["name"] == "grades")])


def with_a_file_elsewhere(folder: Path) -> None:
    shutil.copy(folder / "grades.parquet", folder.parent / "grades.parquet")
    grades_entry(folder, file="../grades.parquet")


def with_a_byte_changed(folder: Path) -> None:
    file = folder / "grades.parquet"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(bytes(whole))


def with_large_files(folder: Path) -> None:
    for file in folder.glob("*.parquet"):
        file.write_bytes(bytes(1_000_000))


def linked(folder: Path, name: str) -> None:
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")


DAMAGES: list[tuple[Callable[[Path], object], tuple[str, ...]]] = [
    (lambda folder: (folder / "grades.parquet").unlink(), ("missing-file", "grades.parquet")),
    (with_a_byte_changed, ("changed-file", "grades.parquet")),
    (lambda folder: (folder / MANIFEST).unlink(), ("missing-file", MANIFEST)),
    (lambda folder: (folder / MANIFEST).write_text("{"), ("invalid-json", MANIFEST)),
    (lambda folder: changed(folder, format_version=2), ("newer-version", "2")),
    (lambda folder: fit(folder, "settings", 99), ("row-count-differs", "settings.parquet", "99")),
    (lambda folder: (folder / "grades.parquet").write_bytes(b""), ("changed-file", "grades.parquet")),
    (lambda folder: (folder / MANIFEST).write_text("[]"), ("invalid-manifest", MANIFEST)),
    (lambda folder: (folder / MANIFEST).write_text("[" * 200_000), ("invalid-json", MANIFEST)),
    (lambda folder: (folder / MANIFEST).write_bytes(b" " * 10_000_001), ("limit-exceeded", MANIFEST)),
    (lambda folder: linked(folder, "grades.parquet"), ("not-a-plain-file", "grades.parquet")),
    (lambda folder: linked(folder, MANIFEST), ("not-a-plain-file", MANIFEST)),
    (lambda folder: changed(folder, format="another"), ("invalid-manifest", MANIFEST)),
    (lambda folder: changed(folder, tables="none"), ("invalid-manifest", MANIFEST)),
    (lambda folder: changed(folder, sequences={"keys": 10**18}), ("invalid-manifest", MANIFEST)),
    (lambda folder: changed(folder, sequences={"keys": -1}), ("invalid-manifest", MANIFEST)),
    (lambda folder: changed(folder, sequences={"keys": "9"}), ("invalid-manifest", MANIFEST)),
    (lambda folder: changed(folder, sequences=7), ("invalid-manifest", MANIFEST)),
    (of_a_newer_schema, ("newer-version", "0099_of_the_future")),
    (lambda folder: changed(folder, migrations=[]), ("schema-differs", MANIFEST)),
    (lambda folder: changed(folder, migrations=["0002_draft_steps", "0001_initial"]), ("schema-differs", MANIFEST)),
    (lambda folder: changed(folder, migrations=[["0001_initial"]]), ("invalid-manifest", MANIFEST)),
    (without_a_table, ("schema-differs", MANIFEST, "grades")),
    (with_a_table_twice, ("invalid-manifest", MANIFEST)),
    (with_a_file_elsewhere, ("invalid-manifest", MANIFEST)),
    (lambda folder: grades_entry(folder, file="/etc/passwd"), ("invalid-manifest", MANIFEST)),
    (lambda folder: grades_entry(folder, rows=10**12), ("invalid-manifest", MANIFEST)),
    (lambda folder: grades_entry(folder, rows=True), ("invalid-manifest", MANIFEST)),
    (lambda folder: grades_entry(folder, bytes=1.5), ("invalid-manifest", MANIFEST)),
    (lambda folder: grades_entry(folder, sha256="no"), ("invalid-manifest", MANIFEST)),
    (
        lambda folder: rewrite(folder, "settings", "SELECT 'a' AS name, 'b' AS worth"),
        ("schema-differs", "settings.parquet"),
    ),
    (
        lambda folder: rewrite(folder, "grades", "SELECT * REPLACE (99::TINYINT AS rating) FROM t"),
        ("inconsistent-rows", "grades.parquet"),
    ),
    (
        lambda folder: rewrite(folder, "grades", "SELECT * REPLACE (rating::INTEGER AS rating) FROM t"),
        ("schema-differs", "grades.parquet", "rating", "INTEGER", "TINYINT"),
    ),
    (
        lambda folder: rewrite(folder, "runs", "SELECT * REPLACE (name::BLOB AS tag) FROM t"),
        ("schema-differs", "runs.parquet", "tag", "BLOB", "VARCHAR"),
    ),
    (lambda folder: rewrite(folder, "runs", "FROM t UNION ALL FROM t"), ("rows-do-not-fit", "runs.parquet")),
    (
        lambda folder: rewrite(folder, "migrations", "FROM t WHERE position < 3"),
        ("schema-differs", "migrations.parquet"),
    ),
]


def refuse(source: Path, code: str, *values: str) -> FileError:
    """Check that an import is refused without a trace, and return its error."""
    before = sorted(source.parent.iterdir())
    kind = InputError if code in ("newer-version", "unreadable-zip") else FileError
    with refusal(code, *values, kind=kind) as error:
        exchange.import_project(source, source.parent / "again.duckdb")
    assert sorted(source.parent.iterdir()) == before
    assert error.value.hint
    return error.value


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_damaged_or_foreign_export_is_refused_without_trace(
    folder: Path, damage: Callable[[Path], object], said: tuple[str, ...]
) -> None:
    damage(folder)
    refuse(folder, *said)


def packed(folder: Path) -> Path:
    """Write a folder as a zip next to it, the manifest first."""
    target = folder.parent / "out.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir(), key=lambda file: file.name != MANIFEST):
            archive.write(file, file.name)
    return target


ZIPPED = [
    *DAMAGES[:6],
    (with_a_file_elsewhere, ("invalid-manifest", MANIFEST)),
    (with_large_files, ("limit-exceeded",)),
    (lambda folder: grades_entry(folder, bytes=10**12), ("limit-exceeded", MANIFEST, "100")),
]


@pytest.mark.parametrize(("damage", "said"), ZIPPED)
def test_damaged_zip_is_refused_without_trace(
    folder: Path, damage: Callable[[Path], object], said: tuple[str, ...]
) -> None:
    damage(folder)
    refuse(packed(folder), *said)


def test_unreadable_sources_are_refused(folder: Path) -> None:
    zipped = packed(folder)
    whole = zipped.read_bytes()
    for damage in (b"\0" * 40, b"x" * 40):
        zipped.write_bytes(whole[:60] + damage + whole[100:])
        refuse(zipped, "unreadable-zip")
    zipped.write_text("hello")
    refuse(zipped, "unreadable-zip", "out.zip")
    with refusal("cannot-read-file", "absent"):
        exchange.import_project(folder.parent / "absent", folder.parent / "again.duckdb")


def test_all_faults_are_reported_with_their_rows(folder: Path) -> None:
    rewrite(folder, "grades", "SELECT * REPLACE (if(row_number() OVER () = 2, 9, rating)::TINYINT AS rating) FROM t")
    rewrite(folder, "rankings", "SELECT * REPLACE ('nan'::DOUBLE AS score) FROM t")
    said = {Path(problem.file).stem: problem.reason for problem in refuse(folder, "inconsistent-rows").problems}
    assert all(mentions(said["grades"], value) for value in ("1", "rating", "2"))
    assert all(mentions(said["rankings"], value) for value in ("6", "score", "1"))


def test_small_file_with_huge_text_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.exchange._parquet.LARGEST_VALUE", 1_000_000)
    rewrite(folder, "passage_texts", "SELECT * REPLACE (repeat('x', 1_000_001) AS text) FROM t")
    assert (folder / "passage_texts.parquet").stat().st_size < 10_000
    refuse(folder, "limit-exceeded", "passage_texts.parquet")


def test_rules_cover_all_existing_keys(project: Project) -> None:
    columns = set(
        project.rows(
            "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)"
            " WHERE NOT duckdb_tables.internal AND column_name <> 'answer_key'"
        )
    )
    for table, column, other, key in rules.REFERENCES:
        assert {(table, column), (other, key)} <= columns
    for table, names in rules.KEYS:
        assert {(table, name) for name in names} <= columns
    keys = {(table, column) for table, column in columns if column.endswith("_key")}
    own = {f"{table[:-1]}_key" for table, _ in columns} | {
        "query_key",
        "activity_key",
        "text_key",
        "revision_key",
        "pool_key",
        "batch_key",
        "claim_key",
        "verdict_key",
        "look_key",
        "end_key",
        "family_key",
        # The replaced object may no longer exist.
        "object_key",
        # Key of answer_judges and of confirmed cases.
        "judge_key",
        # Refers to graders, examinees or models, by the kind of job; a separate rule checks it.
        "subject_key",
        "case_key",
    }
    referring = {(table, column) for table, column, *_ in rules.REFERENCES}
    assert not {(table, column) for table, column in keys - referring if column not in own}
