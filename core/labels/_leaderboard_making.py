"""Making leaderboards: a table maps each basis of a measure to its scoring function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..bank import how_to_grade, without_answered_by_topic
from ..errors import InputError
from ..measures import Measure, MeasureBasis, parse_measure
from ..records import Qrels, boards, find_source, judgments, lengths, rankings
from ..store import Project, as_act
from . import Basis, Policy, Scores, basis, coverage, label_pairs, label_qrels
from ._citation_support import citation_grader, support_board
from ._leaderboard import Leaderboard, System, order_systems, without_waiting
from ._measure_needs import pairs_needed, queries_with_questions
from ._normalised_coverage import Normalised, normalised_scores
from ._run_scores import intent_scores, judged_scores, label_scores, score_runs
from ._similarity_scores import similarity_scores


@as_act("see boards")
def leaderboard(
    project: Project,
    measure: str,
    source: str = "exam",
    policy: Policy | None = None,
    with_ungraded: bool = False,
) -> Leaderboard:
    """Order the systems by a measure.

    A query with ungraded pairs that the measure needs is left out of the mean, unless all queries have such pairs.

    Args:
        measure: any name that `measures.parse_measure` accepts. If it has no cutoff, the policy's cutoff is used. The
            measure is ignored for an imported leaderboard, which has its own measure.
        source: `exam` for labels and coverage from grades, or the name of a source of judgments (`judgments` for the
            first) or of an imported leaderboard.
        policy: the scoring settings; None means the default policy.
        with_ungraded: whether to include the queries with ungraded pairs.

    Raises:
        InputError: unknown measure, source, grader or version, or nothing to score.
    """
    policy = policy or Policy()
    return project.cached(
        ("leaderboard", measure, source, policy, with_ungraded),
        lambda: _leaderboard(project, measure, source, policy, with_ungraded),
    )


def _leaderboard(project: Project, measure: str, source: str, policy: Policy, with_ungraded: bool) -> Leaderboard:
    if source == "exam":
        return _board(project, parse_measure(measure, policy.cutoff), policy, with_ungraded)
    source = find_source(project, source)
    imported = dict(boards(project))
    if source in imported:
        return _imported_board(project, source, imported[source], policy)
    wanted = parse_measure(measure, policy.cutoff)
    if not wanted.takes_judgments:
        raise InputError(
            "measure-not-from-judgments",
            f"{wanted} cannot be computed from judgments.",
            "Use --source 'exam' or another measure.",
        )
    name = wanted.name
    qrels = judgments(project, source)
    per_query = _per_query(judged_scores(project, source, [name], policy.min_judgment), name)
    return Leaderboard(name, source, policy, order_systems(per_query, list(qrels), policy), per_query, list(qrels))


@dataclass(frozen=True)
class _Scored:
    """The scores of a measure by query by run, the queries that count, and the reference of a normalised measure."""

    per_query: Scores
    query_ids: list[str]
    share_of: Normalised | None = None


def _by_labels(project: Project, measure: Measure, base: Basis, waiting: Collection[str]) -> _Scored:
    scores = _per_query(label_scores(project, base, [measure.name]), measure.name)
    return _Scored(scores, without_waiting(waiting, without_answered_by_topic(project, label_qrels(project, base))))


def _by_intents(project: Project, measure: Measure, base: Basis, waiting: Collection[str]) -> _Scored:
    scores, queries = intent_scores(project, measure, base)
    return _Scored(scores, without_waiting(waiting, without_answered_by_topic(project, queries)))


def _by_coverage(project: Project, measure: Measure, base: Basis, waiting: Collection[str]) -> _Scored:
    scores = coverage(project, base, measure.depth)
    return _Scored(scores, without_waiting(waiting, queries_with_questions(project, base)))


def _by_share(project: Project, measure: Measure, base: Basis, waiting: Collection[str]) -> _Scored:
    found = normalised_scores(project, measure, base, queries_with_questions(project, base))
    counted = without_waiting(waiting, found.query_ids)
    if counted != found.query_ids:
        found = normalised_scores(project, measure, base, counted)
    return _Scored(found.per_query, found.query_ids, found)


SCORERS: Mapping[MeasureBasis, Callable[[Project, Measure, Basis, Collection[str]], _Scored]] = {
    "labels": _by_labels,
    "intents": _by_intents,
    "coverage": _by_coverage,
    "share of gold": _by_share,
    "share of pool": _by_share,
}
"""By basis of a measure, the function that computes its scores from grades."""


def _board(project: Project, measure: Measure, policy: Policy, with_ungraded: bool) -> Leaderboard:
    """Return the leaderboard of the runs; it includes runs without a score for any query."""
    if measure.basis == "citations":
        return support_board(project, measure, policy, citation_grader(project), with_ungraded=with_ungraded)
    pairs: dict[str, Any] = {}
    if measure.takes_grades:
        if not rankings(project):
            raise InputError("no-runs", "No runs to rank.", "Import runs: exam import runs FILE...")
        base = basis(project, policy)
        policy = base.policy
        if not label_pairs(project, base)[1]:
            raise InputError(
                "nothing-graded",
                "No pooled passage has been graded yet.",
                how_to_grade(project, base.grader.spec),
            )
        pairs = pairs_needed(project, base, measure)
        waiting = {} if with_ungraded or pairs["imported"] else pairs["ungraded"]
        found = SCORERS[measure.basis](project, measure, base, waiting)
    else:
        found = _Scored(*similarity_scores(project, measure))
    counted = set(found.query_ids)
    per_query = {
        run: {query: score for query, score in found.per_query.get(run, {}).items() if query in counted}
        for run in rankings(project)
    }
    systems = order_systems(per_query, found.query_ids, policy)
    source = "exam" if measure.takes_grades else "gold"
    board = Leaderboard(measure.name, source, policy, systems, per_query, found.query_ids, **pairs)
    # Longer texts raise coverage and likeness; with generated responses, length matters for every measure.
    if not measure.ranks_passages:
        board = replace(board, lengths=lengths(project, measure.depth))
    elif project.value("SELECT count(*) FROM responses"):
        board = replace(board, lengths=lengths(project, policy.cutoff))
    if found.share_of is None:
        return board
    reference = System(found.share_of.reference, 1.0, found.share_of.std_error, len(found.query_ids), 0)
    starred = frozenset(system.run for system in systems if found.share_of.within_error(system.score))
    return replace(board, reference=reference, starred=starred)


def label_board(project: Project, measure: str, policy: Policy, qrels: Qrels) -> Leaderboard:
    """Return a leaderboard from given labels instead of the policy's labels, for example with failed grades as 0.

    Args:
        measure: a measure of labels.
        qrels: labels on the grader's scale.

    Raises:
        InputError: the measure is unknown, or not a measure of labels.
    """
    wanted = parse_measure(measure, policy.cutoff)
    if not wanted.takes_judgments:
        raise InputError(
            "not-a-label-measure", f"{measure} is not a measure of labels.", "Use a measure such as nDCG@10 or P@10."
        )
    name, queries = wanted.name, list(qrels)
    policy = basis(project, policy).policy
    scores = _per_query(score_runs(rankings(project), [name], qrels, policy.min_rating), name)
    return Leaderboard(name, "exam", policy, order_systems(scores, queries, policy), scores, queries)


def _per_query(scores: Mapping[str, Mapping[str, Mapping[str, float]]], measure: str) -> Scores:
    return {run: dict(by_measure.get(measure, {})) for run, by_measure in scores.items()}


def _imported_board(project: Project, name: str, measure: str, policy: Policy) -> Leaderboard:
    rows = project.rows(
        "SELECT run, score, std_error FROM board_scores JOIN boards USING (board_key) WHERE name = ?"
        " ORDER BY score DESC, run",
        [name],
    )
    scores = [score for _, score, _ in rows]
    per_query: Scores = {}
    for run, query, score in project.rows(
        "SELECT run, query_id, score FROM board_query_scores JOIN boards USING (board_key) WHERE name = ?", [name]
    ):
        per_query.setdefault(run, {})[query] = score
    systems = [
        System(run, score, error, len(per_query.get(run, {})), 1 + scores.index(score)) for run, score, error in rows
    ]
    queries = list(dict.fromkeys(query for by_query in per_query.values() for query in by_query))
    return Leaderboard(measure, name, policy, systems, per_query, queries)
