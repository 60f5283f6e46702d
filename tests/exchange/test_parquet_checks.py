"""What no project can hold is refused at import by file and row, and nothing is made; what the program made passes."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from exam_workbench.errors import FileError
from exam_workbench.exchange import _integrity as rules, import_project
from exam_workbench.exchange._integrity import LARGEST_KEY
from exam_workbench.exchange._parquet import MANIFEST
from exam_workbench.records import write_board
from exam_workbench.store import Project
from exam_workbench.types import Board, BoardRow
from tests.made.fuzz_parquet import copied, exported, fit
from tests.made.once import made_once
from tests.made.refusals import mentions, refusal


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "exported project", exported)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return copied(whole, tmp_path / "out")


def rewrite(folder: Path, table: str, sql: str) -> None:
    """Write a table's file anew, by SQL over its rows `t`; the manifest fits."""
    file = folder / f"{table}.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_parquet('{file}')")
        connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        rows = connection.execute(f"SELECT count(*) FROM read_parquet('{file}')").fetchall()[0][0]
    fit(folder, table, rows)


def say(folder: Path, **fields: object) -> None:
    """Let the manifest say something else."""
    file = folder / MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def refuse(folder: Path, code: str, *values: str) -> FileError:
    """The error of an import that is refused and leaves nothing."""
    before = sorted(folder.parent.iterdir())
    with refusal(code, *values, kind=FileError) as error:
        import_project(folder, folder.parent / "again.duckdb")
    assert sorted(folder.parent.iterdir()) == before
    assert error.value.hint
    assert isinstance(error.value, FileError)
    return error.value


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
"""The checks that consist of rules."""


@pytest.fixture(scope="module")
def imported(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = import_project(whole, tmp_path_factory.mktemp("imported") / "again.duckdb")
    board = Board("official", "nDCG", [BoardRow("one", 0.5, 0.1, 1.0)])
    with project.transaction() as cursor:
        write_board(cursor, board)
    yield project
    project.close()


@pytest.mark.parametrize(("statement", "fault"), BROKEN)
def test_what_breaks_a_rule_is_found(
    imported: Project, monkeypatch: pytest.MonkeyPatch, statement: str, fault: str
) -> None:
    # The rules of the other tables cannot report a fault of this one.
    table, with_rows = fault.split()[0], rules.filled_tables
    monkeypatch.setattr(rules, "filled_tables", lambda cursor: with_rows(cursor) & {table})
    with imported.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            cursor.execute(statement)
            assert fault in {f"{found.table} {found.code}" for found in rules.find_faults(cursor)}
        finally:
            cursor.execute("ROLLBACK")


def test_what_the_program_made_breaks_no_rule(imported: Project) -> None:
    with imported.cursor() as cursor:
        assert not list(rules.find_faults(cursor, CHECKED))


def test_every_rule_can_be_asked_of_every_table(imported: Project) -> None:
    """What has no rows is not asked in an ordinary import; a rule that cannot be asked would be found much later."""
    with imported.cursor() as cursor:
        every = {table for (table,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        found = list(rules.find_rules(cursor, every))
        assert len({rule.table for rule in found}) > 90 and {rule.check for rule in found} == CHECKED
        for rule in found:
            assert not list(rules.find_broken_rows(cursor, rule))
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", rule.code)


TAMPERED = [
    ("grades", "SELECT * REPLACE (99::TINYINT AS rating) FROM t", ("inconsistent-rows",)),
    (
        "grades",
        "SELECT * REPLACE (rating::INTEGER AS rating) FROM t",
        ("schema-differs", "rating", "INTEGER", "TINYINT"),
    ),
    ("runs", "SELECT * REPLACE (name::BLOB AS tag) FROM t", ("schema-differs", "tag", "BLOB", "VARCHAR")),
    ("runs", "FROM t UNION ALL FROM t", ("rows-do-not-fit",)),
    ("migrations", "FROM t WHERE position < 3", ("schema-differs",)),
]


@pytest.mark.parametrize(("table", "sql", "said"), TAMPERED)
def test_rows_that_no_project_can_have_are_refused_by_file_and_nothing_is_made(
    folder: Path, table: str, sql: str, said: tuple[str, ...]
) -> None:
    rewrite(folder, table, sql)
    code, *values = said
    refuse(folder, code, f"{table}.parquet", *values)


def test_the_row_is_named_and_every_fault_is_said(folder: Path) -> None:
    rewrite(folder, "grades", "SELECT * REPLACE (if(row_number() OVER () = 2, 9, rating)::TINYINT AS rating) FROM t")
    rewrite(folder, "rankings", "SELECT * REPLACE ('nan'::DOUBLE AS score) FROM t")
    said = {Path(problem.file).stem: problem.reason for problem in refuse(folder, "inconsistent-rows").problems}
    assert all(mentions(said["grades"], value) for value in ("1", "rating", "2"))
    assert all(mentions(said["rankings"], value) for value in ("6", "score", "1"))


SAID: list[tuple[dict[str, object], str]] = [
    ({"sequences": {"keys": 10**18}}, "invalid-manifest"),
    ({"sequences": {"keys": -1}}, "invalid-manifest"),
    ({"sequences": {"keys": "9"}}, "invalid-manifest"),
    ({"sequences": 7}, "invalid-manifest"),
    ({"migrations": ["0002_draft_steps", "0001_initial"]}, "schema-differs"),
    ({"migrations": [["0001_initial"]]}, "invalid-manifest"),
]


@pytest.mark.parametrize(("fields", "code"), SAID)
def test_a_manifest_that_says_what_cannot_be_is_refused(folder: Path, fields: dict[str, object], code: str) -> None:
    say(folder, **fields)
    refuse(folder, code, MANIFEST)


def table_of(folder: Path, **fields: object) -> None:
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    say(folder, tables=[table | fields if table["name"] == "grades" else table for table in tables])


def twice(folder: Path) -> None:
    tables = json.loads((folder / MANIFEST).read_text())["tables"]
    say(folder, tables=[*tables, *(table for table in tables if table["name"] == "grades")])


def linked(folder: Path) -> None:
    (folder / "grades.parquet").rename(folder.parent / "elsewhere")
    (folder / "grades.parquet").symlink_to(folder.parent / "elsewhere")


def linked_manifest(folder: Path) -> None:
    (folder / MANIFEST).rename(folder.parent / "elsewhere")
    (folder / MANIFEST).symlink_to(folder.parent / "elsewhere")


BENT: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: table_of(folder, rows=10**12), "invalid-manifest"),
    (lambda folder: table_of(folder, rows=True), "invalid-manifest"),
    (lambda folder: table_of(folder, bytes=1.5), "invalid-manifest"),
    (lambda folder: table_of(folder, sha256="no"), "invalid-manifest"),
    (lambda folder: table_of(folder, file="/etc/passwd"), "invalid-manifest"),
    (twice, "invalid-manifest"),
    (linked, "not-a-plain-file"),
    (linked_manifest, "not-a-plain-file"),
    (lambda folder: (folder / MANIFEST).write_text("[" * 200_000), "invalid-json"),
    (lambda folder: (folder / MANIFEST).write_bytes(b" " * 10_000_001), "limit-exceeded"),
]


@pytest.mark.parametrize(("bend", "code"), BENT)
def test_a_folder_that_leads_elsewhere_or_has_no_bounds_is_refused(
    folder: Path, bend: Callable[[Path], object], code: str
) -> None:
    bend(folder)
    refuse(folder, code)


def test_a_text_of_any_length_that_a_small_file_claims_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_workbench.exchange._parquet.LARGEST_VALUE", 1_000_000)
    rewrite(folder, "passage_texts", "SELECT * REPLACE (repeat('x', 1_000_001) AS text) FROM t")
    assert (folder / "passage_texts.parquet").stat().st_size < 10_000
    refuse(folder, "limit-exceeded", "passage_texts.parquet")


def test_a_zip_that_announces_far_more_than_it_is_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.exchange._parquet.EXPANDED_ANYWAY", 1_000)
    table_of(folder, bytes=10**12)
    packed = folder.parent / "out.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(folder / MANIFEST, MANIFEST)
    with refusal("limit-exceeded", "100", kind=FileError):
        import_project(packed, folder.parent / "again.duckdb")
    assert not (folder.parent / "again.duckdb").exists()


@pytest.mark.parametrize("damage", [b"\0" * 40, b"x" * 40])
def test_a_damaged_zip_is_a_sentence(folder: Path, damage: bytes) -> None:
    packed = folder.parent / "out.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / MANIFEST, MANIFEST)
    content = bytearray(packed.read_bytes())
    content[60 : 60 + len(damage)] = damage
    packed.write_bytes(content)
    with refusal("unreadable-zip"):
        import_project(packed, folder.parent / "again.duckdb")


def test_a_folder_with_any_name_is_imported(folder: Path) -> None:
    odd = folder.parent / "a=1" / "it's [a] *?"
    odd.parent.mkdir()
    folder.rename(odd)
    import_project(odd, folder.parent / "again.duckdb").close()
    assert (folder.parent / "again.duckdb").exists()


def test_every_table_and_column_of_the_rules_is_there(project: Project) -> None:
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
        # What was replaced may be gone since, under whatever key it had.
        "object_key",
        # Of answer_judges, and of cases that people confirmed.
        "judge_key",
        # Of graders, examinees and models, by the kind of the job: a rule of its own checks it.
        "subject_key",
        "case_key",
    }
    referring = {(table, column) for table, column, *_ in rules.REFERENCES}
    assert not {(table, column) for table, column in keys - referring if column not in own}
