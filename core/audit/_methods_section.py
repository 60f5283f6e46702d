"""A paragraph for the methods section of a paper, with every number of an audit."""

from __future__ import annotations

from ..bank import find_grader
from ..store import Project
from ..text import first_few, how_many
from ._audit_data import Facts, gather
from ._audit_records import Audit, batches
from ._audited_leaderboard import AuditBoard, audit_board
from ._calibration import Share
from ._circularity import circularity
from ._verdicts import assessors


def methods(project: Project, audit: Audit) -> str:
    """Return the description and results of an audit, in sentences for a paper."""
    facts, board = gather(project, audit), audit_board(project, audit)
    parts = [_plan(project, audit, facts), _sample(project, audit, facts)]
    if board.batches:
        parts += [_estimate(audit, board), _found(board)]
    parts.append(_roles(project, audit, board))
    return " ".join(part for part in parts if part)


def _plan(project: Project, audit: Audit, facts: Facts) -> str:
    graders = " and ".join(find_grader(project, one).spec.name for one in audit.graders)
    gain = (
        f"A passage counted as relevant if its judgment was at least {facts.min_judgment:,}, and by the grader's labels"
        f" if its label was at least {facts.min_rating:,}."
        if facts.top_gain == 1
        else f"The gain of a passage was its judgment (0–{facts.top_judgment:,})."
    )
    return (
        f"Systems were scored by {audit.measure_title} (systems: {len(audit.runs):,}, queries:"
        f" {len(audit.queries):,}). {gain} We audited the labels of {graders} for the {len(facts.weights.items):,}"
        f" passages that affect a score. Goal of the audit: {audit.goal.says}."
    )


def _sample(project: Project, audit: Audit, facts: Facts) -> str:
    drawn = batches(project, audit)
    if not drawn:
        return "No batch has been drawn yet."
    people = {one.name for batch in drawn for one in assessors(project, audit, batch.number) if one.judged}
    said = (
        f"We drew a Poisson sample of {sum(b.drawn for b in drawn):,} passages (batches: {len(drawn):,},"
        f" seed {audit.seed}). Inclusion probabilities were proportional to a passage's weight in the systems' scores"
    )
    if len(drawn) > 1:
        said += " and, after the first batch, to its expected residual"
    said += (
        f". {how_many(len(people), 'assessors').capitalize()} judged {sum(b.judged for b in drawn):,} of the passages"
    )
    looked = sum(batch.looked for batch in facts.batches)
    said += f"; labels were revealed for {how_many(looked, 'passages')}." if looked else " without seeing labels."
    if missed := sum(b.cannot_say for b in drawn):
        said += f" Passages that could not be judged: {missed:,}."
    if drawn[0].known:
        said += f" Passages judged before the audit: {drawn[0].known:,}. They enter with probability 1."
    return said


def _estimate(audit: Audit, board: AuditBoard) -> str:
    about = "these queries" if board.variance == "pool" else "a population of similar queries"
    said = (
        "Judgments were predicted from labels, ratings and answered questions by ridge regression, cross-fitted over"
        " passages. Each score is the sum of the predictions, corrected by the inversely weighted residuals of the"
        " sample (difference estimator). The shares that combine the batches were fixed before the first batch."
        f" The estimate is unbiased for any grader. Intervals ({board.confidence:.0%}, Student's t) are about {about}."
        " Pairs of systems were compared with Holm's correction."
    )
    # An audit with a budget draws no conclusion, so its interim analyses spend no error.
    if audit.goal.aim != "budget":
        said += (
            f" The error of {1 - board.confidence:.2g} for the conclusion was spent over"
            f" {how_many(board.statement.looks, 'planned interim analyses')} (power family)."
            " The conclusion therefore allows for interim analyses."
        )
    return said


def _found(board: AuditBoard) -> str:
    widths = sorted(s.high - s.low for s in board.systems if s.high is not None and s.low is not None)
    half = f"{widths[len(widths) // 2] / 2:.4f}" if widths else "unknown"
    but = f" (unknown for {first_few(board.untested)})" if widths and board.untested else ""
    biases = [s.bias for s in board.systems if s.bias is not None]
    said = (
        f"{board.statement.says} The median half width of the intervals is {half}{but}. The bias of the grader's scores"
        f" ranges from {min(biases):+z.4f} to {max(biases):+z.4f}."
    )
    if board.labels is not None:
        said += (
            f" The labels have a precision of {_rate(board.labels.precision)}, a recall of"
            f" {_rate(board.labels.recall)} and a Cohen's kappa of {_rate(board.labels.kappa)}."
        )
    if board.correlation is not None and board.correlation.value is not None:
        said += (
            " Corrected for sampling noise, Pearson's correlation of the grader's leaderboard with a fully judged one"
            f" is {_rate(board.correlation)}."
        )
    if board.people is not None and board.people.value is not None:
        said += f" For passages judged twice, Cohen's kappa of the two assessors is {board.people.value:z.3f}."
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
