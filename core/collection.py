"""Writing the collection into a project: queries, passages, runs, judgments, boards and the pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from core.errors import InputError
from core.kept_passages import in_batches
from core.project import Cursor, log, stage, stage_table
from core.replacing import Keeper
from core.text import clean_or_none, clean_text, fault_of_id, quoted
from core.types import Board, Judgment, Passage, Query, Ranked, Subtopic

RANKED = pa.schema(
    [
        ("run", pa.string()),
        ("query_id", pa.string()),
        ("passage_id", pa.string()),
        ("score", pa.float64()),
        ("rank", pa.int32()),
    ]
)
"""Lines of runs as a table; `rank` is what a file states."""

DEFAULT_POOL_DEPTH = 20
"""Passages of each run that are pooled per query (exam-plus-plus, section 5.1)."""


def add_queries(cursor: Cursor, queries: Sequence[Query], replace: bool, keeper: Keeper | None = None) -> int:
    """Add queries and subtopics; known ones get a missing text, or with `replace` the new one.

    Args:
        replace: whether the text of a query that is there already is overwritten. A text that is
            no more than the query's id counts as missing and always gives way.
        keeper: keeps what is replaced; for None it is lost.

    Returns:
        The number of queries that were not there before.

    Raises:
        InputError: the id of a new query could not stand in qrels.
    """
    check_new(cursor, "query", (q.query_id for q in queries))
    queries = [_clean_query(query) for query in queries]
    stage(
        cursor,
        "new_queries",
        {
            "query_id": [q.query_id for q in queries],
            "text": [q.text or q.query_id for q in queries],
            "narrative": [q.narrative for q in queries],
            "answer": [q.answer for q in queries],
            "position": list(range(len(queries))),
        },
        {
            "query_id": "VARCHAR",
            "text": "VARCHAR",
            "narrative": "VARCHAR",
            "answer": "VARCHAR",
            "position": "INTEGER",
        },
    )
    _take_titles(cursor)
    added = cursor.execute(
        "INSERT INTO queries SELECT nextval('keys'), query_id, text, narrative, answer FROM ("
        " SELECT query_id, arg_min(text, position) AS text, arg_min(narrative, position) AS narrative,"
        " arg_min(answer, position) AS answer, min(position) AS first"
        " FROM new_queries ANTI JOIN queries USING (query_id)"
        " GROUP BY query_id ORDER BY first)"
    ).fetchall()[0][0]
    changing = (
        "n.query_id = queries.query_id"
        " AND (n.text, n.narrative, n.answer) IS DISTINCT FROM (queries.text, queries.narrative, queries.answer)"
        f" AND n.text <> n.query_id AND ({replace} OR queries.text = queries.query_id)"
    )
    if keeper is not None:
        keeper.keep_queries(f"SELECT queries.query_key FROM queries, new_queries n WHERE {changing}")
    cursor.execute(
        "UPDATE queries SET text = n.text, narrative = coalesce(n.narrative, queries.narrative),"
        f" answer = coalesce(n.answer, queries.answer) FROM new_queries n WHERE {changing}"
    )
    _add_subtopics(cursor, queries, replace, keeper)
    return int(added)


_NAMES = {
    "query": ("queries", "query_id", True),
    "passage": ("passages", "passage_id", True),
    "run": ("runs", "name", False),
    "source": ("sources", "name", False),
    "leaderboard": ("boards", "name", False),
    "question": ("questions", "question_id", False),
    "subtopic": ("question_revisions", "subtopic_id", False),
}
"""Table and column of what has an id or a name here, and whether it stands in one column of TREC files as it is."""


def check_new(cursor: Cursor, what: str, names: Iterable[str]) -> None:
    """Refuse what could not be written out again; what the project has already may stay.

    Raises:
        InputError: a new id or name has control characters, or white space where a TREC file has room for none.
    """
    table, column, one_column = _NAMES[what]
    faults = {name: fault for name in set(names) if (fault := fault_of_id(name, one_column))}
    if not faults:
        return
    known = cursor.execute(
        f"SELECT {column} FROM {table} WHERE list_contains(?, {column})", [[clean_text(name) for name in faults]]
    ).fetchall()
    for name in sorted(faults.keys() - {name for (name,) in known}):
        raise InputError(f"The {what} {quoted(name)} {faults[name]}.", "Give it another name.")


def _clean_query(query: Query) -> Query:
    return Query(
        query.query_id,
        clean_text(query.text),
        clean_or_none(query.narrative),
        tuple(Subtopic(clean_text(s.subtopic_id), clean_text(s.text)) for s in query.subtopics),
        clean_or_none(query.answer),
    )


def _take_titles(cursor: Cursor) -> None:
    """Let what direct judges said of a query that was known by its id alone belong to its title."""
    cursor.execute(
        "UPDATE question_texts SET text = n.text FROM new_queries n JOIN queries USING (query_id)"
        " WHERE queries.text = query_id AND n.text <> query_id AND question_texts.text = query_id"
        " AND n.text NOT IN (SELECT text FROM question_texts WHERE text IS NOT NULL)"
        " AND question_texts.text_key NOT IN (SELECT text_key FROM question_revisions)"
    )


def _add_subtopics(cursor: Cursor, queries: Sequence[Query], replace: bool, keeper: Keeper | None) -> None:
    rows = [(q.query_id, s.subtopic_id, s.text, i) for q in queries for i, s in enumerate(q.subtopics)]
    if not rows:
        return
    names = ("query_id", "subtopic_id", "text", "position")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    types = dict.fromkeys(names, "VARCHAR") | {"position": "INTEGER"}
    stage(cursor, "new_subtopics", columns, types)
    cursor.execute(
        "INSERT INTO subtopics SELECT query_key, n.subtopic_id, arg_min(n.text, n.rowid), min(n.position)"
        " FROM new_subtopics n JOIN queries USING (query_id)"
        " ANTI JOIN subtopics s ON s.query_key = queries.query_key AND s.subtopic_id = n.subtopic_id"
        " GROUP BY query_key, n.subtopic_id ORDER BY min(n.rowid)"
    )
    # As with a query, a text that is no more than the id gives way to every other.
    changing = (
        "queries.query_key = subtopics.query_key AND n.subtopic_id = subtopics.subtopic_id"
        f" AND n.text NOT IN (subtopics.text, n.subtopic_id) AND ({replace} OR subtopics.text = subtopics.subtopic_id)"
    )
    if keeper is not None:
        keeper.keep_subtopics(
            "SELECT (queries.query_key, n.subtopic_id) FROM subtopics, new_subtopics n JOIN queries USING (query_id)"
            f" WHERE {changing}"
        )
    cursor.execute(
        f"UPDATE subtopics SET text = n.text FROM new_subtopics n JOIN queries USING (query_id) WHERE {changing}"
    )


def add_passages(cursor: Cursor, passages: Iterable[Passage], keeper: Keeper | None = None) -> int:
    """Add passages, or the text of passages that are known by id only.

    Args:
        keeper: keeps the text of passages that are there with another one, so that it can be replaced; for None that is
            refused.

    Returns:
        The number of passages that had no text before.

    Raises:
        InputError: a passage comes with two texts, something rests on the text that would be replaced, or the id of a
            new one could not stand in qrels.
    """
    added = 0
    for batch in in_batches(passages):
        check_new(cursor, "passage", (p.passage_id for p in batch))
        batch = _clean_passages(cursor, batch)
        columns = {"passage_id": [p.passage_id for p in batch], "text": [p.text for p in batch]}
        stage(cursor, "new_passages", columns, {"passage_id": "VARCHAR", "text": "VARCHAR"})
        added += _add_passage_batch(cursor, keeper)
    return added


def _clean_passages(cursor: Cursor, passages: list[Passage]) -> list[Passage]:
    """The passages with clean texts; one that earlier versions took in as it was stays that text, with its grades."""
    unclean = {p.text: clean for p in passages if (clean := clean_text(p.text)) != p.text}
    if not unclean:
        return passages
    kept = kept_as_they_are(cursor, "passage_texts", unclean)
    return [Passage(p.passage_id, p.text if p.text in kept else unclean.get(p.text, p.text)) for p in passages]


def kept_as_they_are(
    cursor: Cursor, table: Literal["question_texts", "passage_texts"], texts: Iterable[str]
) -> set[str]:
    """Which of some unclean texts earlier versions took in as they were: these stay, with their grades."""
    # Halves of surrogate pairs cannot be asked for, nor be there.
    asked = [text for text in texts if text.encode(errors="ignore").decode() == text]
    return {
        text for (text,) in cursor.execute(f"SELECT text FROM {table} WHERE list_contains(?, text)", [asked]).fetchall()
    }


def _add_passage_batch(cursor: Cursor, keeper: Keeper | None) -> int:
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE other_texts AS SELECT passage_key, passage_id, p.text_key, n.text"
        " FROM new_passages n JOIN passages p USING (passage_id) JOIN passage_texts t USING (text_key)"
        " WHERE t.text <> n.text"
    )
    # What this import itself gave the passage for its text is no text that could be replaced.
    own = (
        "SELECT passage_id FROM other_texts"
        if keeper is None
        else f"SELECT passage_id FROM other_texts WHERE passage_key > {keeper.first_key:d}"
        f" OR passage_key IN ({keeper.among_replaced()})"
    )
    clash = cursor.execute(
        "SELECT passage_id FROM new_passages GROUP BY passage_id HAVING count(DISTINCT text) > 1"
        f" UNION ALL {own} LIMIT 1"
    ).fetchall()
    if clash:
        raise InputError(
            f"Passage {clash[0][0]} has two different texts.",
            "Grades are about texts, so a text cannot change: give the new text a new passage id.",
        )
    if keeper is not None:
        keeper.keep_passages("other_texts")
    cursor.execute(
        "INSERT INTO passage_texts SELECT nextval('keys'), text FROM ("
        " SELECT text, min(rowid) AS first FROM new_passages ANTI JOIN passage_texts USING (text)"
        " GROUP BY text ORDER BY first)"
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE texted AS SELECT passage_id, any_value(text_key) AS text_key,"
        " min(n.rowid) AS first FROM new_passages n JOIN passage_texts USING (text) GROUP BY passage_id"
    )
    if keeper is not None:
        cursor.execute(
            "INSERT INTO given_texts SELECT passage_key FROM passages p JOIN texted USING (passage_id)"
            " WHERE p.text_key IS NULL"
        )
        cursor.execute(
            "UPDATE passages SET text_key = n.text_key FROM texted n"
            " WHERE n.passage_id = passages.passage_id AND n.passage_id IN (SELECT passage_id FROM other_texts)"
        )
    filled = cursor.execute(
        "UPDATE passages SET text_key = n.text_key FROM texted n"
        " WHERE n.passage_id = passages.passage_id AND passages.text_key IS NULL"
    ).fetchall()[0][0]
    created = cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, text_key"
        " FROM (SELECT * FROM texted ANTI JOIN passages USING (passage_id) ORDER BY first)"
    ).fetchall()[0][0]
    return int(filled + created)


def name_passages(cursor: Cursor, passage_ids: Sequence[str]) -> None:
    """Make passages known by id only, until their texts come.

    Raises:
        InputError: the id of a new one could not stand in qrels.
    """
    check_new(cursor, "passage", passage_ids)
    stage(cursor, "new_names", {"passage_id": passage_ids}, {"passage_id": "VARCHAR"})
    name_passages_of(cursor, "new_names")


def name_passages_of(cursor: Cursor, table: str, place: str = "rowid") -> None:
    """Give a key to every passage that a table names and the project does not know yet.

    Args:
        table: with a column `passage_id`; a table or what SQL can read as one.
        place: SQL for what orders its rows.
    """
    cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, NULL FROM ("
        f" SELECT passage_id, min({place}) AS first FROM {table} ANTI JOIN passages USING (passage_id)"
        " GROUP BY passage_id ORDER BY first)"
    )


def unknown_queries(cursor: Cursor, query_ids: Iterable[str]) -> list[str]:
    """Those of the ids that are no query of the project, in the order given, each once."""
    known = {query_id for (query_id,) in cursor.execute("SELECT query_id FROM queries").fetchall()}
    return [query_id for query_id in dict.fromkeys(query_ids) if query_id not in known]


def stage_rankings(cursor: Cursor, rankings: dict[str, list[Ranked]]) -> None:
    """Collect lines of runs in the temporary table `staged_rankings`, to be written by `write_runs`.

    Raises:
        InputError: the id of a new passage could not stand in qrels.
    """
    # Halves of surrogate pairs cannot stand in a table.
    check_new(cursor, "passage", (ranked.passage_id for lines in rankings.values() for ranked in lines))
    stage_ranked(cursor, ranked_table(rankings))


def ranked_table(rankings: Mapping[str, Sequence[Ranked]]) -> pa.Table:
    """Rankings by run as a table of the columns of `RANKED`."""
    lines = [ranked for ranking in rankings.values() for ranked in ranking]
    columns: dict[str, list[Any]] = {
        "run": [run for run, ranking in rankings.items() for _ in ranking],
        "query_id": [ranked.query_id for ranked in lines],
        "passage_id": [ranked.passage_id for ranked in lines],
        "score": [ranked.score for ranked in lines],
        "rank": [ranked.rank for ranked in lines],
    }
    return pa.table(columns, schema=RANKED)


def stage_ranked(cursor: Cursor, ranked: pa.Table) -> None:
    """The same as `stage_rankings`, for rankings as `ranked_table` makes them."""
    check_new(cursor, "passage", ranked["passage_id"].unique().to_pylist())
    stage_table(cursor, "new_rankings", ranked)
    # With its columns spelled out: DuckDB 2.0 filters every row away from a table that began, in this
    # transaction, as CREATE TABLE AS of no rows and then took in more than a row group.
    cursor.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_rankings"
        " (run VARCHAR, query_id VARCHAR, passage_id VARCHAR, score DOUBLE)"
    )
    cursor.execute("INSERT INTO staged_rankings SELECT run, query_id, passage_id, score FROM new_rankings")


def unstage_ranking(cursor: Cursor, run: str) -> None:
    """Forget what was staged of one run."""
    cursor.execute("DELETE FROM staged_rankings WHERE run = ?", [run])


def write_runs(cursor: Cursor, runs: Sequence[tuple[str, str, str]], keeper: Keeper | None = None) -> None:
    """Write the staged rankings; a run of the same name gives way to the new one.

    The rank is counted from the scores as trec_eval does it: by score as a 32-bit float, the
    greater passage id first among equals.

    Args:
        runs: name, tag and file of each run that was staged.
        keeper: keeps what is replaced; for None it is lost.
    """
    name_passages_of(cursor, "staged_rankings")
    clear_runs(cursor, runs, keeper)
    # A score beyond the 32-bit range is infinite there, as it is for trec_eval.
    single = "coalesce(try_cast(score AS FLOAT), sign(score) * 'infinity'::FLOAT)"
    cursor.execute(
        "INSERT INTO rankings SELECT run_key, query_key, passage_key, row_number() OVER"
        f" (PARTITION BY run_key, query_key ORDER BY {single} DESC, passage_id DESC) AS rank, score"
        " FROM staged_rankings s JOIN runs ON runs.name = s.run JOIN queries USING (query_id)"
        " JOIN passages USING (passage_id) ORDER BY query_key, run_key, rank"
    )
    cursor.execute("DROP TABLE staged_rankings")


def state_ranks(cursor: Cursor, ranked: pa.Table) -> None:
    """Collect ranks that a file states in the temporary table `stated_ranks`, to be written by `write_stated_ranks`."""
    stage_table(cursor, "new_ranks", ranked)
    cursor.execute(
        "CREATE TEMP TABLE IF NOT EXISTS stated_ranks (run VARCHAR, query_id VARCHAR, passage_id VARCHAR, rank INTEGER)"
    )
    cursor.execute("INSERT INTO stated_ranks SELECT run, query_id, passage_id, rank FROM new_ranks")


def write_stated_ranks(cursor: Cursor, runs: Sequence[str]) -> int:
    """Let runs that were written have the ranks that their file states, gaps and all, whatever their scores say.

    Ranks that begin below 1 are moved up. Where a ranking states one rank twice, passages are counted in the order of
    rank, score and passage id.

    Returns:
        The number of rankings (run and query) that state a rank twice.
    """
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE read_ranks AS SELECT run_key, query_key, passage_key,"
        " CASE WHEN count(DISTINCT s.rank) OVER ranking = count(*) OVER ranking"
        "  THEN s.rank + greatest(0, 1 - min(s.rank) OVER ranking)"
        "  ELSE row_number() OVER (PARTITION BY run_key, query_key ORDER BY s.rank, score DESC, passage_id DESC)"
        " END::INTEGER AS rank, count(DISTINCT s.rank) OVER ranking < count(*) OVER ranking AS repeated"
        " FROM stated_ranks s JOIN runs ON runs.name = s.run JOIN queries USING (query_id)"
        " JOIN passages USING (passage_id) JOIN rankings USING (run_key, query_key, passage_key)"
        " WHERE list_contains(?, s.run) WINDOW ranking AS (PARTITION BY run_key, query_key)",
        [list(runs)],
    )
    cursor.execute(
        "UPDATE rankings SET rank = r.rank FROM read_ranks r WHERE r.run_key = rankings.run_key"
        " AND r.query_key = rankings.query_key AND r.passage_key = rankings.passage_key"
    )
    cursor.execute("INSERT INTO ranked_runs SELECT run_key FROM runs WHERE list_contains(?, name)", [list(runs)])
    cursor.execute("DROP TABLE stated_ranks")
    repeated = "SELECT count(DISTINCT (run_key, query_key)) FROM read_ranks WHERE repeated"
    return int(cursor.execute(repeated).fetchall()[0][0])


def clear_runs(cursor: Cursor, runs: Sequence[tuple[str, str, str]], keeper: Keeper | None = None) -> list[int]:
    """Make runs that have no ranking yet; those that are there already lose theirs.

    Args:
        runs: name, tag and file of each.
        keeper: keeps what is replaced; for None it is lost.

    Returns:
        Their keys.

    Raises:
        InputError: the name of a new one has control characters.
    """
    check_new(cursor, "run", (name for name, _, _ in runs))
    keys = []
    for name, tag, file in runs:
        known = cursor.execute("SELECT run_key FROM runs WHERE name = ?", [name]).fetchall()
        if known and keeper is not None:
            keeper.keep("run", name, known[0][0])
        cursor.execute("DELETE FROM rankings WHERE run_key IN (SELECT run_key FROM runs WHERE name = ?)", [name])
        cursor.execute(
            "INSERT INTO runs SELECT nextval('keys'), ?, ?, ? WHERE NOT EXISTS (SELECT * FROM runs WHERE name = ?)",
            [name, tag, file, name],
        )
        cursor.execute("UPDATE runs SET tag = ?, file = ? WHERE name = ?", [tag, file, name])
        cursor.execute("DELETE FROM ranked_runs WHERE run_key IN (SELECT run_key FROM runs WHERE name = ?)", [name])
        keys.append(int(cursor.execute("SELECT run_key FROM runs WHERE name = ?", [name]).fetchall()[0][0]))
    return keys


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
    stage(cursor, "new_judgments", columns, types)
    cursor.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_judgments (query_id VARCHAR, passage_id VARCHAR, value INTEGER)"
    )
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
    check_new(cursor, "source", [source])
    name_passages_of(cursor, "staged_judgments")
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
        " FROM staged_judgments JOIN queries USING (query_id) JOIN passages USING (passage_id)"
        " ORDER BY query_key, passage_key",
        [key],
    ).fetchall()[0][0]
    cursor.execute("DROP TABLE staged_judgments")
    return int(written)


def list_passages(cursor: Cursor, pairs: Sequence[tuple[str, str]]) -> None:
    """Put (query id, passage id) pairs into the pool by themselves, in the order given."""
    columns = {"query_id": [q for q, _ in pairs], "passage_id": [p for _, p in pairs]}
    stage(cursor, "new_listed", columns, {"query_id": "VARCHAR", "passage_id": "VARCHAR"})
    cursor.execute(
        "INSERT INTO listed SELECT query_key, passage_key, start + row_number() OVER (ORDER BY first) FROM ("
        " SELECT query_key, passage_key, min(n.rowid) AS first"
        " FROM new_listed n JOIN queries USING (query_id) JOIN passages USING (passage_id)"
        " ANTI JOIN listed USING (query_key, passage_key) GROUP BY ALL),"
        " (SELECT coalesce(max(position), 0)::INTEGER AS start FROM listed)"
    )


def write_board(cursor: Cursor, board: Board, keeper: Keeper | None = None) -> None:
    """Write an imported leaderboard; one of the same name gives way.

    Args:
        keeper: keeps what is replaced; for None it is lost.

    Raises:
        InputError: the name of a new one, or of a run on it, has control characters.
    """
    check_new(cursor, "leaderboard", [board.name])
    check_new(cursor, "run", (row.run for row in board.rows))
    known = cursor.execute("SELECT board_key FROM boards WHERE name = ?", [board.name]).fetchall()
    if known:
        if keeper is not None:
            keeper.keep("leaderboard", board.name, known[0][0])
        cursor.execute("DELETE FROM board_scores WHERE board_key = ?", [known[0][0]])
        cursor.execute("UPDATE boards SET measure = ? WHERE board_key = ?", [board.measure, known[0][0]])
    else:
        cursor.execute("INSERT INTO boards VALUES (nextval('keys'), ?, ?)", [board.name, board.measure])
    columns: dict[str, list[Any]] = {
        "run": [row.run for row in board.rows],
        "score": [row.score for row in board.rows],
        "std_error": [row.std_error for row in board.rows],
        "rank": [row.rank for row in board.rows],
    }
    types = {"run": "VARCHAR", "score": "DOUBLE", "std_error": "DOUBLE", "rank": "DOUBLE"}
    stage(cursor, "new_board", columns, types)
    cursor.execute(
        "INSERT INTO board_scores SELECT board_key, n.* FROM new_board n, boards WHERE boards.name = ?",
        [board.name],
    )


def pool_depth(cursor: Cursor) -> int:
    """How many passages of each run are pooled per query."""
    rows = cursor.execute("SELECT value FROM settings WHERE name = 'pool_depth'").fetchall()
    return int(rows[0][0]) if rows else DEFAULT_POOL_DEPTH


def set_pool_depth(cursor: Cursor, depth: int, author: str) -> None:
    """Change how many passages of each run are pooled, and pool again.

    Raises:
        InputError: a depth below 1.
    """
    if depth < 1:
        raise InputError(f"{depth} is no pool depth.", "Give a whole number from 1.")
    cursor.execute("INSERT OR REPLACE INTO settings VALUES ('pool_depth', ?)", [str(depth)])
    refresh_pool(cursor)
    log(cursor, author, "set pool depth", depth=depth)


def refresh_pool(cursor: Cursor) -> None:
    """Pool again: per query the listed and the judged passages, the gold texts, and the top of every run.

    To be called at the end of every transaction that changed one of these.
    """
    cursor.execute("DELETE FROM pool")
    cursor.execute(
        "INSERT INTO pool SELECT query_key, passage_key, text_key,"
        " row_number() OVER (PARTITION BY query_key ORDER BY place, passage_key) FROM ("
        " SELECT query_key, passage_key, min(position) AS place FROM ("
        "  SELECT query_key, passage_key, position FROM listed"
        "  UNION ALL SELECT query_key, passage_key, NULL FROM judgments"
        "  UNION ALL SELECT query_key, passage_key, NULL FROM rankings WHERE rank <= ?"
        "  UNION ALL SELECT query_key, passage_key, NULL FROM gold_passages"
        " ) GROUP BY ALL) JOIN passages USING (passage_key) ORDER BY query_key, place, passage_key",
        [pool_depth(cursor)],
    )
