"""The policy options, which every command takes that turns grades into labels or scores."""

from __future__ import annotations

import click

from ..labels import Policy
from .options import Whole, gathered_options


def _policy(
    grader: str | None,
    bank_version: int | None,
    min_rating: int,
    cutoff: int,
    label: str,
    unweighted: bool,
    skipped: str,
    min_judgment: int,
    no_overrides: bool,
) -> Policy:
    return Policy(
        grader=grader,
        bank_version=bank_version,
        min_rating=min_rating,
        cutoff=cutoff,
        label=label,
        weighted=not unweighted,
        skipped="ignore" if skipped == "ignore" else "zero",
        min_judgment=min_judgment,
        overrides=not no_overrides,
    )


policy_options = gathered_options(
    "policy",
    _policy,
    click.option("--grader", help="Name of the grader; see exam graders list."),
    click.option("--bank-version", type=Whole(), help="Bank version (default: the newest)."),
    click.option(
        "--min-rating",
        type=Whole(),
        default=Policy.min_rating,
        show_default=True,
        help="Rating from which a question counts as answered.",
    ),
    click.option("--cutoff", type=Whole(), default=Policy.cutoff, show_default=True, help="Rank depth of EXAM-Cover."),
    click.option(
        "--label",
        default=Policy.label,
        show_default=True,
        metavar="max|support:M|mean",
        help="Label rule: how ratings become a label.",
    ),
    click.option("--unweighted", is_flag=True, help="Replace positive weights by 1 and negative weights by -1."),
    click.option("--no-overrides", is_flag=True, help="Use the grader's ratings without overrides."),
    click.option(
        "--skipped",
        type=click.Choice(["zero", "ignore"]),
        default=Policy.skipped,
        show_default=True,
        help="Score of a query that a run skipped: zero, or ignore the query.",
    ),
    click.option(
        "--min-judgment",
        type=Whole(),
        default=Policy.min_judgment,
        show_default=True,
        help="Judgment from which a passage is relevant in binary measures.",
    ),
)
"""Options that turn grades into labels or scores; a command gets them as `policy`."""
