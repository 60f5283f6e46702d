"""Audits as files in a bundle, from which readers can recompute the leaderboard; notices for unaudited leaderboards."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..bank import find_grader
from ..errors import InputError, WorkbenchError
from ..labels import Policy
from ..measures.audit import linear_measure
from ..store import Project, as_act
from ._audit_data import Drawn, Facts, Values, gather
from ._audit_plan import weights_from
from ._audit_records import Audit, Goal, audits, batches
from ._circularity import circularity

FORMAT, FORMAT_VERSION = "exam-workbench audit", 1


def audit_files(project: Project) -> dict[str, tuple[str, bytes]]:
    """Return the audit files of a bundle: for each audit with a batch its design, seed, chances and judgments.

    Returns:
        By file name, a sentence that describes the file, and its content, without names of assessors.
    """
    found = {}
    with_batches = [audit for audit in audits(project) if batches(project, audit)]
    for number, audit in enumerate(with_batches, 1):
        facts = gather(project, audit)
        name = f"audit-{number}.json"
        what = (
            f"The audit '{facts.name}' by {facts.measure}: its design, seed, ranks, chances and judgments.\n"
            f"    exam audit leaderboard --from {name} recomputes its leaderboard without the project."
        )
        found[name] = what, (json.dumps(facts_as_json(facts), ensure_ascii=False) + "\n").encode()
    return found


def facts_as_json(facts: Facts) -> dict[str, Any]:
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
            run: [[column[query, passage], rank] for one, query, passage, rank in facts.ranks if one == run]
            for run in facts.weights.systems
        },
        "labels": _listed(facts.labels),
        "features": {name: _listed(values) for name, values in facts.columns.items()},
        "batches": [
            {
                "number": batch.number,
                "size": batch.size,
                "design": dict(batch.design),
                "done": batch.done,
                "looked": batch.looked,
                **{name: _listed(getattr(batch, name)) for name in _VALUES},
                **{name: np.flatnonzero(getattr(batch, name)).tolist() for name in _FLAGS},
            }
            for batch in facts.batches
        ],
    }


_PLAIN = (
    "name", "measure", "source", "batch_size", "looks", "alpha", "seed", "top_rating", "min_rating", "min_judgment",
    "top_judgment",
)  # fmt: skip
_VALUES = ("chances", "sizes", "known", "first", "second")
_FLAGS = ("drawn", "doubled")


def _listed(values: Values) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def read_facts(data: bytes, name: str) -> Facts:
    """Return the facts of an audit from its file in a bundle.

    Args:
        data: content of the file.
        name: name of the file, for messages.

    Raises:
        InputError: the file is not an audit file, or comes from a newer version.
    """
    try:
        given = json.loads(data)
    except ValueError as error:
        raise InputError("not-an-audit", f"{name} is not an audit file ({error}).", _WHICH) from error
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise InputError("not-an-audit", f"{name} is not an audit file of a bundle.", _WHICH)
    if given.get("format_version") != FORMAT_VERSION:
        raise InputError(
            "unknown-format-version",
            f"Unknown format version {given.get('format_version')} of {name}. This program reads version"
            f" {FORMAT_VERSION}.",
            "Use the version of Exam Workbench that wrote the file, or a newer version than that.",
        )
    try:
        return _facts(given)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, WorkbenchError) as error:
        raise InputError("not-an-audit", f"Cannot read the audit in {name} ({error}).", _WHICH) from error


_WHICH = "Use an audit file of a bundle, such as audit-1.json."


def _facts(given: Mapping[str, Any]) -> Facts:
    items = [(str(query), str(passage)) for query, passage in given["passages"]]
    ranks = [(str(run), *items[int(at)], int(rank)) for run, ranking in given["ranks"].items() for at, rank in ranking]
    weights = weights_from(ranks, list(given["ranks"]), linear_measure(given["measure"]), int(given["queries"]))
    if list(weights.items) != items:
        raise ValueError("passages do not match the ranks")
    n = len(items)
    return Facts(
        **{name: given[name] for name in _PLAIN},
        goal=Goal(**given["goal"]),
        weights=weights,
        ranks=ranks,
        labels=_values(given["labels"], n),
        columns={str(name): _values(values, n) for name, values in given["features"].items()},
        batches=[
            Drawn(
                number=int(one["number"]),
                size=int(one["size"]),
                looked=int(one["looked"]),
                done=bool(one["done"]),
                design=dict(one["design"]),
                **_arrays(one, n),
            )
            for one in given["batches"]
        ],
    )


def _arrays(batch: Mapping[str, Any], n: int) -> dict[str, Any]:
    values = {name: _values(batch[name], n) for name in _VALUES}
    return {**values, **{name: np.isin(np.arange(n), batch[name]) for name in _FLAGS}}


def _values(values: Any, n: int) -> Values:
    if len(values) != n:
        raise ValueError(f"{len(values)} values for {n} passages")
    return np.array([np.nan if value is None else float(value) for value in values])


@as_act("see boards")
def audited_by(project: Project, policy: Policy | None = None, measure: str | None = None) -> Audit | None:
    """Return the newest audit of a grader's labels that has a leaderboard; None without one.

    Args:
        measure: an audit of this measure is preferred to newer audits of other measures.
    """
    done = [audit for audit in _of(project, policy) if any(batch.done for batch in batches(project, audit))]
    return next((audit for audit in reversed(done) if audit.measure == measure), done[-1] if done else None)


@as_act("see boards")
def under_way(project: Project, policy: Policy | None = None) -> Audit | None:
    """Return the newest open audit of a grader's labels that has no leaderboard yet; None without one."""
    begun = (audit for audit in reversed(_of(project, policy)) if not audit.ended)
    return next((audit for audit in begun if not any(batch.done for batch in batches(project, audit))), None)


def _of(project: Project, policy: Policy | None) -> list[Audit]:
    fingerprint = find_grader(project, (policy or Policy()).grader).spec.fingerprint
    return [audit for audit in audits(project) if audit.graders[0] == fingerprint]


def notice(project: Project, policy: Policy | None = None) -> str:
    """Return the notice for a leaderboard of the grader's labels: whether it was audited, and the roles of models."""
    roles = circularity(project, policy)
    return " ".join((_audited(project, policy), roles.says, *roles.warnings))


def _audited(project: Project, policy: Policy | None) -> str:
    if (found := audited_by(project, policy)) is not None:
        name = shlex.quote(found.name)
        return f"These scores rest on the grader's labels. For audited scores: exam audit leaderboard --audit {name}."
    begun = under_way(project, policy)
    how = "design" if begun is None else f"status --audit {shlex.quote(begun.name)}"
    yet = "Not audited" if begun is None else f"Audit '{begun.name}' is in progress"
    return f"{yet}: the error of these scores is unknown (exam audit {how})."
