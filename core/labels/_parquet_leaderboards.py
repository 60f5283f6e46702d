"""Leaderboards from Parquet files of grades, without a project; the files may be larger than
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ..errors import InputError, check_rules
from ..grouping import nest_triples
from ..measures import make_evaluator, parse_measure
from ..records import Runs, by_rank
from ..store import first_line, quoted_path, scratch_database
from ..types import MAX_RATING
from ._basis import label_sql
from ._grading_progress import without_waiting
from ._leaderboard import Leaderboard, order_systems
from ._policy import DEFAULT_POLICY, Policy

BATCH = 200_000
"""Approximate number of labels and ranked passages in Python's memory at a time; those of a query
stay together.
"""

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "grades": {
        "query_id": "VARCHAR",
        "passage_id": "VARCHAR",
        "question_id": "VARCHAR",
        "rating": "TINYINT",
    },
    "runs": {
        "run": "VARCHAR",
        "query_id": "VARCHAR",
        "passage_id": "VARCHAR",
        "rank": "INTEGER",
        "score": "DOUBLE",
    },
    "questions": {
        "query_id": "VARCHAR",
        "question_id": "VARCHAR",
        "weight": "DOUBLE",
        "top": "INTEGER",
    },
}
"""The required columns of each kind of file and their types."""


@dataclass(frozen=True)
class GradeFiles:
    """Paths or patterns such as `grades/*.parquet`.

    Args:
        grades: files with a row for each pair: query_id, passage_id, question_id, rating (NULL for
            a failed pair).
        runs: files with a row for each ranked passage: run, query_id, passage_id, rank, score (NULL
            if the run states ranks), gradable (whether the pool has the passage and its text).
            A pooled passage that no run ranks has a row without run, rank and score. In files
            without the column gradable, every passage is gradable.
        questions: files with a row for each active question: query_id, question_id, weight, and
            top, the highest rating of the grader's scale. Grades of other questions do not count.
            Without these files each question has weight 1, and the highest rating is 5.
    """

    grades: str
    runs: str
    questions: str | None = None


@dataclass(frozen=True)
class FilesLeaderboard:
    """A leaderboard from files, with the numbers of grades, of failed grades, and of labelled
    passages.
    """

    board: Leaderboard
    grades: int
    failed: int
    labels: int


def leaderboard_of_files(
    files: GradeFiles,
    measure: str,
    policy: Policy = DEFAULT_POLICY,
    memory: str | None = None,
    spill: Path | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
    with_ungraded: bool = False,
) -> FilesLeaderboard:
    """Order the systems by a measure of labels, with the same labels and scores as `leaderboard` in
    a project.

    DuckDB makes the labels and spills to disk. Then queries are scored batch by batch.

    Args:
        measure: a measure of labels, such as nDCG@10.
        policy: only its label rule, weights, min rating and treatment of skipped queries are used.
        memory, spill: see `project.engine_config`.
        report: receives the number of scored queries and of all queries.
        with_ungraded: whether to include the queries with ungraded pairs. They are known only with
            a file of questions.

    Raises:
        InputError: a file is missing, lacks a column, or has a value out of range. Also if the
            measure is not a measure of labels, or the disk is full.
    """
    parsed = parse_measure(measure, policy.cutoff)
    check_rules(
        (
            policy.rating != Policy.rating,
            InputError(
                "rating-rule-needs-a-project",
                "Grades in files have no probabilities, so the rating rule"
                f" '{policy.rating}' cannot be used.",
                "Use --rating-rule written.",
            ),
        ),
        (
            not parsed.takes_judgments,
            InputError(
                "not-a-label-measure",
                f"{parsed} is not a measure of labels.",
                "Use a measure such as nDCG@10 or P@10.",
            ),
        ),
    )
    with scratch_database(memory, spill) as engine:
        try:
            grades, runs = (
                _checked_source(engine, "grades", files.grades),
                _checked_source(engine, "runs", files.runs),
            )
            top, weighed = MAX_RATING, f"(SELECT *, 1e0 AS weight FROM {grades})"
            if files.questions is not None:
                questions = _checked_source(engine, "questions", files.questions)
                weighed = (
                    f"(SELECT g.*, weight FROM {grades} g JOIN {questions} q"
                    " USING (query_id, question_id))"
                )
                top, distinct = engine.execute(
                    "SELECT max(top), count(*) = count(DISTINCT (query_id, question_id))"
                    f" FROM {questions}"
                ).fetchall()[0]
                if not distinct or top is None or not 1 <= top <= MAX_RATING:
                    raise InputError(
                        "invalid-questions",
                        f"{files.questions} is empty, repeats a question, or has a top rating"
                        f" outside 1–{MAX_RATING}.",
                        "List each active question of each query once, with its top rating.",
                    )
            policy = replace(policy, min_rating=min(policy.min_rating, top))
            rows, rated, low, high = engine.execute(
                "SELECT count(*), count(rating), coalesce(min(rating), 0), coalesce(max(rating),"
                f" 0) FROM {weighed}"
            ).fetchall()[0]
            if low < 0 or high > top:
                raise InputError(
                    "rating-out-of-range",
                    f"Rating {low if low < 0 else high} is out of range (0–{top}).",
                    "Correct the grades.",
                )
            engine.execute(
                "CREATE TABLE graded AS SELECT query_id, passage_id,"
                f" {label_sql(policy.rule, policy.weighted)} AS"
                f" label, count(*) FILTER (weight > 0) AS given FROM {weighed}"
                " GROUP BY query_id, passage_id ORDER BY query_id"
            )
            engine.execute(
                "CREATE VIEW labels AS SELECT query_id, passage_id, label FROM graded"
                " WHERE label IS NOT NULL"
            )
            # As deep as the measure needs, in trec_eval's order.
            deep = (
                ""
                if parsed.cutoff is None
                else (
                    "QUALIFY if(score IS NULL, rank, row_number() OVER (PARTITION BY run, query_id"
                    " ORDER BY score::FLOAT DESC NULLS LAST, passage_id DESC))"
                    f" <= {parsed.cutoff:d}"
                )
            )
            engine.execute(
                f"CREATE TABLE ranked AS SELECT * FROM (SELECT * FROM {runs}"
                " SEMI JOIN labels USING (query_id) WHERE run IS NOT NULL"
                f" {deep}) ORDER BY query_id"
            )
            ungraded: dict[str, int] = {}
            if files.questions is not None:
                # A complete query has a grade for each question of positive weight and each
                # gradable passage that the measure needs.
                depth_sql = (
                    "query_id IS NOT NULL"
                    if parsed.needed_depth is None
                    else f"rank <= {parsed.needed_depth:d}"
                )
                engine.execute(
                    f"CREATE TABLE pool AS SELECT DISTINCT query_id, passage_id FROM {runs}"
                    f" WHERE gradable AND {depth_sql}"
                )
                ungraded = dict(
                    engine.execute(
                        "SELECT query_id, (passages * asked - coalesce(given,"
                        " 0))::BIGINT AS missing FROM (SELECT query_id, count(*) AS passages"
                        " FROM pool GROUP BY query_id) JOIN (SELECT query_id, count(*) AS asked"
                        f" FROM {questions} WHERE weight > 0 GROUP BY 1) USING (query_id)"
                        " LEFT JOIN (SELECT query_id, sum(given) AS given FROM graded"
                        " SEMI JOIN pool USING (query_id, passage_id) GROUP BY 1) USING (query_id)"
                        " WHERE missing > 0 ORDER BY query_id"
                    ).fetchall()
                )
            per_query: dict[str, dict[str, float]] = {
                run: {}
                for (run,) in engine.execute(
                    f"SELECT DISTINCT run FROM {runs} WHERE run IS NOT NULL ORDER BY 1"
                ).fetchall()
            }
        except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
            raise InputError(
                "invalid-value",
                f"A value has the wrong type for its column: {first_line(error)}.",
                "See docs/how-to/scale-out.md for the types.",
            ) from error
        labels = int(engine.execute("SELECT count(*) FROM labels").fetchall()[0][0])
        if not labels:
            raise InputError(
                "no-labels",
                "The grades give no labels.",
                "Check that the question ids match those of the grades.",
            )
        batches = engine.execute(
            "SELECT list(query_id ORDER BY query_id)"
            " FROM (SELECT query_id, sum(size) OVER (ORDER BY query_id) AS upto"
            " FROM (SELECT query_id, count(*) AS size FROM (SELECT query_id FROM labels UNION ALL"
            " SELECT query_id"
            f" FROM ranked) GROUP BY 1)) GROUP BY upto // {BATCH} ORDER BY min(query_id)"
        ).fetchall()
        query_ids = [query for (queries,) in batches for query in queries]
        done_count = 0
        for (queries,) in batches:
            # Both tables are sorted by query, so little of them is read.
            within = {"first": queries[0], "last": queries[-1]}
            labelled = engine.execute(
                "SELECT query_id, passage_id, label FROM labels"
                " WHERE query_id BETWEEN $first AND $last",
                within,
            ).fetchall()
            scored = engine.execute(
                "SELECT run, query_id, list(passage_id), list(rank), list(score) FROM ranked"
                " WHERE query_id BETWEEN $first AND $last GROUP BY run, query_id",
                within,
            ).fetchall()
            rankings: Runs = nest_triples(
                (
                    run,
                    query,
                    by_rank(passages, ranks)
                    if None in scores
                    else dict(zip(passages, scores, strict=True)),
                )
                for run, query, passages, ranks, scores in scored
            )
            evaluate = make_evaluator([parsed.name], nest_triples(labelled), policy.min_rating)
            for run, ranked in rankings.items():
                per_query[run] |= evaluate(ranked)[parsed.name]
            report(done_count := done_count + len(queries), len(query_ids))
    if not with_ungraded:
        query_ids = without_waiting(ungraded, query_ids)
        counted = set(query_ids)
        per_query = {
            run: {q: x for q, x in scores.items() if q in counted}
            for run, scores in per_query.items()
        }
    systems = order_systems(per_query, query_ids, policy)
    board = Leaderboard(
        parsed.name, "files", policy, systems, per_query, query_ids, ungraded=ungraded
    )
    return FilesLeaderboard(board, int(rows), int(rows - rated), labels)


def _checked_source(engine: duckdb.DuckDBPyConnection, kind: str, place: str) -> str:
    """Return files of a kind as SQL, after a check of their columns."""
    source = f"read_parquet({quoted_path(place)}, union_by_name = true)"
    try:
        columns = {row[0] for row in engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    except duckdb.Error as error:
        raise InputError(
            "cannot-read-file",
            f"Cannot read the {kind} in {place}: {first_line(error)}.",
            "Use local Parquet files, such as 'folder/*.parquet'. Copy or mount files of an"
            " object store first.",
        ) from error
    if missing := [name for name in COLUMNS[kind] if name not in columns]:
        raise InputError(
            "column-missing",
            f"Missing columns in the {kind} of {place}: {', '.join(missing)}.",
            f"Required: {', '.join(COLUMNS[kind])}.",
        )
    casts = {name: f"{name}::{type_}" for name, type_ in COLUMNS[kind].items()}
    for name in casts.keys() & {"run", "query_id", "passage_id", "question_id"}:
        casts[name] = f"coalesce({casts[name]}, error('a {name} is missing'))"
    if kind == "runs":
        # A run without rankings has one row with only its name. A pooled passage that no run ranks
        # has a row with only its ids.
        casts |= {
            "run": f"if(rank IS NULL AND score IS NULL, run::VARCHAR, {casts['run']})",
            "query_id": "query_id::VARCHAR",
            "passage_id": f"if(query_id IS NULL, NULL, {casts['passage_id']})",
            "gradable": "gradable::BOOLEAN" if "gradable" in columns else "true",
        }
    return (
        f"(SELECT {', '.join(f'{cast} AS {name}' for name, cast in casts.items())} FROM {source})"
    )
