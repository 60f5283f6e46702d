"""Whether a project is sound: every block of its file, every rule of its tables, every publication made once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from core.errors import WorkbenchError
from core.exchange.parquet.checks import Fault, broken_rules, repeated, strays, unreadable, with_rows
from core.exchange.publication import publications, remade
from core.graders import read_prompt
from core.project import (
    Cursor,
    Project,
    expected_objects,
    first_line,
    migrations,
    pool_rows,
    quoted_name,
    read_objects,
)

LONGEST_EXAMPLE = 200
"""Characters of a row that is shown as an example."""

RESTORE = "Restore a backup (exam restore), or make the project again of an export (exam import project)."
MEND = (
    "Something other than this program has changed the file: restore a backup (exam restore), or undo what was changed."
)


@dataclass(frozen=True)
class Finding:
    """Something that is not as it has to be.

    Args:
        check: name of the check that found it.
        table: where; empty where it is no table's.
        reason: what is wrong, as a sentence without a full stop.
        rows: how many there are.
        example: the first of them.
        todo: what to do about it.
    """

    check: str
    table: str
    reason: str
    rows: int
    example: str
    todo: str

    def __str__(self) -> str:
        where = f"{self.table}: " if self.table else ""
        example = f" (first: {self.example})" if self.example else ""
        return f"{where}{self.reason}, {self.rows:,}×{example}. {self.todo}"


@dataclass(frozen=True)
class Check:
    """One thing that is looked at.

    Args:
        name: of the check, in a word.
        says: what holds in a sound project.
        find: what breaks it; it only reads.
        todo: what to do where something does.
    """

    name: str
    says: str
    find: Callable[[Project, Cursor], Iterator[Fault]]
    todo: str


def _tables(cursor: Cursor) -> list[str]:
    rows = cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY table_name"
    ).fetchall()
    return [name for (name,) in rows]


def _blocks(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for table in _tables(cursor):
        try:
            # Whatever is summed up of all columns has to be read, and the engine compares the sum of each block.
            cursor.execute(f"SELECT bit_xor(hash(t)) FROM {quoted_name(table)} t").fetchall()
        except duckdb.Error as error:
            yield Fault(table, f"it cannot be read ({first_line(error)[:LONGEST_EXAMPLE]})", 1, None)


def _schema(project: Project, cursor: Cursor) -> Iterator[Fault]:
    known = migrations.names()
    if tuple(migrations.applied(cursor)) != known:
        yield Fault("migrations", f"its steps are not those of this version, which end with {known[-1]}", 1, None)
        return
    expected, found = expected_objects(known), read_objects(cursor)
    for differing, state in ((expected - found, "missing or changed"), (found - expected, "foreign or changed")):
        for kind, _, name, *_ in sorted(differing)[:1]:
            yield Fault(name, f"the {kind} is {state}", len(differing), None)


_ORPHANS = (
    ("questions", "SELECT rowid FROM questions ANTI JOIN question_revisions USING (question_key)", "has no revision"),
    ("bank_versions", "SELECT rowid FROM bank_versions ANTI JOIN question_revisions USING (version)",
     "has no revision of its own"),
    ("published_pools", "SELECT rowid FROM published_pools ANTI JOIN publications USING (pool_key)",
     "belongs to no publication"),
    ("publications", "SELECT rowid FROM publications p WHERE pool_key NOT IN (SELECT pool_key FROM published_passages)",
     "has no pool"),
    ("replacements", "SELECT rowid FROM replacements ANTI JOIN activity USING (activity_key)",
     "was made by no act of the log"),
    ("audit_batches", "SELECT rowid FROM audit_batches ANTI JOIN audit_chances USING (batch_key)", "has no passage"),
)  # fmt: skip
"""Rows that are nothing without others: the table, the numbers of such rows, and what is to be said of one."""


def _orphans(project: Project, cursor: Cursor) -> Iterator[Fault]:
    kept = [table for table in _tables(cursor) if table.startswith("replaced_")]
    beside = (
        (
            table,
            f"SELECT rowid FROM {table} ANTI JOIN replacements USING (replacement_key)",
            "belongs to no replacement",
        )
        for table in kept
    )
    for table, sql, reason in (*_ORPHANS, *beside):
        count, first = cursor.execute(f"SELECT count(*), min(rowid) FROM ({sql})").fetchall()[0]
        if count:
            yield Fault(table, f"a row {reason}", count, first + 1)


def _hashes(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for row, name, digest, content in cursor.execute("SELECT rowid, name, hash, content FROM prompts").fetchall():
        if read_prompt(content, f"prompt {name}").hash != digest:
            yield Fault("prompts", "the hash is that of another prompt", 1, row + 1)
    for row, key, digest in cursor.execute("SELECT rowid, pool_key, sha256 FROM published_pools").fetchall():
        (found,) = cursor.execute(
            "SELECT sha256(coalesce(string_agg(query_id || ' ' || passage_id"
            " || CASE WHEN p.text_key IS NULL THEN ' without text' ELSE '' END || chr(10), ''"
            " ORDER BY query_key, position), '')) FROM published_passages p JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE pool_key = ?",
            [key],
        ).fetchall()[0]
        if found != digest:
            yield Fault("published_pools", "its passages are not those of its hash", 1, row + 1)
    for row, manifest, key in cursor.execute("SELECT rowid, manifest, publication_key FROM publications").fetchall():
        if json.loads(manifest).get("publication") != key:
            yield Fault("publications", "the manifest is that of another publication", 1, row + 1)


_REVISIONS = (
    ("bank_versions", "the numbers of versions have a gap",
     "SELECT rowid FROM bank_versions QUALIFY version <> row_number() OVER (ORDER BY version)"),
    ("question_revisions", "a revision does not follow the one before it",
     "SELECT rowid FROM question_revisions QUALIFY parent_revision IS DISTINCT FROM"
     " lag(revision_key) OVER (PARTITION BY question_key ORDER BY version)"),
    ("question_revisions", "a later revision has a lower number",
     "SELECT rowid FROM question_revisions QUALIFY revision_key <="
     " lag(revision_key) OVER (PARTITION BY question_key ORDER BY version)"),
)  # fmt: skip


def _revisions(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for table, reason, sql in _REVISIONS:
        count, first = cursor.execute(f"SELECT count(*), min(rowid) FROM ({sql})").fetchall()[0]
        if count:
            yield Fault(table, reason, count, first + 1)


def _keys(project: Project, cursor: Cursor) -> Iterator[Fault]:
    if project.not_closed:
        # What the log of such a file held was read a moment ago; until it is opened once more the engine goes on from
        # the right number, but says an earlier one.
        return
    (last,) = cursor.execute(
        "SELECT coalesce(max(last_value), 0) FROM duckdb_sequences() WHERE NOT temporary"
    ).fetchall()[0]
    filled = with_rows(cursor)
    for table, column in cursor.execute(
        "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)"
        " WHERE NOT duckdb_columns.internal AND NOT temporary AND column_name LIKE '%\\_key' ESCAPE '\\'"
        " AND data_type = 'INTEGER' ORDER BY ALL"
    ).fetchall():
        if table not in filled:
            continue
        count, first = cursor.execute(
            f"SELECT count(*), min(rowid) FROM {quoted_name(table)} WHERE {quoted_name(column)} > ?", [last]
        ).fetchall()[0]
        if count:
            yield Fault(table, f"a {column} is above {last}, the last key that was given out", count, first + 1)


def _pool(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for count, reason in cursor.execute(
        f"WITH due AS ({pool_rows(cursor)})"
        " SELECT count(*), 'a pooled passage is missing' FROM due ANTI JOIN pool USING (query_key, passage_key)"
        " UNION ALL SELECT count(*), 'a passage is pooled that is neither listed, judged, gold nor ranked high enough'"
        " FROM pool ANTI JOIN due USING (query_key, passage_key)"
    ).fetchall():
        if count:
            yield Fault("pool", reason, count, None)


def _publications(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for manifest in publications(project):
        try:
            remade(project, manifest)
        except WorkbenchError as error:
            yield Fault("publications", error.message.removesuffix("."), 1, None)


CHECKS: tuple[Check, ...] = (
    Check("file", "every block of the file can be read", _blocks, RESTORE),
    Check("schema", "the tables, views and constraints are those of this version", _schema, MEND),
    Check("values", "every value is one that its column can have (ratings on the grader's scale, ranks from 1, …)",
          lambda _, cursor: broken_rules(cursor), MEND),
    Check("uniqueness", "what can be there once is there once", lambda _, cursor: repeated(cursor), MEND),
    Check("references", "every key points to a row that is there", lambda _, cursor: strays(cursor), MEND),
    Check("orphans", "nothing is left of what was taken away", _orphans, MEND),
    Check("contents", "what is kept as JSON or YAML can be read; graders have the fingerprints of what they are",
          lambda _, cursor: unreadable(cursor), MEND),
    Check("hashes", "prompts, published pools and manifests are those of their hashes", _hashes, MEND),
    Check("revisions", "bank versions and the revisions of every question follow one another without a gap",
          _revisions, MEND),
    Check("keys", "no key is in use that is still to be given out", _keys, MEND),
    Check("pool", "the pool is what lists, judgments, gold texts and runs make it", _pool,
          "Pool again: exam pool --depth N, with the depth that exam pool says."),
    Check("publications", "what was published comes out again to the byte", _publications,
          "Restore a backup from the time of the publication beside this project, and compare: exam restore."),
)  # fmt: skip
"""What `exam check` looks at, in this order: what comes first may be why what follows is wrong."""


def check(project: Project) -> dict[str, list[Finding]]:
    """Look at everything in a project; nothing is changed, and nothing recorded.

    Returns:
        What is wrong, by the name of each check, in the order of `CHECKS`; empty lists in a sound project.
    """
    return {one.name: _found(project, one) for one in CHECKS}


def _found(project: Project, one: Check) -> list[Finding]:
    def look(cursor: Cursor) -> list[Finding]:
        return [
            Finding(one.name, fault.table, fault.reason, fault.rows, _example(cursor, fault), one.todo)
            for fault in one.find(project, cursor)
        ]

    try:
        return project.read(look, whole=True)
    except (duckdb.Error, WorkbenchError) as error:
        reason = error.message if isinstance(error, WorkbenchError) else first_line(error)
        return [Finding(one.name, "", f"this could not be looked at ({reason.removesuffix('.')})", 1, "", RESTORE)]


def _example(cursor: Cursor, fault: Fault) -> str:
    """The first row that is at fault, by the names of its columns."""
    if fault.first is None:
        return ""
    cursor.execute(f"SELECT * FROM {quoted_name(fault.table)} WHERE rowid = ?", [fault.first - 1])
    names = [column[0] for column in cursor.description or ()]
    row = cursor.fetchone() or ()
    shown = ", ".join(f"{name} {value}" for name, value in zip(names, row, strict=False) if value is not None)
    return shown if len(shown) <= LONGEST_EXAMPLE else shown[: LONGEST_EXAMPLE - 1] + "…"
