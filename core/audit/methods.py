"""A paragraph for the methods section of a paper, with every number of an audit."""

from __future__ import annotations

from core.audit.board import AuditBoard, audit_board
from core.audit.calibrating import Share
from core.audit.circularity import circularity
from core.audit.facts import Facts, gather
from core.audit.records import Audit, batches
from core.audit.verdicts import assessors
from core.catalogue import find_grader
from core.project import Project
from core.text import first_few, how_many


def methods(project: Project, audit: Audit) -> str:
    """What was done and what came of it, in sentences that can stand in a paper."""
    facts, board = gather(project, audit), audit_board(project, audit)
    parts = [_plan(project, audit, facts), _sample(project, audit, facts)]
    if board.batches:
        parts += [_estimate(audit, board), _found(board)]
    parts.append(_roles(project, audit, board))
    return " ".join(part for part in parts if part)


def _plan(project: Project, audit: Audit, facts: Facts) -> str:
    graders = " and ".join(find_grader(project, one).spec.name for one in audit.graders)
    gain = (
        f"a passage being relevant from a judgment of {facts.min_judgment:,}, and to the machine from a label of"
        f" {facts.min_rating:,}"
        if facts.top_gain == 1
        else f"the gain of a passage being its judgment, 0 to {facts.top_judgment:,}"
    )
    return (
        f"{how_many(len(audit.runs), 'systems')} were scored by {audit.measure_title} over"
        f" {how_many(len(audit.queries), 'queries')}, {gain}. The labels of {graders} for the"
        f" {len(facts.weights.items):,} passages that count for any system were audited to find out {audit.goal.says}."
    )


def _sample(project: Project, audit: Audit, facts: Facts) -> str:
    drawn = batches(project, audit)
    if not drawn:
        return "Nothing has been drawn yet."
    people = {one.name for batch in drawn for one in assessors(project, audit, batch.number) if one.judged}
    said = (
        f"In {len(drawn):,} {'batch' if len(drawn) == 1 else 'batches'} a Poisson sample of"
        f" {sum(b.drawn for b in drawn):,} passages was drawn"
        f" (seed {audit.seed}), with chances proportional to the passage's weight in the systems' scores"
    )
    if len(drawn) > 1:
        said += " and, after the first batch, to the residual that was expected from what had been judged"
    said += (
        f"; {how_many(len(people), 'assessors')} judged {sum(b.judged for b in drawn):,} of them without seeing the"
        " machine's labels"
    )
    if looked := sum(batch.looked for batch in facts.batches):
        said += f", but for {how_many(looked, 'passages')} whose label was asked for"
    if missed := sum(b.cannot_say for b in drawn):
        said += f", and could not say of {missed:,}"
    said += "."
    if drawn[0].known:
        said += f" {how_many(drawn[0].known, 'passages')} had been judged before; they count as known, not as a sample."
    return said


def _estimate(audit: Audit, board: AuditBoard) -> str:
    about = "the pool of these queries" if board.variance == "pool" else "queries of their kind"
    said = (
        "Judgments were predicted from the labels, ratings and answered questions by ridge regression, cross-fitted"
        " over passages, and each score is the sum of predictions corrected by the inversely weighted residuals of the"
        " sample (difference estimator; batches combined with shares fixed before the first), which is unbiased"
        f" whatever the machine does. Intervals are of {board.confidence:.0%}, by Student's t, about {about}; pairs of"
        " systems are compared with Holm's correction."
    )
    # An audit to a budget states nothing, so that no look spends any error.
    if audit.goal.aim != "budget":
        said += (
            f" The error of {1 - board.confidence:.2g} for the statement was spent over"
            f" {how_many(board.statement.looks, 'planned looks')} (power family), so that it holds although the board"
            " was looked at after every batch."
        )
    return said


def _found(board: AuditBoard) -> str:
    widths = sorted(s.high - s.low for s in board.systems if s.high is not None and s.low is not None)
    half = f"{widths[len(widths) // 2] / 2:.4f}" if widths else "not known"
    but = f", but for {first_few(board.untested)}, whose interval is not known" if widths and board.untested else ""
    biases = [s.bias for s in board.systems if s.bias is not None]
    said = (
        f"{board.statement.says} The median half width of the intervals is {half}{but}; the machine's scores are off by"
        f" {min(biases):+z.4f} to {max(biases):+z.4f}."
    )
    if board.labels is not None:
        said += (
            f" Of the labels the precision is {_rate(board.labels.precision)}, the recall {_rate(board.labels.recall)},"
            f" Cohen's kappa {_rate(board.labels.kappa)}."
        )
    if board.correlation is not None and board.correlation.value is not None:
        said += (
            " Freed of the noise of the sample, the correlation of the machine's board with the one that judging"
            f" everything would give is Pearson's {_rate(board.correlation)}."
        )
    if board.people is not None and board.people.value is not None:
        said += f" On passages judged twice, two assessors agree with a kappa of {board.people.value:z.3f}."
    return said


def _rate(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "undefined"
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


def _roles(project: Project, audit: Audit, board: AuditBoard) -> str:
    found = circularity(project, audit.policy, audit.runs)
    said = [found.says, *found.warnings]
    if board.favour is not None:
        said.append(board.favour.says)
    return " ".join(said)
