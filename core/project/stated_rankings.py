"""Rankings of which a file states the ranks: written part by part from where they were kept, whatever their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.project.passages import name_passages
from core.project.project import Cursor
from core.project.replacing import Keeper
from core.project.runs import clear_runs, ranked_table
from core.project.staging import lent, table_of
from core.types import Ranked

if TYPE_CHECKING:
    import pyarrow as pa

LINES_A_PART = 50_000
"""Lines that are ranked together, or as many as the longest query has: they are what memory is needed for."""


class RankingFile:
    """Lines of rankings, kept as they are read.

    Args:
        folder: for the file that keeps them.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self.runs: dict[str, None] = {}
        self.queries: dict[str, int] = {}
        """The queries that are ranked for, and the numbers that stand for them in the file."""
        self.path = folder / "rankings.parquet"
        self._waiting: list[pa.Table] = []
        self._lines = 0
        self._writer = pq.ParquetWriter(self.path, self._numbered(ranked_table({})).schema)

    def take(self, rankings: Mapping[str, Sequence[Ranked]]) -> int:
        """Keep what runs rank, by run; how many lines that are."""
        self.runs |= dict.fromkeys(rankings)
        lines = ranked_table(rankings)
        self._waiting.append(lines)
        self._lines += len(lines)
        if self._lines >= LINES_A_PART:
            self._write()
        return len(lines)

    def close(self) -> None:
        """Write them out; no more are taken."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        import pyarrow as pa

        if self._lines:
            self._writer.write_table(self._numbered(pa.concat_tables(self._waiting)))
        self._waiting, self._lines = [], 0

    def _numbered(self, lines: pa.Table) -> pa.Table:
        """Lines with numbers in place of the ids of queries, so that a part of these is found without reading all."""
        import pyarrow as pa

        ids = lines["query_id"].combine_chunks().dictionary_encode()
        numbers = [self.queries.setdefault(one, len(self.queries)) for one in ids.dictionary.to_pylist()]
        column = pa.array(numbers, pa.int32()).take(ids.indices)
        return lines.set_column(lines.column_names.index("query_id"), "query", column)


def write_stated_rankings(
    cursor: Cursor, kept: RankingFile, runs: Sequence[tuple[str, str, str]], keeper: Keeper
) -> int:
    """Write runs with the ranks that their file states, gaps and all, whatever their scores say.

    Ranks that begin below 1 are moved up. Where a ranking states one rank twice, passages are counted in the order of
    rank, score and passage id. Of a passage that stands in a ranking twice, as in two lines of a file, the better rank
    is kept. A run of the same name gives way to the new one.

    Args:
        kept: what was read; closed.
        runs: name, tag and file of those runs in it that are written.
        keeper: keeps what is replaced.

    Returns:
        The number of rankings (run and query) that state a rank twice.

    Raises:
        InputError: the id of a new passage could not stand in qrels, or the name of a new run has control characters.
    """
    names = [name for name, _, _ in runs]
    _name_passages(cursor, kept.path, names)
    keys = clear_runs(cursor, runs, keeper)
    cursor.execute("INSERT INTO ranked_runs SELECT unnest(?::INTEGER[])", [keys])
    types = {"run": "VARCHAR", "run_key": "INTEGER"}
    # A file's name may have signs that mean something in SQL; that of the folder is not ours.
    lines = "read_parquet('" + str(kept.path).replace("'", "''") + "')"
    repeated = 0
    with lent(cursor, "ranked_by", table_of({"run": names, "run_key": keys}, types)):
        for part in _parts(cursor, lines, kept.queries):
            with lent(cursor, "ranked_for", part):
                ranked = cursor.execute(_RANK.format(lines=lines)).to_arrow_table()
            with lent(cursor, "new_ranks", ranked):
                cursor.execute(
                    "INSERT INTO rankings SELECT run_key, query_key, passage_key, rank, score FROM new_ranks"
                )
                twice = cursor.execute(
                    "SELECT count(DISTINCT (run_key, query_key)) FROM new_ranks WHERE repeated"
                ).fetchall()
            repeated += int(twice[0][0])
    return repeated


_RANK = (
    "SELECT run_key, query_key, passage_key, CASE WHEN NOT repeated THEN rank + greatest(0, 1 - min(rank) OVER ranking)"
    " ELSE row_number() OVER (PARTITION BY run_key, query_key ORDER BY rank, score DESC, passage_id DESC)"
    " END::INTEGER AS rank, score, repeated FROM ("
    " SELECT *, count(DISTINCT rank) OVER ranking < count(*) OVER ranking AS repeated FROM ("
    "  SELECT run_key, query_key, passage_key, any_value(passage_id) AS passage_id, min(rank) AS rank,"
    "  arg_min(score, rank) AS score FROM {lines} JOIN ranked_for USING (query) JOIN ranked_by USING (run)"
    "  JOIN passages USING (passage_id) GROUP BY run_key, query_key, passage_key)"
    " WINDOW ranking AS (PARTITION BY run_key, query_key))"
    " WINDOW ranking AS (PARTITION BY run_key, query_key) ORDER BY query_key, run_key, rank"
)


def _name_passages(cursor: Cursor, file: Path, runs: Sequence[str]) -> None:
    """Give keys to passages that runs rank and nothing else has named, in the order of the lines."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as kept:
        for at in range(kept.num_row_groups):
            lines = kept.read_row_group(at, ["run", "passage_id"])
            own = lines.filter(pc.is_in(lines["run"], pa.array(runs, pa.string())))
            name_passages(cursor, own["passage_id"].unique().to_pylist())


def _parts(cursor: Cursor, lines: str, queries: Mapping[str, int]) -> Iterator[pa.Table]:
    """Queries in the order of their keys, in parts that together have about `LINES_A_PART` lines: query, query_key."""
    types = {"query": "INTEGER", "query_id": "VARCHAR"}
    with lent(cursor, "ranked_for", table_of({"query": list(queries.values()), "query_id": list(queries)}, types)):
        rows = cursor.execute(
            "SELECT query, query_key, lines FROM ranked_for JOIN queries USING (query_id)"
            f" JOIN (SELECT query, count(*) AS lines FROM {lines} GROUP BY query) USING (query) ORDER BY query_key"
        ).fetchall()
    part: list[tuple[int, int]] = []
    held = 0
    for query, key, count in rows:
        if part and held + count > LINES_A_PART:
            yield _part(part)
            part, held = [], 0
        part.append((query, key))
        held += count
    if part:
        yield _part(part)


def _part(queries: Sequence[tuple[int, int]]) -> pa.Table:
    columns = {"query": [query for query, _ in queries], "query_key": [key for _, key in queries]}
    return table_of(columns, dict.fromkeys(columns, "INTEGER"))
