"""Import of labels, of grades made elsewhere, and of judgments that name responses by a hash."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .. import grading
from ..bank import latest_questions, put_grader, question_text_key
from ..errors import InputError, Report, check_rules
from ..formats import GradedNugget, text_hash
from ..records import add_job, add_passages, check_new, end_job, list_keys
from ..store import Cursor, lend_table, table_of
from ..text import clean_text, how_many
from ..types import (
    GradeBlocks,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Question,
    Ranked,
)

_TYPES = {"row": "INTEGER", "query_id": "VARCHAR", "passage_id": "VARCHAR"}


def write_labels(
    cursor: Cursor,
    name: str,
    scale: int | None,
    labels: Sequence[Judgment],
    file: str,
    report: Report,
    author: str,
) -> dict[str, int]:
    """Write labels as grades of the grader with this name; each label rates a passage for the whole
    query.

    Args:
        scale: top of the grader's scale. For None that of the grader if the project has it, else
            the greatest label.
        report: takes notes about labels that are left out.

    Returns:
        Counts of labels and of new grades.

    Raises:
        InputError: another grader has the name, it labelled these texts differently before, or no
            passage has a text.
    """
    # Imported here, because every import of files loads this module.
    import numpy as np
    import pyarrow as pa

    spec = _label_grader(cursor, name, scale, max(label.value for label in labels))
    columns = {
        "row": range(len(labels)),
        "query_id": [label.query_id for label in labels],
        "passage_id": [label.passage_id for label in labels],
    }
    with lend_table(cursor, "new_labels", table_of(columns, _TYPES)):
        arrays = cursor.execute(
            "SELECT row, query_key, passage_key, text_key FROM new_labels JOIN queries"
            " USING (query_id)"
            " JOIN passages USING (passage_id) WHERE text_key IS NOT NULL ORDER BY row"
        ).fetchnumpy()
    rows, queries, passages, texts = (
        np.asarray(arrays[column], np.int32)
        for column in ("row", "query_key", "passage_key", "text_key")
    )
    if textless := len(labels) - len(rows):
        reason = f"{how_many(textless, 'labels')} skipped: the passage has no text in the project"
        report.remark(file, None, "no-passage-text", reason)
    if not len(rows):
        raise InputError(
            "no-passage-text",
            "None of the labelled passages has a text in the project.",
            "Import the passages first: exam import passages FILE",
        )
    titles = dict(cursor.execute("SELECT query_key, text FROM titles()").fetchall())
    question_keys = {
        key: question_text_key(cursor, str(spec.asked_text(Question("", "", titles[key]))))
        for key in np.unique(queries).tolist()
    }
    values = np.array([label.value for label in labels], np.int8)[rows]
    questions = np.array([question_keys[key] for key in queries.tolist()], np.int32)
    # A grade is about a text, so the same text gets one label.
    _, first, place = np.unique(
        questions.astype(np.int64) << 32 | texts, return_index=True, return_inverse=True
    )
    if differing := int((values != values[first[place]]).sum()):
        report.remark(
            file,
            None,
            "differing-grade",
            f"{how_many(differing, 'labels')} skipped: the same text has a different label"
            " earlier in the file",
        )
    grader = put_grader(cursor, spec)
    job = add_job(cursor, "grading", grader, {"import": "labels"}, 0, author)
    size = len(rows)
    written = grading.write_grades(
        cursor,
        pa.table(
            {
                "row": np.arange(size, dtype=np.int32),
                "grader_key": np.full(size, grader, np.int32),
                "question_text_key": questions,
                "passage_text_key": texts,
                "rating": values,
                "defaulted": np.zeros(size, bool),
                "job_key": np.full(size, job, np.int32),
            }
        ),
    )
    if written.differing:
        raise InputError(
            "labels-differ",
            f"'{name}' already has different labels for"
            f" {how_many(written.differing, 'passages')} of the file.",
            "Import the file under another name (--name).",
        )
    list_keys(cursor, queries, passages)
    end_job(cursor, job, "imported", f"Imported from {file}")
    return {"labels": size, "new grades": written.graded}


def _label_grader(cursor: Cursor, name: str, scale: int | None, greatest: int) -> GraderSpec:
    """Return the grader that gave the labels.

    Raises:
        InputError: another grader has its name, or a label is beyond its scale.
    """
    check_new(cursor, "grader", [name])
    rows = cursor.execute(
        "SELECT fingerprint, max_rating FROM graders WHERE name = ?", [name]
    ).fetchall()
    top = scale or (rows[0][1] if rows else max(1, greatest))
    spec = GraderSpec(name, "direct", name, parameters={"imported": "labels"}, max_rating=top)
    check_rules(
        (
            bool(rows) and rows[0][0] != spec.fingerprint,
            InputError(
                "grader-name-taken",
                f"The project already has another grader named '{name}'.",
                "Import the labels under another name (--name).",
            ),
        ),
        (
            greatest > top,
            InputError(
                "label-out-of-range",
                f"Label {greatest} is beyond the scale of '{name}', which ends at {top}.",
                "Import the labels under another name (--name) with a longer scale (--scale).",
            ),
        ),
    )
    return spec


_HASH = re.compile(r"[0-9a-f]{32}")
Responses = dict[tuple[str, str], tuple[list[str], str]]
"""Passages of a response by run and query: their ids, and their joined texts."""


def make_graded_queries(
    cursor: Cursor, grades: Sequence[GradedNugget], report: Report
) -> list[GradedQuery]:
    """Return grades made elsewhere as lines of a graded file, one per query.

    A question is the one in the bank with the same words, else the one with the same id. A response
    is the project's own if it consists of one passage, else a passage RUN/QUERY. A run that only
    the file knows gets a ranking of these.

    Args:
        report: takes refused lines: the text of a response or question is unknown, or its id has
            another text.
    """
    bank = latest_questions(cursor)
    by_words = {(entry.query_id, entry.text or ""): entry for entry in bank}
    by_id = {entry.question_id: entry for entry in bank}
    responses = whole_responses(cursor)
    paragraphs = {(entry.passage_id, entry.paragraph) for entry in grades}
    several = {name for name, count in Counter(name for name, _ in paragraphs).items() if count > 1}
    texts: dict[str, str] = {}
    lines: dict[str, GradedQuery] = {}
    blocks: dict[tuple[str, str], GradeBlocks] = {}
    for entry in grades:
        query_id, words = entry.query.query_id, clean_text(entry.question.text or "")
        question = (words and by_words.get((query_id, words))) or by_id.setdefault(
            entry.question.question_id, entry.question
        )
        by_words[query_id, words] = question
        question_text = clean_text(question.text or "")
        passage = _graded_passage(entry, several, responses, report)
        before = texts.setdefault(passage.passage_id, passage.text) or passage.text
        texts[passage.passage_id] = before
        if not question_text or words not in ("", question_text) or question.query_id != query_id:
            report.refuse(
                entry.source.name,
                entry.line,
                "unknown-question",
                f"question {question.question_id} is not in the bank of the query with this text",
            )
        if passage.text not in ("", before):
            report.refuse(
                entry.source.name,
                entry.line,
                "contradicting-lines",
                f"passage {passage.passage_id} has another text on an earlier line",
            )
        line = lines.setdefault(query_id, GradedQuery(entry.query))
        line.passages.append(passage)
        line.questions.append(question)
        if entry.run is not None and (entry.run, query_id) not in responses:
            ranked = [Ranked(query_id, passage.passage_id, 1, 1.0)]
            line.rankings = {**line.rankings, entry.run: ranked}
        blocks_of_grader = blocks.setdefault(
            (query_id, entry.grader.fingerprint), GradeBlocks(entry.grader)
        )
        blocks_of_grader.details[blocks_of_grader.size] = entry.detail
        blocks_of_grader.add(
            passage.passage_id, [question.question_id], [entry.rating], [entry.answer]
        )
    for line in lines.values():
        ids = dict.fromkeys(passage.passage_id for passage in line.passages)
        line.passages = [Passage(passage_id, texts[passage_id]) for passage_id in ids]
    for (query_id, _), blocks_of_grader in blocks.items():
        lines[query_id].grades = [*lines[query_id].grades, blocks_of_grader]
    return list(lines.values())


def _graded_passage(
    grade: GradedNugget, several: set[str | None], responses: Responses, report: Report
) -> Passage:
    """Return the passage that a grade is about; with an empty text if the project has it."""
    if grade.passage_id is not None:
        return Passage(
            f"{grade.passage_id}/{grade.paragraph}"
            if grade.passage_id in several
            else grade.passage_id,
            grade.text,
        )
    query_id = grade.query.query_id
    parts, text = responses.get((grade.run or "", query_id), ([], ""))
    if len(parts) == 1 and grade.text.split() in ([], text.split()):
        return Passage(parts[0], "")
    if parts:
        report.remark(
            grade.source.name,
            grade.line,
            "grade-of-several-passages",
            "a graded response is not one passage of the project; its grades count for the"
            " whole response only",
        )
    elif not grade.text:
        report.refuse(
            grade.source.name,
            grade.line,
            "unknown-response",
            f"run {grade.run} has no response to query {query_id}; import the responses first",
        )
    return Passage(f"{grade.run}/{query_id}", grade.text or text)


def whole_responses(cursor: Cursor) -> Responses:
    """Return all responses of the project with their joined texts."""
    rows = cursor.execute(
        "SELECT tag, query_id, list(passage_id ORDER BY rank), string_agg(t.text, ' '"
        " ORDER BY rank) FROM responses JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN rankings USING (run_key, query_key) JOIN passages USING (passage_key)"
        " JOIN passage_texts t USING (text_key) GROUP BY ALL"
    ).fetchall()
    return {(run, query): (ids, text) for run, query, ids, text in rows}


def replace_text_hashes(
    cursor: Cursor, judgments: Sequence[Judgment], file: str, report: Report
) -> list[Judgment]:
    """Return judgments with the passage of the project's response in place of the MD5 of the
    response's text.

    A response of several passages is judged as a whole: as the passage RUN/QUERY.

    Args:
        report: takes a note about hashes of unknown responses.
    """
    hashed = {
        (judgment.query_id, judgment.passage_id)
        for judgment in judgments
        if _HASH.fullmatch(judgment.passage_id)
    }
    by_hash: dict[tuple[str, str], list[str]] = {}
    for (run, query_id), (ids, text) in (whole_responses(cursor) if hashed else {}).items():
        key = (query_id, text_hash(text))
        if key in hashed:
            whole = Passage(f"{run}/{query_id}", text)
            if len(ids) > 1:
                add_passages(cursor, [whole])
            by_hash.setdefault(key, []).append(ids[0] if len(ids) == 1 else whole.passage_id)
    if by_hash and (rest := hashed - by_hash.keys()):
        report.remark(
            file,
            None,
            "unknown-response",
            f"{how_many(len(rest), 'ids')} that may be MD5 hashes of responses are"
            " kept as passage ids",
        )
    return [
        replace(judgment, passage_id=passage_id)
        for judgment in judgments
        for passage_id in by_hash.get(
            (judgment.query_id, judgment.passage_id), [judgment.passage_id]
        )
    ]
