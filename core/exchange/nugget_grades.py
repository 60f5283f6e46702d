"""Grades made elsewhere, as the graded import takes them; and our grades as AutoJudge's tools read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..bank import bank_for, latest_questions
from ..errors import InputError, Report
from ..formats import GradedNugget, write_nugget_grades
from ..labels import Policy, basis
from ..project import Cursor, Project
from ..text import clean_text, written_text
from ..types import GradeBlocks, GradedQuery, Passage, Question, Ranked

Responses = dict[tuple[str, str], tuple[list[str], str]]
"""By run and query the passages of a response: their ids, and their texts together."""


def graded_of(cursor: Cursor, grades: Sequence[GradedNugget], report: Report) -> list[GradedQuery]:
    """Grades made elsewhere as lines of a graded file, one for each query.

    A question is the one of the bank that has its words, else the one with its id. A response is the project's own if
    it is one passage, else a passage RUN/QUERY; a run that only the file knows gets a ranking of these.

    Args:
        report: takes refused lines: a response or question whose text is unknown, or an id with other words.
    """
    bank = latest_questions(cursor)
    by_words = {(one.query_id, one.text): one for one in bank}
    by_id = {one.question_id: one for one in bank}
    responses = _responses(cursor, {one.run for one in grades if one.run is not None})
    paragraphs: dict[str, set[str]] = {}
    for one in grades:
        if one.passage_id is not None:
            paragraphs.setdefault(one.passage_id, set()).add(one.paragraph)
    texts: dict[str, str] = {}
    lines: dict[str, GradedQuery] = {}
    blocks: dict[tuple[str, str], GradeBlocks] = {}
    for one in grades:
        words = clean_text(one.question.text or "")
        question = by_words.get((one.query.query_id, words)) or _by_id(one, by_id, report)
        passage = _passage(one, responses, paragraphs, report)
        if question is None or passage is None:
            continue
        by_id[question.question_id] = question
        if words:
            by_words[question.query_id, words] = question
        before = texts.get(passage.passage_id) or passage.text
        if passage.text not in ("", before):
            reason = f"passage {passage.passage_id} has another text on an earlier line"
            report.refuse(one.source.name, one.line, "contradicting-lines", reason)
        texts[passage.passage_id] = before
        line = lines.setdefault(one.query.query_id, GradedQuery(one.query))
        line.passages.append(passage)
        line.questions.append(question)
        if one.run is not None and (one.run, one.query.query_id) not in responses:
            assert isinstance(line.rankings, dict)
            line.rankings[one.run] = [Ranked(one.query.query_id, passage.passage_id, 1, 1.0)]
        given = blocks.get((line.query.query_id, one.grader.fingerprint))
        if given is None:
            given = blocks[line.query.query_id, one.grader.fingerprint] = GradeBlocks(one.grader)
            line.grades = [*line.grades, given]
        given.details[given.size] = one.detail
        given.add(passage.passage_id, [question.question_id], [one.rating], [one.answer])
    for line in lines.values():
        ids = dict.fromkeys(passage.passage_id for passage in line.passages)
        line.passages = [Passage(passage_id, texts[passage_id]) for passage_id in ids]
    return list(lines.values())


def _by_id(one: GradedNugget, known: dict[str, Question], report: Report) -> Question | None:
    """The question of a grade whose words the bank does not have for its query."""
    question = known.get(one.question.question_id)
    if question is None and one.question.text is not None:
        return one.question
    if question is not None and one.question.text is None and question.query_id == one.query.query_id:
        return question
    if question is None:
        code, fault = "unknown-question", "is not in the bank, and the file does not give its text"
    else:
        code, fault = "differing-question", "has another text or query in the bank"
    report.refuse(one.source.name, one.line, code, f"question {one.question.question_id} {fault}")
    return None


def _passage(
    one: GradedNugget, responses: Responses, paragraphs: dict[str, set[str]], report: Report
) -> Passage | None:
    if one.passage_id is not None:
        several = len(paragraphs[one.passage_id]) > 1
        return Passage(f"{one.passage_id}/{one.paragraph}" if several else one.passage_id, one.text)
    parts, text = responses.get((one.run or "", one.query.query_id), ([], ""))
    if one.text and one.text.split() != text.split():
        return Passage(f"{one.run}/{one.query.query_id}", one.text)
    if len(parts) == 1:
        return Passage(parts[0], "")
    if parts:
        reason = "a graded response is split into several passages; its grades count for the whole response only"
        report.remark(one.source.name, one.line, "grade-of-several-passages", reason)
        return Passage(f"{one.run}/{one.query.query_id}", text)
    reason = f"run {one.run} has no response to query {one.query.query_id}; import the responses first"
    report.refuse(one.source.name, one.line, "unknown-response", reason)
    return None


def _responses(cursor: Cursor, runs: Iterable[str]) -> Responses:
    rows = cursor.execute(
        "SELECT tag, query_id, list(passage_id ORDER BY rank), string_agg(t.text, ' ' ORDER BY rank)"
        " FROM responses JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN rankings USING (run_key, query_key) JOIN passages USING (passage_key)"
        " JOIN passage_texts t USING (text_key) WHERE list_contains(?, tag) GROUP BY ALL",
        [sorted(runs)],
    ).fetchall()
    return {(run, query): (ids, text) for run, query, ids, text in rows}


def nugget_grades_jsonl(project: Project, policy: Policy, of_passages: bool) -> str:
    """The grades of a grader as JSON lines, one each: nugget-grades.jsonl, or nugget-doc-grades.jsonl.

    Args:
        of_passages: a line for each question and pooled passage; else for each question and response of a run, with
            the highest rating of the response's passages.

    Raises:
        InputError: there is no such grader, or there are no such grades.
    """
    base = basis(project, policy)
    columns, source, order = _OF_PASSAGES if of_passages else _OF_RESPONSES
    found = project.rows(
        f"SELECT {columns} {source} JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        " JOIN bank_at($version) r USING (question_key) JOIN question_texts t ON t.text_key = r.text_key"
        " JOIN grades g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
        f" AND grader_key = $grader WHERE t.text IS NOT NULL {order}",
        base.parameters,
    )
    if not found:
        things = "passages" if of_passages else "responses"
        raise InputError("no-grades", f"No grades of {things} by {base.grader.spec.name}.", "Choose another --grader.")
    rows = [dict(zip(_KEYS, row, strict=False)) for row in found]
    return written_text(write_nugget_grades, [row | {"paragraph_idx": 0} for row in rows] if of_passages else rows)


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
"""SQL of what is written, of where it stands, and of its order, by what was graded."""
