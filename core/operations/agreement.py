"""The command that compares labels with judgments, with another grader or with a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from ..errors import InputError
from ..labels import Policy
from ..review import (
    Judgments,
    Labels,
    Person,
    Side,
    agreement as agreement_of,
    confirmation,
    machine,
    table_csv,
    table_latex,
)
from ..store import Project
from .describing import Option
from .output import Output, at_most_one
from .policy import PolicyOptions
from .registry import operation

one_right_side = at_most_one(source="--source", against_grader="--against-grader", against_person="--against-person")
"""Refuse more than one side to compare labels with."""


@operation(
    "agreement",
    act="read the bank",
    reads=True,
    not_json=(
        "latex",
        "as_csv",
    ),
)
@at_most_one(latex="--latex", as_csv="--csv")
@one_right_side
def agreement(
    project: Project,
    *,
    source: Annotated[str | None, Option(help="Source of the judgments (default: the first).")] = None,
    against_grader: Annotated[
        str | None, Option(help="Compare with another grader's labels, without overrides.", metavar="NAME")
    ] = None,
    against_person: Annotated[
        str | None, Option(help="Compare the grader's ratings with an assessor's overrides.", metavar="NAME")
    ] = None,
    first_blind: Annotated[
        bool, Option(help="Use the first blind judgments of --source, an assessor's source such as 'assessor: ann'.")
    ] = False,
    held_out: Annotated[
        bool, Option(help="Use only the judgments that are held out; see exam judgments hold-out.")
    ] = False,
    merged: Annotated[bool, Option(help="Use two levels per side, split at --min-rating and --min-judgment.")] = False,
    latex: Annotated[bool, Option(help="Print the table as LaTeX.")] = False,
    as_csv: Annotated[bool, Option("--csv", help="Print the table as CSV.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Compare labels with judgments: cross table and agreement coefficients."""
    both = sides(policy, source, against_grader, against_person)
    if first_blind and isinstance(both[1], Judgments):
        both = both[0], replace(both[1], blind=True)
    confirmed = confirmation(project, *both)
    if held_out and (confirmed is None or confirmed.held_out is None):
        raise InputError(
            "nothing-held-out",
            "No judgments are held out for this comparison.",
            "Hold out a share, and compare labels with judgments: exam judgments hold-out --share 0.3",
        )
    found = confirmed.held_out if held_out and confirmed and confirmed.held_out else agreement_of(project, *both)
    if latex:
        return Output().text(table_latex(found, merged))
    if as_csv:
        return Output().text(table_csv(found, merged))
    shown = found.merged if merged else found
    told = {} if confirmed is None else {"tuned": confirmed.tuned, "held_out": held_out}
    output = Output(shown.as_dict() | told).line(f"{shown.left} (rows) against {shown.right} (columns)")
    table = shown.table
    kappas = [level.value for level in shown.per_level.values()]
    output.table(
        (shown.left.noun, *table.column_names, "total", "kappa"),
        [
            (name, *counts, total, kappa)
            for name, counts, total, kappa in zip(
                table.row_names, table.counts.tolist(), table.row_totals, kappas, strict=True
            )
        ],
    )
    for name, whole in (
        ("Cohen's kappa", shown.kappa),
        ("with quadratic weights", shown.weighted_kappa),
        ("Krippendorff's alpha, ordinal", shown.alpha),
    ):
        output.line(f"{name}: " + (f"undefined ({whole.undefined})" if whole.value is None else f"{whole.value:.4f}"))
    return output.note(
        f"Pairs with both: {shown.n:,}. Only {shown.left.noun}s: {shown.left_only:,}."
        f" Only {shown.right}: {shown.right_only:,}." + (f" {confirmed}" if confirmed and not held_out else "")
    )


def sides(policy: Policy, source: str | None, grader: str | None, person: str | None) -> tuple[Side, Side]:
    """Return the two sides of a comparison: the policy's labels with judgments, a grader or a person."""
    if grader is not None:
        return machine(policy), machine(policy, grader)
    if person is not None:
        return Labels(policy), Person(person, policy.min_rating)
    return Labels(policy), Judgments(source or "judgments", policy.min_judgment)
