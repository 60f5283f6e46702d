"""Live targets, their snapshots of all queries, and differences and falls between snapshots."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
import numpy as np

from .. import graders
from ..choices import SNAPSHOT_LEVEL
from ..errors import GradingError, InputError, Report, check_in_range, check_known
from ..labels import Policy, leaderboard
from ..measures import known_or_none, randomisation_test
from ..plain_yaml import read_yaml
from ..records import (
    FrozenQuery,
    ResponseSnapshot,
    add_frozen,
    add_passages,
    begin_freeze,
    check_runs,
    drop_freeze,
    end_freeze,
    fingerprint_of,
    frozen_so_far,
    list_snapshots,
    refresh_pool,
    run_names,
    write_responses,
    write_runs,
)
from ..store import Cursor, Project, log_action
from ..text import clean_text, fault_of_id, how_many, quote_name
from ..types import Passage, Ranked, Response
from ._answer_contexts import (
    AskedQuery,
    ContextPassage,
    asked_queries,
    passage_id_of,
    passage_texts,
    top_passages,
)

QUERY, QUERY_ID, K = "{query}", "{query_id}", "{k}"
PLACES = (QUERY, QUERY_ID, K)
_STEP = re.compile(r"(?:(?!\A)\.)?(?:(?P<name>[^.\[\]]+)|\[(?P<at>\d+|\*)\])")
"""A step of a path, with the dot before it."""


@dataclass(frozen=True, kw_only=True)
class Target(graders.RequestSettings):
    """How to ask an endpoint for a query, and how to read its answer.

    Args:
        url: its address, without a query.
        request: the JSON to send, with {query}, {query_id} and {k} within texts; a text of only {k}
            becomes the number.
        passages: path to the list of passages, such as hits.hits; empty if it gives no passages.
        id, text, score: paths within a passage. If `id` is empty, ids are made from texts; if
            `score` is empty, scores follow the places.
        answer: path to the answer's text; empty if it gives no answer.
        method: POST sends the request as JSON, GET as the query of the address.
        k: passages to request and keep.
        key_variable: variable with the key, which is sent as a bearer token; empty to send no key.
    """

    url: str
    request: Mapping[str, Any]
    passages: str = ""
    id: str = "id"
    text: str = "text"
    score: str = ""
    answer: str = ""
    method: graders.FetchMethod = "POST"
    k: int = 10
    key_variable: str = ""

    def body(self, query_id: str, text: str) -> dict[str, Any]:
        """Return the request for a query. The text of a query is inserted unchanged; placeholders
        in it are not replaced."""
        texts = {QUERY: text, QUERY_ID: query_id, K: str(self.k)}
        return {name: _fill_places(value, texts, self.k) for name, value in self.request.items()}


DECIDING = ("url", "method", "request", "k", "passages", "id", "text", "score", "answer")
"""Fields of a target that determine its request and the reading of its results; speed and patience
do not.
"""


@dataclass(frozen=True)
class TargetResult:
    """The result of a target for a query.

    Args:
        passages: id, text (None if it gives no text) and score of each, the best first.
        answer: its text; None if it gives no answer.
    """

    passages: tuple[tuple[str, str | None, float], ...] = ()
    answer: str | None = field(default=None)


def read_target(text: str, file: str) -> Target:
    """Return a target from its file.

    Args:
        text: YAML or JSON with the fields of `Target`.
        file: its name, for messages.

    Raises:
        InputError: it is not a target file, or a field is invalid.
    """
    hint = "Set url, request (with {query}), and passages or answer."
    data = read_yaml(text, file, hint)
    if not isinstance(data, dict):
        raise InputError("invalid-target", f"{file} is not a target file.", hint)
    known = {entry.name: entry for entry in fields(Target)}
    check_known("invalid-target", f"field of {file}:", known, *data)
    try:
        target = msgspec.convert(data, Target)
    except msgspec.ValidationError as error:
        raise InputError("invalid-target", f"Invalid field in {file}: {error}.", hint) from error
    if not (target.passages or target.answer):
        raise InputError("invalid-target", f"Required fields are missing in {file}.", hint)
    graders.checked_host(target.url)
    if target.k < 1 or target.body("", "") == target.body("", QUERY):
        raise InputError(
            "invalid-target", f"In {file}, the request has no {QUERY}, or k is below 1.", hint
        )
    for name in ("passages", "id", "text", "score", "answer"):
        path_of(getattr(target, name))
    return target


def _fill_places(value: Any, texts: Mapping[str, str], k: int) -> Any:
    if isinstance(value, str):
        if value == K:
            return k
        return re.sub("|".join(map(re.escape, PLACES)), lambda place: texts[place[0]], value)
    if isinstance(value, Mapping):
        return {name: _fill_places(one, texts, k) for name, one in value.items()}
    return [_fill_places(one, texts, k) for one in value] if isinstance(value, list) else value


def path_of(path: str) -> list[str | int]:
    """Return the steps of a path such as hits.hits[0].text; [*] takes every element.

    Raises:
        InputError: the path is invalid.
    """
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        raise InputError(
            "invalid-path",
            f"Invalid path {quote_name(path)}.",
            "Use names separated by dots, with [0] or [*].",
        )
    return [
        step["name"] or (step["at"] if step["at"] == "*" else int(step["at"])) for step in steps
    ]


def at_path(value: Any, path: str) -> Any:
    """Return the value at a path of a JSON value; None if it is absent. A path with [*] gives a
    list.
    """
    return _value_at(value, path_of(path))


def _value_at(value: Any, steps: list[str | int]) -> Any:
    for number, step in enumerate(steps):
        if step == "*":
            rest = steps[number + 1 :]
            return [_value_at(one, rest) for one in value] if isinstance(value, list) else None
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


DIGITS = 12
"""Digits of the digest that replaces a missing id, or distinguishes texts under the same id."""


COMMIT_SECONDS = 1.0
"""Results are written at least this often, so that a crash loses no more."""


@dataclass(frozen=True)
class SnapshotResult:
    """The outcome of a snapshot of a target.

    Args:
        run: name of the run; None if the target gives no passages.
        system: name of the responses; None if it gives no answers.
        queries: number of queries asked.
        answered: queries with a result.
        empty: queries with an empty result.
        failed: reason by query id, for queries that failed.
        changed: passages whose text differs from the project's under their id; they got ids of
            their own.
        seconds: median time of an answer; None without answers.
        before: queries answered earlier, before an interruption; they were not asked again.
    """

    run: str | None
    system: str | None
    queries: int
    answered: int
    empty: int
    failed: dict[str, str]
    changed: int
    seconds: float | None
    before: int = 0


def take_snapshot(
    project: Project,
    target: Target,
    name: str,
    author: str,
    query_ids: Sequence[str] | None = None,
    allow_failed: bool = False,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> SnapshotResult:
    """Ask a target for every query and store its results: passages as a run, answers as responses.

    Results are stored as they come. A snapshot that was interrupted, or in which queries failed,
    stays open. Under the same name it continues with the missing queries only.

    A query without an answer after all attempts has failed, which differs from an empty result.
    Thus a failed query prevents the run, unless failures are allowed.

    Args:
        name: of the run, which must be new; responses have the same name, or NAME-responses next to
            a run.
        query_ids: only these; None for all queries with words.
        allow_failed: whether a run is made from which failed queries are absent.
        watch: receives the number of finished queries, and of all queries asked now.

    Raises:
        InputError: the name is taken or invalid, the open snapshot of this name had another
            request, or the project has no queries.
        GradingError: a query failed and that is not allowed, or all failed, or it was stopped from
            the keyboard. Results so far are kept, without a run.
    """
    if name in run_names(project):
        raise InputError(
            "name-taken",
            f"Run '{name}' already exists.",
            "Snapshots cannot be changed. Choose another name.",
        )
    queries = asked_queries(project, query_ids)
    if not queries:
        raise InputError("no-queries", "No queries with texts.", "Import queries.")
    fingerprint = fingerprint_of(["target", *(getattr(target, part) for part in DECIDING)])
    opened = next((entry for entry in list_snapshots(project) if entry.name == name), None)
    if opened is not None and opened.asked != fingerprint:
        raise InputError(
            "freeze-of-another-request",
            f"Snapshot '{name}' was started with another request.",
            f"Use the original file, or discard the snapshot: exam snapshots remove {name}.",
        )
    key = (
        begin_freeze(project, name, target.url, fingerprint, author)
        if opened is None
        else opened.key
    )
    words = {query.query_id: query.text for query in queries}
    answered = _kept_results(project, key, words)
    before = len(answered)
    failed = _ask_target(
        project, target, key, [query for query in queries if query.query_id not in answered], watch
    )
    answered = _kept_results(project, key, words)
    if not answered or (failed and not allow_failed):
        first, reason = next(iter(failed.items()))
        if not answered:
            drop_freeze(project, name, author)
        hint = (
            f"Kept {how_many(len(answered), 'responses')}. Repeat snapshot {name} to retry, or add"
            " --allow-failed."
        )
        raise GradingError(
            "queries-failed",
            f"{how_many(len(failed), 'queries')} of {len(queries):,} failed,"
            f" first {first}: {reason}.",
            hint if answered else "Nothing was kept. Check that the target works.",
        )
    results = {
        query_id: msgspec.json.decode(response.given, type=TargetResult)
        for query_id, response in answered.items()
    }
    with project.transaction() as cursor:
        changed = _write_snapshot(cursor, target, name, queries, results)
        system = None
        # Targets without a path to an answer are skipped here too.
        found_texts = [
            Response(name, query_id, entry.answer, file=target.url)
            for query_id, entry in results.items()
            if entry.answer is not None
        ]
        if found_texts:
            write_responses(cursor, found_texts, Report())
            ((system,),) = cursor.execute(
                "SELECT name FROM runs"
                " WHERE tag = ? AND run_key IN (SELECT run_key FROM responses)",
                [name],
            ).fetchall()
        end_freeze(cursor, key, system, len(queries), len(failed))
        refresh_pool(cursor)
        log_action(
            cursor,
            author,
            "freeze target",
            name=name,
            url=target.url,
            queries=len(queries),
            failed=len(failed),
            changed=changed,
        )
    empty = sum(not entry.passages and entry.answer is None for entry in results.values())
    run = name if target.passages else None
    middle = sorted(entry.seconds for entry in answered.values())[len(answered) // 2]
    return SnapshotResult(
        run, system, len(queries), len(results) - empty, empty, failed, changed, middle, before
    )


def _kept_results(project: Project, key: int, words: Mapping[str, str]) -> dict[str, FrozenQuery]:
    """Return the results so far for queries with these words, by query id."""
    return {
        query_id: one
        for query_id, one in frozen_so_far(project, key).items()
        if one.words == words.get(query_id)
    }


def _ask_target(
    project: Project,
    target: Target,
    key: int,
    queries: Sequence[AskedQuery],
    watch: Callable[[int, int], None],
) -> dict[str, str]:
    """Ask for queries and store results as they come. Return the reasons of the failed queries, by
    query id.

    Raises:
        GradingError: it was stopped from the keyboard.
    """
    failed: dict[str, str] = {}
    waiting: list[FrozenQuery] = []
    committed = time.monotonic()
    came = 0

    def commit_results() -> None:
        nonlocal waiting, committed, came
        some, waiting = waiting, []
        if some:
            project.write(lambda cursor: add_frozen(cursor, key, some))
        came += len(some)
        committed = time.monotonic()

    def store_result(at: int, fetched: graders.Fetched) -> None:
        answer = (
            fetched.reason if fetched.reason is not None else read_answer(fetched.value, target)
        )
        if isinstance(answer, str):
            failed[queries[at].query_id] = answer
            return
        given = json.dumps(
            {"passages": answer.passages, "answer": answer.answer}, ensure_ascii=False
        )
        waiting.append(FrozenQuery(queries[at].query_id, queries[at].text, given, fetched.seconds))
        if time.monotonic() - committed >= COMMIT_SECONDS:
            commit_results()

    bodies = [target.body(query.query_id, query.text) for query in queries]
    try:
        graders.fetch_all(
            target.url,
            target.method,
            bodies,
            target,
            target.key_variable or None,
            watch,
            came=store_result,
        )
    except KeyboardInterrupt as stopped:
        commit_results()
        by = str(stopped).rstrip(".") or "Interrupted (Ctrl+C)"
        raise GradingError(
            "freeze-interrupted",
            f"{by}: responses to {came:,} of {how_many(len(queries), 'queries')} are kept.",
            "Repeat the snapshot under the same name to ask the remaining queries.",
        ) from None
    finally:
        commit_results()
    return {query.query_id: failed[query.query_id] for query in queries if query.query_id in failed}


def read_answer(value: Any, target: Target) -> TargetResult | str:
    """Return the result of a target, or why it cannot be read.

    Args:
        value: the JSON value that it sent.
    """
    passages: list[tuple[str, str | None, float]] = []
    if target.passages:
        listed = at_path(value, target.passages)
        if not isinstance(listed, list):
            return f"no list at {target.passages}"
        for place, one in enumerate(listed[: target.k], 1):
            read = _read_passage(one, place, target)
            if isinstance(read, str):
                return f"passage {place}: {read}"
            if read[0] not in {known for known, _, _ in passages}:
                passages.append(read)
    answer = None
    if target.answer:
        text = at_path(value, target.answer)
        if text is not None and not isinstance(text, str):
            return f"no text at {target.answer}"
        answer = clean_text(text).strip() or None if text else None
    # Sorted later by score, as trec_eval does; passages without scores keep their order.
    return TargetResult(tuple(passages), answer)


def _read_passage(value: Any, place: int, target: Target) -> tuple[str, str | None, float] | str:
    text = at_path(value, target.text) if target.text else None
    if text is not None and not isinstance(text, str):
        return f"no text at {target.text}"
    text = clean_text(text) if text and text.strip() else None
    name = at_path(value, target.id) if target.id else None
    if name is None and text is None:
        return "no id and no text"
    passage_id = (
        str(name)
        if isinstance(name, str | int) and not isinstance(name, bool)
        else f"live-{_text_digest(text or '')}"
    )
    if fault := fault_of_id(passage_id, True):
        return f"its id {fault}"
    score = at_path(value, target.score) if target.score else -float(place)
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        return f"no number at {target.score}"
    return passage_id, text, float(score)


def _text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace")).hexdigest()[:DIGITS]


def _write_snapshot(
    cursor: Cursor,
    target: Target,
    name: str,
    queries: Sequence[AskedQuery],
    results: dict[str, TargetResult],
) -> int:
    """Write passages and run. Return how many passages have another text than the project's under
    their id.
    """
    if not target.passages:
        return 0
    texts = {
        passage_id: text
        for result in results.values()
        for passage_id, text, _ in result.passages
        if text is not None
    }
    texts_by_id = dict(
        cursor.execute(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE list_contains($ids, passage_id)",
            {"ids": list(texts)},
        ).fetchall()
    )
    # A text is final because grades rest on it, so another text under the same id becomes another
    # passage.
    named = {
        passage_id: passage_id
        if texts_by_id.get(passage_id, text) == text
        else f"{passage_id}~{_text_digest(text)}"
        for passage_id, text in texts.items()
    }
    add_passages(cursor, [Passage(named[passage_id], text) for passage_id, text in texts.items()])
    ranked = []
    for query in queries:
        result = results.get(query.query_id, TargetResult())
        order = sorted(result.passages, key=lambda passage: -passage[2])
        ranked += [
            # Scores are places from the end, so that equal ones keep the order of the target.
            Ranked(
                query.query_id,
                named.get(passage_id, passage_id),
                rank,
                float(len(order) - rank + 1),
            )
            for rank, (passage_id, _, _) in enumerate(order, 1)
        ]
    write_runs(cursor, {name: ranked}, [(name, name, target.url)])
    return sum(passage_id != as_named for passage_id, as_named in named.items())


_REWRITTEN = re.compile(f"~[0-9a-f]{{{DIGITS}}}$")
"""The suffix of a changed text under the same id of the target."""


@dataclass(frozen=True)
class QueryChange:
    """The differences between two snapshots for one query.

    Args:
        gone, new: passages in only one of the tops, in its order.
        moved: passages that both have at other ranks: id, rank before, rank after.
        overlap: the share of the passages of both tops that both have; 1 if the passages are the
            same.
        answer: whether the answer differs, or one of them is missing.
    """

    query_id: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
    moved: tuple[tuple[str, int, int], ...]
    overlap: float
    answer: bool = False


def diff_of_runs(project: Project, before: str, after: str, k: int = 10) -> list[QueryChange]:
    """Return the queries whose top or answer differs between two runs, the largest differences
    first.

    A passage whose text changed has an id of its own (ID~DIGEST): the old passage is gone, and
    another one is new.

    Args:
        before, after: runs, or responses of targets that give only answers.
        k: the depth of the tops.

    Raises:
        InputError: a run is unknown.
    """
    (old_tops, new_tops), (old_answers, new_answers) = _both_results(project, before, after, k)
    changes = []
    for query_id in dict.fromkeys([*old_tops, *new_tops, *old_answers, *new_answers]):
        old, new = (
            [passage_id_of(entry) for entry in top.get(query_id, [])]
            for top in (old_tops, new_tops)
        )
        answer = old_answers.get(query_id) != new_answers.get(query_id)
        if old == new and not answer:
            continue
        both = [entry for entry in old if entry in new]
        moved = tuple(
            (entry, old.index(entry) + 1, new.index(entry) + 1)
            for entry in both
            if old.index(entry) != new.index(entry)
        )
        changes.append(
            QueryChange(
                query_id,
                tuple(entry for entry in old if entry not in new),
                tuple(entry for entry in new if entry not in old),
                moved,
                len(both) / len({*old, *new}) if old or new else 1.0,
                answer,
            )
        )
    return sorted(changes, key=lambda entry: (entry.overlap, not entry.answer))


@dataclass(frozen=True)
class PlacedPassage:
    """A passage in the top of one of two snapshots.

    Args:
        text: None if the project has no text.
        rank: from 1.
        other: its rank in the other snapshot; None if it is not in its top.
        rewritten: id of the passage in the other top that has the same id at the target and another
            text; else None.
    """

    passage_id: str
    text: str | None
    rank: int
    other: int | None
    rewritten: str | None


@dataclass(frozen=True)
class QueryDifference:
    """One query in two snapshots.

    Args:
        before, after: the tops, the best first.
        answers: the answers before and after; None without an answer.
    """

    query_id: str
    text: str
    before: tuple[PlacedPassage, ...]
    after: tuple[PlacedPassage, ...]
    answers: tuple[str | None, str | None]


def query_difference(
    project: Project, before: str, after: str, query_id: str, k: int = 10
) -> QueryDifference:
    """Return the tops and answers of two runs for a query, with their texts.

    Args:
        k: the depth of the tops.

    Raises:
        InputError: a run or the query is unknown.
    """
    both, answers = _both_results(project, before, after, k)
    (query,) = asked_queries(project, [query_id])
    old, new = (top.get(query_id, []) for top in both)
    texts = passage_texts(
        project, {one.text_key for one in (*old, *new) if isinstance(one, ContextPassage)}
    )
    return QueryDifference(
        query_id,
        query.text,
        _place_passages(old, new, texts),
        _place_passages(new, old, texts),
        (answers[0].get(query_id), answers[1].get(query_id)),
    )


def _place_passages(
    top: Sequence[ContextPassage | str],
    other: Sequence[ContextPassage | str],
    texts: Mapping[int, str],
) -> tuple[PlacedPassage, ...]:
    ranks = {passage_id_of(passage): rank for rank, passage in enumerate(other, 1)}
    ours = {passage_id_of(passage) for passage in top}
    # A passage that is in both rankings was not rewritten.
    their_names = {_at_target(name): name for name in ranks if name not in ours}
    placed = []
    for rank, passage in enumerate(top, 1):
        name = passage_id_of(passage)
        text = texts.get(passage.text_key) if isinstance(passage, ContextPassage) else None
        rewritten = None if name in ranks else their_names.get(_at_target(name))
        placed.append(PlacedPassage(name, text, rank, ranks.get(name), rewritten))
    return tuple(placed)


def _at_target(passage_id: str) -> str:
    return _REWRITTEN.sub("", passage_id)


Tops = dict[str, list[ContextPassage | str]]
Answers = dict[str, str]


def _both_results(
    project: Project, before: str, after: str, k: int
) -> tuple[list[Tops], list[Answers]]:
    """Return tops and answers of two runs, by query id; responses have no top of their own."""
    check_runs(project, [before, after])
    check_in_range("depth-out-of-range", f"Depth {k}", "Use 1 or more.", k >= 1)
    written = {
        name
        for (name,) in project.rows("SELECT name FROM runs SEMI JOIN responses USING (run_key)")
    }
    by_run = top_passages(project, [before, after], k)
    systems = {one.name: one.system for one in list_snapshots(project)}

    tops = [{} if run in written else by_run[run] for run in (before, after)]
    # The passages of a long response are joined with blank lines.
    answers = [
        dict(
            project.rows(
                "SELECT query_id, string_agg(x.text, chr(10) || chr(10) ORDER BY rank)"
                " FROM rankings JOIN runs USING (run_key) JOIN queries USING (query_key)"
                " JOIN passages p USING (passage_key)"
                " JOIN passage_texts x ON x.text_key = p.text_key"
                " WHERE name = ? GROUP BY query_key, query_id ORDER BY query_key",
                [run if run in written else systems.get(run)],
            )
        )
        for run in (before, after)
    ]
    return tops, answers


def frozen_runs(project: Project) -> list[ResponseSnapshot]:
    """Return the closed snapshots that exist as a run or as responses, the newest first."""
    known = set(run_names(project))
    return [one for one in list_snapshots(project) if not one.open and one.name in known]


SAMPLES = 2000


@dataclass(frozen=True)
class MeasureChange:
    """A measure of two snapshots over the queries that both are scored on.

    Args:
        measure: its name.
        source: of the judgments, or `exam` for grades.
        before, after: means.
        queries: how many they rest on.
        low, high: interval of 95 % of the difference after - before, by a bootstrap over queries.
        p: of a two-sided paired randomisation test, which swaps the snapshots at random on every
            query (Smucker et al., CIKM 2007); None if no query differs.
        fell: whether the mean fell and p is below the level.
        scores: before and after, by query id.
    """

    measure: str
    source: str
    before: float
    after: float
    queries: int
    low: float
    high: float
    p: float | None
    fell: bool
    scores: Mapping[str, tuple[float, float]]

    @property
    def difference(self) -> float:
        """The mean after minus the mean before."""
        return self.after - self.before


def measure_fall(
    project: Project,
    before: str,
    after: str,
    measure: str,
    source: str = "judgments",
    policy: Policy | None = None,
    level: float = SNAPSHOT_LEVEL,
) -> MeasureChange:
    """Test whether a measure of a target fell between two snapshots by more than noise.

    Args:
        before, after: the runs.
        measure: as for leaderboards, such as nDCG@10 or EXAM-Cover@5.
        source: of judgments, or `exam` for grades.
        level: the p from which on a fall counts as noise.

    Raises:
        InputError: a run, measure or source is unknown, or there are fewer than two queries.
    """
    check_runs(project, [before, after])
    board = leaderboard(project, measure, source, policy or Policy())
    if not board.per_query:
        raise InputError(
            "no-scores-by-query",
            f"Source {source} has no scores per query.",
            "Use a source of judgments, or exam.",
        )
    old, new = (board.per_query.get(run, {}) for run in (before, after))
    # A query without results in a snapshot scores 0 there, as on the leaderboard.
    scores = {name: (old.get(name, 0.0), new.get(name, 0.0)) for name in board.query_ids}
    if len(scores) < 2:
        raise InputError(
            "too-few-queries",
            "Fewer than two queries to compare.",
            "Import judgments, or grade the passages.",
        )
    differences = np.array([later - earlier for earlier, later in scores.values()], np.float64)
    drawn = np.random.default_rng(0).integers(0, len(scores), size=(SAMPLES, len(scores)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    p = known_or_none(randomisation_test(differences[:, None])[0])
    earlier, later = (float(np.mean(side)) for side in zip(*scores.values(), strict=True))
    return MeasureChange(
        board.measure,
        source,
        earlier,
        later,
        len(scores),
        low,
        high,
        p,
        p is not None and p < level and bool(differences.mean() < 0),
        scores,
    )
