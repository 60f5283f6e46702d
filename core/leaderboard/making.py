"""Making leaderboards: one table says how each basis of a measure is scored, and the rest is order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.bank import bank_for, without_answered_by_topic
from core.catalogue import how_to_grade
from core.errors import InputError
from core.labels import Basis, Intents, Policy, Scores, basis, coverage, from_answers, label_pairs, label_qrels
from core.leaderboard.board import Leaderboard, System, order_systems
from core.leaderboard.likeness import similarity_scores
from core.leaderboard.normalised import Normalised, normalised_scores
from core.measures import Measure, MeasureBasis, make_evaluator, make_intent_evaluator, parse_measure
from core.project import (
    OVERRIDING,
    RATED_BY_HAND,
    Project,
    Qrels,
    Runs,
    as_act,
    boards,
    by_query,
    find_source,
    judgments,
    lengths,
    pool_mark,
    rankings,
)


def score_runs(
    runs: Runs, measures: Sequence[str], qrels: Qrels, threshold: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Measures of runs on qrels.

    Args:
        runs: as `rankings` gives them.
        threshold: the value from which a passage is relevant in binary measures.

    Returns:
        Score by query by measure by run; queries that a run skipped are not there.

    Raises:
        InputError: a measure is unknown.
    """
    evaluator = make_evaluator(measures, qrels, threshold)
    return {run: evaluator(ranking) for run, ranking in runs.items()}


@as_act("see boards")
def leaderboard(project: Project, measure: str, source: str = "exam", policy: Policy | None = None) -> Leaderboard:
    """Order the systems by a measure.

    Args:
        measure: any name that `core.measures.parse_measure` takes; without a cutoff, that of the policy is meant where
            the measure has one. Ignored for an imported board, which has its own.
        source: `exam` for labels and coverage from grades, the name of a source of judgments
            (`judgments` for the first), or of an imported board.
        policy: what turns grades into scores; the default policy for None.

    Raises:
        InputError: unknown measure, source, grader or version, or nothing to score.
    """
    policy = policy or Policy()
    return project.remember(
        ("leaderboard", measure, source, policy), lambda: _leaderboard(project, measure, source, policy)
    )


def _leaderboard(project: Project, measure: str, source: str, policy: Policy) -> Leaderboard:
    if source == "exam":
        return _board(project, parse_measure(measure, policy.cutoff), policy)
    source = find_source(project, source)
    imported = dict(boards(project))
    if source in imported:
        return _imported_board(project, source, imported[source], policy)
    wanted = parse_measure(measure, policy.cutoff)
    if not wanted.takes_judgments:
        raise InputError(
            f"{wanted} is about answered questions or gold texts: judgments cannot give it.",
            "Use --source exam, or another measure.",
        )
    name = wanted.name
    qrels = judgments(project, source)
    per_query = _per_query(judged_scores(project, source, [name], policy.min_judgment), name)
    return Leaderboard(name, source, policy, order_systems(per_query, list(qrels), policy), per_query, list(qrels))


@dataclass(frozen=True)
class _Scored:
    """What a measure gives: score by query by run, the queries that count, and what the scores are shares of."""

    per_query: Scores
    query_ids: list[str]
    share_of: Normalised | None = None


def label_scores(project: Project, base: Basis, measures: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Measures of all runs on the labels; after a change only the queries whose labels it touched are scored again.

    Args:
        measures: standard names of measures of labels.

    Returns:
        As `score_runs`.

    Raises:
        InputError: a measure is unknown.
    """
    runs, qrels, names = rankings(project), label_qrels(project, base), tuple(measures)

    def make(queries: Sequence[str]) -> dict[str, dict[str, tuple[float, ...]]]:
        some = {run: {query: by[query] for query in queries if query in by} for run, by in runs.items()}
        scored = score_runs(some, names, {query: qrels[query] for query in queries}, base.min_rating)
        found: dict[str, dict[str, tuple[float, ...]]] = {query: {} for query in queries}
        for run, by_measure in scored.items():
            columns = [by_measure[name] for name in names]
            for query in columns[0]:
                found[query][run] = tuple(column[query] for column in columns)
        return found

    # Nobody changes labels once they are made, and those that stay are the same object.
    marks = {query: _Same(labels) for query, labels in qrels.items()}
    key = ("scores", names, base.grader.key, base.version, base.policy.label, base.policy.weighted, base.min_rating)
    parts = by_query(project, key, marks, make, (runs,))
    return {
        run: {
            name: {query: parts[query][run][at] for query in by if query in parts and run in parts[query]}
            for at, name in enumerate(names)
        }
        for run, by in runs.items()
    }


def judged_scores(
    project: Project, source: str, measures: Sequence[str], min_judgment: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Measures of all runs on judgments, which stay as they are while people rate questions.

    Args:
        source: its name, as `core.project.find_source` gives it.
        measures: standard names of measures of labels.
        min_judgment: from which a passage is relevant.

    Returns, raises: as `score_runs`.
    """
    return project.remember(
        ("judged", source, tuple(measures), min_judgment),
        lambda: score_runs(rankings(project), measures, judgments(project, source), min_judgment),
        OVERRIDING,
    )


class _Same:
    """What is equal to another one if it holds the same object."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


def _by_labels(project: Project, measure: Measure, base: Basis) -> _Scored:
    scores = _per_query(label_scores(project, base, [measure.name]), measure.name)
    return _Scored(scores, without_answered_by_topic(project, label_qrels(project, base)))


def _by_intents(project: Project, measure: Measure, base: Basis) -> _Scored:
    runs = rankings(project)

    def make(intents: Intents) -> dict[str, dict[str, float]]:
        evaluator = make_intent_evaluator(measure, intents)
        found: dict[str, dict[str, float]] = {query: {} for query in intents}
        for run, by in runs.items():
            for query, score in evaluator({query: by[query] for query in intents if query in by}).items():
                found[query][run] = score
        return found

    parts = from_answers(project, base, measure.name, make, (runs,))
    scores = {
        run: {query: parts[query][run] for query in by if query in parts and run in parts[query]}
        for run, by in runs.items()
    }
    return _Scored(scores, without_answered_by_topic(project, parts))


def _by_coverage(project: Project, measure: Measure, base: Basis) -> _Scored:
    scores = coverage(project, base, measure.depth)[base.policy.min_rating]
    return _Scored(scores, _queries_with_questions(project, base))


def _by_share(project: Project, measure: Measure, base: Basis) -> _Scored:
    found = normalised_scores(project, measure, base, _queries_with_questions(project, base))
    return _Scored(found.per_query, found.query_ids, found)


SCORERS: Mapping[MeasureBasis, Callable[[Project, Measure, Basis], _Scored]] = {
    "labels": _by_labels,
    "intents": _by_intents,
    "coverage": _by_coverage,
    "share of gold": _by_share,
    "share of pool": _by_share,
}
"""How what is graded is scored, by what a measure is computed from."""


def _board(project: Project, measure: Measure, policy: Policy) -> Leaderboard:
    """The board by what the runs give; every run is on it, also one that has no score for any query."""
    needed = usable = 0
    if measure.takes_grades:
        if not rankings(project):
            raise InputError("There are no runs to rank.", "Import them: exam import runs FILE...")
        base = basis(project, policy)
        needed, usable = label_pairs(project, base)
        if not usable:
            raise InputError(
                "No question of the bank has been graded for the pool yet.", how_to_grade(project, base.grader.spec)
            )
        found = SCORERS[measure.basis](project, measure, base)
    else:
        found = _Scored(*similarity_scores(project, measure))
    per_query = {run: found.per_query.get(run, {}) for run in rankings(project)}
    systems = order_systems(per_query, found.query_ids, policy)
    source = "exam" if measure.takes_grades else "gold"
    board = Leaderboard(measure.name, source, policy, systems, per_query, found.query_ids, needed, usable)
    # Coverage and likeness pay for length, every measure does where responses were written and not retrieved.
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
    """A leaderboard by other labels than the policy's own, such as those where what could not be read counts as 0.

    Args:
        measure: a measure of labels.
        qrels: labels on the grader's scale.

    Raises:
        InputError: a measure that is unknown or not of labels.
    """
    wanted = parse_measure(measure, policy.cutoff)
    if not wanted.takes_judgments:
        raise InputError(f"{measure} is no measure of labels.", "Name one such as nDCG@10 or P@10.")
    name, queries = wanted.name, list(qrels)
    scores = _per_query(score_runs(rankings(project), [name], qrels, basis(project, policy).min_rating), name)
    return Leaderboard(name, "exam", policy, order_systems(scores, queries, policy), scores, queries)


def _queries_with_questions(project: Project, base: Basis) -> list[str]:
    def compute() -> list[str]:
        rows = project.rows(
            f"SELECT query_id FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key)"
            f" WHERE $grader IS NOT NULL AND query_key NOT IN (FROM answered_by_topic())"
            " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
            base.parameters,
        )
        return [query for (query,) in rows]

    key = ("queries with questions", base.grader.key, base.version)
    return project.remember(key, compute, RATED_BY_HAND, pool_mark(project))


def _per_query(scores: Mapping[str, Mapping[str, Mapping[str, float]]], measure: str) -> Scores:
    return {run: dict(by_measure.get(measure, {})) for run, by_measure in scores.items()}


def _imported_board(project: Project, name: str, measure: str, policy: Policy) -> Leaderboard:
    rows = project.rows(
        "SELECT run, score, std_error FROM board_scores JOIN boards USING (board_key) WHERE name = ?"
        " ORDER BY score DESC, run",
        [name],
    )
    scores = [score for _, score, _ in rows]
    systems = [System(run, score, error, 0, 1 + scores.index(score)) for run, score, error in rows]
    return Leaderboard(measure, name, policy, systems, {})
