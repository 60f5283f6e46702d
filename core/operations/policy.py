"""The scoring settings, for every operation that turns grades into labels or scores."""

from __future__ import annotations

from typing import Annotated, Literal

from ..labels import Policy, Skipped, usual_min_judgment
from .registry import GatheredOptions, Option


def _policy_options(
    *,
    grader: Annotated[str | None, Option(help="Name of the grader; see exam graders list.")] = None,
    bank_version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    min_rating: Annotated[
        int, Option(help="Lowest rating at which a question counts as answered.")
    ] = Policy.min_rating,
    cutoff: Annotated[int, Option(help="Rank depth of EXAM-Cover.")] = Policy.cutoff,
    label: Annotated[
        str, Option(help="Label rule: how ratings become a label.", metavar="max|support:M|mean")
    ] = Policy.label,
    rating_rule: Annotated[
        str,
        Option(
            help="Rating rule: the written rating, or the expectation over the probabilities of"
            " ratings at cut points (default .5, 1.5, and so on). The embedding grader uses its"
            " cosine instead of the expectation.",
            metavar="written|expected|expected:C1,C2,C3,C4,C5",
        ),
    ] = Policy.rating,
    unweighted: Annotated[
        bool, Option(help="Replace positive weights by 1 and negative weights by -1.")
    ] = False,
    no_overrides: Annotated[
        bool, Option(help="Use the grader's ratings without overrides.")
    ] = False,
    skipped: Annotated[
        Skipped, Option(help="Score of a query that a run skipped: zero, or ignore the query.")
    ] = Policy.skipped,
    min_judgment: Annotated[
        int | None,
        Option(
            help="Lowest judgment of a relevant passage in binary measures"
            " (default: the level of an imported data set, else 1).",
            kept=usual_min_judgment,
        ),
    ] = None,
) -> Policy:
    return Policy(
        grader=grader,
        bank_version=bank_version,
        min_rating=min_rating,
        cutoff=cutoff,
        label=label,
        rating=rating_rule,
        weighted=not unweighted,
        skipped=skipped,
        # None only without a project, for grades in files.
        min_judgment=Policy.min_judgment if min_judgment is None else min_judgment,
        overrides=not no_overrides,
    )


PolicyOptions = Annotated[Policy, GatheredOptions(_policy_options)]

QueriesOption = Annotated[
    Literal["common", "all", "own"],
    Option(
        "--queries",
        help="Queries of the comparison. common: fully graded queries of both leaderboards; all:"
        " all queries of both; own: each leaderboard's own queries.",
    ),
]
"""The queries over which two leaderboards are compared: a `leaderboard.QueryChoice`."""
