"""Judgments of any source, imported leaderboards, and the pool: the passages to grade for every
query.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import InputError, unknown_name
from ..store import (
    COLLECTION,
    JUDGMENTS,
    Cursor,
    Project,
    as_act,
    cached,
    lend_table,
    log_action,
    number_table,
    put_setting,
    release_memory,
    stage_columns,
    stage_rows,
)
from ..types import Board, Judgment
from ._collection import check_new, name_passages_of
from ._replaced_data import ReplacedDataKeeper
from ._visible import visible_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


DEFAULT_POOL_DEPTH = 20
"""Passages of each run that are pooled per query (exam-plus-plus, section 5.1)."""


ROWS_A_PART = 200_000
"""Approximate number of rows of lists, judgments and rankings to pool at once, which limits the
memory for sorting. A single query may have more.
"""


def list_keys(cursor: Cursor, queries: NDArray[np.int32], passages: NDArray[np.int32]) -> None:
    """Add pairs of keys, in columns of equal length, to the pool in the given order."""
    import numpy as np

    for start in range(0, len(queries), ROWS_A_PART):
        if start:
            release_memory(cursor)
        of, listed = (keys[start : start + ROWS_A_PART] for keys in (queries, passages))
        with lend_table(
            cursor,
            "new_listed",
            number_table(row=np.arange(len(of)), query_key=of, passage_key=listed),
        ):
            cursor.execute(
                "INSERT INTO listed"
                " SELECT query_key, passage_key, start + row_number() OVER (ORDER BY first) FROM ("
                " SELECT query_key, passage_key, min(n.row) AS first FROM new_listed n"
                " ANTI JOIN (FROM listed WHERE query_key BETWEEN $least AND $greatest)"
                "  USING (query_key, passage_key) GROUP BY ALL),"
                " (SELECT coalesce(max(position), 0)::INTEGER AS start FROM listed)",
                {"least": int(of.min()), "greatest": int(of.max())},
            )


def pool_depth(cursor: Cursor) -> int:
    """Return how many passages of each run are pooled per query."""
    rows = cursor.execute("SELECT value FROM settings WHERE name = 'pool_depth'").fetchall()
    return int(rows[0][0]) if rows else DEFAULT_POOL_DEPTH


def set_pool_depth(cursor: Cursor, depth: int, author: str) -> None:
    """Set how many passages of each run are pooled, and refresh the pool.

    Raises:
        InputError: a depth below 1.
    """
    if depth < 1:
        raise InputError("depth-out-of-range", f"Invalid pool depth {depth}.", "Use 1 or more.")
    put_setting(cursor, "pool_depth", str(depth))
    refresh_pool(cursor)
    log_action(cursor, author, "set pool depth", depth=depth)


def pool_rows(cursor: Cursor) -> str:
    """Return SQL for the pool's content: query_key, passage_key, and place, the first position in a
    list or NULL.
    """
    return (
        "SELECT query_key, passage_key, min(position) AS place FROM ("
        " SELECT query_key, passage_key, position FROM listed"
        " UNION ALL SELECT query_key, passage_key, NULL FROM judgments UNION ALL"
        f" SELECT query_key, passage_key, NULL FROM rankings WHERE rank <= {pool_depth(cursor):d}"
        " UNION ALL SELECT query_key, passage_key, NULL FROM gold_passages) GROUP BY ALL"
    )


def refresh_pool(cursor: Cursor) -> None:
    """Rebuild the pool: per query the listed and the judged passages, the gold texts, and the top
    of every run.

    Call it at the end of every transaction that changed one of these.
    """
    cursor.execute("DELETE FROM pool")
    for number, (first, last) in enumerate(_query_ranges(cursor)):
        if number:
            release_memory(cursor)
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE pooled AS FROM ({pool_rows(cursor)})"
            " WHERE query_key BETWEEN ? AND ?",
            [first, last],
        )
        # In a transaction that adds a million passages DuckDB estimates none and would load all of
        # them for the join. The range of keys avoids that.
        ends = cursor.execute("SELECT min(passage_key), max(passage_key) FROM pooled").fetchall()[0]
        cursor.execute(
            "INSERT INTO pool SELECT query_key, passage_key, text_key,"
            " row_number() OVER (PARTITION BY query_key ORDER BY place, passage_key)"
            " FROM pooled JOIN passages USING (passage_key) WHERE passage_key BETWEEN ? AND ?"
            " ORDER BY query_key, place, passage_key",
            ends,
        )


def _query_ranges(cursor: Cursor) -> list[tuple[int, int]]:
    """Return ranges of query keys with about `ROWS_A_PART` rows each."""
    named = ("listed", "judgments", "rankings", "gold_passages")
    counts = " + ".join(f"(SELECT count(*) FROM {table})" for table in named)
    first, last, rows = cursor.execute(
        f"SELECT coalesce(min(query_key), 0), coalesce(max(query_key), 0), {counts} FROM queries"
    ).fetchall()[0]
    if rows <= ROWS_A_PART:
        return [(first, last)]
    every = " UNION ALL ".join(f"SELECT query_key FROM {table}" for table in named)
    ends = cursor.execute(
        "SELECT max(query_key) FROM (SELECT query_key,"
        f" sum(count(*)) OVER (ORDER BY query_key) // {ROWS_A_PART} AS part FROM ({every})"
        " GROUP BY query_key) GROUP BY part ORDER BY part"
    ).fetchall()
    return [(first, ends[0][0]), *((before + 1, end) for (before,), (end,) in pairwise(ends))]


def pooled_queries(project: Project) -> dict[str, str]:
    """Return the texts of the queries that have passages in the pool, by id."""
    return dict(
        project.rows(
            "SELECT query_id, text FROM queries SEMI JOIN pool USING (query_key) ORDER BY query_key"
        )
    )


def write_judgments(
    cursor: Cursor,
    source: str,
    judgments: Sequence[Judgment],
    keeper: ReplacedDataKeeper | None = None,
) -> int:
    """Store judgments under a source; they replace all earlier judgments of the source.

    Args:
        keeper: keeps the replaced judgments; None discards them.

    Returns:
        The number of judgments stored.

    Raises:
        InputError: the id of a new passage is not valid in qrels, or the name of a new source has
            control characters.
    """
    check_new(cursor, "passage", (j.passage_id for j in judgments))
    types = {"query_id": "VARCHAR", "passage_id": "VARCHAR", "value": "INTEGER"}
    columns = {name: [getattr(judgment, name) for judgment in judgments] for name in types}
    stage_columns(cursor, "new_judgments", columns, types)
    name_passages_of(cursor, "new_judgments")
    return _write_source(
        cursor,
        source,
        "SELECT query_key, passage_key, value"
        " FROM new_judgments JOIN queries USING (query_id) JOIN passages USING (passage_id)",
        keeper,
    )


def write_judged_keys(
    cursor: Cursor,
    source: str,
    queries: NDArray[np.int32],
    passages: NDArray[np.int32],
    values: NDArray[np.int32],
    keeper: ReplacedDataKeeper,
) -> int:
    """Store judgments under a source as `write_judgments` does, from columns of keys.

    Args: `queries`, `passages` and `values` have equal length. For a repeated pair of query and
        passage, the first judgment counts.
    """
    import numpy as np

    _, first = np.unique(queries.astype(np.int64) << 32 | passages, return_index=True)
    rows = number_table(query_key=queries[first], passage_key=passages[first], value=values[first])
    with lend_table(cursor, "judged_keys", rows):
        return _write_source(cursor, source, "FROM judged_keys", keeper)


def _write_source(
    cursor: Cursor, source: str, judged: str, keeper: ReplacedDataKeeper | None
) -> int:
    check_new(cursor, "source", [source])
    cursor.execute(
        "INSERT INTO sources SELECT nextval('keys'), ? WHERE NOT EXISTS (FROM sources"
        " WHERE name = ?)",
        [source, source],
    )
    key = cursor.execute("SELECT source_key FROM sources WHERE name = ?", [source]).fetchall()[0][0]
    if keeper is not None:
        keeper.keep("judgments", source, key)
    cursor.execute("DELETE FROM judgments WHERE source_key = ?", [key])
    written = cursor.execute(
        "INSERT INTO judgments"
        " SELECT DISTINCT ON (query_key, passage_key) ?, query_key, passage_key, value"
        f" FROM ({judged}) ORDER BY query_key, passage_key",
        [key],
    ).fetchall()[0][0]
    return int(written)


def put_judgment(
    cursor: Cursor, source: str, query_key: int, passage_key: int, value: int | None
) -> bool:
    """Store or remove one judgment of a source; a source is removed with its last judgment.

    Args:
        value: replaces the earlier judgment of the passage; None removes it.

    Returns:
        Whether the source had a judgment of this passage.
    """
    cursor.execute(
        "INSERT INTO sources SELECT nextval('keys'), ? WHERE NOT EXISTS (FROM sources"
        " WHERE name = ?)",
        [source, source],
    )
    key = cursor.execute("SELECT source_key FROM sources WHERE name = ?", [source]).fetchall()[0][0]
    pair = [query_key, passage_key]
    gone = cursor.execute(
        "DELETE FROM judgments WHERE query_key = ? AND passage_key = ? AND source_key = ?",
        [*pair, key],
    ).fetchall()[0][0]
    if value is None:
        cursor.execute(
            "DELETE FROM sources WHERE source_key = ? AND source_key NOT IN (SELECT source_key"
            " FROM judgments)",
            [key],
        )
        # The passage stays in the pool if a list, a run or another judgment has it.
        place = f"({pool_rows(cursor)})"
    else:
        cursor.execute("INSERT INTO judgments VALUES (?, ?, ?, ?)", [key, *pair, value])
        # A passage that is in the pool already leaves the pool unchanged.
        place = "pool"
    if not cursor.execute(
        f"SELECT count(*) FROM {place} WHERE query_key = ? AND passage_key = ?", pair
    ).fetchall()[0][0]:
        refresh_pool(cursor)
    return bool(gone)


Qrels = dict[str, dict[str, int]]


def judgment_sources(project: Project) -> list[str]:
    """Return the names of the sources of judgments in the order of their first import, sources of
    audits last.

    Judgments of an audit are a sample. So complete judgments come first, because callers use the
    first source by default.
    """
    return [name for name, _ in _list_sources(project)]


def _list_sources(project: Project) -> list[tuple[str, bool]]:
    """Return the name of every source, and whether an audit created it. Audits can also add to
    imported sources.
    """
    rows = project.rows(
        "SELECT name, EXISTS (FROM audits a WHERE a.source = s.name"
        " AND a.audit_key < source_key) AS audited FROM sources s ORDER BY audited, source_key"
    )
    return [(str(name), bool(audited)) for name, audited in rows]


@cached(COLLECTION | JUDGMENTS)
def source_judgments(project: Project, source: str) -> Qrels:
    """Return the judgments of one source, by query and passage id."""
    return {
        query: dict(zip(passages, values, strict=True))
        for query, passages, values in project.rows(
            "SELECT query_id, list(passage_id ORDER BY passage_key), list(value"
            " ORDER BY passage_key)"
            f" FROM {visible_rows(project, 'judgments')} JOIN sources USING (source_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE name = ? GROUP BY query_id, query_key ORDER BY query_key",
            [source],
        )
    }


def judged_values(project: Project, source: str) -> list[int]:
    """Return the distinct values of a source of judgments, lowest first."""
    return [
        int(value)
        for (value,) in project.rows(
            f"SELECT DISTINCT value FROM {visible_rows(project, 'judgments')}"
            " JOIN sources USING (source_key) WHERE name = ? ORDER BY 1",
            [source],
        )
    ]


def write_board(cursor: Cursor, board: Board, keeper: ReplacedDataKeeper | None = None) -> None:
    """Write an imported leaderboard; it replaces one of the same name.

    Args:
        keeper: keeps the replaced leaderboard; None discards it.

    Raises:
        InputError: the name of a new leaderboard, or of a run on it, has control characters.
    """
    check_new(cursor, "leaderboard", [board.name])
    check_new(cursor, "run", (row.run for row in board.rows))
    board_keys = cursor.execute(
        "SELECT board_key FROM boards WHERE name = ?", [board.name]
    ).fetchall()
    if board_keys:
        if keeper is not None:
            keeper.keep("leaderboard", board.name, board_keys[0][0])
        cursor.execute(
            "UPDATE boards SET measure = ? WHERE board_key = ?", [board.measure, board_keys[0][0]]
        )
    else:
        cursor.execute(
            "INSERT INTO boards VALUES (nextval('keys'), ?, ?)", [board.name, board.measure]
        )
    rows = [(row.run, row.score, row.std_error, row.rank) for row in board.rows]
    cells = [
        (run, query, score)
        for run, scores in board.per_query.items()
        for query, score in scores.items()
    ]
    own = "FROM boards WHERE name = ?"
    for table, values, types in (
        (
            "board_scores",
            rows,
            {"run": "VARCHAR", "score": "DOUBLE", "std_error": "DOUBLE", "rank": "DOUBLE"},
        ),
        (
            "board_query_scores",
            cells,
            {"run": "VARCHAR", "query_id": "VARCHAR", "score": "DOUBLE"},
        ),
    ):
        stage_rows(cursor, "new_board", values, types)
        cursor.execute(
            f"DELETE FROM {table} WHERE board_key IN (SELECT board_key {own})", [board.name]
        )
        cursor.execute(
            f"INSERT INTO {table} SELECT board_key, n.* FROM new_board n, ({own})", [board.name]
        )


@as_act("see boards")
def imported_leaderboards(project: Project) -> list[tuple[str, str]]:
    """Return name and measure of every imported leaderboard, in the order of their import."""
    return [
        (row[0], row[1])
        for row in project.rows("SELECT name, measure FROM boards ORDER BY board_key")
    ]


@as_act("see boards")
def official_sources(project: Project) -> list[str]:
    """Return the names of all official sources: judgments, imported leaderboards, then judgments of
    audits.
    """
    sources = _list_sources(project)
    whole = [name for name, audited in sources if not audited]
    imported = [name for name, _ in imported_leaderboards(project)]
    return [*whole, *imported, *(name for name, audited in sources if audited)]


@as_act("see boards")
def find_source(project: Project, name: str) -> str:
    """Return the name of a source of judgments or of an imported leaderboard; `judgments` means the
    first source.

    Raises:
        InputError: unknown source.
    """
    sources = official_sources(project)
    if name in sources:
        return name
    if name == "judgments" and (judged := judgment_sources(project)):
        return judged[0]
    if not sources:
        raise InputError(
            "no-official-source",
            "The project has no judgments and no imported leaderboard.",
            "Import one: exam import qrels FILE, or exam import leaderboard FILE.",
        )
    raise unknown_name("unknown-source", "source", name, sources)
