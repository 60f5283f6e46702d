"""Cascades as files in a bundle: which pairs were graded by whom, what the sample was, and what it promises."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from core.cascade.calibrating import calibrate
from core.cascade.facts import Facts, gather
from core.cascade.labels import labels_of
from core.cascade.records import Cascade, cascades
from core.catalogue import find_grader
from core.errors import WorkbenchError
from core.project import Project

FORMAT, FORMAT_VERSION = "exam-workbench cascade", 1


def cascade_files(project: Project) -> dict[str, tuple[str, bytes]]:
    """What a bundle has of cascades: a file for each, of its plan, sample, threshold and labels.

    The published qrels are of one grader, and never of a cascade: its labels stand in its own file, each with the
    grader whose it is.

    Returns:
        By name of the file, what it is in a sentence, and its content.
    """
    found = {}
    for number, cascade in enumerate(cascades(project), 1):
        name = f"cascade-{number}.json"
        what = (
            f"The cascade '{cascade.name}' by {cascade.measure}: its promise, sample and threshold, and its labels,\n"
            "    each with the grader whose it is. The qrels are of one grader and rest on none of it."
        )
        found[name] = what, (json.dumps(_told(project, cascade), ensure_ascii=False) + "\n").encode()
    return found


def _told(project: Project, cascade: Cascade) -> dict[str, Any]:
    """A cascade as plain values; without threshold and labels where its sample is not graded."""
    told: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": cascade.name,
        "fingerprint": cascade.fingerprint,
        "measure": cascade.measure,
        "policy": cascade.policy.as_dict(),
        "promise": {
            "agreement": cascade.agreement,
            "of": cascade.promise,
            "alpha": cascade.alpha,
            "delta": cascade.delta,
        },
        "seed": cascade.seed,
        "graders": {
            "cheap": _named(project, cascade.cheap),
            "expensive": _named(project, cascade.expensive),
        },
        "threshold": None,
        "labels": None,
    }
    try:
        facts = gather(project, cascade)
    except WorkbenchError as error:
        # As before either of the two had graded anything.
        return told | {"reason": error.message}
    told["sample"] = _sample(facts)
    told["weights"] = [
        [facts.query_ids[at], facts.passage_ids[at], float(facts.weight[at]), int(facts.depth[at])]
        for at in np.flatnonzero(facts.depth > 0).tolist()
    ]
    if facts.sample_open:
        return told | {"reason": f"{facts.sample_open} pairs of the sample are not graded"}
    said = calibrate(project, cascade)
    labels = labels_of(project, said)
    whose = {name: len([one for one in labels.labels if one.grader == name]) for name in _names(project, cascade)}
    return told | {
        "threshold": {name: value for name, value in said.as_dict().items() if name != "cascade"},
        "labels": [[one.query_id, one.passage_id, one.label, one.grader] for one in labels.labels],
        "labels_by": whose,
        "waiting": labels.waiting,
    }


def _sample(facts: Facts) -> list[list[Any]]:
    """Query, passage, how often it was drawn to learn from and to test with, and the expensive grader's label."""
    return [
        [
            facts.query_ids[at],
            facts.passage_ids[at],
            int(facts.learned[at]),
            int(facts.tested[at]),
            None if np.isnan(facts.expensive[at]) else int(facts.expensive[at]),
        ]
        for at in np.flatnonzero(facts.learned + facts.tested > 0).tolist()
    ]


def _named(project: Project, fingerprint: str) -> dict[str, str]:
    return {"name": find_grader(project, fingerprint).spec.name, "fingerprint": fingerprint}


def _names(project: Project, cascade: Cascade) -> list[str]:
    return [_named(project, one)["name"] for one in (cascade.cheap, cascade.expensive)]
