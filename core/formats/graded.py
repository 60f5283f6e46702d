"""Autograder/RUBRIC interchange files: one query a line with its passages and all their grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from core.formats.queries import query_of
from core.formats.question_bank import question_of
from core.formats.source import Limits, Refused, Report, Source, good_id, open_byte_lines, parse_json
from core.types import (
    KINDS,
    MAX_RATING,
    GradeColumns,
    GradedQuery,
    GraderSpec,
    Judgment,
    Kind,
    Passage,
    Query,
    Question,
    Ranked,
)

# A line holds every grade of a query: tens of thousands of them on a large collection.
GRADED_LIMITS = Limits(line=256_000_000)
OURS = "exam_workbench"
DIRECT = "direct_grading"
DIRECT_SCALE = 3
PASSAGE_KEYS = {"paragraph_id", "text", "paragraph", "paragraph_data", "exam_grades", "grades"}
RATING_TYPES = {int, type(None)}
ANSWER_TYPES = {str, type(None)}


@dataclass(frozen=True, slots=True)
class _Grader:
    spec: GraderSpec
    fingerprint: str
    allowed: frozenset[int | None]


@dataclass(slots=True)
class _Line:
    """What is being gathered from one line of the file."""

    query_id: str
    graders: dict[Any, _Grader]
    remark: Callable[[str], None]
    title: str = ""
    query: Query | None = None
    passages: dict[str, Passage] = field(default_factory=dict)
    judgments: dict[str, Judgment] = field(default_factory=dict)
    rankings: dict[str, list[Ranked]] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    banked: list[Question] = field(default_factory=list)
    exam: dict[str, GradeColumns] = field(default_factory=dict)
    direct: dict[str, GradeColumns] = field(default_factory=dict)


def read_graded(source: Source, report: Report) -> Iterator[GradedQuery]:
    """Stream a graded file, a line at a time.

    `exam_grades` become grades of a self-rating grader (its ratings) or of an answering one (1 where
    the question counts as answered, else 0); `grades` become those of a direct grader, with the query
    id in place of a question id. What the file says of model and prompt goes verbatim into the
    grader's parameters, so that it can be written back. Ranks are the file's own. A (grader, question,
    passage) that comes twice is yielded twice; a query that comes on several lines likewise.

    Args:
        source: JSONL, gzip or not; lines `[query id, [passage, ...]]`.
        report: takes refused lines, and notes on what is not kept.

    Yields:
        One record a line. Its query's text is empty where the file has none. Its grades stand in the
        order in which their graders first appear, question graders before direct ones.
    """
    graders: dict[Any, _Grader] = {}
    refused_before = report.count
    any_read = False
    for number, line in open_byte_lines(source, report, GRADED_LIMITS):
        if not line or line.isspace():
            continue
        try:
            query = _query(
                line, graders, lambda reason, number=number: report.remark(source.name, number, reason)
            )
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            continue
        any_read = True
        yield query
    if not any_read and report.count == refused_before:
        report.refuse(source.name, None, "the file has no graded queries in it")


def grader_key(model: object, options: object, info: object, kind: object) -> tuple[Any, ...]:
    """What tells two imported graders apart, as a hashable key."""
    return model, orjson.dumps([options, info]), kind


def imported_grader(
    model: str, options: object, info: dict[str, Any] | None, prompt_type: object, rated: bool, direct: bool
) -> GraderSpec:
    """The grader that a graded file describes.

    Args:
        model: `llm` of the entry.
        options: its `llm_options`, verbatim.
        info: its `prompt_info`, verbatim.
        prompt_type: its `prompt_type`; `nugget` or another.
        rated: whether it gives ratings, not only answered or not.
        direct: whether it judges passages without questions.

    Raises:
        Refused: model or prompt are no texts.
    """
    prompt = (info or {}).get("prompt_class") or ""
    if not isinstance(model, str) or not isinstance(prompt, str):
        raise Refused("llm or prompt_class is not a text")
    parameters: dict[str, Any] = {"llm_options": options, "prompt_info": info}
    if prompt_type not in ((DIRECT,) if direct else ("question", "nugget")):
        parameters["prompt_type"] = prompt_type
    kinds: tuple[Kind, ...] = ("nugget",) if prompt_type == "nugget" else ("question",)
    method, top = ("self-rating", MAX_RATING) if rated else ("answer", 1)
    if direct:
        method, kinds, top = "direct", KINDS, DIRECT_SCALE if rated else 1
    name = " · ".join(part for part in (model.rsplit("/", 1)[-1], prompt) if part)
    return GraderSpec(name or method, method, model, prompt, "", parameters, kinds, top)


def _query(line: bytes, graders: dict[Any, _Grader], remark: Callable[[str], None]) -> GradedQuery:
    record = parse_json(line)
    if not (isinstance(record, list) and len(record) == 2 and isinstance(record[1], list)):
        raise Refused("the line is not of the form [query id, [passage, ...]]")
    state = _Line(good_id(record[0], "query"), graders, remark)
    for passage in record[1]:
        _passage(passage, state)
    for ranking in state.rankings.values():
        ranking.sort(key=lambda ranked: ranked.rank)
    for question in state.banked:
        state.questions[question.question_id] = question
    return GradedQuery(
        state.query or Query(state.query_id, state.title),
        list(state.passages.values()),
        list(state.judgments.values()),
        state.rankings,
        list(state.questions.values()),
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
    except Refused as refused:
        raise Refused(f"passage {passage_id}: {refused}") from refused
    except KeyError as missing:
        raise Refused(f"passage {passage_id}: {missing.args[0]} is missing") from missing
    except (TypeError, AttributeError, ValueError) as error:
        reason = f"passage {passage_id}: its content does not follow the interchange form ({error})"
        raise Refused(reason) from error


def _paragraph_data(data: dict[str, Any], passage_id: str, state: _Line) -> None:
    for entry in data.get("judgments") or ():
        value = entry["relevance"]
        if type(value) is not int:
            raise Refused(f"the relevance {value!r} is not an integer")
        state.title = state.title or entry.get("titleQuery") or ""
        if entry.get("query", state.query_id) != state.query_id:
            state.remark("judgments of subqueries are taken as of the query, the highest of several counts")
        before = state.judgments.get(passage_id)
        if before is None or value > before.value:
            state.judgments[passage_id] = Judgment(state.query_id, passage_id, value)
    for entry in data.get("rankings") or ():
        name, rank, score = entry["method"], entry["rank"], float(entry["score"])
        if name not in state.rankings:
            if not isinstance(name, str):
                raise Refused("the method of a ranking is not a text")
            state.rankings[good_id(name, "run")] = []
        if type(rank) is not int or not math.isfinite(score):
            raise Refused("a ranking has a rank that is no integer or a score that is no number")
        state.rankings[name].append(Ranked(state.query_id, passage_id, rank, score))
    if OURS in data:
        ours = data[OURS]
        if "query" in ours:
            state.query = query_of({"text": " ", **ours["query"]}) if ours["query"]["text"] else None
        state.banked += [question_of(row) for row in ours.get("questions") or ()]


def _grader(entry: dict[str, Any], rated: bool, direct: bool, state: _Line) -> _Grader:
    model, options, info = entry["llm"], entry.get("llm_options"), entry.get("prompt_info")
    prompt_type = entry.get("prompt_type")
    key = (*grader_key(model, options, info, prompt_type), rated, direct)
    known = state.graders.get(key)
    if known is None:
        if info and OURS in info:
            spec = _restored(info[OURS])
        else:
            spec = imported_grader(model, options, info, prompt_type, rated, direct)
        known = _Grader(spec, spec.fingerprint, frozenset((*range(spec.max_rating + 1), None)))
        state.graders[key] = known
    return known


def _restored(row: dict[str, Any]) -> GraderSpec:
    spec = GraderSpec(**{**row, "kinds": tuple(row["kinds"])})
    texts = (spec.name, spec.method, spec.model, spec.prompt, spec.prompt_hash)
    if not (
        all(isinstance(text, str) for text in texts)
        and isinstance(spec.parameters, dict)
        and set(spec.kinds) <= set(KINDS)
        and type(spec.max_rating) is int
        and 1 <= spec.max_rating <= MAX_RATING
    ):
        raise Refused(f"the grader in {OURS} is not in form")
    return spec


def _exam_grades(entry: dict[str, Any], passage_id: str, state: _Line) -> None:
    info = entry.get("prompt_info") or {}
    given = entry.get("self_ratings")
    rated = info.get("is_self_rated")
    if rated is None:
        rated = bool(given)
    grader = _grader(entry, bool(rated), False, state)
    answered = dict(entry.get("answers") or ())
    asked = entry[OURS]["asked"] if OURS in entry else None
    if rated:
        if given is None:
            raise Refused("an entry is self-rated but has no self_ratings")
        ids, ratings = _rated(given, entry)
    else:
        ids, ratings = _answered(entry, answered)
    if asked is not None:
        known = dict(zip(ids, ratings, strict=True))
        ids, ratings = asked, [known.get(question_id) for question_id in asked]
    if not ids:
        return
    if not grader.allowed.issuperset(ratings) or not RATING_TYPES.issuperset(map(type, ratings)):
        _refuse_rating(ids, ratings, grader)
    answers = [answered.get(question_id) for question_id in ids]
    if not ANSWER_TYPES.issuperset(map(type, answers)):
        raise Refused("an answer is not a text")
    questions = state.questions
    for question_id in ids:
        if question_id not in questions:
            if not isinstance(question_id, str):
                raise Refused("a question id is not a text")
            good_id(question_id, "question")
            kind: Kind = "nugget" if entry.get("prompt_type") == "nugget" else "question"
            questions[question_id] = Question(question_id, state.query_id, None, kind)
    columns = state.exam.get(grader.fingerprint)
    if columns is None:
        columns = state.exam[grader.fingerprint] = GradeColumns(grader.spec)
    columns.question_ids += ids
    columns.passage_ids += [passage_id] * len(ids)
    columns.ratings += ratings
    columns.answers += answers


def _rated(given: list[dict[str, Any]], entry: dict[str, Any]) -> tuple[list[str], list[int | None]]:
    key = "nugget_id" if entry.get("prompt_type") == "nugget" else "question_id"
    try:
        ids = [row[key] for row in given]
    except KeyError:
        ids = [row.get("question_id") or row["nugget_id"] for row in given]
    return ids, [row["self_rating"] for row in given]


def _answered(entry: dict[str, Any], answered: dict[str, str]) -> tuple[list[str], list[int | None]]:
    right, wrong = entry["correctAnswered"], entry["wrongAnswered"]
    known = {**dict.fromkeys(wrong, 0), **dict.fromkeys(right, 1)}
    # The answers stand in the order of the questions; an id in neither list was asked in vain.
    ids = list(answered) if known.keys() <= answered.keys() else list({**known, **answered})
    return ids, [known.get(question_id) for question_id in ids]


def _refuse_rating(ids: list[str], ratings: list[Any], grader: _Grader) -> None:
    top = grader.spec.max_rating
    for question_id, rating in zip(ids, ratings, strict=True):
        if type(rating) not in RATING_TYPES or rating not in grader.allowed:
            raise Refused(f"question {question_id}: the rating {rating!r} is not an integer from 0 to {top}")


def _direct_grade(entry: dict[str, Any], passage_id: str, state: _Line) -> None:
    rating = entry.get("self_ratings")
    rated = bool((entry.get("prompt_info") or {}).get("is_self_rated")) or rating is not None
    failed = bool(entry.get(OURS))
    grader = _grader(entry, rated or failed, True, state)
    if not rated and not failed and entry.get("correctAnswered") is not None:
        rating = int(bool(entry["correctAnswered"]))
    if type(rating) not in RATING_TYPES or rating not in grader.allowed:
        _refuse_rating([state.query_id], [rating], grader)
    answer = entry.get("answer")
    if type(answer) not in ANSWER_TYPES:
        raise Refused("an answer is not a text")
    columns = state.direct.get(grader.fingerprint)
    if columns is None:
        columns = state.direct[grader.fingerprint] = GradeColumns(grader.spec)
    columns.question_ids.append(state.query_id)
    columns.passage_ids.append(passage_id)
    columns.ratings.append(rating)
    columns.answers.append(answer)
