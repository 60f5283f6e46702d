"""Freezing a live target: it is asked for every query, and what it gave becomes a run, or responses, or both."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import GradingError, InputError, Report
from core.graders import fetch_all
from core.pipelines.answers.contexts import AskedQuery, asked_queries
from core.pipelines.live.target import Given, Target, at_path
from core.project import (
    Cursor,
    Project,
    add_passages,
    log,
    refresh_pool,
    run_names,
    stage_rankings,
    write_responses,
    write_runs,
)
from core.text import clean_text, fault_of_id, how_many
from core.types import Passage, Ranked, Response

DIGITS = 12
"""Of the digest that is an id where a target gives none, or tells a text from another under the same id."""


@dataclass(frozen=True)
class Frozen:
    """What came of freezing a target.

    Args:
        run: name of the run; None where the target gives no passages.
        system: name of the responses; None where it gives no answers.
        queries: that were asked.
        answered: that it gave something for.
        empty: that it gave nothing for, though it answered.
        failed: reason by query id, of those that it did not answer at all.
        changed: passages whose text is another than the project has under their id; they got ids of their own.
        seconds: median time of an answer; None where there was none.
    """

    run: str | None
    system: str | None
    queries: int
    answered: int
    empty: int
    failed: dict[str, str]
    changed: int
    seconds: float | None


def freeze(
    project: Project,
    target: Target,
    name: str,
    author: str,
    query_ids: Sequence[str] | None = None,
    allow_failed: bool = False,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Frozen:
    """Ask a target for every query and keep what it gave: passages as a run, answers as responses.

    A query that it does not answer, after all attempts, has failed: it is no query for which nothing was found, so that
    nothing is kept where one failed, unless that is allowed.

    Args:
        name: of the run, which must be new; responses are called the same, or NAME-responses beside a run.
        query_ids: only these; all queries with words for None.
        allow_failed: whether a run is kept from which failed queries are absent.
        watch: is told how many queries came back, out of how many.

    Raises:
        InputError: the name is taken, or there are no queries.
        GradingError: a query failed and that is not allowed, or all did; nothing is kept then.
    """
    if name in run_names(project):
        raise InputError(f"There is a run '{name}' already.", "A frozen run stays as it is: choose another name.")
    queries = asked_queries(project, query_ids)
    if not queries:
        raise InputError("There are no queries with words.", "Import queries.")
    bodies = [target.body(query.query_id, query.text) for query in queries]
    came = fetch_all(target.url, target.method, bodies, target.manners, target.key_variable or None, watch)
    failed: dict[str, str] = {}
    given: dict[str, Given] = {}
    for query, one in zip(queries, came, strict=True):
        found = one.reason if one.reason is not None else read_answer(one.value, target)
        if isinstance(found, str):
            failed[query.query_id] = found
        else:
            given[query.query_id] = found
    if not given or (failed and not allow_failed):
        first, reason = next(iter(failed.items()))
        raise GradingError(
            f"{how_many(len(failed), 'queries')} of {len(queries):,} failed; the first is {first}: {reason}.",
            "Nothing was kept. See that the target is well, or keep the rest with --allow-failed.",
        )
    seconds = sorted(one.seconds for one in came if one.reason is None)
    with project.transaction() as cursor:
        changed = _write(cursor, target, name, queries, given)
        system = None
        if target.answer:
            found_texts = [
                Response(name, query_id, one.answer, file=target.url)
                for query_id, one in given.items()
                if one.answer is not None
            ]
            if found_texts:
                write_responses(cursor, found_texts, Report())
                ((system,),) = cursor.execute(
                    "SELECT name FROM runs WHERE tag = ? AND run_key IN (SELECT run_key FROM responses)", [name]
                ).fetchall()
        refresh_pool(cursor)
        log(
            cursor, author, "freeze target", name=name, url=target.url, queries=len(queries), failed=len(failed),
            changed=changed,
        )  # fmt: skip
    empty = sum(not one.passages and one.answer is None for one in given.values())
    run = name if target.passages else None
    middle = seconds[len(seconds) // 2] if seconds else None
    return Frozen(run, system, len(queries), len(given) - empty, empty, failed, changed, middle)


def read_answer(value: Any, target: Target) -> Given | str:
    """What a target gave, or why it cannot be read.

    Args:
        value: the JSON value that it sent.
    """
    passages: list[tuple[str, str | None, float]] = []
    if target.passages:
        listed = at_path(value, target.passages)
        if not isinstance(listed, list):
            return f"there is no list at {target.passages}"
        for place, one in enumerate(listed[: target.k], 1):
            read = _passage(one, place, target)
            if isinstance(read, str):
                return f"passage {place}: {read}"
            if read[0] not in {known for known, _, _ in passages}:
                passages.append(read)
    answer = None
    if target.answer:
        told = at_path(value, target.answer)
        if told is not None and not isinstance(told, str):
            return f"there is no text at {target.answer}"
        answer = clean_text(told).strip() or None if told else None
    # By score as trec_eval orders them: what has none keeps the order in which it came.
    return Given(tuple(passages), answer)


def _passage(value: Any, place: int, target: Target) -> tuple[str, str | None, float] | str:
    text = at_path(value, target.text) if target.text else None
    if text is not None and not isinstance(text, str):
        return f"there is no text at {target.text}"
    text = clean_text(text) if text and text.strip() else None
    name = at_path(value, target.id) if target.id else None
    if name is None and text is None:
        return "it has neither an id nor a text"
    passage_id = (
        str(name) if isinstance(name, str | int) and not isinstance(name, bool) else f"live-{_digest(text or '')}"
    )
    if fault := fault_of_id(passage_id, True):
        return f"its id {fault}"
    score = at_path(value, target.score) if target.score else -float(place)
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return f"there is no number at {target.score}"
    return passage_id, text, float(score)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace")).hexdigest()[:DIGITS]


def _write(cursor: Cursor, target: Target, name: str, queries: Sequence[AskedQuery], given: dict[str, Given]) -> int:
    """Write passages and run; how many passages have another text than the project has under their id."""
    if not target.passages:
        return 0
    texts = {passage_id: text for one in given.values() for passage_id, text, _ in one.passages if text is not None}
    known = dict(
        cursor.execute(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE list_contains($ids, passage_id)",
            {"ids": list(texts)},
        ).fetchall()
    )
    # A text is final, as grades rest on it: what stands under the same id now is another passage.
    named = {
        passage_id: passage_id if known.get(passage_id, text) == text else f"{passage_id}~{_digest(text)}"
        for passage_id, text in texts.items()
    }
    add_passages(cursor, [Passage(named[passage_id], text) for passage_id, text in texts.items()])
    ranked = []
    for query in queries:
        one = given.get(query.query_id)
        if one is not None:
            order = sorted(one.passages, key=lambda passage: -passage[2])
            ranked += [
                # Scores are places from the end, so that equal ones keep the order of the target.
                Ranked(query.query_id, named.get(passage_id, passage_id), rank, float(len(order) - rank + 1))
                for rank, (passage_id, _, _) in enumerate(order, 1)
            ]
    stage_rankings(cursor, {name: ranked})
    write_runs(cursor, [(name, name, target.url)])
    return sum(passage_id != as_named for passage_id, as_named in named.items())
