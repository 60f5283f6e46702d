"""Commands that study a leaderboard: its basis, significance, and agreement with the official
leaderboard.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from .. import bank, labels, study
from ..choices import (
    CURVE_K,
    DEFAULT_MEASURE,
    LISTED_UNJUDGED,
    META_COEFFICIENTS,
    META_MEASURES,
    META_MIN_RATINGS,
    MOST_CURVE_K,
    PERMUTATIONS,
    SELECTION_MEASURES,
    SELECTION_TOP_K,
    SystemCorrection,
    SystemTest,
    Ties,
)
from ..labels import Skipped, usual_min_judgment
from ..text import how_many
from .policy import PolicyOptions, QueriesOption
from .registry import MOST_DRAWS, Option, Output, Project, at_most_one, operation

_SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
OnlyRuns = Annotated[tuple[str, ...], Option("--run", help="Only this run; may be repeated.")]


@operation("coverage-curve", act="see boards", reads=True)
def curve(
    project: Project,
    *,
    max_k: Annotated[int, Option(help="Maximum k.", least=1, most=MOST_CURVE_K)] = CURVE_K,
    runs: OnlyRuns = (),
    policy: PolicyOptions,
) -> Output:
    """Show coverage by the number of passages read: EXAM-Cover@k for every k."""
    curves = labels.cover_curves(project, policy, max_k, runs or None)
    output = Output(curves.as_dict())
    shown = [k for k in _SHOWN if k < max_k] + [max_k]
    output.table(
        ("run", *(f"@{k}" for k in shown)),
        [(curve.run, *(curve.scores[k - 1] for k in shown)) for curve in curves.curves],
    )
    ends = (
        f"The pool ends at rank {curves.pool_depth}. Deeper passages are graded only if"
        " other runs pool them."
    )
    return output.note(curves.queries_sentence, ends if max_k > curves.pool_depth else None)


@operation("sample-size", act="see boards", reads=True)
def sample_size(
    project: Project,
    *,
    measure: Annotated[
        str, Option(help="Measure, such as nDCG@10, AP or EXAM-Cover@20.")
    ] = DEFAULT_MEASURE,
    policy: PolicyOptions,
) -> Output:
    """Show the effect of fewer queries, and of fewer questions per query, on the leaderboard.

    Each row is the mean over random samples of this size: the smallest difference that is separated
    (median over pairs of systems), and Kendall's tau with the whole leaderboard.
    """
    queries = study.sample_queries(project, labels.leaderboard(project, measure, "exam", policy))
    questions = study.sample_questions(project, measure, policy)
    found = {"queries": queries, "questions per query": questions}
    output = Output({name: [vars(size) for size in sizes] for name, sizes in found.items()})
    for name, sizes in found.items():
        output.table(
            (name, "separable", "kendall", "lowest", "highest"),
            [tuple(vars(size).values()) for size in sizes],
        )
    return output.note(
        study.queries_sentence(queries),
        study.questions_sentence(questions),
        study.SAMPLE_LIMITS if questions else None,
    )


@operation("selection", act="read the bank", reads=True)
def selection(
    project: Project,
    *,
    against: Annotated[str, Option(help="Source of judgments to compare with.")] = "judgments",
    top_k: Annotated[
        int, Option(help="Passages to classify per run and query.", least=1)
    ] = SELECTION_TOP_K,
    measures: Annotated[
        tuple[str, ...],
        Option(
            "--measure", help=f"Measure; may be repeated. Default: {', '.join(SELECTION_MEASURES)}."
        ),
    ] = (),
    unjudged_zero: Annotated[bool, Option(help="Count unjudged passages as non-relevant.")] = False,
    unreadable_no: Annotated[
        bool, Option(help="Count the grader's unreadable replies as non-relevant.")
    ] = False,
    queries: QueriesOption = "common",
    policy: PolicyOptions,
) -> Output:
    """Compare a grader with judgments: relevant passages, and the best system by each measure."""
    comparison = study.compare_selection(
        project,
        against,
        policy,
        top_k,
        measures or SELECTION_MEASURES,
        unjudged_zero,
        unreadable_no,
        queries,
    )
    return (
        Output(comparison.as_dict())
        .line(f"{comparison.grader} compared with {comparison.against}, top {comparison.top_k}")
        .line(_verdicts_line(comparison.verdicts, unreadable_no))
        .table(
            (
                "passages of",
                "precision",
                "recall",
                "F1",
                "accuracy",
                "compared",
                "unlabelled",
                "unjudged",
            ),
            [
                (
                    name,
                    c.precision,
                    c.recall,
                    c.f1,
                    c.accuracy,
                    c.compared,
                    c.unlabelled,
                    c.unjudged,
                )
                for name, c in [("all runs", comparison.overall), *comparison.per_run.items()]
            ],
        )
        .table(
            ("measure", "best by grader", "best by judgments", "same choice", "pearson"),
            [
                (
                    choice.measure,
                    ", ".join(choice.best_by_judge),
                    ", ".join(choice.best_by_truth),
                    "yes" if choice.same_choice else "no",
                    choice.pearson,
                )
                for choice in comparison.choices
            ],
        )
        .line(
            f"Pearson over all measures and systems: {comparison.pearson:z.4f}"
            if comparison.pearson is not None
            else f"undefined: {comparison.undefined}"
        )
        .line(comparison.queries.description)
    )


def _verdicts_line(verdicts: study.VerdictCounts, unreadable_no: bool) -> str:
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
    top_k: Annotated[
        int | None, Option(help="Passages per run and query. Default: the pool depth.", least=1)
    ] = None,
    listed: Annotated[
        int, Option("--list", help="Passages to list for grading next, per run.", least=0)
    ] = LISTED_UNJUDGED,
    policy: PolicyOptions,
) -> Output:
    """Show the share of each run with a label or a judgment, and list passages to grade next."""
    coverage = study.unjudged_shares(project, policy, top_k, runs or None, listed)
    output = Output(asdict(coverage)).table(
        ("run", "source", f"Judged@{coverage.top_k}", "judged", "of"),
        [
            (share.run, share.source, share.judged, share.known, share.top)
            for share in coverage.shares
        ],
    )
    for run in coverage.to_grade:
        if run.ungraded or run.failed:
            hint = _grading_hint(project, policy, run)
            output.note(
                f"{run.run}: {how_many(run.ungraded, 'pairs')} ungraded,"
                f" {run.failed:,} failed. {hint}"
            )
        if run.not_pooled:
            output.note(
                f"{run.run}: {how_many(run.not_pooled, 'passages')} not pooled."
                f" The pool ends at rank {coverage.pool_depth}. Run: exam pool --depth"
                f" {coverage.top_k}"
            )
        if run.without_text:
            output.note(
                f"{run.run}: {how_many(run.without_text, 'passages')} without text. Run: exam"
                " import passages FILE"
            )
    return output


def _grading_hint(project: Project, policy: labels.Policy, run: study.MissingGrades) -> str:
    """Return the command that grades a run's missing pairs, by the grader of the shown labels."""
    version = [] if policy.bank_version is None else ["--bank-version", str(policy.bank_version)]
    retry = ["--retry-failed"] if run.failed else []
    return bank.how_to_grade(
        project, bank.find_grader(project, policy.grader).spec, "--run", run.run, *version, *retry
    )


@operation("significance", act="see boards", reads=True)
def significance(
    project: Project,
    *,
    measure: Annotated[
        str, Option(help="Measure, such as nDCG@10, AP or EXAM-Cover@20.")
    ] = DEFAULT_MEASURE,
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    test: Annotated[SystemTest, Option(help="Significance test, paired over queries.")] = "t",
    correction: Annotated[
        SystemCorrection, Option(help="Correction for multiple comparisons.")
    ] = "holm",
    baseline: Annotated[
        str | None, Option(help="System to compare with. Default: the best.", metavar="RUN")
    ] = None,
    permutations: Annotated[
        int, Option(help="Minimum permutations of the randomisation test.", most=100 * MOST_DRAWS)
    ] = PERMUTATIONS,
    seed: Annotated[int, Option(help="Random seed of the randomisation test.", least=0)] = 0,
    policy: PolicyOptions,
) -> Output:
    """Show which systems differ significantly from the best system or from a baseline."""
    board = labels.leaderboard(project, measure, source, policy)
    rows = study.compare_systems(board, baseline, test, correction, permutations, seed)
    against = baseline or next((system.run for system in board.systems), None)
    value = {
        "measure": board.measure,
        "source": board.source,
        "policy": board.policy.as_dict(),
        "test": test,
        "correction": correction,
        "baseline": against,
        "systems": [row.as_dict() for row in rows],
    }
    answers = {True: "yes", False: "no", None: None}
    return (
        Output(value)
        .line(
            f"{board.measure} ({board.source}), baseline {against}, test {test},"
            f" correction {correction}"
        )
        .table(
            (
                "run",
                "difference",
                "bars overlap",
                "queries",
                "p",
                "corrected",
                "differs",
                "undefined",
            ),
            [
                (
                    r.run,
                    r.difference,
                    answers[r.error_bars_overlap],
                    r.queries,
                    r.p,
                    r.corrected,
                    answers[r.differs],
                    r.undefined or "",
                )
                for r in rows
            ],
        )
        .note(board.ungraded_note)
    )


_MARKS = {"best": "*", "near": "+", "poor": "-"}


@operation(
    "meta-evaluation",
    act="see boards",
    reads=True,
    not_json=(
        "latex",
        "tsv",
    ),
)
@at_most_one(latex="--latex", tsv="--tsv")
def meta(
    project: Project,
    *,
    against: Annotated[
        tuple[str, ...],
        Option(
            help=(
                "Official leaderboard: judgments, a source, or an imported"
                " leaderboard; may be repeated."
            ),
            metavar="NAME",
        ),
    ],
    names: Annotated[
        tuple[str, ...],
        Option(
            "--row",
            help="Grader (exam: the default grader), source of judgments, or leaderboard; may be"
            " repeated. Default: all.",
            metavar="NAME",
        ),
    ] = (),
    measures: Annotated[
        tuple[str, ...],
        Option(
            "--measure",
            help=f"Measure; may be repeated. Default: {', '.join(META_MEASURES)}.",
            metavar="NAME",
        ),
    ] = (),
    min_ratings: Annotated[
        tuple[int, ...],
        Option(
            "--min-rating",
            help="Lowest rating at which a passage is relevant; may be repeated."
            f" Default: {', '.join(map(str, META_MIN_RATINGS))}.",
        ),
    ] = (),
    rules: Annotated[
        tuple[str, ...],
        Option("--label", help="Label rule; may be repeated.", metavar="max|support:M|mean"),
    ] = ("max",),
    versions: Annotated[
        tuple[int, ...],
        Option("--bank-version", help="Bank version; may be repeated. Default: the newest."),
    ] = (),
    unweighted: Annotated[bool, Option(help="Ignore the weights of questions.")] = False,
    no_overrides: Annotated[bool, Option(help="Ignore overrides.")] = False,
    against_measure: Annotated[
        str | None,
        Option(help="Official measure for all columns. Default: the measure of each column."),
    ] = None,
    min_judgment: Annotated[
        int | None,
        Option(
            help="Lowest judgment of a relevant passage on the official leaderboard"
            " (default: the level of an imported data set, else 1).",
            kept=usual_min_judgment,
        ),
    ] = None,
    skipped: Annotated[
        Skipped, Option(help="Score of a query that a run skipped: zero, or ignore the query.")
    ] = "zero",
    coefficients: Annotated[
        tuple[str, ...],
        Option(
            "--coefficient",
            help="Rank correlation; may be repeated. Default: all.",
            choices=META_COEFFICIENTS,
        ),
    ] = (),
    ties: Annotated[
        Ties, Option(help="Ties: average ranks, or the mean of random orders.")
    ] = "average",
    repeats: Annotated[int, Option(help="Number of random orders.", most=MOST_DRAWS)] = 10,
    within_error: Annotated[
        bool, Option(help="With --ties random, systems with overlapping error bars are ties.")
    ] = False,
    samples: Annotated[
        int,
        Option(
            "--bootstrap",
            help="Bootstrap samples of queries for 95% intervals, such as 1000.",
            most=MOST_DRAWS,
            metavar="N",
        ),
    ] = 0,
    queries: QueriesOption = "common",
    latex: Annotated[bool, Option(help="Print a LaTeX tabular.")] = False,
    tsv: Annotated[bool, Option(help="Print tab-separated values.")] = False,
) -> Output:
    """Correlate graders and other sources with the official leaderboard.

    Each row is a grader, a source of judgments or an imported leaderboard at one min rating. Each
    measure has a column for Spearman, Kendall and tau_AP.
    """
    policy = labels.Policy(
        weighted=not unweighted,
        overrides=not no_overrides,
        min_judgment=labels.Policy.min_judgment if min_judgment is None else min_judgment,
        skipped=skipped,
    )
    coefficients_shown = coefficients or META_COEFFICIENTS
    rows = study.choose_rows(
        project, names, min_ratings or META_MIN_RATINGS, rules, versions or (None,), policy
    )
    result = study.meta_table(
        project,
        rows,
        against,
        measures or META_MEASURES,
        against_measure,
        policy,
        ties,
        repeats,
        within_error,
        samples,
        queries=queries,
    )
    if latex:
        return Output().text(study.meta_latex(result, coefficients_shown))
    if tsv:
        return Output().text(study.meta_tsv(result, coefficients_shown))
    output = Output(result.as_dict()).table(
        (
            "row",
            "min rating",
            "queries",
            *(
                f"{c.title} {study.TITLES[name]}"
                for c in result.columns
                for name in coefficients_shown
            ),
        ),
        [
            (
                row.name,
                row.min_rating,
                row.queries,
                *(_cell_text(cell, name) for cell in row.cells for name in coefficients_shown),
            )
            for row in result.rows
        ],
    )
    reasons = [
        f"{study.UNDEFINED} {reason} ({how_many(len(where), 'cells')})"
        for reason, where in result.reasons().items()
    ]
    return output.note(study.make_caption(result, "marked *", "marked +", "marked -"), *reasons)


def _cell_text(cell: study.Cell, name: str) -> str:
    value = cell.value(name)
    if value is None:
        return study.UNDEFINED
    interval = cell.intervals.get(name)
    said = f" [{interval[0]:z.2f}, {interval[1]:z.2f}]" if interval else ""
    return f"{value:z.3f}{_MARKS.get(cell.marks[name], '')}{said}"
