"""Leaderboards: systems ordered by a measure of labels, of coverage, of judgments, or as imported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.bank import ANSWERED_BY_TOPIC, bank_for, without_answered_by_topic
from core.catalogue import how_to_grade
from core.errors import InputError
from core.labels import Policy, Scores, answered_questions, basis, coverage, label_qrels, labels
from core.leaderboard.board import Leaderboard, System, order_systems
from core.leaderboard.likeness import similarity_scores
from core.leaderboard.normalised import Normalised, normalised_measure, normalised_scores
from core.measures import Similarity, gold_similarity, make_evaluator, make_intent_evaluator, parse_measure
from core.project import Project, Qrels, Runs, boards, find_source, judgments, lengths, rankings

COVER = "EXAM-Cover"


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


def cover_cutoff(measure: str, policy: Policy) -> int | None:
    """The cutoff of `EXAM-Cover` (the policy's) or `EXAM-Cover@k`; None for any other measure."""
    found = re.fullmatch(rf"(?:{COVER}|Cover)(?:@([1-9]\d*))?", measure, flags=re.IGNORECASE)
    if found is None:
        return None
    return int(found[1]) if found[1] else policy.cutoff


def of_answers(measure: str, policy: Policy) -> bool:
    """Whether a measure is about answered questions or gold texts, so that judgments cannot give it."""
    return (
        cover_cutoff(measure, policy) is not None
        or normalised_measure(measure, policy) is not None
        or gold_similarity(measure, policy.cutoff) is not None
    )


def leaderboard(project: Project, measure: str, source: str = "exam", policy: Policy | None = None) -> Leaderboard:
    """Order the systems by a measure.

    Args:
        measure: a measure of trec_eval under its standard name, EXAM-Cover@k, normalised n-EXAM@k (by gold
            texts) or EXAM-Cover@k/pool, ROUGE-1@k, or chrF@k. Ignored for an imported board, which has its own.
        source: `exam` for labels and coverage from grades, the name of a source of judgments
            (`judgments` for the first), or of an imported board.
        policy: what turns grades into scores; the default policy for None.

    Raises:
        InputError: unknown measure, source, grader or version, or nothing to score.
    """
    policy = policy or Policy()
    if source == "exam":
        alike = gold_similarity(measure, policy.cutoff)
        board = _exam_board(project, measure, policy) if alike is None else _gold_board(project, *alike, policy)
        if not board.lengths and project.value("SELECT count(*) FROM responses"):
            # A measure of labels, too, pays for length where responses were written and not retrieved.
            board = replace(board, lengths=lengths(project, policy.cutoff))
        return board
    source = find_source(project, source)
    imported = dict(boards(project))
    if source in imported:
        return _imported_board(project, source, imported[source], policy)
    if of_answers(measure, policy):
        raise InputError(
            f"{measure} is about answered questions or gold texts: judgments cannot give it.",
            "Use --source exam, or another measure.",
        )
    name = str(parse_measure(measure))
    qrels = judgments(project, source)

    def compute() -> Scores:
        return _per_query(score_runs(rankings(project), [name], qrels, policy.min_judgment), name)

    per_query = project.remember(("official", source, name, policy.min_judgment), compute)
    return Leaderboard(name, source, policy, order_systems(per_query, list(qrels), policy), per_query, list(qrels))


def _exam_board(project: Project, measure: str, policy: Policy) -> Leaderboard:
    if not rankings(project):
        raise InputError("There are no runs to rank.", "Import them: exam import runs FILE...")
    table = labels(project, policy)
    needed, usable = int(table["needed"].sum()), int(table["usable"].sum())
    if not usable:
        spec = basis(project, policy).grader.spec
        raise InputError("No question of the bank has been graded for the pool yet.", how_to_grade(project, spec))
    cutoff, share = cover_cutoff(measure, policy), normalised_measure(measure, policy)
    normalised: Normalised | None = None
    if share is not None:
        normalised = normalised_scores(project, share, policy, _queries_with_questions(project, policy))
        name, cutoff, per_query, queries = str(share), share.cutoff, normalised.per_query, normalised.query_ids
    elif cutoff is not None:
        name = f"{COVER}@{cutoff}"
        per_query = coverage(project, _with_cutoff(policy, cutoff))[policy.min_rating]
        queries = _queries_with_questions(project, policy)
    else:
        name, per_query, queries = _exam_scores(project, measure, policy)
    per_query = {run: per_query.get(run, {}) for run in rankings(project)}
    systems = order_systems(per_query, queries, policy)
    board = Leaderboard(name, "exam", policy, systems, per_query, queries, needed, usable)
    if cutoff is not None:
        board = replace(board, lengths=lengths(project, cutoff))
    if normalised is not None:
        reference = System(normalised.reference, 1.0, normalised.std_error, len(queries), 0)
        starred = frozenset(system.run for system in systems if normalised.within_error(system.score))
        board = replace(board, reference=reference, starred=starred)
    return board


def _gold_board(project: Project, similarity: Similarity, cutoff: int, policy: Policy) -> Leaderboard:
    found, queries = similarity_scores(project, similarity, cutoff)
    per_query = {run: found.get(run, {}) for run in rankings(project)}
    systems = order_systems(per_query, queries, policy)
    name = f"{similarity.name}@{cutoff}"
    return Leaderboard(name, "gold", policy, systems, per_query, queries, lengths=lengths(project, cutoff))


def _exam_scores(project: Project, measure: str, policy: Policy) -> tuple[str, Scores, list[str]]:
    """Name, scores and queries of a measure that is computed from labels, or from answered questions."""
    info = parse_measure(measure)
    name = str(info)
    base = basis(project, policy)
    if info.needs_intents:
        intents = answered_questions(project, policy)
        queries = without_answered_by_topic(project, intents)

        def compute() -> Scores:
            evaluator = make_intent_evaluator(info, intents)
            return {run: evaluator(ranking) for run, ranking in rankings(project).items()}

    else:
        qrels = label_qrels(project, policy)
        queries = without_answered_by_topic(project, qrels)

        def compute() -> Scores:
            return _per_query(score_runs(rankings(project), [name], qrels, base.min_rating), name)

    return name, project.remember(("exam", name, base.key, base.min_rating), compute), queries


def label_board(project: Project, measure: str, policy: Policy, qrels: Qrels) -> Leaderboard:
    """A leaderboard by other labels than the policy's own, such as those where what could not be read counts as 0.

    Args:
        measure: a measure of labels.
        qrels: labels on the grader's scale.

    Raises:
        InputError: a measure that is unknown or not of labels.
    """
    info = parse_measure(measure)
    if info.needs_intents:
        raise InputError(f"{measure} is no measure of labels.", "Name one such as nDCG@10 or P@10.")
    name, queries = str(info), list(qrels)
    scores = _per_query(score_runs(rankings(project), [name], qrels, basis(project, policy).min_rating), name)
    return Leaderboard(name, "exam", policy, order_systems(scores, queries, policy), scores, queries)


def _with_cutoff(policy: Policy, cutoff: int) -> Policy:
    return Policy(**(policy.as_dict() | {"cutoff": cutoff}))


def _queries_with_questions(project: Project, policy: Policy) -> list[str]:
    base = basis(project, policy)
    rows = project.rows(
        f"SELECT query_id FROM {bank_for(base.grader.spec)} JOIN queries USING (query_key)"
        f" WHERE $grader IS NOT NULL AND query_key NOT IN {ANSWERED_BY_TOPIC}"
        " GROUP BY query_id, query_key HAVING max(weight) > 0 ORDER BY query_key",
        base.parameters,
    )
    return [query for (query,) in rows]


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
