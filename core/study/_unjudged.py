"""Unjudged passages: the share of each run's top k with a label or a judgment, and the passages to
grade next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import grading
from ..bank import check_version, find_grader, label_graders
from ..choices import LISTED_UNJUDGED
from ..errors import check_in_range
from ..grouping import nest_triples
from ..labels import DEFAULT_POLICY, Policy, basis, label_qrels
from ..measures import mean_and_standard_error
from ..records import check_runs, judgment_sources, pool_depth, ranking_scores, source_judgments
from ..store import Project, as_act, cached


@dataclass(frozen=True)
class JudgedShare:
    """The share of a run's top k with a value by one source.

    Args:
        source: `exam` for labels of the policy's grader, or the name of a source of judgments.
        top: number of passages in the run's top k, summed over its queries.
        known: number of these with a value. As in trec_eval, a negative judgment does not count.
        judged: Judged@k: the share of passages with a value, averaged over the queries that the run
            answered.
    """

    run: str
    source: str
    top_k: int
    top: int
    known: int
    judged: float | None


@dataclass(frozen=True)
class NextPassage:
    """A passage of a run's top k with missing pairs.

    Args:
        rank: rank of the passage in the run.
        ungraded, failed: numbers of its pairs (question text, passage text) that were never graded,
            and that were graded without a usable result.
    """

    run: str
    query_id: str
    passage_id: str
    rank: int
    ungraded: int
    failed: int


@dataclass(frozen=True)
class MissingGrades:
    """The missing grades in the top k of one run.

    Args:
        passages: number of (query, passage) in the run's top k.
        ungraded, failed: numbers of distinct pairs of texts without a usable grade, by the reason.
        not_pooled: number of passages outside the pool, which jobs do not grade. A greater pool
            depth includes them.
        without_text: number of passages whose text was not imported.
        next: passages with missing pairs, best rank first; at most the requested number.
        more: number of further passages with missing pairs.
    """

    run: str
    passages: int
    ungraded: int
    failed: int
    not_pooled: int
    without_text: int
    next: list[NextPassage]
    more: int


@dataclass(frozen=True)
class Unjudged:
    """Judged@k by run and source, and the passages to grade next by run."""

    top_k: int
    pool_depth: int
    grader: str | None
    shares: list[JudgedShare]
    to_grade: list[MissingGrades]


def unjudged_shares(
    project: Project,
    policy: Policy = DEFAULT_POLICY,
    top_k: int | None = None,
    runs: Sequence[str] | None = None,
    listed: int = LISTED_UNJUDGED,
) -> Unjudged:
    """Return the share of each run's top k with a label or a judgment, and the passages to grade
    next.

    With the pool's depth, `Scope(runs=...)` and `exam grade --run` grade exactly the pairs that are
    missing here.

    Args:
        policy: names the grader and the bank version.
        top_k: number of passages of each run and query to use; None for the pool's depth.
        runs: names of runs; None for all.
        listed: maximum number of passages to list per run.

    Raises:
        InputError: a run, grader or version is unknown, or the depth is below 1.
    """
    depth = project.read(pool_depth)
    top_k = depth if top_k is None else top_k
    check_in_range("depth-out-of-range", f"Depth {top_k}", "Use 1 or more.", top_k >= 1)
    names = list(ranking_scores(project)) if runs is None else check_runs(project, runs)
    # Judgments can be counted before anything is graded.
    grader = (
        find_grader(project, policy.grader) if policy.grader or label_graders(project) else None
    )
    return Unjudged(
        top_k,
        depth,
        None if grader is None else grader.spec.name,
        judged_shares(project, policy, top_k, names),
        [] if grader is None else [to_grade(project, policy, run, top_k, listed) for run in names],
    )


@as_act("see boards")
@cached()
def labelled_shares(project: Project, policy: Policy, top_k: int) -> dict[str, float | None]:
    """Return the share of each run's top k with a label under the policy, by run.

    Raises:
        InputError: the grader or version is unknown.
    """
    shares = judged_shares(project, policy, top_k, official=False)
    return {share.run: share.judged for share in shares}


def judged_shares(
    project: Project,
    policy: Policy,
    top_k: int,
    runs: Sequence[str] | None = None,
    official: bool = True,
) -> list[JudgedShare]:
    """Return Judged@k of runs by the policy's labels, if any, and by every source of judgments.

    Args:
        runs: names of runs; None for all.
        official: whether the sources of judgments are included.

    Raises:
        InputError: the grader or version is unknown.
    """
    names = list(ranking_scores(project)) if runs is None else check_runs(project, runs)
    labels_by_source = (
        {"exam": label_qrels(project, basis(project, policy))} if label_graders(project) else {}
    )
    labels_by_source |= {
        source: source_judgments(project, source)
        for source in judgment_sources(project)
        if official
    }
    rows = project.rows(
        "SELECT name, query_id, list(passage_id) FROM rankings JOIN runs"
        " USING (run_key) JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " WHERE rank <= $top_k AND list_contains($runs, name) GROUP BY ALL",
        {"top_k": top_k, "runs": names},
    )
    tops = nest_triples((run, query, set(passages)) for run, query, passages in rows)
    judged_by_source = {
        source: {
            query: {passage for passage, value in of_query.items() if value >= 0}
            for query, of_query in values.items()
        }
        for source, values in labels_by_source.items()
    }
    shares = []
    for run in names:
        for source, judged in judged_by_source.items():
            counts = [
                (len(passages & judged.get(query, set())), len(passages))
                for query, passages in tops.get(run, {}).items()
            ]
            share, _ = mean_and_standard_error(part / whole for part, whole in counts)
            top = sum(whole for _, whole in counts)
            shares.append(
                JudgedShare(run, source, top_k, top, sum(part for part, _ in counts), share)
            )
    return shares


def to_grade(
    project: Project, policy: Policy, run: str, top_k: int, listed: int = LISTED_UNJUDGED
) -> MissingGrades:
    """Return the missing grades in the top k of a run under a policy's grader and bank version.

    Raises:
        InputError: the run, grader or version is unknown.
    """
    check_runs(project, [run])
    grader = find_grader(project, policy.grader)
    parameters = {
        "version": check_version(project, policy.bank_version),
        "grader": grader.key,
        "queries": None,
        "runs": [run],
        "depth": top_k,
        "passages": None,
    }
    top = (
        "(SELECT query_key, passage_key, rank, s.text_key, p.passage_key IS NOT NULL AS pooled"
        " FROM rankings JOIN runs USING (run_key) JOIN passages s USING (passage_key)"
        " LEFT JOIN pool p USING (query_key, passage_key) WHERE name = $run AND rank <= $depth)"
    )
    ((passages, not_pooled, without_text),) = project.rows(
        "SELECT count(*), count(*) FILTER (NOT pooled), count(*) FILTER (text_key IS NULL)"
        f" FROM {top} WHERE $run IS NOT NULL",
        {"run": run, "depth": top_k},
    )
    pairs = f"({grading.missing_pairs(grader.spec)})"
    states = dict(project.rows(f"SELECT state, count(*) FROM {pairs} GROUP BY state", parameters))
    rows = project.rows(
        f"WITH missing AS (SELECT * FROM {pairs} WHERE state <> 'known')"
        " SELECT query_id, passage_id, rank, count(*) FILTER (state = 'ungraded'), count(*) FILTER"
        " (state = 'failed') FROM missing m"
        f" JOIN {top} t ON t.query_key = m.query_key AND t.text_key = m.passage_text_key AND pooled"
        " JOIN queries q ON q.query_key = t.query_key JOIN passages USING (passage_key)"
        " GROUP BY query_id, q.query_key, passage_id, rank ORDER BY rank, q.query_key",
        parameters | {"run": run},
    )
    return MissingGrades(
        run,
        passages,
        states.get("ungraded", 0),
        states.get("failed", 0),
        not_pooled,
        without_text,
        [NextPassage(run, *row) for row in rows[:listed]],
        max(0, len(rows) - listed),
    )
