"""The labels of a cascade: each says which grader it is from, so that no board mixes two without telling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.cascade.calibrating import Calibration, calibrate
from core.cascade.records import Cascade
from core.catalogue import find_grader
from core.measures.cascade import UNKNOWN
from core.project import Project, Qrels
from core.tables import disarmed


@dataclass(frozen=True)
class Labelled:
    """The label of one passage, and the name of the grader whose it is."""

    query_id: str
    passage_id: str
    label: int
    grader: str
    escalated: bool


@dataclass(frozen=True)
class CascadeLabels:
    """Every label of a cascade, in the pool's order, on the expensive grader's scale.

    Args:
        waiting: passages that are to be asked again and have the cheap grader's label meanwhile, or none.
    """

    labels: tuple[Labelled, ...]
    waiting: int

    @property
    def qrels(self) -> Qrels:
        """The labels by query and passage id."""
        found: Qrels = {}
        for one in self.labels:
            found.setdefault(one.query_id, {})[one.passage_id] = one.label
        return found

    @property
    def from_expensive(self) -> int:
        """How many are the expensive grader's."""
        return sum(one.escalated for one in self.labels)


def cascade_labels(project: Project, cascade: Cascade) -> CascadeLabels:
    """The labels of a cascade: computed from its plan and the grades of both graders, anew when they change.

    Raises:
        InputError: the sample is not graded yet.
    """
    return labels_of(project, calibrate(project, cascade))


def labels_of(project: Project, told: Calibration) -> CascadeLabels:
    """The labels that a calibration gives."""
    facts, decision = told.facts, told.decision
    names = [find_grader(project, one).spec.name for one in (told.cascade.cheap, told.cascade.expensive)]
    values = decision.labels(facts.expensive)
    asked = decision.escalated & ~np.isnan(facts.expensive)
    rows = zip(facts.query_ids, facts.passage_ids, values.tolist(), asked.tolist(), strict=True)
    return CascadeLabels(
        tuple(Labelled(q, p, label, names[again], again) for q, p, label, again in rows if label != UNKNOWN),
        told.waiting,
    )


def labels_tsv(found: CascadeLabels) -> str:
    """The labels as tab-separated text with a header: query, passage, label, grader."""
    lines = ["query\tpassage\tlabel\tgrader"]
    lines += [
        "\t".join((disarmed(one.query_id), disarmed(one.passage_id), str(one.label), disarmed(one.grader)))
        for one in found.labels
    ]
    return "\n".join(lines) + "\n"
