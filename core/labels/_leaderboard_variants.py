"""Further leaderboards: by subtopic as in TREC CAR, coverage by budget, and Nuggetizer's scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from ..bank import bank_for, label_graders
from ..choices import CURVE_K, MOST_CURVE_K, LeaderboardPer
from ..errors import InputError, check_in_range, check_known
from ..grouping import group_pairs, nest_triples
from ..measures import (
    COVER,
    NUGGETS_SUPPORTED,
    Answers,
    Measure,
    NuggetScores,
    answers_of,
    make_intent_evaluator,
    mean_nugget_scores,
    nugget_scores,
    parse_measure,
    system_score,
)
from ..records import check_runs, find_source, imported_leaderboards, pool_depth, ranking_scores
from ..store import Project, as_act
from ._basis import MISSING, Basis, basis, ratings as ratings_of
from ._coverage import (
    RANKED,
    Scores,
    coverage_by_rank,
    coverage_of_union,
    covered_sql,
    first_answers,
    whole_queries,
)
from ._grading_progress import without_waiting
from ._leaderboard import Leaderboard, counted_queries, order_systems
from ._leaderboard_making import board_without_lengths, leaderboard, score_runs
from ._policy import DEFAULT_POLICY, Policy, Skipped

Topics = dict[str, str]
"""Query id by topic id `query/subtopic`, in the order of the queries."""


@as_act("see boards")
def leaderboard_per(
    project: Project,
    measure: str,
    source: str = "exam",
    policy: Policy = DEFAULT_POLICY,
    per: LeaderboardPer = "query",
    with_ungraded: bool = False,
) -> Leaderboard:
    """Return a leaderboard whose mean is over queries, over subtopics and then queries, or over
    topics.

    Each (query, subtopic) is a topic, evaluated only by the questions of this subtopic. For a
    topic, a run's ranking for the query id `query/subtopic` is used, or else its ranking for the
    query.

    Questions without a subtopic are asked for every topic that is a query of the project. If a
    query has no such topics, these questions form a further topic with the query's id. A query
    without subtopics is one topic, too. In judgments, subtopics are recognized only by query ids
    `query/subtopic`.

    Args:
        measure, source, policy, with_ungraded: as for `leaderboard.leaderboard`.
        per: `query`: one score per query from all its questions. `subtopic`: the mean over a
            query's subtopics, then over queries (exam-plus-plus, section 5.1: CAR Y3 has 721
            query-subtopics in 131 queries). `topic`: the mean over all (query, subtopic) pairs.
            `union`: coverage of all questions of a query by the top k of all its topics together
            (exam-plus-plus, equation 1).

    Returns:
        The leaderboard; for `topic`, its scores are by topic id. An imported leaderboard is
        unchanged.

    Raises:
        InputError: unknown measure, source, grader, version or `per`, or nothing to score.
    """
    check_known("unknown-mean", "mean", get_args(LeaderboardPer), per)
    plain = leaderboard(project, measure, source, policy, with_ungraded)
    parsed = parse_measure(measure, policy.cutoff)
    if per == "union" and parsed.basis != "coverage":
        raise InputError(
            "measure-needs-order",
            f"Cannot compute {measure} with --per union: passages of different subtopics"
            " have no common order.",
            "Use EXAM-Cover, or --per query, subtopic or topic.",
        )
    if per == "query" or (
        source != "exam" and find_source(project, source) in dict(imported_leaderboards(project))
    ):
        return plain
    if source == "exam":
        if not parsed.by_query_alone:
            raise InputError(
                "measure-of-whole-queries",
                f"Cannot compute {parsed} by subtopic.",
                "Use EXAM-Cover or a measure of labels. Or use the mean over"
                " queries (--per query).",
            )
        base = basis(project, policy)
        if per == "union":
            return _union_board(project, plain, base, parsed.depth)
        known_topics = bank_topics(project, base)
        scores, scored = _exam_scores(project, parsed, base, known_topics)
        topics = {
            topic: query for topic, query in scored.items() if not {topic, query} & plain.left_out
        }
        ungraded = _ungraded_by_whole(project, plain.ungraded)
        if per == "topic":
            # The pairs of a topic that is not a query of the project are those of its query.
            waiting = {
                topic: plain.ungraded.get(topic) or plain.ungraded.get(query, 0)
                for topic, query in known_topics.items()
            }
            ungraded = {topic: pairs for topic, pairs in waiting.items() if pairs}
    else:
        scores, whole, ungraded = plain.per_query, whole_queries(project), {}
        topics = {topic: whole.get(topic, topic) for topic in plain.query_ids}
    scores = {run: scores.get(run, {}) for run in ranking_scores(project)}
    queries = list(topics)
    if per == "subtopic":
        scores = {
            run: mean_over_subtopics(by_topic, topics, policy.skipped)
            for run, by_topic in scores.items()
        }
        queries = list(dict.fromkeys(topics.values()))
    return replace(
        plain,
        systems=order_systems(scores, queries, policy),
        per_query=scores,
        query_ids=queries,
        ungraded=ungraded,
    )


def mean_over_subtopics(
    by_topic: Mapping[str, float], topics: Mapping[str, str], skipped: Skipped
) -> dict[str, float]:
    """Return one score per query: the mean over its topics.

    Args:
        by_topic: score by topic id; topics that the run skipped are absent.
        topics: query id by topic id.
        skipped: whether a skipped topic of a query counts 0 or is left out. A query without
            answered topics has no score.
    """
    sizes = Counter(topics.values())
    answered = group_pairs(
        (query, by_topic[topic]) for topic, query in topics.items() if topic in by_topic
    )
    return {
        query: math.fsum(values) / (sizes[query] if skipped == "zero" else len(values))
        for query, values in answered.items()
    }


def bank_topics(project: Project, base: Basis) -> Topics:
    """Return the topics of the bank's questions of positive weight."""
    rows = project.rows(
        "SELECT topic_id, query_id, bool_and(query_key IN (SELECT query_key FROM topics())) FROM "
        f"{_topic_questions(base)} WHERE $grader IS NOT NULL GROUP BY topic_id, query_id"
        " HAVING max(weight) > 0 ORDER BY min(query_key), min(question_key)",
        base.parameters,
    )
    # A query with topics asks its questions without a subtopic for these topics, and is not a topic
    # itself.
    return {
        topic: query for topic, query, has_topics in rows if not (has_topics and topic == query)
    }


def _topic_questions(base: Basis) -> str:
    """Return the bank with the topic of each question, as a subquery over $version.

    Its columns are the columns of `bank_for`, topic_id, and the query_id of the topic. For each
    query that asks a question, the question has one row per topic in which it counts.
    """
    return (
        "(SELECT b.*, unnest(CASE WHEN t.topic_key IS NOT NULL THEN [q.query_id]"
        "  WHEN r.subtopic_id IS NOT NULL THEN [q.query_id || '/' || r.subtopic_id]"
        "  ELSE list_prepend(q.query_id, coalesce(own.topic_ids, [])) END) AS topic_id,"
        " coalesce(parent.query_id, q.query_id) AS query_id"
        f" FROM {bank_for(base.grader.spec)} b JOIN queries q ON q.query_key = b.query_key"
        " LEFT JOIN bank_at($version) r ON r.question_key = b.question_key"
        " LEFT JOIN topics() t ON t.topic_key = b.query_key"
        " LEFT JOIN queries parent ON parent.query_key = t.query_key"
        " LEFT JOIN (SELECT s.query_key, list(k.query_id"
        " ORDER BY topic_key) AS topic_ids FROM topics() s"
        "  JOIN queries k ON k.query_key = topic_key"
        " GROUP BY s.query_key) own ON own.query_key = b.query_key)"
    )


def _exam_scores(
    project: Project, measure: Measure, base: Basis, topics: Topics
) -> tuple[Scores, Topics]:
    """Return score by topic by run, and those of the bank's topics that the mean is over."""
    if measure.basis == "coverage":
        return coverage_by_topic(project, base, measure.depth), topics
    # The run's ranking for the topic, or else for the topic's query.
    runs = {
        run: {
            topic: by_query[topic if topic in by_query else query]
            for topic, query in topics.items()
            if topic in by_query or query in by_query
        }
        for run, by_query in ranking_scores(project).items()
    }
    scores: Scores
    if measure.basis == "intents":
        intents = _topic_answers(project, base)
        evaluate = make_intent_evaluator(measure, intents)
        scores = {run: evaluate(ranking) for run, ranking in runs.items()}
        return scores, {topic: query for topic, query in topics.items() if topic in intents}
    qrels = topic_labels(project, base)
    scores = score_runs(runs, [measure.name], qrels, base.min_rating)[measure.name]
    return scores, {topic: query for topic, query in topics.items() if topic in qrels}


def coverage_by_topic(project: Project, base: Basis, cutoff: int) -> Scores:
    """Return EXAM-Cover@k of every run and topic, over the questions of the topic.

    Args:
        cutoff: k; the cutoff of the policy is ignored.
    """
    firsts = first_answers(
        base,
        RANKED,
        ("run_key", "query_key", "topic_id"),
        _topic_questions(base),
        ("query_key", "topic_id"),
    )
    # A run may have a ranking for the topic and one for its query. The topic's own ranking comes
    # last and replaces the other.
    return nest_triples(
        project.rows(
            f"SELECT name, topic_id, {covered_sql(base)} FROM {firsts} JOIN runs USING (run_key)"
            " JOIN queries USING (query_key) GROUP BY name, query_key, query_id, topic_id"
            " ORDER BY name, query_id = topic_id, query_key",
            base.parameters | {"cutoff": cutoff},
        )
    )


def _ungraded_by_whole(project: Project, ungraded: Mapping[str, int]) -> dict[str, int]:
    """Return numbers of ungraded pairs by query, with those of a query's topics."""
    whole = whole_queries(project)
    by_whole = group_pairs((whole[query], pairs) for query, pairs in ungraded.items())
    return {query: sum(pairs) for query, pairs in by_whole.items()}


def _union_board(project: Project, plain: Leaderboard, base: Basis, cutoff: int) -> Leaderboard:
    union = coverage_of_union(project, base, cutoff)
    # A query waits for grades if any of its topics does.
    waiting = _ungraded_by_whole(project, dict.fromkeys(plain.left_out, 1))
    query_ids = without_waiting(waiting, union.query_ids)
    scores = {
        run: {
            query: score for query, score in union.scores.get(run, {}).items() if query in query_ids
        }
        for run in ranking_scores(project)
    }
    return replace(
        plain,
        systems=order_systems(scores, query_ids, plain.policy),
        per_query=scores,
        query_ids=query_ids,
        needed=union.needed,
        usable=union.usable,
        ungraded=_ungraded_by_whole(project, plain.ungraded),
    )


def _rated_passages(base: Basis) -> str:
    """Return every rating of a pooled passage once per topic: topic_id, passage_id, question_key,
    weight, rating.
    """
    return (
        "SELECT DISTINCT topic_id, passage_id, question_key, weight, rating"
        f" FROM {ratings_of(base)} g JOIN {_topic_questions(base)} b"
        " ON b.text_key = g.question_text_key"
        " JOIN pool p ON p.query_key = b.query_key AND p.text_key = g.passage_text_key"
        " JOIN passages USING (passage_key)"
    )


def topic_labels(project: Project, base: Basis) -> dict[str, dict[str, int]]:
    """Return labels by topic id and passage id, computed only from the questions of the topic."""
    return nest_triples(
        project.rows(
            f"SELECT topic_id, passage_id, {base.label_sql} AS label"
            f" FROM ({_rated_passages(base)}) GROUP BY topic_id, passage_id"
            " HAVING label IS NOT NULL ORDER BY topic_id, passage_id",
            base.parameters,
        )
    )


def _topic_answers(project: Project, base: Basis) -> dict[str, Answers]:
    rated = project.table(
        "SELECT topic_id, passage_id, question_key::VARCHAR AS question, rating"
        f" FROM ({_rated_passages(base)}) WHERE weight > 0",
        base.parameters,
    ).to_pandas()
    answers = {}
    for topic, part in rated.groupby("topic_id"):
        ratings = part.pivot(index="passage_id", columns="question", values="rating")
        known = ratings.fillna(MISSING).to_numpy(np.int8)
        found = answers_of(ratings.index.tolist(), known, base.min_rating)
        if found is not None:
            answers[str(topic)] = found
    return answers


@dataclass(frozen=True)
class Curve:
    """Coverage of one run by number of passages read; `scores[k - 1]` is its EXAM-Cover@k."""

    run: str
    scores: list[float]
    std_errors: list[float | None]
    queries: int


@dataclass(frozen=True)
class CoverCurves:
    """Coverage of runs by budget.

    Args:
        curves: by run, in the order of their import or of the request.
        pool_depth: number of passages of each run in the pool. A deeper passage is graded only if
            it is in the pool for another reason, such as another run. So a flat curve there may
            rise with more grades.
        board: the leaderboard at the greatest depth, over the same queries.
    """

    curves: list[Curve]
    max_k: int
    pool_depth: int
    policy: Policy
    board: Leaderboard

    @property
    def queries_sentence(self) -> str:
        """The queries in the mean, as a sentence."""
        return f"{counted_queries(self.board.query_ids, self.board.ungraded).capitalize()}."

    def order(self, k: int) -> list[str]:
        """Return the runs by falling coverage at a rank depth, or at the greatest one if that is
        smaller.
        """
        at = min(k, self.max_k) - 1
        return [curve.run for curve in sorted(self.curves, key=lambda curve: -curve.scores[at])]

    def as_dict(self) -> dict[str, Any]:
        """Return the curves as plain values, as `--json` prints them."""
        return {
            "measure": COVER,
            "max_k": self.max_k,
            "pool_depth": self.pool_depth,
            "policy": self.policy.as_dict(),
            "curves": [vars(curve) for curve in self.curves],
        }


@as_act("see boards")
def cover_curves(
    project: Project,
    policy: Policy = DEFAULT_POLICY,
    max_k: int = CURVE_K,
    runs: Sequence[str] | None = None,
) -> CoverCurves:
    """Return EXAM-Cover@k of runs for every k up to a depth, with standard errors over queries.

    At each k the value equals the leaderboard's EXAM-Cover@k (exam-plus-plus, equation 1), over the
    queries without ungraded pairs down to `max_k`. Each question is looked up once, at the first
    rank that answers it.

    Args:
        policy: its cutoff is ignored.
        max_k: greatest rank depth, from 1.
        runs: names; None means all.

    Raises:
        InputError: a depth out of range, an unknown run, grader or version, or nothing to score.
    """
    check_in_range(
        "depth-out-of-range",
        f"Depth {max_k}",
        f"Use a number from 1 to {MOST_CURVE_K}.",
        1 <= max_k <= MOST_CURVE_K,
    )
    names = list(ranking_scores(project)) if runs is None else check_runs(project, runs)
    board = board_without_lengths(project, f"{COVER}@{max_k}", "exam", policy)
    queries, base = board.query_ids, basis(project, policy)
    by_run = coverage_by_rank(project, base, max_k)
    curves = []
    for run in names:
        known = by_run.get(run, {})
        points = [
            system_score(dict(zip(known, scores, strict=True)), queries, policy.skipped)
            for scores in np.array(list(known.values())).T.tolist() or [[]]
        ]
        # Below the lowest rank of any run, coverage does not change.
        points += points[-1:] * (max_k - len(points))
        scores = [score for score, _, _ in points if score is not None]
        # A run that answered none of the queries has no score if skipped queries are ignored.
        if len(scores) == max_k:
            curves.append(Curve(run, scores, [error for _, error, _ in points], points[0][2]))
    return CoverCurves(curves, max_k, project.read(pool_depth), base.policy, board)


@as_act("see boards")
def complete_curves(project: Project, policy: Policy, deepest: int) -> CoverCurves:
    """Return the curves of all runs down to the first of three depths at which enough queries are
    complete.

    The depths are `deepest`, the policy's cutoff and 10, if they are smaller. If all have too few
    complete queries, the curves end at `deepest`. See `Leaderboard.few_complete`.

    Raises:
        InputError: as `cover_curves`.
    """
    depths = [deepest, *(depth for depth in (policy.cutoff, 10) if depth < deepest)]
    found = (cover_curves(project, policy, depth) for depth in depths)
    enough = next((curves for curves in found if not curves.board.few_complete), None)
    return enough or cover_curves(project, policy, deepest)


VITAL = 1.0
"""The weight from which an active nugget counts as vital."""


@dataclass(frozen=True)
class NuggetBoardRow:
    """The mean scores of a run over its responses with assignments, and the numbers of responses
    and nuggets.
    """

    run: str
    queries: int
    nuggets: int
    scores: NuggetScores


@as_act("see boards")
def nugget_board(project: Project, policy: Policy) -> list[NuggetBoardRow]:
    """Return Nuggetizer's four scores of each run, the best `all` first.

    For each nugget, a response has the highest grade of its ranked passages, or the grade of a
    passage with the id RUN/QUERY. A nugget without a grade is left out of the response, like an
    unassigned nugget. Retired nuggets count, because Nuggetizer counts nuggets without a valid
    importance.

    Args:
        policy: names the grader. If it does not, the first grader with the scale of assignments is
            used; without such a grader the result is empty.

    Raises:
        InputError: the grader is unknown, its scale is not the scale of assignments, or it has not
            graded a response.
    """
    if policy.grader is None:
        named = [
            one.spec.name
            for one in label_graders(project)
            if one.spec.max_rating == NUGGETS_SUPPORTED
        ]
        if not named:
            return []
        policy = replace(policy, grader=named[0])
    base = basis(project, policy)
    spec = base.grader.spec
    if spec.max_rating != NUGGETS_SUPPORTED:
        raise InputError(
            "not-assignments",
            f"Grader {spec.name} rates from 0 to {spec.max_rating}, not from 0 to"
            f" {NUGGETS_SUPPORTED}.",
            "Choose a grader of imported assignments (--grader).",
        )
    assigned = project.rows(_ASSIGNED, {**base.parameters, "vital": VITAL})
    responses = group_pairs(
        ((run, query_id), (vital, rating)) for run, query_id, vital, rating in assigned
    )
    if not responses:
        raise InputError(
            "no-grades",
            f"Grader {spec.name} has not graded any responses.",
            "Choose another --grader.",
        )
    by_run = group_pairs((run, nuggets) for (run, _), nuggets in responses.items())
    rows = [
        NuggetBoardRow(
            run,
            len(of_run),
            sum(map(len, of_run)),
            mean_nugget_scores([nugget_scores(nuggets) for nuggets in of_run]),
        )
        for run, of_run in by_run.items()
    ]
    return sorted(rows, key=lambda row: -row.scores.all)


_ASSIGNED = (
    "SELECT name, query_id, any_value(active AND weight >= $vital), max(rating)"
    " FROM (SELECT run_key, query_key, passage_key FROM rankings"
    "  UNION SELECT run_key, query_key, passage_key FROM runs CROSS JOIN queries"
    "  JOIN passages ON passage_id = name || '/' || query_id)"
    " JOIN runs USING (run_key) JOIN queries USING (query_key) JOIN passages p USING (passage_key)"
    " JOIN questions USING (query_key) JOIN bank_at($version) r USING (question_key)"
    " JOIN grades g ON g.question_text_key = r.text_key AND g.passage_text_key = p.text_key"
    " AND grader_key = $grader GROUP BY run_key, name, query_key, query_id, question_key"
    " ORDER BY run_key, query_key, question_key"
)
