"""Queries with their subtopics, passages with their texts, and validation of new ids and names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..grouping import group_pairs
from ..store import Cursor, ParquetBuffer, Project, lend_table, number_table, stage_rows, table_of
from ..text import (
    all_clean,
    all_plain,
    clean_or_none,
    clean_text,
    fault_of_id,
    first_few,
    how_many,
    quote_name,
)
from ..types import Passage, Query, Subtopic
from ._replaced_data import ReplacedDataKeeper

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._writing_passages import WrittenPassages


def add_queries(
    cursor: Cursor,
    queries: Sequence[Query],
    replace: bool,
    keeper: ReplacedDataKeeper | None = None,
) -> int:
    """Add queries and subtopics, and missing texts of known queries and subtopics.

    Args:
        replace: whether to overwrite the texts of known queries and subtopics. A text that equals
            the query's id counts as missing and is always overwritten.
        keeper: keeps replaced texts; None discards them.

    Returns:
        The number of new queries.

    Raises:
        InputError: the id of a new query is not valid in qrels.
    """
    check_new(cursor, "query", (q.query_id for q in queries))
    queries = [_clean_query(query) for query in queries]
    stage_rows(
        cursor,
        "new_queries",
        [
            (q.query_id, q.text or q.query_id, q.narrative, q.answer, q.further_answers or None, at)
            for at, q in enumerate(queries)
        ],
        {
            "query_id": "VARCHAR",
            "text": "VARCHAR",
            "narrative": "VARCHAR",
            "answer": "VARCHAR",
            "further_answers": "VARCHAR[]",
            "position": "INTEGER",
        },
    )
    _take_titles(cursor)
    added = cursor.execute(
        "INSERT INTO queries"
        " SELECT nextval('keys'), query_id, text, narrative, answer, further_answers FROM ( SELECT"
        " query_id, arg_min(text, position) AS text, arg_min(narrative, position) AS narrative,"
        " arg_min(answer, position) AS answer, arg_min(further_answers, position) FILTER"
        " (answer IS NOT NULL) AS further_answers, min(position) AS first"
        " FROM new_queries ANTI JOIN queries USING (query_id) GROUP BY query_id ORDER BY first)"
    ).fetchall()[0][0]
    changing = (
        "n.query_id = queries.query_id"
        " AND (n.text, n.narrative, n.answer, n.further_answers) IS DISTINCT FROM"
        " (queries.text, queries.narrative, queries.answer, queries.further_answers)"
        f" AND n.text <> n.query_id AND ({replace} OR queries.text = queries.query_id)"
    )
    if keeper is not None:
        keeper.keep_queries(
            f"SELECT queries.query_key FROM queries, new_queries n WHERE {changing}"
        )
    cursor.execute(
        "UPDATE queries SET text = n.text, narrative = coalesce(n.narrative, queries.narrative),"
        " answer = coalesce(n.answer, queries.answer),"
        " further_answers = coalesce(n.further_answers, queries.further_answers)"
        f" FROM new_queries n WHERE {changing}"
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
    "examinee": ("students", "name", False),
    "retrieval": ("retrievals", "name", False),
    "grader": ("graders", "name", False),
    "answer generator": ("generators", "name", False),
    "answer check": ("answer_judges", "name", False),
}
"""By kind of id or name: its table and column, and whether it must fit into a column of a TREC
file.
"""


def check_new(cursor: Cursor, what: str, names: Iterable[str]) -> None:
    """Refuse new ids or names that files cannot contain. Ids and names that the project already has
    are accepted.

    Raises:
        InputError: a new id or name has control characters, or white space in a column of a TREC
            file.
    """
    table, column, one_column = _NAMES[what]
    faults = _find_faults(set(names), one_column)
    if not faults:
        return
    names_present = cursor.execute(
        f"SELECT {column} FROM {table} WHERE list_contains(?, {column})",
        [[clean_text(name) for name in faults]],
    ).fetchall()
    for name in sorted(faults.keys() - {name for (name,) in names_present}):
        raise InputError(
            "invalid-name", f"The {what} {quote_name(name)} {faults[name]}.", "Use another name."
        )


def _find_faults(names: Collection[str], one_column: bool) -> dict[str, str]:
    """Return why names or ids are not allowed; allowed ones are left out."""
    if not names or all_plain(names):
        return {}
    return {name: fault for name in names if (fault := fault_of_id(name, one_column))}


def _clean_query(query: Query) -> Query:
    return Query(
        query.query_id,
        clean_text(query.text),
        clean_or_none(query.narrative),
        tuple(Subtopic(clean_text(s.subtopic_id), clean_text(s.text)) for s in query.subtopics),
        clean_or_none(query.answer),
        tuple(map(clean_text, query.further_answers)),
    )


def _take_titles(cursor: Cursor) -> None:
    """Move grades of direct grading from the id of a query to its new title, if the query had no
    text before.
    """
    cursor.execute(
        "UPDATE question_texts SET text = n.text FROM new_queries n JOIN queries USING (query_id)"
        " WHERE queries.text = query_id AND n.text <> query_id AND question_texts.text = query_id"
        " AND n.text NOT IN (SELECT text FROM question_texts WHERE text IS NOT NULL)"
        " AND question_texts.text_key NOT IN (SELECT text_key FROM question_revisions)"
    )


def _add_subtopics(
    cursor: Cursor, queries: Sequence[Query], replace: bool, keeper: ReplacedDataKeeper | None
) -> None:
    rows = [
        (q.query_id, s.subtopic_id, s.text, i) for q in queries for i, s in enumerate(q.subtopics)
    ]
    if not rows:
        return
    types = {
        "query_id": "VARCHAR",
        "subtopic_id": "VARCHAR",
        "text": "VARCHAR",
        "position": "INTEGER",
    }
    stage_rows(cursor, "new_subtopics", rows, types)
    cursor.execute(
        "INSERT INTO subtopics"
        " SELECT query_key, n.subtopic_id, arg_min(n.text, n.rowid), min(n.position)"
        " FROM new_subtopics n JOIN queries USING (query_id)"
        " ANTI JOIN subtopics s ON s.query_key = queries.query_key"
        " AND s.subtopic_id = n.subtopic_id GROUP BY query_key, n.subtopic_id ORDER BY min(n.rowid)"
    )
    # As with a query, a text that equals the id is replaced by any other.
    changing = (
        "queries.query_key = subtopics.query_key AND n.subtopic_id = subtopics.subtopic_id"
        f" AND n.text NOT IN (subtopics.text, n.subtopic_id) AND ({replace}"
        " OR subtopics.text = subtopics.subtopic_id)"
    )
    if keeper is not None:
        keeper.keep_subtopics(
            "SELECT (queries.query_key, n.subtopic_id) FROM subtopics, new_subtopics n"
            f" JOIN queries USING (query_id) WHERE {changing}"
        )
    cursor.execute(
        "UPDATE subtopics SET text = n.text FROM new_subtopics n JOIN queries USING (query_id)"
        f" WHERE {changing}"
    )


def unknown_queries(cursor: Cursor, query_ids: Iterable[str]) -> list[str]:
    """Return the ids that the project does not have, in the given order without repeats."""
    known = {query_id for (query_id,) in cursor.execute("SELECT query_id FROM queries").fetchall()}
    return [query_id for query_id in dict.fromkeys(query_ids) if query_id not in known]


def check_queries(project: Project, query_ids: Sequence[str]) -> list[str]:
    """Check that all ids are queries of the project, and return them.

    Raises:
        InputError: a query is unknown.
    """
    if unknown := project.read(lambda cursor: unknown_queries(cursor, query_ids)):
        raise InputError(
            "unknown-query",
            f"{how_many(len(unknown), 'unknown query ids')}: {first_few(unknown)}.",
            "Import these queries first, or leave them out.",
        )
    return list(query_ids)


def queries_of(project: Project) -> list[Query]:
    """Return the queries of a project with their subtopics, in order."""
    rows = project.rows(
        "SELECT query_key, subtopic_id, text FROM subtopics ORDER BY query_key, position"
    )
    subtopics = group_pairs((key, Subtopic(subtopic_id, text)) for key, subtopic_id, text in rows)
    return [
        Query(
            query_id, text, narrative, tuple(subtopics.get(key, ())), answer, tuple(further or ())
        )
        for key, query_id, text, narrative, answer, further in project.rows(
            "SELECT query_key, query_id, text, narrative, answer, further_answers FROM queries"
            " ORDER BY query_key"
        )
    ]


PASSAGES_A_BATCH = 5_000
CHARACTERS_A_BATCH = 1 << 21

_COLUMNS = {"row": "INTEGER", "passage_id": "VARCHAR", "text": "VARCHAR", "given": "VARCHAR"}


class PassageFiles(ParquetBuffer):
    """Passages of files, buffered with the columns of `passage_table`. Each has a row number,
    counted from 0.

    Args:
        folder: folder of the buffer file.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "passages.parquet", passage_table([], 0).schema)
        self.rows = 0
        """Number of passages so far."""
        self.faulty: set[str] = set()
        """Passage ids that are not valid in qrels."""
        self.unclean = False
        """Whether `clean_text` would change any text."""
        self._waiting: list[Passage] = []
        self._held = 0

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages. A passage with an empty text is known only by its id."""
        for passage in passages:
            self._waiting.append(passage)
            self.rows += 1
            self._held += len(passage.text)
            if len(self._waiting) >= PASSAGES_A_BATCH or self._held >= CHARACTERS_A_BATCH:
                self._write()

    def _write(self) -> None:
        if self._waiting:
            table = passage_table(self._waiting, self.rows - len(self._waiting))
            self.unclean |= table["given"].null_count < len(table)
            ids = [passage.passage_id for passage in self._waiting]
            self.faulty.update(_find_faults(ids, one_column=True))
            self._writer.write_table(table)
        self._waiting, self._held = [], 0


def passage_table(passages: Sequence[Passage], start: int) -> pa.Table:
    """Return passages as a table: `row`, `passage_id`, `text` and `given`.

    `text` is NULL for an empty text. `given` is the original text if `clean_text` changes it, else
    NULL.

    Args:
        start: row number of the first passage.
    """
    texts = [passage.text for passage in passages]
    columns: dict[str, Sequence[Any]] = {
        "row": range(start, start + len(passages)),
        "passage_id": [passage.passage_id for passage in passages],
        "text": texts,
        "given": [None] * len(texts),
    }
    if not all_clean(texts):
        clean = list(map(clean_text, texts))
        columns |= {"text": clean, "given": list(map(_given_text, texts, clean))}
    columns["text"] = [text or None for text in columns["text"]]
    return table_of(columns, _COLUMNS)


def _given_text(text: str, clean: str) -> str | None:
    if text == clean:
        return None
    # A table cannot hold halves of surrogate pairs, and no project has any.
    return text if text.encode(errors="ignore").decode() == text else None


def add_passages(
    cursor: Cursor, passages: Iterable[Passage], keeper: ReplacedDataKeeper | None = None
) -> int:
    """Add passages, or the texts of passages that are known only by id.

    Args:
        keeper: keeps the replaced texts; None refuses to replace texts.

    Returns:
        The number of passages that had no text before.

    Raises:
        InputError: a passage has two texts, the replaced text is in use, or the id of a new passage
            is not valid in qrels.
    """
    # Opening a project must not wait for the import of numpy.
    from ._writing_passages import write_passages

    listed = list(passages)
    check_new(cursor, "passage", (passage.passage_id for passage in listed))
    table = passage_table(listed, 0)
    with lend_table(cursor, "given_passages", table):
        unclean = table["given"].null_count < len(table)
        return write_passages(cursor, "given_passages", len(table), unclean, keeper).new


def add_kept_passages(
    cursor: Cursor, passage_files: PassageFiles, keeper: ReplacedDataKeeper | None = None
) -> WrittenPassages:
    """Add any number of passages from files as `add_passages` does; passages without a text are
    added last.

    Args:
        passage_files: the buffered passages, closed.
    """
    from ._writing_passages import write_passages

    check_new(cursor, "passage", passage_files.faulty)
    written = write_passages(
        cursor, passage_files.relation, passage_files.rows, passage_files.unclean, keeper
    )
    (textless,) = (written.text_keys == 0).nonzero()
    if len(textless):
        _name_textless(cursor, passage_files.relation, textless, written)
    return written


def _name_textless(
    cursor: Cursor, passages_sql: str, rows: NDArray[np.int64], written: WrittenPassages
) -> None:
    """Add passages without a text. Write their keys, and the keys of texts that the project has,
    into `written`.
    """
    with lend_table(cursor, "textless", number_table(row=rows)):
        of = f"(SELECT row, passage_id FROM {passages_sql} SEMI JOIN textless USING (row))"
        name_passages_of(cursor, of, "row")
        keys = cursor.execute(
            f"SELECT row, passage_key, coalesce(text_key, 0) AS text_key FROM {of} JOIN passages"
            " USING (passage_id)"
        ).fetchnumpy()
    written.keys[keys["row"]], written.text_keys[keys["row"]] = (
        keys["passage_key"],
        keys["text_key"],
    )


def kept_as_they_are(cursor: Cursor, texts: Iterable[str]) -> set[str]:
    """Return the unclean question texts that earlier versions stored unchanged. They stay, with
    their grades.
    """
    # The database cannot hold halves of surrogate pairs, nor be queried with them.
    storable = [text for text in texts if text.encode(errors="ignore").decode() == text]
    return {
        text
        for (text,) in cursor.execute(
            "SELECT text FROM question_texts WHERE list_contains(?, text)", [storable]
        ).fetchall()
    }


def name_passages_of(cursor: Cursor, table: str, place: str = "rowid") -> None:
    """Add every passage of a table that the project does not know yet.

    Args:
        table: table, or SQL for one, with a column `passage_id`.
        place: SQL of the order of its rows.
    """
    cursor.execute(
        "INSERT INTO passages SELECT nextval('keys'), passage_id, NULL FROM ("
        f" SELECT passage_id, min({place}) AS first FROM {table}"
        " ANTI JOIN passages USING (passage_id) GROUP BY passage_id ORDER BY first)"
    )


def passage_texts(project: Project, passage_ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of passages by id; passages without a text are left out."""
    return dict(
        project.rows(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE passage_id IN (SELECT unnest($ids))",
            {"ids": list(passage_ids)},
        )
    )
