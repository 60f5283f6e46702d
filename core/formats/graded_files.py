"""Autograder/RUBRIC interchange files: one line per query with its passages and their grades."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import compress, groupby
from operator import attrgetter, itemgetter
from typing import Any, BinaryIO

import orjson

from ..errors import Report
from ..grouping import group_pairs
from ..types import (
    GradeBlocks,
    GradeColumns,
    GradedQuery,
    GraderSpec,
    Judgment,
    Kind,
    Passage,
    Query,
    Question,
    Ranked,
    RankedColumns,
)
from . import _graded_form as graded_form
from ._graded_form import (
    DIRECT,
    NOTHING,
    OURS,
    Entry,
    ExamGrades,
    ParagraphData,
    PassageOfLine,
    describe_grader,
    parse_raw,
    parse_usual,
    raw_json,
    read_detail,
    read_details,
    typed_record,
    write_detail,
    write_details,
)
from ._nugget_files import is_nugget_grade
from ._source import (
    FileKind,
    Limits,
    Refused,
    Source,
    check_limit,
    check_shape,
    good_id,
    open_byte_lines,
    parse_json,
)
from .query_files import query_of, query_row
from .question_bank_files import question_of, question_row
from .trec_files import LARGEST

PASSAGE_KEYS = {*PassageOfLine.__struct_fields__}
START = re.compile(r'\[\s*("[^"]*"|\d+)\s*,\s*\[')


Given = list[tuple[str, Sequence[Any]]]
"""Ids of passages with their rankings as in the file, in any form."""


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader that the file names.

    Args:
        rated: whether it gives ratings; otherwise it decides if a question is answered.
        allowed: its ratings.
    """

    spec: GraderSpec
    fingerprint: str
    rated: bool
    allowed: frozenset[int | None]


@dataclass(slots=True)
class GradedLine:
    """The data gathered from one line of the file.

    Args:
        asked: the last questions of each kind of prompt.
        itself: the question of direct graders: the query, by its id.
    """

    query_id: str
    graders: dict[Any, Grader]
    remark: Callable[[str, str], None]
    title: str = ""
    query: Query | None = None
    passages: dict[str, Passage] = field(default_factory=dict)
    judgments: dict[tuple[str, str], Judgment] = field(default_factory=dict)
    ranked: Given = field(default_factory=list)
    rankings: dict[str, dict[tuple[str, str], Ranked]] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    banked: list[Question] = field(default_factory=list)
    asked: dict[Any, list[str]] = field(default_factory=dict)
    itself: list[str] = field(default_factory=list)
    exam: dict[str, GradeBlocks] = field(default_factory=dict)
    direct: dict[str, GradeBlocks] = field(default_factory=dict)


FAULTS = (Refused, KeyError, TypeError, AttributeError, ValueError)
"""Exceptions that reading raises if a passage does not follow the interchange form."""


def refused_of(passage_id: str, fault: Exception) -> Refused:
    """Return why a line is refused, given one of `FAULTS` that a passage raised."""
    code, reason = "not-in-form", f"not in the interchange format ({fault})"
    if isinstance(fault, Refused):
        code, reason = fault.code, str(fault)
    elif isinstance(fault, KeyError):
        code, reason = "value-missing", f"{fault.args[0]} is missing"
    return Refused(code, f"passage {passage_id}: {reason}")


def topic_of(named: object, state: GradedLine) -> str:
    """Return the query of a judgment or ranking: the line's query, or a facet of it, `query/facet`.

    Args:
        named: the query that the judgment or ranking names.

    Raises:
        Refused: the facet's id is invalid.
    """
    if isinstance(named, str) and named.startswith(f"{state.query_id}/"):
        return good_id(named, "query")
    if named not in (None, state.query_id):
        state.remark(
            "foreign-facet",
            "a judgment or ranking names a query that is not a facet of this line; it counts for"
            " the query of the line",
        )
    return state.query_id


def read_graded(source: Source, report: Report) -> Iterator[GradedQuery]:
    """Stream a graded file, one line at a time.

    `exam_grades` become grades of a self-rating grader (its ratings) or of an answering grader (1
    if the question counts as answered, else 0). `grades` become those of a direct grader, with the
    query id in place of a question id. The grader's parameters keep the model and prompt data of
    the file verbatim, so that they can be written back. Ranks are the file's own. As in TREC CAR, a
    ranking or judgment may name a facet, `query/facet`. Then it belongs to the facet, not to the
    line's query. Repeated (grader, question, passage) and repeated queries are yielded again.

    Args:
        source: JSONL, gzip or not; lines `[query id, [passage, ...]]`.
        report: receives refused lines, and notes on content that is not kept.

    Yields:
        One record per line. Its query's text may be empty. Its grades are in the order in which
            their graders first
        appear, question graders before direct ones.
    """
    state = _ReaderState()
    any_read = False
    lines = open_byte_lines(source, report, Limits({"line": "GRADED_LINE"}))
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            query = _read_query(line, state, partial(report.remark, source.name, number))
        except Refused as refused:
            report.refuse(source.name, number, refused.code, str(refused))
            continue
        finally:
            # Free this line before the next one is read, which may be as long.
            del line
        any_read = True
        yield query
    report.require(any_read, source.name, "graded queries")


@dataclass
class _ReaderState:
    """State that the lines read so far leave for later lines.

    Args:
        usual: whether every accepted line was in the usual form.
    """

    graders: dict[Any, Grader] = field(default_factory=dict)
    usual: bool = True


def _read_query(
    line: bytes, reader_state: _ReaderState, remark: Callable[[str, str], None]
) -> GradedQuery:
    # The depth of JSON is checked only in parts that are stored verbatim. Checking every line would
    # slow down the import.
    check_shape(line, any_depth=True)
    if reader_state.usual:
        remarks: list[tuple[str, str]] = []
        # Otherwise the line is parsed in another form, so that the message describes it as it is in
        # the file.
        with suppress(Refused):
            query = _read_record(
                parse_usual(line), reader_state, lambda *remark: remarks.append(remark)
            )
            for code, reason in remarks:
                remark(code, reason)
            return query
    query = _read_record(parse_json(line, any_depth=True), reader_state, remark)
    # The line is valid in another form. Later lines may have that form too, and trying the usual
    # form first would parse each of them twice.
    reader_state.usual = False
    return query


def _read_record(
    record: Any, reader_state: _ReaderState, remark: Callable[[str, str], None]
) -> GradedQuery:
    if not (isinstance(record, (list, tuple)) and len(record) == 2 and isinstance(record[1], list)):
        raise Refused("not-a-graded-line", "the line is not of the form [query id, [passage, ...]]")
    query_id = good_id(record[0], "query")
    state = GradedLine(query_id, reader_state.graders, remark, itself=[query_id])
    for passage in record[1]:
        _read_passage(passage, state)
    banked = {question.question_id: question for question in state.banked}
    for question_id, question in state.questions.items():
        banked.setdefault(question_id, question)
    return GradedQuery(
        state.query or Query(state.query_id, state.title),
        list(state.passages.values()),
        list(state.judgments.values()),
        rankings_of(state),
        list(banked.values()),
        [*state.exam.values(), *state.direct.values()],
    )


def _read_passage(passage_row: Any, state: GradedLine) -> None:
    try:
        passage = typed_record(passage_row, PassageOfLine)
        passage_id = good_id(passage.paragraph_id, "passage")
    except AttributeError:
        raise Refused("not-an-object", "a passage is not a JSON object") from None
    try:
        text = passage.text or ""
        if not isinstance(text, str):
            raise Refused("not-a-text", "the text is not a string")
        if not text or text.isspace():
            state.remark("no-passage-text", "a passage has no text")
        if state.passages.setdefault(passage_id, Passage(passage_id, text)).text != text:
            raise Refused("contradicting-lines", "listed twice with different texts")
        if passage.paragraph or (
            passage is not passage_row and not PASSAGE_KEYS.issuperset(passage_row)
        ):
            state.remark("further-content", "a passage has further content, which is not kept")
        _paragraph_data(
            typed_record(passage.paragraph_data or {}, ParagraphData), passage_id, state
        )
        for entry in passage.exam_grades or ():
            take_exam_grades(typed_record(entry, ExamGrades), passage_id, state)
        for entry in parse_raw(passage.grades) or ():
            take_direct_grade(entry, passage_id, state)
    except FAULTS as fault:
        raise refused_of(passage_id, fault) from fault


def _paragraph_data(data: ParagraphData, passage_id: str, state: GradedLine) -> None:
    for entry in parse_raw(data.judgments) or ():
        value = entry["relevance"]
        if type(value) is not int or abs(value) > LARGEST:
            raise Refused(
                "invalid-relevance", f"the relevance {value!r} is not an integer up to {LARGEST}"
            )
        if not state.title and isinstance(entry.get("titleQuery"), str):
            state.title = entry["titleQuery"]
        place = (topic_of(entry.get("query"), state), passage_id)
        before = state.judgments.get(place)
        if before is None or value > before.value:
            state.judgments[place] = Judgment(*place, value)
    if data.rankings:
        state.ranked.append((passage_id, data.rankings))
    if (ours := parse_raw(data.ours)) is not None:
        if "query" in ours:
            state.query = query_of({**ours["query"], "query_id": state.query_id})
        state.banked += [question_of(row) for row in ours.get("questions") or ()]


RATING_TYPES = {int, type(None)}
ANSWER_TYPES = {str, type(None)}


def _find_grader(entry: ExamGrades, has_ratings: bool, direct: bool, state: GradedLine) -> Grader:
    # Most entries repeat a few graders. Bytes are compared, so that they are parsed once.
    options, info = map(raw_json, (entry.llm_options, entry.prompt_info))
    key = (entry.llm, options, info, entry.prompt_type, has_ratings, direct)
    grader_entry = state.graders.get(key)
    if grader_entry is None:
        check_limit(len(state.graders) + 1, "the file names more graders than", "SYSTEMS")
        grader_entry = state.graders[key] = _parse_grader(*key)
    return grader_entry


def _parse_grader(
    model: str,
    options: bytes,
    info: bytes,
    prompt_type: str | None,
    has_ratings: bool,
    direct: bool,
) -> Grader:
    check_shape(options)
    check_shape(info)
    parameters, prompt = orjson.loads(options), orjson.loads(info)
    stated = (prompt or {}).get("is_self_rated")
    rated = bool(has_ratings if stated is None or (direct and has_ratings) else stated)
    if prompt and OURS in prompt:
        spec = _restore_grader(prompt[OURS])
    else:
        spec = describe_grader(model, parameters, prompt, prompt_type, rated, direct)
    return Grader(spec, spec.fingerprint, rated, frozenset((*range(spec.max_rating + 1), None)))


def _restore_grader(row: dict[str, Any]) -> GraderSpec:
    spec = GraderSpec(**{**row, "kinds": tuple(row["kinds"])})
    if not spec.in_form:
        raise Refused("invalid-grader", f"the grader in {OURS} is invalid")
    return spec


def take_exam_grades(entry: ExamGrades, passage_id: str, state: GradedLine) -> None:
    """Read an entry of `exam_grades`: one grader's grades of a passage.

    Args:
        entry: as in the file.
        state: receives the grades.

    Raises:
        Exception: one of `FAULTS`, if the entry does not follow the interchange form.
    """
    grader = _find_grader(entry, entry.self_ratings is not None, False, state)
    answered = dict(parse_raw(entry.answers) or ())
    ours = parse_raw(entry.ours) or {}
    asked_texts = ours.get("asked")
    if grader.rated:
        if entry.self_ratings is None:
            raise Refused("self-ratings-missing", "an entry is self-rated but has no self_ratings")
        ids, ratings = graded_form.read_ratings(entry.self_ratings, entry.prompt_type)
    else:
        right, wrong = parse_raw(entry.right), parse_raw(entry.wrong)
        if right is None or wrong is None:
            raise Refused("value-missing", "correctAnswered or wrongAnswered is missing")
        ids, ratings = graded_form.read_answered(right, wrong, answered)
    if asked_texts is not None:
        known = dict(zip(ids, ratings, strict=True))
        ids, ratings = asked_texts, list(map(known.get, asked_texts))
    if not ids:
        return
    _check_ratings(ids, ratings, grader)
    answers = list(map(answered.get, ids)) if answered else None
    if answers and not ANSWER_TYPES.issuperset(map(type, answers)):
        raise Refused("not-a-text", "an answer is not a text")
    ids = _reuse_asked_ids(ids, entry.prompt_type, state)
    grades = _blocks_of(state.exam, grader)
    if ours:
        details = read_details(ours, len(ids))
        grades.details.update((grades.size + position, detail) for position, detail in details)
    grades.add(passage_id, ids, ratings, answers)


def _blocks_of(blocks: dict[str, GradeBlocks], grader: Grader) -> GradeBlocks:
    return blocks.get(grader.fingerprint) or blocks.setdefault(
        grader.fingerprint, GradeBlocks(grader.spec)
    )


def _reuse_asked_ids(ids: list[str], prompt_type: Any, state: GradedLine) -> list[str]:
    """Return a passage's question ids: the previous passage's list object if they are the same."""
    if ids == state.asked.get(prompt_type):
        # Most passages have the same questions, and a list is found faster by identity than by
        # equality.
        return state.asked[prompt_type]
    kind: Kind = "nugget" if prompt_type == "nugget" else "question"
    for question_id in ids:
        if question_id not in state.questions:
            if not isinstance(question_id, str):
                raise Refused("not-a-text", "a question id is not a text")
            good_id(question_id, "question")
            state.questions[question_id] = Question(question_id, state.query_id, None, kind)
    state.asked[prompt_type] = ids
    return ids


def _check_ratings(ids: list[str], ratings: list[Any], grader: Grader) -> None:
    if grader.allowed.issuperset(ratings) and RATING_TYPES.issuperset(map(type, ratings)):
        return
    for question_id, rating in zip(ids, ratings, strict=True):
        if type(rating) not in RATING_TYPES or rating not in grader.allowed:
            raise Refused(
                "rating-out-of-range",
                f"the rating {rating!r} for {question_id} is not an integer from 0 to"
                f" {grader.spec.max_rating}",
            )


def take_direct_grade(entry: dict[str, Any], passage_id: str, state: GradedLine) -> None:
    """Read an entry of `grades`: a direct grader's grade of a passage.

    Args:
        entry: as in the file.
        state: receives the grade.

    Raises:
        Exception: one of `FAULTS`, if the entry does not follow the interchange form.
    """
    rating = entry.get("self_ratings")
    ours = entry.get(OURS) or {}
    known = rating is not None or bool(ours.get("failed"))
    grader = _find_grader(typed_record(entry, ExamGrades), known, True, state)
    if not grader.rated and entry.get("correctAnswered") is not None:
        rating = int(bool(entry["correctAnswered"]))
    _check_ratings(state.itself, [rating], grader)
    answer = entry.get("answer")
    if type(answer) not in ANSWER_TYPES:
        raise Refused("not-a-text", "an answer is not a text")
    grades = _blocks_of(state.direct, grader)
    if ours and (detail := read_detail(ours)) != NOTHING:
        grades.details[grades.size] = detail
    grades.add(passage_id, state.itself, [rating], None if answer is None else [answer])


_OF_ENTRY = tuple(map(attrgetter, ("method", "rank", "score", "query")))
_OF_OBJECT = tuple(map(itemgetter, ("method", "rank", "score", "queryId")))


def rankings_of(state: GradedLine) -> Mapping[str, Sequence[Ranked]]:
    """Return the rankings by run, once all passages of the line are known.

    Raises:
        Refused: an entry cannot be used; the message names the passage.
    """
    if not state.ranked:
        return {}
    if (columns := _ranked_columns(state.query_id, state.ranked)) is not None:
        return columns
    for passage_id, entries in state.ranked:
        try:
            for entry in entries:
                _read_ranking(entry, (state.query_id, passage_id), state)
        except FAULTS as fault:
            raise refused_of(passage_id, fault) from fault
    return {run: _order_ranking(ranking.values()) for run, ranking in state.rankings.items()}


def _ranked_columns(query_id: str, rankings: Given) -> RankedColumns | None:
    """Return the rankings of a line; None if any entry is wrong, unusual or repeated and needs a
    separate look.

    Args:
        query_id: the line's query; rankings of its facets are unusual.
    """
    # Imported here, because every import loads this module, and most do not need numpy.
    import numpy as np

    try:
        entries: list[Any] = [entry for _, of in rankings for entry in of]
        method, rank_of, score_of, query = (
            _OF_ENTRY if entries and isinstance(entries[0], Entry) else _OF_OBJECT
        )
        names, ranks, scores = (list(map(of, entries)) for of in (method, rank_of, score_of))
        # Types are compared exactly, because a bool would pass for an integer.
        usual = {int}.issuperset(map(type, ranks)) and {int, float}.issuperset(map(type, scores))
        runs = {good_id(name, "run"): place for place, name in enumerate(dict.fromkeys(names))}
        run = np.fromiter(map(runs.__getitem__, names), np.int32, len(names))
        rank, score = np.array(ranks, np.int64), np.array(scores, np.float64)
        queries = set(map(query, entries))
    except (KeyError, TypeError, ValueError, OverflowError):
        # A name that is not a text is missing in `runs`; a refused name raises a ValueError.
        return None
    passages = list(dict.fromkeys(passage_id for passage_id, _ in rankings))
    passage = np.repeat(np.arange(len(rankings), dtype=np.int32), [len(of) for _, of in rankings])
    places = np.sort(run.astype(np.int64) * len(rankings) + passage)
    if (
        not usual
        or len(passages) < len(rankings)
        or not queries <= {None, query_id}
        or (rank > LARGEST).any()
        or (rank < -LARGEST).any()
        or not np.isfinite(score).all()
        or (places[1:] == places[:-1]).any()
    ):
        return None
    return RankedColumns(query_id, list(runs), passages, run, passage, rank.astype(np.int32), score)


def _read_ranking(entry: Any, own: tuple[str, str], state: GradedLine) -> None:
    """Record one run's entry for a passage; `own` holds the ids of the line's query and of the
    passage.
    """
    if isinstance(entry, Entry):
        raise Refused("not-the-usual-form", "a ranking is not in the usual form, unlike its line")
    name, rank, score = entry["method"], entry["rank"], float(entry["score"])
    ranking = state.rankings.get(name)
    if ranking is None:
        if not isinstance(name, str):
            raise Refused("not-a-text", "the method of a ranking is not a text")
        ranking = state.rankings[good_id(name, "run")] = {}
    if type(rank) is not int or not (-LARGEST <= rank <= LARGEST and -math.inf < score < math.inf):
        raise Refused(
            "invalid-ranking",
            "a ranking has a rank that is not an integer or a score that is not a number",
        )
    named = entry.get("queryId")
    place = own if named == own[0] else (topic_of(named, state), own[1])
    before = ranking.get(place)
    if before is not None:
        state.remark(
            "repeated-passage", "a passage is in one ranking twice; its better rank is kept"
        )
    if before is None or rank < before.rank:
        ranking[place] = Ranked(*place, rank, score)


def _order_ranking(ranking: Collection[Ranked]) -> list[Ranked]:
    """Return a ranking grouped by topic, in the order of first mention, then by rank."""
    places = {
        topic: place for place, topic in enumerate(dict.fromkeys(one.query_id for one in ranking))
    }
    return sorted(ranking, key=lambda one: (places[one.query_id], one.rank))


def write_graded(queries: Iterable[GradedQuery], out: BinaryIO) -> None:
    """Write a graded file, gzip-compressed, that `read_graded` reads back to the same records.

    The bytes depend on the records alone. Some data has no place in the interchange form: graders
    made here, question texts, failed pairs, and details of grades. Such data is written under the
    key `exam_workbench`, which other readers ignore. A passage that only a judgment, a ranking or a
    grade names is listed with an empty text. A query without passages keeps its id only.
    """
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6) as packed:
        for query in queries:
            packed.write(orjson.dumps(_line_of(query), option=orjson.OPT_APPEND_NEWLINE))


@dataclass(frozen=True, slots=True)
class _GradesToWrite:
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


def _line_of(graded: GradedQuery) -> list[Any]:
    query_id = graded.query.query_id
    passages: dict[str, dict[str, Any]] = {}

    def find_passage(passage_id: str, text: str = "") -> dict[str, Any]:
        if passage_id not in passages:
            passages[passage_id] = {
                "paragraph_id": passage_id,
                "text": text,
                "paragraph": "",
                "paragraph_data": {"judgments": [], "rankings": []},
            }
        return passages[passage_id]

    for passage in graded.passages:
        find_passage(passage.passage_id, passage.text)
    for judgment in graded.judgments:
        find_passage(judgment.passage_id)["paragraph_data"]["judgments"].append(
            {
                "paragraphId": judgment.passage_id,
                "query": judgment.query_id,
                "relevance": judgment.value,
                "titleQuery": graded.query.text,
            }
        )
    for name, ranking in graded.rankings.items():
        for entry in ranking:
            find_passage(entry.passage_id)["paragraph_data"]["rankings"].append(
                {
                    "method": name,
                    "paragraphId": entry.passage_id,
                    "queryId": entry.query_id,
                    "rank": entry.rank,
                    "score": entry.score,
                }
            )
    nuggets = {question.question_id for question in graded.questions if question.kind == "nugget"}
    asked_texts: dict[str, list[tuple[list[str], Kind]]] = {}
    for given in graded.grades:
        columns = given.columns() if isinstance(given, GradeBlocks) else given
        grades = _make_written(columns, nuggets)
        direct = columns.grader.method == "direct"
        by_passage = group_pairs(
            (passage_id, row) for row, passage_id in enumerate(columns.passage_ids)
        )
        for passage_id, rows in by_passage.items():
            if direct:
                find_passage(passage_id).setdefault("grades", []).extend(
                    _direct_entry(grades, row) for row in rows
                )
                continue
            entries = _exam_entries(grades, rows)
            find_passage(passage_id).setdefault("exam_grades", []).extend(
                entry for entry, _, _ in entries
            )
            asked_texts.setdefault(passage_id, []).extend((ids, kind) for _, ids, kind in entries)
    implied: dict[str, Question] = {}
    for ids, kind in (part for passage_id in passages for part in asked_texts.get(passage_id, ())):
        implied |= {
            part: Question(part, query_id, None, kind) for part in ids if part not in implied
        }
    ours: dict[str, Any] = {}
    if graded.query.text and graded.query != Query(
        query_id, graded.query.text if graded.judgments else ""
    ):
        ours["query"] = query_row(graded.query)
    if graded.questions != list(implied.values()):
        ours["questions"] = [question_row(question) for question in graded.questions]
    if ours and passages:
        next(iter(passages.values()))["paragraph_data"][OURS] = ours
    return [query_id, list(passages.values())]


def _make_written(columns: GradeColumns, nuggets: set[str]) -> _GradesToWrite:
    spec = columns.grader
    rated, direct = spec.max_rating > 1, spec.method == "direct"
    options, info = spec.parameters.get("llm_options"), spec.parameters.get("prompt_info")
    default = DIRECT if direct else "nugget" if spec.kinds == ("nugget",) else "question"
    kind: str | None = spec.parameters.get("prompt_type", default)
    foreign = (
        (info is None or isinstance(info, dict))
        and (info or {}).get("is_self_rated") in (None, rated)
        and describe_grader(spec.model, options, info, kind, rated, direct) == spec
    )
    if not foreign:
        written = {
            "prompt_class": spec.prompt or spec.method,
            "prompt_style": "",
            "context_first": False,
            "check_unanswerable": not direct,
            "check_answer_key": False,
        }
        info = {
            **(info if isinstance(info, dict) else written),
            "is_self_rated": rated,
            OURS: asdict(spec),
        }
        options = {} if options is None else options
        kind = DIRECT if direct else None
    return _GradesToWrite(
        columns, {"llm": spec.model, "llm_options": options, "prompt_info": info}, kind, nuggets
    )


def _exam_entries(
    grades: _GradesToWrite, rows: list[int]
) -> list[tuple[dict[str, Any], list[str], Kind]]:
    """Return the entries of one grader for one passage: one per group of consecutive questions of
    one kind.

    Returns:
        Each entry, with the ids of its questions and their kind.
    """
    if grades.kind is not None or OURS not in (grades.shared["prompt_info"] or {}):
        return [_exam_entry(grades, rows, grades.kind)]
    is_nugget = [one in grades.nuggets for one in grades.column("question_ids", rows)]
    stretches = groupby(zip(is_nugget, rows, strict=True), itemgetter(0))
    return [
        _exam_entry(grades, [row for _, row in stretch], "nugget" if nugget else "question")
        for nugget, stretch in stretches
    ]


def _exam_entry(
    grades: _GradesToWrite, rows: list[int], prompt_type: str | None
) -> tuple[dict[str, Any], list[str], Kind]:
    ids, ratings, answers = (
        grades.column(name, rows) for name in ("question_ids", "ratings", "answers")
    )
    kind: Kind = "nugget" if prompt_type == "nugget" else "question"
    key = f"{kind}_id"
    # A pair without a usable rating is in neither list.
    right = list(compress(ids, ratings))
    wrong = [question_id for question_id, rating in zip(ids, ratings, strict=True) if rating == 0]
    texts = [
        [question_id, text]
        for question_id, text in zip(ids, answers, strict=True)
        if text is not None
    ]
    entry: dict[str, Any] = {
        "correctAnswered": right,
        "wrongAnswered": wrong,
        "answers": texts,
        **grades.shared,
        "exam_ratio": len(right) / len(ids),
        "prompt_type": prompt_type,
    }
    if grades.columns.grader.max_rating > 1:
        entry["self_ratings"] = [
            {key: question_id, "self_rating": rating}
            for question_id, rating in zip(ids, ratings, strict=True)
            if rating is not None
        ]
        complete = None not in ratings
    else:
        complete = graded_form.read_answered(right, wrong, dict(texts))[0] == ids
    ours: dict[str, Any] = {} if complete else {"asked": ids}
    if grades.columns.details:
        ours |= write_details([grades.columns.details.get(row) for row in rows])
    return entry | ({OURS: ours} if ours else {}), ids, kind


def _direct_entry(grades: _GradesToWrite, row: int) -> dict[str, Any]:
    columns = grades.columns
    rating, answer = columns.ratings[row], columns.answers[row]
    ours = OURS in (grades.shared["prompt_info"] or {})
    scaled = ours or columns.grader.max_rating > 1
    extra = {"failed": True} if rating is None and scaled else {}
    extra |= write_detail(columns.details.get(row))
    return {
        "correctAnswered": None if rating is None else rating >= 1,
        **grades.shared,
        "self_ratings": rating if scaled else None,
        "prompt_type": grades.kind,
        **({} if answer is None else {"answer": answer}),
        **({OURS: extra} if extra else {}),
    }


KIND = FileKind(
    name="graded",
    title="Graded file",
    what="Autograder/RUBRIC interchange file; grades made elsewhere: nugget-grades.jsonl,"
    " nugget-doc-grades.jsonl, Nuggetizer's assignments",
    extensions=("jsonl",),
    read=read_graded,
    write=write_graded,
    looks_like={
        "list": lambda beginning: bool(START.match(beginning.text)),
        "record": lambda beginning: is_nugget_grade(beginning.lines[0], beginning.keys),
    },
    judges=True,
    source="judgments",
)
