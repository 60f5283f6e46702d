"""Rankings with stated ranks, buffered in a file and written in parts, so that memory does not limit their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..store import Cursor, lent, let_go, numbered, quoted_path, table_of
from ..types import Ranked, RankedColumns
from ._replaced_data import Keeper
from ._runs import clear_runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LINES_A_PART = 100_000
"""Lines to rank at once, which limits the memory. A single query may have more."""

_COLUMNS = {"run": "INTEGER", "query": "INTEGER", "passage": "INTEGER", "rank": "INTEGER", "score": "DOUBLE"}


class RankingFile:
    """Lines of rankings, buffered while they are read, with numbers for runs, queries and passages.

    Args:
        folder: folder of the buffer file.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self.runs: dict[str, int] = {}
        """The number of each run in the file."""
        self.queries: dict[str, int] = {}
        """The number of each query in the file."""
        self._file = folder / "rankings.parquet"
        self._waiting: list[dict[str, NDArray[Any]]] = []
        self._lines = 0
        schema = table_of({name: [] for name in _COLUMNS}, _COLUMNS).schema
        self._writer = pq.ParquetWriter(self._file, schema, compression="lz4", use_dictionary=False)

    def take(self, rankings: Mapping[str, Sequence[Ranked]], rows: Mapping[str, int]) -> int:
        """Add rankings; return the number of lines.

        Args:
            rankings: by run.
            rows: the number of each passage, by id.
        """
        import numpy as np

        if isinstance(rankings, RankedColumns):
            return self._take_columns(rankings, rows)
        runs = [self.runs.setdefault(run, len(self.runs)) for run in rankings]
        lines = [ranked for ranking in rankings.values() for ranked in ranking]
        if not lines:
            return 0
        queries, passages, ranks, scores = zip(*lines, strict=True)
        of = {query: self.queries.setdefault(query, len(self.queries)) for query in dict.fromkeys(queries)}
        size = len(lines)
        return self._keep(
            run=np.repeat(np.array(runs, np.int32), [len(ranking) for ranking in rankings.values()]),
            query=np.fromiter(map(of.__getitem__, queries), np.int32, size),
            passage=np.fromiter(map(rows.__getitem__, passages), np.int32, size),
            rank=np.array(ranks, np.int32),
            score=np.array(scores, np.float64),
        )

    def _take_columns(self, given: RankedColumns, rows: Mapping[str, int]) -> int:
        import numpy as np

        runs = np.array([self.runs.setdefault(run, len(self.runs)) for run in given.runs], np.int32)
        passages = np.array([rows[passage] for passage in given.passages], np.int32)
        query = self.queries.setdefault(given.query_id, len(self.queries)) if len(given.run) else 0
        return self._keep(
            run=runs[given.run],
            query=np.full(len(given.run), query, np.int32),
            passage=passages[given.passage],
            rank=given.rank,
            score=given.score,
        )

    def _keep(self, **columns: NDArray[Any]) -> int:
        self._waiting.append(columns)
        self._lines += (size := len(columns["run"]))
        if self._lines >= LINES_A_PART:
            self._write()
        return size

    def close(self) -> None:
        """Write the remaining lines and finish the file."""
        self._write()
        self._writer.close()

    @property
    def relation(self) -> str:
        """SQL for the table of lines; valid after `close`."""
        return f"read_parquet({quoted_path(self._file)})"

    def _write(self) -> None:
        import numpy as np

        if self._lines:
            columns = {name: np.concatenate([part[name] for part in self._waiting]) for name in _COLUMNS}
            self._writer.write_table(numbered(**columns))
        self._waiting, self._lines = [], 0


def write_stated_rankings(
    cursor: Cursor,
    kept: RankingFile,
    runs: Sequence[tuple[str, str, str]],
    passages: NDArray[np.int32],
    keeper: Keeper,
) -> int:
    """Store runs with the ranks that their file states, including gaps. Scores do not change the order.

    Ranks that begin below 1 are moved up. A ranking that states a rank twice is renumbered by rank,
    score and passage id. If a passage is in a ranking twice, its better rank counts. A run replaces
    an earlier run of the same name.

    Args:
        kept: the buffered lines, closed.
        runs: name, tag and file of each run to store.
        passages: key of each passage, at the position of its number.
        keeper: keeps replaced runs.

    Returns:
        The number of rankings (run and query) that state a rank twice.

    Raises:
        InputError: the name of a new run has control characters.
    """
    import numpy as np

    run_keys = np.zeros(len(kept.runs), np.int32)
    run_keys[[kept.runs[name] for name, _, _ in runs]] = keys = clear_runs(cursor, runs, keeper)
    cursor.execute("INSERT INTO ranked_runs SELECT unnest(?::INTEGER[])", [keys])
    query_keys, parts = _parts(cursor, kept)
    repeated = 0
    for part in parts:
        let_go(cursor)
        with lent(cursor, "ranked_for", numbered(query=part)):
            lines = cursor.execute(f"SELECT * FROM {kept.relation} SEMI JOIN ranked_for USING (query)").fetchnumpy()
        run, query, passage = run_keys[lines["run"]], query_keys[lines["query"]], passages[lines["passage"]]
        rank, score = np.asarray(lines["rank"]), np.asarray(lines["score"])
        order = np.lexsort((rank, run, query))
        order = order[run[order] > 0]
        ranked = numbered(
            run_key=run[order], query_key=query[order], passage_key=passage[order], rank=rank[order], score=score[order]
        )
        if not _as_they_should(run[order], query[order], passage[order], rank[order]):
            with lent(cursor, "stated", ranked):
                ranked = cursor.execute(_RANK).to_arrow_table()
            with lent(cursor, "new_ranks", ranked):
                twice = "SELECT count(DISTINCT (run_key, query_key)) FROM new_ranks WHERE repeated"
                repeated += int(cursor.execute(twice).fetchall()[0][0])
        with lent(cursor, "new_ranks", ranked):
            # RETURNING makes DuckDB append the rows to those of the previous statement; see `grading.grades`.
            cursor.execute(
                "INSERT INTO rankings SELECT run_key, query_key, passage_key, rank, score FROM new_ranks RETURNING 1"
            )
    return repeated


def _as_they_should(
    run: NDArray[np.int32], query: NDArray[np.int32], passage: NDArray[np.int32], rank: NDArray[np.int32]
) -> bool:
    """Return whether ranks need no correction: they begin at 1, and no ranking repeats a rank or a passage.

    Args: columns of equal length, sorted by query, run and rank.
    """
    import numpy as np

    same = (run[1:] == run[:-1]) & (query[1:] == query[:-1])
    if (rank < 1).any() or (same & (rank[1:] == rank[:-1])).any():
        return False
    ranking = np.concatenate(([0], np.cumsum(~same))) if len(run) else run
    placed = np.sort((ranking.astype(np.int64) << 32) | passage)
    return not (placed[1:] == placed[:-1]).any()


_RANK = (
    "SELECT run_key, query_key, passage_key, CASE WHEN NOT repeated THEN rank + greatest(0, 1 - min(rank) OVER ranking)"
    " ELSE row_number() OVER (PARTITION BY run_key, query_key ORDER BY rank, score DESC, passage_id DESC)"
    " END::INTEGER AS rank, score, repeated FROM ("
    " SELECT *, count(DISTINCT rank) OVER ranking < count(*) OVER ranking AS repeated FROM ("
    "  SELECT run_key, query_key, passage_key, any_value(passage_id) AS passage_id, min(rank) AS rank,"
    "  arg_min(score, rank) AS score FROM stated JOIN passages USING (passage_key)"
    "  GROUP BY run_key, query_key, passage_key)"
    " WINDOW ranking AS (PARTITION BY run_key, query_key))"
    " WINDOW ranking AS (PARTITION BY run_key, query_key) ORDER BY query_key, run_key, rank"
)


def _parts(cursor: Cursor, kept: RankingFile) -> tuple[NDArray[np.int32], Iterator[NDArray[np.int32]]]:
    """Return the keys of queries by their numbers, and parts of these numbers with about `LINES_A_PART` lines each.

    The parts are in the order of the keys.
    """
    import numpy as np

    columns: dict[str, list[Any]] = {"query": list(kept.queries.values()), "query_id": list(kept.queries)}
    with lent(cursor, "ranked_for", table_of(columns, {"query": "INTEGER", "query_id": "VARCHAR"})):
        rows = cursor.execute(
            "SELECT query, query_key, lines FROM ranked_for JOIN queries USING (query_id)"
            f" JOIN (SELECT query, count(*) AS lines FROM {kept.relation} GROUP BY query) USING (query)"
            " ORDER BY query_key"
        ).fetchnumpy()
    keys = np.zeros(len(kept.queries), np.int32)
    keys[rows["query"]] = rows["query_key"]
    before = np.cumsum(rows["lines"]) - rows["lines"]
    borders = np.flatnonzero(np.diff(before // LINES_A_PART)) + 1
    return keys, iter(np.split(np.asarray(rows["query"], np.int32), borders))
