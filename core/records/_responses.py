"""Generated responses: split into passages the size of a paragraph, ranked as runs, or used as gold
texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import Report, check_known
from ..sentences import split_sentences
from ..store import (
    COLLECTION,
    Cursor,
    Project,
    as_act,
    cached,
    log_action,
    stage_columns,
    stage_rows,
)
from ..types import Passage, Query, Ranked, Response, Sentence
from ._collection import add_passages, add_queries, unknown_queries
from ._judgments import refresh_pool
from ._replaced_data import ReplacedDataKeeper
from ._runs import run_names, write_runs

PASSAGE_WORDS = 120
"""Maximum number of words per passage of a response; half a sentence more is allowed."""

_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Part:
    """A passage of a response: its text, and its sentences as spans of that text."""

    text: str
    sentences: tuple[Sentence, ...]


def split_response(text: str, sentences: Sequence[Sentence] = ()) -> list[Part]:
    """Split a response into passages the size of a paragraph (exam-plus-plus, section 4.2), never
    inside a sentence.

    Consecutive paragraphs (separated by empty lines) share a passage if they fit. A longer
    paragraph is split into the smallest possible number of passages, of about equal length, so that
    no short remainder is left.

    Args:
        text: the response.
        sentences: its sentences as spans, in order. If empty, the text is split into sentences by
            rule.

    Returns:
        Passages in order, which together contain every sentence once; an empty list for a text
        without words.
    """
    cut = list(sentences) or [Sentence(begin, end) for begin, end in split_sentences(text)]
    parts: list[list[Sentence]] = []
    part_words = 0
    for paragraph in _split_paragraphs(text, cut):
        lengths = [count_words(text[s.begin : s.end]) for s in paragraph]
        words = sum(lengths)
        if parts and part_words + words <= PASSAGE_WORDS:
            parts[-1].extend(paragraph)
            part_words += words
            continue
        even = words / max(1, math.ceil(words / PASSAGE_WORDS))
        before, last = 0, -1
        for sentence, length in zip(paragraph, lengths, strict=True):
            # A sentence belongs to the passage that contains its middle.
            at = int((before + length / 2) / even) if even else 0
            if at > last:
                parts.append([])
                last, part_words = at, 0
            parts[-1].append(sentence)
            before += length
            part_words += length
    return [_make_part(text, part) for part in parts]


def count_words(text: str) -> int:
    """Count whitespace-separated words."""
    return len(text.split())


def _split_paragraphs(text: str, sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    paragraphs: list[list[Sentence]] = []
    end = 0
    for sentence in sentences:
        if not paragraphs or _PARAGRAPH.search(text, end, sentence.begin):
            paragraphs.append([])
        paragraphs[-1].append(sentence)
        end = sentence.end
    return paragraphs


def _make_part(text: str, sentences: Sequence[Sentence]) -> Part:
    start = sentences[0].begin
    moved = tuple(Sentence(s.begin - start, s.end - start, s.citations) for s in sentences)
    return Part(text[start : sentences[-1].end], moved)


def known_responses(
    cursor: Cursor, responses: Sequence[Response], report: Report, skip_unknown: bool
) -> list[Response]:
    """Return the responses to known queries. A query is added if a response includes its text.

    Args:
        report: collects an error for each unknown query, or a single remark with `skip_unknown`.
        skip_unknown: whether to leave out responses to unknown queries instead of an error.
    """
    first_of: dict[str, Response] = {}
    texts: dict[str, str] = {}
    for response in responses:
        first_of.setdefault(response.query_id, response)
        if response.query_text:
            texts.setdefault(response.query_id, response.query_text)
    if not skip_unknown:
        add_queries(cursor, [Query(*query) for query in texts.items()], replace=False)
    unknown = dict.fromkeys(unknown_queries(cursor, first_of))
    for query_id in unknown:
        first = first_of[query_id]
        if skip_unknown:
            report.remark(
                first.file,
                first.line,
                "unknown-query",
                "left out because the query is not in the project",
            )
        else:
            report.refuse(
                first.file,
                first.line,
                "unknown-query",
                f"query {query_id} is not in the project, and the file does not give its text",
            )
    return [response for response in responses if response.query_id not in unknown]


def write_responses(
    cursor: Cursor,
    responses: Sequence[Response],
    report: Report,
    keeper: ReplacedDataKeeper | None = None,
) -> dict[str, int]:
    """Store the responses of each system as a run, whose ranking is its passages in order.

    Passages get the ids RUN/QUERY/1 and so on. New responses of a system replace its earlier ones.
    A passage whose text changed gets the id RUN/QUERY/1~2, because the text of an id never changes.
    If a retrieval run has the name of the system, the run of responses is called NAME-responses.

    Args:
        keeper: keeps replaced data; None discards it.

    Returns:
        Numbers of runs, responses and passages.
    """
    names = _run_names(cursor, responses, report)
    parts = [(names[r.run], r, split_response(r.text, r.sentences)) for r in responses]
    placed = place_parts(cursor, [(name, r.query_id, split) for name, r, split in parts], keeper)
    rankings: dict[str, list[Ranked]] = {name: [] for name in names.values()}
    for (name, response, split), ids in zip(parts, placed, strict=True):
        rankings[name].extend(
            Ranked(response.query_id, passage_id, rank, float(len(split) - rank + 1))
            for rank, passage_id in enumerate(ids, 1)
        )
    files = {names[r.run]: (r.run, re.split(r"[/\\]", r.file)[-1]) for r in reversed(responses)}
    write_runs(cursor, rankings, [(name, *files[name]) for name in rankings], keeper)
    _write_lengths(cursor, [(name, r.query_id, count_words(r.text)) for name, r, _ in parts])
    return {
        "runs": len(rankings),
        "responses": len(parts),
        "passages of responses": sum(map(len, placed)),
    }


def _run_names(cursor: Cursor, responses: Sequence[Response], report: Report) -> dict[str, str]:
    """Return the name of each system's run in the project."""
    # New responses replace only earlier responses of the same system, never a retrieval run or
    # those of another system.
    owners = dict(
        cursor.execute(
            "SELECT name, CASE WHEN run_key IN (SELECT run_key"
            " FROM responses) THEN tag END FROM runs"
        ).fetchall()
    )
    names: dict[str, str] = {}
    for response in responses:
        if response.run not in names:
            name = response.run
            while owners.get(name, response.run) != response.run or name in names.values():
                name += "-responses"
            names[response.run] = name
            if name != response.run:
                reason = f"another run is named {response.run}, so the responses are named {name}"
                report.remark(response.file, response.line, "responses-renamed", reason)
    return names


def place_parts(
    cursor: Cursor,
    responses: Sequence[tuple[str, str, Sequence[Part]]],
    keeper: ReplacedDataKeeper | None = None,
) -> list[list[str]]:
    """Add the passages of responses, with their sentences and citations.

    Args:
        responses: for each response: run, query id and passages.
        keeper: keeps replaced sentences; None discards them.

    Returns:
        The ids of the passages of each response.
    """
    to_place = [
        (f"{run}/{query_id}/{number}", part)
        for run, query_id, parts in responses
        for number, part in enumerate(parts, 1)
    ]
    ids = _free_ids(cursor, [(passage_id, part.text) for passage_id, part in to_place])
    add_passages(
        cursor, [Passage(i, part.text) for i, (_, part) in zip(ids, to_place, strict=True)]
    )
    rows = {
        (passage_id, position): (
            passage_id,
            position,
            sentence.begin,
            sentence.end,
            sentence.citations,
        )
        for passage_id, (_, part) in zip(ids, to_place, strict=True)
        for position, sentence in enumerate(part.sentences, 1)
    }
    stage_rows(
        cursor,
        "new_sentences",
        list(rows.values()),
        {
            "passage_id": "VARCHAR",
            "position": "INTEGER",
            "begins": "INTEGER",
            "ends": "INTEGER",
            "citations": "VARCHAR[]",
        },
    )
    resaid = "SELECT passage_key FROM passages SEMI JOIN new_sentences USING (passage_id)"
    if keeper is not None:
        keeper.keep_sentences(resaid)
    cursor.execute(f"DELETE FROM response_sentences WHERE passage_key IN ({resaid})")
    cursor.execute(
        "INSERT INTO response_sentences SELECT passage_key, position, begins, ends, citations"
        " FROM new_sentences JOIN passages USING (passage_id) ORDER BY passage_key, position"
    )
    stream = iter(ids)
    return [[next(stream) for _ in parts] for _, _, parts in responses]


def _free_ids(cursor: Cursor, wanted_ids: Sequence[tuple[str, str]]) -> list[str]:
    """Return a passage id for each text: the wanted id, or its next revision if another text has
    the wanted id.
    """
    ids: list[str] = [passage_id for passage_id, _ in wanted_ids]
    texts_taken: dict[str, str] = {}
    open_, revision = list(range(len(wanted_ids))), 1
    while open_:
        stage_columns(
            cursor, "wanted_ids", {"passage_id": [ids[i] for i in open_]}, {"passage_id": "VARCHAR"}
        )
        texts_taken |= dict(
            cursor.execute(
                "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
                " SEMI JOIN wanted_ids USING (passage_id)"
            ).fetchall()
        )
        clashing = [
            i for i in open_ if texts_taken.setdefault(ids[i], wanted_ids[i][1]) != wanted_ids[i][1]
        ]
        revision += 1
        for i in clashing:
            ids[i] = f"{wanted_ids[i][0]}~{revision}"
        open_ = clashing
    return ids


def _write_lengths(cursor: Cursor, rows: Sequence[tuple[str, str, int]]) -> None:
    stage_rows(
        cursor, "new_responses", rows, {"run": "VARCHAR", "query_id": "VARCHAR", "words": "INTEGER"}
    )
    cursor.execute(
        "DELETE FROM responses WHERE run_key IN (SELECT run_key FROM runs JOIN new_responses n"
        " ON n.run = runs.name)"
    )
    cursor.execute(
        "INSERT INTO responses SELECT run_key, query_key, words"
        " FROM new_responses n JOIN runs ON runs.name = n.run JOIN queries USING (query_id)"
        " ORDER BY run_key, query_key"
    )


@dataclass(frozen=True)
class ResponseRun:
    """A generating system, with its numbers of responses, words, passages, sentences, and sentences
    with citations.
    """

    run: str
    responses: int
    words: int
    passages: int
    sentences: int
    cited: int


def response_runs(project: Project) -> list[ResponseRun]:
    """Return the systems with imported responses, in the order of their import."""
    return [
        ResponseRun(*row)
        for row in project.rows(
            "WITH sizes AS (SELECT run_key, count(*) AS responses, sum(words)::BIGINT AS words"
            " FROM responses"
            "  GROUP BY run_key)"
            " SELECT name, responses, words, count(DISTINCT passage_key), count(position),"
            " count(position) FILTER (len(citations) > 0) FROM sizes JOIN runs USING (run_key)"
            " JOIN rankings USING (run_key) LEFT JOIN response_sentences USING (passage_key)"
            " GROUP BY run_key, name, responses, words ORDER BY run_key"
        )
    ]


IMPORTED = "gold"
"""Name of imported gold texts, also in the ids of their passages: gold/QUERY/1."""

GOLD = (
    "(SELECT query_key, passage_key, position FROM gold_passages UNION ALL"
    " SELECT query_key, passage_key, rank AS position FROM rankings JOIN gold_runs USING (run_key)"
    "  SEMI JOIN pool USING (query_key, passage_key))"
)
"""Subquery for the passages of the gold texts: query_key, passage_key, position. For a run, only
pooled passages.
"""


def write_gold(
    cursor: Cursor,
    responses: Sequence[Response],
    report: Report,
    keeper: ReplacedDataKeeper | None = None,
) -> dict[str, int]:
    """Store texts as the gold texts, split into passages; they replace the earlier gold texts.

    Args:
        responses: one text per query.
        report: collects an error for each query with several texts. With an error nothing is
            written.
        keeper: keeps the replaced texts; None discards them.

    Returns:
        Numbers of gold texts and of their passages.
    """
    seen: dict[str, Response] = {}
    for response in responses:
        first = seen.setdefault(response.query_id, response)
        if first is not response:
            reason = (
                f"query {response.query_id} already has a gold text (run {first.run}); only one"
                " per query is allowed"
            )
            report.refuse(response.file, response.line, "duplicate-gold-text", reason)
    if report.count:
        return {}
    placed = place_parts(
        cursor,
        [(IMPORTED, r.query_id, split_response(r.text, r.sentences)) for r in responses],
        keeper,
    )
    rows = [
        (response.query_id, passage_id, position)
        for response, ids in zip(responses, placed, strict=True)
        for position, passage_id in enumerate(ids, 1)
    ]
    stage_rows(
        cursor,
        "new_gold",
        rows,
        {"query_id": "VARCHAR", "passage_id": "VARCHAR", "position": "INTEGER"},
    )
    _clear_gold(cursor, keeper)
    cursor.execute(
        "INSERT INTO gold_passages SELECT query_key, passage_key, position"
        " FROM new_gold JOIN queries USING (query_id) JOIN passages USING (passage_id)"
        " ORDER BY query_key, position"
    )
    return {"gold texts": len(responses), "passages of gold texts": len(rows)}


def mark_gold(project: Project, run: str | None, author: str) -> None:
    """Use a run as the gold texts, instead of the earlier gold texts; None ends the use of a run.

    The run stays on the leaderboards. If the cutoff covers all of its passages, its n-EXAM is 1.
    It can differ if the pool depth was lowered after deeper passages had been graded.

    Raises:
        InputError: unknown run.
    """
    with project.transaction() as cursor:
        known = run_names(project)
        check_known("unknown-run", "run", known, run, hint="" if known else "Import runs first.")
        keeper = ReplacedDataKeeper(cursor)
        _clear_gold(cursor, keeper)
        cursor.execute("INSERT INTO gold_runs SELECT run_key FROM runs WHERE name = ?", [run])
        refresh_pool(cursor)
        keeper.record(keeper.discard_unchanged(), log_action(cursor, author, "mark gold", run=run))


def _clear_gold(cursor: Cursor, keeper: ReplacedDataKeeper | None) -> None:
    if keeper is not None:
        runs = cursor.execute("SELECT name FROM runs JOIN gold_runs USING (run_key)").fetchall()
        keeper.keep("gold", f"run {runs[0][0]}" if runs else "imported texts")
    for table in ("gold_passages", "gold_runs"):
        cursor.execute(f"DELETE FROM {table}")


@as_act("see boards")
def gold_name(project: Project) -> str | None:
    """Return the name of the gold texts: a run, `gold` for imported texts, or None without gold
    texts.
    """
    run = project.value("SELECT name FROM runs JOIN gold_runs USING (run_key)")
    if run is not None:
        return str(run)
    return IMPORTED if project.value("SELECT count(*) FROM gold_passages") else None


def gold_texts(project: Project) -> dict[str, str]:
    """Return the gold text of each query that has one, by query id: its passages, separated by
    empty lines.
    """
    return dict(
        project.rows(
            "SELECT query_id, string_agg(passage_texts.text, chr(10) || chr(10) ORDER BY position)"
            f" FROM {GOLD} JOIN passages USING (passage_key) JOIN passage_texts USING (text_key)"
            " JOIN queries USING (query_key) GROUP BY query_key, query_id ORDER BY query_key"
        )
    )


@dataclass(frozen=True)
class Length:
    """Means over the queries that a system answered.

    Args:
        words: mean number of words in the top k passages; a passage without a known text has 0
            words.
        passages: mean number of these passages, at most k.
    """

    words: float
    passages: float


@cached(COLLECTION)
def run_lengths(project: Project, cutoff: int) -> dict[str, Length]:
    """Return the mean words and passages per query of each run down to a cutoff, by run.

    Words are separated by spaces and line ends. A split response counts the words of its original
    text, if it has no more passages than the cutoff.
    """
    return {
        run: Length(words, passages)
        for run, words, passages in project.rows(
            "WITH top AS (SELECT run_key, query_key, text_key FROM rankings"
            " JOIN passages USING (passage_key)"
            "  WHERE rank <= ?), plain AS (SELECT text_key,"
            " translate(text, chr(9) || chr(10) || chr(13) || chr(160), '    ') AS text"
            "  FROM passage_texts SEMI JOIN top USING (text_key)), sizes AS (SELECT text_key,"
            " len(list_filter(string_split(text, ' '), lambda w: w <> '')) AS words"
            "  FROM plain), spent AS (SELECT run_key, query_key, coalesce(sum(words), 0) AS words,"
            " count(*) AS passages"
            "  FROM top LEFT JOIN sizes USING (text_key) GROUP BY ALL)"
            " SELECT name, avg(words), avg(passages) FROM spent JOIN runs USING (run_key)"
            " GROUP BY run_key, name ORDER BY run_key",
            [cutoff],
        )
    }
