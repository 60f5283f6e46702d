"""Writing of Autograder/RUBRIC interchange files: one line per query with its passages and all their grades."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress, groupby
from operator import getitem, not_
from typing import Any, BinaryIO

import orjson

from ..types import GradeBlocks, GradeColumns, GradedQuery, Kind, Query, Question
from ._graded_form import DIRECT, OURS, answered, described, write_detail, write_details
from .query_files import query_row
from .question_bank_files import question_row

Rows = range | list[int]
"""Positions in the columns of grades; in most files the grades of a passage are consecutive."""


def write_graded(queries: Iterable[GradedQuery], out: BinaryIO) -> None:
    """Write a graded file, gzip-compressed, that `read_graded` reads back to the same records.

    The bytes depend on the records alone. Some data has no place in the interchange form: graders made here,
    question texts, failed pairs, and details of grades. Such data is written under the key `exam_workbench`, which
    other readers ignore. A passage that only a judgment, a ranking or a grade names is listed with an empty text. A
    query without passages keeps its id only.
    """
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6) as packed:
        for query in queries:
            packed.write(orjson.dumps(_record(query), option=orjson.OPT_APPEND_NEWLINE))


class _Ratings(dict[int, bytes]):
    """The JSON of a question's ratings, made on first use."""

    def __init__(self, key: str, question_id: str) -> None:
        super().__init__()
        self.key, self.question_id = key, question_id

    def __missing__(self, rating: int) -> bytes:
        made = self[rating] = orjson.dumps({self.key: self.question_id, "self_rating": rating})
        return made


@dataclass(frozen=True, slots=True)
class _Questions:
    """The questions asked about several passages, with their JSON.

    Args:
        names: the JSON of their ids.
        ratings: the JSON of their ratings.
    """

    ids: list[str]
    names: list[bytes]
    ratings: list[_Ratings]


@dataclass(slots=True)
class _Written:
    """The grades of one grader to be written, with the data that all its entries share.

    Args:
        packed: the JSON of `shared`, without its braces.
        nuggets: which of the query's questions are nuggets.
        asked: the questions of the previous entry, by their id key.
    """

    columns: GradeColumns
    shared: dict[str, Any]
    kind: str | None
    rows: dict[str, Rows]
    packed: bytes
    nuggets: set[str]
    asked: dict[str, _Questions] = field(default_factory=dict)


def _record(graded: GradedQuery) -> list[Any]:
    query_id = graded.query.query_id
    passages: dict[str, dict[str, Any]] = {}

    def of(passage_id: str, text: str = "") -> dict[str, Any]:
        row = passages.get(passage_id)
        if row is None:
            data: dict[str, Any] = {"judgments": [], "rankings": []}
            row = {"paragraph_id": passage_id, "text": text, "paragraph": "", "paragraph_data": data}
            passages[passage_id] = row
        return row

    for passage in graded.passages:
        of(passage.passage_id, passage.text)
    for judgment in graded.judgments:
        judged = {
            "paragraphId": judgment.passage_id,
            "query": judgment.query_id,
            "relevance": judgment.value,
            "titleQuery": graded.query.text,
        }
        of(judgment.passage_id)["paragraph_data"]["judgments"].append(judged)
    for name, ranking in graded.rankings.items():
        for entry in ranking:
            ranked = {
                "method": name,
                "paragraphId": entry.passage_id,
                "queryId": entry.query_id,
                "rank": entry.rank,
                "score": entry.score,
            }
            of(entry.passage_id)["paragraph_data"]["rankings"].append(ranked)
    nuggets = {question.question_id for question in graded.questions if question.kind == "nugget"}
    asked: dict[str, list[tuple[list[str], Kind]]] = {}
    for given in graded.grades:
        columns = given.columns() if isinstance(given, GradeBlocks) else given
        written = _written(columns, nuggets)
        direct = columns.grader.method == "direct"
        for passage_id, rows in written.rows.items():
            if direct:
                of(passage_id).setdefault("grades", []).extend(_direct_entry(written, row) for row in rows)
                continue
            made = _exam_entries(written, rows)
            of(passage_id).setdefault("exam_grades", []).extend(entry for entry, _, _ in made)
            asked.setdefault(passage_id, []).extend((ids, kind) for _, ids, kind in made)
    implied: dict[str, Question] = {}
    last: list[str] = []
    for ids, kind in (one for passage_id in passages for one in asked.get(passage_id, ())):
        if ids is not last:
            last = ids
            implied |= {one: Question(one, query_id, None, kind) for one in ids if one not in implied}
    ours: dict[str, Any] = {}
    if graded.query.text and graded.query != Query(query_id, graded.query.text if graded.judgments else ""):
        ours["query"] = query_row(graded.query)
    if graded.questions != list(implied.values()):
        ours["questions"] = [question_row(question) for question in graded.questions]
    if ours and passages:
        next(iter(passages.values()))["paragraph_data"][OURS] = ours
    return [query_id, list(passages.values())]


def _written(columns: GradeColumns, nuggets: set[str]) -> _Written:
    spec = columns.grader
    rated, direct = spec.max_rating > 1, spec.method == "direct"
    options, info = spec.parameters.get("llm_options"), spec.parameters.get("prompt_info")
    default = DIRECT if direct else "nugget" if spec.kinds == ("nugget",) else "question"
    kind: str | None = spec.parameters.get("prompt_type", default)
    foreign = (
        (info is None or isinstance(info, dict))
        and (info or {}).get("is_self_rated") in (None, rated)
        and described(spec.model, options, info, kind, rated, direct) == spec
    )
    if not foreign:
        made = {
            "prompt_class": spec.prompt or spec.method,
            "prompt_style": "",
            "context_first": False,
            "check_unanswerable": not direct,
            "check_answer_key": False,
        }
        base = info if isinstance(info, dict) else made
        info = {**base, "is_self_rated": rated, OURS: asdict(spec)}
        options = {} if options is None else options
        kind = DIRECT if direct else None
    shared = {"llm": spec.model, "llm_options": options, "prompt_info": info}
    packed = orjson.dumps(shared).removeprefix(b"{").removesuffix(b"}")
    return _Written(columns, shared, kind, _by_passage(columns.passage_ids), packed, nuggets)


def _by_passage(passage_ids: Sequence[str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    begin = 0
    for passage_id, stretch in groupby(passage_ids):
        rows = range(begin, begin + len(list(stretch)))
        begin = rows.stop
        before = found.setdefault(passage_id, rows)
        if before is not rows:
            if isinstance(before, range):
                before = found[passage_id] = list(before)
            before.extend(rows)
    return found


def _at(column: list[Any], rows: Rows) -> list[Any]:
    return column[rows.start : rows.stop] if isinstance(rows, range) else [column[row] for row in rows]


def _exam_entries(written: _Written, rows: Rows) -> list[tuple[orjson.Fragment, list[str], Kind]]:
    """Return the entries of one grader for one passage: one per group of consecutive questions of one kind.

    Returns:
        The JSON of each entry, with the ids of its questions and their kind.
    """
    if written.kind is not None or OURS not in (written.shared["prompt_info"] or {}):
        return [_exam_entry(written, rows, written.kind)]
    ids = _at(written.columns.question_ids, rows)
    if written.nuggets.isdisjoint(ids):
        return [_exam_entry(written, rows, "question")]
    stretches = groupby(zip(rows, ids, strict=True), lambda one: "nugget" if one[1] in written.nuggets else "question")
    return [_exam_entry(written, [row for row, _ in stretch], kind) for kind, stretch in stretches]


def _exam_entry(written: _Written, rows: Rows, prompt_type: str | None) -> tuple[orjson.Fragment, list[str], Kind]:
    columns = written.columns
    asked = _questions(
        written, _at(columns.question_ids, rows), "nugget_id" if prompt_type == "nugget" else "question_id"
    )
    ids, ratings, answers = asked.ids, _at(columns.ratings, rows), _at(columns.answers, rows)
    # A file has a few questions and thousands of passages, so the JSON is assembled from prepared pieces.
    unusable = None in ratings
    right = list(compress(asked.names, ratings))
    wrong = compress(asked.names, [rating == 0 for rating in ratings] if unusable else map(not_, ratings))
    given = []
    if answers.count(None) < len(answers):
        given = [[question_id, text] for question_id, text in zip(ids, answers, strict=True) if text is not None]
    parts = [
        b'{"correctAnswered":[' + b",".join(right),
        b'],"wrongAnswered":[' + b",".join(wrong),
        b'],"answers":' + orjson.dumps(given),
        b"," + written.packed,
        b',"exam_ratio":' + orjson.dumps(len(right) / len(ids)),
        b',"prompt_type":' + orjson.dumps(prompt_type),
    ]
    if columns.grader.max_rating > 1:
        pairs = zip(asked.ratings, ratings, strict=True)
        rated = (
            (json[rating] for json, rating in pairs if rating is not None)
            if unusable
            else map(getitem, asked.ratings, ratings)
        )
        parts += (b',"self_ratings":[' + b",".join(rated), b"]")
        read = not unusable
    else:
        usable = [(question_id, rating) for question_id, rating in zip(ids, ratings, strict=True) if rating is not None]
        of = {
            value: [question_id for question_id, rating in usable if (rating >= 1) == value] for value in (True, False)
        }
        read = answered(of[True], of[False], dict(given))[0] == ids
    ours: dict[str, Any] = {} if read else {"asked": ids}
    if columns.details:
        ours |= write_details([columns.details.get(row) for row in rows])
    if ours:
        parts.append(b',"' + OURS.encode() + b'":' + orjson.dumps(ours))
    parts.append(b"}")
    return orjson.Fragment(b"".join(parts)), ids, "nugget" if prompt_type == "nugget" else "question"


def _questions(written: _Written, ids: list[str], key: str) -> _Questions:
    known = written.asked.get(key)
    if known is None or known.ids != ids:
        names, ratings = [orjson.dumps(one) for one in ids], [_Ratings(key, one) for one in ids]
        known = written.asked[key] = _Questions(ids, names, ratings)
    return known


def _direct_entry(written: _Written, row: int) -> dict[str, Any]:
    columns = written.columns
    rating, answer = columns.ratings[row], columns.answers[row]
    ours = OURS in (written.shared["prompt_info"] or {})
    scaled = ours or columns.grader.max_rating > 1
    entry: dict[str, Any] = {
        "correctAnswered": None if rating is None else rating >= 1,
        **written.shared,
        "self_ratings": rating if scaled else None,
        "prompt_type": written.kind,
    }
    if answer is not None:
        entry["answer"] = answer
    known: dict[str, Any] = {"failed": True} if rating is None and scaled else {}
    known |= write_detail(columns.details.get(row))
    if known:
        entry[OURS] = known
    return entry
