"""Generators of answers and answer checks, their answers and results, and the cases that people
confirmed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ..errors import InputError, check_not_empty, unknown_name
from ..grouping import nest_triples
from ..store import Cursor, Project, as_name, log_action, stage_columns, stage_rows
from ..text import clean_or_none, clean_text
from ._collection import check_new
from ._teamwork import find_query

GOLD_RUN = "gold"
"""The name in place of a run for imported answers that were written from the gold passages."""

AnswerContext = tuple[int, ...] | tuple[str, int]
"""The context of an answer: keys of passage texts, best first, or the run and cutoff that a file
names. A file without a cutoff has cutoff 0."""

AnswerPlace = tuple[int, AnswerContext, float | None, int]
"""The place of a generator's answer: text key of the question, context, temperature, draw from 1.
"""

Compared = tuple[int, int, tuple[int, ...]]
"""The texts of a comparison: text key of the question, of the answer, and sorted text keys of all
references.
"""


@dataclass(frozen=True)
class Generated:
    """A generated answer, or the failure to generate it.

    Args:
        place: the question and the context.
        text: the answer; None for a failure.
        reason: why it failed; None for a success.
        seed: sent to the endpoint; None if not sent or not known.
        shortened: number of tokens cut from the end of the context to fit the prompt.
        note: other remarks.
        text_key: of the answer; 0 before it is stored.
    """

    place: AnswerPlace
    text: str | None
    reason: str | None = None
    seed: int | None = None
    shortened: int = 0
    note: str | None = None
    text_key: int = 0


@dataclass(frozen=True)
class Comparison:
    """The result of an answer check that compared an answer with references.

    Args:
        about: the keys of the texts.
        rating: 1 or 0 for yes or no, 0 to 5 for a graded check; None for a failure.
        reason: why it failed; None for a success.
        raw: the text that the model wrote.
        confidence: 0 to 1; None if the model gives no likelihoods.
        note: other remarks.
    """

    about: Compared
    rating: int | None
    reason: str | None = None
    raw: str | None = None
    confidence: float | None = None
    note: str | None = None


def counting_row_sql(place: str, result: str, rowid: str = "rowid") -> str:
    """Return SQL that selects the row that counts at each place: the first with a result, or else
    the last failure.

    Args:
        place: the columns of the place.
        result: the column that is NULL for a failure.
    """
    order = f"{result} IS NULL, CASE WHEN {result} IS NULL THEN -{rowid} ELSE {rowid} END"
    return f"QUALIFY row_number() OVER (PARTITION BY {place} ORDER BY {order}) = 1"


def answer_text_keys(cursor: Cursor, texts: Iterable[str]) -> dict[str, int]:
    """Return the keys of answer texts, by text; add new texts."""
    wanted = list(dict.fromkeys(texts))
    stage_columns(cursor, "new_answer_texts", {"text": wanted}, {"text": "VARCHAR"})
    cursor.execute(
        "INSERT INTO answer_texts SELECT nextval('keys'), text FROM"
        " (SELECT text FROM new_answer_texts ANTI JOIN answer_texts USING (text)"
        " ORDER BY new_answer_texts.rowid)"
    )
    return dict(
        cursor.execute(
            "SELECT text, text_key FROM answer_texts SEMI JOIN new_answer_texts USING (text)"
        ).fetchall()
    )


def answer_texts(project: Project) -> dict[int, str]:
    """Return every generated or checked answer text, by key."""
    return dict(project.rows("SELECT text_key, text FROM answer_texts"))


_GENERATED = {
    "generator_key": "INTEGER",
    "question_text_key": "INTEGER",
    "context_keys": "INTEGER[]",
    "run": "VARCHAR",
    "k": "INTEGER",
    "temperature": "DOUBLE",
    "draw": "INTEGER",
    "seed": "INTEGER",
    "text_key": "INTEGER",
    "reason": "VARCHAR",
    "shortened": "INTEGER",
    "note": "VARCHAR",
    "answer_job_key": "INTEGER",
}


def add_generated(
    cursor: Cursor, generator_key: int, answers: Sequence[Generated], job: int | None
) -> int:
    """Store answers of a generator. Earlier answers at the same place stay and count.

    Args:
        job: the job that made them; None for a file.

    Returns:
        The number of rows written: new answers, and every failure.
    """
    cleaned = [clean_or_none(one.text) for one in answers]
    keys = answer_text_keys(cursor, [text for text in cleaned if text is not None])
    rows: list[tuple[Any, ...]] = []
    for answer, text in zip(answers, cleaned, strict=True):
        question, context, temperature, draw = answer.place
        text_key = None if text is None else keys[text]
        reason, note = clean_or_none(answer.reason), clean_or_none(answer.note)
        place = generator_key, question, *_context_columns(context), temperature, draw
        rows.append((*place, answer.seed, text_key, reason, answer.shortened, note, job))
    stage_rows(cursor, "new_generated", rows, _GENERATED)
    same = " AND ".join(
        f"g.{name} IS NOT DISTINCT FROM n.{name}"
        for name in ("context_keys", "run", "k", "temperature", "draw")
    )
    return int(
        cursor.execute(
            "INSERT INTO generated_answers FROM new_generated n WHERE NOT EXISTS (SELECT *"
            " FROM generated_answers g"
            " WHERE g.generator_key = n.generator_key AND g.question_text_key = n.question_text_key"
            f" AND {same} AND g.text_key IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


def _context_columns(context: AnswerContext) -> tuple[list[int] | None, str | None, int | None]:
    """Return a context as its columns: keys of texts, or run and k."""
    run, *rest = context
    if isinstance(run, str):
        return None, run, rest[0] or None
    return [run, *rest], None, None


def generated_of(project: Project, generator_key: int) -> dict[AnswerPlace, Generated]:
    """Return, by place, a generator's answer that counts: the first answer with a text, or else the
    last failure.
    """
    place = "question_text_key, context_keys, run, k, temperature, draw"
    rows = project.rows(
        f"SELECT {place}, text, reason, seed, shortened, note, coalesce(text_key, 0)"
        " FROM generated_answers g LEFT JOIN answer_texts USING (text_key) WHERE generator_key = ?"
        f" {counting_row_sql(place, 'text_key', 'g.rowid')} ORDER BY g.rowid",
        [generator_key],
    )
    answers = [
        Generated(
            (question, (run, k or 0) if keys is None else tuple(keys), temperature, draw), *rest
        )
        for question, keys, run, k, temperature, draw, *rest in rows
    ]
    return {answer.place: answer for answer in answers}


_COMPARISONS = {
    "judge_key": "INTEGER",
    "question_text_key": "INTEGER",
    "answer_text_key": "INTEGER",
    "reference_keys": "INTEGER[]",
    "rating": "TINYINT",
    "reason": "VARCHAR",
    "raw": "VARCHAR",
    "confidence": "DOUBLE",
    "note": "VARCHAR",
    "answer_job_key": "INTEGER",
}


def add_comparisons(
    cursor: Cursor, judge_key: int, results: Sequence[Comparison], job: int | None
) -> int:
    """Store results of an answer check; earlier results stay.

    Returns:
        The number of rows written: new ratings, and every failure.
    """
    rows = [
        (
            judge_key,
            *result.about,
            result.rating,
            clean_or_none(result.reason),
            clean_or_none(result.raw),
            result.confidence,
            clean_or_none(result.note),
            job,
        )
        for result in results
    ]
    stage_rows(cursor, "new_comparisons", rows, _COMPARISONS)
    return int(
        cursor.execute(
            "INSERT INTO comparisons FROM new_comparisons n WHERE NOT EXISTS (SELECT *"
            " FROM comparisons c"
            " WHERE c.judge_key = n.judge_key AND c.question_text_key = n.question_text_key"
            " AND c.answer_text_key = n.answer_text_key AND c.reference_keys = n.reference_keys"
            " AND c.rating IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


def comparisons_of(project: Project, judge_key: int) -> dict[Compared, Comparison]:
    """Return, by comparison, an answer check's result that counts: the first rating, or else the
    last failure.
    """
    texts = "question_text_key, answer_text_key, reference_keys"
    rows = project.rows(
        f"SELECT {texts}, rating, reason, raw, confidence, note FROM comparisons"
        f" WHERE judge_key = ? {counting_row_sql(texts, 'rating')} ORDER BY rowid",
        [judge_key],
    )
    comparisons = [
        Comparison((question, answer, tuple(references)), *rest)
        for question, answer, references, *rest in rows
    ]
    return {comparison.about: comparison for comparison in comparisons}


def put_answer_verdicts(
    cursor: Cursor,
    source: str,
    verdicts: Mapping[tuple[int, str], bool | None],
    words: Mapping[int, int],
    author: str,
) -> dict[str, int]:
    """Store people's answer checks; earlier ones of the same source stay on record.

    Args:
        source: the file, or the assessor.
        verdicts: whether an answer is acceptable, by query key and answer text; None withdraws the
            earlier result.
        words: text keys of the queries.

    Returns:
        Numbers of answer checks and of new ones.
    """
    texts = {place: clean_text(place[1]) for place in verdicts}
    keys = answer_text_keys(cursor, texts.values())
    verdicts_before = _latest_verdicts(cursor, source)
    placed = {
        (query, keys[texts[query, answer]]): verdict
        for (query, answer), verdict in verdicts.items()
    }
    new = [
        (query, words[query], answer, verdict)
        for (query, answer), verdict in placed.items()
        if verdicts_before.get((query, answer), {}).get(source) is not verdict
    ]
    types = dict.fromkeys(("query_key", "question_text_key", "answer_text_key"), "INTEGER") | {
        "acceptable": "BOOLEAN"
    }
    stage_rows(cursor, "new_verdicts", new, types)
    cursor.execute(
        "INSERT INTO answer_verdicts"
        " SELECT query_key, question_text_key, answer_text_key, ?, acceptable, ?,"
        " now()::TIMESTAMP FROM new_verdicts ORDER BY rowid",
        [source, author],
    )
    return {"verdicts": len(verdicts), "new verdicts": len(new)}


def answer_verdicts(
    project: Project, source: str | None = None
) -> dict[tuple[int, int], dict[str, bool]]:
    """Return people's current answer checks: by query key and text key of the answer, then by
    source.

    Args:
        source: restricts the result; None for all.
    """
    return project.read(lambda cursor: _latest_verdicts(cursor, source))


def _latest_verdicts(cursor: Cursor, source: str | None) -> dict[tuple[int, int], dict[str, bool]]:
    rows = cursor.execute(
        "SELECT query_key, answer_text_key, source, arg_max_null(acceptable, rowid) AS latest"
        " FROM answer_verdicts"
        " WHERE query_key IS NOT NULL AND ($source IS NULL OR source = $source) GROUP BY ALL"
        " HAVING latest IS NOT NULL ORDER BY min(rowid)",
        {"source": source},
    ).fetchall()
    return nest_triples(
        ((query, answer), judge, acceptable) for query, answer, judge, acceptable in rows
    )


Role = Literal["generator", "judge"]

Kind = tuple[str, str, str]
"""A kind of examinees or models: its table, the key column of this table, its name in messages."""

_KINDS: dict[Role, Kind] = {
    "generator": ("generators", "generator_key", "answer generator"),
    "judge": ("answer_judges", "judge_key", "answer check"),
}
_FIRST_STEPS: dict[Role, str] = {
    "generator": "Generate answers first: exam answers generate.",
    "judge": "Check answers first: exam reteval compare.",
}
"""The fix if the project has no model of a role."""


@dataclass(frozen=True)
class AnswerModel:
    """A model with a prompt that writes or checks answers, or a rule without a model.

    Args:
        name: shown to people; not part of the fingerprint.
        fingerprint: hash of all settings that change its output. Temperature and draw are stored
            with each answer instead.
        model: name of the model, or of the rule.
        prompt, prompt_hash: its prompt and the hash of it; empty without a prompt.
        parameters: the settings from which it can be built again; empty for a model that was used
            elsewhere.
        key: its key in the project; 0 before it is stored.
    """

    name: str
    fingerprint: str
    model: str = ""
    prompt: str = ""
    prompt_hash: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key: int = 0

    @property
    def from_elsewhere(self) -> bool:
        """Whether its answers came from a file, so that it cannot be called here."""
        return not self.parameters


def put_answer_model(cursor: Cursor, role: Role, model: AnswerModel, author: str) -> int:
    """Return the key of an answer generator or answer check; add it if its fingerprint is new.

    Raises:
        InputError: another model has this name, or the name has control characters.
    """
    return put_by_fingerprint(
        cursor,
        _KINDS[role],
        f"add answer {role}",
        (model.fingerprint, model.name, model.model, model.prompt, model.prompt_hash),
        model.parameters,
        author,
    )


def put_by_fingerprint(
    cursor: Cursor,
    kind: Kind,
    act: str,
    columns: Sequence[Any],
    parameters: Mapping[str, Any],
    author: str,
    further: str = "",
) -> int:
    """Return the key of an examinee or a model; add it if its fingerprint is new.

    Args:
        act: name of the addition in the log.
        columns: its fingerprint, its name, and its further columns before the parameters.
        further: added to the fix if the name is taken.

    Raises:
        InputError: another one has this name, or the name has control characters.
    """
    (table, column, what), (fingerprint, name, *_) = kind, columns
    rows = cursor.execute(
        f"SELECT {column}, fingerprint FROM {table} WHERE fingerprint = ? OR name = ?",
        [fingerprint, name],
    ).fetchall()
    for key, known_fingerprint in rows:
        if known_fingerprint == fingerprint:
            return int(key)
    if rows:
        raise InputError(
            "name-taken", f"Another {what} is named '{name}'.", f"Use another name.{further}"
        )
    check_new(cursor, what, [name])
    stored = json.dumps(dict(parameters), ensure_ascii=False, sort_keys=True)
    row = [*columns, stored, as_name(author)]
    ((key,),) = cursor.execute(
        f"INSERT INTO {table} VALUES (nextval('keys'), {', '.join('?' * len(row))},"
        f" now()::TIMESTAMP) RETURNING {column}",
        row,
    ).fetchall()
    log_action(cursor, author, act, name=name)
    return int(key)


def answer_models(project: Project, role: Role) -> list[AnswerModel]:
    """Return every answer generator, or every answer check, in order of addition."""
    return project.read(lambda cursor: answer_models_of(cursor, role))


def answer_models_of(cursor: Cursor, role: Role) -> list[AnswerModel]:
    """Return the same as `answer_models` within a transaction."""
    table, column, _ = _KINDS[role]
    return [
        AnswerModel(name, fingerprint, model, prompt, prompt_hash, json.loads(parameters), key)
        for key, fingerprint, name, model, prompt, prompt_hash, parameters in cursor.execute(
            f"SELECT {column}, fingerprint, name, model, prompt, prompt_hash, parameters"
            f" FROM {table} ORDER BY {column}"
        ).fetchall()
    ]


def find_answer_model(project: Project, role: Role, name: str | None = None) -> AnswerModel:
    """Return the answer generator or answer check with a name or fingerprint; None selects the last
    added.

    Raises:
        InputError: no answer generator or answer check matches.
    """
    every = answer_models(project, role)
    if name is None and every:
        return every[-1]
    for model in every:
        if name in (model.name, model.fingerprint):
            return model
    *_, what = _KINDS[role]
    if not every:
        raise InputError("no-answer-model", f"The project has no {what} yet.", _FIRST_STEPS[role])
    raise unknown_name("unknown-answer-model", what, name, [one.name for one in every])


@dataclass(frozen=True)
class ConfirmedCase:
    """The case of a run for a query (how its answer relates to its ranking), as a person confirmed
    it.

    Args:
        key: key of the record.
        case: letter of the case.
        proposed: the letter that the table of cases proposed; empty without a proposal.
    """

    key: int
    query_id: str
    run: str
    k: int
    generator: str
    case: str
    proposed: str
    note: str
    author: str
    confirmed_at: datetime


@dataclass(frozen=True)
class CasePlace:
    """The place of a case: a query, a run at a cutoff, and the generator of the answer (key and
    name).
    """

    query_id: str
    run: str
    k: int
    generator_key: int
    generator: str


def record_case(
    project: Project, place: CasePlace, case: str, proposed: str, note: str, author: str
) -> int:
    """Record a case. It replaces the earlier case of the same person at this place.

    Returns:
        The key of the record.

    Raises:
        InputError: unknown query, or empty name of the assessor.
    """
    author = check_not_empty(
        "empty-name",
        "The name of the assessor is empty.",
        "Give the name to record with the case.",
        as_name(author),
    )
    with project.transaction(
        act="confirm cases", queries=[place.query_id], author=author
    ) as cursor:
        query = find_query(cursor, place.query_id)
        _withdraw_own_case(cursor, place, query, author)
        key = cursor.execute(
            "INSERT INTO answer_cases (case_key, query_key, run, k, generator_key, case_name,"
            " proposed, note, author,"
            " confirmed_at) VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING case_key",
            [query, place.run, place.k, place.generator_key, case, proposed, note.strip(), author],
        ).fetchall()[0][0]
        log_action(
            cursor,
            author,
            "confirm case",
            query=place.query_id,
            run=place.run,
            k=place.k,
            case=case,
            proposed=proposed,
            generator=place.generator,
            note=note.strip(),
        )
    return int(key)


def withdraw_case(project: Project, place: CasePlace, author: str) -> None:
    """Withdraw the case that a person confirmed.

    Raises:
        InputError: this person has not confirmed a case there.
    """
    author = as_name(author)
    with project.transaction(
        act="confirm cases", queries=[place.query_id], author=author
    ) as cursor:
        if not _withdraw_own_case(cursor, place, find_query(cursor, place.query_id), author):
            raise InputError(
                "no-own-case",
                f"{author} has not confirmed a case of query {place.query_id} for run {place.run}"
                f" at cutoff {place.k}.",
                "You can withdraw only your own cases. See exam reteval cases.",
            )
        log_action(cursor, author, "withdraw case", query=place.query_id, run=place.run, k=place.k)


def _withdraw_own_case(cursor: Cursor, place: CasePlace, query: int, author: str) -> bool:
    changed = cursor.execute(
        "UPDATE answer_cases SET withdrawn_by = ?, withdrawn_at = now()::TIMESTAMP"
        " WHERE query_key = ? AND run = ?"
        " AND k = ? AND generator_key = ? AND author = ? AND withdrawn_at IS NULL",
        [author, query, place.run, place.k, place.generator_key, author],
    ).fetchall()
    return bool(changed[0][0])


def confirmed_cases(project: Project, generator_key: int | None = None) -> list[ConfirmedCase]:
    """Return the cases that people confirmed, in the order of their confirmation.

    Args:
        generator_key: restricts the cases to answers of this generator; None returns all.
    """
    return [
        ConfirmedCase(*row)
        for row in project.rows(
            "SELECT case_key, query_id, run, k, g.name, case_name, proposed, note, c.author,"
            " confirmed_at FROM answer_cases c JOIN queries USING (query_key)"
            " JOIN generators g USING (generator_key) WHERE ($generator IS NULL"
            " OR generator_key = $generator) AND withdrawn_at IS NULL ORDER BY case_key",
            {"generator": generator_key},
        )
    ]


def add_gold_answer(project: Project, query_id: str, answer: str, author: str) -> bool:
    """Add a correct answer to a query.

    Returns:
        False if the query had this answer already.

    Raises:
        InputError: unknown query, or empty answer.
    """
    answer = check_not_empty(
        "empty-answer", "The answer is empty.", "Type the answer.", clean_text(answer).strip()
    )
    with project.transaction(act="confirm cases", queries=[query_id], author=author) as cursor:
        known = _gold_answers(cursor, query_id)
        if answer in known:
            return False
        _put_gold_answers(cursor, query_id, [*known, answer])
        log_action(cursor, author, "add gold answer", query=query_id, answer=answer)
    return True


def withdraw_gold_answer(project: Project, query_id: str, answer: str, author: str) -> None:
    """Remove a correct answer from a query.

    Raises:
        InputError: unknown query, or the query does not have this answer.
    """
    with project.transaction(act="confirm cases", queries=[query_id], author=author) as cursor:
        gold_answers = _gold_answers(cursor, query_id)
        if answer not in gold_answers:
            raise InputError(
                "unknown-gold-answer",
                f"Query {query_id} has no correct answer '{answer}'.",
                "The screen Cases lists its correct answers.",
            )
        _put_gold_answers(cursor, query_id, [one for one in gold_answers if one != answer])
        log_action(cursor, author, "withdraw gold answer", query=query_id, answer=answer)


def _gold_answers(cursor: Cursor, query_id: str) -> list[str]:
    query = find_query(cursor, query_id)
    ((first, further),) = cursor.execute(
        "SELECT answer, further_answers FROM queries WHERE query_key = ?", [query]
    ).fetchall()
    return [] if first is None else [first, *(further or ())]


def _put_gold_answers(cursor: Cursor, query_id: str, answers: list[str]) -> None:
    cursor.execute(
        "UPDATE queries SET answer = ?, further_answers = ? WHERE query_id = ?",
        [answers[0] if answers else None, answers[1:] or None, query_id],
    )
