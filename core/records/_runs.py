"""Writing and reading runs, the rankings of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import unknown_name
from ..store import COLLECTION, Cursor, Project, array_of, as_act, lent, stage, table_of
from ..types import Ranked
from ._passages import name_passages_of
from ._queries import check_new
from ._replaced_data import Keeper

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

RANKED = {"run": "VARCHAR", "query_id": "VARCHAR", "passage_id": "VARCHAR", "score": "DOUBLE", "rank": "INTEGER"}
"""Columns of lines of runs, with their SQL types; `rank` is the rank stated in the file."""


def stage_rankings(cursor: Cursor, rankings: dict[str, list[Ranked]]) -> None:
    """Add lines of runs to the temporary table `staged_rankings`, from which `write_runs` stores them.

    Raises:
        InputError: the id of a new passage is not valid in qrels.
    """
    # A table cannot hold halves of surrogate pairs, so ids are checked first.
    check_new(cursor, "passage", (ranked.passage_id for lines in rankings.values() for ranked in lines))
    # The columns are explicit because of a defect in DuckDB 2.0. It affects tables that CREATE TABLE AS created without
    # rows in this transaction. Once such a table holds over a row group, filters drop all rows.
    cursor.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_rankings"
        " (run VARCHAR, query_id VARCHAR, passage_id VARCHAR, score DOUBLE)"
    )
    with lent(cursor, "new_rankings", ranked_table(rankings)):
        cursor.execute("INSERT INTO staged_rankings SELECT run, query_id, passage_id, score FROM new_rankings")


def ranked_table(rankings: Mapping[str, Sequence[Ranked]]) -> pa.Table:
    """Return rankings by run as a table with the columns of `RANKED`."""
    lines = [ranked for ranking in rankings.values() for ranked in ranking]
    columns: dict[str, list[Any]] = {
        "run": [run for run, ranking in rankings.items() for _ in ranking],
        "query_id": [ranked.query_id for ranked in lines],
        "passage_id": [ranked.passage_id for ranked in lines],
        "score": [ranked.score for ranked in lines],
        "rank": [ranked.rank for ranked in lines],
    }
    return table_of(columns, RANKED)


def write_runs(cursor: Cursor, runs: Sequence[tuple[str, str, str]], keeper: Keeper | None = None) -> None:
    """Store the staged rankings; a new run replaces one of the same name.

    Ranks are computed from the scores as in trec_eval: by score as a 32-bit float, then by
    descending passage id.

    Args:
        runs: name, tag and file of each staged run.
        keeper: keeps replaced runs; None discards them.
    """
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
    cursor.execute("DROP TABLE staged_rankings")


def clear_runs(cursor: Cursor, runs: Sequence[tuple[str, str, str]], keeper: Keeper | None = None) -> list[int]:
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
    given = {name: (tag, file) for name, tag, file in runs}
    columns: dict[str, list[Any]] = {
        "name": list(given),
        "tag": [tag for tag, _ in given.values()],
        "file": [file for _, file in given.values()],
        "position": list(range(len(given))),
    }
    stage(
        cursor, "given_runs", columns, {"name": "VARCHAR", "tag": "VARCHAR", "file": "VARCHAR", "position": "INTEGER"}
    )
    known = cursor.execute(
        "SELECT name, run_key FROM runs SEMI JOIN given_runs USING (name) ORDER BY run_key"
    ).fetchall()
    if known:
        for name, key in known:
            if keeper is not None:
                keeper.keep("run", name, key)
        of_these = "run_key IN (SELECT run_key FROM runs SEMI JOIN given_runs USING (name))"
        cursor.execute(f"DELETE FROM rankings WHERE {of_these}")
        cursor.execute(f"DELETE FROM ranked_runs WHERE {of_these}")
        cursor.execute("UPDATE runs SET tag = g.tag, file = g.file FROM given_runs g WHERE g.name = runs.name")
    cursor.execute(
        "INSERT INTO runs SELECT nextval('keys'), name, tag, file FROM"
        " (SELECT * FROM given_runs ANTI JOIN runs USING (name) ORDER BY position)"
    )
    keys = dict(cursor.execute("SELECT name, run_key FROM runs SEMI JOIN given_runs USING (name)").fetchall())
    return [int(keys[name]) for name, _, _ in runs]


@as_act("see boards")
def deepest_rank(project: Project) -> int:
    """Return the greatest rank of any run; 0 without runs."""
    return int(project.value("SELECT coalesce(max(rank), 0) FROM rankings"))


Runs = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Score of every ranked passage, by run, query and passage id."""


def rankings(project: Project) -> Runs:
    """Return the score of every ranked passage, by run, query and passage id. If a file stated ranks,
    the scores are derived from them.
    """

    def compute() -> dict[str, dict[str, dict[str, float]]]:
        import numpy as np

        runs = {
            key: (name, stated)
            for key, name, stated in project.rows(
                "SELECT run_key, name, run_key IN (FROM ranked_runs) FROM runs ORDER BY run_key"
            )
        }
        found: dict[str, dict[str, dict[str, float]]] = {name: {} for name, _ in runs.values()}
        queries = dict(project.rows("SELECT query_key, query_id FROM queries"))
        # Each id string is created once and shared by all runs.
        named = project.table(
            "SELECT passage_key, passage_id FROM passages SEMI JOIN rankings USING (passage_key) ORDER BY 1"
        )
        known, ids = array_of(named["passage_key"]), np.array(named["passage_id"].to_pylist(), object)
        ranked = project.table(
            "SELECT run_key, query_key, passage_key, if(run_key IN (FROM ranked_runs), rank, score) AS value"
            " FROM rankings"
        )
        run, query, passage, value = (array_of(column) for column in ranked.columns)
        pair = (run.astype(np.int64) << 32) + query
        # The rows are mostly sorted already, so numpy's stable sort is faster than the database.
        order = pair.argsort(kind="stable")
        starts = np.flatnonzero(np.diff(pair[order], prepend=-1)).tolist()
        place = known.searchsorted(passage)
        for start, end in pairwise([*starts, len(order)]):
            rows = order[start:end]
            name, stated = runs[int(run[rows[0]])]
            passages, values = ids[place[rows]].tolist(), value[rows].tolist()
            scores = by_rank(passages, values) if stated else dict(zip(passages, values, strict=True))
            found[name][queries[int(query[rows[0]])]] = scores
        return found

    return project.cached("rankings", compute, COLLECTION)


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
    known = [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]
    for name in runs:
        if name not in known:
            hint = "" if known else "Import runs first: exam import runs FILE..."
            raise unknown_name("unknown-run", "run", name, known, hint)
    return list(runs)


@as_act("see boards")
def run_names(project: Project) -> list[str]:
    """Return the names of all runs, in the order of their import."""
    return [name for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")]


@as_act("see boards")
def run_sizes(project: Project) -> list[tuple[str, int, int]]:
    """Return (name, number of queries, number of ranked passages) of every run, in the order of import."""
    return [
        (name, queries, passages)
        for name, queries, passages in project.rows(
            "SELECT name, count(DISTINCT query_key), count(passage_key) FROM runs LEFT JOIN rankings USING (run_key)"
            " GROUP BY name, run_key ORDER BY run_key"
        )
    ]
