"""Pairs of texts: those that a request needs, and those that failed or are doubtful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..bank import (
    CITING,
    StoredGrader,
    asked_bank,
    asked_pool,
    asking_queries,
    exam_queries,
    grader_key,
    list_questions,
    name_asked_texts,
    name_sentences,
    query_as_question,
    query_overviews,
    question_text_key,
)
from ..errors import InputError
from ..graders import Grader, PairsToGrade, order_pairs
from ..grouping import group_pairs
from ..jobs import Caps
from ..records import check_queries, check_runs, pool_depth, run_names
from ..store import Project, cache, cached
from ..types import GraderInput, GraderSpec, Question


@dataclass(frozen=True)
class Scope:
    """Selection among the pairs that a bank version needs.

    Args:
        queries: ids of the queries to grade; None for all.
        runs: names of the runs whose pooled passages are graded; None for the whole pool.
        top: rank down to which each of these runs is graded, or each run if `runs` is None; None
            for the pool depth.
        retry_failed: whether to ask for failed pairs again, in addition to ungraded ones.
        only_failed: whether to ask for failed pairs only.
        limit: maximum number of pairs.
        passages: (query id, passage id) of the pooled passages to grade; None for all. Unknown ones
            are ignored.
        sentences: whether to grade the sentences that cite, instead of pooled passages; None with
            `only_failed` for both: see `missing_pairs`.
    """

    queries: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    retry_failed: bool = False
    only_failed: bool = False
    limit: int | None = None
    top: int | None = None
    passages: tuple[tuple[str, str], ...] | None = None
    sentences: bool | None = False

    @property
    def states(self) -> tuple[str, ...]:
        if self.only_failed:
            return ("failed",)
        return ("ungraded", "failed") if self.retry_failed else ("ungraded",)


EVERYTHING = Scope()
"""All ungraded pairs."""


@dataclass(frozen=True)
class Request(Caps):
    """Request for a grading job.

    Args:
        scope: selection of the missing pairs.
        bank_version: bank version whose active questions are graded; None for the newest.
        trial: drafted questions to grade instead of the bank's; None for the bank's. Grades belong
            to texts, so grades of a draft stay valid after it is saved.
        batch: whether the calls are sent in batches, which an endpoint answers within a day at a
            lower price.
        batch_size: maximum number of calls per batch; None for the maximum of the protocol.
    """

    scope: Scope = EVERYTHING
    bank_version: int | None = None
    trial: tuple[Question, ...] | None = None
    batch: bool = False
    batch_size: int | None = None


def request_record(request: Request) -> dict[str, Any]:
    """Return the facts of a request that the record of a job stores."""
    given = asdict(request.scope) | {
        name: getattr(request, name) for name in ("max_calls", "max_cost", "concurrency")
    }
    asked = {name: value for name, value in given.items() if value not in (None, False)}
    return asked if request.trial is None else asked | {"trial": len(request.trial)}


@dataclass(frozen=True)
class Plan:
    """Counts of a grading job, in pairs of (question text, passage text).

    Args:
        needed: pairs that the bank and the pool need.
        known: those that have a grade.
        failed: those that were asked without a usable reply.
        to_grade: those that the job would ask.
        without_text: pooled (query, passage) whose passage text is missing; for a grader of
            citations, the citations whose text is missing.
        sent: those whose answers will arrive in a batch; they are not asked again meanwhile.
        weightless: needed pairs that no label needs, because every question with that text has
            weight 0 or less.
    """

    needed: int
    known: int
    failed: int
    to_grade: int
    without_text: int
    weightless: int = 0
    sent: int = 0


_IN_SCOPE = (
    "($depth IS NULL OR (p.query_key, p.passage_key) IN (SELECT (query_key, passage_key)"
    " FROM rankings JOIN runs USING (run_key)"
    " WHERE rank <= $depth AND ($runs IS NULL OR list_contains($runs, name))))"
    " AND ($passages IS NULL OR list_contains($passages, [p.query_key, p.passage_key]))"
)
"""SQL condition: a run, or one of the named runs, ranks passage p of the pool within a depth, and p
is in the scope.
"""


_TITLED = "b.asked NOT IN (SELECT query_id FROM queries WHERE text = query_id)"
"""SQL condition: row b of the bank has a real title. A query that is known by id only tells a
grader nothing.
"""


_ANSWERED = (
    "JOIN grades w ON w.grader_key = $grader AND w.question_text_key = b.text_key"
    " AND w.passage_text_key = p.whole_key AND w.rating > 0 AND b.weight > 0"
)
"""SQL join: the passage that has sentence p answers question b, at least in part. "Avoid" questions
need no support.
"""


def missing_pairs(spec: GraderSpec, sentences: bool | None = False) -> str:
    """Return SQL for the pairs that a grader needs, with their states.

    With `sentences`, these are the sentences that cite, with the questions that their passages
    answer by a rating above
    0. Such grades tell which sentence answers a question. With None, these are the pairs of
    passages and of sentences.

    Its parameters are $version, $grader (key, or -1), $queries (a list of query ids, or NULL),
    $depth, $runs and $passages. $depth is the lowest rank in a run, or NULL for the whole pool.
    $runs is a list of names of runs, or NULL for every run. $passages is a list of [query_key,
    passage_key], or NULL for all.

    Its columns are query_key, question_text_key, passage_text_key, weight (the highest with that
    text) and state: known, sent (in a batch), failed or ungraded.
    """
    if sentences is None:
        both = f"{missing_pairs(spec)} UNION ALL {missing_pairs(spec, True)}"
        return (
            "SELECT min(query_key) AS query_key, question_text_key, passage_text_key,"
            f" max(weight) AS weight, state FROM ({both}) GROUP BY ALL"
        )
    if spec.rates_citations:
        needed = (
            "SELECT min(query_key) AS query_key, asked, text_key AS question_text_key, cited_key"
            " AS passage_text_key,"
            f" max(weight) AS weight FROM {asked_bank(spec)} JOIN queries q USING (query_key)"
            " WHERE ($queries IS NULL OR list_contains($queries, q.query_id))"
            " AND ($depth IS NULL OR rank <= $depth) AND ($runs IS NULL"
            " OR list_contains($runs, run)) GROUP BY ALL"
        )
    else:
        needed = (
            "SELECT min(query_key) AS query_key, b.asked, b.text_key AS question_text_key,"
            " p.text_key AS passage_text_key, max(weight) AS weight"
            f" FROM {CITING if sentences else 'pool'} p JOIN {asked_bank(spec)} b USING (query_key)"
            f" JOIN queries q USING (query_key) {_ANSWERED if sentences else ''}"
            " WHERE p.text_key IS NOT NULL"
            f" AND ($queries IS NULL OR list_contains($queries, q.query_id)) AND {_IN_SCOPE}"
            + (f" AND {_TITLED}" if spec.method == "direct" else "")
            + " GROUP BY ALL"
        )
    return (
        "SELECT n.* EXCLUDE (asked), CASE WHEN EXISTS (SELECT * FROM grades g"
        " WHERE g.grader_key = $grader"
        "  AND g.question_text_key = n.question_text_key"
        " AND g.passage_text_key = n.passage_text_key)"
        "  THEN 'known' WHEN EXISTS (SELECT * FROM sent_pairs() s WHERE s.grader_key = $grader"
        "  AND s.question_text_key = n.question_text_key"
        " AND s.passage_text_key = n.passage_text_key)"
        "  THEN 'sent' WHEN EXISTS (SELECT * FROM failures f WHERE f.grader_key = $grader"
        "  AND f.question_text_key = n.question_text_key"
        " AND f.passage_text_key = n.passage_text_key)"
        f"  THEN 'failed' ELSE 'ungraded' END AS state FROM ({needed}) n"
    )


def _counts_sql(spec: GraderSpec, sentences: bool | None) -> str:
    """Return SQL for the numbers of the pairs of `missing_pairs`, with the same parameters.

    Its columns are needed, weightless (those of them with weight 0 or less), known, sent and
    failed.

    The pairs themselves are not built. Texts that the same queries ask have the same passages,
    which are counted once for all of them. Only pairs with a result are checked one by one. The
    pairs of citations and sentences are built.
    """
    if spec.rates_citations or sentences is not False:
        states = ", ".join(
            f"count(*) FILTER (state = '{state}')" for state in ("known", "sent", "failed")
        )
        return f"SELECT count(*), 0, {states} FROM ({missing_pairs(spec, sentences)})"
    titled = f" WHERE {_TITLED}" if spec.method == "direct" else ""
    pair_columns = "question_text_key, passage_text_key FROM"
    needed = (
        "JOIN asked b ON b.text_key = {0}.question_text_key JOIN pooled p"
        " ON p.text_key = {0}.passage_text_key"
        # A difference, not an equation: with an equation the engine joins by both columns, which is
        # five times slower.
        " WHERE p.place - b.place = 0"
    )
    return (
        "WITH texts AS MATERIALIZED (SELECT b.asked, b.text_key,"
        "  list(DISTINCT query_key ORDER BY query_key) AS queries,"
        "  list(DISTINCT query_key ORDER BY query_key) FILTER (weight > 0) AS weighing"
        f" FROM {asked_bank(spec)} b SEMI JOIN (FROM queries"
        "  WHERE $queries IS NULL OR list_contains($queries, query_id)) USING (query_key)"
        f"{titled} GROUP BY b.asked, b.text_key),"
        " places AS MATERIALIZED (SELECT queries, row_number() OVER () AS place"
        "  FROM (SELECT queries FROM texts UNION SELECT weighing FROM texts"
        " WHERE weighing IS NOT NULL)), asked AS MATERIALIZED (SELECT text_key, place FROM texts"
        " JOIN places USING (queries)), pooled AS MATERIALIZED (SELECT DISTINCT place, p.text_key"
        "  FROM (SELECT place, unnest(queries) AS query_key FROM places)"
        " JOIN pool p USING (query_key)"
        f"  WHERE p.text_key IS NOT NULL AND {_IN_SCOPE}),"
        f" failing AS MATERIALIZED (SELECT {pair_columns} failures WHERE grader_key = $grader"
        f"  UNION SELECT {pair_columns} sent_pairs() WHERE grader_key = $grader),"
        " unusable AS MATERIALIZED (SELECT f.question_text_key, f.passage_text_key FROM failing f"
        # Restrict the grades to failed pairs first, so that the engine need not load all others.
        f"  ANTI JOIN (SELECT {pair_columns} grades"
        " SEMI JOIN failing USING (question_text_key, passage_text_key)"
        "   WHERE grader_key = $grader) USING (question_text_key, passage_text_key)),"
        " open AS MATERIALIZED (SELECT question_text_key, passage_text_key"
        f" FROM unusable u {needed.format('u')}), still_sent AS (FROM open"
        f" SEMI JOIN (SELECT {pair_columns} sent_pairs() WHERE grader_key = $grader)"
        "  USING (question_text_key, passage_text_key)),"
        " sizes AS MATERIALIZED (SELECT queries, count(*) AS passages FROM pooled"
        " JOIN places USING (place)"
        "  GROUP BY queries), needed AS (SELECT coalesce(sum(passages), 0)::BIGINT AS pairs"
        " FROM texts JOIN sizes USING (queries)),"
        " weighing AS (SELECT coalesce(sum(passages), 0)::BIGINT AS pairs FROM texts t"
        "  JOIN sizes s ON s.queries = t.weighing)"
        " SELECT pairs, pairs - (SELECT pairs FROM weighing),"
        f" (SELECT count(*) FROM (FROM grades WHERE grader_key = $grader) g {needed.format('g')}),"
        " (SELECT count(*) FROM still_sent), (SELECT count(*) FROM open) - (SELECT count(*)"
        " FROM still_sent) FROM needed"
    )


def make_plan(
    project: Project,
    spec: GraderSpec,
    version: int,
    scope: Scope = EVERYTHING,
) -> Plan:
    """Count the pairs of a grading job.

    Args:
        version: bank version whose active questions are asked.
        scope: selection of the missing pairs.

    Raises:
        InputError: a query or run is unknown, or the top of runs exceeds the pool.
    """
    needed, weightless, known_count, sent, failed = project.rows(
        _counts_sql(spec, scope.sentences), _plan_parameters(project, spec, version, scope)
    )[0]
    states = {
        "known": known_count,
        "sent": sent,
        "failed": failed,
        "ungraded": needed - known_count - sent - failed,
    }
    open_pairs = sum(states[state] for state in scope.states)
    lacking = (
        "cited WHERE cited_key IS NULL" if spec.rates_citations else "pool WHERE text_key IS NULL"
    )
    return Plan(
        needed=needed,
        known=known_count,
        failed=failed,
        to_grade=open_pairs if scope.limit is None else min(open_pairs, scope.limit),
        without_text=int(
            project.value(
                f"SELECT count(*) FROM (FROM {lacking}) p JOIN queries USING (query_key)"
                f" WHERE ($queries IS NULL OR list_contains($queries, query_id)) AND {_IN_SCOPE}",
                _scope_parameters(project, scope),
            )
        ),
        weightless=weightless,
        sent=sent,
    )


def _plan_parameters(
    project: Project, spec: GraderSpec, version: int, scope: Scope
) -> dict[str, Any]:
    return {"version": version, "grader": known_key(project, spec)} | _scope_parameters(
        project, scope
    )


def known_key(project: Project, spec: GraderSpec) -> int:
    """Return the key of a grader; -1 for a grader without results, which no row has."""
    key = project.read(lambda cursor: grader_key(cursor, spec))
    return -1 if key is None else key


def _scope_parameters(project: Project, scope: Scope) -> dict[str, Any]:
    return {
        "queries": None if scope.queries is None else check_queries(project, scope.queries),
        "runs": None if scope.runs is None else check_runs(project, scope.runs),
        "depth": _grading_depth(project, scope),
        "passages": None if scope.passages is None else _pooled_keys(project, scope.passages),
    }


def _pooled_keys(project: Project, passages: Collection[tuple[str, str]]) -> list[list[int]]:
    """Return the keys of queries and pooled passages by their ids."""
    rows = project.rows(
        "SELECT query_key, passage_key FROM pool JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) WHERE list_contains($passages, [query_id, passage_id])",
        {"passages": [list(pair) for pair in passages]},
    )
    return [list(row) for row in rows]


def _grading_depth(project: Project, scope: Scope) -> int | None:
    """Return the rank down to which runs are graded; None for the whole pool."""
    pooled = project.read(pool_depth)
    if scope.top is None:
        return None if scope.runs is None else pooled
    if not 1 <= scope.top <= pooled:
        raise InputError(
            "invalid-top",
            f"Invalid top {scope.top:,}. The pool has the first {pooled:,} passages of each run.",
            f"Use a whole number from 1 to {pooled:,}, or set a deeper pool: exam pool --depth N",
        )
    if not run_names(project):
        raise InputError(
            "no-runs",
            "No runs yet, so their top passages are unknown.",
            "Import runs: exam import runs FILE...",
        )
    return scope.top


def pairs_to_grade(
    project: Project,
    spec: GraderSpec,
    version: int,
    scope: Scope = EVERYTHING,
) -> list[list[tuple[int, int]]]:
    """Return the pairs that a job has to ask, one list per query, ordered by passage so that
    prompts share a prefix.

    Arguments and errors are those of `make_plan`.
    """
    name_asked_texts(project, spec, version)
    if scope.sentences:
        name_sentences(project)
    states = ", ".join(f"'{state}'" for state in scope.states)
    groups = group_pairs(
        (query_key, (question, passage))
        for query_key, question, passage in project.rows(
            "SELECT query_key, question_text_key, passage_text_key"
            f" FROM ({missing_pairs(spec, scope.sentences)}) WHERE state IN ({states}) ORDER BY ALL"
            + ("" if scope.limit is None else f" LIMIT {scope.limit:d}"),
            _plan_parameters(project, spec, version, scope),
        )
    )
    return [sorted(pairs, key=lambda pair: (pair[1], pair[0])) for pairs in groups.values()]


def ordered_pairs(
    project: Project, grader: Grader, version: int, scope: Scope
) -> list[tuple[int, int]]:
    """Return the pairs that a job has to ask, in an order in which similar prompts are neighbours;
    see `make_plan`.
    """
    groups = pairs_to_grade(project, grader.spec, version, scope)
    return [pair for group in groups for pair in order_pairs(grader, group)]


def trial_pairs(
    project: Project, spec: GraderSpec, drafted: Sequence[Question]
) -> list[list[tuple[int, int]]]:
    """Return the pairs without a grade of wordings that may not be in the bank yet, one list per
    query.

    Failed pairs are included: no other command can retry those of an unsaved wording.

    Args:
        drafted: questions of any wording; those that the grader cannot grade are skipped.
    """
    key = known_key(project, spec)
    groups: dict[str, set[tuple[int, int]]] = {}
    # If two queries share a question text and a passage text, these are one pair.
    pairs_taken: set[tuple[int, int]] = set()
    for question in drafted:
        asked_text = spec.asked_text(question)
        if not question.active or question.kind not in spec.takes or not asked_text:
            continue
        with project.transaction() as cursor:
            text_key = question_text_key(cursor, asked_text)
        queries = asking_queries(project, [(question.query_id, question.subtopic_id)])
        rows = project.rows(
            "SELECT DISTINCT $question, pool.text_key FROM pool JOIN queries USING (query_key)"
            " ANTI JOIN (FROM grades WHERE grader_key = $grader"
            " AND question_text_key = $question) g ON g.passage_text_key = pool.text_key"
            " ANTI JOIN (FROM sent_pairs() WHERE grader_key = $grader"
            " AND question_text_key = $question) s ON s.passage_text_key = pool.text_key"
            " WHERE list_contains($queries, query_id) AND pool.text_key IS NOT NULL",
            {"grader": key, "question": text_key, "queries": queries},
        )
        groups.setdefault(question.query_id, set()).update(set(rows) - pairs_taken)
        pairs_taken.update(rows)
    return [
        sorted(pairs, key=lambda pair: (pair[1], pair[0])) for pairs in groups.values() if pairs
    ]


def with_texts(project: Project, spec: GraderSpec, pairs: list[tuple[int, int]]) -> PairsToGrade:
    """Return the pairs with their texts."""
    question_keys = sorted({question for question, _ in pairs})
    passage_keys = sorted({passage for _, passage in pairs})
    texts = "SELECT text_key, text FROM {} WHERE list_contains(?, text_key)"
    return PairsToGrade(
        pairs=pairs,
        questions={
            k: GraderInput.read(text, spec.reads)
            for k, text in project.rows(texts.format("question_texts"), [question_keys])
        },
        passages=dict(project.rows(texts.format("passage_texts"), [passage_keys])),
    )


@dataclass(frozen=True)
class SkippedCounts:
    """Numbers of active questions (queries, for a direct grader) that a grader skips.

    Args:
        other_kind: it does not grade questions of their kind.
        no_text: they are known by id only.
        no_answer_key: it reads the answer key and they have no answer key.
        no_choices: it reads the choices and they have no choices.
    """

    other_kind: int
    no_text: int
    no_answer_key: int
    no_choices: int

    @property
    def total(self) -> int:
        return self.other_kind + self.no_text + self.no_answer_key + self.no_choices


def count_skipped(
    project: Project, spec: GraderSpec, version: int, queries: Collection[str] | None = None
) -> SkippedCounts:
    """Count the questions of a bank version that a grader skips, each by the first reason that
    applies.

    Args:
        queries: ids of the queries to include; None for all.
    """
    if spec.rates_citations:
        return SkippedCounts(0, 0, 0, 0)
    direct, counts = spec.method == "direct", Counter[str]()
    # Items of exams are for examinees, so they do not count as skipped.
    sat = set(exam_queries(project, version))
    untitled = {
        query_id
        for (query_id,) in project.rows("SELECT query_id FROM queries WHERE text = query_id")
    }
    if direct:
        asked = [query_as_question(project, query.query_id) for query in query_overviews(project)]
    else:
        asked = [question for question in list_questions(project, version) if question.active]
    for question in asked:
        if question.query_id in sat or (queries is not None and question.query_id not in queries):
            continue
        reasons_apply = {
            "kind": not direct and question.kind not in spec.takes,
            "text": not question.text or (direct and question.text in untitled),
            "answer key": "answer_key" in spec.reads and not question.answer_key,
            "choices": "choices" in spec.reads and not question.choices,
        }
        counts.update([reason for reason, applies in reasons_apply.items() if applies][:1])
    return SkippedCounts(counts["kind"], counts["text"], counts["answer key"], counts["choices"])


Which = Literal["failed", "defaulted"]
"""Failed: the pair was asked without a usable reply. Defaulted: it has a rating although the reply
names none.
"""

DEFAULTS = {
    0: "the answer is ill-formed, or says that the question is unanswerable",
    1: "the answer has no rating",
}
"""Descriptions of replies that get a default rating, by rating (EXAM++, section 4.2.2)."""


@dataclass(frozen=True)
class DoubtfulPair:
    """A pair that failed or was graded by default.

    Args:
        query_id: a query that needs the pair.
        query: text of the query.
        asked: the texts that the grader got.
        passage_id: a passage with this text in the query's pool.
        passage: text of the passage.
        rating: None for a failed pair.
        reason: reason of the last failure, or of the default rating.
        raw: the model's last reply; None without a reply.
        attempts: number of failures.
    """

    query_id: str
    query: str
    asked: GraderInput
    passage_id: str
    passage: str
    rating: int | None
    reason: str
    raw: str | None
    attempts: int


@cached(cache.LABELS)
def count_reasons(
    project: Project, grader: StoredGrader, which: Which, version: int
) -> list[tuple[str, int]]:
    """Return the numbers of failed or defaulted pairs that a bank version needs, by reason, the
    commonest first; cached until their data changes.
    """
    return [
        (str(reason), int(count))
        for reason, count in project.rows(
            f"SELECT reason, count(*) AS n FROM ({_doubtful_sql(grader, which)}) GROUP BY reason"
            " ORDER BY n DESC, reason",
            {"grader": grader.key, "version": version},
        )
    ]


def doubtful_pairs(
    project: Project,
    grader: StoredGrader,
    which: Which,
    version: int,
    reason: str | None = None,
    offset: int = 0,
    limit: int = 20,
) -> list[DoubtfulPair]:
    """Return a page of the failed or defaulted pairs, in the order of queries and questions.

    Args:
        version: bank version whose questions count.
        reason: restricts the result to pairs with this reason; None for all.
        offset: number of pairs to skip.
        limit: maximum number of pairs.
    """
    return [
        DoubtfulPair(row[0], row[1], GraderInput.read(row[2], grader.spec.reads), *row[3:])
        for row in project.rows(
            "SELECT query_id, q.text, asked, passage_id, t.text, rating, reason, raw, attempts FROM"
            f" (FROM ({_doubtful_sql(grader, which)}) WHERE $reason IS NULL OR reason = $reason"
            "  ORDER BY query_key, question_text_key, passage_text_key"
            " LIMIT $limit OFFSET $offset) d JOIN queries q USING (query_key)"
            " JOIN passage_texts t ON t.text_key = d.passage_text_key JOIN (SELECT query_key,"
            " p.text_key AS passage_text_key, min_by(passage_id, position) AS passage_id"
            f"  FROM {asked_pool(grader.spec)} p JOIN passages USING (passage_key) GROUP BY ALL)"
            " USING (query_key, passage_text_key)"
            " ORDER BY query_key, question_text_key, passage_text_key",
            {
                "grader": grader.key,
                "version": version,
                "reason": reason,
                "limit": limit,
                "offset": offset,
            },
        )
    ]


def _doubtful_sql(grader: StoredGrader, which: Which) -> str:
    """Return SQL with one row per pair: query_key, question_text_key, passage_text_key, asked,
    rating, reason, raw, attempts.

    It joins the bank and the pool to the few failed or defaulted pairs, which is faster than the
    reverse.
    """
    if which == "failed":
        doubtful = (
            "SELECT question_text_key, passage_text_key, NULL::TINYINT AS rating,"
            " last.reason AS reason, last.raw AS raw, attempts"
            " FROM (SELECT question_text_key, passage_text_key, count(*) AS attempts,"
            "  max_by({'reason': reason, 'raw': raw}, rowid) AS last FROM failures"
            " WHERE grader_key = $grader"
            "  GROUP BY ALL)"
            # Restrict the grades to failed pairs first, so that the engine need not load all
            # others.
            " ANTI JOIN (SELECT question_text_key, passage_text_key FROM grades SEMI JOIN"
            "  (FROM failures WHERE grader_key = $grader)"
            " USING (question_text_key, passage_text_key)"
            "  WHERE grader_key = $grader) USING (question_text_key, passage_text_key)"
        )
    else:
        reason = " ".join(f"WHEN {rating} THEN '{reason}'" for rating, reason in DEFAULTS.items())
        doubtful = (
            "SELECT question_text_key, passage_text_key, rating, 0 AS attempts, raw,"
            f" CASE rating {reason} ELSE '{DEFAULTS[1]}' END AS reason"
            " FROM grades WHERE grader_key = $grader AND defaulted"
        )
    return (
        "SELECT min(p.query_key) AS query_key, d.question_text_key, d.passage_text_key,"
        " any_value(b.asked) AS asked,"
        " any_value(d.rating) AS rating, any_value(d.reason) AS reason, any_value(d.raw) AS raw,"
        " any_value(d.attempts) AS attempts"
        f" FROM ({doubtful}) d JOIN {asked_bank(grader.spec)} b ON b.text_key = d.question_text_key"
        # A difference, not an equation: with an equation the engine would load the whole bank
        # before it filters.
        f" JOIN {asked_pool(grader.spec)} p ON p.text_key = d.passage_text_key"
        " WHERE p.query_key - b.query_key = 0 GROUP BY d.question_text_key, d.passage_text_key"
    )
