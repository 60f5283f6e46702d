"""Citation support: how far the passages that responses cite support their sentences, by grader and
by people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..bank import StoredGrader, bank_for, find_grader, question_text_key, stored_graders
from ..errors import InputError, check_in_range, check_rules
from ..grouping import group_pairs, nest_triples
from ..measures import SUPPORT_RECALL, SUPPORTED_COVER, CrossTable, Measure, cross_table
from ..records import run_lengths, visible_rows
from ..store import Project, as_act, as_name, log_action
from ..text import clean_text
from ._basis import Basis, basis, ratings
from ._coverage import Scores, first_answers
from ._grading_progress import queries_with_questions, without_waiting
from ._leaderboard import Leaderboard, order_systems
from ._policy import Policy


@dataclass(frozen=True)
class Citation:
    """A citation of a sentence of a response.

    Args:
        passage_id, position: the passage of the response with the sentence, and the sentence's
            position in it, from 1.
        place: position of the citation in the sentence, from 1.
        text: text of the cited passage; None for an unresolved citation.
        rating: the grader's rating, on its scale; None without a rating.
        value, author: the newest value from a person that counts, from 0 to 2, and the name of the
            person; None without a value.
        own: the value from the person who requested the list.
        state: known, ungraded, failed, or unresolved.
    """

    run: str
    query_id: str
    passage_id: str
    position: int
    sentence: str
    place: int
    cited_id: str
    text: str | None
    rating: int | None
    value: int | None
    author: str | None
    own: int | None
    state: str


@dataclass(frozen=True)
class ResponseSupport:
    """Citation support of one response.

    Args:
        recall: mean over the sentences of the greatest weight among a sentence's citations. A
            sentence without citations counts 0. A sentence whose citations all lack a value is left
            out.
        precision: mean weight of the citations with a value; None without such citations.
        unresolved, ungraded, failed: numbers of citations without a value, by the reason.
    """

    run: str
    query_id: str
    sentences: int
    citations: int
    unresolved: int
    ungraded: int
    failed: int
    recall: float | None
    precision: float | None


def citation_grader(project: Project, name: str | None = None) -> StoredGrader | None:
    """Return a grader of citations.

    Args:
        name: name of the grader. None selects a model that reads texts, or else the embedding
            grader.

    Returns:
        None if `name` is None and no citation has been graded.

    Raises:
        InputError: the grader is unknown, or does not rate citations.
    """
    if name is None:
        known = [one for one in stored_graders(project) if one.spec.rates_citations and one.grades]
        return min(known, key=lambda one: (one.spec.method, -one.grades), default=None)
    grader = find_grader(project, name)
    if not grader.spec.rates_citations:
        raise InputError(
            "not-a-grader-of-citations",
            f"Grader '{grader.spec.name}' does not rate citations.",
            "Grade the citations: exam grade --grader support-embedding",
        )
    return grader


def _rated_citations(overrides: bool, most: int | None) -> str:
    """Return SQL for every citation with its rating, value, weight from 0 to 1, and state.

    Its parameters are $support (grader key) and $top (highest rating of the grader).

    Args:
        most: number of citations of a sentence that count; None for all.
    """
    weight = "coalesce(value / 2e0, rating / $top)" if overrides else "rating / $top"
    keys = "question_text_key = sentence_key AND {0}.passage_text_key = cited_key"
    return (
        f"(SELECT *, {weight} AS weight, CASE WHEN cited_key IS NULL THEN 'unresolved'"
        f" WHEN {weight} IS NOT NULL"
        "  THEN 'known' WHEN fails IS NULL THEN 'ungraded' ELSE 'failed' END AS state FROM"
        f" (SELECT c.*, g.rating, v.value, v.author, f.fails FROM cited c"
        f" LEFT JOIN (FROM grades WHERE grader_key = $support) g ON g.{keys.format('g')}"
        f" LEFT JOIN current_support v ON v.{keys.format('v')}"
        " LEFT JOIN (SELECT question_text_key, passage_text_key, true AS fails FROM failures"
        f"  WHERE grader_key = $support GROUP BY ALL) f ON f.{keys.format('f')}"
        f" WHERE {'true' if most is None else f'place <= {most:d}'}))"
    )


def _grader_parameters(grader: StoredGrader | None) -> dict[str, Any]:
    return (
        {"support": -1, "top": 1}
        if grader is None
        else {"support": grader.key, "top": grader.spec.max_rating}
    )


@as_act("read the bank")
def list_citations(
    project: Project,
    grader: StoredGrader | None,
    run: str | None = None,
    query_id: str | None = None,
    author: str = "",
    limit: int = 1000,
    offset: int = 0,
) -> list[Citation]:
    """Return the citations of responses, in their order.

    Args:
        run, query_id: restrict the result to these responses; None for all.
        author: the person whose own values are included.
    """
    rows = project.rows(
        "SELECT run, query_id, o.passage_id, position, sentence, place, cited_id, t.text, rating,"
        " r.value, r.author,"
        f" p.value, state FROM {_rated_citations(True, None)} r JOIN passages o USING (passage_key)"
        " JOIN queries USING (query_key) LEFT JOIN passage_texts t ON t.text_key = cited_key"
        " LEFT JOIN personal_support p ON p.question_text_key = sentence_key"
        " AND p.passage_text_key = cited_key"
        " AND p.author = $author WHERE ($run IS NULL OR run = $run) AND ($query IS NULL"
        " OR query_id = $query)"
        " ORDER BY run_key, query_key, rank, position, place LIMIT $limit OFFSET $offset",
        _grader_parameters(grader)
        | {"run": run, "query": query_id, "author": author, "limit": limit, "offset": offset},
    )
    return [Citation(*row) for row in rows]


@as_act("see boards")
def response_support(
    project: Project, grader: StoredGrader | None, overrides: bool = True, most: int | None = None
) -> list[ResponseSupport]:
    """Return the citation support of every response.

    Args:
        overrides: whether people's values replace the grader's ratings.
        most: number of citations of a sentence that count, as 1 in TREC RAG 2024; None for all.
    """
    states = ("unresolved", "ungraded", "failed")
    counts = ", ".join(f"count(*) FILTER (state = '{state}') AS {state}" for state in states)
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in ("cites", *states))
    of = "run_key, query_key, passage_key, position"
    rows = project.rows(
        f"SELECT run, query_id, count(*), {sums}, avg(CASE WHEN len(citations) = 0 THEN 0 ELSE best"
        " END), sum(total) / nullif(sum(known), 0) FROM sentences JOIN queries USING (query_key)"
        f" LEFT JOIN (SELECT {of}, max(weight) AS best, sum(weight) AS total,"
        " count(weight) AS known,"
        f"  count(*) AS cites, {counts} FROM {_rated_citations(overrides, most)} GROUP BY ALL)"
        f" USING ({of}) GROUP BY run_key, run, query_key, query_id ORDER BY run_key, query_key",
        _grader_parameters(grader),
    )
    return [ResponseSupport(*row) for row in rows]


def support_board(
    project: Project,
    measure: Measure,
    policy: Policy,
    grader: StoredGrader | None,
    least: float = 1.0,
    with_ungraded: bool = False,
) -> Leaderboard:
    """Order the systems by a measure of citation support.

    Recall and precision are means over the responses of a system. Queries that lack a rating are
    left out, unless all do. Supported coverage is a mean over the queries with questions; those
    that lack a rating are always left out.

    Args:
        measure: its cutoff is the number of citations of a sentence that count.
        policy: for supported coverage, with the grader of the questions.
        grader: of the citations.
        least: the weight from which a citation supports its sentence in supported coverage.
        with_ungraded: include the queries that lack a rating in recall and precision.

    Raises:
        InputError: no responses, or for supported coverage nothing is graded.
    """
    responses = response_support(project, grader, policy.overrides, measure.cutoff)
    if not responses:
        raise InputError(
            "no-responses", "No responses yet.", "Import responses: exam import responses FILE..."
        )
    resolved = sum(response.citations - response.unresolved for response in responses)
    usable = resolved - sum(response.ungraded + response.failed for response in responses)
    if measure.family.name == SUPPORTED_COVER:
        base = basis(project, policy)
        policy = base.policy
        rows = supported_coverage(project, base, grader, measure.cutoff, least)
        # A query without a score would count as skipped, that is 0.
        unknown = {query_id for _, query_id, score, _ in rows if score is None}
        queries = [
            query_id
            for query_id in queries_with_questions(project, base)
            if query_id not in unknown
        ]
    else:
        policy, queries = (
            replace(policy, skipped="ignore"),
            list(dict.fromkeys(response.query_id for response in responses)),
        )
        by_recall = measure.family.name == SUPPORT_RECALL
        rows = [
            (
                response.run,
                response.query_id,
                response.recall if by_recall else response.precision,
                response.ungraded,
            )
            for response in responses
        ]
    waiting = group_pairs((query_id, pairs) for _, query_id, _, pairs in rows if pairs)
    ungraded = {query_id: sum(pairs) for query_id, pairs in waiting.items()}
    counted = without_waiting([] if with_ungraded else ungraded, queries)
    scores_by_run = nest_triples(
        (run, query_id, score)
        for run, query_id, score, _ in rows
        if score is not None and query_id in counted
    )
    scores: Scores = {response.run: scores_by_run.get(response.run, {}) for response in responses}
    return Leaderboard(
        measure.name,
        "citations",
        policy,
        order_systems(scores, counted, policy),
        scores,
        counted,
        resolved,
        usable,
        ungraded,
        lengths=run_lengths(project, measure.depth),
    )


def supported_coverage(
    project: Project, base: Basis, grader: StoredGrader | None, most: int | None, least: float
) -> list[tuple[str, str, float | None, int]]:
    """Return the share of the questions of each query that a supported sentence of a response
    answers.

    A question counts if a sentence that answers it cites a passage with a weight of at least
    `least`. The grader's rating of the sentence tells whether the sentence answers it. Without such
    a rating, the sentence has to contain the answer that the grader extracted from its passage. An
    answered "avoid" question counts without support.

    A question is left out if that depends on a citation without text or on a failed pair.

    Returns:
        Run, query id, share, and number of questions that depend on ungraded pairs. The share is
        None if there are any.
    """
    of = "run_key, query_key, text_key"
    answers = first_answers(
        base, f"SELECT DISTINCT {of}, rank FROM sentences", ("run_key", "query_key", "t.text_key")
    )
    # Marks: 0 no, 1 never known, 2 not graded yet, 3 yes. A sentence has the lesser one of its
    # answer and its support, and a question has the greatest one of its sentences.
    support = (
        "CASE WHEN weight >= $least THEN 3 WHEN weight IS NOT NULL OR state IS NULL THEN 0"
        " WHEN state = 'ungraded' THEN 2 ELSE 1 END"
    )
    answer = (
        "CASE WHEN g.rating IS NOT NULL THEN 3 * (g.rating >= $least_rating)::INTEGER"
        " WHEN bool_or(named) OVER (PARTITION BY run_key, query_key, question_key, text_key) THEN 3"
        " * named::INTEGER WHEN fails THEN 1 ELSE 2 END"
    )
    return project.rows(
        f"WITH supported AS (SELECT {of}, sentence, any_value(own_key) AS own_key,"
        f" max({support}) AS support"
        "  FROM (FROM sentences"
        " LEFT JOIN (SELECT run_key, query_key, passage_key, position, weight, state FROM"
        f"   {_rated_citations(base.policy.overrides, most)})"
        " USING (run_key, query_key, passage_key, position)) s"
        "  LEFT JOIN (SELECT text AS sentence, text_key AS own_key"
        " FROM passage_texts) USING (sentence)"
        f"  GROUP BY {of}, position, sentence), answered AS (SELECT f.*, s.support, s.own_key,"
        " b.asked_key, coalesce(contains(s.sentence, a.answer)"
        "   OR contains(a.answer, s.sentence), false) AS named"
        f" FROM (FROM {answers} WHERE first IS NOT NULL) f"
        "  JOIN (SELECT query_key, question_key, text_key AS asked_key"
        f" FROM {bank_for(base.grader.spec)}) b"
        f"   USING (query_key, question_key) JOIN supported s USING ({of})"
        " LEFT JOIN grades a ON a.grader_key = $grader"
        "   AND a.question_text_key = asked_key AND a.passage_text_key = f.text_key),"
        f" marked AS (SELECT a.*, CASE WHEN w < 0 THEN 3 ELSE least(support, {answer}) END AS mark"
        " FROM answered a"
        f"  LEFT JOIN {ratings(base)} g ON g.question_text_key = asked_key"
        " AND g.passage_text_key = own_key"
        "  LEFT JOIN (SELECT DISTINCT question_text_key, passage_text_key, true AS fails"
        " FROM failures"
        "   WHERE grader_key = $grader) x ON x.question_text_key = asked_key"
        " AND x.passage_text_key = own_key), asked AS (SELECT run_key, query_key,"
        " any_value(w) AS w, any_value(total) AS total, max(mark) AS mark"
        "  FROM marked GROUP BY run_key, query_key, question_key),"
        " sums AS (SELECT run_key, query_key, coalesce(sum(w) FILTER (mark = 3), 0) AS counts,"
        "  any_value(total) - coalesce(sum(w) FILTER (mark = 1), 0) AS whole, count(*)"
        " FILTER (mark = 2) AS open"
        "  FROM asked GROUP BY ALL)"
        " SELECT run, query_id, CASE WHEN whole IS NULL THEN 0 WHEN open = 0 AND whole > 0"
        "  THEN greatest(0, counts / whole) END, CASE WHEN whole <= 0 THEN 1 ELSE coalesce(open, 0)"
        " END FROM (SELECT DISTINCT run_key, run, query_key FROM sentences) LEFT JOIN sums"
        " USING (run_key, query_key) JOIN queries USING (query_key) ORDER BY run_key, query_key",
        base.parameters
        | _grader_parameters(grader)
        | {"least": least, "least_rating": base.min_rating},
    )


@as_act("see boards")
def support_agreement(project: Project, grader: StoredGrader) -> dict[str, CrossTable]:
    """Return cross tables by person: the grader's ratings, on the scale 0 to 2, by the person's
    values.

    Values that the reader may not see yet are left out: see `records.visible_rows`.
    """
    pairs = group_pairs(
        (author, (rating, value))
        for author, rating, value in project.rows(
            "SELECT author, round(2e0 * rating / $top)::INTEGER, value FROM personal_support"
            " JOIN grades USING (question_text_key, passage_text_key)"
            " WHERE grader_key = $support AND support_value_key IN (SELECT support_value_key"
            f" FROM {visible_rows(project, 'support_values')}) ORDER BY author",
            _grader_parameters(grader),
        )
    )
    scale = range(3)
    return {
        author: cross_table(
            [rating for rating, _ in given], [value for _, value in given], scale, scale
        )
        for author, given in pairs.items()
    }


SUPPORT = {0: "no support", 1: "partial support", 2: "full support"}
"""The scale, in words."""


def set_support(
    project: Project,
    passage_id: str,
    position: int,
    cited_id: str,
    value: int | None,
    author: str,
    reason: str = "",
) -> None:
    """Set a person's value for a citation, or withdraw it. It counts for every sentence and passage
    of the same texts.

    Args:
        passage_id: the passage of the response with the sentence.
        position: position of the sentence in this passage, from 1.
        cited_id: a passage that the sentence cites.
        value: a key of `SUPPORT`; None withdraws the person's value.

    Raises:
        InputError: the value is out of range, the citation is unknown or its text is missing, or
            the person has no value to withdraw.
    """
    check_in_range(
        "value-out-of-range", f"Value {value}", "Use 0, 1 or 2.", value is None or value in SUPPORT
    )
    rows = project.rows(
        "SELECT query_id, sentence, cited_key, s.value FROM cited JOIN passages USING (passage_key)"
        " JOIN queries USING (query_key) LEFT JOIN personal_support s"
        " ON s.question_text_key = sentence_key"
        " AND s.passage_text_key = cited_key AND s.author = $author"
        " WHERE passage_id = $passage AND position = $position AND cited_id = $cited",
        {"passage": passage_id, "position": position, "cited": cited_id, "author": as_name(author)},
    )
    if not rows:
        raise InputError(
            "unknown-citation",
            f"Sentence {position} of '{passage_id}' does not cite '{cited_id}'.",
            "See exam support list.",
        )
    query_id, sentence, cited_key, sentence_key = rows[0]
    check_rules(
        (
            cited_key is None,
            InputError(
                "no-text",
                f"Passage '{cited_id}' has no text.",
                "Import texts: exam import passages.",
            ),
        ),
        (
            value is None and sentence_key is None,
            InputError(
                "no-value-to-remove",
                f"You have no value for '{cited_id}'.",
                "See exam support list.",
            ),
        ),
    )
    with project.transaction(act="override ratings", queries=[query_id], author=author) as cursor:
        cursor.execute(
            "INSERT INTO support_values VALUES (nextval('keys'), ?, ?, ?, ?, ?, now()::TIMESTAMP)",
            [
                question_text_key(cursor, sentence),
                cited_key,
                value,
                clean_text(reason).strip(),
                as_name(author),
            ],
        )
        act = "remove support" if value is None else "set support"
        log_action(
            cursor,
            author,
            act,
            query=query_id,
            passage=passage_id,
            sentence=position,
            cited=cited_id,
            value=value,
        )
