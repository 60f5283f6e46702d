"""Writing of Autograder/RUBRIC interchange files: one line per query with its passages and all their grades."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, groupby
from operator import itemgetter
from typing import Any, BinaryIO

import orjson

from ..types import GradeBlocks, GradeColumns, GradedQuery, Kind, Query, Question
from ._graded_form import DIRECT, OURS, answered, described, write_detail, write_details
from .query_files import query_row
from .question_bank_files import question_row


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


@dataclass(frozen=True, slots=True)
class _Written:
    """The grades of one grader to be written, with the data that all its entries share.

    Args:
        nuggets: which of the query's questions are nuggets.
    """

    columns: GradeColumns
    shared: dict[str, Any]
    kind: str | None
    nuggets: set[str]

    def column(self, name: str, rows: Sequence[int]) -> list[Any]:
        """Return some rows of a column."""
        return list(map(getattr(self.columns, name).__getitem__, rows))


def _record(graded: GradedQuery) -> list[Any]:
    query_id = graded.query.query_id
    passages: dict[str, dict[str, Any]] = {}

    def of(passage_id: str, text: str = "") -> dict[str, Any]:
        if passage_id not in passages:
            passages[passage_id] = {
                "paragraph_id": passage_id,
                "text": text,
                "paragraph": "",
                "paragraph_data": {"judgments": [], "rankings": []},
            }
        return passages[passage_id]

    for passage in graded.passages:
        of(passage.passage_id, passage.text)
    for judgment in graded.judgments:
        of(judgment.passage_id)["paragraph_data"]["judgments"].append(
            {
                "paragraphId": judgment.passage_id,
                "query": judgment.query_id,
                "relevance": judgment.value,
                "titleQuery": graded.query.text,
            }
        )
    for name, ranking in graded.rankings.items():
        for entry in ranking:
            of(entry.passage_id)["paragraph_data"]["rankings"].append(
                {
                    "method": name,
                    "paragraphId": entry.passage_id,
                    "queryId": entry.query_id,
                    "rank": entry.rank,
                    "score": entry.score,
                }
            )
    nuggets = {question.question_id for question in graded.questions if question.kind == "nugget"}
    asked: dict[str, list[tuple[list[str], Kind]]] = {}
    for given in graded.grades:
        columns = given.columns() if isinstance(given, GradeBlocks) else given
        written = _written(columns, nuggets)
        direct = columns.grader.method == "direct"
        for passage_id, rows in _by_passage(columns.passage_ids).items():
            if direct:
                of(passage_id).setdefault("grades", []).extend(_direct_entry(written, row) for row in rows)
                continue
            made = _exam_entries(written, rows)
            of(passage_id).setdefault("exam_grades", []).extend(entry for entry, _, _ in made)
            asked.setdefault(passage_id, []).extend((ids, kind) for _, ids, kind in made)
    implied: dict[str, Question] = {}
    for ids, kind in (one for passage_id in passages for one in asked.get(passage_id, ())):
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
        info = {**(info if isinstance(info, dict) else made), "is_self_rated": rated, OURS: asdict(spec)}
        options = {} if options is None else options
        kind = DIRECT if direct else None
    return _Written(columns, {"llm": spec.model, "llm_options": options, "prompt_info": info}, kind, nuggets)


def _by_passage(passage_ids: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, passage_id in enumerate(passage_ids):
        rows.setdefault(passage_id, []).append(row)
    return rows


def _exam_entries(written: _Written, rows: list[int]) -> list[tuple[dict[str, Any], list[str], Kind]]:
    """Return the entries of one grader for one passage: one per group of consecutive questions of one kind.

    Returns:
        Each entry, with the ids of its questions and their kind.
    """
    if written.kind is not None or OURS not in (written.shared["prompt_info"] or {}):
        return [_exam_entry(written, rows, written.kind)]
    is_nugget = [one in written.nuggets for one in written.column("question_ids", rows)]
    stretches = groupby(zip(is_nugget, rows, strict=True), itemgetter(0))
    return [
        _exam_entry(written, [row for _, row in stretch], "nugget" if nugget else "question")
        for nugget, stretch in stretches
    ]


def _exam_entry(written: _Written, rows: list[int], prompt_type: str | None) -> tuple[dict[str, Any], list[str], Kind]:
    ids, ratings, answers = (written.column(name, rows) for name in ("question_ids", "ratings", "answers"))
    kind: Kind = "nugget" if prompt_type == "nugget" else "question"
    key = f"{kind}_id"
    # A pair without a usable rating is in neither list.
    right = list(compress(ids, ratings))
    wrong = [question_id for question_id, rating in zip(ids, ratings, strict=True) if rating == 0]
    given = [[question_id, text] for question_id, text in zip(ids, answers, strict=True) if text is not None]
    entry: dict[str, Any] = {
        "correctAnswered": right,
        "wrongAnswered": wrong,
        "answers": given,
        **written.shared,
        "exam_ratio": len(right) / len(ids),
        "prompt_type": prompt_type,
    }
    if written.columns.grader.max_rating > 1:
        entry["self_ratings"] = [
            {key: question_id, "self_rating": rating}
            for question_id, rating in zip(ids, ratings, strict=True)
            if rating is not None
        ]
        complete = None not in ratings
    else:
        complete = answered(right, wrong, dict(given))[0] == ids
    ours: dict[str, Any] = {} if complete else {"asked": ids}
    if written.columns.details:
        ours |= write_details([written.columns.details.get(row) for row in rows])
    return entry | ({OURS: ours} if ours else {}), ids, kind


def _direct_entry(written: _Written, row: int) -> dict[str, Any]:
    columns = written.columns
    rating, answer = columns.ratings[row], columns.answers[row]
    ours = OURS in (written.shared["prompt_info"] or {})
    scaled = ours or columns.grader.max_rating > 1
    known = {"failed": True} if rating is None and scaled else {}
    known |= write_detail(columns.details.get(row))
    return {
        "correctAnswered": None if rating is None else rating >= 1,
        **written.shared,
        "self_ratings": rating if scaled else None,
        "prompt_type": written.kind,
        **({} if answer is None else {"answer": answer}),
        **({OURS: known} if known else {}),
    }
