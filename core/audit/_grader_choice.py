"""Choice of a grader: the judgments of one audit score all graders and imported labels of the project."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..bank import graders
from ..errors import InputError
from ..measures.audit import compare_graders
from ..store import Project
from ._audit_data import basis_of, columns_of, gather, labels_of
from ._audit_records import Audit
from ._passage_gains import estimation


@dataclass(frozen=True)
class ScoredGrader:
    """A grader, scored by an audit.

    Args:
        labelled: share of the audit's passages that have a label of the grader.
        correlation: Pearson's correlation of its leaderboard with the audited leaderboard.
        kept: whether no other grader is significantly better.
        behind, low, high: correlation of the chosen grader minus this one, with the interval; None if unknown.
    """

    grader: str
    fingerprint: str
    labelled: float
    correlation: float
    kept: bool
    behind: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GraderChoice:
    """The graders with a leaderboard that is not constant, by falling correlation, and the one to choose."""

    audit: str
    measure: str
    confidence: float
    judged: int
    chosen: str
    graders: list[ScoredGrader]

    @property
    def says(self) -> str:
        """The result in two sentences."""
        kept = [one.grader for one in self.graders if one.kept]
        if len(self.graders) == 1:
            return f"Only {self.chosen} has labels. Grade the pool with another grader, or import labels, to compare."
        if len(kept) == 1:
            return f"Choose {self.chosen}. It is better than every other grader."
        return f"Choose {self.chosen}. Graders that are not separated from the best: {', '.join(kept)}."

    def as_dict(self) -> dict[str, Any]:
        """Return the choice as plain values, as `--json` prints it."""
        return asdict(self)


def choose_grader(project: Project, audit: Audit) -> GraderChoice:
    """Compare all graders of the project by the judgments of one audit; see `compare_graders`.

    Each grader has the audit's label rule, bank version and min rating on its own scale. Judgments are predicted from
    all graders, so that the audited scores favour none of them. A passage without a label has the gain 0.

    Raises:
        InputError: no batch is finished, or fewer than 3 systems differ.
    """
    return project.cached(("graders by audit", audit.key), lambda: _choose(project, audit))


def _choose(project: Project, audit: Audit) -> GraderChoice:
    facts = gather(project, audit)
    column = {item: i for i, item in enumerate(facts.weights.items)}
    w, kept, machines = facts.weights.w, [], []
    for one in graders(project):
        values = labels_of(project, audit, one.spec.fingerprint, column)
        least = basis_of(project, audit, one.spec.fingerprint).min_rating
        own = replace(facts, labels=values, top_rating=one.spec.max_rating, min_rating=least)
        scores = w @ own.machine
        # No correlation is defined for a constant leaderboard, such as that of a grader without labels here.
        if scores.std() > 1e-12:
            kept.append((one.spec, float((~np.isnan(values)).mean())))
            machines.append(scores)
    prints = [spec.fingerprint for spec, _ in kept]
    found = estimation(replace(facts, columns=columns_of(project, audit, prints, column)))
    if found is None:
        raise InputError(
            "audit-without-batch",
            f"Audit '{audit.name}' has no judged batch yet.",
            "Draw a batch and judge it: exam audit draw",
        )
    if len(w) < 3 or not kept or (w @ found.corrected.gains).std() <= 1e-12:
        raise InputError(
            "too-few-systems",
            "A choice of a grader needs 3 systems with different scores.",
            "Judge more passages, or audit more systems.",
        )
    compared = compare_graders(w, np.array(machines), found.corrected, facts.alpha)
    rows = [
        ScoredGrader(
            spec.name,
            spec.fingerprint,
            share,
            float(compared.value[i]),
            bool(compared.kept[i]),
            *(_known(one[i]) for one in (compared.behind.value, compared.behind.low, compared.behind.high)),
        )
        for i, (spec, share) in enumerate(kept)
    ]
    rows.sort(key=lambda row: (-row.correlation, row.grader))
    chosen = kept[compared.chosen][0].name
    return GraderChoice(audit.name, audit.measure_title, 1 - facts.alpha, found.corrected.judged, chosen, rows)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
