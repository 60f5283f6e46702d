"""The rows of a meta-evaluation table: evaluation methods, and their leaderboards."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from ..bank import find_grader, graders, without_answered_by_topic
from ..labels import (
    Leaderboard,
    Policy,
    basis,
    judged_scores,
    label_pairs,
    label_qrels,
    label_scores,
    leaderboard,
    order_systems,
    pairs_needed,
)
from ..measures import parse_measure
from ..records import Qrels, boards, judgments, sources
from ..store import Project, as_act

MIN_RATINGS = (1, 3, 4, 5)
"""The min ratings of exam-plus-plus, table 3."""

BatchScores = dict[str, dict[str, dict[str, float]]]
"""Score by query by measure by run."""


@dataclass(frozen=True)
class Row:
    """An evaluation method for systems.

    Args:
        source: `exam` for grades, or the name of a source of judgments or of an imported leaderboard.
        policy: its scoring settings. A label is relevant from `min_rating` on, a judgment from `min_judgment` on. The
            other settings matter only for grades.
    """

    source: str
    policy: Policy


@as_act("see boards")
def methods(project: Project) -> list[str]:
    """Return the possible methods: graders that have grades, sources of judgments, imported leaderboards."""
    known = [grader.spec.name for grader in graders(project) if grader.grades]
    return list(dict.fromkeys([*known, *sources(project), *(name for name, _ in boards(project))]))


@as_act("see boards")
def choose_rows(
    project: Project,
    names: Sequence[str] = (),
    min_ratings: Sequence[int] = MIN_RATINGS,
    label_rules: Sequence[str] = ("max",),
    bank_versions: Sequence[int | None] = (None,),
    policy: Policy | None = None,
) -> list[Row]:
    """Return the rows of a table: every named method by label rule, bank version and min rating.

    Args:
        names: graders (`exam` is the default grader), sources of judgments, imported leaderboards; empty for all.
        min_ratings: values from which a passage is relevant. Values beyond the scale of a method give a single row with
            the top of the scale.
        label_rules, bank_versions: used only for graders that ask questions.
        policy: the other settings of every row.

    Raises:
        InputError: a name, version, rule or min rating is unknown.
    """
    base = policy or Policy()
    imported, judged = dict(boards(project)), sources(project)
    found: list[Row] = []
    for name in names or methods(project):
        if name in imported:
            found.append(Row(name, base))
        elif name in judged:
            top = max((value for values in judgments(project, name).values() for value in values.values()), default=1)
            found += [Row(name, replace(base, min_judgment=max(1, min(t, top)))) for t in _checked(min_ratings)]
        else:
            spec = find_grader(project, None if name == "exam" else name).spec
            direct = spec.method == "direct"
            for version in bank_versions[:1] if direct else bank_versions:
                for rule in ["max"] if direct else label_rules:
                    row = replace(base, grader=spec.name, bank_version=version, label=rule)
                    basis(project, row)
                    found += [Row("exam", replace(row, min_rating=spec.min_rating(t))) for t in _checked(min_ratings)]
    return list(dict.fromkeys(found))


def _checked(min_ratings: Sequence[int]) -> list[int]:
    return [Policy(min_rating=level).min_rating for level in min_ratings]


def row_name(project: Project, row: Row) -> tuple[str, int | None]:
    """Return the name of a row's method, and its min rating, which is None for an imported leaderboard.

    Raises:
        InputError: the grader or version is unknown.
    """
    if row.source == "exam":
        base = basis(project, row.policy)
        said = [base.grader.spec.name]
        if row.policy.label != "max":
            said.append(f"label {row.policy.label}")
        if row.policy.bank_version is not None:
            said.append(f"bank version {row.policy.bank_version}")
        return ", ".join(said), base.min_rating
    return row.source, None if row.source in dict(boards(project)) else row.policy.min_judgment


def row_boards(
    project: Project, row: Row, measures: Sequence[str], memo: dict[Hashable, BatchScores]
) -> dict[str, Leaderboard | str]:
    """Return, by measure, a row's leaderboard, or a sentence that says why it cannot be made.

    The leaderboards equal those of `leaderboard.leaderboard`, but all measures of the same qrels are scored at once.

    Args:
        measures: standard names of measures.
        memo: cache of scores that do not depend on the min rating, shared by the rows of a table.

    Raises:
        InputError: the grader, version or source is unknown.
    """
    imported = dict(boards(project))
    policy, exam = row.policy, row.source == "exam"
    if row.source in imported:
        return dict.fromkeys(measures, leaderboard(project, imported[row.source], row.source, policy))
    qrels: Qrels
    if exam:
        base = basis(project, policy)
        if not label_pairs(project, base)[1]:
            return dict.fromkeys(measures, "No pooled passage has been graded yet.")
        qrels, threshold = label_qrels(project, base), base.min_rating
        key: Hashable = base.key
    else:
        qrels, threshold, key = judgments(project, row.source), policy.min_judgment, row.source
    found: dict[str, Leaderboard | str] = {}
    trec = list(dict.fromkeys(measure for measure in measures if parse_measure(measure).takes_judgments))
    scores: BatchScores = {}
    for binary in (False, True):
        batch = tuple(name for name in trec if parse_measure(name).family.binary is binary)
        place = (key, batch, threshold if binary else None)
        if batch and place not in memo:
            memo[place] = (
                label_scores(project, base, batch) if exam else judged_scores(project, row.source, batch, threshold)
            )
        for run, by_measure in memo.get(place, {}).items():
            scores.setdefault(run, {}).update(by_measure)
    for measure in measures:
        if measure in trec:
            per_query = {run: by_measure[measure] for run, by_measure in scores.items()}
            queries = without_answered_by_topic(project, qrels) if exam else list(qrels)
            systems = order_systems(per_query, queries, policy)
            pairs = pairs_needed(project, base, parse_measure(measure)) if exam else {}
            found[measure] = Leaderboard(measure, row.source, policy, systems, per_query, queries, **pairs)
        elif exam:
            found[measure] = leaderboard(project, measure, "exam", policy, with_ungraded=True)
        else:
            found[measure] = f"{measure} cannot be computed from judgments."
    return found
