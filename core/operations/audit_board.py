"""Commands that show the results of an audit: leaderboard, graders, widths, calibration, roles, and methods."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from .. import audit as room
from ..audit import find_audit
from ..bank import grade_command
from ..formats import read_small
from ..measures.audit import VARIANCES, Rate, Variance
from ..store import Project
from .describing import Option
from .opening import Opening
from .options import Author
from .output import Output
from .policy import PolicyOptions
from .registry import operation

AuditName = Annotated[str | None, Option("--audit", help="Audit (default: the newest open one).")]


@operation("audit leaderboard", act="read the bank", reads=True)
def board(
    opening: Opening,
    *,
    name: AuditName = None,
    variance: Annotated[
        Variance, Option(help="pool: intervals for these queries; queries: for similar queries too.", choices=VARIANCES)
    ] = "pool",
    file: Annotated[
        Path | None,
        Option("--from", help="Use the audit file of a bundle instead of a project.", file="read", metavar="FILE"),
    ] = None,
) -> Output:
    """Show the audited leaderboard: scores, intervals, bias and systems not separated."""
    if file is not None:
        facts = room.read_facts(read_small(file), str(file))
        found, reached = room.board_of(facts, variance), room.outcome_of(facts, room.board_of(facts))
    else:
        with opening() as project:
            audit = find_audit(project, name)
            found, reached = room.audit_board(project, audit, variance), room.outcome(project, audit)
    output = Output(found.as_dict()).table(
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
    output.note(reached.says, reached.conclusion, found.says)
    output.note(f"Separated pairs of systems: {reached.separated:,} of {reached.pairs:,} (Holm)." * (reached.pairs > 0))
    if found.labels is not None:
        rates = ((name, _rate(getattr(found.labels, name))) for name in ("precision", "recall", "kappa"))
        output.note("Labels: " + ", ".join(f"{name} {rate or 'undefined'}" for name, rate in rates) + ".")
    if found.correlation is not None and found.kendall is not None:
        output.note(
            f"Grader's leaderboard against the fully judged one: Pearson {_rate(found.correlation) or 'undefined'},"
            f" Kendall's tau from {found.kendall[0]:z.2f} to {found.kendall[1]:z.2f}."
        )
    output.note(*(f"Not separated: {', '.join(group)}." for group in found.groups))
    if found.favour is not None:
        output.note(found.favour.says)
    return output


@operation("audit curve", act="read the bank", reads=True)
def curve(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Estimate how many judgments the goal needs, and the width of the intervals."""
    found = room.forecast(project, find_audit(project, name))
    output = Output(found.as_dict()).table(
        ("judgments", "width", "without grader", "uniform, without grader"),
        [(one.judgments, one.width, one.without_machine, one.uniform) for one in found.curve],
    )
    if found.width is not None:
        output.note(f"Current median width: {found.width:.4f}.")
    return output.note(found.says)


@operation("audit graders", act="read the bank", reads=True)
def choose_grader(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Compare all graders by the judgments of one audit, and choose one.

    The correlation is that of a grader's leaderboard with the audited leaderboard.
    """
    found = room.choose_grader(project, find_audit(project, name))
    output = Output(found.as_dict()).table(
        ("grader", "labelled", "correlation", "behind the chosen", "low", "high", "not separated"),
        [
            (one.grader, one.labelled, one.correlation, one.behind, one.low, one.high, "yes" if one.kept else "no")
            for one in found.graders
        ],
    )
    return output.note(found.says)


@operation("audit calibrate", act="read the bank", reads=lambda given: given["accept"] is None)
def calibrate(
    project: Project,
    *,
    name: AuditName = None,
    accept: Annotated[
        str | None, Option(help="Save the embedding grader with the new cut points under this name.", metavar="NAME")
    ] = None,
    author: Author,
) -> Output:
    """Compare labels with judgments, and propose a min rating and cut points.

    Without --accept, nothing changes.
    """
    audit = find_audit(project, name)
    output = _calibration_output(room.calibration(project, audit))
    if accept is not None:
        room.accept_cut_points(project, audit, accept, author)
        output.note(f"Saved '{accept}'. Next: {grade_command(accept)}")
    return output


def _calibration_output(found: room.Calibration) -> Output:
    output = Output(asdict(found))
    values = sorted({value for one in found.meanings for value in one.chances})
    output.table(
        ("label", "passages", "judged", "mean judgment", *(f"judged {value}" for value in values)),
        [
            (one.label, one.passages, one.judged, one.mean)
            + tuple(_rate(one.chances[value]) if value in one.chances else None for value in values)
            for one in found.meanings
        ],
    )
    output.table(
        ("min rating", "precision", "recall", "accuracy", "kappa"),
        [
            (one.rating,) + tuple(map(_rate, (one.quality.precision, one.quality.recall, one.quality.accuracy,
                                              one.quality.kappa)))
            for one in found.min_ratings
        ],
    )  # fmt: skip
    if found.balanced is not None and found.balanced != found.min_rating:
        output.note(f"Precision and recall are closest at --min-rating {found.balanced} (now {found.min_rating}).")
    if found.new_cuts:
        proposed = f"Proposed cut points: {_cuts(found.new_cuts)} (now {_cuts(found.cuts)})."
        output.note(f"{proposed} Save them with --accept NAME.")
    elif found.why_no_cuts:
        output.note(f"No cut points proposed: {found.why_no_cuts}")
    return output


def _cuts(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.4f}" for cut in cuts)


def _rate(share: Rate) -> str | None:
    return None if share.value is None else f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


@operation("audit methods", act="read the bank", reads=True)
def methods(
    project: Project,
    *,
    name: AuditName = None,
) -> Output:
    """Show a paragraph about the audit for the methods section of a paper."""
    paragraph = room.methods(project, find_audit(project, name))
    return Output({"methods": paragraph}).line(paragraph)


@operation("audit roles", act="read the bank", reads=True)
def roles(
    project: Project,
    *,
    policy: PolicyOptions,
) -> Output:
    """List the models of questions, grader and systems, with warnings about overlap."""
    found = room.circularity(project, policy)
    output = Output(
        {
            "questions": vars(found.questions),
            "grader": vars(found.grader),
            "runs": [vars(run) for run in found.runs],
            "kin": found.kin,
            "warnings": found.warnings,
        }
    )
    output.line(found.says)
    output.table(("run", "made with"), [(run.name, run.says) for run in found.runs])
    return output.note(*(f"warning: {warning}" for warning in found.warnings))
