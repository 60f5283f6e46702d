"""The facts behind a publication: recorded when it is made, and read later as the project of that time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from ..project import Cursor, Project


class Past(Project):
    """A read-only project whose tables show their content at the time of a publication.

    Args:
        project: the project as it is now.
        cursor: a cursor of the project with the views of the past. It runs all queries, from one thread.
    """

    def __init__(self, project: Project, cursor: Cursor) -> None:
        super().__init__(project._database)
        self._held = cursor

    @property
    def opened(self) -> object:
        """Itself, so that caches of the present are not used for the past."""
        return self

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        yield self._held


@contextmanager
def past(project: Project, publication: int) -> Iterator[Past]:
    """Provide the project as it was at a publication, for a block in one thread, with views made once for it."""
    catalog = project.value("SELECT current_database()").replace('"', '""')
    with project.cursor() as cursor:
        for name, sql in _views(f'"{catalog}".main', publication).items():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        yield Past(project, cursor)


def _views(main: str, publication: int) -> dict[str, str]:
    """Return the SQL of each table's content at a publication, by table name.

    Args:
        main: the schema with the tables as they are now.
    """
    this = f"publication_key = {publication:d}"
    publications = f"FROM {main}.publications WHERE {this}"
    awaited = f"FROM {main}.published_awaited WHERE {this}"
    kept = (
        "SELECT o.* REPLACE (coalesce(a.text_key, o.question_text_key) AS question_text_key,"
        " NULL::VARCHAR AS withdrawn_by, NULL::TIMESTAMP AS withdrawn_at)"
        f" FROM {main}.overrides o LEFT JOIN (SELECT text_key, unnest(override_keys) AS override_key {awaited}) a"
        f" USING (override_key) WHERE override_key IN (SELECT unnest(override_keys) {publications})"
    )
    return {
        "pool": "SELECT query_key, passage_key, text_key, position"
        f" FROM {main}.published_passages WHERE pool_key = (SELECT pool_key {publications})",
        # A query without a title is graded under its id; these grades moved to the title when it was added.
        "queries": "SELECT q.* REPLACE (CASE WHEN p.text = q.query_id AND p.text NOT IN"
        f" (SELECT text FROM {main}.question_texts WHERE text IS NOT NULL) THEN q.text ELSE p.text END AS text,"
        " p.narrative AS narrative, p.answer AS answer)"
        f" FROM {main}.queries q JOIN (FROM {main}.published_queries WHERE {this}) p USING (query_key)",
        "question_texts": "SELECT * REPLACE (CASE WHEN text_key NOT IN"
        f" (SELECT text_key {awaited}) THEN text END AS text)"
        f" FROM {main}.question_texts WHERE text_key < {publication:d}",
        "question_revisions": "SELECT r.* REPLACE (coalesce(a.text_key, r.text_key) AS text_key)"
        f" FROM {main}.question_revisions r LEFT JOIN (SELECT text_key, unnest(revision_keys) AS revision_key"
        f"  {awaited}) a USING (revision_key) WHERE revision_key < {publication:d}",
        # Rows added later have greater keys. A run that was imported again keeps its old key, with its new ranking.
        "runs": f"SELECT * FROM {main}.runs WHERE run_key < {publication:d}",
        "rankings": f"SELECT * FROM {main}.rankings WHERE run_key < {publication:d}",
        "grades": "SELECT g.* REPLACE (coalesce(a.text_key, g.question_text_key) AS question_text_key)"
        f" FROM {main}.grades g LEFT JOIN (SELECT text_key, unnest(grade_rows) AS grade_row {awaited}) a"
        f"  ON a.grade_row = g.rowid WHERE g.rowid < (SELECT grades {publications})",
        **{
            table: f"SELECT * FROM {main}.{table} WHERE {key} < {publication:d}"
            for table, key in (
                ("audits", "audit_key"),
                ("audit_batches", "batch_key"),
                ("audit_chances", "batch_key"),
                ("audit_verdicts", "verdict_key"),
                ("audit_looks", "look_key"),
                ("audit_ends", "end_key"),
            )
        },
        "failures": f"SELECT * FROM {main}.failures WHERE rowid < (SELECT failures {publications})",
        "overrides": kept,
        "current_overrides": "SELECT question_text_key, passage_text_key, arg_max(rating, override_key) AS rating"
        f" FROM ({kept}) GROUP BY ALL",
    }


@dataclass(frozen=True)
class Recorded:
    """A publication as it is stored.

    Args:
        key: from the project's sequence of keys, so that every smaller key is older.
        pool_key: as `record_pool` returns it.
        grader_key: of the grader behind the labels.
        published_at: in UTC.
        manifest: JSON, as delivered.
    """

    key: int
    pool_key: int
    grader_key: int
    published_at: datetime
    author: str
    manifest: str


def record(cursor: Cursor, publication: Recorded) -> None:
    """Store a publication, with a copy of the data that later work may change in place."""
    cursor.execute(
        "INSERT INTO publications SELECT ?, ?, ?, ?, ?, (SELECT coalesce(max(rowid) + 1, 0) FROM grades),"
        " (SELECT coalesce(max(rowid) + 1, 0) FROM failures),"
        " (SELECT coalesce(list(override_key ORDER BY override_key), []) FROM overrides WHERE withdrawn_at IS NULL"
        "  AND override_key NOT IN (SELECT override_key FROM held_overrides))",
        [publication.key, publication.published_at, publication.author, publication.manifest, publication.pool_key],
    )
    cursor.execute(
        "INSERT INTO published_queries SELECT ?, query_key, text, narrative, answer FROM queries ORDER BY query_key",
        [publication.key],
    )
    cursor.execute(
        "INSERT INTO published_awaited SELECT $key, text_key, coalesce(revisions, []), coalesce(graded, []), given"
        " FROM (FROM question_texts WHERE text IS NULL)"
        " LEFT JOIN (SELECT text_key, list(revision_key ORDER BY revision_key) AS revisions"
        "  FROM question_revisions GROUP BY text_key) USING (text_key)"
        " LEFT JOIN (SELECT question_text_key AS text_key, list(rowid ORDER BY rowid) AS graded FROM grades"
        "  WHERE grader_key = $grader AND question_text_key IN (SELECT text_key FROM question_texts WHERE text IS NULL)"
        "  GROUP BY question_text_key) USING (text_key)"
        " LEFT JOIN (SELECT question_text_key AS text_key, list(override_key ORDER BY override_key) AS given"
        "  FROM overrides GROUP BY question_text_key) USING (text_key) ORDER BY text_key",
        {"key": publication.key, "grader": publication.grader_key},
    )


POOL_SHA256 = (
    "sha256(coalesce(string_agg(query_id || ' ' || passage_id"
    " || CASE WHEN p.text_key IS NULL THEN ' without text' ELSE '' END || chr(10), ''"
    " ORDER BY query_key, position), ''))"
)
"""SQL for the hash of a pool `p`: a line per passage with the ids of query and passage, and a mark for missing text."""


def record_pool(cursor: Cursor) -> int:
    """Return the key of the stored copy of the current pool; write it unless an earlier publication stored the same."""
    sha256 = pool_hash(cursor)
    known = cursor.execute("SELECT pool_key FROM published_pools WHERE sha256 = ?", [sha256]).fetchall()
    if known:
        return int(known[0][0])
    key = int(
        cursor.execute("INSERT INTO published_pools VALUES (nextval('keys'), ?) RETURNING pool_key", [sha256])
        .fetchall()[0][0]
    )  # fmt: skip
    cursor.execute(
        "INSERT INTO published_passages SELECT ?, query_key, passage_key, text_key, position FROM pool"
        " ORDER BY query_key, position",
        [key],
    )
    return key


def pool_hash(cursor: Cursor) -> str:
    """Return the hash of the current pool."""
    rows = cursor.execute(
        f"SELECT {POOL_SHA256} FROM pool p JOIN queries USING (query_key) JOIN passages USING (passage_key)"
    ).fetchall()
    return str(rows[0][0])
