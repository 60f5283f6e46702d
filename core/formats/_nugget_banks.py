"""Nugget banks of AutoJudge: reads the forms v3 and RAGTIME26 by their keys; writes both and
Nuggetizer's form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..text import LONGEST_ID, one_line
from ..types import Query, Question, Subtopic
from ._graded_form import OURS
from ._source import Refused, as_object, first_of, good_id, good_text, number_in, value_of
from .query_files import query_of

QUERY_KEYS = ("query_id", "qid", "topic_id", "request_id", "narrative_id")
QUERY_TEXTS = ("query_text", "query", "title_query", "title")
BANK_KEYS = ("nugget_bank", "claim_bank")
"""The keys of questions and of claims in v3; RAGTIME26 has only the first."""
BANK = re.compile(r'"(nugget_bank|claim_bank|nuggets)"\s*:')
NUGGET_DOCS = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*"(AND|OR)"\s*,\s*\{')
"""The beginning of nuggets_TOPIC.json: {question: ["OR", {answer: [passage id]}]}."""
ANY_ANSWER = "OPEN_ENDED_ANSWER"
"""The key for passages that answer a question in any words."""
IMPORTANCE = {
    "vital": 1.0,
    "must": 1.0,
    "must_have": 1.0,
    "okay": 0.5,
    "should": 0.5,
    "should_have": 0.5,
    "avoid": -1.0,
}
"""Weights by importance of a nugget; `failed` makes a nugget inactive."""
OWN_NAMES = {"id": "question_id", "subtopic": "subtopic_id"} | {
    name: name for name in ("weight", "kind", "active", "answer_key", "choices", "note")
}
"""Bank columns by their keys in `metadata.exam_workbench`."""
READ = {
    "question",
    "question_id",
    "claim",
    "claim_id",
    "query_id",
    "answers",
    "sub_nuggets",
    "references",
    "aggregator_type",
    "importance",
    "creator",
    "metadata",
}
"""Keys of a nugget that are read."""
REFERENCES, AUTHOR, MODEL = "References: ", "Author: ", "Model: "
"""Beginnings of note lines for data that has no column of a question."""
UNFIT = {
    "v3": "questions without text",
    "ragtime26": "nuggets and questions without text",
    "nuggetizer": "questions with a negative weight or without text",
}
"""Questions that a form cannot hold."""

Remark = Callable[[str, str], None]


def text_hash(text: str) -> str:
    """Return AutoJudge's id of a question, a claim or a report: the MD5 of its text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def with_weight(importance: Any, remark: Remark) -> dict[str, Any]:
    """Return the bank columns for an importance: `weight`, or `active` if the nugget failed.

    Args:
        remark: receives a note if a word becomes a number.
    """
    if importance == "failed":
        remark("nugget-inactive", "a nugget with importance failed is imported as inactive")
        return {"active": False}
    if not isinstance(importance, str):
        return {"weight": importance}
    number = number_in(importance)
    weight = IMPORTANCE.get(importance.lower(), importance) if number is None else number
    remark("importance-as-weight", f"importance {importance} becomes weight {weight}")
    return {"weight": weight}


def own_values(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the exact bank columns that an entry has in `metadata.exam_workbench`.

    Raises:
        Refused: the value of that key is not an object.
    """
    return {
        OWN_NAMES[key]: value for key, value in _own_metadata(entry).items() if key in OWN_NAMES
    }


def _own_metadata(entry: dict[str, Any]) -> dict[str, Any]:
    metadata = entry.get("metadata")
    ours = metadata.get(OURS) if isinstance(metadata, dict) else None
    return {} if ours is None else as_object(ours, f"metadata.{OURS} is not an object")


def read_nugget_bank(row: dict[str, Any], remark: Remark) -> tuple[Query, list[dict[str, Any]]]:
    """Read the bank of one query.

    Args:
        row: an object with `nugget_bank` or `claim_bank`.
        remark: receives notes, by code and reason.

    Returns:
        The query, with a subtopic for each parent of sub-nuggets, and the rows of its questions, as
        `question_bank.question_of` takes them.

    Raises:
        Refused: the object does not follow the form.
    """
    metadata = row.get("metadata")
    fields = {**metadata, **row} if isinstance(metadata, dict) else row
    query_id = good_id(value_of(fields, QUERY_KEYS, "query id"), "query")
    if "nuggets" in row:
        raise Refused(
            "two-banks",
            "the object has nuggets and also nugget_bank or claim_bank; keep one of them",
        )
    title, narrative = first_of(row, QUERY_TEXTS), row.get("full_query")
    entries = [
        entry for key in BANK_KEYS for entry in _flatten_entries(_as_list(row.get(key), key), None)
    ]
    parents = {one_line(parent, LONGEST_ID): parent for _, parent in entries if parent is not None}
    if parents:
        remark("sub-nugget", "a sub-nugget becomes a question with its parent's text as subtopic")
    named = _own_metadata(row).get("subtopics")
    stated = query_of({"query_id": query_id, "text": query_id, "subtopics": named}).subtopics
    query = Query(
        query_id,
        "" if title is None else good_text(title, "query's text"),
        narrative if isinstance(narrative, str) and not narrative.isspace() else None,
        stated + tuple(Subtopic(key, text) for key, text in parents.items()),
    )
    return query, [nugget_row(entry, parent, query_id, remark) for entry, parent in entries]


def bank_of_nugget_docs(row: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the content of nuggets_TOPIC.json as a bank of v3.

    Args:
        name: of the file, which has the query's id.

    Raises:
        Refused: a value is not a list of AND or OR and an object.
    """
    entries = []
    for question, value in row.items():
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict)):
            raise Refused(
                "not-a-list",
                f"the question {question[:40]!r} has no list of AND or OR and an object",
            )
        answers = [
            {"answer": answer, "references": ids}
            for answer, ids in value[1].items()
            if answer != ANY_ANSWER
        ]
        entry = {"question": question, "aggregator_type": value[0], "answers": answers}
        entries.append(entry | {"references": value[1].get(ANY_ANSWER)})
    return {"query_id": name.removeprefix("nuggets_"), "nugget_bank": entries}


def _flatten_entries(
    entries: Iterable[Any], parent: str | None
) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield entries with the text of their parent, each followed by its own sub-nuggets."""
    for entry in entries:
        yield as_object(entry, "a nugget is not an object"), parent
        yield from _flatten_entries(
            _as_list(entry.get("sub_nuggets"), "sub_nuggets"), entry_wording(entry)[1]
        )


def _as_list(entries: Any, what: str) -> list[Any]:
    """Return a list, or the values of a map whose keys repeat a text of the values."""
    if entries is not None and not isinstance(entries, list | dict):
        raise Refused("not-a-list", f"{what} is neither a list nor an object")
    return list(entries.values() if isinstance(entries, dict) else entries or [])


def entry_wording(entry: dict[str, Any]) -> tuple[str, str]:
    """Return "question" or "claim" for an entry, and its text."""
    if "question" in entry and "claim" in entry:
        raise Refused("two-texts", "a nugget has both question and claim; keep one of them")
    word = "claim" if "claim" in entry else "question"
    return word, good_text(
        value_of(entry, ("question", "claim"), "nugget's text"), f"{word}'s text"
    )


def nugget_row(
    entry: dict[str, Any], parent: str | None, query_id: str, remark: Remark
) -> dict[str, Any]:
    """Return the row of a question for an entry without its sub-nuggets; `parent`: the text of the
    entry around it.
    """
    word, text = entry_wording(entry)
    if (of_query := entry.get("query_id")) not in (None, query_id):
        raise Refused(
            "question-of-two-queries", f"a nugget of query {query_id} names query {of_query}"
        )
    if (how := entry.get("aggregator_type")) not in (None, "OR", "Default"):
        remark(
            "aggregator-ignored",
            f"aggregator_type {how!s:.20} is ignored: a question has one answer key",
        )
    for key in (key for key, value in entry.items() if value is not None and key not in READ):
        remark("unknown-field", f"the nugget field {key} is ignored")
    answers = [
        answer if isinstance(answer, dict) else {"answer": answer}
        for answer in _as_list(entry.get("answers"), "answers")
    ]
    own, given_id = own_values(entry), entry.get(f"{word}_id")
    row = {
        "query_id": query_id,
        # Several queries may have the same text, so its hash cannot identify a question.
        "question_id": None if given_id == text_hash(text) else given_id,
        "text": text,
        "kind": "nugget" if word == "claim" else "question",
        "subtopic_id": None if parent is None else one_line(parent, LONGEST_ID),
        "answer_key": "; ".join(good_text(answer.get("answer"), "answer") for answer in answers),
        "note": _make_note(entry, answers),
    }
    return row | ({} if "weight" in own else with_weight(entry.get("importance"), remark)) | own


def _make_note(entry: dict[str, Any], answers: Sequence[dict[str, Any]]) -> str:
    """Return note lines with the documents that answer a question and its authors."""
    cited = [
        item
        for each in (entry, *answers)
        for item in _as_list(each.get("references"), "references")
    ]
    documents = [item.get("doc_id") if isinstance(item, dict) else item for item in cited]
    creators = entry.get("creator")
    creators = [creators] if isinstance(creators, dict) else _as_list(creators, "creator")
    creators = [as_object(item, "a creator is not an object") for item in creators]
    notes = {
        REFERENCES: [good_id(item, "passage") for item in documents],
        AUTHOR: [
            good_id(item["assessor_id"], "assessor") for item in creators if item.get("assessor_id")
        ],
        MODEL: [good_id(item["llm_model"], "model") for item in creators if item.get("llm_model")],
    }
    return "\n".join(
        label + (" " if label == REFERENCES else ", ").join(dict.fromkeys(values))
        for label, values in notes.items()
        if values
    )


def _note_values(question: Question, label: str) -> list[str]:
    """Return the values of a note line that `_make_note` wrote."""
    lines = [line for line in (question.note or "").split("\n") if line.startswith(label)]
    return lines[0].removeprefix(label).split(" " if label == REFERENCES else ", ") if lines else []


def _own_entry(question: Question, version: int) -> dict[str, Any]:
    """Return the exact values, and the importance if the weight is whole (1.5 could not be read
    back).
    """
    values = {key: getattr(question, name) for key, name in OWN_NAMES.items()}
    exact = {
        "metadata": {OURS: values | {"choices": list(question.choices), "bank_version": version}}
    }
    importance = int(question.weight) if question.active else "failed"
    return ({"importance": importance} if importance in (question.weight, "failed") else {}) | exact


def _v3_bank(query: Query, questions: Sequence[Question], version: int) -> dict[str, Any]:
    banks: dict[str, dict[str, Any]] = {key: {} for key in BANK_KEYS}
    for question in questions:
        text, answer = question.text or "", question.answer_key
        word, bank = (
            ("claim", "claim_bank") if question.kind == "nugget" else ("question", "nugget_bank")
        )
        more = {
            "answers": {answer: {"answer": answer}} if answer and word == "question" else {},
            "references": [{"doc_id": name} for name in _note_values(question, REFERENCES)],
            "creator": [
                {"is_human": True, "assessor_id": name} for name in _note_values(question, AUTHOR)
            ]
            + [{"is_human": False, "llm_model": name} for name in _note_values(question, MODEL)],
        }
        entry: dict[str, Any] = {
            word: text,
            f"{word}_id": text_hash(text),
            "query_id": query.query_id,
        }
        entry |= {key: value for key, value in more.items() if value}
        # Another question of the query may have the same words.
        key = text if text not in banks[bank] else f"{text} [{question.question_id}]"
        banks[bank][key] = entry | _own_entry(question, version)
    about: dict[str, Any] = {} if query.narrative is None else {"full_query": query.narrative}
    if query.subtopics:
        about["metadata"] = {OURS: {"subtopics": [vars(subtopic) for subtopic in query.subtopics]}}
    return {
        "query_id": query.query_id,
        "title_query": query.text,
        **about,
        "format_version": "v3",
        **banks,
    }


def _ragtime26_bank(query: Query, questions: Sequence[Question], version: int) -> dict[str, Any]:
    run = {
        "team_id": "exam-workbench",
        "run_id": f"bank-{version}",
        "run_desc": f"Question bank {version}",
    }
    entries = []
    for question in questions:
        answer = {"answer": question.answer_key, "references": _note_values(question, REFERENCES)}
        answers = {"aggregator_type": "OR", "answers": [answer]} if question.answer_key else {}
        entries.append({"question": question.text} | answers | _own_entry(question, version))
    return {
        "format_version": "RAGTIME26",
        "metadata": run | {"topic_id": query.query_id},
        "nugget_bank": entries,
    }


def _nuggetizer_bank(query: Query, questions: Sequence[Question], version: int) -> dict[str, Any]:
    nuggets = []
    for question in questions:
        counts = "vital" if question.weight >= 1 else "okay"
        importance = counts if question.active and question.weight else "failed"
        nuggets.append(
            {"text": question.text} | _own_entry(question, version) | {"importance": importance}
        )
    return {"query": query.text, "qid": query.query_id, "nuggets": nuggets}


FORMS: dict[str, Callable[[Query, Sequence[Question], int], dict[str, Any]]] = {
    "v3": _v3_bank,
    "ragtime26": _ragtime26_bank,
    "nuggetizer": _nuggetizer_bank,
}
"""The forms of a bank for other tools."""
