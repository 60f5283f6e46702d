"""Exports of a project: qrels, the bank, a graded file, leaderboards, runs, and files for
AutoJudge's tools.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from ..bank import (
    bank_for,
    check_version,
    how_to_grade,
    label_graders,
    list_questions,
    unsealed_questions,
)
from ..errors import InputError
from ..formats import (
    ANY_ANSWER,
    OURS,
    REPORT,
    SENTENCE_KEYS,
    Source,
    TableRow,
    graded_files,
    query_files as queries,
    question_bank_files,
    text_hash,
    trec_files,
    write_board_form,
    write_board_latex,
    write_board_tsv,
    write_nugget_banks,
    write_objects,
)
from ..grading import NO_USABLE_RATING
from ..grouping import group_pairs
from ..labels import Basis, Leaderboard, Policy, basis, grading_progress, label_qrels
from ..locations import is_reserved
from ..records import (
    SEALED,
    find_source,
    judgment_sources,
    kept_objects,
    queries_of,
    sealed_questions,
    source_judgments,
    visible_rows,
)
from ..store import Project, log_readonly_action
from ..text import clean_text, written_text
from ..types import (
    SEPARATOR,
    GradeColumns,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Ranked,
)

_OLDEST = (1980, 1, 1, 0, 0, 0)


def write_zip(
    files: Mapping[str, bytes] | Mapping[str, bytes | Path], out: BinaryIO | Path
) -> None:
    """Write a zip whose bytes depend only on the files' names and contents.

    Args:
        files: content, or the file to read it from, by name.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, _OLDEST)
            # Files are assumed to be compressed already, as Parquet is.
            info.compress_type = (
                zipfile.ZIP_DEFLATED if isinstance(content, bytes) else zipfile.ZIP_STORED
            )
            info.external_attr = 0o644 << 16
            # Otherwise the zip would record the operating system.
            info.create_system = 3
            if isinstance(content, bytes):
                archive.writestr(info, content)
                continue
            info.file_size = content.stat().st_size
            with content.open("rb") as source, archive.open(info, "w") as member:
                while part := source.read(1 << 20):
                    member.write(part)


def check_file_name(name: str) -> str:
    """Return the id of a run or query if it can be the name of a file.

    Raises:
        InputError: it cannot.
    """
    if Source(name).stem != name or not re.fullmatch(r"[\w+-][\w.+-]*", name) or is_reserved(name):
        raise InputError(
            "id-not-a-file-name",
            f"The id {name!r} cannot be the name of a file.",
            "Export in another form.",
        )
    return name


def zip_bytes(files: Mapping[str, bytes] | Mapping[str, bytes | Path]) -> bytes:
    """Return the content of a zip as `write_zip` writes it."""
    out = io.BytesIO()
    write_zip(files, out)
    return out.getvalue()


_DETAILS = tuple(field.name for field in fields(GradeDetail))
_GRADES = (
    "SELECT grader_key, question_text_key, passage_text_key, rating, answer, defaulted, confidence,"
    " raw, NULL AS reason, note FROM grades"
)
_FAILURES = (
    # A failed reply takes the place of the answer. A reason that adds nothing is left out.
    "SELECT grader_key, question_text_key, passage_text_key, NULL, arg_max_null(raw, rowid), false,"
    f" NULL, NULL, nullif(arg_max(reason, rowid), '{NO_USABLE_RATING}'), NULL FROM failures"
    " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) GROUP BY 1, 2, 3"
)


def graded_queries(project: Project, source: str | None) -> Iterator[GradedQuery]:
    """Yield a line for every query with passages. The rankings and judgments of a topic are in the
    line of its query.

    Args:
        source: the judgments to include; None for no judgments.
    """
    specs = {grader.key: grader.spec for grader in label_graders(project)}
    topics = _topics_by_query(project)
    placed = {key for members in topics.values() for key in members}
    asked_texts = _asked_texts(project)
    grades_sql = (
        f"{_GRADES} UNION ALL {_FAILURES}"
        if project.rows("SELECT 1 FROM failures LIMIT 1")
        else _GRADES
    )
    banked = group_pairs(
        (question.query_id, question)
        for question in unsealed_questions(project, list_questions(project))
    )
    all_queries = queries_of(project)
    # Queries that are added meanwhile are only in the result of this second call.
    keys = dict(project.rows("SELECT query_id, query_key FROM queries"))
    queries = [
        (keys[query.query_id], query)
        for query in all_queries
        if keys[query.query_id] not in placed or query.query_id in banked
    ]
    # A topic with questions of its own has a line for them. Its rankings and judgments are in its
    # query's line.
    stated = {
        key: {} if key in placed else {key: query.query_id} | topics.get(key, {})
        for key, query in queries
    }
    some = _queries_at_once(project)
    for first in range(0, len(queries), some):
        part = queries[first : first + some]
        rankings = _pooled_rankings(project, {key: stated[key] for key, _ in part})
        for key, query in part:
            passages = _pooled_passages(project, {key: query.query_id} | topics.get(key, {}))
            if not passages:
                continue
            yield GradedQuery(
                query=query,
                passages=[Passage(passage_id, text) for passage_id, text, _ in passages],
                judgments=_pooled_judgments(project, stated[key], source),
                rankings=rankings.get(key, {}),
                questions=banked.get(query.query_id, []),
                grades=_query_grades(
                    project, query.query_id, asked_texts.get(key, []), passages, specs, grades_sql
                ),
            )


def _topics_by_query(project: Project) -> dict[int, dict[int, str]]:
    """Return the topics of queries, key by id, by the key of their query; each topic once."""
    return dict(
        project.rows(
            "SELECT query, map_from_entries(list((topic_key, query_id) ORDER BY topic_key)) FROM"
            " (SELECT min(t.query_key) AS query, topic_key, query_id FROM topics() t"
            "  JOIN queries q ON q.query_key = topic_key GROUP BY topic_key, query_id)"
            " GROUP BY query ORDER BY query"
        )
    )


_OF_QUERIES = "query_key BETWEEN $least AND $most AND list_contains($queries, query_key)"
"""SQL condition for rows of some queries. The range is tested first because searching a list for
every row is slow.
"""


def _query_parameters(members: Mapping[int, str]) -> dict[str, Any]:
    return {
        "queries": list(members),
        "least": min(members, default=0),
        "most": max(members, default=-1),
    }


def _pooled_passages(
    project: Project, members: Mapping[int, str]
) -> list[tuple[str, str, int | None]]:
    """Return the pooled passages of queries: ids, texts, and the keys of the texts."""
    return project.rows(
        "SELECT passage_id, coalesce(any_value(t.text), ''), any_value(pool.text_key) FROM pool"
        " JOIN passages USING (passage_key) LEFT JOIN passage_texts t ON t.text_key = pool.text_key"
        f" WHERE {_OF_QUERIES} GROUP BY passage_id"
        " ORDER BY min((list_position($queries, query_key), position))",
        _query_parameters(members),
    )


def _pooled_judgments(
    project: Project, members: Mapping[int, str], source: str | None
) -> list[Judgment]:
    return [
        Judgment(members[query], passage_id, value)
        for query, passage_id, value in project.rows(
            f"SELECT query_key, passage_id, value FROM {visible_rows(project, 'judgments')}"
            " JOIN sources USING (source_key) JOIN passages USING (passage_key)"
            f" JOIN pool USING (query_key, passage_key) WHERE {_OF_QUERIES} AND name = $source"
            " ORDER BY list_position($queries, query_key), position",
            _query_parameters(members) | {"source": source},
        )
    ]


RANKED_AT_ONCE = 100_000
"""Ranked passages per read, roughly. The rows of a query are scattered, so every read scans the
whole table.
"""


def _queries_at_once(project: Project) -> int:
    ranked, queries = project.rows(
        "SELECT count(*), greatest(count(DISTINCT query_key), 1) FROM rankings"
    )[0]
    return max(1, RANKED_AT_ONCE * int(queries) // max(int(ranked), 1))


def _pooled_rankings(
    project: Project, lines: Mapping[int, Mapping[int, str]]
) -> dict[int, dict[str, list[Ranked]]]:
    """Return the pooled part of runs' rankings, by line and run; the ranks are those of the whole
    ranking.

    Args:
        lines: ids by keys of the queries of each line. No query is in two lines.
    """
    line_of = {query: line for line, members in lines.items() for query in members}
    ids = {query: query_id for members in lines.values() for query, query_id in members.items()}
    by_line: dict[int, dict[str, list[Ranked]]] = {}
    for run, query, passage_id, rank, score in project.rows(
        "SELECT name, query_key, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
        " JOIN passages USING (passage_key) SEMI JOIN pool USING (query_key, passage_key)"
        f" WHERE {_OF_QUERIES} ORDER BY run_key, list_position($queries, query_key), rank",
        _query_parameters(ids),
    ):
        by_line.setdefault(line_of[query], {}).setdefault(run, []).append(
            Ranked(ids[query], passage_id, rank, score)
        )
    return by_line


Asked = list[tuple[str, int]]
"""Ids of questions, or of the query itself, with the keys of the texts that graders were asked."""


def _asked_texts(project: Project) -> dict[int, Asked]:
    """Return the texts that graders were asked about every query, by its key, in the order of the
    texts.

    One statement for all queries: planning it for a single query takes longer than fetching its
    grades.
    """
    separator = f"chr({ord(SEPARATOR)})"
    rows = project.rows(
        "WITH wordings AS (SELECT query_key, question_id, text_key, text, answer_key, choices"
        " FROM question_revisions"
        "  JOIN questions USING (question_key) JOIN question_texts USING (text_key)"
        "  QUALIFY row_number() OVER (PARTITION BY question_key ORDER BY version DESC) = 1"
        "  UNION ALL SELECT query_key, query_id, NULL, t.text, t.answer, '[]' FROM titles() t"
        "  JOIN queries USING (query_key)),"
        " read AS (SELECT DISTINCT query_key, question_id, w.text_key AS own, t.text_key"
        " FROM (SELECT *, unnest(["
        f"   CASE WHEN text_key IS NULL THEN text END, concat_ws({separator}, text, answer_key),"
        f"   concat_ws({separator}, text, answer_key, choices)]) AS asked FROM wordings"
        "   WHERE text_key IS NULL OR answer_key <> '') w"
        " JOIN question_texts t ON t.text = w.asked)"
        " SELECT query_key, list((question_id, text_key) ORDER BY text_key, question_id)"
        " FROM (SELECT query_key, question_id, text_key FROM wordings WHERE text_key IS NOT NULL"
        "  UNION ALL SELECT query_key, question_id, text_key FROM read)"
        " WHERE NOT list_contains($sealed::VARCHAR[], question_id) GROUP BY query_key",
        {"sealed": list(sealed_questions(project))},
    )
    return dict(rows)


def _query_grades(
    project: Project,
    query_id: str,
    questions: Asked,
    passages: Sequence[tuple[str, str, int | None]],
    specs: Mapping[int, GraderSpec],
    grades_sql: str,
) -> list[GradeColumns]:
    """Return the grades of a query's passages, grader by grader, in the order of passages and of
    `questions`.

    Args:
        grades_sql: SQL for all grades and failures.
    """
    texts = {passage_id: key for passage_id, _, key in passages if key is not None}
    if not questions or not texts:
        return []
    table = project.table(
        "SELECT grader_key, asked, passage, rating, answer, defaulted, confidence, raw, reason,"
        " note, defaulted OR confidence IS NOT NULL OR raw IS NOT NULL OR reason IS NOT NULL"
        " OR note IS NOT NULL AS detailed"
        " FROM (SELECT unnest($asked::INTEGER[]) AS question_text_key,"
        f" generate_subscripts($asked, 1) AS asked) JOIN ({grades_sql}) USING (question_text_key)"
        " JOIN (SELECT unnest($texts::INTEGER[]) AS passage_text_key, generate_subscripts($texts,"
        " 1) AS passage) USING (passage_text_key) ORDER BY passage, grader_key, asked",
        {"asked": [key for _, key in questions], "texts": list(texts.values())},
    )
    ids = np.array([question_id for question_id, _ in questions], object)
    numbers, keys = table["asked"].to_numpy() - 1, table["grader_key"].to_numpy()
    # A direct grader was asked the query itself, every other grader a question.
    direct = [key for key, spec in specs.items() if spec.method == "direct"]
    meant = (ids == query_id)[numbers] == np.isin(keys, direct)
    named = np.array(list(texts), object)
    columns = []
    for key in np.unique(keys[meant]).tolist():
        rows = np.flatnonzero(meant & (keys == key))
        own = table if len(rows) == len(table) else table.take(pa.array(rows))
        columns.append(
            _grade_columns(
                specs[key], ids[numbers[rows]], named[own["passage"].to_numpy() - 1], own
            )
        )
    return columns


def _grade_columns(
    spec: GraderSpec, asked: np.ndarray, passages: np.ndarray, table: pa.Table
) -> GradeColumns:
    """Return a grader's grades as columns, with the ids of the questions and passages."""
    rows = np.flatnonzero(table["detailed"].to_numpy())
    details = table.select(_DETAILS).take(pa.array(rows)).to_pylist()
    rating = table["rating"]
    return GradeColumns(
        spec,
        asked.tolist(),
        passages.tolist(),
        rating.to_pylist() if rating.null_count else rating.to_numpy().tolist(),
        table["answer"].to_numpy().tolist(),
        {row: GradeDetail(**detail) for row, detail in zip(rows.tolist(), details, strict=True)},
    )


def qrels_text(
    project: Project,
    policy: Policy,
    source: str = "exam",
    binary: bool = False,
    lines: int | None = None,
) -> str:
    """Return labels, or the judgments of a source, in trec_eval's four columns.

    Args:
        source: `exam` for labels from grades, or the name of a source of judgments.
        binary: write 1 for passages that are relevant under the policy and 0 for the rest.
        lines: maximum number of lines to write; None for all.

    Returns:
        One line per labelled (query, passage), in the pool's order; passages without a label are
        left out.

    Raises:
        InputError: there is nothing to export.
    """
    if source == "exam":
        base = basis(project, policy)
        labels, threshold = label_qrels(project, base), base.min_rating
    else:
        labels, threshold = (
            source_judgments(project, find_source(project, source)),
            policy.min_judgment,
        )
    if not labels:
        # Only labels can be empty: a source of judgments has at least one.
        raise InputError(
            "no-labels",
            "No labels to export.",
            how_to_grade(project, basis(project, policy).grader.spec),
        )
    rows = (
        (query, passage, int(value >= threshold) if binary else value)
        for query, values in labels.items()
        for passage, value in values.items()
    )
    return written_text(trec_files.write_qrels, islice(rows, lines))


def bank_jsonl(project: Project, version: int | None = None, sealed: bool = False) -> str:
    """Return the question bank as JSON lines, one per question.

    Args:
        sealed: whether to include sealed questions, which no file for people may contain.

    Raises:
        InputError: the version is unknown.
    """
    found = list_questions(project, version)
    return written_text(
        question_bank_files.write_bank, found if sealed else unsealed_questions(project, found)
    )


def bank_csv(project: Project, version: int | None = None) -> str:
    """Return the question bank as CSV for a spreadsheet; cells that could be formulas are
    neutralised.

    Raises:
        InputError: the version is unknown.
    """
    return written_text(
        question_bank_files.write_bank_csv,
        unsealed_questions(project, list_questions(project, version)),
    )


def bank_in_form(project: Project, form: str, version: int | None = None) -> str:
    """Return the question bank as JSON lines in a form of AutoJudge, one per query.

    Args:
        form: v3, ragtime26 or nuggetizer.

    Raises:
        InputError: the version is unknown, or the form has no place for some questions.
    """
    version = check_version(project, version)
    found = unsealed_questions(project, list_questions(project, version))
    kept = project.read(partial(kept_objects, form=form))
    return written_text(write_nugget_banks, form, queries_of(project), found, version, kept)


def queries_jsonl(project: Project, as_topics: bool = False) -> str:
    """Return the queries as JSON lines, one each.

    Args:
        as_topics: with the keys of AutoJudge's topics, which have no place for answers and
            subtopics.
    """
    if not as_topics:
        return written_text(queries.write_queries, queries_of(project))
    topics = project.read(partial(kept_objects, form=queries.TOPIC))
    return written_text(queries.write_topics, queries_of(project), topics)


def board_tsv(board: Leaderboard) -> str:
    """Return a leaderboard as TSV: rank, run, score, standard error, number of queries."""
    return written_text(write_board_tsv, board.measure, _board_rows(board))


def board_json(board: Leaderboard) -> str:
    """Return a leaderboard as a JSON map from the measure to the score of each run."""
    return json.dumps({board.measure: board.scores}, ensure_ascii=False, indent=2) + "\n"


def board_latex(board: Leaderboard) -> str:
    """Return a leaderboard as a LaTeX tabular: rank, run, score with its standard error, number of
    queries.
    """
    return written_text(write_board_latex, board.measure, _board_rows(board))


def board_in_form(board: Leaderboard, form: str) -> tuple[bytes, bytes]:
    """Return a leaderboard in a form of AutoJudge, and its measures as YAML.

    Args:
        form: an item of `LEADERBOARD_FORMS`; for trec_eval the content is a zip with a file for
            each run.

    Raises:
        InputError: a name cannot be written in the form.
    """
    measures = (
        f"measures:\n- name: {json.dumps(board.measure, ensure_ascii=False)}\n  dtype: float\n"
    ).encode()
    rows = list(_rows_by_query(board))
    if form != "trec_eval":
        return written_text(write_board_form, form, board.measure, rows).encode(), measures
    files = {
        check_file_name(run): written_text(write_board_form, form, board.measure, own).encode()
        for run, own in group_pairs((row[0], row) for row in rows).items()
    }
    return zip_bytes(files), measures


def _rows_by_query(board: Leaderboard) -> Iterator[tuple[str, str, float, int]]:
    """Yield run, query, score and rank for every score by query, and each run's mean last, under
    `all`.
    """
    # A skipped query that counts in the mean has score 0.
    zeros = dict.fromkeys(board.query_ids, 0.0)
    own = {
        system.run: (zeros if system.queries == len(board.query_ids) else {})
        | dict(board.per_query.get(system.run, {}))
        for system in board.systems
    }
    for system in board.systems:
        for query, score in own[system.run].items():
            yield (
                system.run,
                query,
                score,
                1 + sum(scores.get(query, score) > score for scores in own.values()),
            )
        yield system.run, "all", system.score, system.rank


def _board_rows(board: Leaderboard) -> list[TableRow]:
    return [(s.rank, s.run, s.score, s.std_error, s.queries) for s in board.systems]


def graded_file(project: Project, source: str | None = None) -> bytes:
    """Return the pool with texts, grades, judgments and rankings in the Autograder/RUBRIC
    interchange format.

    Ranks are those of the whole ranking, though the file has only the pool; readers take them as
    stated.

    Args:
        source: the judgments to include; None for the first source. The format has room for one.

    Returns:
        A gzip file; the same project gives the same bytes.

    Raises:
        InputError: the source is unknown.
    """
    named = find_source(project, source) if source else next(iter(judgment_sources(project)), None)
    out = io.BytesIO()
    graded_files.write_graded(graded_queries(project, named), out)
    return out.getvalue()


def record_export(
    project: Project, author: str, what: str, file: str, make: Callable[[], str | bytes]
) -> bytes:
    """Return the content of a file after recording the export in the activity log, if the log can
    be written.

    Args:
        what: as the log names it, such as "bank".
        file: the file's name.
        make: makes the content.
    """
    content = make()
    log_readonly_action(project, author, f"export {what}", file=file)
    return content.encode() if isinstance(content, str) else content


def qrels_counts(project: Project, policy: Policy, binary: bool) -> dict[int, int]:
    """Return the number of lines of a policy's qrels by value, greatest value first; empty without
    labels.
    """
    base = basis(project, policy)
    counts: Counter[int] = Counter()
    for label, passages in grading_progress(project, base).labels.items():
        if label is not None:
            counts[int(label >= base.min_rating) if binary else label] += passages
    return dict(sorted(counts.items(), reverse=True))


def runs_zip(project: Project) -> bytes:
    """Return all runs as TREC runs, in one zip; the same project gives the same bytes.

    Raises:
        InputError: the project has no runs, or an id is not valid in a run file.
    """
    files: dict[str, bytes | Path] = {}
    for key, name in project.rows("SELECT run_key, name FROM runs ORDER BY run_key"):
        rows = project.rows(
            "SELECT query_id, passage_id, rank, score FROM rankings JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE run_key = ? ORDER BY query_key, rank",
            [key],
        )
        files[_file_name(name, files)] = written_text(
            trec_files.write_run, name, (Ranked(*row) for row in rows)
        ).encode()
    if not files:
        raise InputError(
            "no-runs", "No runs to export.", "Import runs first: exam import runs FILE..."
        )
    return zip_bytes(files)


def _file_name(run: str, names_taken: dict[str, bytes | Path]) -> str:
    """Return a file name for a run that every operating system can unpack and that no other run
    has.
    """
    stem = "".join(c if c.isalnum() or c in "._-+" else "_" for c in run).lstrip(".") or "run"
    if is_reserved(stem):
        stem = f"_{stem}"
    lower = {name.lower() for name in names_taken}
    numbered = chain([f"{stem}.run"], (f"{stem}-{number}.run" for number in count(2)))
    return next(name for name in numbered if name.lower() not in lower)


def nugget_grades_jsonl(project: Project, policy: Policy, of_passages: bool) -> str:
    """Return the grades of a grader as JSON lines, one each: nugget-grades.jsonl, or
    nugget-doc-grades.jsonl.

    Args:
        of_passages: a line for each question and pooled passage; else for each question and
            response of a run, with the highest rating of the response's passages.

    Raises:
        InputError: the grader is unknown or has no such grades.
    """
    base = basis(project, policy)
    rows = _graded_rows(project, base, of_passages)
    if not rows:
        raise InputError(
            "no-grades",
            f"Grader {base.grader.spec.name} has no grades for this file.",
            "Choose another --grader.",
        )
    paragraph = {"paragraph_idx": 0} if of_passages else {}
    # AutoJudge identifies a question by its hash, and requires a quote.
    written = [
        row | paragraph | {"nugget_id": text_hash(row["question"]), "addressed_quote": ""}
        for row in rows
    ]
    return written_text(write_objects, written)


def response_ratings(project: Project, policy: Policy) -> list[tuple[str, str, int | None, int]]:
    """Return a row for each response and question that can score: run, query, the highest rating of
    the response's passages, and the number of its passages without a grade. The rating is None if
    all lack a grade."""
    base = basis(project, policy)
    return project.rows(
        "SELECT tag, query_id, max(rating), count(*) - count(rating) FROM responses"
        " JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN rankings USING (run_key, query_key) JOIN passages p USING (passage_key)"
        f" JOIN {bank_for(base.grader.spec)} b USING (query_key) JOIN bank_at($version) r"
        " USING (question_key) LEFT JOIN grades g ON g.question_text_key = b.text_key"
        " AND g.passage_text_key = p.text_key AND grader_key = $grader"
        " WHERE r.active AND r.weight <> 0 GROUP BY run_key, tag, query_key, query_id, question_key"
        " ORDER BY run_key, query_key, question_key",
        base.parameters,
    )


def nugget_docs_zip(project: Project, policy: Policy) -> bytes:
    """Return a zip with a file nuggets_QUERY.json for each query: questions with the passages that
    answer them.

    Raises:
        InputError: the grader is unknown, or a query's id cannot be the name of a file.
    """
    base = basis(project, policy)
    files: dict[str, dict[str, Any]] = {}
    for row in _graded_rows(project, base, of_passages=True):
        questions = files.setdefault(check_file_name(row["query_id"]), {})
        answered = questions.setdefault(row["question"], ["OR", {ANY_ANSWER: []}])
        if (row["grade"] or 0) >= base.min_rating:
            answered[1][ANY_ANSWER].append(row["doc_id"])
    return zip_bytes(
        {
            f"nuggets_{name}.json": json.dumps(content, indent=4).encode()
            for name, content in files.items()
        }
    )


def reports_jsonl(project: Project, policy: Policy) -> str:
    """Return the responses as reports of AutoJudge, one JSON line each; imported reports stay
    unchanged.

    Each sentence has `evaldata.exam_workbench`: the questions that its passage answers, and the
    passage's label as `rating`.
    """
    base = basis(project, policy)
    labels = label_qrels(project, base)
    answered = group_pairs(
        ((row["query_id"], row["doc_id"]), row["question"])
        for row in _graded_rows(project, base, of_passages=True)
        if (row["grade"] or 0) >= base.min_rating
    )
    report_contents = {
        (item.query_id, item.name): item.content
        for item in project.read(partial(kept_objects, form=REPORT))
    }
    reports = []
    for run, query_id, sentences in project.rows(_SENTENCES):
        report_row: dict[str, Any] = {
            "metadata": {"team_id": "exam-workbench", "run_id": run, "topic_id": query_id}
        }
        report_row["responses"] = [
            {"text": text, "citations": cited} for _, text, cited in map(dict.values, sentences)
        ]
        report = report_contents.get((query_id, run), report_row)
        key = next(key for key in SENTENCE_KEYS if isinstance(report.get(key), list))
        words = [text for item in report[key] if (text := clean_text(item["text"]).strip())]
        if words != [place["text"] for place in sentences]:
            # The kept report is outdated: a later response of the run was imported in another form.
            report, key = report_row, "responses"
        places, marked = iter(sentences), [dict(sentence) for sentence in report[key]]
        # AutoJudge's tools write the same sentences under two keys.
        report = report | {
            name: marked for name in SENTENCE_KEYS if report.get(name) == report[key]
        }
        for sentence in marked:
            # A passage does not contain sentences without words.
            if sentence["text"].strip() and (place := next(places, None)):
                rating = labels.get(query_id, {}).get(place["passage_id"])
                questions = answered.get((query_id, place["passage_id"]), [])
                ours = {"questions": questions, "rating": rating}
                sentence["evaldata"] = (sentence.get("evaldata") or {}) | {OURS: ours}
        reports.append(report)
    return written_text(write_objects, reports)


_SENTENCES = (
    "SELECT tag, query_id, list({'passage_id': passage_id, 'text':"
    " substr(x.text, begins + 1, ends - begins), 'citations': citations} ORDER BY rank, s.position)"
    " FROM responses JOIN runs USING (run_key) JOIN queries USING (query_key)"
    " JOIN rankings USING (run_key, query_key) JOIN passages p USING (passage_key)"
    " JOIN passage_texts x ON x.text_key = p.text_key JOIN response_sentences s USING (passage_key)"
    " GROUP BY run_key, tag, query_key, query_id ORDER BY run_key, query_key"
)


def _graded_rows(project: Project, base: Basis, of_passages: bool) -> list[dict[str, Any]]:
    columns, source, order = _OF_PASSAGES if of_passages else _OF_RESPONSES
    rows = project.rows(
        f"SELECT {columns} {source} JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        " JOIN bank_at($version) r USING (question_key) JOIN question_texts t"
        " ON t.text_key = r.text_key"
        " JOIN grades g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
        " AND grader_key = $grader WHERE t.text IS NOT NULL"
        f" AND r.question_key NOT IN ({SEALED}) {order}",
        base.parameters,
    )
    return [dict(zip(_KEYS, row, strict=False)) for row in rows]


_KEYS = ("run_id", "query_id", "question", "grade", "reasoning", "confidence", "doc_id", "passage")
_OF_PASSAGES = (
    "f.run, query_id, t.text, rating, coalesce(raw, ''), round(confidence::DOUBLE,"
    " 6), passage_id, x.text",
    "FROM pool p JOIN queries USING (query_key) JOIN passages USING (passage_key)"
    " JOIN passage_texts x ON x.text_key = p.text_key"
    " LEFT JOIN (SELECT query_key, passage_key, arg_min(name, (rank, run_key)) AS run"
    "  FROM rankings JOIN runs USING (run_key) GROUP BY ALL) f USING (query_key, passage_key)",
    "ORDER BY query_key, p.position, r.position, r.question_key",
)
_OF_RESPONSES = (
    "name, query_id, t.text, max(rating), coalesce(arg_max(raw, rating), ''),"
    " round(arg_max(confidence, rating)::DOUBLE, 6)",
    "FROM responses JOIN runs USING (run_key) JOIN queries USING (query_key)"
    " JOIN rankings USING (run_key, query_key) JOIN passages p USING (passage_key)",
    "GROUP BY run_key, name, query_key, query_id, r.question_key, r.position, t.text"
    " ORDER BY run_key, query_key, r.position, r.question_key",
)
"""SQL for the columns, the tables and the order of the export, for graded responses and (above)
graded passages.
"""
