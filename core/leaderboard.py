"""Leaderboards: systems ordered by a measure of labels, of coverage, of judgments, or as imported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.correlation import correlate
from core.errors import InputError
from core.gold_similarity import Similarity, gold_similarity, similarity_scores
from core.grades import bank_for
from core.intent_measures import make_intent_evaluator
from core.lengths import Length, lengths
from core.measures import make_evaluator, parse_measure
from core.named_graders import how_to_grade
from core.normalised import Normalised, normalised_measure, normalised_scores
from core.policy import Policy
from core.project import Project
from core.scores import Scores, basis, coverage, graded_pairs, labels
from core.statistics import system_score
from core.topics import ANSWERED_BY_TOPIC, without_answered_by_topic

COVER = "EXAM-Cover"

Qrels = dict[str, dict[str, int]]
Runs = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Score of every ranked passage, by run, query and passage id."""


@dataclass(frozen=True)
class System:
    """One row of a leaderboard. `rank` is from 1, equal for equal scores."""

    run: str
    score: float
    std_error: float | None
    queries: int
    rank: int


@dataclass(frozen=True)
class Leaderboard:
    """Systems ordered by a measure.

    Args:
        measure: its standard name, such as nDCG@10 or EXAM-Cover@20.
        source: `exam`, the name of a source of judgments, or of an imported board.
        systems: best first.
        per_query: score by query by run; empty for an imported board.
        query_ids: the queries that the mean is over.
        needed, usable: the pairs that the labels should and do rest on; 0 where no grades are used.
        reference: the gold texts or the pool that a normalised measure divides by; its score is 1.
        starred: the runs within the standard error of the reference.
        lengths: words and passages that a score is bought with, by run; for coverage and likeness to gold texts, and
            for every measure where there are generated responses.
    """

    measure: str
    source: str
    policy: Policy
    systems: list[System]
    per_query: Scores
    query_ids: list[str] = field(default_factory=list)
    needed: int = 0
    usable: int = 0
    reference: System | None = None
    starred: frozenset[str] = frozenset()
    lengths: Mapping[str, Length] = field(default_factory=dict)

    @property
    def scores(self) -> dict[str, float]:
        """Score by run."""
        return {system.run: system.score for system in self.systems}

    def length_correlation(self) -> float | None:
        """Spearman's correlation of score and words; None without lengths, or where it is undefined."""
        words = {run: length.words for run, length in self.lengths.items() if run in self.scores}
        return correlate(words, self.scores).spearman if words else None

    @property
    def std_errors(self) -> dict[str, float | None]:
        """Standard error by run."""
        return {system.run: system.std_error for system in self.systems}

    def as_dict(self) -> dict[str, Any]:
        """The board as plain values, as `--json` prints it."""
        systems: list[dict[str, Any]] = []
        for system in self.systems:
            length = self.lengths.get(system.run)
            star = {"starred": system.run in self.starred} if self.reference else {}
            systems.append({**vars(system), **(vars(length) if length else {}), **star})
        return {
            "measure": self.measure,
            "source": self.source,
            "policy": self.policy.as_dict(),
            "systems": systems,
            "pairs": {"needed": self.needed, "usable": self.usable},
            **({"reference": vars(self.reference)} if self.reference else {}),
        }


def sources(project: Project) -> list[str]:
    """Names of the sources of judgments, in the order of their first import."""
    return [name for (name,) in project.rows("SELECT name FROM sources ORDER BY source_key")]


def boards(project: Project) -> list[tuple[str, str]]:
    """Name and measure of every imported leaderboard, in the order of their import."""
    return [(row[0], row[1]) for row in project.rows("SELECT name, measure FROM boards ORDER BY board_key")]


def official_sources(project: Project) -> list[str]:
    """Everything that a leaderboard can be compared with: sources of judgments, then imported boards."""
    return sources(project) + [name for name, _ in boards(project)]


def find_source(project: Project, name: str) -> str:
    """The source of judgments or imported board of that name; `judgments` means the first source.

    Raises:
        InputError: there is none.
    """
    known = official_sources(project)
    if name in known:
        return name
    if name == "judgments" and (judged := sources(project)):
        return judged[0]
    if not known:
        raise InputError(
            "The project has no judgments and no imported leaderboard.",
            "Import one: exam import qrels FILE, or exam import leaderboard FILE.",
        )
    raise InputError(f"There is no source '{name}'.", f"There are: {', '.join(known)}.")


def rankings(project: Project) -> Runs:
    """The score of every ranked passage, by run, query and passage id; from ranks where a file stated them."""

    def compute() -> dict[str, dict[str, dict[str, float]]]:
        found: dict[str, dict[str, dict[str, float]]] = {
            name: {} for (name,) in project.rows("SELECT name FROM runs ORDER BY run_key")
        }
        for run, query, stated, passages, values in project.rows(
            "SELECT name, query_id, run_key IN (FROM ranked_runs) AS stated, list(passage_id),"
            " list(if(run_key IN (FROM ranked_runs), rank, score)) FROM rankings JOIN runs USING (run_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) GROUP BY ALL"
        ):
            found[run][query] = by_rank(passages, values) if stated else dict(zip(passages, values, strict=True))
        return found

    return project.remember("rankings", compute)


DEEPEST_GAP = 10_000
"""Rank down to which gaps in stated ranks are kept; a ranking that goes deeper is closed up."""


def by_rank(passages: Sequence[str], ranks: Sequence[float]) -> dict[str, float]:
    """Scores that put passages at the ranks that a file states, for programs that see scores only.

    A graded file ranks the passages that it has, so that ranks are missing between them. What stood there is not known:
    names that no passage can have (they hold a control character) keep its place, as passages without any value.
    """
    scores = {passage: -float(rank) for passage, rank in zip(passages, ranks, strict=True)}
    deepest = int(max(ranks))
    if len(scores) < deepest <= DEEPEST_GAP:
        gaps = set(range(1, deepest)).difference(map(int, ranks))
        scores |= {f"\x1f{rank}": -float(rank) for rank in gaps}
    return scores


def judgments(project: Project, source: str) -> Qrels:
    """The judgments of one source, by query and passage id."""

    def compute() -> Qrels:
        return {
            query: dict(zip(passages, values, strict=True))
            for query, passages, values in project.rows(
                "SELECT query_id, list(passage_id ORDER BY passage_key), list(value ORDER BY passage_key)"
                " FROM judgments JOIN sources USING (source_key)"
                " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
                " WHERE name = ? GROUP BY query_id, query_key ORDER BY query_key",
                [source],
            )
        }

    return project.remember(("judgments", source), compute)


def label_qrels(project: Project, policy: Policy) -> Qrels:
    """EXAM labels by query and passage id; passages without a label are left out."""

    def compute() -> Qrels:
        table = labels(project, policy).dropna(subset=["label"])
        found: Qrels = {}
        for query, passage, label in zip(
            table["query_id"], table["passage_id"], table["label"].astype(int).tolist(), strict=True
        ):
            found.setdefault(query, {})[passage] = label
        return found

    base = basis(project, policy)
    return project.remember(("qrels", base.key), compute)


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
        or gold_similarity(measure, policy) is not None
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
        alike = gold_similarity(measure, policy)
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


def answered_questions(project: Project, policy: Policy) -> dict[str, dict[str, dict[str, int]]]:
    """Which questions of positive weight each graded passage answers: 1 or 0 by query, passage, question."""
    base = basis(project, policy)
    found: dict[str, dict[str, dict[str, int]]] = {}
    for query, passage, asked, ratings in project.rows(
        "SELECT query_id, passage_id, list(question_id), list(rating) FROM"
        f" ({graded_pairs(base)}) JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " JOIN (SELECT question_key, question_id FROM questions UNION ALL SELECT query_key, query_id"
        "  FROM queries) USING (question_key) WHERE rating IS NOT NULL AND weight > 0"
        " GROUP BY query_id, query_key, passage_id ORDER BY query_key",
        base.parameters,
    ):
        answers = {question: int(rating >= base.min_rating) for question, rating in zip(asked, ratings, strict=True)}
        found.setdefault(query, {})[passage] = answers
    return found


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


def order_systems(per_query: Scores, queries: Sequence[str], policy: Policy) -> list[System]:
    """Systems by their mean over queries, best first, with standard errors."""
    rows = []
    for run, scores in per_query.items():
        score, error, answered = system_score(scores, queries, policy.skipped)
        # A run that answered none of the queries has no score where skipped queries are ignored.
        if score is not None:
            rows.append((run, score, error, answered))
    rows.sort(key=lambda row: (-row[1], row[0]))
    all_scores = [row[1] for row in rows]
    return [System(run, score, error, n, 1 + all_scores.index(score)) for run, score, error, n in rows]


def _imported_board(project: Project, name: str, measure: str, policy: Policy) -> Leaderboard:
    rows = project.rows(
        "SELECT run, score, std_error FROM board_scores JOIN boards USING (board_key) WHERE name = ?"
        " ORDER BY score DESC, run",
        [name],
    )
    scores = [score for _, score, _ in rows]
    systems = [System(run, score, error, 0, 1 + scores.index(score)) for run, score, error in rows]
    return Leaderboard(measure, name, policy, systems, {})
