"""Commands that say what an audit tells: its board, the curve of widths, calibration, roles, the methods paragraph."""

from __future__ import annotations

from pathlib import Path

import click

from core import audit as room
from core.audit import find_audit
from core.cli.options import json_option, opened, print_json, print_table, project_option, tell
from core.cli.policy import policy_options
from core.formats import read_small
from core.labels import Policy
from core.measures.audit import VARIANCES, Variance

audit_option = click.option("--audit", "name", help="The audit; the newest that is not ended where not given.")


@click.command()
@project_option
@audit_option
@click.option("--variance", type=click.Choice(VARIANCES), default="pool", show_default=True,
              help="Whether intervals are about these queries, or about more of their kind.")  # fmt: skip
@click.option("--from", "file", type=click.Path(path_type=Path), metavar="FILE",
              help="Compute it from the file that a bundle has of the audit; no project is needed.")  # fmt: skip
@json_option
def board(project_path: Path | None, name: str | None, variance: Variance, file: Path | None, as_json: bool) -> None:
    """Print the audited board: machine score, audited score, interval, bias, and who cannot be told apart."""
    if file is not None:
        found = room.board_of(room.read_facts(read_small(file), str(file)), variance)
    else:
        with opened(project_path) as project:
            found = room.audit_board(project, find_audit(project, name), variance)
    if as_json:
        print_json(found.as_dict())
        return
    print_table(
        ("rank", "run", found.measure, "low", "high", "machine", "its rank", "bias", "low", "high", "order"),
        [
            (
                s.rank,
                s.run,
                s.audited,
                s.low,
                s.high,
                s.machine,
                s.machine_rank,
                s.bias,
                s.bias_low,
                s.bias_high,
                s.order,
            )
            for s in found.systems
        ],
    )
    tell(found.says)
    tell(found.statement.says)
    for group in found.groups:
        tell(f"Not told apart: {', '.join(group)}.")
    if found.favour is not None:
        tell(found.favour.says)


@click.command()
@project_option
@policy_options
@json_option
def roles(project_path: Path | None, policy: Policy, as_json: bool) -> None:
    """Say who wrote the questions, who graded, and which systems use the same models."""
    with opened(project_path) as project:
        found = room.circularity(project, policy)
    if as_json:
        print_json({
            "questions": vars(found.questions),
            "grader": vars(found.grader),
            "runs": [vars(run) for run in found.runs],
            "kin": found.kin,
            "warnings": found.warnings,
        })  # fmt: skip
        return
    click.echo(found.says)
    print_table(("run", "made with"), [(run.name, run.says) for run in found.runs])
    for warning in found.warnings:
        tell(f"warning: {warning}")
