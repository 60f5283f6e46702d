"""Answers that models wrote, and the results of answer checks: facts about texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..store import Cursor, Project, stage
from ..text import clean_or_none, clean_text

GOLD_RUN = "gold"
"""The name in place of a run for imported answers that were written from the gold passages."""

AnswerContext = tuple[int, ...] | tuple[str, int]
"""The context of an answer: keys of passage texts, best first, or the run and cutoff that a file names. A file without
a cutoff has cutoff 0."""

AnswerPlace = tuple[int, AnswerContext, float | None, int]
"""The place of a generator's answer: text key of the question, context, temperature, draw from 1."""

Compared = tuple[int, int, tuple[int, ...]]
"""The texts of a comparison: text key of the question, of the answer, and sorted text keys of all references."""


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


def answer_text_keys(cursor: Cursor, texts: Iterable[str]) -> dict[str, int]:
    """Return the keys of answer texts, by text; add new texts."""
    wanted = list(dict.fromkeys(texts))
    stage(cursor, "new_answer_texts", {"text": wanted}, {"text": "VARCHAR"})
    cursor.execute(
        "INSERT INTO answer_texts SELECT nextval('keys'), text FROM"
        " (SELECT text FROM new_answer_texts ANTI JOIN answer_texts USING (text) ORDER BY new_answer_texts.rowid)"
    )
    return dict(
        cursor.execute("SELECT text, text_key FROM answer_texts SEMI JOIN new_answer_texts USING (text)").fetchall()
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


def add_generated(cursor: Cursor, generator_key: int, answers: Sequence[Generated], job: int | None) -> int:
    """Store answers of a generator. Earlier answers at the same place stay and count.

    Args:
        job: the job that made them; None for a file.

    Returns:
        The number of rows written: new answers, and every failure.
    """
    cleaned = [clean_or_none(one.text) for one in answers]
    keys = answer_text_keys(cursor, [text for text in cleaned if text is not None])
    columns: dict[str, list[Any]] = {name: [] for name in _GENERATED}
    for one, text in zip(answers, cleaned, strict=True):
        question, context, temperature, draw = one.place
        told = _told(context)
        values = (
            *(generator_key, question, *told, temperature, draw, one.seed, None if text is None else keys[text]),
            *(clean_or_none(one.reason), one.shortened, clean_or_none(one.note), job),
        )
        for name, value in zip(_GENERATED, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_generated", columns, _GENERATED)
    same = " AND ".join(
        f"g.{name} IS NOT DISTINCT FROM n.{name}" for name in ("context_keys", "run", "k", "temperature", "draw")
    )
    return int(
        cursor.execute(
            "INSERT INTO generated_answers FROM new_generated n WHERE NOT EXISTS (SELECT * FROM generated_answers g"
            " WHERE g.generator_key = n.generator_key AND g.question_text_key = n.question_text_key"
            f" AND {same} AND g.text_key IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


def _told(context: AnswerContext) -> tuple[list[int] | None, str | None, int | None]:
    """Return a context as its columns: keys of texts, or run and k."""
    run, *rest = context
    if isinstance(run, str):
        return None, run, rest[0] or None
    return [run, *rest], None, None


def generated_of(project: Project, generator_key: int) -> dict[AnswerPlace, Generated]:
    """Return, by place, a generator's answer that counts: the first answer with a text, or else the last failure."""
    found: dict[AnswerPlace, Generated] = {}
    for row in project.rows(
        "SELECT question_text_key, context_keys, run, k, temperature, draw, text, reason, seed, shortened, note,"
        " text_key FROM generated_answers LEFT JOIN answer_texts USING (text_key) WHERE generator_key = ?"
        " ORDER BY generated_answers.rowid",
        [generator_key],
    ):
        question, keys, run, k, temperature, draw, *rest = row
        context: AnswerContext = tuple(keys) if keys is not None else (run, k or 0)
        text, reason, seed, shortened, note, key = rest
        one = Generated((question, context, temperature, draw), text, reason, seed, shortened, note, key or 0)
        known = found.get(one.place)
        if known is None or known.text is None:
            found[one.place] = one
    return found


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


def add_comparisons(cursor: Cursor, judge_key: int, said: Sequence[Comparison], job: int | None) -> int:
    """Store results of an answer check; earlier results stay.

    Returns:
        The number of rows written: new ratings, and every failure.
    """
    columns: dict[str, list[Any]] = {name: [] for name in _COMPARISONS}
    for one in said:
        question, answer, references = one.about
        texts = [clean_or_none(text) for text in (one.reason, one.raw, one.note)]
        values = (
            *(judge_key, question, answer, list(references), one.rating, texts[0], texts[1], one.confidence, texts[2]),
            job,
        )
        for name, value in zip(_COMPARISONS, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_comparisons", columns, _COMPARISONS)
    return int(
        cursor.execute(
            "INSERT INTO comparisons FROM new_comparisons n WHERE NOT EXISTS (SELECT * FROM comparisons c"
            " WHERE c.judge_key = n.judge_key AND c.question_text_key = n.question_text_key"
            " AND c.answer_text_key = n.answer_text_key AND c.reference_keys = n.reference_keys"
            " AND c.rating IS NOT NULL) ORDER BY n.rowid"
        ).fetchall()[0][0]
    )


def comparisons_of(project: Project, judge_key: int) -> dict[Compared, Comparison]:
    """Return, by comparison, an answer check's result that counts: the first rating, or else the last failure."""
    found: dict[Compared, Comparison] = {}
    for question, answer, references, *rest in project.rows(
        "SELECT question_text_key, answer_text_key, reference_keys, rating, reason, raw, confidence, note"
        " FROM comparisons WHERE judge_key = ? ORDER BY rowid",
        [judge_key],
    ):
        one = Comparison((question, answer, tuple(references)), *rest)
        known = found.get(one.about)
        if known is None or known.rating is None:
            found[one.about] = one
    return found


def put_answer_verdicts(
    cursor: Cursor, source: str, said: Mapping[tuple[int, str], bool | None], words: Mapping[int, int], author: str
) -> dict[str, int]:
    """Store people's answer checks; earlier ones of the same source stay on record.

    Args:
        source: the file, or the assessor.
        said: whether an answer is acceptable, by query key and answer text; None withdraws the earlier result.
        words: text keys of the queries.

    Returns:
        Numbers of answer checks and of new ones.
    """
    texts = {place: clean_text(place[1]) for place in said}
    keys = answer_text_keys(cursor, texts.values())
    known = _verdicts(cursor, source)
    new = {
        (query, keys[texts[query, answer]]): verdict
        for (query, answer), verdict in said.items()
        if known.get((query, keys[texts[query, answer]]), {}).get(source) is not verdict
    }
    types = dict.fromkeys(("query_key", "question_text_key", "answer_text_key"), "INTEGER") | {"acceptable": "BOOLEAN"}
    columns: dict[str, list[Any]] = {
        "query_key": [query for query, _ in new],
        "question_text_key": [words[query] for query, _ in new],
        "answer_text_key": [answer for _, answer in new],
        "acceptable": list(new.values()),
    }
    stage(cursor, "new_verdicts", columns, types)
    cursor.execute(
        "INSERT INTO answer_verdicts SELECT query_key, question_text_key, answer_text_key, ?, acceptable, ?,"
        " now()::TIMESTAMP FROM new_verdicts ORDER BY rowid",
        [source, author],
    )
    return {"verdicts": len(said), "new verdicts": len(new)}


def answer_verdicts(project: Project, source: str | None = None) -> dict[tuple[int, int], dict[str, bool]]:
    """Return people's current answer checks: by query key and text key of the answer, then by source.

    Args:
        source: restricts the result; None for all.
    """
    return project.read(lambda cursor: _verdicts(cursor, source))


def _verdicts(cursor: Cursor, source: str | None) -> dict[tuple[int, int], dict[str, bool]]:
    found: dict[tuple[int, int], dict[str, bool]] = {}
    for query, answer, of, acceptable in cursor.execute(
        "SELECT query_key, answer_text_key, source, arg_max_null(acceptable, rowid) FROM answer_verdicts"
        " WHERE query_key IS NOT NULL AND ($source IS NULL OR source = $source) GROUP BY ALL ORDER BY min(rowid)",
        {"source": source},
    ).fetchall():
        if acceptable is not None:
            found.setdefault((query, answer), {})[of] = acceptable
    return found
