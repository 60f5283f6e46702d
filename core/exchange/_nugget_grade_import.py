"""Import of nugget grades and of labels by MD5 from elsewhere; export of grades for AutoJudge's tools."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..bank import bank_for, latest_questions
from ..errors import InputError, Report
from ..formats import (
    ANY_ANSWER,
    OURS,
    REPORT,
    SENTENCE_KEYS,
    GradedNugget,
    text_hash,
    write_nugget_grades,
    write_objects,
)
from ..labels import Basis, Policy, basis, label_qrels
from ..records import SEALED, add_passages, kept_objects
from ..store import Cursor, Project
from ..text import clean_text, how_many, written_text
from ..types import GradeBlocks, GradedQuery, Judgment, Passage, Ranked
from .exporting import check_file_name, zipped

_HASH = re.compile(r"[0-9a-f]{32}")
Responses = dict[tuple[str, str], tuple[list[str], str]]
"""Passages of a response by run and query: their ids, and their joined texts."""


def graded_of(cursor: Cursor, grades: Sequence[GradedNugget], report: Report) -> list[GradedQuery]:
    """Return grades made elsewhere as lines of a graded file, one per query.

    A question is the one in the bank with the same words, else the one with the same id. A response is the project's
    own if it consists of one passage, else a passage RUN/QUERY. A run that only the file knows gets a ranking of these.

    Args:
        report: takes refused lines: the text of a response or question is unknown, or its id has another text.
    """
    bank = latest_questions(cursor)
    by_words = {(one.query_id, one.text or ""): one for one in bank}
    by_id = {one.question_id: one for one in bank}
    responses = whole_responses(cursor)
    paragraphs = {(one.passage_id, one.paragraph) for one in grades}
    several = {name for name, count in Counter(name for name, _ in paragraphs).items() if count > 1}
    texts: dict[str, str] = {}
    lines: dict[str, GradedQuery] = {}
    blocks: dict[tuple[str, str], GradeBlocks] = {}
    for one in grades:
        query_id, words = one.query.query_id, clean_text(one.question.text or "")
        question = (words and by_words.get((query_id, words))) or by_id.setdefault(
            one.question.question_id, one.question
        )
        by_words[query_id, words] = question
        known = clean_text(question.text or "")
        passage = _passage(one, several, responses, report)
        before = texts.setdefault(passage.passage_id, passage.text) or passage.text
        texts[passage.passage_id] = before
        if not known or words not in ("", known) or question.query_id != query_id:
            reason = f"question {question.question_id} is not in the bank of the query with this text"
            report.refuse(one.source.name, one.line, "unknown-question", reason)
        if passage.text not in ("", before):
            reason = f"passage {passage.passage_id} has another text on an earlier line"
            report.refuse(one.source.name, one.line, "contradicting-lines", reason)
        line = lines.setdefault(query_id, GradedQuery(one.query))
        line.passages.append(passage)
        line.questions.append(question)
        if one.run is not None and (one.run, query_id) not in responses:
            ranked = [Ranked(query_id, passage.passage_id, 1, 1.0)]
            line.rankings = {**line.rankings, one.run: ranked}
        given = blocks.setdefault((query_id, one.grader.fingerprint), GradeBlocks(one.grader))
        given.details[given.size] = one.detail
        given.add(passage.passage_id, [question.question_id], [one.rating], [one.answer])
    for line in lines.values():
        ids = dict.fromkeys(passage.passage_id for passage in line.passages)
        line.passages = [Passage(passage_id, texts[passage_id]) for passage_id in ids]
    for (query_id, _), given in blocks.items():
        lines[query_id].grades = [*lines[query_id].grades, given]
    return list(lines.values())


def _passage(one: GradedNugget, several: set[str | None], responses: Responses, report: Report) -> Passage:
    """Return the passage that a grade is about; with an empty text if the project has it."""
    if one.passage_id is not None:
        return Passage(f"{one.passage_id}/{one.paragraph}" if one.passage_id in several else one.passage_id, one.text)
    query_id = one.query.query_id
    parts, text = responses.get((one.run or "", query_id), ([], ""))
    if len(parts) == 1 and one.text.split() in ([], text.split()):
        return Passage(parts[0], "")
    if parts:
        reason = "a graded response is not one passage of the project; its grades count for the whole response only"
        report.remark(one.source.name, one.line, "grade-of-several-passages", reason)
    elif not one.text:
        reason = f"run {one.run} has no response to query {query_id}; import the responses first"
        report.refuse(one.source.name, one.line, "unknown-response", reason)
    return Passage(f"{one.run}/{query_id}", one.text or text)


def whole_responses(cursor: Cursor) -> Responses:
    """Return all responses of the project with their joined texts."""
    rows = cursor.execute(
        "SELECT tag, query_id, list(passage_id ORDER BY rank), string_agg(t.text, ' ' ORDER BY rank)"
        " FROM responses JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN rankings USING (run_key, query_key) JOIN passages USING (passage_key)"
        " JOIN passage_texts t USING (text_key) GROUP BY ALL"
    ).fetchall()
    return {(run, query): (ids, text) for run, query, ids, text in rows}


def with_passage_ids(cursor: Cursor, judgments: Sequence[Judgment], file: str, report: Report) -> list[Judgment]:
    """Return judgments with the passage of the project's response in place of the MD5 of the response's text.

    A response of several passages is judged as a whole: as the passage RUN/QUERY.

    Args:
        report: takes a note about hashes of unknown responses.
    """
    hashed = {(one.query_id, one.passage_id) for one in judgments if _HASH.fullmatch(one.passage_id)}
    found: dict[tuple[str, str], list[str]] = {}
    for (run, query_id), (ids, text) in (whole_responses(cursor) if hashed else {}).items():
        key = (query_id, text_hash(text))
        if key in hashed:
            whole = Passage(f"{run}/{query_id}", text)
            if len(ids) > 1:
                add_passages(cursor, [whole])
            found.setdefault(key, []).append(ids[0] if len(ids) == 1 else whole.passage_id)
    if found and (rest := hashed - found.keys()):
        reason = f"{how_many(len(rest), 'ids')} that may be MD5 hashes of responses are kept as passage ids"
        report.remark(file, None, "unknown-response", reason)
    return [
        replace(one, passage_id=passage_id)
        for one in judgments
        for passage_id in found.get((one.query_id, one.passage_id), [one.passage_id])
    ]


def nugget_grades_jsonl(project: Project, policy: Policy, of_passages: bool) -> str:
    """Return the grades of a grader as JSON lines, one each: nugget-grades.jsonl, or nugget-doc-grades.jsonl.

    Args:
        of_passages: a line for each question and pooled passage; else for each question and response of a run, with the
            highest rating of the response's passages.

    Raises:
        InputError: the grader is unknown or has no such grades.
    """
    base = basis(project, policy)
    found = _graded_rows(project, base, of_passages)
    if not found:
        raise InputError(
            "no-grades", f"Grader {base.grader.spec.name} has no grades for this file.", "Choose another --grader."
        )
    paragraph = {"paragraph_idx": 0} if of_passages else {}
    return written_text(write_nugget_grades, [row | paragraph for row in found])


def response_ratings(project: Project, policy: Policy) -> list[tuple[str, str, int | None, int]]:
    """Return a row for each response and question that can score: run, query, the highest rating of the response's
    passages, and the number of its passages without a grade. The rating is None if all lack a grade."""
    base = basis(project, policy)
    return project.rows(
        "SELECT tag, query_id, max(rating), count(*) - count(rating) FROM responses JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN rankings USING (run_key, query_key) JOIN passages p USING (passage_key)"
        f" JOIN {bank_for(base.grader.spec)} b USING (query_key) JOIN bank_at($version) r USING (question_key)"
        " LEFT JOIN grades g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
        " AND grader_key = $grader WHERE r.active AND r.weight <> 0"
        " GROUP BY run_key, tag, query_key, query_id, question_key ORDER BY run_key, query_key, question_key",
        base.parameters,
    )


def nugget_docs_zip(project: Project, policy: Policy) -> bytes:
    """Return a zip with a file nuggets_QUERY.json for each query: questions with the passages that answer them.

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
    return zipped({f"nuggets_{name}.json": json.dumps(content, indent=4).encode() for name, content in files.items()})


def reports_jsonl(project: Project, policy: Policy) -> str:
    """Return the responses as reports of AutoJudge, one JSON line each; imported reports stay unchanged.

    Each sentence has `evaldata.exam_workbench`: the questions that its passage answers, and the passage's label as
    `rating`.
    """
    base = basis(project, policy)
    labels, answered = label_qrels(project, base), defaultdict(list)
    for row in _graded_rows(project, base, of_passages=True):
        if (row["grade"] or 0) >= base.min_rating:
            answered[row["query_id"], row["doc_id"]].append(row["question"])
    kept = {(one.query_id, one.name): one.content for one in project.read(partial(kept_objects, form=REPORT))}
    reports = []
    for run, query_id, sentences in project.rows(_SENTENCES):
        made: dict[str, Any] = {"metadata": {"team_id": "exam-workbench", "run_id": run, "topic_id": query_id}}
        made["responses"] = [{"text": text, "citations": cited} for _, text, cited in map(dict.values, sentences)]
        report = kept.get((query_id, run), made)
        key = next(key for key in SENTENCE_KEYS if isinstance(report.get(key), list))
        words = [text for one in report[key] if (text := clean_text(one["text"]).strip())]
        if words != [place["text"] for place in sentences]:
            # The kept report is outdated: a later response of the run was imported in another form.
            report, key = made, "responses"
        places, marked = iter(sentences), [dict(sentence) for sentence in report[key]]
        # AutoJudge's tools write the same sentences under two keys.
        report = report | {name: marked for name in SENTENCE_KEYS if report.get(name) == report[key]}
        for sentence in marked:
            # A passage does not contain sentences without words.
            if sentence["text"].strip() and (place := next(places, None)):
                rating = labels.get(query_id, {}).get(place["passage_id"])
                ours = {"questions": answered[query_id, place["passage_id"]], "rating": rating}
                sentence["evaldata"] = (sentence.get("evaldata") or {}) | {OURS: ours}
        reports.append(report)
    return written_text(write_objects, reports)


_SENTENCES = (
    "SELECT tag, query_id, list({'passage_id': passage_id, 'text': substr(x.text, begins + 1, ends - begins),"
    " 'citations': citations} ORDER BY rank, s.position) FROM responses JOIN runs USING (run_key)"
    " JOIN queries USING (query_key) JOIN rankings USING (run_key, query_key) JOIN passages p USING (passage_key)"
    " JOIN passage_texts x ON x.text_key = p.text_key JOIN response_sentences s USING (passage_key)"
    " GROUP BY run_key, tag, query_key, query_id ORDER BY run_key, query_key"
)


def _graded_rows(project: Project, base: Basis, of_passages: bool) -> list[dict[str, Any]]:
    columns, source, order = _OF_PASSAGES if of_passages else _OF_RESPONSES
    found = project.rows(
        f"SELECT {columns} {source} JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        " JOIN bank_at($version) r USING (question_key) JOIN question_texts t ON t.text_key = r.text_key"
        " JOIN grades g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
        f" AND grader_key = $grader WHERE t.text IS NOT NULL AND r.question_key NOT IN ({SEALED}) {order}",
        base.parameters,
    )
    return [dict(zip(_KEYS, row, strict=False)) for row in found]


_KEYS = ("run_id", "query_id", "question", "grade", "reasoning", "confidence", "doc_id", "passage")
_OF_PASSAGES = (
    "f.run, query_id, t.text, rating, coalesce(raw, ''), round(confidence::DOUBLE, 6), passage_id, x.text",
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
"""SQL for the columns, the tables and the order of the export, for graded responses and (above) graded passages."""
