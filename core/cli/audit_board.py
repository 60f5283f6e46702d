"""Commands that say what an audit tells: its board, the curve of widths, calibration, roles, the methods paragraph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core import audit as room
from core.audit import find_audit
from core.catalogue import grade_command
from core.cli.guests import File
from core.cli.options import author_option, json_option, opened, print_json, print_table, project_option, tell
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
@click.option("--from", "file", type=File(path_type=Path), metavar="FILE",
              help="Compute it from the file that a bundle has of the audit; no project is needed.")  # fmt: skip
@json_option
def board(project_path: Path | None, name: str | None, variance: Variance, file: Path | None, as_json: bool) -> None:
    """Print the audited board: machine score, audited score, interval, bias, and who cannot be told apart."""
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
    tell(("Target reached: " if found.statement.holds else "") + found.statement.says)
    if apart:
        tell(apart)
    if found.labels is not None:
        rates = ((name, _rate(getattr(found.labels, name))) for name in ("precision", "recall", "kappa"))
        tell("Labels: " + ", ".join(f"{name} {rate or 'undefined'}" for name, rate in rates) + ".")
    if found.correlation is not None and found.kendall is not None:
        tell(
            f"The machine's board with the fully judged one: Pearson {_rate(found.correlation) or 'undefined'},"
            f" Kendall's tau between {found.kendall[0]:z.2f} and {found.kendall[1]:z.2f}."
        )
    for group in found.groups:
        tell(f"Not told apart: {', '.join(group)}.")
    if found.favour is not None:
        tell(found.favour.says)


@click.command()
@project_option
@audit_option
@json_option
def curve(project_path: Path | None, name: str | None, as_json: bool) -> None:
    """Say how many judgments the goal will need, and how wide intervals are with how many."""
    with opened(project_path) as project:
        found = room.forecast(project, find_audit(project, name))
    if as_json:
        print_json(found.as_dict())
        return
    print_table(
        ("judgments", "width", "without machine", "uniform, without"),
        [(one.judgments, one.width, one.without_machine, one.uniform) for one in found.curve],
    )
    if found.width is not None:
        tell(f"The median width is {found.width:.4f} now.")
    tell(found.says)


@click.command()
@project_option
@audit_option
@click.option("--accept", metavar="NAME", help="Set the embedding grader up with the new cut points under this name.")
@author_option
@json_option
def calibrate(project_path: Path | None, name: str | None, accept: str | None, author: str, as_json: bool) -> None:
    """Say what each label means in judgments, and propose a min rating and cut points; nothing changes by itself."""
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
        tell(f"Set up '{accept}'. Next: {grade_command(accept)}")


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
        tell(f"Precision and recall are nearest at --min-rating {found.balanced}; it is {found.min_rating} now.")
    if found.new_cuts:
        tell(f"Cut points: {_cuts(found.new_cuts)} instead of {_cuts(found.cuts)}; --accept NAME sets them up.")
    elif found.why_no_cuts:
        tell(f"No cut points: {found.why_no_cuts}")


def _cuts(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.4f}" for cut in cuts)


def _rate(share: room.Share) -> str | None:
    return None if share.value is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


@click.command()
@project_option
@audit_option
@json_option
def methods(project_path: Path | None, name: str | None, as_json: bool) -> None:
    """Write the paragraph on the audit for a paper's methods section, with all numbers."""
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
