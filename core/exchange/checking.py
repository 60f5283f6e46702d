"""Integrity checks of a project: the blocks of its file, the rules of its tables, and its publications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from ..errors import WorkbenchError
from ..project import (
    Cursor,
    Project,
    expected_objects,
    first_line,
    migrations,
    pool_rows,
    quoted_name,
    read_objects,
    unreadable_tables,
)
from .publication import publications, remade
from .rules import Fault, Rule, broken, faults

LONGEST_EXAMPLE = 200
"""Characters of a row shown as an example."""

RESTORE = "Restore a backup (exam restore), or import an export of the project (exam import project)."
MEND = "Another program changed the file. Restore a backup (exam restore), or undo that change."


@dataclass(frozen=True)
class Finding:
    """A fault of a project.

    Args:
        check: name of the check that found it.
        code: the stable name of the broken rule, in kebab-case.
        table: the table; empty if the finding does not concern a single table.
        reason: the fault, as a sentence without a full stop.
        rows: number of faulty rows.
        example: the first faulty row.
        todo: how to correct it.
    """

    check: str
    code: str
    table: str
    reason: str
    rows: int
    example: str
    todo: str

    def __str__(self) -> str:
        where = f"{self.table}: " if self.table else ""
        example = f"; first: {self.example}" if self.example else ""
        return f"{where}{self.reason} ({self.rows:,} found{example}). {self.todo}"


@dataclass(frozen=True)
class Check:
    """A check of a project.

    Args:
        name: a single word.
        says: the condition that a sound project meets.
        todo: how to correct a fault.
        find: yields the faults and only reads. None: the rules of this check are evaluated.
    """

    name: str
    says: str
    todo: str
    find: Callable[[Project, Cursor], Iterator[Fault]] | None = None


def _blocks(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for table, reason in unreadable_tables(cursor):
        yield Fault(table, "unreadable-table", f"the table cannot be read ({reason[:LONGEST_EXAMPLE]})", 1, None)


def _schema(project: Project, cursor: Cursor) -> Iterator[Fault]:
    known = migrations.names()
    if tuple(migrations.applied(cursor)) != known:
        reason = f"the schema steps differ from this version, which ends with {known[-1]}"
        yield Fault("migrations", "steps-differ", reason, 1, None)
        return
    expected, found = expected_objects(known), read_objects(cursor)
    for differing, state in ((expected - found, "missing"), (found - expected, "foreign")):
        for kind, _, name, *_ in sorted(differing)[:1]:
            yield Fault(name, f"{state}-object", f"{state} or changed {kind}", len(differing), None)


def _keys(project: Project, cursor: Cursor) -> Iterator[Fault]:
    # After DuckDB replays the log of a file, it assigns the right keys. But it reports an earlier last key until the
    # file is opened again.
    return iter(()) if project.not_closed else faults(cursor, ["keys"])


def _pool(project: Project, cursor: Cursor) -> Iterator[Fault]:
    due = f"({pool_rows(cursor)})"
    for code, reason, rows in (
        ("not-pooled", "a passage is missing in the pool", f"SELECT NULL FROM {due} due ANTI JOIN pool"),
        ("wrongly-pooled", "a pooled passage is not listed, judged, gold or ranked high enough",
         f"SELECT pool.rowid FROM pool ANTI JOIN {due} due"),
    ):  # fmt: skip
        yield from broken(cursor, Rule("pool", "pool", code, reason, f"{rows} USING (query_key, passage_key)"))


def _publications(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for manifest in publications(project):
        try:
            remade(project, manifest)
        except WorkbenchError as error:
            yield Fault("publications", error.code, error.message.removesuffix("."), 1, None)


CHECKS: tuple[Check, ...] = (
    Check("file", "every block of the file is readable", RESTORE, _blocks),
    Check("schema", "the tables, views and constraints match this version", MEND, _schema),
    Check("values", "every value is valid for its column (ratings on the grader's scale, ranks from 1, …)", MEND),
    Check("uniqueness", "no duplicate rows or keys", MEND),
    Check("references", "every key points to an existing row", MEND),
    Check("orphans", "no rows are left over from deleted data", MEND),
    Check("contents", "stored JSON and YAML is readable, and graders match their fingerprints", MEND),
    Check("hashes", "prompts, published pools and manifests match their hashes", MEND),
    Check("revisions", "bank versions and the revisions of each question have no gaps", MEND),
    Check("keys", "no key in use is above the last assigned key", MEND, _keys),
    Check("pool", "the pool matches the lists, judgments, gold passages and runs",
          "Pool again with exam pool --depth N. exam pool shows the current depth.", _pool),
    Check("publications", "every publication can be reproduced byte for byte",
          "Restore a backup from the time of the publication (exam restore), and compare it with this project.",
          _publications),
)  # fmt: skip
"""The checks of `exam check`, in this order: a fault found by an earlier check may cause those found by later ones."""


def check(project: Project) -> dict[str, list[Finding]]:
    """Run all checks on a project; change and record nothing.

    Returns:
        The findings by the name of each check, in the order of `CHECKS`; empty lists in a sound project.
    """
    return {one.name: _found(project, one) for one in CHECKS}


def _found(project: Project, one: Check) -> list[Finding]:
    def look(cursor: Cursor) -> list[Finding]:
        found = faults(cursor, [one.name]) if one.find is None else one.find(project, cursor)
        return [
            Finding(one.name, fault.code, fault.table, fault.reason, fault.rows, _example(cursor, fault), one.todo)
            for fault in list(found)
        ]

    try:
        return project.read(look)
    except (duckdb.Error, WorkbenchError) as error:
        reason = error.message if isinstance(error, WorkbenchError) else first_line(error)
        told = f"the check failed ({reason.removesuffix('.')})"
        return [
            Finding(one.name, "not-looked-at", "", told, 1, "", f"Try again: exam check. If it fails again: {RESTORE}")
        ]


def _example(cursor: Cursor, fault: Fault) -> str:
    """Return the first faulty row as text, with column names."""
    if fault.first is None:
        return ""
    cursor.execute(f"SELECT * FROM {quoted_name(fault.table)} WHERE rowid = ?", [fault.first - 1])
    names = [column[0] for column in cursor.description or ()]
    row = cursor.fetchone() or ()
    shown = ", ".join(f"{name} {value}" for name, value in zip(names, row, strict=False) if value is not None)
    return shown if len(shown) <= LONGEST_EXAMPLE else shown[: LONGEST_EXAMPLE - 1] + "…"
