"""Writing and reading judgments of any source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..store import COLLECTION, JUDGMENTS, Cursor, Project, lent, numbered, table_of
from ..types import Judgment
from ._passages import name_passages_of
from ._pool import pool_rows, refresh_pool
from ._queries import check_new
from ._replaced_data import Keeper
from ._visible import visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def stage_judgments(cursor: Cursor, judgments: Sequence[Judgment]) -> None:
    """Add judgments to the temporary table `staged_judgments`, from which `write_judgments` stores them.

    Raises:
        InputError: the id of a new passage is not valid in qrels.
    """
    check_new(cursor, "passage", (j.passage_id for j in judgments))
    columns: dict[str, list[Any]] = {
        "query_id": [j.query_id for j in judgments],
        "passage_id": [j.passage_id for j in judgments],
        "value": [j.value for j in judgments],
    }
    types = {"query_id": "VARCHAR", "passage_id": "VARCHAR", "value": "INTEGER"}
    cursor.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_judgments (query_id VARCHAR, passage_id VARCHAR, value INTEGER)"
    )
    with lent(cursor, "new_judgments", table_of(columns, types)):
        cursor.execute("INSERT INTO staged_judgments FROM new_judgments")


def write_judgments(cursor: Cursor, source: str, keeper: Keeper | None = None) -> int:
    """Store the staged judgments under a source; they replace all earlier judgments of the source.

    Args:
        keeper: keeps the replaced judgments; None discards them.

    Returns:
        The number of judgments stored.

    Raises:
        InputError: the name of a new source has control characters.
    """
    name_passages_of(cursor, "staged_judgments")
    written = _write(
        cursor,
        source,
        "SELECT query_key, passage_key, value"
        " FROM staged_judgments JOIN queries USING (query_id) JOIN passages USING (passage_id)",
        keeper,
    )
    cursor.execute("DROP TABLE staged_judgments")
    return written


def write_judged_keys(
    cursor: Cursor,
    source: str,
    queries: NDArray[np.int32],
    passages: NDArray[np.int32],
    values: NDArray[np.int32],
    keeper: Keeper,
) -> int:
    """Store judgments under a source as `write_judgments` does, from columns of keys.

    Args: `queries`, `passages` and `values` have equal length. For a repeated pair of query and passage, the first
        judgment counts.
    """
    import numpy as np

    _, first = np.unique(queries.astype(np.int64) << 32 | passages, return_index=True)
    rows = numbered(query_key=queries[first], passage_key=passages[first], value=values[first])
    with lent(cursor, "judged_keys", rows):
        return _write(cursor, source, "FROM judged_keys", keeper)


def _write(cursor: Cursor, source: str, judged: str, keeper: Keeper | None) -> int:
    check_new(cursor, "source", [source])
    cursor.execute(
        "INSERT INTO sources SELECT nextval('keys'), ? WHERE NOT EXISTS (FROM sources WHERE name = ?)",
        [source, source],
    )
    key = cursor.execute("SELECT source_key FROM sources WHERE name = ?", [source]).fetchall()[0][0]
    if keeper is not None:
        keeper.keep("judgments", source, key)
    cursor.execute("DELETE FROM judgments WHERE source_key = ?", [key])
    written = cursor.execute(
        "INSERT INTO judgments SELECT DISTINCT ON (query_key, passage_key) ?, query_key, passage_key, value"
        f" FROM ({judged}) ORDER BY query_key, passage_key",
        [key],
    ).fetchall()[0][0]
    return int(written)


def put_judgment(cursor: Cursor, source: str, query_key: int, passage_key: int, value: int | None) -> bool:
    """Store or remove one judgment of a source; a source is removed with its last judgment.

    Args:
        value: replaces the earlier judgment of the passage; None removes it.

    Returns:
        Whether the source had a judgment of this passage.
    """
    cursor.execute(
        "INSERT INTO sources SELECT nextval('keys'), ? WHERE NOT EXISTS (FROM sources WHERE name = ?)",
        [source, source],
    )
    key = cursor.execute("SELECT source_key FROM sources WHERE name = ?", [source]).fetchall()[0][0]
    pair = [query_key, passage_key]
    gone = cursor.execute(
        "DELETE FROM judgments WHERE query_key = ? AND passage_key = ? AND source_key = ?", [*pair, key]
    ).fetchall()[0][0]
    if value is None:
        cursor.execute(
            "DELETE FROM sources WHERE source_key = ? AND source_key NOT IN (SELECT source_key FROM judgments)", [key]
        )
        # The passage stays in the pool if a list, a run or another judgment has it.
        stays = f"SELECT count(*) FROM ({pool_rows(cursor)}) WHERE query_key = ? AND passage_key = ?"
        if not cursor.execute(stays, pair).fetchall()[0][0]:
            refresh_pool(cursor)
        return bool(gone)
    cursor.execute("INSERT INTO judgments VALUES (?, ?, ?, ?)", [key, *pair, value])
    # A passage that is in the pool already leaves the pool unchanged.
    if not cursor.execute("SELECT count(*) FROM pool WHERE query_key = ? AND passage_key = ?", pair).fetchall()[0][0]:
        refresh_pool(cursor)
    return bool(gone)


Qrels = dict[str, dict[str, int]]


def sources(project: Project) -> list[str]:
    """Return the names of the sources of judgments in the order of their first import, sources of audits last.

    Judgments of an audit are a sample. So complete judgments come first, because callers use the
    first source by default.
    """
    return [name for name, _ in _sources(project)]


def audited_sources(project: Project) -> list[str]:
    """Return the names of the sources that an audit created, in the order of their first judgment."""
    return [name for name, audited in _sources(project) if audited]


def _sources(project: Project) -> list[tuple[str, bool]]:
    """Return the name of every source, and whether an audit created it. Audits can also add to imported sources."""
    rows = project.rows(
        "SELECT name, EXISTS (FROM audits a WHERE a.source = s.name AND a.audit_key < source_key) AS audited"
        " FROM sources s ORDER BY audited, source_key"
    )
    return [(str(name), bool(audited)) for name, audited in rows]


def judgments(project: Project, source: str) -> Qrels:
    """Return the judgments of one source, by query and passage id."""

    def compute() -> Qrels:
        return {
            query: dict(zip(passages, values, strict=True))
            for query, passages, values in project.rows(
                "SELECT query_id, list(passage_id ORDER BY passage_key), list(value ORDER BY passage_key)"
                f" FROM {visible(project, 'judgments')} JOIN sources USING (source_key)"
                " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
                " WHERE name = ? GROUP BY query_id, query_key ORDER BY query_key",
                [source],
            )
        }

    return project.cached(("judgments", source), compute, COLLECTION | JUDGMENTS)


def judged_values(project: Project, source: str) -> list[int]:
    """Return the distinct values of a source of judgments, lowest first."""
    return [
        int(value)
        for (value,) in project.rows(
            f"SELECT DISTINCT value FROM {visible(project, 'judgments')} JOIN sources USING (source_key)"
            " WHERE name = ? ORDER BY 1",
            [source],
        )
    ]
