"""Commands about the basis of a leaderboard: coverage by budget, choice of a system by a grader, unjudged passages."""

from __future__ import annotations

from typing import Annotated

from ..bank import find_grader, how_to_grade
from ..labels import DEFAULT_MAX_K, DEFAULT_MEASURE, MAX_K, Policy, cover_curves, leaderboard
from ..store import Project
from ..study import (
    DEFAULT_TOP_K,
    LISTED,
    SELECTION_MEASURES,
    ToGrade,
    VerdictCounts,
    sample_queries,
    sample_questions,
    says_queries,
    says_questions,
    select,
    unjudged as find_unjudged,
)
from .console import counted
from .describing import Option
from .options import QueriesOption
from .output import Output
from .policy import PolicyOptions
from .registry import operation

_SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
OnlyRuns = Annotated[tuple[str, ...], Option("--run", help="Only this run; may be repeated.")]


@operation("coverage-curve", act="see boards", reads=True)
def curve(
    project: Project,
    *,
    max_k: Annotated[int, Option(help="Maximum k.", least=1, most=MAX_K)] = DEFAULT_MAX_K,
    runs: OnlyRuns = (),
    policy: PolicyOptions,
) -> Output:
    """Show coverage by the number of passages read: EXAM-Cover@k for every k."""
    found = cover_curves(project, policy, max_k, runs or None)
    output = Output(found.as_dict())
    shown = [k for k in _SHOWN if k < max_k] + [max_k]
    output.table(
        ("run", *(f"@{k}" for k in shown)),
        [(curve.run, *(curve.scores[k - 1] for k in shown)) for curve in found.curves],
    )
    if max_k > found.pool_depth:
        output.note(
            f"The pool ends at rank {found.pool_depth}. Deeper passages are graded only if other runs pool them."
        )
    return output


@operation("sample-size", act="see boards", reads=True)
def sample_size(
    project: Project,
    *,
    measure: Annotated[str, Option(help="Measure, such as nDCG@10, AP or EXAM-Cover@20.")] = DEFAULT_MEASURE,
    policy: PolicyOptions,
) -> Output:
    """Show the effect of fewer queries, and of fewer questions per query, on the leaderboard.

    Each row is the mean over random samples of this size: the smallest difference that is separated (median over pairs
    of systems), and Kendall's tau with the whole leaderboard.
    """
    queries = sample_queries(project, leaderboard(project, measure, "exam", policy))
    questions = sample_questions(project, measure, policy)
    found = {"queries": queries, "questions per query": questions}
    output = Output({name: [vars(size) for size in sizes] for name, sizes in found.items()})
    for name, sizes in found.items():
        columns = (name, "separable", "kendall", "lowest", "highest")
        output.table(columns, [tuple(vars(size).values()) for size in sizes])
    return output.note(says_queries(queries), says_questions(questions))


@operation("selection", act="read the bank", reads=True)
def selection(
    project: Project,
    *,
    against: Annotated[str, Option(help="Source of judgments to compare with.")] = "judgments",
    top_k: Annotated[int, Option(help="Passages to classify per run and query.", least=1)] = DEFAULT_TOP_K,
    measures: Annotated[
        tuple[str, ...],
        Option("--measure", help=f"Measure; may be repeated. Default: {', '.join(SELECTION_MEASURES)}."),
    ] = (),
    unjudged_zero: Annotated[bool, Option(help="Count unjudged passages as non-relevant.")] = False,
    unreadable_no: Annotated[bool, Option(help="Count the grader's unreadable replies as non-relevant.")] = False,
    queries: QueriesOption = "common",
    policy: PolicyOptions,
) -> Output:
    """Compare a grader with judgments: relevant passages, and the best system by each measure."""
    found = select(
        project, against, policy, top_k, measures or SELECTION_MEASURES, unjudged_zero, unreadable_no, queries
    )
    output = Output(found.as_dict()).line(f"{found.grader} compared with {found.against}, top {found.top_k}")
    output.line(_verdicts_line(found.verdicts, unreadable_no))
    output.table(
        ("passages of", "precision", "recall", "F1", "accuracy", "compared", "unlabelled", "unjudged"),
        [
            (name, c.precision, c.recall, c.f1, c.accuracy, c.compared, c.unlabelled, c.unjudged)
            for name, c in [("all runs", found.overall), *found.per_run.items()]
        ],
    )
    output.table(
        ("measure", "best by grader", "best by judgments", "same choice", "pearson"),
        [
            (
                choice.measure,
                ", ".join(choice.best_by_judge),
                ", ".join(choice.best_by_truth),
                "yes" if choice.same_choice else "no",
                choice.pearson,
            )
            for choice in found.choices
        ],
    )
    output.line(
        f"Pearson over all measures and systems: {found.pearson:z.4f}"
        if found.pearson is not None
        else f"undefined: {found.undefined}"
    )
    return output.line(found.queries.says)


def _verdicts_line(verdicts: VerdictCounts, unreadable_no: bool) -> str:
    counts = ", ".join(
        f"{name} {getattr(verdicts, name):,}" + ("" if share is None else f" ({share:.1%})")
        for name, share in verdicts.shares.items()
    )
    counted = ", counted as no" if unreadable_no else ""
    return f"labels: {counts}{counted}; ungraded {verdicts.ungraded:,}"


@operation("unjudged", act="read the bank", reads=True)
def unjudged(
    project: Project,
    *,
    runs: OnlyRuns = (),
    top_k: Annotated[int | None, Option(help="Passages per run and query. Default: the pool depth.", least=1)] = None,
    listed: Annotated[int, Option("--list", help="Passages to list for grading next, per run.", least=0)] = LISTED,
    policy: PolicyOptions,
) -> Output:
    """Show the share of each run with a label or a judgment, and list passages to grade next."""
    found = find_unjudged(project, policy, top_k, runs or None, listed)
    output = Output(found.as_dict()).table(
        ("run", "source", f"Judged@{found.top_k}", "judged", "of"),
        [(share.run, share.source, share.judged, share.known, share.top) for share in found.shares],
    )
    for run in found.to_grade:
        if run.ungraded or run.failed:
            hint = _hint(project, policy, run)
            output.note(f"{run.run}: {counted(run.ungraded, 'pair')} ungraded, {run.failed:,} failed. {hint}")
        if run.not_pooled:
            output.note(
                f"{run.run}: {counted(run.not_pooled, 'passage')} not pooled. The pool ends at rank {found.pool_depth}."
                f" Run: exam pool --depth {found.top_k}"
            )
        if run.without_text:
            output.note(
                f"{run.run}: {counted(run.without_text, 'passage')} without text. Run: exam import passages FILE"
            )
    return output


def _hint(project: Project, policy: Policy, run: ToGrade) -> str:
    """Return the command that grades the missing pairs of a run, by the grader of the shown labels."""
    version = [] if policy.bank_version is None else ["--bank-version", str(policy.bank_version)]
    retry = ["--retry-failed"] if run.failed else []
    return how_to_grade(project, find_grader(project, policy.grader).spec, "--run", run.run, *version, *retry)
