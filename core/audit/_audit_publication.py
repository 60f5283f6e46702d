"""Audits in publications: files of a bundle, notices, and a methods section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..bank import find_grader
from ..errors import InputError, WorkbenchError
from ..labels import DEFAULT_POLICY, Policy
from ..measures.audit import Rate, linear_measure
from ..store import Project, as_act
from ..text import first_few, how_many
from ._audit_data import AuditNumbers, DrawnBatch, Values, gather_facts
from ._audit_plan import weights_from
from ._audit_records import Audit, Goal, find_audits, list_batches
from ._audited_leaderboard import AuditBoard, audit_board
from ._grader_cards import find_circularity
from ._verdicts import list_audit_assessors

FORMAT, FORMAT_VERSION = "exam-workbench audit", 1


def audit_files(project: Project) -> dict[str, tuple[str, bytes]]:
    """Return the audit files of a bundle: for each audit with a batch its design, seed, chances and
    judgments.

    Returns:
        By file name, a sentence that describes the file, and its content, without names of
        assessors.
    """
    files = {}
    with_batches = [audit for audit in find_audits(project) if list_batches(project, audit)]
    for number, audit in enumerate(with_batches, 1):
        facts = gather_facts(project, audit)
        name = f"audit-{number}.json"
        description = (
            f"The audit '{facts.name}' by {facts.measure}: its"
            " design, seed, ranks, chances and judgments.\n"
            f"    exam audit leaderboard --from {name} recomputes its leaderboard"
            " without the project."
        )
        files[name] = (
            description,
            (json.dumps(facts_as_json(facts), ensure_ascii=False) + "\n").encode(),
        )
    return files


def facts_as_json(facts: AuditNumbers) -> dict[str, Any]:
    """Return the facts of an audit as plain values; None for missing values."""
    column = {item: i for i, item in enumerate(facts.weights.items)}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **{name: getattr(facts, name) for name in _PLAIN},
        "goal": facts.goal.as_dict(),
        "queries": facts.weights.queries,
        "passages": [list(item) for item in facts.weights.items],
        "ranks": {
            run: [
                [column[query, passage], rank]
                for one, query, passage, rank in facts.ranks
                if one == run
            ]
            for run in facts.weights.systems
        },
        "labels": _without_nan(facts.labels),
        "features": {name: _without_nan(values) for name, values in facts.columns.items()},
        "batches": [
            {
                "number": batch.number,
                "size": batch.size,
                "design": dict(batch.design),
                "done": batch.done,
                "looked": batch.looked,
                **{name: _without_nan(getattr(batch, name)) for name in _VALUES},
                **{name: np.flatnonzero(getattr(batch, name)).tolist() for name in _FLAGS},
            }
            for batch in facts.batches
        ],
    }


_PLAIN = (
    "name",
    "measure",
    "source",
    "batch_size",
    "looks",
    "alpha",
    "seed",
    "top_rating",
    "min_rating",
    "min_judgment",
    "top_judgment",
)
_VALUES = ("chances", "sizes", "known", "first", "second")
_FLAGS = ("drawn", "doubled")


def _without_nan(values: Values) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def read_facts(data: bytes, name: str) -> AuditNumbers:
    """Return the facts of an audit from its file in a bundle.

    Args:
        data: content of the file.
        name: name of the file, for messages.

    Raises:
        InputError: the file is not an audit file, or comes from a newer version.
    """
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(
            "not-an-audit", f"{name} is not an audit file ({error}).", _WHICH
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError("not-an-audit", f"{name} is not an audit file of a bundle.", _WHICH)
    if content.get("format_version") != FORMAT_VERSION:
        raise InputError(
            "unknown-format-version",
            f"Unknown format version {content.get('format_version')} of {name}. This program reads"
            f" version {FORMAT_VERSION}.",
            "Use the version of Exam Workbench that wrote the file, or a newer version than that.",
        )
    try:
        return _facts_from_json(content)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, WorkbenchError) as error:
        raise InputError(
            "not-an-audit", f"Cannot read the audit in {name} ({error}).", _WHICH
        ) from error


_WHICH = "Use an audit file of a bundle, such as audit-1.json."


def _facts_from_json(content: Mapping[str, Any]) -> AuditNumbers:
    items = [(str(query), str(passage)) for query, passage in content["passages"]]
    ranks = [
        (str(run), *items[int(at)], int(rank))
        for run, ranking in content["ranks"].items()
        for at, rank in ranking
    ]
    weights = weights_from(
        ranks, list(content["ranks"]), linear_measure(content["measure"]), int(content["queries"])
    )
    if list(weights.items) != items:
        raise ValueError("passages do not match the ranks")
    n = len(items)
    return AuditNumbers(
        **{name: content[name] for name in _PLAIN},
        goal=Goal(**content["goal"]),
        weights=weights,
        ranks=ranks,
        labels=_values_from_json(content["labels"], n),
        columns={
            str(name): _values_from_json(values, n) for name, values in content["features"].items()
        },
        batches=[
            DrawnBatch(
                number=int(batch["number"]),
                size=int(batch["size"]),
                looked=int(batch["looked"]),
                done=bool(batch["done"]),
                design=dict(batch["design"]),
                **_batch_arrays(batch, n),
            )
            for batch in content["batches"]
        ],
    )


def _batch_arrays(batch: Mapping[str, Any], n: int) -> dict[str, Any]:
    values = {name: _values_from_json(batch[name], n) for name in _VALUES}
    return {**values, **{name: np.isin(np.arange(n), batch[name]) for name in _FLAGS}}


def _values_from_json(values: Any, n: int) -> Values:
    if len(values) != n:
        raise ValueError(f"{len(values)} values for {n} passages")
    return np.array([np.nan if value is None else float(value) for value in values])


@as_act("see boards")
def audited_by(
    project: Project, policy: Policy = DEFAULT_POLICY, measure: str | None = None
) -> Audit | None:
    """Return the newest audit of a grader's labels that has a leaderboard; None without one.

    Args:
        measure: an audit of this measure is preferred to newer audits of other measures.
    """
    finished = [
        audit
        for audit in _audits_of_policy(project, policy)
        if any(batch.done for batch in list_batches(project, audit))
    ]
    return next(
        (audit for audit in reversed(finished) if audit.measure == measure),
        finished[-1] if finished else None,
    )


@as_act("see boards")
def under_way(project: Project, policy: Policy = DEFAULT_POLICY) -> Audit | None:
    """Return the newest open audit of a grader's labels that has no leaderboard yet; None without
    one.
    """
    begun = (audit for audit in reversed(_audits_of_policy(project, policy)) if not audit.ended)
    return next(
        (audit for audit in begun if not any(batch.done for batch in list_batches(project, audit))),
        None,
    )


def _audits_of_policy(project: Project, policy: Policy) -> list[Audit]:
    fingerprint = find_grader(project, policy.grader).spec.fingerprint
    return [audit for audit in find_audits(project) if audit.graders[0] == fingerprint]


def audit_notice(project: Project, policy: Policy = DEFAULT_POLICY) -> str:
    """Return the notice for a leaderboard of the grader's labels: whether it was audited, and the
    roles of models.
    """
    roles = find_circularity(project, policy)
    return " ".join((_audited_notice(project, policy), roles.description, *roles.warnings))


def _audited_notice(project: Project, policy: Policy) -> str:
    if (audit := audited_by(project, policy)) is not None:
        return (
            "These scores rest on the grader's labels. For audited scores: exam audit leaderboard"
            f" {audit.option}."
        )
    begun = under_way(project, policy)
    how = "design" if begun is None else f"status {begun.option}"
    yet = "Not audited" if begun is None else f"Audit '{begun.name}' is in progress"
    return f"{yet}: the error of these scores is unknown (exam audit {how})."


def describe_methods(project: Project, audit: Audit) -> str:
    """Return the description and results of an audit, in sentences for a paper."""
    facts, board = gather_facts(project, audit), audit_board(project, audit)
    parts = [_describe_plan(project, audit, facts), _describe_sample(project, audit, facts)]
    if board.batches:
        parts += [_describe_estimate(audit, board), _describe_results(board)]
    parts.append(_describe_roles(project, audit, board))
    return " ".join(part for part in parts if part)


def _describe_plan(project: Project, audit: Audit, facts: AuditNumbers) -> str:
    graders = " and ".join(find_grader(project, one).spec.name for one in audit.graders)
    gain = (
        f"A passage counted as relevant if its judgment was at least {facts.min_judgment:,}, and by"
        f" the grader's labels if its label was at least {facts.min_rating:,}."
        if facts.top_gain == 1
        else f"The gain of a passage was its judgment (0–{facts.top_judgment:,})."
    )
    return (
        f"Systems were scored by {audit.measure_title} (systems: {len(audit.runs):,}, queries:"
        f" {len(audit.queries):,}). {gain} We audited the labels of {graders} for the"
        f" {len(facts.weights.items):,}"
        f" passages that affect a score. Goal of the audit: {audit.goal.description}."
    )


def _describe_sample(project: Project, audit: Audit, facts: AuditNumbers) -> str:
    drawn = list_batches(project, audit)
    if not drawn:
        return "No batch has been drawn yet."
    people = {
        assessor.name
        for batch in drawn
        for assessor in list_audit_assessors(project, audit, batch.number)
        if assessor.judged
    }
    looked = sum(batch.looked for batch in facts.batches)
    missed, known_count = sum(batch.cannot_say for batch in drawn), drawn[0].known
    phrases = (
        (
            True,
            f"We drew a Poisson sample of {sum(b.drawn for b in drawn):,} passages (batches:"
            f" {len(drawn):,}, seed {audit.seed}). Inclusion probabilities were proportional to a"
            " passage's weight in the systems' scores",
        ),
        (len(drawn) > 1, " and, after the first batch, to its expected residual"),
        (
            True,
            f". {how_many(len(people), 'assessors').capitalize()} judged"
            f" {sum(b.judged for b in drawn):,} of the passages",
        ),
        (looked, f"; labels were revealed for {how_many(looked, 'passages')}."),
        (not looked, " without seeing labels."),
        (missed, f" Passages that could not be judged: {missed:,}."),
        (
            known_count,
            f" Passages judged before the audit: {known_count:,}. They enter with probability 1.",
        ),
    )
    return "".join(phrase for applies, phrase in phrases if applies)


def _describe_estimate(audit: Audit, board: AuditBoard) -> str:
    about = "these queries" if board.variance == "pool" else "a population of similar queries"
    sentences = (
        "Judgments were predicted from labels, ratings and answered questions by ridge regression,"
        " cross-fitted over passages. Each score is the sum of the predictions, corrected by"
        " the inversely weighted residuals of the sample (difference estimator). The shares"
        " that combine the batches were fixed before the first batch. The estimate is unbiased"
        f" for any grader. Intervals ({board.confidence:.0%}, Student's t) are about {about}."
        " Pairs of systems were compared with Holm's correction."
    )
    # An audit with a budget draws no conclusion, so its interim analyses spend no error.
    if audit.goal.aim != "budget":
        sentences += (
            f" The error of {1 - board.confidence:.2g} for the conclusion was spent over"
            f" {how_many(board.statement.looks, 'planned interim analyses')} (power family)."
            " The conclusion therefore allows for interim analyses."
        )
    return sentences


def _describe_results(board: AuditBoard) -> str:
    widths = sorted(
        s.high - s.low for s in board.systems if s.high is not None and s.low is not None
    )
    half = f"{widths[len(widths) // 2] / 2:.4f}" if widths else "unknown"
    but = f" (unknown for {first_few(board.untested)})" if widths and board.untested else ""
    biases = [s.bias for s in board.systems if s.bias is not None]
    sentences = (
        f"{board.statement.says} The median half width of the intervals is {half}{but}. The bias of"
        f" the grader's scores ranges from {min(biases):+z.4f} to {max(biases):+z.4f}."
    )
    if board.labels is not None:
        sentences += (
            f" The labels have a precision of {_rate_text(board.labels.precision)}, a recall of"
            f" {_rate_text(board.labels.recall)} and a Cohen's kappa of"
            f" {_rate_text(board.labels.kappa)}."
        )
    if board.correlation is not None and board.correlation.value is not None:
        sentences += (
            " Corrected for sampling noise, Pearson's correlation of the grader's leaderboard with"
            f" a fully judged one is {_rate_text(board.correlation)}."
        )
    if board.people is not None and board.people.value is not None:
        sentences += (
            " For passages judged twice, Cohen's kappa of the two assessors is"
            f" {board.people.value:z.3f}."
        )
    return sentences


def _rate_text(share: Rate) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "undefined"
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


def _describe_roles(project: Project, audit: Audit, board: AuditBoard) -> str:
    found = find_circularity(project, audit.policy, audit.runs)
    sentences = [found.description, *found.warnings]
    if board.favour is not None:
        sentences.append(board.favour.description)
    return " ".join(sentences)
