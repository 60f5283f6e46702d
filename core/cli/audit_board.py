"""Commands that say what an audit tells: its board, the curve of widths, calibration, roles, the methods paragraph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from .. import audit as room
from ..audit import find_audit
from ..catalogue import grade_command
from ..formats import read_small
from ..labels import Policy
from ..measures.audit import VARIANCES, Variance
from .guests import File
from .options import author_option, json_option, opened, print_json, print_table, project_option, tell
from .policy import policy_options

audit_option = click.option("--audit", "name", help="Audit (default: the newest open one).")


@click.command()
@project_option
@audit_option
@click.option("--variance", type=click.Choice(VARIANCES), default="pool", show_default=True,
              help="pool: intervals for these queries; queries: for similar queries too.")  # fmt: skip
@click.option("--from", "file", type=File(path_type=Path), metavar="FILE",
              help="Use the audit file of a bundle instead of a project.")  # fmt: skip
@json_option
def board(project_path: Path | None, name: str | None, variance: Variance, file: Path | None, as_json: bool) -> None:
    """Show the audited leaderboard: scores, intervals, bias and systems not separated."""
    if file is not None:
        facts = room.read_facts(read_small(file), str(file))
        found, apart = room.board_of(facts, variance), room.told_apart_of(facts, room.board_of(facts))
    else:
        with opened(project_path) as project:
            audit = find_audit(project, name)
            found, apart = room.audit_board(project, audit, variance), room.told_apart(project, audit)
    if as_json:
        print_json(found.as_dict())
        return
    print_table(
        ("rank", "run", found.measure, "low", "high", "grader", "grader's rank", "bias", "low", "high", "order"),
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
    tell(("Target reached: " if found.statement.holds else "") + found.statement.says)
    if apart:
        tell(apart)
    if found.labels is not None:
        rates = ((name, _rate(getattr(found.labels, name))) for name in ("precision", "recall", "kappa"))
        tell("Labels: " + ", ".join(f"{name} {rate or 'undefined'}" for name, rate in rates) + ".")
    if found.correlation is not None and found.kendall is not None:
        tell(
            f"Grader's leaderboard against the fully judged one: Pearson {_rate(found.correlation) or 'undefined'},"
            f" Kendall's tau from {found.kendall[0]:z.2f} to {found.kendall[1]:z.2f}."
        )
    for group in found.groups:
        tell(f"Not separated: {', '.join(group)}.")
    if found.favour is not None:
        tell(found.favour.says)


@click.command()
@project_option
@audit_option
@json_option
def curve(project_path: Path | None, name: str | None, as_json: bool) -> None:
    """Estimate how many judgments the goal needs, and the width of the intervals."""
    with opened(project_path) as project:
        found = room.forecast(project, find_audit(project, name))
    if as_json:
        print_json(found.as_dict())
        return
    print_table(
        ("judgments", "width", "without grader", "uniform, without grader"),
        [(one.judgments, one.width, one.without_machine, one.uniform) for one in found.curve],
    )
    if found.width is not None:
        tell(f"Current median width: {found.width:.4f}.")
    tell(found.says)


@click.command()
@project_option
@audit_option
@click.option("--accept", metavar="NAME", help="Save the embedding grader with the new cut points under this name.")
@author_option
@json_option
def calibrate(project_path: Path | None, name: str | None, accept: str | None, author: str, as_json: bool) -> None:
    """Compare labels with judgments, and propose a min rating and cut points.

    Without --accept, nothing changes.
    """
    with opened(project_path) as project:
        audit = find_audit(project, name)
        found = room.calibration(project, audit)
        if accept is not None:
            room.accept_cut_points(project, audit, accept, author)
    if as_json:
        print_json(asdict(found))
    else:
        _print_calibration(found)
    if accept is not None:
        tell(f"Saved '{accept}'. Next: {grade_command(accept)}")


def _print_calibration(found: room.Calibration) -> None:
    values = sorted({value for one in found.meanings for value in one.chances})
    print_table(
        ("label", "passages", "judged", "mean judgment", *(f"judged {value}" for value in values)),
        [
            (one.label, one.passages, one.judged, one.mean)
            + tuple(_rate(one.chances[value]) if value in one.chances else None for value in values)
            for one in found.meanings
        ],
    )
    click.echo()
    print_table(
        ("min rating", "precision", "recall", "accuracy", "kappa"),
        [
            (one.rating,) + tuple(map(_rate, (one.quality.precision, one.quality.recall, one.quality.accuracy,
                                              one.quality.kappa)))
            for one in found.min_ratings
        ],
    )  # fmt: skip
    if found.balanced is not None and found.balanced != found.min_rating:
        tell(f"Precision and recall are closest at --min-rating {found.balanced} (now {found.min_rating}).")
    if found.new_cuts:
        tell(f"Proposed cut points: {_cuts(found.new_cuts)} (now {_cuts(found.cuts)}). Save them with --accept NAME.")
    elif found.why_no_cuts:
        tell(f"No cut points proposed: {found.why_no_cuts}")


def _cuts(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.4f}" for cut in cuts)


def _rate(share: room.Share) -> str | None:
    return None if share.value is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


@click.command()
@project_option
@audit_option
@json_option
def methods(project_path: Path | None, name: str | None, as_json: bool) -> None:
    """Show a paragraph about the audit for the methods section of a paper."""
    with opened(project_path) as project:
        said = room.methods(project, find_audit(project, name))
    if as_json:
        print_json({"methods": said})
    else:
        click.echo(said)


@click.command()
@project_option
@policy_options
@json_option
def roles(project_path: Path | None, policy: Policy, as_json: bool) -> None:
    """List the models of questions, grader and systems, with warnings about overlap."""
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
