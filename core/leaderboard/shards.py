"""Boards over grades that lie in Parquet shards: read in place, in the memory that is allowed, without a project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb

from core.errors import InputError
from core.labels import Policy, label_sql
from core.leaderboard.board import Leaderboard, order_systems
from core.measures import make_evaluator, parse_measure
from core.project import by_rank, first_line, scratch
from core.types import MAX_RATING

BATCH = 200_000
"""Labels and ranked passages that are in memory at a time, about; a query's stay together."""

FAR = ("s3://", "gs://", "gcs://", "r2://", "http://", "https://", "hf://")
"""Beginnings of addresses that the engine's extension httpfs reads, or a package of fsspec."""
STORES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp", "hf": "huggingface_hub"}
"""The packages by which fsspec reads them."""

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "grades": {"query_id": "VARCHAR", "passage_id": "VARCHAR", "question_id": "VARCHAR", "rating": "TINYINT"},
    "runs": {
        "run": "VARCHAR", "query_id": "VARCHAR", "passage_id": "VARCHAR", "rank": "INTEGER", "score": "DOUBLE",
    },
    "questions": {"query_id": "VARCHAR", "question_id": "VARCHAR", "weight": "DOUBLE", "top": "INTEGER"},
}  # fmt: skip
"""The columns of each kind of shard, and as what they are read; more may be there, and are not read."""


@dataclass(frozen=True)
class Shards:
    """Where shards lie: files or patterns such as `grades/*.parquet`, on this computer or in an object store.

    Args:
        grades: a row for each pair, each pair once: query_id, passage_id, question_id, rating (NULL where it failed).
        runs: a row for each ranked passage: run, query_id, passage_id, rank, score (NULL where the run states ranks).
        questions: the active questions: query_id, question_id, weight, and top, where the grader's scale ends. Grades
            of others do not count. Without it every question in the grades weighs 1, and the scale ends at 5.
    """

    grades: str
    runs: str
    questions: str | None = None


@dataclass(frozen=True)
class ShardBoard:
    """A board over shards, and what was read for it.

    Args:
        grades: rows of the grades; `failed` of them have no rating.
        labels: passages that have a label, of all queries.
    """

    board: Leaderboard
    grades: int
    failed: int
    labels: int


def shard_board(
    shards: Shards,
    measure: str,
    policy: Policy | None = None,
    memory: str | None = None,
    spill: Path | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> ShardBoard:
    """Order the systems by a measure of labels, over shards.

    The same labels and scores as `leaderboard` gives in a project with these grades. Labels are made by the engine,
    which puts what does not fit into memory on the disk; then they are scored some queries at a time.

    Args:
        measure: a measure of labels, such as nDCG@10.
        policy: label rule, weights, min rating and what a skipped query counts; the rest of it does not count here.
        memory, spill: see `core.project.engine_config`.
        report: is told how many queries are scored, of how many.

    Raises:
        InputError: there are no such files, they lack a column, or hold a rating that is none; the measure is of
            another kind; or there is no room.
    """
    policy = policy or Policy()
    wanted = parse_measure(measure, policy.cutoff)
    if not wanted.takes_judgments:
        raise InputError(
            "not-a-label-measure",
            f"{wanted} is no measure of labels.",
            "Over shards, name one such as nDCG@10 or P@10.",
        )
    with scratch(memory, spill) as engine, _readable():
        grades, runs, top = _sources(engine, shards)
        policy = replace(policy, min_rating=min(policy.min_rating, top))
        rows, failed = _check_ratings(engine, grades, top)
        _label(engine, grades, policy)
        _rank(engine, runs, wanted.cutoff)
        sizes = engine.execute(
            "SELECT query_id, count(*) + coalesce(any_value(r.n), 0) FROM labels LEFT JOIN"
            " (SELECT query_id, count(*) AS n FROM ranked GROUP BY 1) r USING (query_id) GROUP BY 1 ORDER BY 1"
        ).fetchall()
        if not sizes:
            raise InputError(
                "no-labels", "No grade gives a label.", "Look whether the questions are those of the grades."
            )
        names = [name for (name,) in engine.execute(f"SELECT DISTINCT run FROM {runs} ORDER BY 1").fetchall()]
        per_query: dict[str, dict[str, float]] = {name: {} for name in names}
        done, labels = 0, engine.execute("SELECT count(*) FROM labels").fetchall()[0][0]
        for first, last, queries in _batches(sizes):
            evaluate = make_evaluator([wanted.name], _labels_of(engine, first, last), policy.min_rating)
            for run, rankings in _rankings_of(engine, first, last).items():
                per_query[run] |= evaluate(rankings)[wanted.name]
            report(done := done + queries, len(sizes))
    query_ids = [query for query, _ in sizes]
    systems = order_systems(per_query, query_ids, policy)
    board = Leaderboard(wanted.name, "shards", policy, systems, per_query, query_ids)
    return ShardBoard(board, rows, failed, int(labels))


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise InputError(
            "shard-value-of-wrong-type",
            f"A value in the shards is none of its column: {first_line(error)}.",
            "Their types are in docs/scale.md.",
        ) from error


def _sources(engine: duckdb.DuckDBPyConnection, shards: Shards) -> tuple[str, str, int]:
    """Grades with their weights and runs as SQL, and where the scale ends."""
    grades, runs = _opened(engine, "grades", shards.grades), _opened(engine, "runs", shards.runs)
    if shards.questions is None:
        return f"(SELECT query_id, passage_id, rating, 1e0 AS weight FROM {grades})", runs, MAX_RATING
    questions = _opened(engine, "questions", shards.questions)
    asked, twice, top = engine.execute(
        f"SELECT count(*), count(*) - count(DISTINCT (query_id, question_id)), max(top) FROM {questions}"
    ).fetchall()[0]
    if not asked or twice:
        what = f"{twice:,} of the questions occur twice" if asked else "There are no questions"
        raise InputError(
            "duplicate-question", f"{shards.questions}: {what}.", "Give each active question of each query once."
        )
    if not isinstance(top, int) or not 1 <= top <= MAX_RATING:
        raise InputError(
            "rating-out-of-range",
            f"{shards.questions}: the scale does not end at 1 to {MAX_RATING}.",
            "See the column top.",
        )
    joined = f"{grades} g JOIN {questions} q USING (query_id, question_id)"
    return f"(SELECT query_id, passage_id, rating, weight FROM {joined})", runs, top


def _opened(engine: duckdb.DuckDBPyConnection, kind: str, place: str) -> str:
    """Files of a kind as SQL, after a look at their columns."""
    if place.startswith(FAR):
        _reach(engine, place)
    source = "read_parquet('" + place.replace("'", "''") + "', union_by_name = true)"
    try:
        found = {row[0] for row in engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    # What a store says goes through the engine as it is, in errors of that store's library.
    except (duckdb.Error, *_FAR_ERRORS) as error:
        raise InputError(
            "cannot-read-shards",
            f"The {kind} in {place} cannot be read: {first_line(error)}.",
            "Name Parquet files, as 'folder/*.parquet'.",
        ) from error
    if missing := [name for name in COLUMNS[kind] if name not in found]:
        raise InputError(
            "shard-column-missing",
            f"The {kind} in {place} have no column {', '.join(missing)}.",
            f"They are: {', '.join(COLUMNS[kind])}.",
        )
    casts = {name: f"{name}::{type_}" for name, type_ in COLUMNS[kind].items()}
    for name in casts.keys() & {"run", "query_id", "passage_id", "question_id"}:
        casts[name] = f"coalesce({casts[name]}, error('a {name} is missing'))"
    if kind == "runs":
        # A run that ranks nothing is there by its name alone.
        casts |= {name: f"if(query_id IS NULL, NULL, {casts[name]})" for name in ("query_id", "passage_id")}
    return f"(SELECT {', '.join(f'{cast} AS {name}' for name, cast in casts.items())} FROM {source})"


_FAR_ERRORS = (OSError, ValueError, RuntimeError)


def _reach(engine: duckdb.DuckDBPyConnection, place: str) -> None:
    """Let the engine read addresses of an object store: by its own extension, else by fsspec, which is slower.

    Raises:
        InputError: neither is there.
    """
    protocol = place.partition("://")[0]
    if engine.filesystem_is_registered(protocol):
        return
    try:
        engine.execute("LOAD httpfs")
        return
    except duckdb.Error as error:
        no_extension = error
    try:
        # Of its stores each is a package of its own, which whoever has such a store installs.
        engine.register_filesystem(import_module("fsspec").filesystem(protocol))
    except (ImportError, ValueError):
        package = STORES.get(protocol, "the package of fsspec for it")
        raise InputError(
            "package-missing",
            f"{place}: to read from an object store it takes the engine's extension httpfs or {package}; neither is"
            " installed.",
            f"Install one of them: pip install {package}, or where extensions can be fetched"
            " python -c \"import duckdb; duckdb.sql('INSTALL httpfs')\". Or copy the files to a folder.",
        ) from no_extension


def _check_ratings(engine: duckdb.DuckDBPyConnection, grades: str, top: int) -> tuple[int, int]:
    rows, rated, low, high = engine.execute(
        f"SELECT count(*), count(rating), min(rating), max(rating) FROM {grades}"
    ).fetchall()[0]
    if rated and not 0 <= low <= high <= top:
        raise InputError(
            "rating-out-of-range",
            f"There is a rating {low if low < 0 else high}, which is none.",
            f"Ratings are 0 to {top}.",
        )
    return int(rows), int(rows - rated)


def _label(engine: duckdb.DuckDBPyConnection, grades: str, policy: Policy) -> None:
    engine.execute(
        f"CREATE TABLE labels AS SELECT query_id, passage_id, {label_sql(policy.rule, policy.weighted)} AS label"
        f" FROM {grades} GROUP BY query_id, passage_id HAVING label IS NOT NULL ORDER BY query_id"
    )


def _rank(engine: duckdb.DuckDBPyConnection, runs: str, cutoff: int | None) -> None:
    """The rankings of the queries that have a label, as deep as the measure looks, in trec_eval's order."""
    deep = (
        ""
        if cutoff is None
        else f" QUALIFY if(score IS NULL, rank, row_number() OVER (PARTITION BY run, query_id"
        f" ORDER BY score::FLOAT DESC NULLS LAST, passage_id DESC)) <= {cutoff:d}"
    )
    engine.execute(
        "CREATE TABLE ranked AS SELECT * FROM (SELECT run, query_id, passage_id, rank, score"
        f" FROM {runs} SEMI JOIN labels USING (query_id){deep}) ORDER BY query_id"
    )


def _batches(sizes: list[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """First and last query of each batch, and how many queries it has."""
    first, rows, queries = sizes[0][0], 0, 0
    for at, (query, size) in enumerate(sizes):
        rows, queries = rows + size, queries + 1
        if rows >= BATCH or at + 1 == len(sizes):
            yield first, query, queries
            first, rows, queries = sizes[min(at + 1, len(sizes) - 1)][0], 0, 0


_WITHIN = "WHERE query_id BETWEEN $first AND $last"


def _labels_of(engine: duckdb.DuckDBPyConnection, first: str, last: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    wanted = f"SELECT query_id, passage_id, label FROM labels {_WITHIN}"
    for query, passage, label in _rows(engine, wanted, first, last):
        found.setdefault(query, {})[passage] = label
    return found


def _rankings_of(engine: duckdb.DuckDBPyConnection, first: str, last: str) -> dict[str, dict[str, Mapping[str, float]]]:
    found: dict[str, dict[str, Mapping[str, float]]] = {}
    for run, query, passages, ranks, scores in _rows(
        engine,
        f"SELECT run, query_id, list(passage_id), list(rank), list(score) FROM ranked {_WITHIN} GROUP BY run, query_id",
        first,
        last,
    ):
        stated = any(score is None for score in scores)
        ranking = by_rank(passages, ranks) if stated else dict(zip(passages, scores, strict=True))
        found.setdefault(run, {})[query] = ranking
    return found


def _rows(engine: duckdb.DuckDBPyConnection, sql: str, first: str, last: str) -> list[tuple[Any, ...]]:
    return engine.execute(sql, {"first": first, "last": last}).fetchall()
