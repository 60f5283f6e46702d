"""Differences between two snapshots of a live target: in passages, ranks and answers, and falls of a measure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...labels import Policy
from ...leaderboard import leaderboard
from ...measures import randomisation_test
from ...project import Freeze, Project, check_runs, freezes, run_names
from ..answers.contexts import Read, asked_queries, passage_id_of, passage_texts, tops
from .freezing import DIGITS

_REWRITTEN = re.compile(f"~[0-9a-f]{{{DIGITS}}}$")
"""The suffix of a changed text under the same id of the target."""


@dataclass(frozen=True)
class QueryChange:
    """The differences between two snapshots for one query.

    Args:
        gone, new: passages in only one of the tops, in its order.
        moved: passages that both have at other ranks: id, rank before, rank after.
        overlap: the share of the passages of both tops that both have; 1 if the passages are the same.
        answer: whether the answer differs, or one of them is missing.
    """

    query_id: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
    moved: tuple[tuple[str, int, int], ...]
    overlap: float
    answer: bool = False


def diff_of_runs(project: Project, before: str, after: str, k: int = 10) -> list[QueryChange]:
    """Return the queries whose top or answer differs between two runs, the largest differences first.

    A passage whose text changed has an id of its own (ID~DIGEST), so the old passage is gone and the other new.

    Args:
        before, after: runs, or responses of targets that give only answers.
        k: the depth of the tops.

    Raises:
        InputError: a run is unknown.
    """
    (old_tops, new_tops), (old_answers, new_answers) = _both(project, before, after, k)
    changes = []
    for query_id in dict.fromkeys([*old_tops, *new_tops, *old_answers, *new_answers]):
        old, new = ([passage_id_of(one) for one in top.get(query_id, [])] for top in (old_tops, new_tops))
        answer = old_answers.get(query_id) != new_answers.get(query_id)
        if old == new and not answer:
            continue
        both = [one for one in old if one in new]
        moved = tuple((one, old.index(one) + 1, new.index(one) + 1) for one in both if old.index(one) != new.index(one))
        changes.append(
            QueryChange(
                query_id,
                tuple(one for one in old if one not in new),
                tuple(one for one in new if one not in old),
                moved,
                len(both) / len({*old, *new}) if old or new else 1.0,
                answer,
            )
        )
    return sorted(changes, key=lambda one: (one.overlap, not one.answer))


@dataclass(frozen=True)
class PlacedPassage:
    """A passage in the top of one of two snapshots.

    Args:
        text: None if the project has no text.
        rank: from 1.
        other: its rank in the other snapshot; None if it is not in its top.
        rewritten: id of the passage in the other top that has the same id at the target and another text; else None.
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


def query_difference(project: Project, before: str, after: str, query_id: str, k: int = 10) -> QueryDifference:
    """Return the tops and answers of two runs for a query, with their texts.

    Args:
        k: the depth of the tops.

    Raises:
        InputError: a run or the query is unknown.
    """
    both, answers = _both(project, before, after, k)
    (query,) = asked_queries(project, [query_id])
    old, new = (top.get(query_id, []) for top in both)
    texts = passage_texts(project, {one.text_key for one in (*old, *new) if isinstance(one, Read)})
    return QueryDifference(
        query_id, query.text, _placed(old, new, texts), _placed(new, old, texts),
        (answers[0].get(query_id), answers[1].get(query_id)),
    )  # fmt: skip


def _placed(
    top: Sequence[Read | str], other: Sequence[Read | str], texts: Mapping[int, str]
) -> tuple[PlacedPassage, ...]:
    ranks = {passage_id_of(one): rank for rank, one in enumerate(other, 1)}
    ours = {passage_id_of(one) for one in top}
    # A passage that both have was not rewritten.
    theirs = {_at_target(name): name for name in ranks if name not in ours}
    found = []
    for rank, one in enumerate(top, 1):
        name = passage_id_of(one)
        text = texts.get(one.text_key) if isinstance(one, Read) else None
        rewritten = None if name in ranks else theirs.get(_at_target(name))
        found.append(PlacedPassage(name, text, rank, ranks.get(name), rewritten))
    return tuple(found)


def _at_target(passage_id: str) -> str:
    return _REWRITTEN.sub("", passage_id)


Tops = dict[str, list[Read | str]]
Answers = dict[str, str]


def _both(project: Project, before: str, after: str, k: int) -> tuple[tuple[Tops, Tops], tuple[Answers, Answers]]:
    """Return tops and answers of two runs, by query id; responses have no top of their own."""
    check_runs(project, [before, after])
    if k < 1:
        raise InputError("depth-out-of-range", f"Depth {k} is out of range.", "Use 1 or more.")
    written = {name for (name,) in project.rows("SELECT name FROM runs SEMI JOIN responses USING (run_key)")}
    found = tops(project, [before, after], k)
    kept = {one.name: one.system for one in freezes(project)}

    def top(run: str) -> Tops:
        return {} if run in written else found[run]

    def answers(run: str) -> Answers:
        system = run if run in written else kept.get(run)
        return {} if system is None else _answers(project, system)

    return (top(before), top(after)), (answers(before), answers(after))


def _answers(project: Project, system: str) -> Answers:
    """Return the responses of a system by query id; the passages of a long one are joined with blank lines."""
    return dict(
        project.rows(
            "SELECT query_id, string_agg(x.text, chr(10) || chr(10) ORDER BY rank) FROM rankings"
            " JOIN runs USING (run_key) JOIN queries USING (query_key) JOIN passages p USING (passage_key)"
            " JOIN passage_texts x ON x.text_key = p.text_key WHERE name = ? GROUP BY query_key, query_id"
            " ORDER BY query_key",
            [system],
        )
    )


def frozen_runs(project: Project) -> list[Freeze]:
    """Return the closed snapshots that exist as a run or as responses, the newest first."""
    known = set(run_names(project))
    return [one for one in freezes(project) if not one.open and one.name in known]


LEVEL = 0.05
"""A fall counts if noise alone gives one as large with a probability below this."""
SAMPLES = 2000


@dataclass(frozen=True)
class Fall:
    """A measure of two snapshots over the queries that both are scored on.

    Args:
        measure: its name.
        source: of the judgments, or `exam` for grades.
        before, after: means.
        queries: how many they rest on.
        low, high: interval of 95 % of the difference after - before, by a bootstrap over queries.
        p: of a two-sided paired randomisation test, which swaps the snapshots at random on every query (Smucker et al.,
            CIKM 2007); None if no query differs.
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
        """After less before."""
        return self.after - self.before


def measure_fall(
    project: Project,
    before: str,
    after: str,
    measure: str,
    source: str = "judgments",
    policy: Policy | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Fall:
    """Test whether a measure of a target fell between two snapshots by more than noise.

    Args:
        before, after: the runs.
        measure: as for leaderboards, such as nDCG@10 or EXAM-Cover@5.
        source: of judgments, or `exam` for grades.
        level: the p from which on a fall counts as noise.
        seed: of test and bootstrap.

    Raises:
        InputError: a run, measure or source is unknown, or there are fewer than two queries.
    """
    check_runs(project, [before, after])
    board = leaderboard(project, measure, source, policy or Policy())
    if not board.per_query:
        raise InputError(
            "no-scores-by-query", f"Source {source} has no scores per query.", "Use a source of judgments, or exam."
        )
    old, new = (board.per_query.get(run, {}) for run in (before, after))
    # A query without results in a snapshot scores 0 there, as on the leaderboard.
    names = list(board.query_ids)
    differences = np.array([new.get(name, 0.0) - old.get(name, 0.0) for name in names], dtype=np.float64)
    if len(names) < 2:
        raise InputError(
            "too-few-queries",
            "Fewer than two queries to compare.",
            "Import judgments, or grade the passages.",
        )
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(SAMPLES, len(names)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975)).tolist()
    p = float(randomisation_test(differences[:, None], seed=seed)[0])
    mean = float(differences.mean())
    known = not np.isnan(p)
    scores = {name: (old.get(name, 0.0), new.get(name, 0.0)) for name in names}
    earlier, later = (float(np.mean([pair[at] for pair in scores.values()])) for at in (0, 1))
    fell = bool(mean < 0 and known and p < level)
    return Fall(board.measure, source, earlier, later, len(names), low, high, p if known else None, fell, scores)
