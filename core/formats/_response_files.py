"""Generated responses: TREC RAG JSONL with cited sentences, plain JSONL, or a JSON map query -> run
-> text; generated answers and human verdicts on answers: JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Report
from ..text import clean_text
from ..types import Passage, Response, Sentence
from ._nugget_banks import BANK, BANK_KEYS
from ._source import (
    ENTRY,
    WHOLE,
    WORDS,
    FileBeginning,
    FileKind,
    Limits,
    Refused,
    Source,
    as_object,
    first_of,
    good_id,
    good_text,
    note_unread,
    open_objects,
    open_records,
    parse_json,
    parse_object,
    parse_pairs,
    report_refusals,
    value_of,
)
from .passage_files import passage_of

RUN_KEYS = ("run", "run_id", "system")
QUERY_KEYS = ("query_id", "topic_id", "qid", "narrative_id")
QUERY_TEXT_KEYS = ("topic", "query", "title", "narrative")
TEXT_KEYS = ("text", "response", "answer")
REPORT = "report"
"""The form of kept reports."""
SENTENCE_KEYS = ("answer", "responses", "sentences")
WORDS_LIMIT, CITATIONS_LIMIT = 1024, 3
"""Limits of the TREC RAG track of 2026: words of a response, and citations of a sentence."""
COLLECTIONS = {
    "climbmix": re.compile(r"shard_\d+_\d+"),
    "msmarco_v2.1": re.compile(r"msmarco_v2\.1_doc_\d\d_\d+#\d+_\d+"),
    "ragtime": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d+"),
}
"""Patterns of document ids, by the beginning of a collection's name."""


def read_responses(sources: Sequence[Source], report: Report) -> list[Response]:
    """Read generated responses of any number of systems.

    Args:
        sources: JSONL with a query id, a run, and a text or a list of sentences. Sentences have
            citations (indices into `references`, or ids), as in TREC RAG; ids may be in `metadata`.
            Or a JSON map from query id to run to text, or from query id to text.
        report: receives refused lines, including a second response of a run to a query. Responses
            without words are left out with a note: the system skipped the query.

    Returns:
        Responses in file order.
    """
    responses: dict[tuple[str, str], Response] = {}
    for source in sources:
        any_read = False
        for response in _stream_responses(source, report):
            any_read = True
            key = (response.run, response.query_id)
            if key in responses:
                where = (
                    responses[key].file
                    if responses[key].line is None
                    else f"{responses[key].file}:{responses[key].line}"
                )
                reason = (
                    f"run {response.run} already has a response to query"
                    f" {response.query_id} ({where})"
                )
                report.refuse(source.name, response.line, "duplicate-response", reason)
            elif not response.text:
                report.remark(
                    source.name,
                    response.line,
                    "empty-response",
                    "the response is empty, so its query counts as skipped",
                )
            else:
                responses[key] = response
        report.require(any_read, source.name, "responses")
    return list(responses.values())


def beyond_limits(response: Response, topic: dict[str, Any]) -> list[str]:
    """Return how a report exceeds the limits of its track, as ends of a sentence.

    Args:
        topic: as it came; it may have `limit` (characters), `word_limit` and `collection_ids`.
    """
    if response.report is None:
        return []
    usual = None if "limit" in topic else WORDS_LIMIT
    most_cited = max((len(sentence.citations) for sentence in response.sentences), default=0)
    numbers = (
        (len(response.text.split()), topic.get("word_limit", usual), "words"),
        (len(response.text), topic.get("limit"), "characters"),
        (most_cited, CITATIONS_LIMIT, "citations in a sentence"),
    )
    excesses = [
        f"more than {most:,} {what}"
        for number, most, what in numbers
        if isinstance(most, int) and number > most
    ]
    named = topic.get("collection_ids") or response.report["metadata"].get("collection_ids") or []
    cited = {name for sentence in response.sentences for name in sentence.citations}
    return excesses + [
        f"citations of documents that are not of the collection {collection}"
        for collection, pattern in COLLECTIONS.items()
        if any(str(name).startswith(collection) for name in named)
        and not all(map(pattern.fullmatch, cited))
    ]


def _stream_responses(source: Source, report: Report) -> Iterator[Response]:
    start, texts, lines = open_records(source, report, _is_row)
    if texts:
        yield from _stream_map(source, report, start, texts)
    for number, line in lines:
        if line.strip():
            with report_refusals(report, source.name, number):
                yield _make_response(parse_object(line), source, number, report)


def _is_row(line: str) -> bool:
    """Return whether the first line of a file is a JSONL object, so that the file is not a JSON
    map.
    """
    known_keys = {*RUN_KEYS, *QUERY_KEYS, *TEXT_KEYS, *SENTENCE_KEYS, "metadata", "references"}
    try:
        value = parse_json(line)
    except Refused:
        return any(f'"{key}"' in line for key in known_keys)
    return isinstance(value, dict) and (not value or bool(known_keys & set(value)))


def _make_response(row: dict[str, Any], source: Source, line: int, report: Report) -> Response:
    metadata = row.get("metadata")
    fields = {**metadata, **row} if isinstance(metadata, dict) else row
    query_id = good_id(value_of(fields, QUERY_KEYS, "query id"), "query")
    run = first_of(fields, RUN_KEYS)
    run = good_id(source.stem if run is None else run, "run")
    query_text = first_of(fields, QUERY_TEXT_KEYS)
    query_text = None if query_text is None else good_text(query_text, "query's text").strip()
    note_unread(
        fields, (RUN_KEYS, QUERY_KEYS, QUERY_TEXT_KEYS, TEXT_KEYS), source.name, line, report
    )
    listed = next((fields[key] for key in SENTENCE_KEYS if isinstance(fields.get(key), list)), None)
    if listed is None:
        return Response(
            run,
            query_id,
            _response_text(value_of(fields, TEXT_KEYS, "response's text")),
            query_text,
            (),
            source.name,
            line,
        )
    references = fields.get("references") or []
    if not isinstance(references, list):
        raise Refused("not-a-list", "the references are not a list")
    text, sentences = "", []
    for number, item in enumerate(listed, 1):
        item = as_object(item, f"sentence {number} is not an object with text and citations")
        words = item.get("text")
        if not isinstance(words, str):
            raise Refused("empty-value", f"sentence {number} has no text")
        citations, dangling = _cited_ids(item.get("citations") or [], references, number)
        if dangling:
            report.remark(
                source.name,
                line,
                "citation-out-of-range",
                "a citation without a reference is left out",
                dangling,
            )
        # Clean the text before counting positions, since cleaning can shorten line ends.
        if words := clean_text(words).strip():
            begin = len(text) + 1 if text else 0
            text = f"{text} {words}" if text else words
            sentences.append(Sentence(begin, len(text), citations))
    report_row = row if isinstance(metadata, dict) else None
    documents = _read_documents(row.get("documents") or {})
    return Response(
        run, query_id, text, query_text, tuple(sentences), source.name, line, documents, report_row
    )


def _read_documents(documents: object) -> tuple[Passage, ...]:
    """Return the passages of a map from id to document; those without a text are left out."""
    if not isinstance(documents, dict) or not all(
        isinstance(document, dict) for document in documents.values()
    ):
        raise Refused(
            "not-an-object", "the documents are not a map from id to an object with a text"
        )
    rows = [
        {"passage_id": key, "text": document.get("text") or "", "title": document.get("title")}
        for key, document in documents.items()
    ]
    return tuple(passage_of(row) for row in rows if row["text"] or row["title"])


def _response_text(value: object) -> str:
    if value is None:
        raise Refused("value-missing", "the response's text is missing")
    if not isinstance(value, str):
        raise Refused("not-a-text", "the response's text is not a text")
    return clean_text(value).strip()


def _cited_ids(cited: object, references: list[Any], sentence: int) -> tuple[tuple[str, ...], int]:
    """Return the ids that a sentence cites, each once, and the number of citations without a
    reference.
    """
    if not isinstance(cited, list | dict):
        raise Refused("not-a-list", f"the citations of sentence {sentence} are not a list")
    known_citations = [
        citation
        for citation in cited
        if type(citation) is not int or 0 <= citation < len(references)
    ]
    ids = (
        good_id(references[citation] if type(citation) is int else citation, "cited document's")
        for citation in known_citations
    )
    return tuple(dict.fromkeys(ids)), len(cited) - len(known_citations)


def _stream_map(source: Source, report: Report, start: int, lines: list[str]) -> Iterator[Response]:
    """Yield the responses of a JSON map. Repeated keys are kept so that they can be refused."""
    for query, value in parse_pairs(source, report, start, lines):
        by_run = value if isinstance(value, tuple) else ((source.stem, value),)
        for run, words in by_run:
            with report_refusals(
                report, source.name, None, f"query {query[:40]}, run {run[:40]}: "
            ):
                yield Response(
                    good_id(run, "run"),
                    good_id(query, "query"),
                    _response_text(words),
                    file=source.name,
                )


_TEXTS = re.compile(rf"{ENTRY}{ENTRY}{WORDS}\s*[,}}]")


def _is_record(beginning: FileBeginning) -> bool:
    keys = beginning.keys
    if not keys.isdisjoint(BANK_KEYS):
        return False
    cited = "references" in keys and not keys.isdisjoint(SENTENCE_KEYS)
    return cited or not any(keys.isdisjoint(wanted) for wanted in (RUN_KEYS, QUERY_KEYS, TEXT_KEYS))


RESPONSES = FileKind(
    name="responses",
    title="Generated responses",
    what="generated responses: TREC RAG or plain JSONL, or a JSON map",
    extensions=("jsonl", "json"),
    read=read_responses,
    write=None,
    looks_like={
        "record": _is_record,
        "map": lambda beginning: (
            bool(_TEXTS.match(beginning.text)) and not BANK.search(beginning.text)
        ),
    },
)


ANSWER_QUERY_KEYS = ("query_id", "qid", "topic_id")
GOLD = "gold"
MOST = 2**31 - 1


@dataclass(frozen=True)
class WrittenAnswer:
    """One answer of a file.

    Args:
        run: the run whose top passages it was written from; `gold` for the gold passages.
        k: number of these passages; None for gold.
        draw: number of the draw, from 1.
    """

    query_id: str
    run: str
    k: int | None
    draw: int
    answer: str


def read_answers(source: Source, report: Report) -> list[WrittenAnswer]:
    """Read answers.

    Args:
        source: JSONL with `query_id`, `run` (or "gold"), `k` (not with gold), `draw` (default 1)
            and `answer`.
        report: receives refused lines, including a second answer for the same query, run, k and
            draw.

    Returns:
        The answers in file order.
    """
    answers: dict[tuple[str, str, int | None, int], WrittenAnswer] = {}
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with report_refusals(report, source.name, number):
            answer = _read_answer(row)
            note_unread(
                row, (ANSWER_QUERY_KEYS, ("run",), ("answer",)), source.name, number, report
            )
            place = (answer.query_id, answer.run, answer.k, answer.draw)
            if answers.setdefault(place, answer) is not answer:
                raise Refused(
                    "duplicate-answer",
                    f"query {answer.query_id} already has an answer from {answer.run}"
                    " with this k and draw",
                )
    report.require(answers, source.name, "answers")
    return list(answers.values())


def _read_answer(row: dict[str, Any]) -> WrittenAnswer:
    run = good_id(row.get("run"), "run")
    k = None if run == GOLD else _whole_number(row.get("k"), "k")
    draw = _whole_number(row.get("draw", 1), "draw")
    return WrittenAnswer(
        good_id(value_of(row, ANSWER_QUERY_KEYS, "query id"), "query"),
        run,
        k,
        draw,
        good_text(value_of(row, ("answer",), "answer"), "answer"),
    )


def _whole_number(value: object, name: str) -> int:
    if type(value) is not int or not 1 <= value <= MOST:
        raise Refused("invalid-number", f"{name} is not a whole number from 1")
    return value


ANSWERS = FileKind(
    name="answers",
    title="Generated answers",
    what="answers generated elsewhere: JSONL with query_id, run (or gold), k, draw and answer",
    extensions=("jsonl",),
    read=read_answers,
    write=None,
    looks_like={
        "record": lambda beginning: (
            {"query_id", "run", "answer"} <= beginning.keys
            and not {"k", "draw"}.isdisjoint(beginning.keys)
        )
    },
)


YES_NO = {"yes": True, "no": False}


@dataclass(frozen=True)
class AnswerVerdict:
    """A person's verdict whether an answer to a query is acceptable."""

    query_id: str
    answer: str
    acceptable: bool


def read_answer_verdicts(source: Source, report: Report) -> list[AnswerVerdict]:
    """Read verdicts.

    Args:
        source: JSONL with `query_id`, `answer` and `acceptable` (true or false, yes or no, 1 or 0).
        report: receives refused lines, including a second, different verdict on the same answer.

    Returns:
        The verdicts in file order, each once.
    """
    verdicts: dict[tuple[str, str], AnswerVerdict] = {}
    for number, row in open_objects(source, report, Limits(WHOLE)):
        with report_refusals(report, source.name, number):
            verdict = AnswerVerdict(
                good_id(value_of(row, ANSWER_QUERY_KEYS, "query id"), "query"),
                good_text(value_of(row, ("answer",), "answer"), "answer"),
                _is_acceptable(row.get("acceptable")),
            )
            note_unread(
                row, (ANSWER_QUERY_KEYS, ("answer",), ("acceptable",)), source.name, number, report
            )
            if verdicts.setdefault((verdict.query_id, verdict.answer), verdict) != verdict:
                raise Refused(
                    "contradicting-lines",
                    f"the same answer to query {verdict.query_id} has another result above",
                )
    report.require(verdicts, source.name, "results")
    return list(verdicts.values())


def _is_acceptable(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in YES_NO:
        return YES_NO[value.strip().lower()]
    if value in (0, 1) and isinstance(value, int):
        return bool(value)
    raise Refused("invalid-verdict", "acceptable is neither true nor false")


VERDICTS = FileKind(
    name="answer-verdicts",
    title="Human results for answers",
    what="answers that people marked as right or wrong: JSONL with query_id, answer and acceptable",
    extensions=("jsonl",),
    read=read_answer_verdicts,
    write=None,
    looks_like={"record": lambda beginning: {"query_id", "answer", "acceptable"} <= beginning.keys},
)
