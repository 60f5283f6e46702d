"""The command that says how well labels agree with judgments, with another grader or with a person."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InputError
from ..labels import Policy
from ..review import Judgments, Labels, Person, Side, machine, table_csv, table_latex
from ..review import agreement as agreement_of
from .options import json_option, opened, print_json, print_table, project_option, tell
from .policy import policy_options


@click.command()
@project_option
@click.option("--source", help="Source of the judgments (default: the first).")
@click.option("--against-grader", metavar="NAME", help="Compare with another grader's labels, without overrides.")
@click.option("--against-person", metavar="NAME", help="Compare the grader's ratings with an assessor's overrides.")
@click.option("--merged", is_flag=True, help="Use two levels per side, split at --min-rating and --min-judgment.")
@click.option("--latex", is_flag=True, help="Print the table as LaTeX.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@policy_options
@json_option
def agreement(
    project_path: Path | None,
    source: str | None,
    against_grader: str | None,
    against_person: str | None,
    merged: bool,
    latex: bool,
    as_csv: bool,
    policy: Policy,
    as_json: bool,
) -> None:
    """Compare labels with judgments: cross table and agreement coefficients."""
    if sum((latex, as_csv, as_json)) > 1:
        raise InputError(
            "options-exclude-each-other", "--latex, --csv and --json cannot be combined.", "Use one of them."
        )
    left, right = sides(policy, source, against_grader, against_person)
    with opened(project_path) as project:
        found = agreement_of(project, left, right)
    if latex or as_csv:
        click.echo(table_latex(found, merged) if latex else table_csv(found, merged), nl=False)
        return
    shown = found.merged if merged else found
    if as_json:
        print_json(shown.as_dict())
        return
    click.echo(f"{shown.left} (rows) against {shown.right} (columns)")
    table = shown.table
    kappas = [level.value for level in shown.per_level.values()]
    print_table(
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
        click.echo(f"{name}: " + (f"undefined ({whole.undefined})" if whole.value is None else f"{whole.value:.4f}"))
    tell(
        f"Pairs with both: {shown.n:,}. Only {shown.left.noun}s: {shown.left_only:,}."
        f" Only {shown.right}: {shown.right_only:,}."
    )


def sides(policy: Policy, source: str | None, grader: str | None, person: str | None) -> tuple[Side, Side]:
    """What is compared with what: the policy's labels with judgments, a grader or a person.

    Raises:
        InputError: several were named.
    """
    if sum(name is not None for name in (source, grader, person)) > 1:
        raise InputError(
            "options-exclude-each-other",
            "--source, --against-grader and --against-person cannot be combined.",
            "Use one of them.",
        )
    if grader is not None:
        return machine(policy), machine(policy, grader)
    if person is not None:
        return Labels(policy), Person(person, policy.min_rating)
    return Labels(policy), Judgments(source or "judgments", policy.min_judgment)
