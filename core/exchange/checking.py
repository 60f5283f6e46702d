"""Whether a project is sound: every block of its file, every rule of its tables, every publication made once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from core.errors import WorkbenchError
from core.exchange.publication import publications, remade
from core.exchange.rules import Fault, Rule, broken, faults
from core.project import (
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
        code: the stable name of the rule that is broken, in kebab-case.
        table: the table; empty if the finding is not about one.
        reason: what is wrong, as a sentence without a full stop.
        rows: how many there are.
        example: the first of them.
        todo: what to do about it.
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
        example = f" (first: {self.example})" if self.example else ""
        return f"{where}{self.reason}, {self.rows:,}×{example}. {self.todo}"


@dataclass(frozen=True)
class Check:
    """A check of a project.

    Args:
        name: of the check, in a word.
        says: what holds in a sound project.
        todo: what to do if it does not hold.
        find: yields the faults; it only reads. For None, the rules of the check's name are asked.
    """

    name: str
    says: str
    todo: str
    find: Callable[[Project, Cursor], Iterator[Fault]] | None = None


def _blocks(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for table, reason in unreadable_tables(cursor):
        yield Fault(table, "unreadable-table", f"it cannot be read ({reason[:LONGEST_EXAMPLE]})", 1, None)


def _schema(project: Project, cursor: Cursor) -> Iterator[Fault]:
    known = migrations.names()
    if tuple(migrations.applied(cursor)) != known:
        reason = f"its steps are not those of this version, which end with {known[-1]}"
        yield Fault("migrations", "steps-differ", reason, 1, None)
        return
    expected, found = expected_objects(known), read_objects(cursor)
    for differing, state in ((expected - found, "missing"), (found - expected, "foreign")):
        for kind, _, name, *_ in sorted(differing)[:1]:
            yield Fault(name, f"{state}-object", f"the {kind} is {state} or changed", len(differing), None)


def _keys(project: Project, cursor: Cursor) -> Iterator[Fault]:
    # After the log of a file was read, the engine goes on from the right key. But it states an earlier one until the
    # file is opened again.
    return iter(()) if project.not_closed else faults(cursor, ["keys"])


def _pool(project: Project, cursor: Cursor) -> Iterator[Fault]:
    due = f"({pool_rows(cursor)})"
    for code, reason, rows in (
        ("not-pooled", "a pooled passage is missing", f"SELECT NULL FROM {due} due ANTI JOIN pool"),
        ("wrongly-pooled", "a passage is pooled that is neither listed, judged, gold nor ranked high enough",
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
    Check("file", "every block of the file can be read", RESTORE, _blocks),
    Check("schema", "the tables, views and constraints are those of this version", MEND, _schema),
    Check("values", "every value is one that its column can have (ratings on the grader's scale, ranks from 1, …)",
          MEND),
    Check("uniqueness", "what can be there once is there once", MEND),
    Check("references", "every key points to a row that is there", MEND),
    Check("orphans", "nothing is left of what was taken away", MEND),
    Check("contents", "what is kept as JSON or YAML can be read; graders have the fingerprints of what they are", MEND),
    Check("hashes", "prompts, published pools and manifests are those of their hashes", MEND),
    Check("revisions", "bank versions and the revisions of every question follow one another without a gap", MEND),
    Check("keys", "no key is in use that is still to be given out", MEND, _keys),
    Check("pool", "the pool is what lists, judgments, gold texts and runs make it",
          "Pool again: exam pool --depth N, with the depth that exam pool says.", _pool),
    Check("publications", "what was published comes out again to the byte",
          "Restore a backup from the time of the publication beside this project, and compare: exam restore.",
          _publications),
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
        found = faults(cursor, [one.name]) if one.find is None else one.find(project, cursor)
        return [
            Finding(one.name, fault.code, fault.table, fault.reason, fault.rows, _example(cursor, fault), one.todo)
            for fault in list(found)
        ]

    try:
        return project.read(look, whole=True)
    except (duckdb.Error, WorkbenchError) as error:
        reason = error.message if isinstance(error, WorkbenchError) else first_line(error)
        told = f"this could not be looked at ({reason.removesuffix('.')})"
        return [Finding(one.name, "not-looked-at", "", told, 1, "", RESTORE)]


def _example(cursor: Cursor, fault: Fault) -> str:
    """The first row that is at fault, by the names of its columns."""
    if fault.first is None:
        return ""
    cursor.execute(f"SELECT * FROM {quoted_name(fault.table)} WHERE rowid = ?", [fault.first - 1])
    names = [column[0] for column in cursor.description or ()]
    row = cursor.fetchone() or ()
    shown = ", ".join(f"{name} {value}" for name, value in zip(names, row, strict=False) if value is not None)
    return shown if len(shown) <= LONGEST_EXAMPLE else shown[: LONGEST_EXAMPLE - 1] + "…"
