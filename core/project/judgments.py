"""Judgments of any source, as they are written and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..types import Judgment
from .passages import name_passages_of
from .pool import refresh_pool
from .project import ABOUT_QUESTIONS, Cursor, Project
from .queries import check_new
from .replacing import Keeper
from .staging import lent, numbered, table_of
from .visible import visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def stage_judgments(cursor: Cursor, judgments: Sequence[Judgment]) -> None:
    """Collect judgments in the temporary table `staged_judgments`, to be written by `write_judgments`.

    Raises:
        InputError: the id of a new passage could not stand in qrels.
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
    """Write the staged judgments under a source; judgments that the source had give way.

    Args:
        keeper: keeps what is replaced; for None it is lost.

    Returns:
        The number of judgments written.

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
    """Write judgments under a source, given the keys of what they are about, as `write_judgments` does.

    Args: columns of one length; of judgments of the same passage for the same query the first one counts.
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
    """Write one judgment of a source, or take it away; a source without judgments goes with its last one.

    Args:
        value: replaces what the source said of the passage; None takes it away.

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
        refresh_pool(cursor)
        return bool(gone)
    cursor.execute("INSERT INTO judgments VALUES (?, ?, ?, ?)", [key, *pair, value])
    # A judged passage keeps its place in the pool: only one from outside changes it.
    if not cursor.execute("SELECT count(*) FROM pool WHERE query_key = ? AND passage_key = ?", pair).fetchall()[0][0]:
        refresh_pool(cursor)
    return bool(gone)


Qrels = dict[str, dict[str, int]]


def sources(project: Project) -> list[str]:
    """Names of the sources of judgments in the order of their first import, those that an audit began last.

    What is judged in an audit is a sample: whatever is not told by which judgments to go should go by whole ones.
    """
    return [name for name, _ in _sources(project)]


def audited_sources(project: Project) -> list[str]:
    """Names of the sources that an audit began, in the order of their first judgment."""
    return [name for name, audited in _sources(project) if audited]


def _sources(project: Project) -> list[tuple[str, bool]]:
    """Name of every source, and whether an audit began it: one may also add to what was imported before it."""
    rows = project.rows(
        "SELECT name, EXISTS (FROM audits a WHERE a.source = s.name AND a.audit_key < source_key) AS audited"
        " FROM sources s ORDER BY audited, source_key"
    )
    return [(str(name), bool(audited)) for name, audited in rows]


def judgments(project: Project, source: str) -> Qrels:
    """The judgments of one source, by query and passage id."""

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

    return project.remember(("judgments", source), compute, ABOUT_QUESTIONS)


def judged_values(project: Project, source: str) -> list[int]:
    """The values that a source of judgments uses, lowest first."""
    return [
        int(value)
        for (value,) in project.rows(
            f"SELECT DISTINCT value FROM {visible(project, 'judgments')} JOIN sources USING (source_key)"
            " WHERE name = ? ORDER BY 1",
            [source],
        )
    ]
