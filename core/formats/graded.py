"""Autograder/RUBRIC interchange files: one query a line with its passages and all their grades."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

import orjson

from core.errors import Report
from core.formats import grade_details, graded_form
from core.formats.file_kind import FileKind
from core.formats.graded_form import OURS, described
from core.formats.graded_rankings import Given, ranked_columns
from core.formats.graded_writing import write_graded as write_graded
from core.formats.queries import query_of
from core.formats.question_bank import question_of
from core.formats.repeated_ratings import Read, RepeatedRatings
from core.formats.source import Limits, Refused, Source, check_shape, good_id, open_byte_lines, parse_json
from core.formats.trec_qrels import LARGEST
from core.limits import exceeded, limit
from core.types import (
    GradeBlocks,
    GradedQuery,
    GraderSpec,
    Judgment,
    Kind,
    Passage,
    Query,
    Question,
    Ranked,
)

PASSAGE_KEYS = {"paragraph_id", "text", "paragraph", "paragraph_data", "exam_grades", "grades"}
RATING_TYPES = {int, type(None)}
ANSWER_TYPES = {str, type(None)}
START = re.compile(r'\[\s*("[^"]*"|\d+)\s*,\s*\[')


_RANK = attrgetter("rank")


@dataclass(frozen=True, slots=True)
class _Grader:
    spec: GraderSpec
    fingerprint: str
    allowed: frozenset[int | None]


@dataclass(slots=True)
class _Line:
    """What is being gathered from one line of the file.

    Args:
        taken: lists of ratings that are not in the line any more, by the names that stand for them.
        used: how many of these stood where ratings are looked for.
        asked: the questions of the passage before.
        itself: what direct judges are asked: the query, by its id.
    """

    query_id: str
    graders: dict[Any, _Grader]
    remark: Callable[[str], None]
    title: str = ""
    query: Query | None = None
    passages: dict[str, Passage] = field(default_factory=dict)
    judgments: dict[tuple[str, str], Judgment] = field(default_factory=dict)
    ranked: Given = field(default_factory=list)
    rankings: dict[str, dict[tuple[str, str], Ranked]] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    banked: list[Question] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    itself: list[str] = field(default_factory=list)
    taken: dict[str, Read] = field(default_factory=dict)
    used: int = 0
    exam: dict[str, GradeBlocks] = field(default_factory=dict)
    direct: dict[str, GradeBlocks] = field(default_factory=dict)


def read_graded(source: Source, report: Report) -> Iterator[GradedQuery]:
    """Stream a graded file, a line at a time.

    `exam_grades` become grades of a self-rating grader (its ratings) or of an answering one (1 where
    the question counts as answered, else 0); `grades` become those of a direct grader, with the query
    id in place of a question id. What the file says of model and prompt goes verbatim into the
    grader's parameters, so that it can be written back. Ranks are the file's own. A ranking or judgment of a facet
    (`queryId` or `query` is `query/facet`, as in TREC CAR) is of that topic and not of the line's query. A (grader,
    question, passage) that comes twice is yielded twice; a query that comes on several lines likewise.

    Args:
        source: JSONL, gzip or not; lines `[query id, [passage, ...]]`.
        report: takes refused lines, and notes on what is not kept.

    Yields:
        One record a line. Its query's text is empty where the file has none. Its grades stand in the
        order in which their graders first appear, question graders before direct ones.
    """
    graders: dict[Any, _Grader] = {}
    repeated = RepeatedRatings()
    refused_before = report.count
    any_read = False
    lines = open_byte_lines(source, report, Limits({"line": "GRADED_LINE"}))
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            query = _query(line, repeated, graders, partial(report.remark, source.name, number))
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            continue
        finally:
            # The next line may be as long.
            del line
        any_read = True
        yield query
    if not any_read and report.count == refused_before:
        report.refuse(source.name, None, "the file has no graded queries in it")


def _query(
    line: bytes, repeated: RepeatedRatings, graders: dict[Any, _Grader], remark: Callable[[str], None]
) -> GradedQuery:
    # What is kept as it comes is looked at where it is kept; looking at every line would cost a tenth of the import.
    check_shape(line, any_depth=True)
    shorter, taken = repeated.taken_out(line)
    if taken:
        before, remarks = len(graders), list[str]()
        try:
            query = _record(shorter, taken, graders, remarks.append)
        except Refused:
            # What is wrong is said of the line as it stands in the file.
            for key in list(graders)[before:]:
                del graders[key]
        else:
            for reason in remarks:
                remark(reason)
            return query
        del shorter
    return _record(line, {}, graders, remark)


def _record(
    line: bytes, taken: dict[str, Read], graders: dict[Any, _Grader], remark: Callable[[str], None]
) -> GradedQuery:
    record = parse_json(line, any_depth=True)
    if not (isinstance(record, list) and len(record) == 2 and isinstance(record[1], list)):
        raise Refused("the line is not of the form [query id, [passage, ...]]")
    query_id = good_id(record[0], "query")
    state = _Line(query_id, graders, remark, itself=[query_id], taken=taken)
    for passage in record[1]:
        _passage(passage, state)
    if state.used != len(taken):
        raise Refused("ratings stand where none are looked for")
    banked = {question.question_id: question for question in state.banked}
    for question_id, question in state.questions.items():
        banked.setdefault(question_id, question)
    return GradedQuery(
        state.query or Query(state.query_id, state.title),
        list(state.passages.values()),
        list(state.judgments.values()),
        _rankings(state),
        list(banked.values()),
        [*state.exam.values(), *state.direct.values()],
    )


def _passage(passage: dict[str, Any], state: _Line) -> None:
    try:
        passage_id = good_id(passage.get("paragraph_id"), "passage")
    except AttributeError:
        raise Refused("a passage is not a JSON object") from None
    try:
        text = passage.get("text") or ""
        if not isinstance(text, str):
            raise Refused("its text is not a text")
        if not text or text.isspace():
            state.remark("a passage has no text")
        if state.passages.setdefault(passage_id, Passage(passage_id, text)).text != text:
            raise Refused("it is listed twice with different texts")
        if not PASSAGE_KEYS.issuperset(passage) or passage.get("paragraph"):
            state.remark("a passage has further content, which is not kept")
        _paragraph_data(passage.get("paragraph_data") or {}, passage_id, state)
        for entry in passage.get("exam_grades") or ():
            _exam_grades(entry, passage_id, state)
        for entry in passage.get("grades") or ():
            _direct_grade(entry, passage_id, state)
    except _FAULTS as fault:
        raise _refused(passage_id, fault) from fault


_FAULTS = (Refused, KeyError, TypeError, AttributeError, ValueError)


def _refused(passage_id: str, fault: Exception) -> Refused:
    """Why a line is refused, given what was found wrong in one of its passages."""
    reason = f"its content does not follow the interchange form ({fault})"
    if isinstance(fault, Refused):
        reason = str(fault)
    elif isinstance(fault, KeyError):
        reason = f"{fault.args[0]} is missing"
    return Refused(f"passage {passage_id}: {reason}")


def _paragraph_data(data: dict[str, Any], passage_id: str, state: _Line) -> None:
    for entry in data.get("judgments") or ():
        value = entry["relevance"]
        if type(value) is not int or abs(value) > LARGEST:
            raise Refused(f"the relevance {value!r} is not an integer up to {LARGEST}")
        if not state.title and isinstance(entry.get("titleQuery"), str):
            state.title = entry["titleQuery"]
        place = (_topic(entry.get("query"), state), passage_id)
        before = state.judgments.get(place)
        if before is None or value > before.value:
            state.judgments[place] = Judgment(*place, value)
    if given := data.get("rankings"):
        state.ranked.append((passage_id, given))
    if OURS in data:
        ours = data[OURS]
        if "query" in ours:
            state.query = query_of({**ours["query"], "query_id": state.query_id})
        state.banked += [question_of(row) for row in ours.get("questions") or ()]


def _rankings(state: _Line) -> Mapping[str, Sequence[Ranked]]:
    """What runs rank, once all passages of the line are known."""
    if not state.ranked:
        return {}
    columns = ranked_columns(state.query_id, state.ranked)
    if columns is not None:
        return columns
    for passage_id, entries in state.ranked:
        try:
            for entry in entries:
                _ranking(entry, (state.query_id, passage_id), state)
        except _FAULTS as fault:
            raise _refused(passage_id, fault) from fault
    return {run: _in_order(ranking.values()) for run, ranking in state.rankings.items()}


def _ranking(entry: dict[str, Any], own: tuple[str, str], state: _Line) -> None:
    """Take what one run says of a passage; `own` are the ids of the line's query and of the passage."""
    name, rank, score = entry["method"], entry["rank"], float(entry["score"])
    ranking = state.rankings.get(name)
    if ranking is None:
        if not isinstance(name, str):
            raise Refused("the method of a ranking is not a text")
        ranking = state.rankings[good_id(name, "run")] = {}
    if type(rank) is not int or not (-LARGEST <= rank <= LARGEST and -math.inf < score < math.inf):
        raise Refused("a ranking has a rank that is no integer or a score that is no number")
    named = entry.get("queryId")
    place = own if named == own[0] else (_topic(named, state), own[1])
    before = ranking.get(place)
    if before is not None:
        state.remark("a passage stands twice in one ranking: its better rank is kept")
    if before is None or rank < before.rank:
        ranking[place] = Ranked(*place, rank, score)


def _topic(named: object, state: _Line) -> str:
    """The query that a judgment or ranking is of: the line's, or a facet of it, `query/facet`."""
    if isinstance(named, str) and named.startswith(f"{state.query_id}/"):
        return good_id(named, "query")
    if named not in (None, state.query_id):
        state.remark("a judgment or ranking names a query that is no facet of the line's: it is taken as of the line's")
    return state.query_id


def _in_order(ranking: Collection[Ranked]) -> list[Ranked]:
    """A ranking by topic, in the order in which the file first names them, then by rank."""
    if len({ranked.query_id for ranked in ranking}) == 1:
        return sorted(ranking, key=_RANK)
    by_topic: dict[str, list[Ranked]] = {}
    for ranked in ranking:
        by_topic.setdefault(ranked.query_id, []).append(ranked)
    return [ranked for part in by_topic.values() for ranked in sorted(part, key=_RANK)]


def _grader(entry: dict[str, Any], rated: bool, direct: bool, state: _Line) -> _Grader:
    model, options, info = entry["llm"], entry.get("llm_options"), entry.get("prompt_info")
    prompt_type = entry.get("prompt_type")
    kept = orjson.dumps([options, info])
    key = (model, kept, prompt_type, rated, direct)
    known = state.graders.get(key)
    if known is None:
        check_shape(kept)
        if len(state.graders) >= (most := limit("SYSTEMS")):
            raise Refused(exceeded("the file names more graders than", "SYSTEMS", most))
        if info and OURS in info:
            spec = _restored(info[OURS])
        else:
            spec = described(model, options, info, prompt_type, rated, direct)
        known = _Grader(spec, spec.fingerprint, frozenset((*range(spec.max_rating + 1), None)))
        state.graders[key] = known
    return known


def _restored(row: dict[str, Any]) -> GraderSpec:
    spec = GraderSpec(**{**row, "kinds": tuple(row["kinds"])})
    if not spec.in_form:
        raise Refused(f"the grader in {OURS} is not in form")
    return spec


def _exam_grades(entry: dict[str, Any], passage_id: str, state: _Line) -> None:
    info = entry.get("prompt_info") or {}
    given = entry.get("self_ratings")
    rated = info.get("is_self_rated")
    if rated is None:
        rated = given is not None
    grader = _grader(entry, bool(rated), False, state)
    answered = dict(entry.get("answers") or ())
    ours = entry.get(OURS) or {}
    asked = ours.get("asked")
    taken = state.taken.get(given) if type(given) is str else None
    if taken is not None:
        state.used += 1
    ratings: bytes | list[int | None]
    if rated and taken is not None:
        ids, ratings = taken
    elif rated:
        if given is None:
            raise Refused("an entry is self-rated but has no self_ratings")
        ids, ratings = graded_form.rated(given, entry)
    else:
        ids, ratings = graded_form.answered(entry["correctAnswered"], entry["wrongAnswered"], answered)
    if asked is not None:
        known = dict(zip(ids, ratings, strict=True))
        ids, ratings = asked, [known.get(question_id) for question_id in asked]
    if not ids:
        return
    if not grader.allowed.issuperset(ratings) or not (taken or RATING_TYPES.issuperset(map(type, ratings))):
        _refuse_rating(ids, ratings, grader)
    answers = [answered.get(question_id) for question_id in ids] if answered else None
    if answers and not ANSWER_TYPES.issuperset(map(type, answers)):
        raise Refused("an answer is not a text")
    if ids == state.asked:
        # Most passages are asked what the one before was: ids that were seen before are found faster than equal ones.
        ids = state.asked
    else:
        _name_questions(ids, entry, state)
        state.asked = ids
    grades = state.exam.get(grader.fingerprint)
    if grades is None:
        grades = state.exam[grader.fingerprint] = GradeBlocks(grader.spec)
    if ours:
        details = grade_details.read_columns(ours, len(ids))
        grades.details.update((grades.size + position, detail) for position, detail in details)
    grades.add(passage_id, ids, ratings, answers)


def _name_questions(ids: list[str], entry: dict[str, Any], state: _Line) -> None:
    kind: Kind = "nugget" if entry.get("prompt_type") == "nugget" else "question"
    for question_id in ids:
        if question_id not in state.questions:
            if not isinstance(question_id, str):
                raise Refused("a question id is not a text")
            good_id(question_id, "question")
            state.questions[question_id] = Question(question_id, state.query_id, None, kind)


def _refuse_rating(ids: list[str], ratings: Iterable[Any], grader: _Grader) -> None:
    top = grader.spec.max_rating
    for question_id, rating in zip(ids, ratings, strict=True):
        if type(rating) not in RATING_TYPES or rating not in grader.allowed:
            raise Refused(f"the rating {rating!r} for {question_id} is not an integer from 0 to {top}")


def _direct_grade(entry: dict[str, Any], passage_id: str, state: _Line) -> None:
    rating = entry.get("self_ratings")
    rated = bool((entry.get("prompt_info") or {}).get("is_self_rated")) or rating is not None
    ours = entry.get(OURS) or {}
    failed = bool(ours.get("failed"))
    grader = _grader(entry, rated or failed, True, state)
    if not rated and not failed and entry.get("correctAnswered") is not None:
        rating = int(bool(entry["correctAnswered"]))
    if type(rating) not in RATING_TYPES or rating not in grader.allowed:
        _refuse_rating([state.query_id], [rating], grader)
    answer = entry.get("answer")
    if type(answer) not in ANSWER_TYPES:
        raise Refused("an answer is not a text")
    grades = state.direct.get(grader.fingerprint)
    if grades is None:
        grades = state.direct[grader.fingerprint] = GradeBlocks(grader.spec)
    if (detail := grade_details.read_one(ours)) != grade_details.NOTHING:
        grades.details[grades.size] = detail
    grades.add(passage_id, state.itself, [rating], None if answer is None else [answer])


KIND = FileKind(
    name="graded",
    title="Graded file",
    what="Autograder/RUBRIC interchange file",
    extensions=("jsonl",),
    read=read_graded,
    write=write_graded,
    looks_like={"list": lambda beginning: bool(START.match(beginning.text))},
    judges=True,
    source="judgments",
)
