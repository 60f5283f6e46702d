"""The record of a leaderboard, and the details behind a system's score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ..measures import correlate_scores, system_score
from ..records import Length, readable_texts, visible_rows
from ..store import Project, as_act
from ..text import first_few, how_many
from ._basis import basis, graded_pairs
from ._coverage import Scores
from ._policy import Policy

FEWEST_GRADED = 0.5
"""The share of graded pairs below which the order of the systems mostly reflects the ungraded
pairs.
"""


FEWEST_COMPLETE = 3
"""The number of complete queries below which a mean says little while others wait for grades."""


def graded_share(usable: int, needed: int) -> str:
    """Return the graded share of the needed pairs in percent. It is rounded down, so that 100% is
    complete.
    """
    percent = 100 * usable // needed if needed else 0
    return "under 1%" if usable and not percent else f"{percent}%"


def graded_sentence(usable: int, needed: int, measure: str | None = None) -> str:
    """Return the graded share with its basis, as a sentence without a full stop; empty if nothing
    is needed.

    Args:
        measure: the measure that needs the pairs; None for all pairs of the pool, which the qrels
            need.
    """
    what = "of all pairs in the pool" if measure is None else f"of the pairs that {measure} needs"
    return f"{graded_share(usable, needed)} {what} are graded" if needed else ""


@dataclass(frozen=True)
class System:
    """A row of a leaderboard. Ranks begin at 1 and are equal for equal scores."""

    run: str
    score: float
    std_error: float | None
    queries: int
    rank: int


@dataclass(frozen=True)
class Leaderboard:
    """Systems ordered by a measure.

    Args:
        measure: standard name of the measure, such as nDCG@10 or EXAM-Cover@20.
        source: `exam`, or the name of a source of judgments or of an imported leaderboard.
        systems: the systems, best first.
        per_query: score by query by run; empty for an imported leaderboard without scores by query.
        query_ids: the queries in the mean.
        needed, usable: number of pairs that the measure needs, and of these with a rating; 0 if no
            grades are used.
        ungraded: number of ungraded pairs that the measure needs, by query with such pairs. Failed
            pairs and passages without text do not count. With a mean over topics, they are by
            topic, which may share its query's pairs.
        imported: whether all grades were imported, so that no job will ever grade these pairs.
        reference: the gold texts or the pool as a system, for a normalised measure that divides by
            them; its score is 1.
        coverage, reference_coverage: for a normalised measure, coverage before normalisation: by
            query by run, and of the reference by query.
        starred: the runs within the standard error of the reference.
        lengths: words and passages behind a score, by run. They are present for coverage and
            likeness, and for every measure if the project has generated responses.
    """

    measure: str
    source: str
    policy: Policy
    systems: list[System]
    per_query: Scores
    query_ids: list[str] = field(default_factory=list)
    needed: int = 0
    usable: int = 0
    ungraded: Mapping[str, int] = field(default_factory=dict, compare=False)
    imported: bool = field(default=False, compare=False)
    reference: System | None = None
    coverage: Scores = field(default_factory=dict)
    reference_coverage: Mapping[str, float] = field(default_factory=dict)
    starred: frozenset[str] = frozenset()
    lengths: Mapping[str, Length] = field(default_factory=dict)

    @property
    def too_few(self) -> str | None:
        """Why a correlation with another leaderboard is not meaningful yet, as a sentence; None if
        it is.

        It is meaningful if a share of at least `FEWEST_GRADED` of the pairs has a rating.
        """
        if self.usable >= FEWEST_GRADED * self.needed:
            return None
        sentence = graded_sentence(self.usable, self.needed, self.measure)
        return f"Only {sentence}. A correlation needs {FEWEST_GRADED:.0%}."

    @property
    def scores(self) -> dict[str, float]:
        """Score by run."""
        return {system.run: system.score for system in self.systems}

    @property
    def ungraded_note(self) -> str:
        """A sentence on the queries in the mean that names those with ungraded pairs; empty without
        such queries.
        """
        counted = counted_queries(self.query_ids, self.ungraded)
        return (
            f"{counted.capitalize()} ({first_few(list(self.ungraded))})." if self.ungraded else ""
        )

    @property
    def pending(self) -> frozenset[str]:
        """The queries with ungraded pairs, whose scores may still change while jobs run."""
        return frozenset() if self.imported else frozenset(self.ungraded)

    @property
    def left_out(self) -> frozenset[str]:
        """The queries with ungraded pairs that the mean excludes."""
        return self.pending.difference(self.query_ids)

    @property
    def few_complete(self) -> bool:
        """Whether fewer than `FEWEST_COMPLETE` queries are complete and others wait for grades."""
        return bool(self.pending) and len(set(self.query_ids) - self.pending) < FEWEST_COMPLETE

    def length_correlation(self) -> float | None:
        """Return Spearman's correlation of score and words; None without lengths, or if it is
        undefined.
        """
        words = {run: length.words for run, length in self.lengths.items() if run in self.scores}
        return correlate_scores(words, self.scores).spearman if words else None

    @property
    def std_errors(self) -> dict[str, float | None]:
        """Standard error by run."""
        return {system.run: system.std_error for system in self.systems}

    def as_dict(self) -> dict[str, Any]:
        """Return the leaderboard as plain values, as `--json` prints it."""
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
            "ungraded_queries": dict(self.ungraded),
            **({"reference": vars(self.reference)} if self.reference else {}),
        }


def queries_with_ungraded(query_ids: Collection[str]) -> str:
    """Return the number and first names of queries with ungraded pairs, as part of a sentence."""
    return (
        f"{how_many(len(query_ids), 'queries')} with ungraded pairs ({first_few(list(query_ids))})"
    )


def counted_queries(counted: Collection[str], ungraded: Collection[str], elsewhere: int = 0) -> str:
    """Return over which queries a mean is, as part of a sentence: "over 3 of 54 queries; 51 wait
    for grades".

    Args:
        counted: the queries in the mean.
        ungraded: the queries with ungraded pairs.
        elsewhere: number of further queries that the official leaderboard lacks.
    """
    total, waiting = len({*counted, *ungraded}) + elsewhere, len(ungraded)
    included = len(set(ungraded).intersection(counted))
    number = how_many(total, "queries")
    notes = (
        (
            included,
            f", {'all' if included == len(counted) else f'{included:,} of them'}"
            " with ungraded pairs",
        ),
        (
            waiting and not included,
            f"; {waiting:,} {'waits' if waiting == 1 else 'wait'} for grades",
        ),
        (elsewhere, f"; the official leaderboard lacks {elsewhere:,}"),
    )
    over = f"over {number}" if total == len(counted) else f"over {len(counted):,} of {number}"
    return over + "".join(note for applies, note in notes if applies)


def ungraded_sentence(query_ids: Collection[str], left_out: bool) -> str:
    """Return a sentence that names the queries with ungraded pairs; empty without such queries."""
    return (
        f"{'Excluded' if left_out else 'Included'}: {queries_with_ungraded(query_ids)}."
        if query_ids
        else ""
    )


def order_systems(
    per_query: Scores,
    queries: Sequence[str],
    policy: Policy,
    known_systems: Mapping[str, System] | None = None,
) -> list[System]:
    """Return systems by their mean over queries, best first, with standard errors.

    Args:
        known_systems: systems with known means over these queries, by run; their ranks are ignored.
    """
    rows = []
    for run, scores in per_query.items():
        if known_systems and run in known_systems:
            rows.append(
                (
                    run,
                    known_systems[run].score,
                    known_systems[run].std_error,
                    known_systems[run].queries,
                )
            )
            continue
        score, error, answered = system_score(scores, queries, policy.skipped)
        # A run that answered none of the queries has no score if skipped queries are ignored.
        if score is not None:
            rows.append((run, score, error, answered))
    rows.sort(key=lambda row: (-row[1], row[0]))
    all_scores = [row[1] for row in rows]
    return [
        System(run, score, error, n, 1 + all_scores.index(score)) for run, score, error, n in rows
    ]


@dataclass(frozen=True)
class QueryScore:
    """A system's score on a query; None if the system skipped the query, or the leaderboard does
    not have it.

    Args:
        mean, official_mean: mean score on the query over all systems that answered it: on the
            leaderboard under study, and on the official leaderboard.
    """

    query_id: str
    text: str
    score: float | None
    mean: float | None
    official: float | None
    official_mean: float | None = None

    @property
    def loss(self) -> float | None:
        """The official score minus the score; negative if the official score is lower."""
        return None if self.score is None or self.official is None else self.official - self.score


@as_act("see boards")
def per_query_scores(
    project: Project, board: Leaderboard, official: Leaderboard | None, run: str
) -> list[QueryScore]:
    """Return the scores of one run by query, with the means over all systems that answered the
    query.

    Args:
        board: the leaderboard under study.
        official: the official leaderboard, if any.

    Returns:
        Queries with an official score, greatest loss first; then the other queries, in the order of
        the project.
    """
    own_scores = board.per_query.get(run, {})
    official_scores = official.per_query.get(run, {}) if official else {}
    queries = {query for scores in board.per_query.values() for query in scores}
    rows = [
        QueryScore(
            query_id,
            text,
            own_scores.get(query_id),
            _mean_of_query(board, query_id),
            official_scores.get(query_id),
            _mean_of_query(official, query_id) if official else None,
        )
        for query_id, text in project.rows("SELECT query_id, text FROM queries ORDER BY query_key")
        if query_id in queries
    ]
    return sorted(rows, key=lambda row: (row.loss is None, -(row.loss or 0.0)))


def _mean_of_query(board: Leaderboard, query_id: str) -> float | None:
    scores = [by_query[query_id] for by_query in board.per_query.values() if query_id in by_query]
    return fmean(scores) if scores else None


@dataclass(frozen=True)
class RankedPassage:
    """A ranked passage with its label and judgment. `question` is the one that gave the label."""

    rank: int
    passage_id: str
    text: str | None
    label: int | None
    judgment: int | None
    question: str | None


def inspect_query(
    project: Project, run: str, query_id: str, policy: Policy, source: str | None
) -> list[RankedPassage]:
    """Return the top of a run for one query, with labels and judgments.

    Args:
        policy: determines the labels; its cutoff is the number of passages.
        source: source of the judgments to show; None for no judgments.

    Raises:
        InputError: unknown grader or version.
    """
    base = basis(project, policy)
    return [
        RankedPassage(*row)
        for row in project.rows(
            f"WITH pairs AS (SELECT * FROM ({graded_pairs(base)}) JOIN queries USING (query_key)"
            "  WHERE query_id = $query),"
            f" labelled AS (SELECT passage_key, {base.label_sql} AS label,"
            "  arg_max(question_key, rating) FILTER (weight > 0 AND rating > 0) AS question_key"
            "  FROM pairs GROUP BY passage_key), wording AS (SELECT question_key, text_key"
            " FROM bank_at($version)) SELECT r.rank, passage_id, t.text, label, value,"
            "  coalesce(qt.text, asked.question_id) FROM rankings r"
            " JOIN runs ON runs.run_key = r.run_key AND runs.name = $run"
            " JOIN queries q ON q.query_key = r.query_key AND q.query_id = $query JOIN passages p"
            " ON p.passage_key = r.passage_key LEFT JOIN passage_texts t ON t.text_key = p.text_key"
            " LEFT JOIN labelled l ON l.passage_key = r.passage_key"
            " LEFT JOIN wording w ON w.question_key = l.question_key"
            f" LEFT JOIN {readable_texts(project)} qt ON qt.text_key = w.text_key"
            " LEFT JOIN questions asked ON asked.question_key = l.question_key"
            " LEFT JOIN (SELECT query_key, passage_key, value"
            f" FROM {visible_rows(project, 'judgments')} JOIN sources USING (source_key)"
            "  WHERE name = $source) j ON j.query_key = r.query_key"
            " AND j.passage_key = r.passage_key WHERE r.rank <= $cutoff ORDER BY r.rank",
            base.parameters
            | {"query": query_id, "run": run, "source": source, "cutoff": policy.cutoff},
        )
    ]
