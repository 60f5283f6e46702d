"""The command that correlates evaluation methods with the official leaderboard, as in a paper's table."""

from __future__ import annotations

from typing import Annotated, cast

from ..labels import Policy, Skipped, usual_min_judgment
from ..measures import Ties
from ..store import Project
from ..study import (
    COEFFICIENTS,
    META_MEASURES,
    MIN_RATINGS,
    TITLES,
    UNDEFINED,
    Cell,
    caption,
    choose_rows,
    meta_latex,
    meta_table,
    meta_tsv,
)
from .console import counted
from .describing import MOST_DRAWS, Option
from .options import QueriesOption
from .output import Output, at_most_one
from .registry import operation

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
            help="Official leaderboard: judgments, a source, or an imported leaderboard; may be repeated.",
            metavar="NAME",
        ),
    ],
    names: Annotated[
        tuple[str, ...],
        Option(
            "--row",
            help="Grader (exam: the default grader), source of judgments, or leaderboard; may be repeated."
            " Default: all.",
            metavar="NAME",
        ),
    ] = (),
    measures: Annotated[
        tuple[str, ...],
        Option("--measure", help=f"Measure; may be repeated. Default: {', '.join(META_MEASURES)}.", metavar="NAME"),
    ] = (),
    min_ratings: Annotated[
        tuple[int, ...],
        Option(
            "--min-rating",
            help="Lowest rating at which a passage is relevant; may be repeated."
            f" Default: {', '.join(map(str, MIN_RATINGS))}.",
        ),
    ] = (),
    rules: Annotated[
        tuple[str, ...], Option("--label", help="Label rule; may be repeated.", metavar="max|support:M|mean")
    ] = ("max",),
    versions: Annotated[
        tuple[int, ...], Option("--bank-version", help="Bank version; may be repeated. Default: the newest.")
    ] = (),
    unweighted: Annotated[bool, Option(help="Ignore the weights of questions.")] = False,
    no_overrides: Annotated[bool, Option(help="Ignore overrides.")] = False,
    against_measure: Annotated[
        str | None, Option(help="Official measure for all columns. Default: the measure of each column.")
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
        str, Option(help="Score of a query that a run skipped: zero, or ignore the query.", choices=["zero", "ignore"])
    ] = "zero",
    coefficients: Annotated[
        tuple[str, ...],
        Option("--coefficient", help="Rank correlation; may be repeated. Default: all.", choices=COEFFICIENTS),
    ] = (),
    ties: Annotated[
        str, Option(help="Ties: average ranks, or the mean of random orders.", choices=["average", "random"])
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

    Each row is a grader, a source of judgments or an imported leaderboard at one min rating. Each measure has a column
    for Spearman, Kendall and tau_AP.
    """  # fmt: skip
    policy = Policy(
        weighted=not unweighted,
        overrides=not no_overrides,
        min_judgment=Policy.min_judgment if min_judgment is None else min_judgment,
        skipped=cast(Skipped, skipped),
    )
    shown = coefficients or COEFFICIENTS
    rows = choose_rows(project, names, min_ratings or MIN_RATINGS, rules, versions or (None,), policy)
    found = meta_table(
        project, rows, against, measures or META_MEASURES, against_measure, policy, cast(Ties, ties), repeats,
        within_error, samples, queries=queries,
    )  # fmt: skip
    if latex:
        return Output().text(meta_latex(found, shown))
    if tsv:
        return Output().text(meta_tsv(found, shown))
    output = Output(found.as_dict()).table(
        ("row", "min rating", "queries", *(f"{c.title} {TITLES[name]}" for c in found.columns for name in shown)),
        [
            (row.name, row.min_rating, row.queries, *(_text(cell, name) for cell in row.cells for name in shown))
            for row in found.rows
        ],
    )
    reasons = [f"{UNDEFINED} {reason} ({counted(len(where), 'cell')})" for reason, where in found.reasons().items()]
    return output.note(caption(found, "marked *", "marked +", "marked -"), *reasons)


def _text(cell: Cell, name: str) -> str:
    value = cell.value(name)
    if value is None:
        return UNDEFINED
    interval = cell.intervals.get(name)
    said = f" [{interval[0]:z.2f}, {interval[1]:z.2f}]" if interval else ""
    return f"{value:z.3f}{_MARKS.get(cell.marks[name], '')}{said}"
