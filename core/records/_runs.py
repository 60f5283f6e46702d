"""Runs, the rankings of systems: written from memory or, with stated ranks, from a file of any
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import check_known
from ..store import (
    COLLECTION,
    Cursor,
    ParquetBuffer,
    Project,
    array_of,
    as_act,
    cached,
    lend_table,
    number_table,
    release_memory,
    stage_rows,
    table_of,
)
from ..types import Ranked, RankedColumns
from ._collection import check_new, name_passages_of
from ._replaced_data import ReplacedDataKeeper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_RANKED = {"run": "VARCHAR", "query_id": "VARCHAR", "passage_id": "VARCHAR", "score": "DOUBLE"}


def write_runs(
    cursor: Cursor,
    rankings: Mapping[str, Sequence[Ranked]],
    runs: Sequence[tuple[str, str, str]],
    keeper: ReplacedDataKeeper | None = None,
) -> None:
    """Store rankings by run; a new run replaces one of the same name.

    Ranks are computed from the scores as in trec_eval: by score as a 32-bit float, then by
    descending passage id.

    Args:
        runs: name, tag and file of each run.
        keeper: keeps replaced runs; None discards them.

    Raises:
        InputError: the id of a new passage is not valid in qrels, or the name of a new run has
            control characters.
    """
    lines = [ranked for ranking in rankings.values() for ranked in ranking]
    # A table cannot hold halves of surrogate pairs, so ids are checked first.
    check_new(cursor, "passage", (ranked.passage_id for ranked in lines))
    columns: dict[str, list[Any]] = {
        "run": [run for run, ranking in rankings.items() for _ in ranking],
        "query_id": [ranked.query_id for ranked in lines],
        "passage_id": [ranked.passage_id for ranked in lines],
        "score": [ranked.score for ranked in lines],
    }
    with lend_table(cursor, "new_rankings", table_of(columns, _RANKED)):
        cursor.execute("CREATE OR REPLACE TEMP TABLE staged_rankings AS FROM new_rankings")
    name_passages_of(cursor, "staged_rankings")
    clear_runs(cursor, runs, keeper)
    # A score beyond the 32-bit range becomes infinite, as in trec_eval.
    single = "coalesce(try_cast(score AS FLOAT), sign(score) * 'infinity'::FLOAT)"
    cursor.execute(
        "INSERT INTO rankings SELECT run_key, query_key, passage_key, row_number() OVER"
        f" (PARTITION BY run_key, query_key ORDER BY {single} DESC, passage_id DESC) AS rank, score"
        " FROM staged_rankings s JOIN runs ON runs.name = s.run JOIN queries USING (query_id)"
        " JOIN passages USING (passage_id) ORDER BY query_key, run_key, rank"
    )


def clear_runs(
    cursor: Cursor, runs: Sequence[tuple[str, str, str]], keeper: ReplacedDataKeeper | None = None
) -> list[int]:
    """Create runs without a ranking; existing ones lose their rankings.

    Args:
        runs: name, tag and file of each.
        keeper: keeps replaced rankings; None discards them.

    Returns:
        Their keys.

    Raises:
        InputError: the name of a new run has control characters.
    """
    check_new(cursor, "run", (name for name, _, _ in runs))
    runs_by_name = {name: (name, tag, file) for name, tag, file in runs}
    stage_rows(
        cursor,
        "given_runs",
        list(runs_by_name.values()),
        {"name": "VARCHAR", "tag": "VARCHAR", "file": "VARCHAR"},
    )
    run_rows = cursor.execute(
        "SELECT name, run_key FROM runs SEMI JOIN given_runs USING (name) ORDER BY run_key"
    ).fetchall()
    if run_rows:
        for name, key in run_rows:
            if keeper is not None:
                keeper.keep("run", name, key)
        of_these = "run_key IN (SELECT run_key FROM runs SEMI JOIN given_runs USING (name))"
        cursor.execute(f"DELETE FROM rankings WHERE {of_these}")
        cursor.execute(f"DELETE FROM ranked_runs WHERE {of_these}")
        cursor.execute(
            "UPDATE runs SET tag = g.tag, file = g.file FROM given_runs g WHERE g.name = runs.name"
        )
    cursor.execute(
        "INSERT INTO runs SELECT nextval('keys'), name, tag, file FROM"
        " (SELECT * FROM given_runs ANTI JOIN runs USING (name) ORDER BY given_runs.rowid)"
    )
    keys = dict(
        cursor.execute(
            "SELECT name, run_key FROM runs SEMI JOIN given_runs USING (name)"
        ).fetchall()
    )
    return [int(keys[name]) for name, _, _ in runs]


@as_act("see boards")
def deepest_rank(project: Project) -> int:
    """Return the greatest rank of any run; 0 without runs."""
    return int(project.value("SELECT coalesce(max(rank), 0) FROM rankings"))


Runs = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Score of every ranked passage, by run, query and passage id."""


@cached(COLLECTION)
def ranking_scores(project: Project) -> Runs:
    """Return the score of every ranked passage, by run, query and passage id. If a file stated
    ranks, the scores are derived from them.
    """
    import numpy as np

    runs = {
        key: (name, stated)
        for key, name, stated in project.rows(
            "SELECT run_key, name, run_key IN (FROM ranked_runs) FROM runs ORDER BY run_key"
        )
    }
    by_run: dict[str, dict[str, dict[str, float]]] = {name: {} for name, _ in runs.values()}
    queries = dict(project.rows("SELECT query_key, query_id FROM queries"))
    # Each id string is created once and shared by all runs.
    named = project.table(
        "SELECT passage_key, passage_id FROM passages"
        " SEMI JOIN rankings USING (passage_key) ORDER BY 1"
    )
    passage_keys, ids = (
        array_of(named["passage_key"]),
        np.array(named["passage_id"].to_pylist(), object),
    )
    ranked = project.table(
        "SELECT run_key, query_key, passage_key, if(run_key IN (FROM ranked_runs), rank, score) AS"
        " value FROM rankings"
    )
    run, query, passage, value = (array_of(column) for column in ranked.columns)
    pair = (run.astype(np.int64) << 32) + query
    # The rows are mostly sorted already, so numpy's stable sort is faster than the database.
    order = pair.argsort(kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1)).tolist()
    place = passage_keys.searchsorted(passage)
    for start, end in pairwise([*starts, len(order)]):
        rows = order[start:end]
        name, stated = runs[int(run[rows[0]])]
        passages, values = ids[place[rows]].tolist(), value[rows].tolist()
        scores = by_rank(passages, values) if stated else dict(zip(passages, values, strict=True))
        by_run[name][queries[int(query[rows[0]])]] = scores
    return by_run


def ranked_keys(project: Project, query_key: int) -> list[int]:
    """Return the keys of all passages that runs rank for a query, ascending without repeats.

    The rankings of a query are spread over the whole table, so it is read once for all queries.
    """

    def compute() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        ranked = project.table("SELECT query_key, passage_key FROM rankings")
        queries, passages = (array_of(column) for column in ranked.columns)
        # The rows of each run are sorted by query already, so a stable sort is quick.
        order = queries.argsort(kind="stable")
        return queries[order], passages[order]

    queries, passages = project.cached("ranked keys", compute, COLLECTION)
    start, end = queries.searchsorted([query_key, query_key + 1])
    return sorted(set(passages[start:end].tolist()))


DEEPEST_GAP = 10_000
"""Deepest rank for which gaps in stated ranks are kept. In a deeper ranking the gaps are closed."""


def by_rank(passages: Sequence[str], ranks: Sequence[float]) -> dict[str, float]:
    """Return scores that reproduce the ranks stated in a file, for programs that see only scores.

    A graded file ranks only the passages that it contains, so some ranks are missing. Placeholders
    fill these ranks and count as unjudged passages. Their ids have a control character, so no
    passage can have such an id.
    """
    scores = {passage: -float(rank) for passage, rank in zip(passages, ranks, strict=True)}
    deepest = int(max(ranks))
    if len(scores) < deepest <= DEEPEST_GAP:
        gaps = set(range(1, deepest)).difference(map(int, ranks))
        scores |= {f"\x1f{rank}": -float(rank) for rank in gaps}
    return scores


def check_runs(project: Project, runs: Sequence[str]) -> list[str]:
    """Check that all names are runs of the project, and return them.

    Raises:
        InputError: a run is unknown.
    """
    known = run_names(project)
    hint = "" if known else "Import runs first: exam import runs FILE..."
    check_known("unknown-run", "run", known, *runs, hint=hint)
    return list(runs)


@as_act("see boards")
def run_names(project: Project) -> list[str]:
    """Return the names of all runs, in the order of their import."""
    return [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]


@as_act("see boards")
def run_sizes(project: Project) -> list[tuple[str, int, int]]:
    """Return (name, number of queries, number of ranked passages) of every run, in the order of
    import.
    """
    return [
        (name, queries, passages)
        for name, queries, passages in project.rows(
            "SELECT name, count(DISTINCT query_key), count(passage_key) FROM runs"
            " LEFT JOIN rankings USING (run_key) GROUP BY name, run_key ORDER BY run_key"
        )
    ]


LINES_A_PART = 100_000
"""Lines to rank at once, which limits the memory. A single query may have more."""

_COLUMNS = {
    "run": "INTEGER",
    "query": "INTEGER",
    "passage": "INTEGER",
    "rank": "INTEGER",
    "score": "DOUBLE",
}


class RankingFile(ParquetBuffer):
    """Lines of rankings, buffered while they are read, with numbers for runs, queries and passages.

    Args:
        folder: folder of the buffer file.
    """

    def __init__(self, folder: Path) -> None:
        schema = table_of({name: [] for name in _COLUMNS}, _COLUMNS).schema
        super().__init__(folder / "rankings.parquet", schema)
        self.runs: dict[str, int] = {}
        """The number of each run in the file."""
        self.queries: dict[str, int] = {}
        """The number of each query in the file."""
        self._waiting: list[dict[str, NDArray[Any]]] = []
        self._lines = 0

    def add(self, rankings: Mapping[str, Sequence[Ranked]], rows: Mapping[str, int]) -> int:
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
        of = {
            query: self.queries.setdefault(query, len(self.queries))
            for query in dict.fromkeys(queries)
        }
        size = len(lines)
        return self._add_columns(
            run=np.repeat(
                np.array(runs, np.int32), [len(ranking) for ranking in rankings.values()]
            ),
            query=np.fromiter(map(of.__getitem__, queries), np.int32, size),
            passage=np.fromiter(map(rows.__getitem__, passages), np.int32, size),
            rank=np.array(ranks, np.int32),
            score=np.array(scores, np.float64),
        )

    def _take_columns(self, columns: RankedColumns, rows: Mapping[str, int]) -> int:
        import numpy as np

        runs = np.array(
            [self.runs.setdefault(run, len(self.runs)) for run in columns.runs], np.int32
        )
        passages = np.array([rows[passage] for passage in columns.passages], np.int32)
        query = (
            self.queries.setdefault(columns.query_id, len(self.queries)) if len(columns.run) else 0
        )
        return self._add_columns(
            run=runs[columns.run],
            query=np.full(len(columns.run), query, np.int32),
            passage=passages[columns.passage],
            rank=columns.rank,
            score=columns.score,
        )

    def _add_columns(self, **columns: NDArray[Any]) -> int:
        self._waiting.append(columns)
        self._lines += (size := len(columns["run"]))
        if self._lines >= LINES_A_PART:
            self._write()
        return size

    def _write(self) -> None:
        import numpy as np

        if self._lines:
            columns = {
                name: np.concatenate([part[name] for part in self._waiting]) for name in _COLUMNS
            }
            self._writer.write_table(number_table(**columns))
        self._waiting, self._lines = [], 0


def write_stated_rankings(
    cursor: Cursor,
    ranking_file: RankingFile,
    runs: Sequence[tuple[str, str, str]],
    passages: NDArray[np.int32],
    keeper: ReplacedDataKeeper,
) -> int:
    """Store runs with the ranks that their file states, including gaps. Scores do not change the
    order.

    Ranks that begin below 1 are moved up. A ranking that states a rank twice is renumbered by rank,
    score and passage id. If a passage is in a ranking twice, its better rank counts. A run replaces
    an earlier run of the same name.

    Args:
        ranking_file: the buffered lines, closed.
        runs: name, tag and file of each run to store.
        passages: key of each passage, at the position of its number.
        keeper: keeps replaced runs.

    Returns:
        The number of rankings (run and query) that state a rank twice.

    Raises:
        InputError: the name of a new run has control characters.
    """
    import numpy as np

    run_keys = np.zeros(len(ranking_file.runs), np.int32)
    run_keys[[ranking_file.runs[name] for name, _, _ in runs]] = keys = clear_runs(
        cursor, runs, keeper
    )
    cursor.execute("INSERT INTO ranked_runs SELECT unnest(?::INTEGER[])", [keys])
    query_keys, parts = _query_parts(cursor, ranking_file)
    repeated = 0
    for part in parts:
        release_memory(cursor)
        with lend_table(cursor, "ranked_for", number_table(query=part)):
            lines = cursor.execute(
                f"SELECT * FROM {ranking_file.relation} SEMI JOIN ranked_for USING (query)"
            ).fetchnumpy()
        run, query, passage = (
            run_keys[lines["run"]],
            query_keys[lines["query"]],
            passages[lines["passage"]],
        )
        rank, score = np.asarray(lines["rank"]), np.asarray(lines["score"])
        order = np.lexsort((rank, run, query))
        order = order[run[order] > 0]
        ranked = number_table(
            run_key=run[order],
            query_key=query[order],
            passage_key=passage[order],
            rank=rank[order],
            score=score[order],
        )
        if not _as_they_should(run[order], query[order], passage[order], rank[order]):
            with lend_table(cursor, "stated", ranked):
                ranked = cursor.execute(_RANK).to_arrow_table()
            with lend_table(cursor, "new_ranks", ranked):
                twice = "SELECT count(DISTINCT (run_key, query_key)) FROM new_ranks WHERE repeated"
                repeated += int(cursor.execute(twice).fetchall()[0][0])
        with lend_table(cursor, "new_ranks", ranked):
            # RETURNING makes DuckDB append the rows to those of the previous statement; see
            # `grading.grades`.
            cursor.execute(
                "INSERT INTO rankings SELECT run_key, query_key, passage_key, rank, score"
                " FROM new_ranks RETURNING 1"
            )
    return repeated


def _as_they_should(
    run: NDArray[np.int32],
    query: NDArray[np.int32],
    passage: NDArray[np.int32],
    rank: NDArray[np.int32],
) -> bool:
    """Return whether ranks need no correction: they begin at 1, and no ranking repeats a rank or a
    passage.

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
    "SELECT run_key, query_key, passage_key, CASE WHEN NOT repeated THEN rank + greatest(0, 1 -"
    " min(rank) OVER ranking) ELSE row_number() OVER (PARTITION BY run_key, query_key"
    " ORDER BY rank, score DESC, passage_id DESC) END::INTEGER AS rank, score, repeated FROM ("
    " SELECT *, count(DISTINCT rank) OVER ranking < count(*) OVER ranking AS repeated FROM ("
    "  SELECT run_key, query_key, passage_key,"
    " any_value(passage_id) AS passage_id, min(rank) AS rank,"
    "  arg_min(score, rank) AS score FROM stated JOIN passages USING (passage_key)"
    "  GROUP BY run_key, query_key, passage_key)"
    " WINDOW ranking AS (PARTITION BY run_key, query_key))"
    " WINDOW ranking AS (PARTITION BY run_key, query_key) ORDER BY query_key, run_key, rank"
)


def _query_parts(
    cursor: Cursor, ranking_file: RankingFile
) -> tuple[NDArray[np.int32], Iterator[NDArray[np.int32]]]:
    """Return the keys of queries by their numbers, and parts of these numbers with about
    `LINES_A_PART` lines each.

    The parts are in the order of the keys.
    """
    import numpy as np

    columns: dict[str, list[Any]] = {
        "query": list(ranking_file.queries.values()),
        "query_id": list(ranking_file.queries),
    }
    with lend_table(
        cursor, "ranked_for", table_of(columns, {"query": "INTEGER", "query_id": "VARCHAR"})
    ):
        rows = cursor.execute(
            "SELECT query, query_key, lines FROM ranked_for JOIN queries USING (query_id)"
            f" JOIN (SELECT query, count(*) AS lines FROM {ranking_file.relation}"
            " GROUP BY query) USING (query) ORDER BY query_key"
        ).fetchnumpy()
    keys = np.zeros(len(ranking_file.queries), np.int32)
    keys[rows["query"]] = rows["query_key"]
    before = np.cumsum(rows["lines"]) - rows["lines"]
    borders = np.flatnonzero(np.diff(before // LINES_A_PART)) + 1
    return keys, iter(np.split(np.asarray(rows["query"], np.int32), borders))
