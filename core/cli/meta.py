"""The command that says how well ways to evaluate agree with the official leaderboard: a paper's table."""

from __future__ import annotations

from typing import cast

import click

from ..labels import Policy, Skipped
from ..leaderboard import QueryChoice
from ..measures import Ties
from ..project import Project
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
from .options import (
    MOST_DRAWS,
    Whole,
    counted,
    json_option,
    project_option,
    queries_option,
)
from .printing import Output, at_most_one, on_project

_MARKS = {"best": "*", "near": "+", "poor": "-"}


@click.command()
@project_option
@click.option(
    "--against",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Official leaderboard: judgments, a source, or an imported leaderboard; may be repeated.",
)
@click.option(
    "--row",
    "names",
    multiple=True,
    metavar="NAME",
    help="Grader (exam: the default grader), source of judgments, or leaderboard; may be repeated. Default: all.",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help=f"Measure; may be repeated. Default: {', '.join(META_MEASURES)}.",
)
@click.option(
    "--min-rating",
    "min_ratings",
    multiple=True,
    type=Whole(),
    help=f"Rating from which a passage is relevant; may be repeated. Default: {', '.join(map(str, MIN_RATINGS))}.",
)
@click.option(
    "--label",
    "rules",
    multiple=True,
    default=("max",),
    metavar="max|support:M|mean",
    help="Label rule; may be repeated.",
)
@click.option(
    "--bank-version",
    "versions",
    multiple=True,
    type=Whole(),
    help="Bank version; may be repeated. Default: the newest.",
)
@click.option("--unweighted", is_flag=True, help="Ignore the weights of questions.")
@click.option("--no-overrides", is_flag=True, help="Ignore overrides.")
@click.option("--against-measure", help="Official measure for all columns. Default: the measure of each column.")
@click.option(
    "--min-judgment",
    type=Whole(),
    default=1,
    show_default=True,
    help="Judgment from which a passage is relevant on the official leaderboard.",
)
@click.option(
    "--skipped",
    type=click.Choice(["zero", "ignore"]),
    default="zero",
    show_default=True,
    help="A query that a run skipped scores zero, or is ignored.",
)
@click.option(
    "--coefficient",
    "coefficients",
    multiple=True,
    type=click.Choice(COEFFICIENTS),
    help="Rank correlation; may be repeated. Default: all.",
)
@click.option(
    "--ties",
    type=click.Choice(["average", "random"]),
    default="average",
    show_default=True,
    help="Ties: average ranks, or the mean of random orders.",
)
@click.option("--repeats", type=Whole(most=MOST_DRAWS), default=10, show_default=True, help="Number of random orders.")
@click.option("--within-error", is_flag=True, help="With --ties random, systems with overlapping error bars are ties.")
@click.option(
    "--bootstrap",
    "samples",
    type=Whole(most=MOST_DRAWS),
    default=0,
    metavar="N",
    help="Bootstrap samples of queries for 95 % intervals, such as 1000.",
)
@queries_option
@click.option("--latex", is_flag=True, help="Print a LaTeX tabular.")
@click.option("--tsv", is_flag=True, help="Print tab-separated values.")
@json_option
@at_most_one(latex="--latex", tsv="--tsv", as_json="--json")
@on_project
def meta(
    project: Project,
    against: tuple[str, ...],
    names: tuple[str, ...],
    measures: tuple[str, ...],
    min_ratings: tuple[int, ...],
    rules: tuple[str, ...],
    versions: tuple[int, ...],
    unweighted: bool,
    no_overrides: bool,
    against_measure: str | None,
    min_judgment: int,
    skipped: str,
    coefficients: tuple[str, ...],
    ties: str,
    repeats: int,
    within_error: bool,
    samples: int,
    queries: QueryChoice,
    latex: bool,
    tsv: bool,
) -> Output:
    """Correlate graders and other sources with the official leaderboard.

    Each row is a grader, a source of judgments or an imported leaderboard at one min rating. Each measure has a column
    for Spearman, Kendall and tau_AP.
    """  # fmt: skip
    policy = Policy(
        weighted=not unweighted,
        overrides=not no_overrides,
        min_judgment=min_judgment,
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
