"""Gold texts: one text per query that people regard as a good answer, imported or taken from a run."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Report, unknown_name
from ..store import Cursor, Project, as_act, log, stage
from ..types import Response
from ._pool import refresh_pool
from ._replaced_data import Keeper
from ._responses import place_parts, split_response

IMPORTED = "gold"
"""Name of imported gold texts, also in the ids of their passages: gold/QUERY/1."""

GOLD = (
    "(SELECT query_key, passage_key, position FROM gold_passages"
    " UNION ALL SELECT query_key, passage_key, rank AS position FROM rankings JOIN gold_runs USING (run_key)"
    "  SEMI JOIN pool USING (query_key, passage_key))"
)
"""Subquery for the passages of the gold texts: query_key, passage_key, position. For a run, only pooled passages."""


def write_gold(
    cursor: Cursor, found: Sequence[Response], report: Report, keeper: Keeper | None = None
) -> dict[str, int]:
    """Store texts as the gold texts, split into passages; they replace the earlier gold texts.

    Args:
        found: one text per query.
        report: collects an error for each query with several texts. With an error nothing is written.
        keeper: keeps the replaced texts; None discards them.

    Returns:
        Numbers of gold texts and of their passages.
    """
    seen: dict[str, Response] = {}
    for response in found:
        first = seen.setdefault(response.query_id, response)
        if first is not response:
            reason = (
                f"query {response.query_id} already has a gold text (run {first.run}); only one per query is allowed"
            )
            report.refuse(response.file, response.line, "duplicate-gold-text", reason)
    if report.count:
        return {}
    placed = place_parts(cursor, [(IMPORTED, r.query_id, split_response(r.text, r.sentences)) for r in found], keeper)
    rows = [
        (response.query_id, passage_id, position)
        for response, ids in zip(found, placed, strict=True)
        for position, passage_id in enumerate(ids, 1)
    ]
    stage(
        cursor,
        "new_gold",
        {name: [row[i] for row in rows] for i, name in enumerate(("query_id", "passage_id", "position"))},
        {"query_id": "VARCHAR", "passage_id": "VARCHAR", "position": "INTEGER"},
    )
    _clear(cursor, keeper)
    cursor.execute(
        "INSERT INTO gold_passages SELECT query_key, passage_key, position"
        " FROM new_gold JOIN queries USING (query_id) JOIN passages USING (passage_id) ORDER BY query_key, position"
    )
    return {"gold texts": len(found), "passages of gold texts": len(rows)}


def mark_gold(project: Project, run: str | None, author: str) -> None:
    """Use a run as the gold texts, instead of the earlier gold texts; None ends the use of a run.

    The run stays on the leaderboards. If the cutoff covers all of its passages, its n-EXAM is 1.
    It can differ if the pool depth was lowered after deeper passages had been graded.

    Raises:
        InputError: unknown run.
    """
    with project.transaction() as cursor:
        keys = cursor.execute("SELECT run_key FROM runs WHERE name = ?", [run]).fetchall()
        if run is not None and not keys:
            names = [name for (name,) in cursor.execute("SELECT name FROM runs ORDER BY run_key").fetchall()]
            raise unknown_name("unknown-run", "run", run, names, "" if names else "Import runs first.")
        keeper = Keeper(cursor)
        _clear(cursor, keeper)
        if keys:
            cursor.execute("INSERT INTO gold_runs VALUES (?)", [keys[0][0]])
        refresh_pool(cursor)
        keeper.record(keeper.settle(), log(cursor, author, "mark gold", run=run))


def _clear(cursor: Cursor, keeper: Keeper | None) -> None:
    if keeper is not None:
        runs = cursor.execute("SELECT name FROM runs JOIN gold_runs USING (run_key)").fetchall()
        keeper.keep("gold", f"run {runs[0][0]}" if runs else "imported texts")
    for table in ("gold_passages", "gold_runs"):
        cursor.execute(f"DELETE FROM {table}")


@as_act("see boards")
def gold_name(project: Project) -> str | None:
    """Return the name of the gold texts: a run, `gold` for imported texts, or None without gold texts."""
    run = project.value("SELECT name FROM runs JOIN gold_runs USING (run_key)")
    if run is not None:
        return str(run)
    return IMPORTED if project.value("SELECT count(*) FROM gold_passages") else None


def gold_texts(project: Project) -> dict[str, str]:
    """Return the gold text of each query that has one, by query id: its passages, separated by empty lines."""
    return dict(
        project.rows(
            "SELECT query_id, string_agg(passage_texts.text, chr(10) || chr(10) ORDER BY position)"
            f" FROM {GOLD} JOIN passages USING (passage_key) JOIN passage_texts USING (text_key)"
            " JOIN queries USING (query_key) GROUP BY query_key, query_id ORDER BY query_key"
        )
    )
