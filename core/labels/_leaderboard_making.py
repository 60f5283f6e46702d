"""Making leaderboards: scores of all runs by query, and a table of scoring functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..bank import how_to_grade, without_answered_by_topic
from ..errors import InputError
from ..grouping import group_pairs, nest_triples
from ..measures import (
    SIMILARITIES,
    Answers,
    Array,
    Measure,
    MeasureBasis,
    bars_overlap,
    make_evaluator,
    make_intent_evaluator,
    parse_measure,
    trec_order,
)
from ..records import (
    Qrels,
    Runs,
    find_source,
    gold_texts,
    imported_leaderboards,
    ranking_scores,
    run_lengths,
    source_judgments,
)
from ..store import Project, as_act, by_query, cache, cached
from ._basis import Basis, basis
from ._citation_support import citation_grader, support_board
from ._coverage import NormalisedResult, Scores, coverage_scores, normalised_coverage
from ._grading_progress import pairs_needed, queries_with_questions, without_waiting
from ._labels import from_answers, label_pairs, label_qrels
from ._leaderboard import Leaderboard, System, order_systems
from ._policy import DEFAULT_POLICY, Policy

ScoresByMeasure = dict[str, Scores]
"""Score by query by run by measure."""


def score_runs(
    runs: Runs, measures: Sequence[str], qrels: Qrels, threshold: int
) -> ScoresByMeasure:
    """Return the scores of runs by several measures on qrels.

    Args:
        runs: as `ranking_scores` returns them.
        measures: standard names of measures of labels.
        threshold: the value from which a passage is relevant in binary measures.

    Returns:
        Score by query by run by measure; queries that a run skipped are absent.

    Raises:
        InputError: a measure is unknown.
    """
    evaluator = make_evaluator(measures, qrels, threshold)
    found = {run: evaluator(ranking) for run, ranking in runs.items()}
    return {name: {run: scores[name] for run, scores in found.items()} for name in measures}


def label_scores(project: Project, base: Basis, measures: Sequence[str]) -> ScoresByMeasure:
    """Return the scores of all runs on the labels. After a change, only queries with changed labels
    are scored again.

    Args:
        measures: standard names of measures of labels.

    Returns:
        As `score_runs`.

    Raises:
        InputError: a measure is unknown.
    """
    runs, qrels, names = ranking_scores(project), label_qrels(project, base), tuple(measures)
    answering = group_pairs((query, run) for run, by in runs.items() for query in by)

    def score_queries(queries: Sequence[str]) -> dict[str, Array]:
        some = {
            run: {query: by[query] for query in queries if query in by} for run, by in runs.items()
        }
        scored = score_runs(
            some, names, {query: qrels[query] for query in queries}, base.min_rating
        )
        return {
            query: np.array(
                [[scored[name][run][query] for run in answering.get(query, ())] for name in names]
            )
            for query in queries
        }

    # Labels are not changed once they are made; unchanged labels are the same object.
    marks = {query: _IdentityKey(labels) for query, labels in qrels.items()}
    threshold = _threshold_of(names, base.min_rating)
    key = ("scores", names, *base.rated, base.policy.label, base.policy.weighted, threshold)
    by_measure: ScoresByMeasure = {name: {run: {} for run in runs} for name in names}
    for query, scores in by_query(project, key, marks, score_queries, (runs,)).items():
        for by_run, of_measure in zip(by_measure.values(), scores.tolist(), strict=True):
            for run, score in zip(answering.get(query, ()), of_measure, strict=True):
                by_run[run][query] = score
    return by_measure


def judged_scores(
    project: Project, source: str, measures: Sequence[str], min_judgment: int
) -> ScoresByMeasure:
    """Return the scores of all runs on judgments. They stay cached while people rate questions.

    Args:
        source: name of the source of judgments, as `project.find_source` returns it.
        measures: standard names of measures of labels.
        min_judgment: the judgment from which a passage is relevant.

    Returns, raises: as `score_runs`.
    """
    return project.cached(
        ("judged", source, tuple(measures), _threshold_of(measures, min_judgment)),
        lambda: score_runs(
            ranking_scores(project), measures, source_judgments(project, source), min_judgment
        ),
        cache.COLLECTION | cache.JUDGMENTS,
    )


def _threshold_of(measures: Sequence[str], threshold: int) -> int | None:
    """Return a threshold of relevance for a cache key; None if no measure depends on it."""
    is_binary = any(parse_measure(name).family.binary for name in measures)
    return threshold if is_binary else None


class _IdentityKey:
    """A cache key for an object; two keys are equal if they contain the same object."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


def intent_scores(project: Project, measure: Measure, base: Basis) -> tuple[Scores, list[str]]:
    """Return the scores of all runs by an intent measure, cached by query like `label_scores`.

    Returns:
        Score by query by run, and the queries with ratings, in the order of the project.
    """
    runs, ranked = ranking_scores(project), _top_passages(project, measure.depth)

    def score_answers(answers: Mapping[str, Answers]) -> dict[str, Array]:
        evaluator = make_intent_evaluator(measure, answers)
        return {
            query: np.array(evaluator.score_tops(query, list(ranked.get(query, {}).values())))
            for query in answers
        }

    parts = from_answers(project, base, measure.name, score_answers, (runs,))
    scores: Scores = {run: {} for run in runs}
    for query, of_query in parts.items():
        for run, score in zip(ranked.get(query, ()), of_query.tolist(), strict=True):
            scores[run][query] = score
    return scores, list(parts)


@cached(cache.COLLECTION)
def _top_passages(project: Project, depth: int) -> dict[str, dict[str, list[str]]]:
    """Return the top passages by query and run. They are cached by depth alone, so all min ratings
    share them.
    """
    answered = (
        (query, run, scores)
        for run, by in ranking_scores(project).items()
        for query, scores in by.items()
    )
    return nest_triples((query, run, trec_order(scores, depth)) for query, run, scores in answered)


def similarity_scores(project: Project, measure: Measure) -> tuple[Scores, list[str]]:
    """Return the similarity of each run's top passages, joined into one text, to the gold text.

    Args:
        measure: a measure of likeness; its cutoff is the number of top passages.

    Returns:
        Score by query by run, and the queries with a gold text. A query that a run skipped is
        absent from its scores.

    Raises:
        InputError: gold texts are missing.
    """
    similarity, cutoff = SIMILARITIES[measure.family.name], measure.depth
    gold = {query_id: similarity.prepare(text) for query_id, text in gold_texts(project).items()}
    if not gold:
        raise InputError(
            "no-gold-texts",
            "No gold passages to compare with.",
            "Import them (exam import responses --gold FILE) or mark a run (exam gold RUN).",
        )

    def compute() -> Scores:
        score = similarity.scorer()
        rows = project.rows(
            "SELECT text_key, text FROM passage_texts SEMI JOIN (SELECT text_key FROM rankings"
            " JOIN passages USING (passage_key) WHERE rank <= ?) USING (text_key)",
            [cutoff],
        )
        texts = {key: similarity.prepare(text) for key, text in rows}
        tops = project.rows(
            "SELECT name, query_id, list(text_key ORDER BY rank) FILTER (text_key IS NOT NULL)"
            " FROM rankings JOIN passages USING (passage_key) JOIN runs USING (run_key)"
            " JOIN queries USING (query_key) WHERE rank <= ?"
            " GROUP BY run_key, name, query_key, query_id ORDER BY run_key, query_key",
            [cutoff],
        )
        answered = (
            (run, query, " ".join(map(texts.__getitem__, keys or []))) for run, query, keys in tops
        )
        return nest_triples(
            (run, query, score(text, gold[query])) for run, query, text in answered if query in gold
        )

    return project.cached(measure.name, compute, cache.COLLECTION), list(gold)


@as_act("see boards")
def leaderboard(
    project: Project,
    measure: str,
    source: str = "exam",
    policy: Policy = DEFAULT_POLICY,
    with_ungraded: bool = False,
) -> Leaderboard:
    """Order the systems by a measure.

    A query with ungraded pairs that the measure needs is left out of the mean, unless all queries
    have such pairs.

    Args:
        measure: any name that `measures.parse_measure` accepts. If it has no cutoff, the policy's
            cutoff is used. The measure is ignored for an imported leaderboard, which has its own
            measure.
        source: `exam` for labels and coverage from grades, or the name of a source of judgments
            (`judgments` for the first) or of an imported leaderboard.
        policy: the scoring settings.
        with_ungraded: whether to include the queries with ungraded pairs.

    Raises:
        InputError: unknown measure, source, grader or version, or nothing to score.
    """
    make = partial(
        _from_grades if source == "exam" else _from_source,
        project,
        measure,
        source,
        policy,
        with_ungraded,
    )
    return project.cached(("leaderboard", measure, source, policy, with_ungraded), make)


def _from_source(
    project: Project, measure: str, source: str, policy: Policy, with_ungraded: bool
) -> Leaderboard:
    source = find_source(project, source)
    imported = dict(imported_leaderboards(project))
    if source in imported:
        return _imported_board(project, source, imported[source], policy)
    parsed = parse_measure(measure, policy.cutoff)
    if not parsed.takes_judgments:
        raise InputError(
            "measure-not-from-judgments",
            f"{parsed} cannot be computed from judgments.",
            "Use --source 'exam' or another measure.",
        )
    name = parsed.name
    qrels = source_judgments(project, source)
    per_query = judged_scores(project, source, [name], policy.min_judgment)[name]
    return Leaderboard(
        name, source, policy, order_systems(per_query, list(qrels), policy), per_query, list(qrels)
    )


def _by_labels(project: Project, measure: Measure, base: Basis) -> tuple[Scores, list[str]]:
    scores = label_scores(project, base, [measure.name])[measure.name]
    return scores, without_answered_by_topic(project, label_qrels(project, base))


def _by_intents(project: Project, measure: Measure, base: Basis) -> tuple[Scores, list[str]]:
    scores, queries = intent_scores(project, measure, base)
    return scores, without_answered_by_topic(project, queries)


def _by_coverage(project: Project, measure: Measure, base: Basis) -> tuple[Scores, list[str]]:
    return coverage_scores(project, base, measure.depth), queries_with_questions(project, base)


SCORERS: Mapping[MeasureBasis, Callable[[Project, Measure, Basis], tuple[Scores, list[str]]]] = {
    "labels": _by_labels,
    "intents": _by_intents,
    "coverage": _by_coverage,
    "share of gold": _by_coverage,
    "share of pool": _by_coverage,
}
"""By basis of a measure, the function that returns its scores from grades, and the queries with
anything to score. A share is coverage that `normalised_coverage` divides."""


def _from_grades(
    project: Project, measure: str, source: str, policy: Policy, with_ungraded: bool
) -> Leaderboard:
    board = board_without_lengths(project, measure, source, policy, with_ungraded)
    parsed = parse_measure(measure, policy.cutoff)
    # Longer texts raise coverage and likeness; with generated responses, length matters for every
    # measure.
    if not parsed.ranks_passages:
        return replace(board, lengths=run_lengths(project, parsed.depth))
    if project.value("SELECT count(*) FROM responses"):
        return replace(board, lengths=run_lengths(project, policy.cutoff))
    return board


def board_without_lengths(
    project: Project, measure: str, source: str, policy: Policy, with_ungraded: bool = False
) -> Leaderboard:
    """Return the leaderboard of the runs, without the lengths of their texts, which take most of
    the time. It includes runs without a score for any query.
    """
    parsed = parse_measure(measure, policy.cutoff)
    if parsed.basis == "citations":
        return support_board(
            project, parsed, policy, citation_grader(project), with_ungraded=with_ungraded
        )
    pairs: dict[str, Any] = {}
    share_of: NormalisedResult | None = None
    if parsed.takes_grades:
        if not ranking_scores(project):
            raise InputError("no-runs", "No runs to rank.", "Import runs: exam import runs FILE...")
        base = basis(project, policy)
        policy = base.policy
        if not label_pairs(project, base)[1]:
            raise InputError(
                "nothing-graded",
                "No pooled passage has been graded yet.",
                how_to_grade(project, base.grader.spec),
            )
        pairs = pairs_needed(project, base, parsed)
        waiting = {} if with_ungraded or pairs["imported"] else pairs["ungraded"]
        scores, queries = SCORERS[parsed.basis](project, parsed, base)
        if parsed.basis in ("share of gold", "share of pool"):
            share_of = normalised_coverage(project, parsed, base, scores, queries, waiting)
            scores, queries = share_of.per_query, share_of.query_ids
        queries = without_waiting(waiting, queries)
    else:
        source = "gold"
        scores, queries = similarity_scores(project, parsed)
    counted = set(queries)
    per_query = {
        run: {query: score for query, score in scores.get(run, {}).items() if query in counted}
        for run in ranking_scores(project)
    }
    systems = order_systems(per_query, queries, policy)
    board = Leaderboard(parsed.name, source, policy, systems, per_query, queries, **pairs)
    if share_of is None:
        return board
    reference = System(share_of.reference, 1.0, share_of.std_error, len(queries), 0)
    # Within the standard error of the reference (original-exam, table 4).
    starred = frozenset(
        system.run
        for system in systems
        if bars_overlap(system.score, None, 1.0, reference.std_error)
    )
    return replace(
        board,
        reference=reference,
        coverage=share_of.coverage,
        reference_coverage=share_of.reference_coverage,
        starred=starred,
    )


def label_board(project: Project, measure: str, policy: Policy, qrels: Qrels) -> Leaderboard:
    """Return a leaderboard from given labels instead of the policy's labels, for example with
    failed grades as 0.

    Args:
        measure: a measure of labels.
        qrels: labels on the grader's scale.

    Raises:
        InputError: the measure is unknown, or not a measure of labels.
    """
    parsed = parse_measure(measure, policy.cutoff)
    if not parsed.takes_judgments:
        raise InputError(
            "not-a-label-measure",
            f"{measure} is not a measure of labels.",
            "Use a measure such as nDCG@10 or P@10.",
        )
    name, queries = parsed.name, without_answered_by_topic(project, qrels)
    base = basis(project, policy)
    policy, pairs = base.policy, pairs_needed(project, base, parsed)
    scores = score_runs(ranking_scores(project), [name], qrels, base.min_rating)[name]
    systems = order_systems(scores, queries, policy)
    return Leaderboard(name, "exam", policy, systems, scores, queries, **pairs)


def _imported_board(project: Project, name: str, measure: str, policy: Policy) -> Leaderboard:
    rows = project.rows(
        "SELECT run, score, std_error FROM board_scores JOIN boards USING (board_key)"
        " WHERE name = ? ORDER BY score DESC, run",
        [name],
    )
    scores = [score for _, score, _ in rows]
    per_query: Scores = nest_triples(
        project.rows(
            "SELECT run, query_id, score FROM board_query_scores"
            " JOIN boards USING (board_key) WHERE name = ?",
            [name],
        )
    )
    systems = [
        System(run, score, error, len(per_query.get(run, {})), 1 + scores.index(score))
        for run, score, error in rows
    ]
    queries = list(dict.fromkeys(query for by_query in per_query.values() for query in by_query))
    return Leaderboard(measure, name, policy, systems, per_query, queries)
