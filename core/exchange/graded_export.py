"""Export of the graded file of a project, a query at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..bank import questions
from ..catalogue import graders
from ..grading import NO_USABLE_RATING
from ..project import Project, queries_of, visible
from ..types import (
    SEPARATOR,
    GradeColumns,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Question,
    Ranked,
)

_DETAILS = tuple(field.name for field in fields(GradeDetail))
_GRADES = (
    "SELECT grader_key, question_text_key, passage_text_key, rating, answer, defaulted, confidence, raw,"
    " NULL AS reason, note FROM grades"
)
_FAILURES = (
    # A failed reply takes the place of the answer. A reason that adds nothing is left out.
    "SELECT grader_key, question_text_key, passage_text_key, NULL, arg_max_null(raw, rowid), false, NULL, NULL,"
    f" nullif(arg_max(reason, rowid), '{NO_USABLE_RATING}'), NULL FROM failures"
    " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) GROUP BY 1, 2, 3"
)


def graded_queries(project: Project, source: str | None) -> Iterator[GradedQuery]:
    """Yield a line for every query with passages. The rankings and judgments of a topic are in the line of its query.

    Args:
        source: the judgments to include; None for no judgments.
    """
    specs = {grader.key: grader.spec for grader in graders(project)}
    topics = _topics(project)
    placed = {key for members in topics.values() for key in members}
    asked = _asked(project)
    said = f"{_GRADES} UNION ALL {_FAILURES}" if project.rows("SELECT 1 FROM failures LIMIT 1") else _GRADES
    banked: dict[str, list[Question]] = {}
    for question in questions(project):
        banked.setdefault(question.query_id, []).append(question)
    known = queries_of(project)
    # Queries that are added meanwhile are only in the result of this second call.
    keys = dict(project.rows("SELECT query_id, query_key FROM queries"))
    queries = [
        (keys[query.query_id], query)
        for query in known
        if keys[query.query_id] not in placed or query.query_id in banked
    ]
    # A topic with questions of its own has a line for them; its rankings and judgments are in its query's line.
    stated = {
        key: {} if key in placed else {key: query.query_id} | topics.get(key, {}) for key, query in queries
    }  # fmt: skip
    some = _queries_at_once(project)
    for first in range(0, len(queries), some):
        part = queries[first : first + some]
        rankings = _rankings(project, {key: stated[key] for key, _ in part})
        for key, query in part:
            passages = _passages(project, {key: query.query_id} | topics.get(key, {}))
            if not passages:
                continue
            yield GradedQuery(
                query=query,
                passages=[Passage(passage_id, text) for passage_id, text, _ in passages],
                judgments=_judgments(project, stated[key], source),
                rankings=rankings.get(key, {}),
                questions=banked.get(query.query_id, []),
                grades=_grades(project, query.query_id, asked.get(key, []), passages, specs, said),
            )


def _topics(project: Project) -> dict[int, dict[int, str]]:
    """Return the topics of queries, key by id, by the key of their query; each topic once."""
    found: dict[int, dict[int, str]] = {}
    for query, topic, topic_id in project.rows(
        "SELECT min(t.query_key), topic_key, query_id FROM topics() t JOIN queries q ON q.query_key = topic_key"
        " GROUP BY topic_key, query_id ORDER BY topic_key"
    ):
        found.setdefault(query, {})[topic] = topic_id
    return found


_OF_QUERIES = "query_key BETWEEN $least AND $most AND list_contains($queries, query_key)"
"""SQL condition for rows of some queries. The range is tested first because searching a list for every row is slow."""


def _of(members: Mapping[int, str]) -> dict[str, Any]:
    return {"queries": list(members), "least": min(members, default=0), "most": max(members, default=-1)}


def _passages(project: Project, members: Mapping[int, str]) -> list[tuple[str, str, int | None]]:
    """Return the pooled passages of queries: ids, texts, and the keys of the texts."""
    return project.rows(
        "SELECT passage_id, coalesce(any_value(t.text), ''), any_value(pool.text_key)"
        " FROM pool JOIN passages USING (passage_key) LEFT JOIN passage_texts t ON t.text_key = pool.text_key"
        f" WHERE {_OF_QUERIES}"
        " GROUP BY passage_id ORDER BY min((list_position($queries, query_key), position))",
        _of(members),
    )


def _judgments(project: Project, members: Mapping[int, str], source: str | None) -> list[Judgment]:
    return [
        Judgment(members[query], passage_id, value)
        for query, passage_id, value in project.rows(
            f"SELECT query_key, passage_id, value FROM {visible(project, 'judgments')} JOIN sources USING (source_key)"
            " JOIN passages USING (passage_key) JOIN pool USING (query_key, passage_key)"
            f" WHERE {_OF_QUERIES} AND name = $source"
            " ORDER BY list_position($queries, query_key), position",
            _of(members) | {"source": source},
        )
    ]


RANKED_AT_ONCE = 100_000
"""Ranked passages per read, roughly. The rows of a query are scattered, so every read scans the whole table."""


def _queries_at_once(project: Project) -> int:
    ranked, queries = project.rows("SELECT count(*), greatest(count(DISTINCT query_key), 1) FROM rankings")[0]
    return max(1, RANKED_AT_ONCE * int(queries) // max(int(ranked), 1))


def _rankings(project: Project, lines: Mapping[int, Mapping[int, str]]) -> dict[int, dict[str, list[Ranked]]]:
    """Return the pooled part of runs' rankings, by line and run; the ranks are those of the whole ranking.

    Args:
        lines: ids by keys of the queries of each line. No query is in two lines.
    """
    line_of = {query: line for line, members in lines.items() for query in members}
    ids = {query: query_id for members in lines.values() for query, query_id in members.items()}
    found: dict[int, dict[str, list[Ranked]]] = {}
    for run, query, passage_id, rank, score in project.rows(
        "SELECT name, query_key, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
        " JOIN passages USING (passage_key) SEMI JOIN pool USING (query_key, passage_key)"
        f" WHERE {_OF_QUERIES} ORDER BY run_key, list_position($queries, query_key), rank",
        _of(ids),
    ):
        found.setdefault(line_of[query], {}).setdefault(run, []).append(Ranked(ids[query], passage_id, rank, score))
    return found


Asked = list[tuple[str, int]]
"""Ids of questions, or of the query itself, with the keys of the texts that graders were asked."""


def _asked(project: Project) -> dict[int, Asked]:
    """Return the texts that graders were asked about every query, by its key, in the order of the texts.

    One statement for all queries: planning it for a single query takes longer than fetching its grades.
    """
    separator = f"chr({ord(SEPARATOR)})"
    found: dict[int, Asked] = {}
    for query, question_id, text_key in project.rows(
        "WITH wordings AS (SELECT query_key, question_id, text_key, text, answer_key, choices FROM question_revisions"
        "  JOIN questions USING (question_key) JOIN question_texts USING (text_key)"
        "  QUALIFY row_number() OVER (PARTITION BY question_key ORDER BY version DESC) = 1"
        "  UNION ALL SELECT query_key, query_id, NULL, t.text, t.answer, '[]' FROM titles() t"
        "  JOIN queries USING (query_key)),"
        " read AS (SELECT DISTINCT query_key, question_id, w.text_key AS own, t.text_key FROM (SELECT *, unnest(["
        f"   CASE WHEN text_key IS NULL THEN text END, concat_ws({separator}, text, answer_key),"
        f"   concat_ws({separator}, text, answer_key, choices)]) AS asked FROM wordings"
        "   WHERE text_key IS NULL OR answer_key <> '') w JOIN question_texts t ON t.text = w.asked)"
        " SELECT query_key, question_id, text_key FROM wordings WHERE text_key IS NOT NULL"
        " UNION ALL SELECT query_key, question_id, text_key FROM read ORDER BY query_key, text_key, question_id"
    ):
        found.setdefault(query, []).append((question_id, text_key))
    return found


def _grades(
    project: Project,
    query_id: str,
    asked: Asked,
    passages: Sequence[tuple[str, str, int | None]],
    specs: Mapping[int, GraderSpec],
    said: str,
) -> list[GradeColumns]:
    """Return the grades of a query's passages, grader by grader, in the order of passages and of `asked`.

    Args:
        said: SQL for all grades and failures.
    """
    texts = {passage_id: key for passage_id, _, key in passages if key is not None}
    if not asked or not texts:
        return []
    found = project.table(
        "SELECT grader_key, asked, passage, rating, answer, defaulted, confidence, raw, reason, note"
        " FROM (SELECT unnest($asked::INTEGER[]) AS question_text_key, generate_subscripts($asked, 1) AS asked)"
        f" JOIN ({said}) USING (question_text_key) JOIN"
        " (SELECT unnest($texts::INTEGER[]) AS passage_text_key, generate_subscripts($texts, 1) AS passage)"
        " USING (passage_text_key) ORDER BY passage, grader_key, asked",
        {"asked": [key for _, key in asked], "texts": list(texts.values())},
    )
    ids = np.array([question_id for question_id, _ in asked], object)
    numbers, keys = found["asked"].to_numpy() - 1, found["grader_key"].to_numpy()
    # A direct grader was asked the query itself, every other grader a question.
    direct = [key for key, spec in specs.items() if spec.method == "direct"]
    meant = (ids == query_id)[numbers] == np.isin(keys, direct)
    named = np.array(list(texts), object)
    columns = []
    for key in np.unique(keys[meant]).tolist():
        rows = np.flatnonzero(meant & (keys == key))
        own = found if len(rows) == len(found) else found.take(pa.array(rows))
        columns.append(_columns(specs[key], ids[numbers[rows]], named[own["passage"].to_numpy() - 1], own))
    return columns


def _columns(spec: GraderSpec, asked: np.ndarray, passages: np.ndarray, found: pa.Table) -> GradeColumns:
    """Return a grader's grades as columns, with the ids of the questions and passages."""
    told = {name: _is_told(found[name]) for name in _DETAILS}
    told = {name: where for name, where in told.items() if pc.any(where).as_py()}
    details = {}
    if told:
        rows = pc.indices_nonzero(reduce(pc.or_, told.values()))
        values = zip(*(found[name].take(rows).to_pylist() for name in told), strict=True)
        details = {
            row: GradeDetail(**dict(zip(told, one, strict=True)))
            for row, one in zip(rows.to_pylist(), values, strict=True)
        }
    rating = found["rating"]
    return GradeColumns(
        spec,
        asked.tolist(),
        passages.tolist(),
        rating.to_pylist() if rating.null_count else rating.to_numpy().tolist(),
        found["answer"].to_numpy().tolist(),
        details,
    )


def _is_told(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the mask of the rows of a column that hold a detail."""
    return column if pa.types.is_boolean(column.type) else column.is_valid()
